// SPDX-License-Identifier: GPL-2.0-only
/* cuts.c - see cuts.h. */
#include "blocks/cuts.h"

#include <math.h>
#include <string.h>

#include "blocks/lanes.h"

#define BEYOND		2.0	/* standard errors by which chance is hardly ever off */
#define MENDED_MAX	2.0	/* of the runs that windows show: where more are hidden, nobody knows how many */

/* Cycles of one run of each block, as far as they are known by now */
LANES void find_took(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	size_t i;

	for (i = 0; i < (size_t)c->m->set->blocks.nr * lanes; i++)
		s->took[i] = s->block[i] > 0 ? s->time[i] * c->period / s->block[i] : 0;
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
			s->cut_cycles[at] += n[l] * s->took[(size_t)c->block[i] * lanes + l];
			s->cut_insns[at] += n[l] * c->insns[i];
		}
	}
	for (r = 0; r < m->rows; r++) {
		without(s, lanes, m->cuts[r].cut.n, n);
		for (l = 0; l < lanes; l++) {
			at = (size_t)r * lanes + l;
			s->cut_cycles[at] = s->cut_cycles[at] > 0 ? n[l] / s->cut_cycles[at] : 0;
			s->cut_insns[at] = s->cut_insns[at] > 0 ? n[l] / s->cut_insns[at] : 0;
		}
	}
}

/*
 * Windows that were cut show the steps behind the VM entry, and not what ran before it: of what runs behind long blocks they show more than its
 * part.  How much of what a row's windows show that may be, at most: the steps by which its cut windows are shorter than its others, of all with these.
 */
LANES void find_more(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	double windows[VMP_LANES], steps[VMP_LANES], cut[VMP_LANES], cut_steps[VMP_LANES];
	unsigned int l;
	uint32_t r;

	for (r = 0; r < c->m->rows; r++) {
		const struct vmp_cuts *of = &c->m->cuts[r];

		without(s, lanes, of->windows.n, windows);
		without(s, lanes, of->steps.n, steps);
		without(s, lanes, of->cut.n, cut);
		without(s, lanes, of->cut_steps.n, cut_steps);
		for (l = 0; l < lanes; l++) {
			double whole = windows[l] > cut[l] ? (steps[l] - cut_steps[l]) / (windows[l] - cut[l]) : INFINITY;
			double hidden = cut[l] > 0 ? cut[l] * whole - cut_steps[l] : 0;

			s->more[(size_t)r * lanes + l] = hidden > 0 ? 1 / (1 + steps[l] / hidden) : 0;
		}
	}
}

/*
 * Windows end at a VM entry, so that runs before an exit are seen by those alone that are between: the fewer, the farther back it is
 * looked.  What windows show near the sample and far from it of each row of one start, as if each window had as many steps as those of
 * its row that were not cut, and what chance makes of that: windows, and samples of instructions that say what each row stands for.
 */
LANES void find_sights(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double runs[VMP_LANES], n[VMP_LANES];
	unsigned int l;
	uint32_t i;

	memset(s->sight, 0, (size_t)m->rows * lanes * sizeof(*s->sight));
	for (i = 0; i < m->pairs.nr; i++) {
		const uint32_t row = m->pairs.v[i].row, to = c->to[i];
		const struct vmp_cuts *of = &m->cuts[row];
		const double windows = vmp_groups_without(&of->windows, VMP_GROUPS), whole = windows - vmp_groups_without(&of->cut, VMP_GROUPS);
		const double all = vmp_groups_without(&of->steps, VMP_GROUPS), far = (double)of->far;
		const double near = all - vmp_groups_without(&of->cut_steps, VMP_GROUPS) - far, part = (double)m->pairs.v[i].far / (double)c->steps[i];

		if (to == VMP_NONE || m->shared[to])
			continue;
		shown(c, s, lanes, i, runs);
		steps(c, s, lanes, i, n);
		for (l = 0; l < lanes; l++) {
			struct vmp_sight *x = &s->sight[(size_t)to * lanes + l];
			const double seconds = s->seconds[(size_t)row * lanes + l], one = m->shared[row] && seconds > 0 ? windows / seconds : 1;
			/* runs for each step, by the nearest steps alone, and by the others; in a shared row windows weigh more than one */
			const double there = near > 0 && far > 0 ? runs[l] * all / windows * whole : 0;
			const double a = there > 0 ? there / near * (1 - part) : 0, b = there > 0 ? there / far * part : 0;

			if (!(runs[l] > 0) || !(seconds > 0))
				continue;
			x->near += a;
			x->far += b;
			x->lost += (a - b) * (a - b) / seconds + (part < 1 ? a * a * one / (n[l] * (1 - part)) : 0) + (part > 0 ? b * b * one / (n[l] * part) : 0);
			x->shown += runs[l] * runs[l] * (1 / seconds + one / n[l]);
			x->own += to == row ? runs[l] : 0;
		}
	}
}

/* The part of a start's runs that windows lose for exits behind it: what they show far from samples less than near them, beyond chance */
LANES double lost(const struct vmp_sight *x)
{
	const double less = x->near - x->far;

	return less > 0 && less * less > x->lost ? sqrt(less * less - x->lost) / x->near : 0;
}

/* Instructions of a block behind the common code of its start; 0 none, or not known */
LANES double tail_of(const struct vmp_chain *c, const struct vmp_block_code *b)
{
	const double insns = b->insns, common = c->m->common[b->start].insns;

	return common > 0 && insns > common ? insns - common : 0;
}

/* What is missing of the runs of each row of one start: its share of the runs */
LANES void find_missing(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES], all[VMP_LANES];
	unsigned int l;
	uint32_t i;

	memset(s->shown, 0, (size_t)m->rows * lanes * sizeof(*s->shown));
	memset(s->missing, 0, (size_t)m->rows * lanes * sizeof(*s->missing));
	memset(s->tail, 0, (size_t)m->rows * lanes * sizeof(*s->tail));
	for (i = 0; i < m->pairs.nr; i++) {
		const struct vmp_block_code *b = &m->set->blocks.v[c->block[i]];
		double tail;

		if (c->to[i] == VMP_NONE || m->shared[c->to[i]])
			continue;
		shown(c, s, lanes, i, n);
		steps(c, s, lanes, i, all);
		tail = tail_of(c, b);
		for (l = 0; l < lanes && m->shared[m->pairs.v[i].row]; l++)
			all[l] = 0;	/* there they are no numbers of windows */
		for (l = 0; l < lanes; l++) {
			size_t to = (size_t)c->to[i] * lanes + l, row = (size_t)m->pairs.v[i].row * lanes + l;
			double took = s->took[(size_t)c->block[i] * lanes + l], cycles = s->cut_cycles[row] * took, insns = s->cut_insns[row] * c->insns[i];
			double missing = n[l] * (cycles > insns ? cycles : insns);

			s->shown[to] += n[l];
			s->missing[to] += missing + n[l] * s->more[row];
			s->tail[to].shown += tail > 0 ? n[l] : 0;
			s->tail[to].windows += tail > 0 ? all[l] : 0;
			s->tail[to].insns += n[l] * tail;
			s->tail[to].cycles += n[l] * tail * took;
			s->tail[to].missing += missing * tail;
			s->tail[to].unknown += b->insns ? 0 : n[l];
		}
	}
}

/* Samples of instructions in tails */
LANES void load_tails(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES];
	unsigned int l;
	uint32_t i, row;

	for (i = 0; i < m->set->landings.nr; i++) {
		const struct vmp_landing *land = &m->set->landings.v[i];

		row = land->flaw || !m->common[land->start].insns || vmp_measure_is_common(m, land) ? VMP_NONE : m->row_of[land->start];
		if (row == VMP_NONE || m->shared[row])
			continue;
		without(s, lanes, m->seconds[i].n, n);
		for (l = 0; l < lanes; l++)
			s->tail[(size_t)row * lanes + l].samples += n[l];
	}
}

/* So many runs there are for one that windows show: @samples of instructions say @times as many, which counts by how many may be @missing */
LANES double mended(double times, double missing, double samples, double windows)
{
	const double chance = samples > 0 && windows > 0 ? 1 / samples + 1 / windows : INFINITY;

	return missing > 0 ? 1 + missing * missing / (missing * missing + chance) * (times - 1) : 1;
}

/*
 * The same of all runs of a start, with the variance of what windows show, which is that of the samples of instructions where these were taken.
 * They count as much as makes both together vary least: with the @missing as if it were chance.  @expected: samples of instructions, by windows.
 *
 * A kernel leaves the guest by itself: what windows miss of runs right before that, near samples and far from them alike, no window tells. But
 * where samples of instructions say otherwise by more than chance can, @leaves, that is missing, too.
 */
LANES double start_mended(const struct vmp_sight *x, double shown, double times, double missing, double expected, int leaves)
{
	const double own = x->own / shown, windows = fmax(x->shown / (shown * shown) - own / expected, 0), chance = windows + (1 - own) / expected;
	const double off = (times - 1) * (times - 1), beyond = leaves && off > BEYOND * BEYOND * chance ? off - chance : 0;
	const double others = missing * missing + beyond + windows, both = others + (1 - own) / expected;

	return both > 0 ? 1 + others / both * (times - 1) : 1;
}

/*
 * Where some runs from a start go on behind the common code, which samples of instructions in that say nothing of how many: those
 * behind it do.  Return: so many times as many as windows show where there are @more of all, of the mean of such runs.
 */
LANES double tail_mended(const struct vmp_tail *t, double period, double more)
{
	const double expected = t->insns * more / period;

	if (t->unknown > 0 || !(expected > 0) || !(t->samples > 0) || !(t->cycles > 0))
		return 1;
	return mended(t->samples / expected, t->missing / t->insns, t->samples, t->windows);
}

/* Runs of one block among them: cuts hide the more of those the more cycles they take, but not more than there are twice */
LANES double of_tail(const struct vmp_tail *t, double times, double cycles)
{
	return fmin(fmax(1 + (times - 1) * cycles * t->insns / t->cycles, 1 / MENDED_MAX), MENDED_MAX);
}

/* Runs of the start's other blocks: of all together there are no more for it */
LANES double of_rest(const struct vmp_tail *t, double times, double shown)
{
	return shown > t->shown ? fmin(fmax((shown - times * t->shown) / (shown - t->shown), 1 / MENDED_MAX), MENDED_MAX) : 1;
}

/*
 * A VM entry cuts the block that runs then: no window shows that run, and the longer blocks take the more of their
 * runs are missing; what is behind such a block is shown all the same.  How many cannot be told: entries come by the clock, by cycles, and by instructions.  But samples of
 * instructions in a start's common code tell its runs, too, with an error of their own, and miss none; and those behind it how many of them go
 * on.  Of both, each counts by the other one's uncertainty.
 */
LANES void mend(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	const double period = (double)set->m->pair.instructions;
	unsigned int l;
	uint32_t i, row;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];

		row = c->m->row_of[b->start];
		if (row == VMP_NONE || c->m->shared[row])
			continue;
		for (l = 0; l < lanes; l++) {
			size_t at = (size_t)row * lanes + l;
			const struct vmp_tail *t = &s->tail[at];
			double shown = s->shown[at], more, tail;

			if (!(shown > 0))
				continue;
			more = start_mended(&s->sight[at], shown, s->x[at] / shown, s->missing[at] / shown + lost(&s->sight[at]),
					    shown * c->m->common[b->start].insns / period, set->points.points.v[b->start].seen >> 63);
			tail = tail_mended(t, period, more);
			if (tail != 1)
				more *= tail_of(c, b) > 0 ? of_tail(t, tail, s->took[(size_t)i * lanes + l]) : of_rest(t, tail, shown);
			s->block[(size_t)i * lanes + l] *= more;
		}
	}
}

LANES void mend_cuts(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	find_took(c, s, lanes);
	find_cuts(c, s, lanes);
	find_more(c, s, lanes);
	find_missing(c, s, lanes);
	find_sights(c, s, lanes);
	load_tails(c, s, lanes);
	mend(c, s, lanes);
}

void vmp_cuts_mend(const struct vmp_chain *c, struct vmp_solutions *s)
{
	FOR_LANES(mend_cuts, c, s);
}
