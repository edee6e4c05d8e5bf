/* SPDX-License-Identifier: GPL-2.0-only */
/* judge_blocks.h - the questions about the time of blocks of instructions. */
#ifndef TRUTH_JUDGE_BLOCKS_H
#define TRUTH_JUDGE_BLOCKS_H

#include "exact.h"
#include "model/model.h"

/* What is asked */
struct blocks_asked {
	uint32_t blocks;	/* so many hottest ones of the guest's user code, and as many of its kernel; 0: none */
	uint32_t host;		/* so many of the host's kernel, and as many of the VM's QEMU; 0: none */
	const char *function;	/* of user code, with blocks: whether its blocks, each one's runs by its cycles, add up to its time, and
				   whether these runs are right */
	uint64_t qemu;		/* the CR3 that QEMU has in the emulator's counts, 0: not known */
};

/**
 * judge_blocks() - Cycles of the hottest blocks by vmprof blocks beside the emulator's: of the guest's user code, and of its kernel (if its
 * branches were recorded and instructions sampled), and trips of loops; of the host's.
 *
 * The capture has branches, and of one domain.  Return: 0, -ENOMEM, -errno of reading, -EINVAL.
 */
int judge_blocks(struct vmp_model *m, const struct exact *x, const struct blocks_asked *asked);

#endif
