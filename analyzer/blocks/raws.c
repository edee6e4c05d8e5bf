// SPDX-License-Identifier: GPL-2.0-only
/* raws.c - an open-addressing table; guests choose the addresses, the hash is seeded. */
#include "blocks/raws.h"

#include "util/big.h"

#define FIRST_SLOTS	1024U
#define FIRST_ROOM	512U

static uint64_t hash(const struct vmp_raw *r)
{
	uint64_t tail = r->c + ((uint64_t)r->context << 40 | (uint64_t)r->kind << 39 | r->context_c);

	return vmp_hash_mix(r->a + vmp_hash_mix(r->b ^ (tail << 21 | tail >> 43)));
}

static int same(const struct vmp_raw *x, const struct vmp_raw *y)
{
	return x->a == y->a && x->b == y->b && x->c == y->c && x->context == y->context &&
	       x->context_c == y->context_c && x->kind == y->kind;
}

uint64_t vmp_raws_hash(const struct vmp_raws *r, const struct vmp_raw *key)
{
	uint64_t h = hash(key);

	if (r->slots)
		__builtin_prefetch(&r->slots[h & r->mask]);
	return h;
}

/* Its slot, or the free one where it would be */
static struct vmp_raws_slot *slot_of(const struct vmp_raws *r, const struct vmp_raw *key, uint64_t h)
{
	uint64_t i = h & r->mask;

	while (r->slots[i].number && (r->slots[i].hash != h >> 32 || !same(&r->raw[r->slots[i].number - 1], key)))
		i = (i + 1) & r->mask;
	return &r->slots[i];
}

uint32_t vmp_raws_find(const struct vmp_raws *r, const struct vmp_raw *key, uint64_t h)
{
	return (r->slots ? slot_of(r, key, h)->number : 0) - 1;
}

static int more_slots(struct vmp_raws *r)
{
	uint32_t nr = r->slots ? 2 * (r->mask + 1) : FIRST_SLOTS, i;
	struct vmp_raws_slot *slots = nr ? vmp_big_alloc(nr * sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	memset(slots, 0, nr * sizeof(*slots));
	free(r->slots);
	r->slots = slots;
	r->mask = nr - 1;
	for (i = 0; i < r->nr; i++) {
		uint64_t h = hash(&r->raw[i]), at = h & r->mask;

		while (slots[at].number)	/* no two are the same */
			at = (at + 1) & r->mask;
		slots[at] = (struct vmp_raws_slot){ (uint32_t)(h >> 32), i + 1 };
	}
	return 0;
}

static int more_room(struct vmp_raws *r)
{
	uint32_t room = r->room ? 2 * r->room : FIRST_ROOM;
	struct vmp_raw *raw = room > r->room ? vmp_big_alloc(room * sizeof(*raw)) : NULL;

	if (!raw)
		return -ENOMEM;
	if (r->nr)
		memcpy(raw, r->raw, r->nr * sizeof(*raw));
	free(r->raw);
	r->raw = raw;
	r->room = room;
	return 0;
}

static uint32_t sum32(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

int vmp_raws_add(struct vmp_raws *r, const struct vmp_raw *more, uint64_t h, uint32_t *number)
{
	struct vmp_raws_slot *slot;
	struct vmp_raw *raw;

	if ((!r->slots || r->nr >= r->mask / 2) && more_slots(r))
		return -ENOMEM;
	slot = slot_of(r, more, h);
	if (!slot->number) {
		if (r->nr == r->room && more_room(r))
			return -ENOMEM;
		r->raw[r->nr++] = *more;
		*slot = (struct vmp_raws_slot){ (uint32_t)(h >> 32), r->nr };
		*number = r->nr - 1;
		return 0;
	}
	*number = slot->number - 1;
	raw = &r->raw[*number];
	raw->n = sum32(raw->n, more->n);
	raw->mispredicted = sum32(raw->mispredicted, more->mispredicted);
	raw->cycles += more->cycles;
	raw->cycled = sum32(raw->cycled, more->cycled);
	return 0;
}

void vmp_raws_free(struct vmp_raws *r)
{
	free(r->raw);
	free(r->slots);
	*r = (struct vmp_raws){ 0 };
}
