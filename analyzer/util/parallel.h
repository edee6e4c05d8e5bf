/* SPDX-License-Identifier: GPL-2.0-only */
/* parallel.h - the same work on several CPUs. */
#ifndef VMP_PARALLEL_H
#define VMP_PARALLEL_H

#define VMP_PARALLEL_MAX	8	/* threads */

/**
 * vmp_parallel() - Call @fn for each of @args, each in a thread; the first in this one.
 * @nr: From 1 to VMP_PARALLEL_MAX.  What no thread can be had for is done here, afterwards.
 */
void vmp_parallel(void *(*fn)(void *arg), void *const *args, unsigned int nr);

#endif
