// SPDX-License-Identifier: GPL-2.0-only
/*
 * odd.c - processes that are hard to name: each works for SECONDS in a function of its own.
 *
 *	odd memfd SECONDS	a program that lies in no file system
 *	odd deleted SECONDS	one whose file is gone (argv[0] is removed)
 *	odd shared SECONDS	a child that shares its parent's address space (CLONE_VM)
 *	odd plain SECONDS
 *	odd-NAME hash SECONDS	the kernel hashes for it, in its module NAME
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_alg.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK(name)							\
__attribute__((noinline)) static void name(double seconds)		\
{									\
	double end = now() + seconds;					\
	unsigned long i;						\
									\
	while (now() < end)						\
		for (i = 0; i < 1000000; i++)				\
			sum += i ^ sum;					\
}

static volatile unsigned long sum;
static char stack[65536] __attribute__((aligned(16)));
static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

WORK(odd_plain_work)
WORK(odd_memfd_work)
WORK(odd_deleted_work)
WORK(odd_shared_work)

static int share(void *arg)
{
	(void)arg;
	odd_shared_work(seconds);
	return 0;
}

static int from_memory(char **argv)
{
	int self = open("/proc/self/exe", O_RDONLY), fd = memfd_create("in-memory", 0);
	char *again[] = { "odd-memfd", "in-memory", argv[2], NULL };
	struct stat st;

	if (self < 0 || fd < 0 || fstat(self, &st) || sendfile(fd, self, NULL, (size_t)st.st_size) != st.st_size)
		return 1;
	fexecve(fd, again, environ);
	return 1;
}

static int hash(const char *name)
{
	struct sockaddr_alg alg = { .salg_family = AF_ALG, .salg_type = "hash" };
	int of = socket(AF_ALG, SOCK_SEQPACKET, 0), fd;
	double end = now() + seconds;
	char data[65536] = { 1 };

	strncpy((char *)alg.salg_name, name, sizeof(alg.salg_name) - 1);
	if (of < 0 || bind(of, (struct sockaddr *)&alg, sizeof(alg)))
		return 1;
	fd = accept(of, NULL, NULL);
	while (now() < end)
		if (send(fd, data, sizeof(data), 0) != sizeof(data) || read(fd, data, 16) != 16)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	seconds = atof(argv[2]);
	if (!strcmp(argv[1], "memfd"))
		return from_memory(argv);
	if (!strcmp(argv[1], "hash"))
		return hash(strrchr(argv[0], '-') + 1);
	if (!strcmp(argv[1], "in-memory")) {
		odd_memfd_work(seconds);
	} else if (!strcmp(argv[1], "deleted")) {
		unlink(argv[0]);
		odd_deleted_work(seconds);
	} else if (!strcmp(argv[1], "shared")) {
		if (clone(share, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
			return 1;
		wait(NULL);
	} else {
		odd_plain_work(seconds);
	}
	return 0;
}
