/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * slots.h - open-addressing table of elements that lie in an array: it holds their
 * numbers only, a quarter of what struct vmp_hash takes.
 *
 * Zeroed memory is an empty table.  Who looks for an element:
 *
 *	for (at = hash; (n = vmp_slots_next(s, &at)) != VMP_NONE; )
 *		if (element n is it)
 *			...
 */
#ifndef VMP_SLOTS_H
#define VMP_SLOTS_H

#include <stdint.h>

#include "model/space.h"

struct vmp_slots {
	uint32_t *v;		/* number + 1, 0 free */
	uint32_t nr, mask;
};

/** vmp_slots_next() - Number of an element that may be it; VMP_NONE: it is not there.  @at: the hash at first. */
static inline uint32_t vmp_slots_next(const struct vmp_slots *s, uint64_t *at)
{
	return s->v ? s->v[(*at)++ & s->mask] - 1 : VMP_NONE;
}

/** vmp_slots_fetch() - The place of a hash is fetched meanwhile. */
static inline void vmp_slots_fetch(const struct vmp_slots *s, uint64_t hash)
{
	if (s->v)
		__builtin_prefetch(&s->v[hash & s->mask]);
}

/**
 * vmp_slots_add() - An element that is not there yet.
 * @hash_of: Hash of any of them.
 * Return: 0 or -ENOMEM.
 */
int vmp_slots_add(struct vmp_slots *s, uint32_t number, uint64_t (*hash_of)(const void *arg, uint32_t number),
		  const void *arg);

void vmp_slots_free(struct vmp_slots *s);

#endif
