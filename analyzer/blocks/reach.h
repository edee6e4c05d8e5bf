/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reach.h - which branches code leads to, as windows saw it go.
 *
 * A branch back makes a loop only if where it goes leads to it again.  Code that compilers put behind a
 * function because it is rarely run comes back to what it was left from, and is run once for it.
 *
 * Code leads straight on as far as any block was seen to run over it, from every branch on the way to where that was
 * seen to go, and from a call to what lies behind it.  From within the header's function what lies before the header does not
 * count: every cycle goes through its lowest address by a branch back to it, so none is lost.
 * What cannot be seen (code that is not here, or in no object) may lead anywhere; so may a conditional jump that was always
 * seen to branch, unless the branch back was seen often: each round takes both.
 */
#ifndef VMP_REACH_H
#define VMP_REACH_H

#include "blocks/placed.h"

struct vmp_reach;

/**
 * vmp_reach_create() - Of all units of a set.
 * @starts: Those with blocks, by start; borrowed.
 * Return: 0 or -ENOMEM.
 */
int vmp_reach_create(struct vmp_reach **out, const struct vmp_set *set, const struct vmp_places *starts);
void vmp_reach_destroy(struct vmp_reach *r);

/**
 * vmp_reach_from() - From now on, ask about what a header leads to.
 * Return: 0 or -ENOMEM.
 */
int vmp_reach_from(struct vmp_reach *r, uint32_t header);

/**
 * vmp_reach_leads() - Can the header lead to a unit's branch?
 * Return: 0 only if all ways from there were seen to end without coming to it.
 */
int vmp_reach_leads(const struct vmp_reach *r, uint32_t unit);

#endif
