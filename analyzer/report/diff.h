/* SPDX-License-Identifier: GPL-2.0-only */
/* diff.h - two profiles as one: each row with what it was in the other capture. */
#ifndef VMP_DIFF_H
#define VMP_DIFF_H

#include "report/profile.h"

/**
 * vmp_diff() - Join the rows of an earlier profile to those of a later one.
 * @after:  Its rows get their values in @before, rows that are only there are added, and
 *          all are put in order.
 * @before: Grouped in the same way, both with all_rows; its domains are found by name, a single one
 *          on both sides by that.
 * Return: 0 or -ENOMEM.
 */
int vmp_diff(struct vmp_profile *after, const struct vmp_profile *before, const struct vmp_options *o);

#endif
