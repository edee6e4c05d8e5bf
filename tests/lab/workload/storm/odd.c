// SPDX-License-Identifier: GPL-2.0-only
/*
 * odd.c - processes that are hard to name: each works for SECONDS in a function of its own.
 *
 *	odd memfd SECONDS	a program that lies in no file system
 *	odd deleted SECONDS	one whose file is gone (argv[0] is removed)
 *	odd shared SECONDS	a child that shares its parent's address space (CLONE_VM)
 *	odd plain SECONDS
 *	odd threads SECONDS	threads that live for milliseconds, each in the function that it is named by
 *	odd-first chain SECONDS	three programs, of which each runs the next one
 *	odd swap SECONDS	two libraries that are loaded and unloaded in turns; 3: never at one place
 *	odd prelinked SECONDS	a library that was linked for an address of its own; 3: it lies elsewhere
 *	odd bpf SECONDS		a BPF program of this name
 *	odd-NAME hash SECONDS	the kernel hashes for it, in its module NAME
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/bpf.h>
#include <linux/if_alg.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK(name)	WORK_BY(name, 1000000)

/* It looks at the clock when so many rounds are over */
#define WORK_BY(name, rounds)						\
__attribute__((noipa)) static void name(double seconds)			\
{									\
	double end = now() + seconds;					\
	unsigned long i;						\
									\
	while (now() < end)						\
		for (i = 0; i < (rounds); i++)				\
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
WORK(odd_first_work)
WORK(odd_second_work)
WORK(odd_third_work)
WORK_BY(odd_tick_work, 10000)
WORK_BY(odd_tock_work, 10000)

static void *tick(void *name)
{
	pthread_setname_np(pthread_self(), name);
	if (!strcmp(name, "tick"))
		odd_tick_work(0.003);
	else
		odd_tock_work(0.003);
	return NULL;
}

/* Two at a time, until the time is over */
static int threads(void)
{
	double end = now() + seconds;
	unsigned int nr = 0;
	pthread_t a, b;

	for (; now() < end; nr += 2)
		if (pthread_create(&a, NULL, tick, "tick") || pthread_create(&b, NULL, tick, "tock") ||
		    pthread_join(a, NULL) || pthread_join(b, NULL))
			return 1;
	printf("%u\n", nr);
	return 0;
}

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

static int run(const char *dir, const char *name, char **argv)
{
	char path[256];
	char *next[] = { path, argv[1], argv[2], NULL };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	execv(path, next);
	return 1;
}

static int chain(char **argv)
{
	char *name = strrchr(argv[0], '-'), *dir = dirname(strdup(argv[0]));

	if (!name)
		return 1;
	if (!strcmp(name, "-first")) {
		odd_first_work(seconds);
		return run(dir, "odd-second", argv);
	}
	if (!strcmp(name, "-second")) {
		odd_second_work(seconds);
		return run(dir, "odd-third", argv);
	}
	odd_third_work(seconds);
	return 0;
}

typedef void work_fn(unsigned long rounds);

/* NAME.so, and its function; NULL: it has none, or is not there */
static work_fn *load(const char *dir, const char *name, void **lib)
{
	char path[256], symbol[64];

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	snprintf(symbol, sizeof(symbol), "storm_%s_work", name);
	*lib = dlopen(path, RTLD_NOW);
	return *lib ? (work_fn *)dlsym(*lib, symbol) : NULL;
}

/* As prelink leaves it: its first byte has an address */
static int prelinked(const char *dir)
{
	double end = now() + seconds;
	void *lib;
	work_fn *work = load(dir, "prelinked", &lib);

	if (!work)
		return 1;
	while (now() < end)
		work(100000);
	return (uintptr_t)work >> 20 == PRELINKED_AT >> 20 ? 0 : 3;
}

/* Does one lie where the other was? */
static int swap(const char *dir)
{
	static const char *const names[] = { "plugin", "second" };
	double end = now() + seconds, until;
	work_fn *work, *before = NULL;
	int i, at_one_place = 0;
	void *lib;

	for (i = 0; now() < end; i = !i) {
		work = load(dir, names[i], &lib);
		if (!work)
			return 1;
		at_one_place += work == before;
		before = work;
		for (until = now() + 0.5; now() < until; )
			work(100000);
		dlclose(lib);
	}
	return at_one_place ? 0 : 3;
}

#define BPF_INSNS	2000

/* Additions; the kernel is asked to run it again and again */
static int bpf(void)
{
	static struct bpf_insn insns[BPF_INSNS];
	static const char license[] = "GPL";
	double end = now() + seconds;
	union bpf_attr attr;
	char data[64] = { 0 };
	int fd, i;

	insns[0] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	for (i = 1; i < BPF_INSNS - 1; i++)
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .imm = i };
	insns[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (unsigned long)insns;
	attr.insn_cnt = BPF_INSNS;
	attr.license = (unsigned long)license;
	strcpy(attr.prog_name, "odd");
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	while (fd >= 0 && now() < end) {
		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = (unsigned int)fd;
		attr.test.data_in = (unsigned long)data;
		attr.test.data_size_in = sizeof(data);
		attr.test.repeat = 1000;
		if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
			return 1;
	}
	return fd < 0;
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
	if (!strcmp(argv[1], "threads"))
		return threads();
	if (!strcmp(argv[1], "chain"))
		return chain(argv);
	if (!strcmp(argv[1], "swap"))
		return swap(dirname(strdup(argv[0])));
	if (!strcmp(argv[1], "prelinked"))
		return prelinked(dirname(strdup(argv[0])));
	if (!strcmp(argv[1], "bpf"))
		return bpf();
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
