// SPDX-License-Identifier: GPL-2.0-only
/*
 * tally.c - an open-addressing table that is sorted when it is emptied.
 *
 * Guests choose the addresses: slots are found by a seeded hash.
 */
#include "model/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/hash.h"
#include "util/big.h"
#include "util/radix.h"

#define SLOTS_MIN	4096ULL
#define ADDR_BITS	47	/* enough to tell addresses of one group apart */

int vmp_tally_init(struct vmp_tally *t, size_t bytes, int weighted)
{
	memset(t, 0, sizeof(*t));
	t->weighted = weighted;
	t->mask_max = SLOTS_MIN - 1;
	while ((2 * t->mask_max + 2) * sizeof(*t->slots) <= bytes)
		t->mask_max = 2 * t->mask_max + 1;
	t->mask = SLOTS_MIN - 1;
	t->slots = calloc(SLOTS_MIN, sizeof(*t->slots));
	return t->slots ? 0 : -ENOMEM;
}

void vmp_tally_deinit(struct vmp_tally *t)
{
	free(t->slots);
	free(t->weights);
	memset(t, 0, sizeof(*t));
}

static uint64_t hash(uint32_t space, uint64_t addr)
{
	return vmp_hash_mix(addr + ((uint64_t)space << 44));
}

uint64_t vmp_tally_hash(const struct vmp_tally *t, uint32_t space, uint64_t addr)
{
	uint64_t h = hash(space, addr);

	__builtin_prefetch(&t->slots[h & t->mask], 1);
	return h;
}

static uint64_t find(const struct vmp_tally_slot *slots, uint64_t mask, uint64_t h, uint32_t space,
		     uint64_t addr)
{
	uint64_t i = h & mask;

	while (slots[i].n && (slots[i].addr != addr || slots[i].space != space))
		i = (i + 1) & mask;
	return i;
}

/* Any of them is looked at next: large pages, so that they are found without a walk */
static struct vmp_tally_slot *new_slots(uint64_t nr)
{
	return vmp_big_zeroed(nr, sizeof(struct vmp_tally_slot));
}

/* Twice the size; without memory for that it is full at the size it has. */
static void grow(struct vmp_tally *t)
{
	uint64_t mask = 2 * t->mask + 1, i, k;
	struct vmp_tally_slot *slots = new_slots(mask + 1);
	struct vmp_weight *weights = t->weights ? calloc(mask + 1, sizeof(*weights)) : NULL;

	if (!slots || (t->weights && !weights)) {
		free(slots);
		free(weights);
		t->full = 1;
		return;
	}
	for (i = 0; i <= t->mask; i++) {
		const struct vmp_tally_slot *s = &t->slots[i];

		if (!s->n)
			continue;
		k = find(slots, mask, hash(s->space, s->addr), s->space, s->addr);
		slots[k] = *s;
		if (weights)
			weights[k] = t->weights[i];
	}
	free(t->slots);
	free(t->weights);
	t->slots = slots;
	t->weights = weights;
	t->mask = mask;
}

int vmp_tally_add(struct vmp_tally *t, uint64_t h, uint32_t space, uint64_t addr,
		  const struct vmp_weight *w)
{
	uint64_t i = find(t->slots, t->mask, h, space, addr);
	struct vmp_tally_slot *s = &t->slots[i];

	if (t->weighted && !t->weights && (w->cycles || w->instructions)) {
		t->weights = calloc(t->mask + 1, sizeof(*t->weights));
		if (!t->weights)
			return -ENOMEM;
	}
	if (!s->n) {
		s->addr = addr;
		s->space = space;
		if (t->weights)
			t->weights[i] = (struct vmp_weight){ 0 };
		t->nr++;
	}
	s->n++;
	if (t->weights) {
		t->weights[i].cycles += w->cycles;
		t->weights[i].instructions += w->instructions;
	}
	if (s->n >= UINT32_MAX - VMP_TALLY_SPARE)
		t->full = 1;
	/* five eighths, less what may still come */
	if (t->nr + VMP_TALLY_SPARE > (t->mask + 1) / 8 * 5) {
		if (t->mask < t->mask_max)
			grow(t);
		else
			t->full = 1;
	}
	return 0;
}

int vmp_tally_sort(const struct vmp_tally *t, struct vmp_tally_order *order, const uint32_t *group)
{
	struct vmp_radix *items;
	uint64_t i, n = 0;

	if (order->room < 2 * t->nr + 1) {
		items = realloc(order->items, (2 * t->nr + 1) * sizeof(*items));
		if (!items)
			return -ENOMEM;
		order->items = items;
		order->room = 2 * t->nr + 1;
	}
	items = order->items;
	for (i = 0; i <= t->mask; i++)
		if (t->slots[i].n)
			items[n++] = (struct vmp_radix){
				(uint64_t)group[t->slots[i].space] << ADDR_BITS |
				(t->slots[i].addr & ((1ULL << ADDR_BITS) - 1)), i };
	order->sorted = vmp_radix_sort(items, items + n, n);
	return 0;
}

int vmp_tally_drain(struct vmp_tally *t, const struct vmp_tally_order *order,
		    int (*fn)(void *arg, const struct vmp_tally_slot *s, const struct vmp_weight *w), void *arg)
{
	static const struct vmp_weight none;
	uint64_t i;
	int err = 0;

	for (i = 0; !err && i < t->nr; i++) {
		uint64_t slot = order->sorted[i].value;

		if (i + 8 < t->nr)
			__builtin_prefetch(&t->slots[order->sorted[i + 8].value]);
		err = fn(arg, &t->slots[slot], t->weights ? &t->weights[slot] : &none);
	}
	memset(t->slots, 0, (t->mask + 1) * sizeof(*t->slots));
	t->nr = 0;
	t->full = 0;
	return err;
}
