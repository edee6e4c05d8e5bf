// SPDX-License-Identifier: GPL-2.0-only
/* slots.c - linear probing, at most half full. */
#include "model/slots.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST	64U

static void put(struct vmp_slots *s, uint64_t hash, uint32_t number)
{
	while (s->v[hash & s->mask])
		hash++;
	s->v[hash & s->mask] = number + 1;
	s->nr++;
}

static int grow(struct vmp_slots *s, uint64_t (*hash_of)(const void *arg, uint32_t number), const void *arg)
{
	uint32_t nr = s->v ? 2 * (s->mask + 1) : FIRST, i;
	struct vmp_slots more = { .v = nr ? calloc(nr, sizeof(*s->v)) : NULL, .mask = nr - 1 };

	if (!more.v)
		return -ENOMEM;
	for (i = 0; s->v && i <= s->mask; i++)
		if (s->v[i])
			put(&more, hash_of(arg, s->v[i] - 1), s->v[i] - 1);
	free(s->v);
	*s = more;
	return 0;
}

int vmp_slots_add(struct vmp_slots *s, uint32_t number, uint64_t (*hash_of)(const void *arg, uint32_t number),
		  const void *arg)
{
	if ((!s->v || s->nr > s->mask / 2) && grow(s, hash_of, arg))
		return -ENOMEM;
	put(s, hash_of(arg, number), number);
	return 0;
}

void vmp_slots_free(struct vmp_slots *s)
{
	free(s->v);
	*s = (struct vmp_slots){ 0 };
}
