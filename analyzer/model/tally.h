/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tally.h - counts of (space, address) in memory of a fixed size: once it is
 * full it is emptied, in order of address, into whatever sums it up.
 */
#ifndef VMP_TALLY_H
#define VMP_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "model/weigh.h"

struct vmp_tally_slot {
	uint64_t addr;
	uint32_t space;
	uint32_t n;		/* 0: free */
};

struct vmp_tally {
	struct vmp_tally_slot *slots;
	struct vmp_weight *weights;	/* of the slots; NULL: none has any yet, or they are not wanted */
	uint64_t mask, nr;
	uint64_t mask_max;
	int weighted;
	int full;		/* it is time to drain */
};

/**
 * vmp_tally_init() - An empty table.
 * @bytes:    What it may grow to; a minimum holds.
 * @weighted: Sum up cycles and instructions, too, in as much again once there are some.
 * Return: 0 or -ENOMEM.
 */
int vmp_tally_init(struct vmp_tally *t, size_t bytes, int weighted);
void vmp_tally_deinit(struct vmp_tally *t);

/** vmp_tally_hash() - Where to begin for vmp_tally_add(); what is there is fetched meanwhile. */
uint64_t vmp_tally_hash(const struct vmp_tally *t, uint32_t space, uint64_t addr);

/**
 * vmp_tally_add() - One sample more.
 * @hash: Of this space and address.
 * @w:    What it weighs, used in a weighted tally.
 *
 * When @t->full is set afterwards, the tally must be drained before it takes
 * more than VMP_TALLY_SPARE samples.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_tally_add(struct vmp_tally *t, uint64_t hash, uint32_t space, uint64_t addr,
		   const struct vmp_weight *w);

#define VMP_TALLY_SPARE		256

struct vmp_tally_order {
	void *items;		/* freed by the caller in the end */
	uint64_t room;
	const struct vmp_radix *sorted;
};

/**
 * vmp_tally_sort() - Put all counts in order: by group of spaces, nearly by address.
 * @order: Zeroed at first; vmp_tally_drain() follows it.
 * @group: Of each space, by its number.
 * Return: 0 or -ENOMEM.
 */
int vmp_tally_sort(const struct vmp_tally *t, struct vmp_tally_order *order, const uint32_t *group);

/**
 * vmp_tally_drain() - Give all counts as they were sorted; then it is empty.
 * @fn: Its non-zero result ends the walk; the tally is empty all the same.
 * Return: 0 or the result of @fn.
 */
int vmp_tally_drain(struct vmp_tally *t, const struct vmp_tally_order *order,
		    int (*fn)(void *arg, const struct vmp_tally_slot *s, const struct vmp_weight *w), void *arg);

#endif
