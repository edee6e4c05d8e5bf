/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loops.h - loops of a capture, by branches that go back.
 *
 * A branch within a function that goes to its own address or a lower one ends an
 * iteration; where it goes is the loop's header, if it leads to the branch again (reach.h).
 * The body is the code from there to the last such branch.
 *
 * An iteration begins whenever the header is reached: by a branch back, or from outside.
 * An entry is whatever comes to the header from outside, or jumps from before it, in the
 * same function, into the middle.  Such a jump is an entry without an iteration of its own: a
 * rotated loop is entered at the test at its bottom, which goes back for each round, the first one,
 * too.  So if its body runs five times, that is 5 branches back, 5 iterations, 1 entry and 5
 * trips; of a loop that is entered at its header, 4 branches back, the rest being the same.
 * A loop that is rotated and not run through at all is entered, with 0 iterations.
 *
 * Jumps from behind the loop into its middle are no entries: there lies what compilers move
 * out of a body because it is rarely run.
 */
#ifndef VMP_LOOPS_H
#define VMP_LOOPS_H

#include "blocks/estimate.h"

struct vmp_loop {
	uint32_t header;	/* point */
	uint64_t end;		/* address of the last branch that goes back */
	uint32_t level;		/* 0: no other loop lies in it */
	uint64_t seen;		/* branches back, in windows */
	double samples;		/* in the body's own code */
	/* NAN: not known */
	double entries, entries_error;
	double iterations, iterations_error;
	double trips, trips_error;	/* iterations of one entry */
	double cycles, cycles_error;	/* of one iteration, without what it calls */
};

struct vmp_loops {
	VMP_VEC(struct vmp_loop) list;
};

/** vmp_loops_create() - Return: 0 or -ENOMEM. */
int vmp_loops_create(struct vmp_loops **out, const struct vmp_set *set, const struct vmp_estimates *e);
void vmp_loops_destroy(struct vmp_loops *l);

/** vmp_loops_behind_system_call() - Is a place right behind an instruction that calls the kernel? Then what comes back there goes on. */
int vmp_loops_behind_system_call(const struct vmp_set *set, const struct vmp_point *to);

#endif
