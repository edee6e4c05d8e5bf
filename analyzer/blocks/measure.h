/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * measure.h - the second pass: which samples were taken in which block, what
 * ran right before them, and their counters.
 *
 * Samples are put into VMP_GROUPS groups by chance: how far estimates without
 * one group lie apart is their error.
 *
 * A row is where samples were taken: one start of blocks, where enough
 * samples hit it, else all the others of its phase together.  A phase is code that runs
 * mixed: windows often show that one part of it follows the other.
 */
#ifndef VMP_MEASURE_H
#define VMP_MEASURE_H

#include "blocks/set.h"
#include "blocks/spread.h"

#define VMP_NEAR	5U	/* steps of a window; what ran before these is far */

/* So many samples that were taken in the common code of a row's starts ran a unit right
   before; in rows of several starts each weighed by the length of that code */
struct vmp_pair {
	uint32_t row, unit;
	uint32_t n[VMP_GROUPS];
	uint64_t far;		/* of all groups: those in which it is not one of the nearest VMP_NEAR */
};

/* By row and unit; a VMP_VEC() */
struct vmp_pairs {
	struct vmp_pair *v;
	uint32_t nr, room;
};

/*
 * The code that every execution from a start on runs through, up to where the
 * first of its blocks ends.  A sample there has hit any of the executions alike,
 * whichever block it became in the end; one behind it has not.
 */
struct vmp_common {
	uint64_t end;		/* address of its last instruction */
	uint64_t behind;	/* ... and of what lies behind that: there are samples that overflowed in it */
	uint32_t insns;		/* 0 unknown */
};

struct vmp_groups {
	uint64_t n[VMP_GROUPS];
};

/* Of a row, weighed as pairs are */
struct vmp_cuts {
	struct vmp_groups windows, steps;	/* of all samples in it ... */
	struct vmp_groups cut, cut_steps;	/* ... and of those whose windows begin at a VM entry */
	uint64_t far;		/* of all groups: steps that are far, of windows that were not cut */
	uint64_t squares;	/* of all groups: weights of windows, each times itself */
};

/** vmp_groups_without() - Their sum without one; VMP_GROUPS: of all. */
static inline double vmp_groups_without(const struct vmp_groups *n, int group)
{
	uint64_t sum = 0;
	int g;

	for (g = 0; g < VMP_GROUPS; g++)
		sum += n->n[g];
	return (double)(group == VMP_GROUPS ? sum : sum - n->n[group]);
}

/* Of a block: CPI of the samples whose windows show it, times VMP_CPI_ONE, once for each time */
struct vmp_cpi {
	uint64_t n, sum;
};

/* Of a block to which mispredicted branches led: steps of windows, those that they led to in the second row */
struct vmp_part {
	uint32_t n[2][VMP_GROUPS];
};

/** vmp_part_missed() - Share of its runs to which they led, without one group; VMP_GROUPS: of all.  NAN: no window shows it. */
static inline double vmp_part_missed(const struct vmp_part *p, int group)
{
	double n[2] = { 0, 0 };
	int g;

	for (g = 0; g < VMP_GROUPS; g++) {
		n[0] += g == group ? 0 : p->n[0][g];
		n[1] += g == group ? 0 : p->n[1][g];
	}
	return n[1] / (n[0] + n[1]);
}

#define VMP_CPI_ONE	65536.0

struct vmp_phase {
	struct vmp_groups cycles, insns;	/* of intervals that began and ended in it */
	struct vmp_groups all_cycles, all_insns;	/* of those that ended in it */
};

struct vmp_measure {
	const struct vmp_set *set;
	uint32_t rows, phases;
	uint32_t *row_of, *phase_of;	/* by point; VMP_NONE: no sample was taken there, no block begins there */
	uint32_t *phase_of_row;
	uint8_t *shared;	/* by row: it is of several starts */
	struct vmp_common *common;	/* by point */
	struct vmp_cuts *cuts;		/* by row */
	struct vmp_groups *landings, *seconds;	/* by landing: samples of either event */
	struct vmp_groups *missed;	/* by landing: of the first event's, those to which a mispredicted branch led */
	struct vmp_cpi *cpi;		/* by block */
	struct vmp_spreads spreads;
	uint32_t *part_of;		/* by block; VMP_NONE: no mispredicted branch led there */
	struct vmp_part *parts;
	VMP_VEC(struct vmp_phase) phase;
	struct vmp_pairs pairs;
	int counts;			/* some samples have cycles and instructions */
};

/** vmp_measure_is_common() - Was what was retired last, at samples of a landing, in the common code of its start? */
static inline int vmp_measure_is_common(const struct vmp_measure *m, const struct vmp_landing *l)
{
	const struct vmp_common *c = &m->common[l->start];

	return m->set->points.points.v[l->at].addr <= (l->ended ? c->end : c->behind);
}

/** vmp_measure_create() - Count; what @set has kept of samples is freed, and by its choice its raws.  Return: 0, -ENOMEM, -errno of reading. */
int vmp_measure_create(struct vmp_measure **out, struct vmp_set *set);
void vmp_measure_destroy(struct vmp_measure *m);

/** vmp_measure_rows() - Rows, phases and common code, before anything is counted.  Private to measure.c. */
int vmp_measure_rows(struct vmp_measure *m);

#endif
