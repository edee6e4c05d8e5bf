/* SPDX-License-Identifier: GPL-2.0-only */
/* parallel.h - the same work on several CPUs. */
#ifndef VMP_PARALLEL_H
#define VMP_PARALLEL_H

#include <stdint.h>

#define VMP_PARALLEL_MAX	8	/* threads */

/**
 * vmp_parallel() - Call @fn for each of @args, each in a thread; the first in this one.
 * @nr: From 1 to VMP_PARALLEL_MAX.  What no thread can be had for is done here, afterwards.
 */
void vmp_parallel(void *(*fn)(void *arg), void *const *args, unsigned int nr);

/**
 * vmp_parallel_two() - Call both functions at once: @first in this thread, and @second, which no thread may be had for, afterwards then.
 * Return: what @first does; if that is 0, what @second does.
 */
int vmp_parallel_two(int (*first)(void *arg), int (*second)(void *arg), void *arg);

/* Elements that threads take range by range, so that none waits for another one's hard ones */
struct vmp_ranges {
	uint32_t nr;
	uint32_t next;		/* range; 0 at first */
};

/** vmp_ranges_take() - The next range: @from until before @to.  Return: 0 none is left. */
int vmp_ranges_take(struct vmp_ranges *r, uint32_t *from, uint32_t *to);

/**
 * vmp_parallel_ranges() - Call @fn for ranges that together are all of @nr elements; of few elements in this thread alone.
 * @threads: From 1 to VMP_PARALLEL_MAX.
 */
void vmp_parallel_ranges(uint32_t nr, unsigned int threads, void (*fn)(void *arg, uint32_t from, uint32_t to), void *arg);

#endif
