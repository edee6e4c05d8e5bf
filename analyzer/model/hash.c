// SPDX-License-Identifier: GPL-2.0-only
/* hash.c - open-addressing hash table with linear probing, at most half full. */
#include "model/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint64_t seed(void)
{
	static uint64_t s;

	if (!s) {
		if (getrandom(&s, sizeof(s), GRND_NONBLOCK) != sizeof(s))
			s = (uintptr_t)&s;
		s |= 1;
	}
	return s;
}

uint64_t vmp_hash_mix(uint64_t key)
{
	unsigned __int128 m = (unsigned __int128)(key ^ seed()) * 0x9e3779b97f4a7c15ULL;
	uint64_t x = (uint64_t)m ^ (uint64_t)(m >> 64);

	m = (unsigned __int128)x * 0xd6e8feb86659fd93ULL;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

uint64_t vmp_hash_bytes(const void *data, uint64_t len)
{
	const uint8_t *p = data;
	uint64_t h = len, v;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = vmp_hash_mix(h ^ v);
	}
	v = 0;
	if (len)
		memcpy(&v, p, len);
	return vmp_hash_mix(h ^ v);
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
