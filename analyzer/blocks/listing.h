/* SPDX-License-Identifier: GPL-2.0-only */
/* listing.h - the code of a function with samples, runs and cycles of each instruction. */
#ifndef VMP_LISTING_H
#define VMP_LISTING_H

#include "blocks/estimate.h"

struct vmp_listed {
	uint64_t addr;		/* in the object */
	uint32_t bytes;		/* 0: no instruction could be read here; the rest of the function is left out */
	uint64_t samples;	/* taken there, of cycles */
	uint64_t landed;	/* samples behind it, with a block that is known: mostly those at the next address */
	double runs;		/* sum over the blocks through it; 0: none is known */
	double cycles;		/* of one run; NAN unknown */
	double runs_error, cycles_error;	/* standard errors; NAN unknown */
};

struct vmp_listing {
	uint32_t object;
	uint32_t function, module;	/* string numbers */
	uint64_t start, end;
	uint64_t samples;
	VMP_VEC(struct vmp_listed) insns;	/* none: its code is not here */
};

struct vmp_listings {
	VMP_VEC(struct vmp_listing) list;	/* most samples first */
	uint64_t samples;			/* of all functions, that the filters let through */
};

/**
 * vmp_listings_create() - Functions of which a sample or a block is known.
 * @e: With what it is without each group, for the errors.
 * @function, @module: Shell patterns; @module may be NULL.
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_listings_create(struct vmp_listings **out, struct vmp_set *set, const struct vmp_estimates *e,
			const char *function, const char *module);
void vmp_listings_destroy(struct vmp_listings *l);

#endif
