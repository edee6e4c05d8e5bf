/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spread.h - cycles of single runs of each block, for how far they lie apart.
 *
 * Of a number of cycles six binary digits are kept: whole numbers up to 64 are exact, others within 1/64
 * (1.6 %), from 1/4 cycle up to 64512.
 *
 * A block that was seen seldom has a list of what its runs took, any other a counter of each value. So all
 * blocks together take two bytes for each run that was seen, and ten for each block; no block takes more
 * than 2316.
 */
#ifndef VMP_SPREAD_H
#define VMP_SPREAD_H

#include <string.h>

#include "blocks/set.h"

#define VMP_SPREAD_STEPS	32	/* values to the octave */
#define VMP_SPREAD_VALUES	(18 * VMP_SPREAD_STEPS)
#define VMP_SPREAD_LEAST	((1023 - 2) * VMP_SPREAD_STEPS)	/* 1/4, by the first bits of a double */
#define VMP_SPREAD_BITS		47	/* of a double that are behind these */

#define VMP_SPREAD_LIST		0x80000000U

struct vmp_spreads {
	uint32_t *of;	/* by block: number of its first word, and VMP_SPREAD_LIST; VMP_NONE: it was seen too seldom */
	/* A list: how many runs there are, how many it has room for, and their values, two to the word; else counters */
	uint32_t *words;
};

/* What is to be counted up */
struct vmp_spread_run {
	uint32_t *at;
	uint32_t value;	/* for the list there; VMP_NONE: there is a counter */
};

/** vmp_spreads_init() - Room for the runs that a set has seen.  Return: 0 or -ENOMEM. */
int vmp_spreads_init(struct vmp_spreads *s, const struct vmp_set *set);
void vmp_spreads_free(struct vmp_spreads *s);

/** vmp_spread_part() - Cycles that @part of a block's runs took at most; NAN: it was seen too seldom. */
double vmp_spread_part(const struct vmp_spreads *s, uint32_t block, double part);

/** vmp_spread_error() - Standard error of the mean of its runs, if @alike of them say as much as one.  NAN: as above. */
double vmp_spread_error(const struct vmp_spreads *s, uint32_t block, double alike);

/* The nearest value: its exponent and what follows are its number */
static inline uint32_t vmp_spread_value(double cycles)
{
	uint64_t bits;
	int64_t i;

	memcpy(&bits, &cycles, sizeof(bits));
	i = (int64_t)((bits + (1ULL << (VMP_SPREAD_BITS - 1))) >> VMP_SPREAD_BITS) - VMP_SPREAD_LEAST;
	return i < 0 ? 0 : i >= VMP_SPREAD_VALUES ? VMP_SPREAD_VALUES - 1 : (uint32_t)i;
}

/** vmp_spread_run() - Where a run of so many cycles will be counted, which can be fetched meanwhile.  @of: not VMP_NONE. */
static inline struct vmp_spread_run vmp_spread_run(const struct vmp_spreads *s, uint32_t of, double cycles)
{
	uint32_t value = vmp_spread_value(cycles);

	if (of & VMP_SPREAD_LIST)
		return (struct vmp_spread_run){ s->words + (of & ~VMP_SPREAD_LIST), value };
	return (struct vmp_spread_run){ s->words + of + value, VMP_NONE };
}

/** vmp_spread_count() - For any thread.  What the set has not seen finds no room. */
static inline void vmp_spread_count(const struct vmp_spread_run *r)
{
	uint32_t n = __atomic_fetch_add(r->at, 1, __ATOMIC_RELAXED);

	if (r->value != VMP_NONE && n < r->at[1])
		((uint16_t *)(r->at + 2))[n] = (uint16_t)r->value;
}

#endif
