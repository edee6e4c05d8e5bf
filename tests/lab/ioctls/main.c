// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - nonsense and half sense for the devices of the two modules: COUNT calls or a few more, drawn from SEED.
 *
 *	ioctls [-t THREADS] [-p PID]... guest|host COUNT SEED
 *
 * All threads use one open file, which any of them closes and opens anew while others are inside.
 * SEED 0: another one each time, which is printed when it begins.
 * Prints how many calls succeeded, by kind; that the kernel still runs is for others to see.
 * -p: a process that has a VM (host); without one the fuzzer names itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define THREADS_MAX	16
#define FREE_MS		20000		/* a device that one process has at a time is free by then */

uint32_t fuzz_pids[16];
unsigned int fuzz_nr_pids;

static const struct fuzz_device *device;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static atomic_int device_fd = -1;
static unsigned long share, seed;

uint64_t fuzz_any(struct fuzz_worker *w)
{
	/* splitmix64: no bit of a number says anything about the next */
	uint64_t z = w->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

unsigned long fuzz_address(struct fuzz_worker *w)
{
	uint64_t r = fuzz_any(w);

	switch (r % 6) {
	case 0:
		return 0;
	case 1:
		return (unsigned long)w->edge - (r >> 8) % 16;
	case 2:
		return 0xffff888000000000UL | r >> 20;
	case 3:
		return r;
	default:
		return (unsigned long)w->buffer + (r >> 8) % 4096;
	}
}

unsigned long fuzz_put(struct fuzz_worker *w, const void *what, size_t size, size_t at)
{
	uint64_t r = fuzz_any(w);
	char *to = w->buffer + at;

	if (r % 32 == 0) {
		to = w->edge - (r >> 8) % (size + 1);
		size = (size_t)(w->edge - to);
	}
	memcpy(to, what, size);
	return (unsigned long)to;
}

void fuzz_spoil(struct fuzz_worker *w, void *what, size_t size)
{
	unsigned int n = fuzz_any(w) % 4 ? 0 : 1 + fuzz_any(w) % 2;

	while (n--) {
		uint64_t r = fuzz_any(w), word = fuzz_any(w) >> r % 64;

		memcpy((char *)what + (r >> 8) % (size / 4) * 4, &word, 4);
	}
}

unsigned long fuzz_relative(struct fuzz_worker *w, unsigned long request)
{
	return request ^ 1UL << fuzz_any(w) % 32;
}

/* Close the file under everybody's hands and open another */
static void reopen(void)
{
	unsigned int ms = 0;
	int fd;

	pthread_mutex_lock(&opening);
	fd = atomic_exchange(&device_fd, -1);
	if (fd >= 0)
		close(fd);
	/* who is inside a call holds the one that was closed */
	while ((fd = open(device->path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == EBUSY && ms++ < FREE_MS)
		usleep(1000);
	if (fd < 0) {
		perror(device->path);
		exit(1);
	}
	atomic_store(&device_fd, fd);
	pthread_mutex_unlock(&opening);
}

static void *work(void *arg)
{
	struct fuzz_worker *w = arg;
	unsigned long i;
	unsigned int kind;
	int ok;

	for (i = 0; i < share; i++) {
		if (fuzz_any(w) % device->reopen == 0)
			reopen();
		ok = 0;
		kind = device->call(w, atomic_load(&device_fd), &ok);
		w->made++;
		w->good[kind] += ok;
	}
	return NULL;
}

static void worker_init(struct fuzz_worker *w, unsigned int nr)
{
	w->state = (seed * 64 + nr) << 32;
	w->buffer = mmap(NULL, FUZZ_BUFFER + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	w->edge = w->buffer + FUZZ_BUFFER;
	w->own = calloc(1, device->own_bytes + 1);
	/* not unmapped: another thread's mapping would come there */
	if (w->buffer == MAP_FAILED || mprotect(w->edge, 4096, PROT_NONE) || !w->own) {
		perror("ioctls");
		exit(1);
	}
}

static void print(const struct fuzz_worker *workers, unsigned int threads)
{
	unsigned long good[FUZZ_NAMES_MAX] = { 0 }, sum = 0, made = 0;
	unsigned int i, t;

	for (i = 0; device->names[i]; i++) {
		for (t = 0; t < threads; t++)
			good[i] += workers[t].good[i];
		sum += good[i];
	}
	for (t = 0; t < threads; t++)
		made += workers[t].made;
	printf("%lu calls, %lu of them succeeded:", made, sum);
	for (i = 0; device->names[i]; i++)
		printf(" %s=%lu", device->names[i], good[i]);
	if (device->end)
		device->end();
	putchar('\n');
}

static int usage(void)
{
	fprintf(stderr, "usage: ioctls [-t THREADS] [-p PID]... guest|host COUNT SEED\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct fuzz_worker workers[THREADS_MAX];
	pthread_t thread[THREADS_MAX];
	unsigned long threads = 1;
	unsigned int t;
	int opt;

	while ((opt = getopt(argc, argv, "t:p:")) != -1) {
		if (opt == 't')
			threads = strtoul(optarg, NULL, 10);
		else if (opt == 'p' && fuzz_nr_pids < 16)
			fuzz_pids[fuzz_nr_pids++] = (uint32_t)strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind != 3 || !threads || threads > THREADS_MAX)
		return usage();
	device = !strcmp(argv[optind], "guest") ? &fuzz_guest : &fuzz_host;
	/* no fewer than asked for */
	share = (strtoul(argv[optind + 1], NULL, 10) + threads - 1) / threads;
	seed = strtoul(argv[optind + 2], NULL, 10);
	if (!seed) {
		seed = (unsigned long)time(NULL);
		fprintf(stderr, "ioctls: seed %lu\n", seed);
	}
	if (!fuzz_nr_pids)
		fuzz_pids[fuzz_nr_pids++] = (uint32_t)getpid();
	if (device->begin)
		device->begin();
	reopen();
	for (t = 0; t < threads; t++) {
		worker_init(&workers[t], t);
		if (pthread_create(&thread[t], NULL, work, &workers[t]))
			return 1;
	}
	for (t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	print(workers, (unsigned int)threads);
	return 0;
}
