/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - the clocks that the agent reads. */
#ifndef VMP_CLOCK_H
#define VMP_CLOCK_H

#include <stdint.h>
#include <time.h>
#include <x86intrin.h>

/** vmp_tsc() - The guest's TSC, not read ahead of what comes before. */
static inline uint64_t vmp_tsc(void)
{
	_mm_lfence();
	return __rdtsc();
}

/** vmp_now_ms() - A clock that does not go back. */
static inline uint64_t vmp_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/** vmp_realtime_ns() - Wall clock. */
static inline uint64_t vmp_realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
