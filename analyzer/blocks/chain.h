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
	uint32_t *block;	/* by pair: of its unit */
	double *insns;		/* ... and that block's instructions */
	uint8_t *guessed;	/* by pair: its code is not here */
	uint64_t *steps;	/* by pair: of all groups */
	uint32_t *in_first;	/* of what leads to a row from its class; rows + 1 */
	uint32_t *in_pair;	/* numbers of these pairs, by row */
	uint32_t *source;	/* ... and the rows that they are of */
	uint32_t *landed;	/* by landing: the first block of which its samples may be; VMP_NONE none */
	double *seen;		/* by block: how often windows showed it and the longer ones of its start */
};

/** vmp_chain_init() - Return: 0 or -ENOMEM; vmp_chain_deinit() is due either way. */
int vmp_chain_init(struct vmp_chain *c, const struct vmp_measure *m, double period, int by_instructions);
void vmp_chain_deinit(struct vmp_chain *c);

#endif
