/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * count.h - one thread's part of the second pass.
 *
 * Pairs are counted row by row: a row's units are few, so that a table by number of
 * the unit has no more of them than fit into a cache, and nothing is hashed.
 */
#ifndef VMP_COUNT_H
#define VMP_COUNT_H

#include "blocks/measure.h"

/* All that a step of a window touches of its block: half a line of cache */
struct vmp_count_block {
	struct vmp_cpi cpi;
	uint32_t insns;
	uint32_t spread;	/* VMP_NONE none */
	uint32_t part;		/* VMP_NONE none */
	uint32_t reserved;
};

/* A sample that pairs are counted of */
struct vmp_count_hit {
	uint32_t at;		/* in what is kept */
	uint32_t row;
	uint32_t weight : 31;
	uint32_t ended : 1;	/* in a block that was over: the first step is no window */
};

struct vmp_count {
	struct vmp_measure *m;
	const struct vmp_seen_as *seen_as;	/* by number in what is kept */
	struct vmp_seen_as *own;	/* ... where these are not the set's numbers */
	struct vmp_count_block *block;
	uint32_t *place;	/* by unit: number + 1 of its pair in the row that is counted */
	VMP_VEC(struct vmp_count_hit) hits;
	struct vmp_pairs pairs;
	uint32_t phase;		/* of the timed sample before */
	struct vmp_spread_run run[VMPROF_LBR_MAX];	/* to be counted */
	uint32_t runs;
	int counts;
	int paired;		/* instructions were sampled, too */
};

/** vmp_count_init() - @from: NULL, what is kept has the numbers of the set's raws.  Return: 0 or -ENOMEM. */
int vmp_count_init(struct vmp_count *t, struct vmp_measure *m, const struct vmp_set_kept *from);
void vmp_count_deinit(struct vmp_count *t);

/** vmp_count_kept() - All that is kept.  Of what all threads share, it adds by relaxed atomics.  Return: 0 or -ENOMEM. */
int vmp_count_kept(struct vmp_count *t, const struct vmp_kept *kept);

/** vmp_count_merge() - Once threads are through: add what is not shared.  Return: 0 or -ENOMEM. */
int vmp_count_merge(struct vmp_measure *m, struct vmp_count *t);

#endif
