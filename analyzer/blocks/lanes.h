/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lanes.h - loops over all lanes of solutions.
 *
 * They are compiled once for each number of lanes: what is looked up for one lane serves
 * the others, and their sums do not wait for each other.
 */
#ifndef VMP_LANES_H
#define VMP_LANES_H

#include "blocks/solutions.h"

#define LANES	static inline __attribute__((always_inline))

/* Call @f with the number of @s's lanes as a constant behind @s */
#define FOR_LANES(f, c, s, ...) \
	((s)->lanes == 1 ? f(c, s, 1, ##__VA_ARGS__) : f(c, s, VMP_LANES, ##__VA_ARGS__))

/* Of each lane: of all groups but its own */
LANES void without(const struct vmp_solutions *s, unsigned int lanes, const uint64_t n[VMP_GROUPS], double out[])
{
	uint64_t sum = 0;
	unsigned int g, l;

	for (g = 0; g < VMP_GROUPS; g++)
		sum += n[g];
	for (l = 0; l < lanes; l++)
		out[l] = (double)(int64_t)(s->first == VMP_CHAIN_ALL ? sum : sum - n[s->first + l]);
}

/* The same of a pair */
LANES void steps(const struct vmp_chain *c, const struct vmp_solutions *s, unsigned int lanes, uint32_t pair, double out[])
{
	const uint32_t *n = c->m->pairs.v[pair].n;
	uint64_t sum = c->steps[pair];
	unsigned int l;

	for (l = 0; l < lanes; l++)
		out[l] = (double)(int64_t)(s->first == VMP_CHAIN_ALL ? sum : sum - n[s->first + l]);
}

/* Executions of a pair's unit that its row's windows show */
LANES void shown(const struct vmp_chain *c, const struct vmp_solutions *s, unsigned int lanes, uint32_t pair, double out[])
{
	size_t at = (size_t)c->m->pairs.v[pair].row * lanes;
	unsigned int l;

	steps(c, s, lanes, pair, out);
	for (l = 0; l < lanes; l++)
		out[l] = s->weight[at + l] > 0 ? s->x[at + l] * out[l] / s->weight[at + l] : 0;
}

#endif
