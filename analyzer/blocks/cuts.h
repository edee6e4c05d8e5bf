/* SPDX-License-Identifier: GPL-2.0-only */
/* cuts.h - runs of blocks that windows show too few or too many of, as VM entries cut them. */
#ifndef VMP_CUTS_H
#define VMP_CUTS_H

#include "blocks/solutions.h"

/** vmp_cuts_mend() - Executions of blocks, with those that cuts hide, without those that cut windows have too many of; samples of instructions have told @s's rows. */
void vmp_cuts_mend(const struct vmp_chain *c, struct vmp_solutions *s);

#endif
