/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * solutions.h - a chain's stationary state, of all groups of samples and without each: what
 * blocks' executions and times are, how far the groups agree, and how far chance may be off.
 */
#ifndef VMP_SOLUTIONS_H
#define VMP_SOLUTIONS_H

#include "blocks/chain.h"

#define VMP_CHAIN_ALL	VMP_GROUPS	/* no group is left out */

#define VMP_LANES	4U	/* solutions that are made together */

/* Runs of a start that windows show */
struct vmp_sight {
	double near, far;		/* by the nearest steps alone, and by the others alone */
	double lost, shown;		/* variance by chance: of the difference of these, and of all runs that are shown */
	double own;			/* that the start's own windows show */
};

/* Of runs that go on behind the common code of their start, all of them: instructions behind it */
struct vmp_tail {
	double shown, windows;		/* such runs, and steps that show any */
	double insns;			/* that these have ... */
	double cycles, missing;		/* ... times the cycles of such a run, and times the part of such runs that cuts may hide */
	double unknown;			/* runs of which it is not known whether they do */
	double samples;			/* of instructions */
};

/* Of all groups, or some beside each other, each without one; lane by lane at every place of an array */
struct vmp_solutions {
	unsigned int first;	/* group that the first lane leaves out, or VMP_CHAIN_ALL */
	unsigned int lanes;	/* 1 or VMP_LANES */
	double *part;		/* as in_pair: share of the source's steps */
	double *samples;	/* by row */
	double *seconds;	/* by row: samples of instructions in common code */
	double *weight;		/* by row: steps of the row that stay */
	double *keeps;		/* by row: share of these that do not go to what no sample hit, or to itself */
	double *x;		/* executions by row; what it is before is where solving begins */
	double *cut_cycles, *cut_insns;	/* by row: windows that were cut, by their cycles, by their instructions */
	double *more;		/* by row: part of what its windows show that may be too much */
	double *shown, *missing;	/* by row of one start: runs, those that cuts may hide or show too many of */
	struct vmp_tail *tail;	/* by row of one start */
	struct vmp_sight *sight;	/* ... too */
	double *scale;		/* by class: instructions that there must be, and that there are */
	double *block;		/* executions by block */
	double *time;		/* samples by block */
	double *left;		/* by block: its executions, and those of the longer ones of its start */
	double *by_runs, *by_sight;	/* by block: samples that it shares with these, for each execution, or each time that it was seen */
	double *took;		/* by block: cycles of one execution, 0 unknown; lies where by_runs does, between two uses of that */
	double *room;		/* what all these lie in */
	double guessed;		/* part of the scale's instructions that are of code that is not here */
};

/* Variance of a unit's executions, by chance */
struct vmp_chance {
	double windows;		/* of how often windows show it, at what they stand for */
	double samples;		/* of what they stand for, by samples of instructions */
};

/** vmp_solutions_init() - Return: 0 or -ENOMEM; vmp_solutions_deinit() is due either way. */
int vmp_solutions_init(struct vmp_solutions *s, const struct vmp_chain *c, unsigned int first, unsigned int lanes);
void vmp_solutions_deinit(struct vmp_solutions *s);

/** vmp_solutions_solve() - All lanes, each as it would be alone. */
void vmp_solutions_solve(const struct vmp_chain *c, struct vmp_solutions *s);

/**
 * vmp_solutions_units() - What windows show of each unit, so many times as of its block.
 * @s: Solved; by_runs is used.
 * @unit: Executions by unit, lane by lane; filled in.
 */
void vmp_solutions_units(const struct vmp_chain *c, struct vmp_solutions *s, double *unit);

/**
 * vmp_solutions_chance() - How far chance may be off in a unit's executions.
 * @s: Solved, of all groups.
 * @chance: By unit; filled in.
 * Return: executions that one window stands for: of code so rarely sampled that its starts share a row, if there is any.
 */
double vmp_solutions_chance(const struct vmp_chain *c, const struct vmp_solutions *s, struct vmp_chance *chance);

#endif
