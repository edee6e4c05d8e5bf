// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads.c - two threads of one process, worker-a and worker-b, each in a function of its own:
 * worker-a does three pieces of work while worker-b does one, again and again.
 *
 *	threads SECONDS MEGABYTES
 *
 * Beside it, so much memory is offered to be merged: work for the kernel's thread ksmd.
 * Prints "TID TID" of the two, and waits for them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PIECE	2000000UL

static pthread_barrier_t round_begins;
static volatile unsigned long sink;
static volatile int tid[2];
static int over;		/* set by worker-a between two barriers */
static time_t until;

__attribute__((noipa)) static void thread_a_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = x * 3 + 1;
	sink = x;
}

__attribute__((noipa)) static void thread_b_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = x * 3 + 1;
	sink = x;
}

static void *worker(void *arg)
{
	int is_b = arg != NULL;

	pthread_setname_np(pthread_self(), is_b ? "worker-b" : "worker-a");
	tid[is_b] = (int)syscall(SYS_gettid);
	for (;;) {
		pthread_barrier_wait(&round_begins);
		if (!is_b)
			over = time(NULL) >= until;
		pthread_barrier_wait(&round_begins);
		if (over)
			return NULL;
		if (is_b)
			thread_b_work(PIECE);
		else
			thread_a_work(3 * PIECE);
	}
}

/* Pages that differ from each other: the kernel looks at them for ever */
static void offer(size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_MERGEABLE)) {
		perror("threads: memory for ksmd");
		exit(1);
	}
	for (i = 0; i < bytes; i += 4096)
		memcpy(memory + i, &i, sizeof(i));
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	if (argc != 3)
		return 2;
	until = time(NULL) + atoi(argv[1]);
	offer((size_t)atoi(argv[2]) << 20);
	pthread_barrier_init(&round_begins, NULL, 2);
	if (pthread_create(&a, NULL, worker, NULL) || pthread_create(&b, NULL, worker, "b"))
		return 1;
	while (!tid[0] || !tid[1])
		usleep(1000);
	printf("%d %d\n", tid[0], tid[1]);
	fflush(stdout);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
