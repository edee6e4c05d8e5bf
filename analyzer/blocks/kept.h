/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kept.h - what the second pass needs of samples, as numbers: a fifth of what their
 * records take, so that a capture need not be read again.
 *
 * A thread that reads samples writes one of these, in order; numbers are those of its raws.
 */
#ifndef VMP_KEPT_H
#define VMP_KEPT_H

#include "model/lbr.h"
#include "model/vec.h"

#define VMP_GROUPS	8	/* samples are put into, by chance */

struct vmp_set_keys;

struct vmp_kept_sample {
	uint64_t cycles, insns;	/* both 0: not known */
	uint32_t landing;	/* number of a raw, VMP_NONE unknown */
	uint8_t group;
	uint8_t timed;		/* of the event itself, not of instructions sampled beside it */
	uint8_t fresh;		/* what the timed sample before it on its pCPU was is not known */
	uint8_t has_cycles;	/* behind the numbers follow as many cycles of the steps */
	uint32_t nr;		/* steps with a start */
	uint32_t cut;		/* 1: a VM entry cut the block before these */
	uint32_t step[];	/* numbers of their raws */
};

struct vmp_kept {
	VMP_VEC(uint64_t) words;
	int fresh;		/* for the next one */
};

/** vmp_kept_pass() - A sample that has no numbers: it is not wanted, or has no branches. */
void vmp_kept_pass(struct vmp_kept *k, const struct vmp_lbr_sample *ls);

/** vmp_kept_head() - What a sample has but its steps and where it landed: at its turn among those that pass. */
void vmp_kept_head(struct vmp_kept_sample *s, struct vmp_kept *k, const struct vmp_lbr_sample *ls,
		   const struct vmp_set_keys *keys);

/** vmp_kept_add() - A sample whose keys have numbers by now.  Return: 0 or -ENOMEM. */
int vmp_kept_add(struct vmp_kept *k, const struct vmp_kept_sample *head, const struct vmp_set_keys *keys);

/** vmp_kept_next() - The sample at @at, which goes on to the next; NULL the end. */
const struct vmp_kept_sample *vmp_kept_next(const struct vmp_kept *k, uint32_t *at);

/** vmp_kept_bytes() - What it takes. */
static inline uint64_t vmp_kept_bytes(const struct vmp_kept *k)
{
	return 8 * (uint64_t)k->words.nr;
}

#endif
