/* SPDX-License-Identifier: GPL-2.0-only */
/* stepper.h - the code between points, instruction by instruction; each thread has its own. */
#ifndef VMP_STEPPER_H
#define VMP_STEPPER_H

#include "blocks/points.h"

/* An instruction that was decoded */
struct vmp_decoded {
	uint64_t addr;
	uint32_t object;
	uint8_t bytes;		/* 0: there is none */
	uint8_t flow;		/* enum vmp_flow */
};

#define VMP_DECODED	8192	/* of them are kept, by address */

/* How far code runs straight from a point, as far as that was looked at */
struct vmp_walk {
	uint32_t start;		/* VMP_NONE: none */
	uint32_t insns;		/* before at */
	uint64_t at, last;	/* bytes from there to the next instruction, and to the one before that */
	enum vmp_flow flow;	/* of that one; ON: there is none */
};

struct vmp_stepper {
	const struct vmp_points *p;
	struct vmp_walk walk;	/* ends come in order of their starts: the next one goes on from here */
	void *decoder;
	struct vmp_decoded *decoded;
};

/** vmp_stepper_init() - Return: 0 or -ENOMEM; vmp_stepper_deinit() is due either way. */
int vmp_stepper_init(struct vmp_stepper *s, const struct vmp_points *p);
void vmp_stepper_deinit(struct vmp_stepper *s);

#define VMP_STRAIGHT_BYTES	16384U	/* longer blocks are no work of a compiler */

/**
 * vmp_step_straight() - Instructions from one point up to another, if code runs straight there.
 * @insns: How many, the one at @end not counted.
 * @flow:  What the one at @end does; untouched where there is none.
 *
 * Return: VMP_FLAW_NONE, or why it does not.
 */
enum vmp_flaw vmp_step_straight(struct vmp_stepper *s, uint32_t start, uint32_t end, uint32_t *insns, enum vmp_flow *flow);

/** vmp_step_flow() - What the instruction at a point does; VMP_FLOW_NR: it is not known. */
enum vmp_flow vmp_step_flow(struct vmp_stepper *s, uint32_t point);

/**
 * vmp_step_target() - Where the branch at a point goes.
 * @addr: In the point's object.
 * Return: 1; 0 the instruction itself does not tell.
 */
int vmp_step_target(struct vmp_stepper *s, uint32_t point, uint64_t *addr);

#define VMP_FUSED_BYTES	16U	/* from what a processor names up to the branch */

/**
 * vmp_step_branch() - Bytes from what a processor named to the branch that went to @to.
 * Where instructions were fused, AMD's branch records name the first of them; the branch
 * is then the first one behind it, if that goes just to @to.
 * Return: 0 where @from is no such instruction.
 */
uint64_t vmp_step_branch(struct vmp_stepper *s, uint32_t from, uint32_t to);

#endif
