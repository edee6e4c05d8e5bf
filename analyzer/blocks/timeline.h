/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * timeline.h - what ran on vCPUs, block by block, back from each sample.
 *
 * Each block is as long as its estimated cycles say, by the rate of tickrate.h; the
 * youngest ends where the block of the sample itself began, as far as that is
 * known; cycles are means, so that a block may be cut where the sample before was taken.  Between samples there are gaps: branches reach only so far back.
 */
#ifndef VMP_TIMELINE_H
#define VMP_TIMELINE_H

#include <stdio.h>

#include "blocks/estimate.h"
#include "util/terminal.h"

enum vmp_moment_kind {
	VMP_MOMENT_BLOCK,	/* ran from tsc on for ticks */
	VMP_MOMENT_SAMPLE,	/* was taken in the guest */
	VMP_MOMENT_VMM,		/* a sample: the vCPU had left the guest for what */
	VMP_MOMENT_STEAL,	/* a sample: another task ran while the vCPU waited */
	VMP_MOMENT_EDGE,	/* the vCPU had been out of the guest before tsc: there a record of branches ends */
};

struct vmp_strip_span {
	double tsc;		/* host */
	double ticks;		/* block: as far as it does not reach back behind the sample before */
	double cycles;		/* block: what it took */
	double samples;		/* block: taken in all of its runs */
	double error;		/* block: standard error of its cycles; NAN unknown, or the processor counted those of this run */
	double sampled;		/* TSC of the sample that it is laid back from, or is */
	uint32_t vm, vcpu;	/* vcpu VMP_NONE: not one */
	enum vmp_moment_kind kind;
	uint32_t start, end;	/* block: points; others: start is where the sample was taken, VMP_NONE unknown */
	uint32_t what;		/* string number: process, exit reason, task that ran */
	uint32_t seq;		/* of equal times the one that came first */
	int mispredicted;	/* the branch at the block's end */
};

struct vmp_timeline {
	VMP_VEC(struct vmp_strip_span) spans;	/* by vm, vCPU and time */
	uint64_t samples;
	uint64_t more;		/* samples in the time asked for, over the limit */
	uint64_t last_tsc;	/* if there are more: of the last sample that is shown; no other one was before */
	double rate;		/* TSC ticks for each cycle; 0: nothing tells, and a cycle is taken as a tick */
	uint64_t unknown;	/* windows that end early: cycles of a block are not known */
	uint64_t cut, left_out;	/* blocks that reach back behind the sample before: from there on, and wholly */
};

struct vmp_timeline_choice {
	uint64_t from_tsc, to_tsc;
	uint64_t limit;		/* samples: the earliest, whichever vCPU's; of one TSC the first in the file; UINT64_MAX all */
};

/** vmp_timeline_create() - Read the samples twice more; three times with a limit.  Return: 0, -ENOMEM, -errno of reading. */
int vmp_timeline_create(struct vmp_timeline **out, struct vmp_set *set, const struct vmp_estimates *e,
			const struct vmp_timeline_choice *c);
void vmp_timeline_destroy(struct vmp_timeline *t);

/** vmp_timeline_text() - A line for each sample: the blocks before it, the oldest first. */
void vmp_timeline_text(FILE *out, const struct vmp_set *set, const struct vmp_timeline *t,
		       const struct vmp_look *look);

/** vmp_timeline_trace() - Trace Event Format (JSON), for Perfetto and chrome://tracing. */
void vmp_timeline_trace(FILE *out, const struct vmp_set *set, const struct vmp_timeline *t);

#endif
