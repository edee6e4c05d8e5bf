/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slots.h - open-addressing table of elements that lie in an array: it holds their
 * numbers and a part of their hashes, half of what struct vmp_hash takes.
 *
 * Zeroed memory is an empty table.  Who looks for an element:
 *
 *	for (at = 0; (n = vmp_slots_next(s, hash, &at)) != VMP_NONE; )
 *		if (element n is it)
 *			...
 *
 * The table is larger than any cache: who looks for several asks for all of their slots
 * (vmp_slots_fetch()), then for the elements in them (vmp_slots_peek()), then looks them up.
 */
#ifndef VMP_SLOTS_H
#define VMP_SLOTS_H

#include <stdint.h>

#include "model/space.h"

struct vmp_slot {
	uint32_t hash;		/* its upper half */
	uint32_t number;	/* + 1, 0 free */
};

struct vmp_slots {
	struct vmp_slot *v;
	uint32_t nr, mask;
};

static inline struct vmp_slot *vmp_slots_at(const struct vmp_slots *s, uint64_t hash, uint32_t at)
{
	return &s->v[((hash >> 32) + at) & s->mask];
}

/** vmp_slots_next() - Number of an element that may be it; VMP_NONE: it is not there.  @at: 0 at first. */
static inline uint32_t vmp_slots_next(const struct vmp_slots *s, uint64_t hash, uint32_t *at)
{
	const struct vmp_slot *slot;

	if (!s->v)
		return VMP_NONE;
	do
		slot = vmp_slots_at(s, hash, (*at)++);
	while (slot->number && slot->hash != hash >> 32);
	return slot->number - 1;
}

/** vmp_slots_fetch() - The place of a hash is fetched meanwhile. */
static inline void vmp_slots_fetch(const struct vmp_slots *s, uint64_t hash)
{
	if (s->v)
		__builtin_prefetch(vmp_slots_at(s, hash, 0));
}

/** vmp_slots_peek() - Number of the element that lies in the place of a hash, whichever it is, or VMP_NONE. */
static inline uint32_t vmp_slots_peek(const struct vmp_slots *s, uint64_t hash)
{
	return s->v ? vmp_slots_at(s, hash, 0)->number - 1 : VMP_NONE;
}

/** vmp_slots_add() - An element that is not there yet.  Return: 0 or -ENOMEM. */
int vmp_slots_add(struct vmp_slots *s, uint32_t number, uint64_t hash);

/** vmp_slots_reserve() - Room for so many more, so that it need not grow step by step.  Return: 0 or -ENOMEM. */
int vmp_slots_reserve(struct vmp_slots *s, uint32_t more);

void vmp_slots_free(struct vmp_slots *s);

#endif
