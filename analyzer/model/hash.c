// SPDX-License-Identifier: GPL-2.0-only
/* hash.c - open-addressing hash table with linear probing, at most half full. */
#include "model/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

uint64_t vmp_hash_seed;

__attribute__((constructor))
static void make_seed(void)
{
	if (getrandom(&vmp_hash_seed, sizeof(vmp_hash_seed), GRND_NONBLOCK) != sizeof(vmp_hash_seed))
		vmp_hash_seed = (uintptr_t)&vmp_hash_seed;
	vmp_hash_seed |= 1;
}

static struct vmp_hash_slot *probe(struct vmp_hash_slot *slots, uint32_t mask, uint64_t key)
{
	uint32_t i = (uint32_t)vmp_hash_mix(key) & mask;

	while (slots[i].used && slots[i].key != key)
		i = (i + 1) & mask;
	return &slots[i];
}

uint32_t *vmp_hash_find(const struct vmp_hash *h, uint64_t key)
{
	struct vmp_hash_slot *s;

	if (!h->slots)
		return NULL;
	s = probe(h->slots, h->mask, key);
	return s->used ? &s->value : NULL;
}

static int grow(struct vmp_hash *h)
{
	uint32_t mask = h->slots ? 2 * h->mask + 1 : 15, i;
	struct vmp_hash_slot *slots;

	if (h->slots && h->mask >= UINT32_MAX / 2)
		return -ENOMEM;
	slots = calloc((size_t)mask + 1, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; h->slots && i <= h->mask; i++)
		if (h->slots[i].used)
			*probe(slots, mask, h->slots[i].key) = h->slots[i];
	free(h->slots);
	h->slots = slots;
	h->mask = mask;
	return 0;
}

int vmp_hash_set(struct vmp_hash *h, uint64_t key, uint32_t value)
{
	struct vmp_hash_slot *s;

	if ((!h->slots || h->nr > h->mask / 2) && grow(h))
		return -ENOMEM;
	s = probe(h->slots, h->mask, key);
	h->nr += !s->used;
	*s = (struct vmp_hash_slot){ key, value, 1 };
	return 0;
}

void vmp_hash_free(struct vmp_hash *h)
{
	free(h->slots);
	memset(h, 0, sizeof(*h));
}
