/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * clock.h - from a guest's TSC to the host's, the one axis of time.
 *
 * A VM has one guest clock, piecewise in time: a migration, a suspend or a
 * reset moves the offset, and from then on another piece holds.  vCPUs that
 * differ from it widen the error bound.  What the driver saw is exact; what
 * the collector measured serves where the driver saw nothing, and checks it.
 */
#ifndef VMP_CLOCK_H
#define VMP_CLOCK_H

#include <stdint.h>

#include "model/vec.h"

/* guest = ((host * ratio) >> frac_bits) + offset; ratio 0: 1:1 */
struct vmp_clock_point {
	uint64_t host_tsc;	/* when it was seen */
	uint64_t offset;
	uint64_t ratio;
	uint64_t error_tsc;
	uint32_t vcpu;
	uint32_t frac_bits;
	uint32_t order;
};

enum vmp_clock_source {
	VMP_CLOCK_NONE,		/* nothing known: guest events cannot be placed */
	VMP_CLOCK_ARRIVAL,	/* by when the agent's frames arrived */
	VMP_CLOCK_MEASURED,	/* by the collector: CLOCK blocks */
	VMP_CLOCK_DRIVER,	/* by the driver: CLOCK records */
};

struct vmp_clock {
	VMP_VEC(struct vmp_clock_point) driver, measured;
	VMP_VEC(struct vmp_clock_point) pieces;	/* by host_tsc, the first from 0 on */
	enum vmp_clock_source source;
	uint64_t error_tsc;	/* bound of |true - computed| in host ticks */
};

/** vmp_clock_add() - One observation; @driver tells by whom.  Return: 0 or -ENOMEM. */
int vmp_clock_add(struct vmp_clock *c, int driver, const struct vmp_clock_point *p);

/** vmp_clock_add_arrival() - Last resort: guest TSC @guest had arrived at @host. */
int vmp_clock_add_arrival(struct vmp_clock *c, uint64_t guest, uint64_t host);

/** vmp_clock_build() - Make the pieces of what was added.  Return: 0 or -ENOMEM. */
int vmp_clock_build(struct vmp_clock *c);

/**
 * vmp_clock_to_host() - Host TSC of a guest's TSC.
 * @guest: Guest TSC.
 * @begin: Start of the session (host TSC): nothing happened long before it.
 * @seen:  Host TSC by which it is known to have happened, 0 unknown.
 *
 * Where several pieces could be meant, the latest that fits before @seen is
 * taken.
 */
uint64_t vmp_clock_to_host(const struct vmp_clock *c, uint64_t guest, uint64_t begin, uint64_t seen);

/** vmp_clock_piece_begin() - Where the piece that holds at @host begins; 0 the first. */
uint64_t vmp_clock_piece_begin(const struct vmp_clock *c, uint64_t host);

void vmp_clock_free(struct vmp_clock *c);

#endif
