/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - the guest's clock in terms of the host's TSC. */
#ifndef VMP_CLOCK_H
#define VMP_CLOCK_H

#include <stdint.h>
#include <vmprof/capture.h>

/** vmp_tsc_now() - The host's TSC. */
uint64_t vmp_tsc_now(void);

/** vmp_now_ns() - CLOCK_MONOTONIC. */
uint64_t vmp_now_ns(void);

/** vmp_tsc_khz() - Measured against CLOCK_MONOTONIC_RAW in 50 ms, for drivers that do not know. */
uint32_t vmp_tsc_khz(void);

/** vmp_guest_to_host() - Host TSC at which a guest's TSC had this value, by an entry in host order. */
uint64_t vmp_guest_to_host(const struct vmprof_cap_clock *c, uint64_t guest_tsc);

/**
 * vmp_clock_error() - Bound of one reading's error, host ticks.
 * @now:  This reading of a vCPU's clock, in host order.
 * @last: The one before, or NULL.
 * @took: Ticks that the query took.
 *
 * KVM's offset and ratio are exact and change by jumps.  Where they did not
 * change since the last reading the relation is exact but for rounding; where
 * they did, the jump lies somewhere in the query at the latest.
 */
uint64_t vmp_clock_error(const struct vmprof_cap_clock *now, const struct vmprof_cap_clock *last,
			 uint64_t took);

#endif
