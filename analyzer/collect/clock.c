// SPDX-License-Identifier: GPL-2.0-only
/* clock.c - the guest's clock in terms of the host's TSC. */
#include "collect/clock.h"

#include <time.h>
#include <x86intrin.h>

#define ROUNDING_TSC 2	/* one tick in the guest's value, one in the ratio */

uint64_t vmp_tsc_now(void)
{
	return __rdtsc();
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t vmp_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint32_t vmp_tsc_khz(void)
{
	const struct timespec pause = { 0, 50000000 };
	uint64_t ns = clock_ns(CLOCK_MONOTONIC_RAW), tsc = __rdtsc();

	nanosleep(&pause, NULL);
	tsc = __rdtsc() - tsc;
	ns = clock_ns(CLOCK_MONOTONIC_RAW) - ns;
	return ns ? (uint32_t)((unsigned __int128)tsc * 1000000 / ns) : 0;
}

uint64_t vmp_guest_to_host(const struct vmprof_cap_clock *c, uint64_t guest_tsc)
{
	uint64_t scaled = guest_tsc - c->offset;

	if (!c->ratio)
		return scaled;
	return (uint64_t)(((unsigned __int128)scaled << c->frac_bits) / c->ratio);
}

uint64_t vmp_clock_error(const struct vmprof_cap_clock *now, const struct vmprof_cap_clock *last,
			 uint64_t took)
{
	if (last && last->offset == now->offset && last->ratio == now->ratio &&
	    last->frac_bits == now->frac_bits)
		return ROUNDING_TSC;
	return took;
}
