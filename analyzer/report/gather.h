/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * gather.h - all samples of a capture summed up by origin, what the caller
 * wants to keep apart, and place: the engine below reports and exports.
 *
 * Several threads count; what they found is resolved and handed out in one
 * thread at a time.  Memory grows with neither samples nor addresses: the
 * same place may be handed out several times, and the receiver adds up.
 */
#ifndef VMP_GATHER_H
#define VMP_GATHER_H

#include "report/origin.h"

/* Samples of one space are counted together; no padding: it is hashed as bytes */
struct vmp_gather_space {
	struct vmp_origin from;
	uint32_t split[2];	/* the caller's */
	uint32_t thread;	/* with threads: of the guest, vmp_hit.task + 1; else, and not known: 0 */
	uint32_t second;	/* 1: samples of instructions, which make no share of time */
};

struct vmp_gathered {
	uint64_t addr;		/* as vmp_hit.addr; without by_address the lowest of them */
	uint64_t samples;
	uint64_t cycles, instructions;	/* with weighted: as weigh.h */
	uint32_t *note;		/* the receiver's, of this space; 0 at first */
	uint32_t again;		/* place and origin are those of the call before */
};

struct vmp_gather {
	/* Another sample to be classified instead of @s, such as @copy; NULL: each as it is.
	   split() gets @s.  In several threads. */
	const struct vmprof_sample *(*see)(void *arg, const struct vmprof_sample *s,
					   struct vmprof_sample *copy);
	/* More that a sample is told apart by, or NULL.  Called in several threads; what it
	   changes it must guard itself, by @lock and @unlock for the model's strings. */
	int (*split)(void *arg, struct vmp_model *m, const struct vmprof_sample *s,
		     const struct vmp_origin *from, uint32_t split[2]);
	/* Samples of one place.  One thread at a time. */
	int (*place)(void *arg, const struct vmp_gather_space *space, const struct vmp_place *place,
		     const struct vmp_gathered *g);
	/* Of the whole space, once or more; NULL not wanted.  One thread at a time. */
	int (*space)(void *arg, const struct vmp_gather_space *space, uint64_t samples,
		     uint64_t by_timer, uint64_t by_nmi);
	/* Forget all that was handed out: it is handed out anew. */
	void (*restart)(void *arg);
	void *arg;
	int by_address;		/* hand out each address, not whole functions */
	int weighted;		/* cycles and instructions, too */
	int threads;		/* the guest's threads are kept apart */
	int thieves;		/* steal has the places of what ran, not one place for all */
};

/** vmp_gather() - Return: 0, -ENOMEM, -errno of reading, or what a function gave. */
int vmp_gather(struct vmp_model *m, const struct vmp_gather *g);

/** vmp_gather_string() - Number of a string, from within split(). */
uint32_t vmp_gather_string(struct vmp_model *m, const char *s, int *err);

#endif
