/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * draw.h - random periods.
 *
 * With a fixed period what runs right behind a sample is never sampled, and a program that repeats itself at the
 * period's pace is sampled at one place.  Where periods are exponentially distributed neither is so: however long the
 * last overflow is ago, the next event is one with the same probability (the process is memoryless).
 */
#ifndef VMPH_DRAW_H
#define VMPH_DRAW_H

#include <linux/prandom.h>
#include <linux/types.h>

#define VMPH_PERIOD_LEAST	2	/* of branches, perf would take 1 for tracing */

struct vmph_draw {
	struct rnd_state random;
};

/** vmph_draw_init() - Seed it. */
void vmph_draw_init(struct vmph_draw *draw);

/**
 * vmph_draw() - One period.
 * @mean: Of their distribution, in events; up to VMPROF_PERIOD_RANDOM_MAX.
 * Context: any, NMI too; one at a time for each @draw.
 * Return: VMPH_PERIOD_LEAST or more.
 */
u64 vmph_draw(struct vmph_draw *draw, u64 mean);

#endif
