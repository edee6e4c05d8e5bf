/* SPDX-License-Identifier: GPL-2.0-only */
/* share.h - of which block is a sample, where several may have been running? */
#ifndef VMP_SHARE_H
#define VMP_SHARE_H

#include "blocks/solutions.h"

/** vmp_share_init() - What does not change, of @c whose measure is known.  Return: 0 or -ENOMEM; vmp_chain_deinit() is due either way. */
int vmp_share_init(struct vmp_chain *c);

/**
 * vmp_share() - Samples of landings, shared out among the blocks of which they may be: by the blocks' executions in each lane, where nothing
 * tells them by how often windows showed them.
 * @landings: Samples, by landing; each lane leaves its group out.
 * @time: Samples by block, lane by lane.
 */
void vmp_share(const struct vmp_chain *c, struct vmp_solutions *s, const struct vmp_groups *landings, double *time);

#endif
