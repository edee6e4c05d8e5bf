/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * weigh.h - cycles and instructions that samples stand for.
 *
 * Where instructions were sampled beside cycles, each sample stands for its
 * event's total by the number of its overflows (the period, but where perf
 * throttled the event).  Summed up by function and divided, that is
 *
 *   CPI = (share of cycles * cycles) / (share of instructions * instructions)
 *
 * Else a sample has what the counters counted since the last overflow.  That
 * belongs to all that ran since then, not to the function where the sample
 * landed: sums over many functions are right, a single function's are not.
 */
#ifndef VMP_WEIGH_H
#define VMP_WEIGH_H

#include <stdint.h>
#include <vmprof/uapi.h>

struct vmp_model;

struct vmp_weight {
	uint64_t cycles, instructions;
};

/** vmp_weigh_init() - Set the model's pair, when all of its totals are read. */
void vmp_weigh_init(struct vmp_model *m);

/** vmp_weigh_paired() - 1 when the weights are those of two sampled events. */
int vmp_weigh_paired(const struct vmp_model *m);

/** vmp_weigh_estimator() - What CPI comes from where there is any: "two-events" or "counts". */
const char *vmp_weigh_estimator(const struct vmp_model *m);

/** vmp_weigh() - Of one sample. Return: 1, or 0 when it tells of none (@w is 0 then). */
int vmp_weigh(const struct vmp_model *m, const struct vmprof_sample *s, struct vmp_weight *w);

/** vmp_weigh_cpi() - From so many samples of either event; 0 when they cannot tell. */
double vmp_weigh_cpi(const struct vmp_model *m, uint64_t samples, uint64_t instruction_samples);

#endif
