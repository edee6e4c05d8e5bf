/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * chain.h - executions of blocks from windows that were taken at points of
 * time, not at branches.
 *
 * A window is taken in a step with a probability that goes with the step's
 * duration, and shows what ran right before it.  So what ran before long
 * steps is seen too often.  With X executions of a row's blocks and N samples
 * taken in them, a window from there stands for X / N executions of each unit
 * in it, whatever the durations are; and what the windows then say of X must
 * agree with X.  That is the stationary state of a chain whose transitions are
 * counted; its scale comes from the instructions counter.
 */
#ifndef VMP_CHAIN_H
#define VMP_CHAIN_H

#include "blocks/measure.h"

#define VMP_CHAIN_ALL	VMP_GROUPS	/* no group is left out */

/* What all solutions have in common; a class is rows that reach each other */
struct vmp_chain {
	const struct vmp_measure *m;
	double period;
	int by_instructions;	/* samples of instructions tell executions themselves */
	uint32_t classes;
	uint32_t *class_of;	/* by row */
	uint32_t *first;	/* of a row's pairs; rows + 1 */
	uint32_t *to;		/* by pair: row in which its unit begins; VMP_NONE: no sample was taken in its like */
	uint8_t *stays;		/* by pair: that is in the class, or none */
	double *insns;		/* by pair: of its unit */
	uint8_t *guessed;	/* by pair: its code is not here */
	uint64_t *steps;	/* by pair: of all groups */
	uint32_t *in_first;	/* of what leads to a row from its class; rows + 1 */
	uint32_t *in_pair;	/* numbers of these pairs, by row */
	uint32_t *source;	/* ... and the rows that they are of */
	uint32_t *first_block;	/* by point */
	double *seen;		/* by block: how often windows showed it and the longer ones of its start */
};

#define VMP_LANES	4U	/* solutions that are made together */

/* Of all groups, or some beside each other, each without one; lane by lane at every place of an array */
struct vmp_solutions {
	unsigned int first;	/* group that the first lane leaves out, or VMP_CHAIN_ALL */
	unsigned int lanes;	/* 1 or VMP_LANES */
	double *part;		/* as in_pair: share of the source's steps */
	double *samples;	/* by row */
	double *weight;		/* by row: steps of the row that stay */
	double *keeps;		/* by row: share of these that do not go to what no sample hit, or to itself */
	double *x;		/* executions by row; what it is before is where solving begins */
	double *cut_cycles, *cut_insns;	/* by row: windows that were cut, by their cycles, by their instructions */
	double *shown, *missing, *windows;	/* by row of one start: runs, those that cuts may hide, steps that show any */
	double *scale;		/* by class: instructions that there must be, and that there are */
	double *unit;		/* executions by unit */
	double *block;		/* ... and by block */
	double *time;		/* samples by block */
	double *left;		/* by block: its executions, and those of the longer ones of its start */
	double *by_runs, *by_sight;	/* by block: samples that it shares with these, for each execution, or each time that it was seen */
	double guessed;		/* part of the scale's instructions that are of code that is not here */
};

/** vmp_chain_init() - Return: 0 or -ENOMEM; vmp_chain_deinit() is due either way. */
int vmp_chain_init(struct vmp_chain *c, const struct vmp_measure *m, double period, int by_instructions);
void vmp_chain_deinit(struct vmp_chain *c);

/** vmp_solutions_init() - Return: 0 or -ENOMEM; vmp_solutions_deinit() is due either way. */
int vmp_solutions_init(struct vmp_solutions *s, const struct vmp_chain *c, unsigned int first, unsigned int lanes);
void vmp_solutions_deinit(struct vmp_solutions *s);

/**
 * vmp_chain_share() - Samples of landings, shared out among the blocks of which they may be: by the blocks' executions in each lane, where nothing
 * tells them by how often windows showed them.
 * @landings: Samples, by landing; each lane leaves its group out.
 * @time: Samples by block, lane by lane.
 */
void vmp_chain_share(const struct vmp_chain *c, struct vmp_solutions *s, const struct vmp_groups *landings, double *time);

/** vmp_chain_solve() - All lanes, each as it would be alone. */
void vmp_chain_solve(const struct vmp_chain *c, struct vmp_solutions *s);

#endif
