/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * axis.h - do the guest's events lie right among what the host saw?
 *
 * When a CR3 goes from one process to the next, the agent tells of it in guest
 * time; the collector's clock turns that into host time.  The emulator knows
 * from when to when user code ran on the CR3 without a change: no hand-over can
 * lie in the middle of that, and no process can call exec or end before its own user code
 * does.  How deep one lies is an error of the time axis.
 *
 * And it knows by how much a guest's clock differed from the host's each time that it
 * was entered: what the guest's clock said then has to lead back to that time.
 */
#ifndef TRUTH_AXIS_H
#define TRUTH_AXIS_H

#include "exact.h"
#include "model/model.h"

struct axis {
	uint64_t residences;	/* on CR3s that had several owners */
	uint64_t before, after;	/* of them, the guest's clock was moved for the first time, for the last one */
	uint64_t ends;		/* of them, the process that ran there called exec later, or ended */
	uint64_t inside;	/* hand-overs in the middle of one, and such ends before its own */
	uint64_t worst;		/* ticks to the nearer end, of the deepest */
	uint64_t late, early;	/* ticks by which the axis would have to be off that way for one to lie inside; 0 never */
	uint64_t clocks;	/* offsets that a guest's clock had, each CPU's own */
	uint64_t clock_worst;	/* ticks by which what such a clock said led elsewhere, at the first entry with it or the last */
};

/** axis_residence() - Hold a VM's residence of user code against its hand-overs. */
void axis_residence(struct axis *a, const struct vmp_space *space, const struct vmp_clock *clock,
		    const struct exact_space *s);

/** axis_clock() - Hold a VM's clock against the one that the guest had. */
void axis_clock(struct axis *a, const struct vmp_clock *clock, const struct exact_clock *c);

#endif
