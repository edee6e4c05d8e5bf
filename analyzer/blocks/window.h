/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * window.h - one sample's branches as steps: a straight piece of code, and
 * where the branch at its end went.
 */
#ifndef VMP_WINDOW_H
#define VMP_WINDOW_H

#include "blocks/points.h"
#include "model/lbr.h"

struct vmp_step {
	uint64_t start;		/* 0: not known (the oldest branch; or not all were recorded) */
	uint64_t end;		/* address of the branch; 0: only where branches end was recorded */
	uint64_t next;		/* where it went; 0: not recorded */
	uint32_t cycles;	/* of the whole step, 0 unknown */
	uint8_t mispredicted;	/* the branch at its end was */
	uint8_t missed;		/* the branch before it was: the processor had to start over here */
	uint8_t branch;		/* number of the branch in its record, the youngest 0 */
};

struct vmp_window {
	struct vmp_step step[VMPROF_LBR_MAX];	/* the youngest first */
	unsigned int nr;
	unsigned int switched;	/* entries left out: user code of another address space */
	uint64_t landed;	/* start of the block in which the sample was taken, 0 unknown */
	uint64_t at;		/* where in it: the sample's address; or, ended, of the branch that led there */
	int ended;		/* that branch was retired last: the sample is of the first step's block */
	int missed;		/* the branch to the start was mispredicted */
};

/**
 * vmp_window_own() - How many of the youngest branches are told to be of the present address space.
 * @kernel: Context of its kernel.
 *
 * Beyond them there was a switch: what is user code there may be another process's.
 */
unsigned int vmp_window_own(const struct vmp_points *p, uint32_t kernel, const struct vmp_lbr *lbr);

/**
 * vmp_window_of() - Steps of a sample that has branches.
 * @kernel: Context of its kernel.
 * @ip:     Where it was taken.
 * @timed:  Of the session's event; else of instructions beside it.
 *
 * A counter's interrupt comes when an instruction has been retired, and finds the one that is next. Where the youngest
 * branch led just there, that branch was the last, and the sample belongs to the block that it ended, if the record tells where
 * that began. Behind a mispredicted one a processor mostly waits for the next instruction: that time is the next block's.
 */
void vmp_window_of(const struct vmp_points *p, uint32_t kernel, const struct vmp_lbr *lbr, uint64_t ip, int timed,
		   struct vmp_window *w);

#endif
