// SPDX-License-Identifier: GPL-2.0-only
/* spread.c - lists and counters, one behind the other. */
#include "blocks/spread.h"

#include <math.h>

#include "util/big.h"

#define LEAST_RUNS	16U	/* that a block must be seen in */

static uint32_t words_of(uint32_t runs)
{
	return runs < 2 * VMP_SPREAD_VALUES ? 2 + (runs + 1) / 2 : VMP_SPREAD_VALUES;
}

int vmp_spreads_init(struct vmp_spreads *s, const struct vmp_set *set)
{
	uint64_t nr = 0;
	uint32_t i, runs;

	s->of = malloc((set->blocks.nr + 1) * sizeof(*s->of));
	if (!s->of)
		return -ENOMEM;
	for (i = 0; i < set->blocks.nr; i++) {
		runs = set->blocks.v[i].n;
		s->of[i] = VMP_NONE;
		if (runs < LEAST_RUNS)
			continue;
		s->of[i] = (uint32_t)nr | (runs < 2 * VMP_SPREAD_VALUES ? VMP_SPREAD_LIST : 0);
		nr += words_of(runs);
		if (nr >= VMP_SPREAD_LIST)
			return -ENOMEM;
	}
	s->words = vmp_big_zeroed(nr + 1, sizeof(*s->words));
	if (!s->words)
		return -ENOMEM;
	for (i = 0; i < set->blocks.nr; i++)
		if (s->of[i] != VMP_NONE && s->of[i] & VMP_SPREAD_LIST)
			s->words[(s->of[i] & ~VMP_SPREAD_LIST) + 1] = set->blocks.v[i].n;
	return 0;
}

void vmp_spreads_free(struct vmp_spreads *s)
{
	free(s->of);
	free(s->words);
}

static double cycles_of(uint32_t value)
{
	uint64_t bits = (uint64_t)(value + VMP_SPREAD_LEAST) << VMP_SPREAD_BITS;
	double cycles;

	memcpy(&cycles, &bits, sizeof(cycles));
	return cycles;
}

/* A list as counters */
static void count_list(uint32_t counter[VMP_SPREAD_VALUES], const uint32_t *list)
{
	const uint16_t *value = (const void *)(list + 2);
	uint32_t i;

	memset(counter, 0, VMP_SPREAD_VALUES * sizeof(*counter));
	for (i = 0; i < list[0] && i < list[1]; i++)
		counter[value[i]]++;
}

/* A block's counters; NULL: it was seen too seldom.  @room: for those of a list */
static const uint32_t *counters(const struct vmp_spreads *s, uint32_t block, uint32_t room[VMP_SPREAD_VALUES])
{
	uint32_t of = s->of[block];

	if (of == VMP_NONE)
		return NULL;
	if (!(of & VMP_SPREAD_LIST))
		return s->words + of;
	count_list(room, s->words + (of & ~VMP_SPREAD_LIST));
	return room;
}

double vmp_spread_error(const struct vmp_spreads *s, uint32_t block, double alike)
{
	uint32_t room[VMP_SPREAD_VALUES], i;
	const uint32_t *counter = counters(s, block, room);
	double n = 0, sum = 0, squares = 0, runs;

	for (i = 0; counter && i < VMP_SPREAD_VALUES; i++) {
		n += counter[i];
		sum += counter[i] * cycles_of(i);
	}
	for (i = 0; n > 0 && i < VMP_SPREAD_VALUES; i++)
		squares += counter[i] * (cycles_of(i) - sum / n) * (cycles_of(i) - sum / n);
	runs = n / fmax(alike, 1);
	return runs > 1 ? sqrt(squares / n / (runs - 1)) : NAN;
}

double vmp_spread_part(const struct vmp_spreads *s, uint32_t block, double part)
{
	uint32_t room[VMP_SPREAD_VALUES], i;
	const uint32_t *counter = counters(s, block, room);
	uint64_t all = 0, sum = 0;

	if (!counter)
		return NAN;
	for (i = 0; i < VMP_SPREAD_VALUES; i++)
		all += counter[i];
	for (i = 0; all && i < VMP_SPREAD_VALUES; i++) {
		sum += counter[i];
		if (sum && (double)sum >= part * (double)all)
			return cycles_of(i);
	}
	return NAN;
}
