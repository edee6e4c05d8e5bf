/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_blocks.h - the questions about the time of blocks of instructions. */
#ifndef TRUTH_JUDGE_BLOCKS_H
#define TRUTH_JUDGE_BLOCKS_H

#include "exact.h"
#include "model/model.h"

/**
 * judge_blocks() - Cycles of the hottest blocks of user code, then of the guest's kernel (if its branches were recorded and
 * instructions sampled), by vmprof blocks beside the emulator's, and trips of loops.
 * @blocks: How many of either.
 * @function: Of user code, by name: whether its blocks, each one's runs by its cycles, add up to its time, and whether
 *            these runs are right.
 *
 * The capture has branches, and of one domain.  Return: 0, -ENOMEM, -errno of reading, -EINVAL.
 */
int judge_blocks(struct vmp_model *m, const struct exact *x, uint32_t blocks, const char *function);

#endif
