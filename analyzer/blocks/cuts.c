// SPDX-License-Identifier: GPL-2.0-only
/* cuts.c - see cuts.h. */
#include "blocks/cuts.h"

#include <math.h>
#include <string.h>

#include "blocks/lanes.h"

/* Cycles of one run of a pair's block, as far as they are known by now */
LANES double cycles_of(const struct vmp_chain *c, const struct vmp_solutions *s, unsigned int lanes, uint32_t pair, unsigned int lane)
{
	size_t block = (size_t)c->m->set->units.v[c->m->pairs.v[pair].unit].block * lanes + lane;

	return s->block[block] > 0 ? s->time[block] * c->period / s->block[block] : 0;
}

/* Of each row: its windows that a VM entry cut, by the cycles and by the instructions in all of them */
LANES void find_cuts(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES];
	unsigned int l;
	uint32_t i, r;
	size_t at;

	memset(s->cut_cycles, 0, (size_t)m->rows * lanes * sizeof(*s->cut_cycles));
	memset(s->cut_insns, 0, (size_t)m->rows * lanes * sizeof(*s->cut_insns));
	for (i = 0; i < m->pairs.nr; i++) {
		steps(c, s, lanes, i, n);
		for (l = 0; l < lanes; l++) {
			at = (size_t)m->pairs.v[i].row * lanes + l;
			s->cut_cycles[at] += n[l] * cycles_of(c, s, lanes, i, l);
			s->cut_insns[at] += n[l] * c->insns[i];
		}
	}
	for (r = 0; r < m->rows; r++) {
		without(s, lanes, m->cuts[r].n, n);
		for (l = 0; l < lanes; l++) {
			at = (size_t)r * lanes + l;
			s->cut_cycles[at] = s->cut_cycles[at] > 0 ? n[l] / s->cut_cycles[at] : 0;
			s->cut_insns[at] = s->cut_insns[at] > 0 ? n[l] / s->cut_insns[at] : 0;
		}
	}
}

/* What is missing of the runs of each row of one start: its share of the runs, and how many windows show the rest */
LANES void find_missing(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES], all[VMP_LANES];
	unsigned int l;
	uint32_t i;

	memset(s->shown, 0, (size_t)m->rows * lanes * sizeof(*s->shown));
	memset(s->missing, 0, (size_t)m->rows * lanes * sizeof(*s->missing));
	memset(s->windows, 0, (size_t)m->rows * lanes * sizeof(*s->windows));
	for (i = 0; i < m->pairs.nr; i++) {
		if (c->to[i] == VMP_NONE || m->shared[c->to[i]])
			continue;
		shown(c, s, lanes, i, n);
		steps(c, s, lanes, i, all);
		for (l = 0; l < lanes; l++) {
			size_t to = (size_t)c->to[i] * lanes + l, row = (size_t)m->pairs.v[i].row * lanes + l;
			double cycles = s->cut_cycles[row] * cycles_of(c, s, lanes, i, l), insns = s->cut_insns[row] * c->insns[i];

			s->shown[to] += n[l];
			s->missing[to] += n[l] * (cycles > insns ? cycles : insns);
			s->windows[to] += all[l];
		}
	}
}

/*
 * A VM entry cuts the block that runs then: no window shows that run, and the longer blocks take the more of their
 * runs are missing.  How many cannot be told: entries come by the clock, by cycles, and by instructions.  But samples of
 * instructions in a start's common code tell its runs, too, with an error of their own, and miss none.  Of both, each
 * counts by the other one's uncertainty.
 */
LANES void mend(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	unsigned int l;
	uint32_t i, row;

	for (i = 0; i < set->units.nr; i++) {
		const struct vmp_unit *u = &set->units.v[i];

		row = u->block == VMP_NONE ? VMP_NONE : c->m->row_of[u->start];
		if (row == VMP_NONE || c->m->shared[row])
			continue;
		for (l = 0; l < lanes; l++) {
			size_t at = (size_t)row * lanes + l;
			double samples = s->x[at] * c->m->common[u->start].insns / (double)set->m->pair.instructions;
			double missing = s->shown[at] > 0 ? s->missing[at] / s->shown[at] : 0;
			double chance = samples > 0 && s->windows[at] > 0 ? 1 / samples + 1 / s->windows[at] : INFINITY;
			double part = missing * missing / (missing * missing + chance);

			if (missing > 0)
				s->unit[(size_t)i * lanes + l] *= 1 + part * (s->x[at] / s->shown[at] - 1);
		}
	}
}

LANES void mend_cuts(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	find_cuts(c, s, lanes);
	find_missing(c, s, lanes);
	mend(c, s, lanes);
}

void vmp_cuts_mend(const struct vmp_chain *c, struct vmp_solutions *s)
{
	FOR_LANES(mend_cuts, c, s);
}
