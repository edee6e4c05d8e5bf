/* SPDX-License-Identifier: GPL-2.0-only */
/* bound.h - the one binary search. */
#ifndef VMP_BOUND_H
#define VMP_BOUND_H

#include <stdint.h>

/**
 * vmp_bound() - The first of @nr elements, in order, that is not before what is sought; @nr: all are.
 * @before: Is element @i?
 */
static inline uint32_t vmp_bound(uint32_t nr, int (*before)(const void *arg, uint32_t i), const void *arg)
{
	uint32_t lo = 0, mid;

	while (lo < nr) {
		mid = lo + (nr - lo) / 2;
		if (before(arg, mid))
			lo = mid + 1;
		else
			nr = mid;
	}
	return lo;
}

#endif
