// SPDX-License-Identifier: GPL-2.0-only
/* solutions.c - see solutions.h and lanes.h. */
#include "blocks/solutions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/cuts.h"
#include "blocks/lanes.h"
#include "blocks/share.h"
#include "util/big.h"

#define SWEEPS		1000
#define SWEEPS_MIN	20
#define WORK		30000000U	/* pairs to be looked at for one solution */
#define CLOSE		1e-7

int vmp_solutions_init(struct vmp_solutions *s, const struct vmp_chain *c, unsigned int first, unsigned int lanes)
{
	size_t rows = ((size_t)c->m->rows + 1) * lanes, pairs = ((size_t)c->m->pairs.nr + 1) * lanes;
	size_t blocks = ((size_t)c->m->set->blocks.nr + 1) * lanes, i;
	/* those by block are filled when shares of steps have been used, and lie where these did */
	const struct { double **at; size_t nr; } parts[] = {
		{ &s->samples, rows }, { &s->seconds, rows }, { &s->weight, rows }, { &s->keeps, rows }, { &s->x, rows }, { &s->cut_cycles, rows },
		{ &s->cut_insns, rows }, { &s->more, rows }, { &s->shown, rows }, { &s->missing, rows },
		{ (double **)&s->tail, rows * sizeof(*s->tail) / sizeof(double) },
		{ (double **)&s->sight, rows * sizeof(*s->sight) / sizeof(double) }, { &s->scale, 2 * ((size_t)c->classes + 1) * lanes },
		{ &s->part, 0 }, { &s->block, blocks }, { &s->time, blocks }, { &s->left, blocks }, { &s->by_runs, blocks }, { &s->by_sight, blocks },
	};
	size_t all = 0;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		all += parts[i].nr;
	*s = (struct vmp_solutions){ .first = first, .lanes = lanes, .room = vmp_big_alloc((all + pairs) * sizeof(*s->room)) };
	if (!s->room)
		return -ENOMEM;
	for (i = 0, all = 0; i < sizeof(parts) / sizeof(parts[0]); all += parts[i++].nr)
		*parts[i].at = s->room + all;
	s->took = s->by_runs;
	memset(s->room, 0, (size_t)(s->part - s->room) * sizeof(*s->room));
	for (i = 0; i < rows; i++)
		s->x[i] = 1;
	return 0;
}

void vmp_solutions_deinit(struct vmp_solutions *s)
{
	free(s->room);
}

/* Samples of each row */
LANES void load_samples(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES];
	uint32_t i, row;
	unsigned int l;

	memset(s->samples, 0, (size_t)m->rows * lanes * sizeof(*s->samples));
	for (i = 0; i < m->set->landings.nr; i++) {
		row = m->set->landings.v[i].flaw ? VMP_NONE : m->row_of[m->set->landings.v[i].start];
		if (row == VMP_NONE)
			continue;
		without(s, lanes, m->landings[i].n, n);
		for (l = 0; l < lanes; l++)
			s->samples[(size_t)row * lanes + l] += n[l];
	}
}

/* Steps that stay in a row's class or in what no sample hit; that gives back what it gets */
LANES void load_steps(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	size_t rows = (size_t)m->rows * lanes, i;
	double n[VMP_LANES], *given_back = s->keeps;
	unsigned int l;

	memset(s->weight, 0, rows * sizeof(*s->weight));
	memset(given_back, 0, rows * sizeof(*given_back));
	for (i = 0; i < m->pairs.nr; i++) {
		uint32_t row = m->pairs.v[i].row;

		if (!c->stays[i])
			continue;
		steps(c, s, lanes, i, n);
		for (l = 0; l < lanes; l++)
			s->weight[(size_t)row * lanes + l] += n[l];
		for (l = 0; (c->to[i] == VMP_NONE || c->to[i] == row) && l < lanes; l++)
			given_back[(size_t)row * lanes + l] += n[l];
	}
	for (i = 0; i < rows; i++)
		s->keeps[i] = s->weight[i] > 0 ? 1 - given_back[i] / s->weight[i] : 0;
}

LANES void load_parts(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_measure *m = c->m;
	double n[VMP_LANES];
	unsigned int l;
	size_t i;

	for (i = 0; i < c->in_first[m->rows]; i++) {
		const double *weight = &s->weight[(size_t)c->source[i] * lanes];
		uint32_t k = c->in_pair[i];

		steps(c, s, lanes, k, n);
		for (l = 0; l < lanes; l++)
			s->part[i * lanes + l] = weight[l] > 0 && c->to[k] != c->source[i] ? n[l] / weight[l] : 0;
	}
}

/* One sweep of Gauss and Seidel over x = x K, row by row; a lane that is done stays.  Return: lanes that are now done */
LANES unsigned int sweep(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, unsigned int done)
{
	double change[VMP_LANES] = { 0 };	/* the largest, relative */
	const uint32_t *source = c->source;
	const double *part = s->part;
	double *const all = s->x;
	unsigned int l;
	uint32_t r, i, end;

	for (i = r = 0; r < c->m->rows; r++) {
		double in[VMP_LANES] = { 0 };

		for (end = c->in_first[r + 1]; i < end; i++)
			for (l = 0; l < lanes; l++)
				in[l] += all[(size_t)source[i] * lanes + l] * part[(size_t)i * lanes + l];
		for (l = 0; l < lanes; l++) {
			double out = s->keeps[(size_t)r * lanes + l], *was = &all[(size_t)r * lanes + l], x;

			if (done >> l & 1 || out < 1e-12 || in[l] <= 0)
				continue;	/* nothing but itself */
			x = in[l] / out;
			if (fabs(x - *was) > change[l] * x)
				change[l] = fabs(x - *was) / x;
			*was = x;
		}
	}
	for (l = 0; l < lanes; l++)
		done |= (unsigned int)!(change[l] > CLOSE) << l;
	return done;
}

/* Large chains get fewer: each sweep looks at all of their pairs */
static int sweeps(const struct vmp_chain *c)
{
	uint32_t n = WORK / (c->in_first[c->m->rows] + 1);

	return n > SWEEPS ? SWEEPS : n < SWEEPS_MIN ? SWEEPS_MIN : (int)n;
}

/* Instructions in the time of a row's class, by the counters of its phase */
static double instructions(const struct vmp_chain *c, double samples, uint32_t row, int group)
{
	const struct vmp_phase *p = &c->m->phase.v[c->m->phase_of_row[row]];
	double cycles = vmp_groups_without(&p->cycles, group), insns = vmp_groups_without(&p->insns, group);

	if (cycles * 8 < vmp_groups_without(&p->all_cycles, group)) {	/* it is hardly ever twice in a row */
		cycles = vmp_groups_without(&p->all_cycles, group);
		insns = vmp_groups_without(&p->all_insns, group);
	}
	return cycles > 0 ? samples * c->period * insns / cycles : NAN;
}

/* How much of the scale is of code that is not here */
static double guessed_part(const struct vmp_chain *c, const struct vmp_solutions *s)
{
	double sum = 0, guessed = 0, n;
	uint32_t i;

	for (i = 0; i < c->m->pairs.nr; i++) {
		shown(c, s, 1, i, &n);
		n = s->x[c->m->pairs.v[i].row] > 0 ? n * c->insns[i] : 0;
		sum += n;
		guessed += c->guessed[i] ? n : 0;
	}
	return sum > 0 ? guessed / sum : 0;
}

/* Each class gets its share of instructions. */
LANES void scale(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	double *want = s->scale, *have = want + ((size_t)c->classes + 1) * lanes, n[VMP_LANES];
	unsigned int l;
	uint32_t r, i;
	size_t at;

	memset(s->scale, 0, 2 * ((size_t)c->classes + 1) * lanes * sizeof(*s->scale));
	for (r = 0; r < c->m->rows; r++)
		for (l = 0; l < lanes; l++)
			want[(size_t)c->class_of[r] * lanes + l] +=
				instructions(c, s->samples[(size_t)r * lanes + l], r, (int)(s->first + l));
	for (i = 0; i < c->m->pairs.nr; i++) {
		if (!c->stays[i])
			continue;
		shown(c, s, lanes, i, n);
		for (l = 0; l < lanes; l++)
			have[(size_t)c->class_of[c->m->pairs.v[i].row] * lanes + l] += n[l] * c->insns[i];
	}
	for (r = 0; r < c->m->rows; r++) {
		for (l = 0; l < lanes; l++) {
			at = (size_t)c->class_of[r] * lanes + l;
			s->x[(size_t)r * lanes + l] *= have[at] > 0 ? want[at] / have[at] : NAN;
		}
	}
	if (s->first == VMP_CHAIN_ALL)
		s->guessed = guessed_part(c, s);
}

/* Where instructions were sampled, too, those in the common code of starts tell executions. */
LANES void by_instructions(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	double period = (double)set->m->pair.instructions, n[VMP_LANES];
	uint32_t i, row;
	unsigned int l;

	memset(s->x, 0, (size_t)c->m->rows * lanes * sizeof(*s->x));
	memset(s->seconds, 0, (size_t)c->m->rows * lanes * sizeof(*s->seconds));
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *land = &set->landings.v[i];
		const struct vmp_common *common = &c->m->common[land->start];

		row = land->flaw || !common->insns ? VMP_NONE : c->m->row_of[land->start];
		if (row == VMP_NONE || !vmp_measure_is_common(c->m, land))
			continue;
		without(s, lanes, c->m->seconds[i].n, n);
		for (l = 0; l < lanes; l++) {
			s->x[(size_t)row * lanes + l] += n[l] * period / common->insns;
			s->seconds[(size_t)row * lanes + l] += n[l];
		}
	}
}

/* What a row's windows show of a pair's unit is added to @to */
LANES void add_shown(const struct vmp_chain *c, const struct vmp_solutions *s, unsigned int lanes, uint32_t pair, double *to)
{
	const double *x = &s->x[(size_t)c->m->pairs.v[pair].row * lanes];
	double n[VMP_LANES];
	unsigned int l;

	if (!c->stays[pair])
		return;
	shown(c, s, lanes, pair, n);
	for (l = 0; l < lanes; l++)
		to[l] += x[l] > 0 ? n[l] : 0;
}

LANES void executions(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	uint32_t i;

	memset(s->block, 0, (size_t)c->m->set->blocks.nr * lanes * sizeof(*s->block));
	for (i = 0; i < c->m->pairs.nr; i++)
		add_shown(c, s, lanes, i, &s->block[(size_t)c->block[i] * lanes]);
}

LANES void units(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes, double *unit)
{
	const struct vmp_set *set = c->m->set;
	double *sum = s->by_runs;	/* by block: of what is shown */
	unsigned int l;
	uint32_t i;
	size_t at;

	memset(unit, 0, (size_t)set->units.nr * lanes * sizeof(*unit));
	for (i = 0; i < c->m->pairs.nr; i++)
		add_shown(c, s, lanes, i, &unit[(size_t)c->m->pairs.v[i].unit * lanes]);
	memset(sum, 0, (size_t)set->blocks.nr * lanes * sizeof(*sum));
	for (i = 0; i < set->units.nr; i++)
		for (l = 0; set->units.v[i].block != VMP_NONE && l < lanes; l++)
			sum[(size_t)set->units.v[i].block * lanes + l] += unit[(size_t)i * lanes + l];
	for (i = 0; i < set->units.nr; i++) {
		for (l = 0; set->units.v[i].block != VMP_NONE && l < lanes; l++) {
			at = (size_t)set->units.v[i].block * lanes + l;
			if (sum[at] > 0)
				unit[(size_t)i * lanes + l] *= s->block[at] / sum[at];
		}
	}
}

void vmp_solutions_units(const struct vmp_chain *c, struct vmp_solutions *s, double *unit)
{
	FOR_LANES(units, c, s, unit);
}

LANES void solve(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	unsigned int done = 0;
	int n;

	load_samples(c, s, lanes);
	load_steps(c, s, lanes);
	if (c->by_instructions) {
		by_instructions(c, s, lanes);
	} else {
		load_parts(c, s, lanes);
		for (n = sweeps(c); n && done != (1U << lanes) - 1; n--)
			done = sweep(c, s, lanes, done);
		scale(c, s, lanes);
	}
	executions(c, s, lanes);
	vmp_share(c, s, c->m->landings, s->time);
	if (c->by_instructions) {
		vmp_cuts_mend(c, s);
		vmp_share(c, s, c->m->landings, s->time);
	}
}

void vmp_solutions_solve(const struct vmp_chain *c, struct vmp_solutions *s)
{
	FOR_LANES(solve, c, s);
}

/* Windows of a row of several starts weigh more or less: a sum of so many varies as if each weighed the mean square by the mean */
static double weight_of_one(const struct vmp_measure *m, uint32_t row)
{
	double windows = vmp_groups_without(&m->cuts[row].windows, VMP_GROUPS);

	return windows > 0 ? (double)m->cuts[row].squares / windows : 1;
}

/* Steps of a window, in the mean of all rows */
static double steps_of_one(const struct vmp_measure *m)
{
	double windows = 0, steps = 0;
	uint32_t r;

	for (r = 0; r < m->rows; r++) {
		windows += vmp_groups_without(&m->cuts[r].windows, VMP_GROUPS);
		steps += vmp_groups_without(&m->cuts[r].steps, VMP_GROUPS);
	}
	return windows > 0 ? steps / windows : 0;
}

/*
 * Executions that a step of a window stands for where starts share a row: the mean square by the mean. A sample of instructions has a weight of a period by the
 * instructions of its start's common code; those of cycles tell of starts where none of instructions was taken.  0: there are no such samples.
 */
static double rare_window(const struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	const double period = (double)m->set->m->pair.instructions, steps = steps_of_one(m);
	double sum = 0, squares = 0, n, one;
	uint32_t i;

	for (i = 0; c->by_instructions && i < m->set->landings.nr; i++) {
		const struct vmp_landing *land = &m->set->landings.v[i];
		const struct vmp_common *common = &m->common[land->start];
		const uint32_t row = land->flaw || !common->insns ? VMP_NONE : m->row_of[land->start];

		if (row == VMP_NONE || !m->shared[row] || !vmp_measure_is_common(m, land))
			continue;
		n = vmp_groups_without(&m->landings[i], VMP_GROUPS) + vmp_groups_without(&m->seconds[i], VMP_GROUPS);
		one = period / common->insns;
		sum += n * one;
		squares += n * one * one;
	}
	return sum > 0 && steps > 0 ? squares / sum / steps : 0;
}

double vmp_solutions_chance(const struct vmp_chain *c, const struct vmp_solutions *s, struct vmp_chance *chance)
{
	const struct vmp_measure *m = c->m;
	double runs = 0, squares = 0, r, n, v, rare;
	uint32_t i, row;

	memset(chance, 0, m->set->units.nr * sizeof(*chance));
	for (i = 0; i < m->pairs.nr; i++) {
		if (!c->stays[i])
			continue;
		shown(c, s, 1, i, &r);
		steps(c, s, 1, i, &n);
		if (!(r > 0))
			continue;
		row = m->pairs.v[i].row;
		v = r * r * weight_of_one(m, row) / n;
		chance[m->pairs.v[i].unit].windows += v;
		if (c->by_instructions)	/* where runs are shown there are such samples */
			chance[m->pairs.v[i].unit].samples += r * r / s->seconds[row];
		runs += r;
		squares += v;
	}
	rare = rare_window(c);
	return rare > 0 || !(runs > 0) ? rare : squares / runs;
}
