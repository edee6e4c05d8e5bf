/* SPDX-License-Identifier: GPL-2.0-only */
/* neighbours.h - time that one chosen VM takes from another one, whose vCPU waits: a second record of one overflow. */
#ifndef TRUTH_NEIGHBOURS_H
#define TRUTH_NEIGHBOURS_H

#include "model/model.h"

#define NEIGHBOURS_PCPUS	64	/* an emulated host has fewer */

/* Samples, and the host ticks that they stand for: those since the sample before on the same pCPU */
struct neighbours_count {
	uint64_t samples, ticks;
};

struct neighbours_pcpu {
	/* a second one, whose first has to follow; TSC 0: none. A ring may be stored up to it, and another one before the rest. */
	struct vmprof_sample second;
	uint64_t tsc, ticks;		/* the last sample that counts, 0 none; what it stands for */
};

struct neighbours {
	struct neighbours_count ran;	/* the chosen VMs' own tasks */
	struct neighbours_count steal;	/* of one of their vCPUs, by whomever ... */
	struct neighbours_count second;	/* ... by another chosen VM: beside that one's own sample */
	uint64_t stray;			/* of these without that sample, or of no other VM */
	struct neighbours_pcpu pcpus[NEIGHBOURS_PCPUS];
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
