// SPDX-License-Identifier: GPL-2.0-only
/* parallel.c - threads that live as long as one call. */
#include "util/parallel.h"

#include <pthread.h>

void vmp_parallel(void *(*fn)(void *arg), void *const *args, unsigned int nr)
{
	pthread_t thread[VMP_PARALLEL_MAX];
	unsigned int begun, i;

	for (begun = 1; begun < nr; begun++)
		if (pthread_create(&thread[begun], NULL, fn, args[begun]))
			break;
	fn(args[0]);
	for (i = begun; i < nr; i++)
		fn(args[i]);
	while (begun-- > 1)
		pthread_join(thread[begun], NULL);
}

/* One of two */
struct task {
	int (*fn)(void *arg);
	void *arg;
	int ret;
};

static void *do_task(void *arg)
{
	struct task *t = arg;

	t->ret = t->fn(t->arg);
	return NULL;
}

int vmp_parallel_two(int (*first)(void *arg), int (*second)(void *arg), void *arg)
{
	struct task tasks[] = { { first, arg, 0 }, { second, arg, 0 } };
	void *args[] = { &tasks[0], &tasks[1] };

	vmp_parallel(do_task, args, 2);
	return tasks[0].ret ? tasks[0].ret : tasks[1].ret;
}

#define RANGE	4096U	/* elements */

int vmp_ranges_take(struct vmp_ranges *r, uint32_t *from, uint32_t *to)
{
	uint64_t at = (uint64_t)RANGE * __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);

	if (at >= r->nr)
		return 0;
	*from = (uint32_t)at;
	*to = r->nr - *from < RANGE ? r->nr : *from + RANGE;
	return 1;
}

struct ranged {
	struct vmp_ranges ranges;
	void (*fn)(void *arg, uint32_t from, uint32_t to);
	void *arg;
};

static void *each_range(void *arg)
{
	struct ranged *r = arg;
	uint32_t from, to;

	while (vmp_ranges_take(&r->ranges, &from, &to))
		r->fn(r->arg, from, to);
	return NULL;
}

void vmp_parallel_ranges(uint32_t nr, unsigned int threads, void (*fn)(void *arg, uint32_t from, uint32_t to), void *arg)
{
	struct ranged r = { { nr, 0 }, fn, arg };
	void *args[VMP_PARALLEL_MAX] = { &r };
	uint32_t ranges = nr / RANGE + 1;
	unsigned int i;

	threads = threads < ranges ? threads : ranges;
	for (i = 1; i < threads; i++)
		args[i] = &r;
	vmp_parallel(each_range, args, threads);
}
