// SPDX-License-Identifier: GPL-2.0-only
/* raws.c - an open-addressing table; guests choose the addresses, the hash is seeded. */
#include "blocks/raws.h"

#include "util/big.h"

#define FIRST_SLOTS	1024U

static uint64_t hash(const struct vmp_raw *r)
{
	uint64_t tail = r->c + ((uint64_t)r->context << 40 | (uint64_t)r->kind << 38 | (uint64_t)r->missed << 37 | r->context_c);

	return vmp_hash_mix(r->a + vmp_hash_mix(r->b ^ (tail << 21 | tail >> 43)));
}

static int same(const struct vmp_raw *x, const struct vmp_raw *y)
{
	return x->a == y->a && x->b == y->b && x->c == y->c && x->context == y->context &&
	       x->context_c == y->context_c && x->kind == y->kind &&
	       x->missed == y->missed;
}

uint64_t vmp_raws_hash(const struct vmp_raws *r, const struct vmp_raw *key)
{
	uint64_t h = hash(key);

	if (r->slots)
		__builtin_prefetch(vmp_raws_slot(r, h));
	return h;
}

/* Its slot, or the free one where it would be */
static struct vmp_raws_slot *slot_of(const struct vmp_raws *r, const struct vmp_raw *key, uint64_t h)
{
	struct vmp_raws_slot *slot = vmp_raws_slot(r, h);

	while (slot->number && (slot->hash != h >> 32 || !same(vmp_raws_at(r, slot->number - 1), key)))
		slot = slot == &r->slots[r->mask] ? r->slots : slot + 1;
	return slot;
}

uint32_t vmp_raws_find(const struct vmp_raws *r, const struct vmp_raw *key, uint64_t h)
{
	return (r->slots ? slot_of(r, key, h)->number : 0) - 1;
}

/* Slots know their hash: no raw is looked at */
static int more_slots(struct vmp_raws *r)
{
	uint32_t nr = r->slots ? 2 * (r->mask + 1) : FIRST_SLOTS, i, at;
	struct vmp_raws_slot *slots = nr ? vmp_big_zeroed(nr, sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	for (i = 0; r->slots && i <= r->mask; i++) {
		if (!r->slots[i].number)
			continue;
		at = r->slots[i].hash & (nr - 1);
		while (slots[at].number)	/* no two are the same */
			at = (at + 1) & (nr - 1);
		slots[at] = r->slots[i];
	}
	free(r->slots);
	r->slots = slots;
	r->mask = nr - 1;
	return 0;
}

static int more_room(struct vmp_raws *r)
{
	struct vmp_raw *chunk = r->spare.nr ? r->spare.v[--r->spare.nr] : vmp_big_alloc(VMP_RAWS_CHUNK * sizeof(*chunk));

	if (!chunk || vmp_vec_push(&r->chunks, chunk)) {
		free(chunk);
		return -ENOMEM;
	}
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

	if ((!r->slots || r->nr >= r->mask / 4 * 3) && more_slots(r))
		return -ENOMEM;
	slot = slot_of(r, more, h);
	if (!slot->number) {
		if (r->nr % VMP_RAWS_CHUNK == 0 && more_room(r))
			return -ENOMEM;
		*number = r->nr++;
		raw = vmp_raws_at(r, *number);
		*raw = *more;
		raw->hash = (uint32_t)(h >> 32);
		*slot = (struct vmp_raws_slot){ raw->hash, r->nr };
		return 0;
	}
	*number = slot->number - 1;
	raw = vmp_raws_at(r, *number);
	raw->n = sum32(raw->n, more->n);
	raw->mispredicted = sum32(raw->mispredicted, more->mispredicted);
	raw->cycles += more->cycles;
	raw->cycled = sum32(raw->cycled, more->cycled);
	return 0;
}

int vmp_raws_take_chunk(struct vmp_raws *r, struct vmp_raws *from, uint32_t chunk)
{
	if (vmp_vec_push(&r->spare, from->chunks.v[chunk]))
		return -ENOMEM;
	from->chunks.v[chunk] = NULL;
	return 0;
}

void vmp_raws_free_spare(struct vmp_raws *r)
{
	while (r->spare.nr)
		free(r->spare.v[--r->spare.nr]);
	vmp_vec_free(&r->spare);
}

void vmp_raws_free(struct vmp_raws *r)
{
	uint32_t i;

	vmp_raws_free_spare(r);
	for (i = 0; i < r->chunks.nr; i++)
		free(r->chunks.v[i]);
	vmp_vec_free(&r->chunks);
	free(r->slots);
	*r = (struct vmp_raws){ 0 };
}
