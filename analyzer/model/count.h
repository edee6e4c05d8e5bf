/* SPDX-License-Identifier: GPL-2.0-only */
/* count.h - how often each (space, address) was sampled; memory by distinct addresses. */
#ifndef VMP_COUNT_H
#define VMP_COUNT_H

#include <stdint.h>

struct vmp_count {
	uint64_t addr;
	uint64_t n;		/* 0: free */
	uint32_t space;
};

/* Zeroed memory is an empty table */
struct vmp_counts {
	struct vmp_count *slots;
	uint64_t nr, mask;	/* mask + 1 slots */
};

/** vmp_counts_add() - @n more samples, > 0.  Return: 0 or -ENOMEM. */
int vmp_counts_add(struct vmp_counts *c, uint32_t space, uint64_t addr, uint64_t n);

/**
 * vmp_counts_next() - Go through all counts, in no order.
 * @at: 0 at first.
 * Return: a count, NULL at the end.
 */
const struct vmp_count *vmp_counts_next(const struct vmp_counts *c, uint64_t *at);

void vmp_counts_free(struct vmp_counts *c);

#endif
