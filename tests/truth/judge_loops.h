/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_loops.h - the question about how often loops run. */
#ifndef TRUTH_JUDGE_LOOPS_H
#define TRUTH_JUDGE_LOOPS_H

#include "blocks/estimate.h"
#include "pieces.h"

/**
 * judge_loops() - Iterations and trips of the hottest loops of user code, by vmprof loops beside the emulator's.
 * @e: With groups.
 * @paired: Instructions were sampled, too: then the cycles of an iteration are known as well as trips are.
 *
 * Of loops that only direct branches lead around, and none into the middle: there the emulator's counts of branches tell.
 * Return: 0 or -ENOMEM.
 */
int judge_loops(const struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, int paired);

#endif
