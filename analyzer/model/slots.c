// SPDX-License-Identifier: GPL-2.0-only
/* slots.c - linear probing, at most three quarters full; when it grows no element is looked at. */
#include "model/slots.h"

#include <errno.h>
#include <stdlib.h>

#include "util/big.h"

#define FIRST	64U

static void put(struct vmp_slots *s, struct vmp_slot new)
{
	uint32_t at = new.hash;

	while (s->v[at & s->mask].number)
		at++;
	s->v[at & s->mask] = new;
	s->nr++;
}

static int grow(struct vmp_slots *s, uint32_t nr)
{
	uint32_t i;
	struct vmp_slots more = { .v = nr ? vmp_big_zeroed(nr, sizeof(*s->v)) : NULL, .mask = nr - 1 };

	if (!more.v)
		return -ENOMEM;
	for (i = 0; s->v && i <= s->mask; i++)
		if (s->v[i].number)
			put(&more, s->v[i]);
	free(s->v);
	*s = more;
	return 0;
}

int vmp_slots_add(struct vmp_slots *s, uint32_t number, uint64_t hash)
{
	if ((!s->v || s->nr > s->mask / 4 * 3) && grow(s, s->v ? 2 * (s->mask + 1) : FIRST))
		return -ENOMEM;
	put(s, (struct vmp_slot){ (uint32_t)(hash >> 32), number + 1 });
	return 0;
}

int vmp_slots_reserve(struct vmp_slots *s, uint32_t more)
{
	const uint64_t need = (uint64_t)s->nr + more;
	uint64_t nr = s->v ? (uint64_t)s->mask + 1 : FIRST;

	while (need > (nr - 1) / 4 * 3)
		nr *= 2;
	if (nr > UINT32_MAX)
		return -ENOMEM;
	return s->v && nr == (uint64_t)s->mask + 1 ? 0 : grow(s, (uint32_t)nr);
}

void vmp_slots_free(struct vmp_slots *s)
{
	free(s->v);
	*s = (struct vmp_slots){ 0 };
}
