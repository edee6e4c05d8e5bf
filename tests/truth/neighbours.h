/* SPDX-License-Identifier: GPL-2.0-only */
/* neighbours.h - time that one chosen VM takes from another one, whose vCPU waits: a second record of one overflow. */
#ifndef TRUTH_NEIGHBOURS_H
#define TRUTH_NEIGHBOURS_H

#include "model/model.h"

#define NEIGHBOURS_PCPUS	64	/* an emulated host has fewer */

struct neighbours {
	uint64_t seconds;		/* in the window */
	uint64_t stray;			/* of all, in it or not: without that one's own sample, or of no other VM */
	/* of each pCPU one whose first has to follow; TSC 0: none. A ring may be stored up to it, and another one before the rest. */
	struct vmprof_sample second[NEIGHBOURS_PCPUS];
};

/** neighbours_is_second() - Is it the second record of an overflow? */
int neighbours_is_second(const struct vmp_model *m, const struct vmprof_sample *s);

/**
 * neighbours_see() - Look at a sample, in the order in which a pCPU wrote them.
 * @counts: It lies in the window.
 */
void neighbours_see(struct neighbours *n, const struct vmp_model *m, const struct vmprof_sample *s, int counts);

/** neighbours_finish() - There are no more. */
void neighbours_finish(struct neighbours *n);

#endif
