// SPDX-License-Identifier: GPL-2.0-only
/* share.c - see share.h. */
#include "blocks/share.h"

#include <string.h>

#include "blocks/lanes.h"
#include "util/big.h"

/* By point */
static uint32_t *list_blocks(const struct vmp_chain *c)
{
	const struct vmp_set *set = c->m->set;
	size_t bytes = ((size_t)set->points.points.nr + 1) * sizeof(uint32_t);
	uint32_t *first = vmp_big_alloc(bytes), i;

	if (!first)
		return NULL;
	memset(first, 0xff, bytes);
	for (i = set->blocks.nr; i--; ) {
		const int is_last = i + 1 == set->blocks.nr || set->blocks.v[i + 1].start != set->blocks.v[i].start;

		first[set->blocks.v[i].start] = i;
		c->seen[i] = set->blocks.v[i].n + (is_last ? 0 : c->seen[i + 1]);
	}
	return first;
}

int vmp_share_init(struct vmp_chain *c)
{
	const struct vmp_set *set = c->m->set;
	uint32_t *first, i, b;

	c->landed = vmp_big_alloc(((size_t)set->landings.nr + 1) * sizeof(*c->landed));
	c->seen = vmp_big_alloc(((size_t)set->blocks.nr + 1) * sizeof(*c->seen));
	first = c->seen ? list_blocks(c) : NULL;
	if (!c->landed || !first) {
		free(first);
		return -ENOMEM;
	}
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];

		b = l->flaw ? set->blocks.nr : vmp_set_landing_block(set, l, first[l->start]);
		c->landed[i] = b < set->blocks.nr && set->blocks.v[b].start == l->start ? b : VMP_NONE;
	}
	free(first);
	return 0;
}

/*
 * Blocks of one start lie together, the shortest first, so that a sample is of one of those from the first on that goes on as
 * far.  What each of these gets of it for one execution is noted at the first of them, and summed up as they go by: the
 * time for that goes with their number, not with its square.
 */
LANES void note_shares(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, const struct vmp_groups *landings)
{
	const struct vmp_set *set = c->m->set;
	double n[VMP_LANES];
	unsigned int l;
	uint32_t i, b;
	size_t at;

	memset(s->by_runs, 0, (size_t)set->blocks.nr * lanes * sizeof(*s->by_runs));
	memset(s->by_sight, 0, (size_t)set->blocks.nr * lanes * sizeof(*s->by_sight));
	for (i = 0; i < set->landings.nr; i++) {
		b = c->landed[i];
		if (b == VMP_NONE || set->landings.v[i].ended || !(c->seen[b] > 0))
			continue;
		without(s, lanes, landings[i].n, n);
		for (l = 0; l < lanes; l++) {
			at = (size_t)b * lanes + l;
			if (s->left[at] > 0)
				s->by_runs[at] += n[l] / s->left[at];
			else
				s->by_sight[at] += n[l] / c->seen[b];
		}
	}
}

/* What blocks from a block on have in all, of those of its start */
LANES void sum_left(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	unsigned int l;
	uint32_t b;

	for (b = set->blocks.nr; b--; ) {
		const int is_last = b + 1 == set->blocks.nr || set->blocks.v[b + 1].start != set->blocks.v[b].start;

		for (l = 0; l < lanes; l++) {
			size_t at = (size_t)b * lanes + l;

			s->left[at] = s->block[at] + (is_last ? 0 : s->left[at + lanes]);
		}
	}
}

LANES void sum_shares(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, double *time)
{
	const struct vmp_set *set = c->m->set;
	double runs[VMP_LANES] = { 0 }, sight[VMP_LANES] = { 0 };
	unsigned int l;
	uint32_t b;

	for (b = 0; b < set->blocks.nr; b++) {
		const int is_first = !b || set->blocks.v[b - 1].start != set->blocks.v[b].start;

		for (l = 0; l < lanes; l++) {
			size_t at = (size_t)b * lanes + l;

			runs[l] = (is_first ? 0 : runs[l]) + s->by_runs[at];
			sight[l] = (is_first ? 0 : sight[l]) + s->by_sight[at];
			time[at] = runs[l] * s->block[at] + sight[l] * set->blocks.v[b].n;
		}
	}
}

/* Samples of a block that its branch has ended: of what ends there, and that is hardly ever more than one */
LANES void share_ended(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, const struct vmp_groups *landings, double *time)
{
	const struct vmp_set *set = c->m->set;
	uint32_t i, b, first, end;
	unsigned int l;

	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *land = &set->landings.v[i];
		double n[VMP_LANES], all[VMP_LANES] = { 0 }, part, seen = 0;

		first = c->landed[i];
		if (first == VMP_NONE || !land->ended)
			continue;
		without(s, lanes, landings[i].n, n);
		for (end = first; end < set->blocks.nr && set->blocks.v[end].start == land->start && set->blocks.v[end].end == land->at; end++) {
			seen += set->blocks.v[end].n;
			for (l = 0; l < lanes; l++)
				all[l] += s->block[(size_t)end * lanes + l];
		}
		for (b = first; seen > 0 && b < end; b++) {
			for (l = 0; l < lanes; l++) {
				part = all[l] > 0 ? s->block[(size_t)b * lanes + l] / all[l] : set->blocks.v[b].n / seen;
				time[(size_t)b * lanes + l] += n[l] * part;
			}
		}
	}
}

LANES void share(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, const struct vmp_groups *landings, double *time)
{
	sum_left(c, s, lanes);
	note_shares(c, s, lanes, landings);
	sum_shares(c, s, lanes, time);
	share_ended(c, s, lanes, landings, time);
}

void vmp_share(const struct vmp_chain *c, struct vmp_solutions *s, const struct vmp_groups *landings, double *time)
{
	FOR_LANES(share, c, s, landings, time);
}
