// SPDX-License-Identifier: GPL-2.0-only
/* chain.c - what does not change is looked up once; a solution's loops run through arrays. */
#include "blocks/chain.h"

#include <math.h>
#include <string.h>

#include "blocks/classes.h"

#define SWEEPS		1000
#define SWEEPS_MIN	20
#define WORK		30000000U	/* pairs to be looked at for one solution */
#define CLOSE		1e-7
#define BYTES_PER_INSN	4.2		/* of x86 code that is not here, for the scale only */

/* ------------------------------------------------------------------- chain */

static double guess_insns(const struct vmp_set *set, const struct vmp_block_code *b)
{
	double bytes = (double)(set->points.points.v[b->end].addr - set->points.points.v[b->start].addr);

	return b->insns ? b->insns : 1 + bytes / BYTES_PER_INSN;
}

static void find_targets(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t i;

	for (i = 0; i < m->pairs.nr; i++) {
		const struct vmp_pair *p = &m->pairs.v[i];
		const struct vmp_unit *u = &m->set->units.v[p->unit];

		c->first[p->row + 1]++;
		c->to[i] = m->row_of[u->start];
		c->insns[i] = guess_insns(m->set, &m->set->blocks.v[u->block]);
	}
	for (i = 0; i < m->rows; i++)
		c->first[i + 1] += c->first[i];
}

/* Classes lie within phases */
static int find_classes(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t *to = malloc(((size_t)m->pairs.nr + 1) * sizeof(*to)), i;
	const struct vmp_graph g = { m->rows, c->first, to };
	int err;

	if (!to)
		return -ENOMEM;
	for (i = 0; i < m->pairs.nr; i++)
		to[i] = c->to[i] != VMP_NONE && m->phase_of_row[c->to[i]] == m->phase_of_row[m->pairs.v[i].row] ?
			c->to[i] : VMP_NONE;
	err = vmp_classes_find(&g, c->class_of, &c->classes);
	free(to);
	return err;
}

/* What leads to each row, within classes */
static int index_targets(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t i, k, r, *at = calloc((size_t)m->rows + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (i = 0; i < m->pairs.nr; i++) {
		int inside = c->to[i] != VMP_NONE && c->class_of[c->to[i]] == c->class_of[m->pairs.v[i].row];

		c->stays[i] = inside || c->to[i] == VMP_NONE;
		if (inside)
			c->in_first[c->to[i] + 1]++;
	}
	for (r = 0; r < m->rows; r++) {
		c->in_first[r + 1] += c->in_first[r];
		at[r] = c->in_first[r];
	}
	for (i = 0; i < m->pairs.nr; i++) {
		if (c->to[i] == VMP_NONE || !c->stays[i])
			continue;
		k = at[c->to[i]]++;
		c->in_pair[k] = i;
		c->source[k] = m->pairs.v[i].row;
	}
	free(at);
	return 0;
}

/* First block of each start */
static void list_blocks(struct vmp_chain *c)
{
	const struct vmp_set *set = c->m->set;
	uint32_t i;

	memset(c->first_block, 0xff, ((size_t)set->points.points.nr + 1) * sizeof(*c->first_block));
	for (i = set->blocks.nr; i--; )
		c->first_block[set->blocks.v[i].start] = i;
}

int vmp_chain_init(struct vmp_chain *c, const struct vmp_measure *m, double period, int by_instructions)
{
	size_t rows = (size_t)m->rows + 2, pairs = (size_t)m->pairs.nr + 1;
	int err;

	*c = (struct vmp_chain){ .m = m, .period = period, .by_instructions = by_instructions };
	c->class_of = calloc(rows, sizeof(*c->class_of));
	c->first = calloc(rows, sizeof(*c->first));
	c->to = calloc(pairs, sizeof(*c->to));
	c->stays = calloc(pairs, sizeof(*c->stays));
	c->insns = calloc(pairs, sizeof(*c->insns));
	c->in_first = calloc(rows, sizeof(*c->in_first));
	c->in_pair = calloc(pairs, sizeof(*c->in_pair));
	c->source = calloc(pairs, sizeof(*c->source));
	c->first_block = malloc(((size_t)m->set->points.points.nr + 1) * sizeof(*c->first_block));
	if (!c->class_of || !c->first || !c->to || !c->stays || !c->insns || !c->in_first || !c->in_pair ||
	    !c->source || !c->first_block)
		return -ENOMEM;
	list_blocks(c);
	find_targets(c);
	err = find_classes(c);
	return err ? err : index_targets(c);
}

void vmp_chain_deinit(struct vmp_chain *c)
{
	free(c->class_of);
	free(c->first);
	free(c->to);
	free(c->stays);
	free(c->insns);
	free(c->in_first);
	free(c->in_pair);
	free(c->source);
	free(c->first_block);
}

/* ----------------------------------------------------------------- solution */

int vmp_solution_init(struct vmp_solution *s, const struct vmp_chain *c)
{
	size_t rows = (size_t)c->m->rows + 1, pairs = (size_t)c->m->pairs.nr + 1;
	size_t blocks = (size_t)c->m->set->blocks.nr + 1, i;

	*s = (struct vmp_solution){ 0 };
	s->n = calloc(pairs, sizeof(*s->n));
	s->part = calloc(pairs, sizeof(*s->part));
	s->samples = calloc(rows, sizeof(*s->samples));
	s->weight = calloc(rows, sizeof(*s->weight));
	s->gives_back = calloc(rows, sizeof(*s->gives_back));
	s->x = calloc(rows, sizeof(*s->x));
	s->scale = calloc(2 * ((size_t)c->classes + 1), sizeof(*s->scale));
	s->unit = calloc((size_t)c->m->set->units.nr + 1, sizeof(*s->unit));
	s->block = calloc(blocks, sizeof(*s->block));
	s->time = calloc(blocks, sizeof(*s->time));
	if (!s->n || !s->part || !s->samples || !s->weight || !s->gives_back || !s->x || !s->scale || !s->unit ||
	    !s->block || !s->time)
		return -ENOMEM;
	for (i = 0; i < rows; i++)
		s->x[i] = 1;
	return 0;
}

void vmp_solution_deinit(struct vmp_solution *s)
{
	free(s->n);
	free(s->part);
	free(s->samples);
	free(s->weight);
	free(s->gives_back);
	free(s->x);
	free(s->scale);
	free(s->unit);
	free(s->block);
	free(s->time);
}

static double pairs_without(const uint32_t n[VMP_GROUPS], int group)
{
	uint64_t sum = 0;
	int g;

	for (g = 0; g < VMP_GROUPS; g++)
		sum += n[g];
	return (double)(group == VMP_CHAIN_ALL ? sum : sum - n[group]);
}

/* Samples of each row, and steps that stay in its class or in what no sample hit */
static void load(const struct vmp_chain *c, struct vmp_solution *s, int group)
{
	const struct vmp_measure *m = c->m;
	uint32_t i, row, k;

	memset(s->samples, 0, m->rows * sizeof(*s->samples));
	memset(s->weight, 0, m->rows * sizeof(*s->weight));
	memset(s->gives_back, 0, m->rows * sizeof(*s->gives_back));
	for (i = 0; i < m->set->landings.nr; i++) {
		row = m->set->landings.v[i].flaw ? VMP_NONE : m->row_of[m->set->landings.v[i].start];
		if (row != VMP_NONE)
			s->samples[row] += vmp_groups_without(&m->landings[i], group);
	}
	for (i = 0; i < m->pairs.nr; i++) {
		row = m->pairs.v[i].row;
		s->n[i] = pairs_without(m->pairs.v[i].n, group);
		if (c->stays[i])
			s->weight[row] += s->n[i];
		if (c->to[i] == VMP_NONE || c->to[i] == row)	/* what no sample hit gives back what it gets */
			s->gives_back[row] += s->n[i];
	}
	for (i = 0; i < c->in_first[m->rows]; i++) {
		row = c->source[i];
		k = c->in_pair[i];
		s->part[i] = s->weight[row] > 0 && c->to[k] != row ? s->n[k] / s->weight[row] : 0;
	}
}

/* One sweep of Gauss and Seidel over x = x K, row by row.  Return: the largest change, relative */
static double sweep(const struct vmp_chain *c, struct vmp_solution *s)
{
	double change = 0;
	uint32_t r, i;

	for (r = 0; r < c->m->rows; r++) {
		double in = 0, out, x;

		for (i = c->in_first[r]; i < c->in_first[r + 1]; i++)
			in += s->x[c->source[i]] * s->part[i];
		out = s->weight[r] > 0 ? 1 - s->gives_back[r] / s->weight[r] : 0;
		if (out < 1e-12 || in <= 0)
			continue;	/* nothing but itself */
		x = in / out;
		if (fabs(x - s->x[r]) > change * x)
			change = fabs(x - s->x[r]) / x;
		s->x[r] = x;
	}
	return change;
}

/* Large chains get fewer: each sweep looks at all of their pairs */
static int sweeps(const struct vmp_chain *c)
{
	uint32_t n = WORK / (c->in_first[c->m->rows] + 1);

	return n > SWEEPS ? SWEEPS : n < SWEEPS_MIN ? SWEEPS_MIN : (int)n;
}

/* Instructions in the time of a row's class, by the counters of its phase */
static double instructions(const struct vmp_chain *c, const struct vmp_solution *s, uint32_t row, int group)
{
	const struct vmp_phase *p = &c->m->phase.v[c->m->phase_of_row[row]];
	double cycles = vmp_groups_without(&p->cycles, group), insns = vmp_groups_without(&p->insns, group);

	if (cycles * 8 < vmp_groups_without(&p->all_cycles, group)) {	/* it is hardly ever twice in a row */
		cycles = vmp_groups_without(&p->all_cycles, group);
		insns = vmp_groups_without(&p->all_insns, group);
	}
	return cycles > 0 ? s->samples[row] * c->period * insns / cycles : NAN;
}

/* Executions of a pair's unit that its row's windows show */
static double shown(const struct vmp_chain *c, const struct vmp_solution *s, uint32_t pair)
{
	uint32_t row = c->m->pairs.v[pair].row;

	return s->weight[row] > 0 ? s->x[row] * s->n[pair] / s->weight[row] : 0;
}

/* How much of the scale is of code that is not here */
static double guessed_part(const struct vmp_chain *c, const struct vmp_solution *s)
{
	const struct vmp_set *set = c->m->set;
	double sum = 0, guessed = 0;
	uint32_t i;

	for (i = 0; i < c->m->pairs.nr; i++) {
		const struct vmp_pair *p = &c->m->pairs.v[i];
		double n = s->x[p->row] > 0 ? shown(c, s, i) * c->insns[i] : 0;

		sum += n;
		guessed += set->blocks.v[set->units.v[p->unit].block].insns ? 0 : n;
	}
	return sum > 0 ? guessed / sum : 0;
}

/* Each class gets its share of instructions. */
static void scale(const struct vmp_chain *c, struct vmp_solution *s, int group)
{
	double *want = s->scale, *have = want + c->classes + 1;
	uint32_t r, i;

	memset(s->scale, 0, 2 * ((size_t)c->classes + 1) * sizeof(*s->scale));
	for (r = 0; r < c->m->rows; r++)
		want[c->class_of[r]] += instructions(c, s, r, group);
	for (i = 0; i < c->m->pairs.nr; i++)
		if (c->stays[i])
			have[c->class_of[c->m->pairs.v[i].row]] += shown(c, s, i) * c->insns[i];
	for (r = 0; r < c->m->rows; r++)
		s->x[r] *= have[c->class_of[r]] > 0 ? want[c->class_of[r]] / have[c->class_of[r]] : NAN;
	if (group == VMP_CHAIN_ALL)
		s->guessed = guessed_part(c, s);
}

/* Where instructions were sampled, too, those in the common code of starts tell executions. */
static void by_instructions(const struct vmp_chain *c, struct vmp_solution *s, int group)
{
	const struct vmp_set *set = c->m->set;
	double period = (double)set->m->pair.instructions;
	uint32_t i, row;

	memset(s->x, 0, c->m->rows * sizeof(*s->x));
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];
		const struct vmp_common *common = &c->m->common[l->start];

		row = l->flaw || !common->insns ? VMP_NONE : c->m->row_of[l->start];
		if (row != VMP_NONE && set->points.points.v[l->at].addr <= common->end)
			s->x[row] += vmp_groups_without(&c->m->seconds[i], group) * period / common->insns;
	}
}

/* What rows' windows show of each unit */
static void executions(const struct vmp_chain *c, struct vmp_solution *s)
{
	const struct vmp_set *set = c->m->set;
	uint32_t i;

	memset(s->unit, 0, set->units.nr * sizeof(*s->unit));
	memset(s->block, 0, set->blocks.nr * sizeof(*s->block));
	for (i = 0; i < c->m->pairs.nr; i++)
		if (c->stays[i] && s->x[c->m->pairs.v[i].row] > 0)
			s->unit[c->m->pairs.v[i].unit] += shown(c, s, i);
	for (i = 0; i < set->units.nr; i++)
		if (set->units.v[i].block != VMP_NONE)
			s->block[set->units.v[i].block] += s->unit[i];
}

/* Blocks of one start lie together, the shortest first */
static void share_time(const struct vmp_chain *c, struct vmp_solution *s, int group)
{
	const struct vmp_set *set = c->m->set;
	uint32_t i, b, first;

	memset(s->time, 0, set->blocks.nr * sizeof(*s->time));
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];
		double n = vmp_groups_without(&c->m->landings[i], group), all = 0;
		uint64_t at = set->points.points.v[l->at].addr;

		if (l->flaw || n <= 0)
			continue;
		first = c->first_block[l->start];
		while (first < set->blocks.nr && set->blocks.v[first].start == l->start &&
		       set->points.points.v[set->blocks.v[first].end].addr < at)
			first++;
		for (b = first; b < set->blocks.nr && set->blocks.v[b].start == l->start; b++)
			all += s->block[b];
		for (b = first; all > 0 && b < set->blocks.nr && set->blocks.v[b].start == l->start; b++)
			s->time[b] += n * s->block[b] / all;
	}
}

void vmp_chain_solve(const struct vmp_chain *c, struct vmp_solution *s, int group)
{
	int n;

	load(c, s, group);
	if (c->by_instructions) {
		by_instructions(c, s, group);
	} else {
		for (n = sweeps(c); n && sweep(c, s) > CLOSE; n--)
			;
		scale(c, s, group);
	}
	executions(c, s);
	share_time(c, s, group);
}
