/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * infer.h - whose a sample is, where the agent ran without its module and nobody told whose a
 * CR3 is.
 *
 * While all processes of the guest and all their executable mappings are known, an address that
 * just one living process has mapped is that process's.  And since a CR3 is one process's for as
 * long as its program runs, one such sample tells whose all the others on that CR3 are, kernel code
 * too.  What remains is user code of processes that are alike (forked ones, mostly): if all that
 * may be meant have the same file there, module and function are known and the process is not.
 * Nothing is guessed: what contradicts, and what ran while something was lost, is not inferred.
 */
#ifndef VMP_INFER_H
#define VMP_INFER_H

#include "model/space.h"

/* A mapping of an image of whose CR3 nobody told */
struct vmp_infer_map {
	uint64_t start, end;
	uint64_t reach;		/* largest end of this one and those before it */
	uint64_t begin;		/* host TSC */
	uint32_t image;
};

struct vmp_infer {
	VMP_VEC(struct vmp_tsc_span) known;	/* host TSC: no process and no mapping is missing */
	VMP_VEC(struct vmp_infer_map) maps;	/* by start */
	uint32_t *first_child;	/* images + 1 of them: where an image's forked ones begin in child */
	uint32_t *child;	/* in their order of time */
	uint64_t *alive;	/* up to when an image or one that it forked, or they, live */
	uint64_t *children_alive;	/* of child[i] and its elder siblings */
	uint64_t grace;		/* events are placed this well, TSC */
	uint64_t learned;	/* images whose CR3 samples told */
	uint64_t contradicted;	/* images of which they told two, and CR3s that two had at a time */
};

/* What is known of an address at a moment */
struct vmp_inferred {
	uint32_t image;		/* VMP_NONE: nothing */
	int shared;		/* 0: it is this image's; 1: of one like it; 2: the same, and all have its name */
};

/** vmp_infer_build() - After vmp_space_finish().  @grace as above.  Return: 0 or -ENOMEM. */
int vmp_infer_build(struct vmp_infer *in, const struct vmp_space *s, uint64_t grace);
void vmp_infer_free(struct vmp_infer *in);

/** vmp_infer_known() - Is all known at a moment? */
int vmp_infer_known(const struct vmp_infer *in, uint64_t tsc);

/** vmp_infer_find() - Who has executable memory at an address at a moment. */
struct vmp_inferred vmp_infer_find(const struct vmp_infer *in, const struct vmp_space *s, uint64_t addr,
				   uint64_t tsc);

/**
 * vmp_infer_learn() - A sample of user code: if it can be just one image's, its CR3 is that one's.
 * Return: 0 or -ENOMEM.
 */
int vmp_infer_learn(struct vmp_infer *in, struct vmp_space *s, uint64_t cr3, uint64_t addr, uint64_t tsc);

#endif
