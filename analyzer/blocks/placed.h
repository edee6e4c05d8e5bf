/* SPDX-License-Identifier: GPL-2.0-only */
/* placed.h - units, blocks, landings or samples by where they lie. */
#ifndef VMP_PLACED_H
#define VMP_PLACED_H

#include "blocks/set.h"

struct vmp_placed {
	uint32_t object, number;
	uint64_t addr;
};

/* A VMP_VEC() */
struct vmp_places {
	struct vmp_placed *v;
	uint32_t nr, room;
};

/** vmp_places_add() - Number @number lies at a point; the last address of all is no place.  Return: 0 or -ENOMEM. */
int vmp_places_add(struct vmp_places *p, const struct vmp_points *points, uint32_t point, uint32_t number);

/** vmp_places_add_landing() - Landing @number lies at some byte of the instruction that was retired last, as far as that is known. */
int vmp_places_add_landing(struct vmp_places *p, const struct vmp_set *set, uint32_t number);

/** vmp_places_sort() - By object, address and number: before the first question. */
void vmp_places_sort(struct vmp_places *p);

/** vmp_places_first() - The first that lies at an address of an object, or behind it. */
uint32_t vmp_places_first(const struct vmp_places *p, uint32_t object, uint64_t addr);

/** vmp_places_until() - Does element @i lie in the object, before an address? */
static inline int vmp_places_until(const struct vmp_places *p, uint32_t i, uint32_t object, uint64_t end)
{
	return i < p->nr && p->v[i].object == object && p->v[i].addr < end;
}

#endif
