/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * raws.h - what samples have of branches, each combination of addresses once, with counts.
 *
 * The table is larger than any cache: who has several keys asks for all of their slots
 * (vmp_raws_hash()), then for all of their raws (vmp_raws_fetch()), then looks them up.
 */
#ifndef VMP_RAWS_H
#define VMP_RAWS_H

#include "model/hash.h"
#include "model/space.h"
#include "model/vec.h"

enum vmp_raw_kind {
	VMP_RAW_STEP,		/* a, b, c: start, end, next of a step */
	VMP_RAW_LANDING,	/* a, b: start of the block that a sample was taken in (0: no branch tells), and where */
	VMP_RAW_ENDED,		/* the same of a sample of the event behind the branch at b, which led to c */
	VMP_RAW_ENDED_INSN,	/* the same of a sample of instructions */
};

/* A line of cache */
struct vmp_raw {
	uint64_t a, b, c;
	uint64_t cycles;
	uint32_t context;		/* of a and b */
	uint32_t context_c;
	uint16_t kind;
	uint16_t missed;		/* what came before was a mispredicted branch: counted apart */
	/* counts */
	uint32_t n, mispredicted;
	uint32_t cycled;		/* of n, those that tell cycles */
	uint32_t hash;			/* upper half, of one in a table */
};

struct vmp_raws_slot {
	uint32_t hash, number;	/* number + 1, 0 free */
};

struct vmp_raws {
	VMP_VEC(struct vmp_raw *) chunks;	/* what is there stays where it is */
	VMP_VEC(struct vmp_raw *) spare;	/* to be filled before others are allocated */
	uint32_t nr;
	struct vmp_raws_slot *slots;
	uint32_t mask;
};

#define VMP_RAWS_CHUNK	32768U	/* 2 MiB */

static inline struct vmp_raw *vmp_raws_at(const struct vmp_raws *r, uint32_t number)
{
	return &r->chunks.v[number / VMP_RAWS_CHUNK][number % VMP_RAWS_CHUNK];
}

/* Where to begin to look for a hash */
static inline struct vmp_raws_slot *vmp_raws_slot(const struct vmp_raws *r, uint64_t hash)
{
	return &r->slots[hash >> 32 & r->mask];
}

/** vmp_raws_hash() - Of a key, for what follows; its slot is fetched meanwhile. */
uint64_t vmp_raws_hash(const struct vmp_raws *r, const struct vmp_raw *key);

/** vmp_raws_known_hash() - The same of a raw of another table. */
static inline uint64_t vmp_raws_known_hash(const struct vmp_raws *r, const struct vmp_raw *raw)
{
	uint64_t hash = (uint64_t)raw->hash << 32;

	if (r->slots)
		__builtin_prefetch(vmp_raws_slot(r, hash));
	return hash;
}

/** vmp_raws_fetch() - What the slot points to is fetched meanwhile. */
static inline void vmp_raws_fetch(const struct vmp_raws *r, uint64_t hash)
{
	uint32_t number = r->slots ? vmp_raws_slot(r, hash)->number : 0;

	if (number)
		__builtin_prefetch(vmp_raws_at(r, number - 1), 1);
}

/** vmp_raws_find() - Number of the one with @key's addresses, contexts and kind; VMP_NONE none. */
uint32_t vmp_raws_find(const struct vmp_raws *r, const struct vmp_raw *key, uint64_t hash);

/** vmp_raws_add() - Add @more's counts to the one like it.  @number: its own.  Return: 0 or -ENOMEM. */
int vmp_raws_add(struct vmp_raws *r, const struct vmp_raw *more, uint64_t hash, uint32_t *number);

/** vmp_raws_take_chunk() - A chunk of another table of which no raw is looked at any more becomes a spare one.  Return: 0 or -ENOMEM. */
int vmp_raws_take_chunk(struct vmp_raws *r, struct vmp_raws *from, uint32_t chunk);

/** vmp_raws_free_spare() - Nothing more is added. */
void vmp_raws_free_spare(struct vmp_raws *r);

void vmp_raws_free(struct vmp_raws *r);

#endif
