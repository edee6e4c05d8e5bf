/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hash.h - open-addressing table from a 64-bit key to a 32-bit index.
 *
 * Zeroed memory is an empty table.  Keys may be chosen by a guest: the mixer
 * is seeded, so nobody can make them collide on purpose.
 */
#ifndef VMP_HASH_H
#define VMP_HASH_H

#include <stdint.h>
#include <string.h>

/* Made when the program starts: guests choose the keys, but cannot know where they fall */
extern uint64_t vmp_hash_seed;

struct vmp_hash_slot {
	uint64_t key;
	uint32_t value;
	uint32_t used;
};

struct vmp_hash {
	struct vmp_hash_slot *slots;
	uint32_t nr, mask;	/* mask + 1 slots, 0 slots when mask is 0 */
};

/** vmp_hash_mix() - Spread a key over 64 bits. */
static inline uint64_t vmp_hash_mix(uint64_t key)
{
	unsigned __int128 m = (unsigned __int128)(key ^ vmp_hash_seed) * 0x9e3779b97f4a7c15ULL;
	uint64_t x = (uint64_t)m ^ (uint64_t)(m >> 64);

	m = (unsigned __int128)x * 0xd6e8feb86659fd93ULL;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/** vmp_hash_bytes() - The same for a byte string. */
static inline uint64_t vmp_hash_bytes(const void *data, uint64_t len)
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

/** vmp_hash_find() - The key's value, or NULL; good until the next set. */
uint32_t *vmp_hash_find(const struct vmp_hash *h, uint64_t key);

/** vmp_hash_prefetch() - The key will be asked for soon. */
static inline void vmp_hash_prefetch(const struct vmp_hash *h, uint64_t key)
{
	if (h->slots)
		__builtin_prefetch(&h->slots[(uint32_t)vmp_hash_mix(key) & h->mask], 1);
}

/** vmp_hash_set() - Set the key's value.  Return: 0 or -ENOMEM. */
int vmp_hash_set(struct vmp_hash *h, uint64_t key, uint32_t value);

void vmp_hash_free(struct vmp_hash *h);

#endif
