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
uint64_t vmp_hash_mix(uint64_t key);

/** vmp_hash_bytes() - The same for a byte string. */
uint64_t vmp_hash_bytes(const void *data, uint64_t len);

/** vmp_hash_find() - The key's value, or NULL; good until the next set. */
uint32_t *vmp_hash_find(const struct vmp_hash *h, uint64_t key);

/** vmp_hash_set() - Set the key's value.  Return: 0 or -ENOMEM. */
int vmp_hash_set(struct vmp_hash *h, uint64_t key, uint32_t value);

void vmp_hash_free(struct vmp_hash *h);

#endif
