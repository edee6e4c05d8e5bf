/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * estimate.h - how often each block ran, and how long it took; the derivation is in
 * docs/block-timing.md.
 */
#ifndef VMP_ESTIMATE_H
#define VMP_ESTIMATE_H

#include <math.h>

#include "blocks/measure.h"

/* Where a block's cycles come from */
enum vmp_source {
	VMP_SOURCE_NONE,
	VMP_SOURCE_CPI,		/* equation 1: CPI of the samples times instructions */
	VMP_SOURCE_TIME,	/* share of time by share of executions */
	VMP_SOURCE_LBR,		/* counted by the processor */
	VMP_SOURCE_NR
};

/** vmp_source_key() - "cpi" */
const char *vmp_source_key(enum vmp_source source);

struct vmp_estimate {
	double samples;		/* taken in it, shared out where blocks overlap */
	double missed;		/* of these, in runs to which a mispredicted branch led */
	double cycles_missed, cycles_predicted;	/* of one execution of either kind, by the source in use; NAN unknown */
	double missed_error, predicted_error;	/* standard errors of these, by VMP_SOURCE_TIME; NAN unknown */
	double executions;	/* in the session; NAN unknown */
	double executions_error;	/* standard error; NAN unknown */
	double cycles[VMP_SOURCE_NR];	/* of one execution; NAN unknown */
	double error;		/* standard error of cycles[VMP_SOURCE_TIME]; NAN unknown */
	double doubt, executions_doubt;	/* parts of cycles and of executions that all these errors hold besides chance */
	double runs_spread;	/* the same of another source in use, from how far single runs lie apart; NAN unknown */
	enum vmp_source source;	/* the one in use */
};

/* Standard error of the cycles by the source in use; NAN unknown */
static inline double vmp_estimate_error(const struct vmp_estimate *e)
{
	return e->source == VMP_SOURCE_TIME ? e->error : e->runs_spread;
}

#define VMP_FEW_SAMPLES	4.0	/* fewer say little of a time, and are too few for groups */

/*
 * The standard error of cycles by so few samples in so many runs: as if one more had been taken, so that none is no certainty
 * either.  Infinite: runs are not known.
 */
static inline double vmp_few_error(double samples, double period, double runs)
{
	return runs > 0 && period > 0 ? sqrt(samples + 1) * period / runs : INFINITY;
}

/*
 * The standard error of cycles, which are a time by runs, from the jackknife's: where runs may be a part r fewer, cycles are r / (1 - r)
 * more; where runs are more, they are less than r fewer.  The larger is told, up to ten times @error: then nobody knows.
 */
static inline double vmp_time_error(double cycles, double error)
{
	return error / fmax(1 - error / cycles, 0.1);
}

struct vmp_chance;

struct vmp_estimates {
	const struct vmp_measure *m;
	struct vmp_estimate *block;	/* by number of the block */
	int chained;			/* the chain told executions */
	double *unit;			/* executions by number of the unit; NULL: not known, or not wanted */
	float *unit_without[VMP_GROUPS];	/* the same without one group */
	struct vmp_chance *unit_chance;	/* by number of the unit */
	double window;			/* executions that one window stands for where code is rarely sampled */
	float *block_without[VMP_GROUPS];	/* executions by number of the block, without one group (NAN: by the
						   processor's own cycles); NULL: not wanted */
	double samples;			/* in all blocks */
	double period;			/* cycles that a sample stands for; 0: it was another event */
	int by_instructions;		/* executions come from samples of instructions */
	enum vmp_source source;		/* the one in use where it can be */
	uint64_t uncycled;		/* runs in windows whose cycles the processor did not tell, if it does of others */
	uint32_t uncycled_blocks;	/* blocks that have no others */
	uint64_t guessed;		/* steps whose instructions had to be guessed for the scale */
	double guessed_part;		/* of all instructions of the scale */
	uint32_t doubted;		/* blocks by the chain alone that are far from equation 1 */
	double doubted_samples;
};

/** vmp_estimate_spread() - What cycles of single runs are by: VMP_SOURCE_LBR where the whole is, else VMP_SOURCE_CPI. */
static inline enum vmp_source vmp_estimate_spread(const struct vmp_estimates *e)
{
	return e->source == VMP_SOURCE_LBR ? VMP_SOURCE_LBR : VMP_SOURCE_CPI;
}

/** vmp_estimate_cpi_error() - The standard error of a block's cycles[VMP_SOURCE_CPI], whichever is in use; NAN unknown. */
double vmp_estimate_cpi_error(const struct vmp_estimates *e, uint32_t block);

/** vmp_error_of() - The jackknife's standard error of a figure, from what it is without each group.  NAN: one of these is unknown, or
    beyond all others. */
double vmp_error_of(const double without[VMP_GROUPS]);

/**
 * vmp_estimate_create() - From what was counted.
 * @groups: Keep unit[], unit_without[], unit_chance[] and block_without[], too.
 * Return: 0 or -ENOMEM.
 */
int vmp_estimate_create(struct vmp_estimates **out, const struct vmp_measure *m, int groups);
void vmp_estimate_destroy(struct vmp_estimates *e);

#endif
