// SPDX-License-Identifier: GPL-2.0-only
/* chain.c - what does not change is looked up once; a solution's loops run through arrays. */
#include "blocks/chain.h"

#include <math.h>
#include <string.h>

#include "blocks/classes.h"
#include "util/parallel.h"

#define SWEEPS		1000
#define SWEEPS_MIN	20
#define WORK		30000000U	/* pairs to be looked at for one solution */
#define CLOSE		1e-7
#define BYTES_PER_INSN	4.2		/* of x86 code that is not here, for the scale only */

/* ------------------------------------------------------------------- chain */

static double guess_insns(const struct vmp_set *set, const struct vmp_block_code *b)
{
	double bytes = (double)(set->points.points.v[b->end].addr - set->points.points.v[b->start].addr);

	return 1 + bytes / BYTES_PER_INSN;
}

/* Of pairs from @i until before @to */
static void load_pairs(void *arg, uint32_t i, uint32_t to)
{
	const struct vmp_chain *c = arg;
	const struct vmp_set *set = c->m->set;

	for (; i < to; i++) {
		const struct vmp_pair *p = &c->m->pairs.v[i];
		const struct vmp_unit *u = &set->units.v[p->unit];
		const struct vmp_block_code *b = &set->blocks.v[u->block];
		int g;

		for (g = 0; g < VMP_GROUPS; g++)
			c->steps[i] += p->n[g];
		c->to[i] = c->m->row_of[u->start];
		c->guessed[i] = !b->insns;
		c->insns[i] = b->insns ? b->insns : guess_insns(set, b);
	}
}

static void find_targets(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t i;

	vmp_parallel_ranges(m->pairs.nr, vmp_scan_threads(), load_pairs, c);
	for (i = 0; i < m->pairs.nr; i++)
		c->first[m->pairs.v[i].row + 1]++;
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

		c->stays[i] = c->by_instructions || inside || c->to[i] == VMP_NONE;
		if (inside)
			c->in_first[c->to[i] + 1]++;
	}
	for (r = 0; r < m->rows; r++) {
		c->in_first[r + 1] += c->in_first[r];
		at[r] = c->in_first[r];
	}
	for (i = 0; i < m->pairs.nr; i++) {
		if (c->to[i] == VMP_NONE || c->class_of[c->to[i]] != c->class_of[m->pairs.v[i].row])
			continue;
		k = at[c->to[i]]++;
		c->in_pair[k] = i;
		c->source[k] = m->pairs.v[i].row;
	}
	free(at);
	return 0;
}

/* First block of each start, and what was seen of it from each on */
static void list_blocks(struct vmp_chain *c)
{
	const struct vmp_set *set = c->m->set;
	uint32_t i;

	memset(c->first_block, 0xff, ((size_t)set->points.points.nr + 1) * sizeof(*c->first_block));
	for (i = set->blocks.nr; i--; ) {
		const int is_last = i + 1 == set->blocks.nr || set->blocks.v[i + 1].start != set->blocks.v[i].start;

		c->first_block[set->blocks.v[i].start] = i;
		c->seen[i] = set->blocks.v[i].n + (is_last ? 0 : c->seen[i + 1]);
	}
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
	c->guessed = calloc(pairs, sizeof(*c->guessed));
	c->steps = calloc(pairs, sizeof(*c->steps));
	c->in_first = calloc(rows, sizeof(*c->in_first));
	c->in_pair = calloc(pairs, sizeof(*c->in_pair));
	c->source = calloc(pairs, sizeof(*c->source));
	c->first_block = malloc(((size_t)m->set->points.points.nr + 1) * sizeof(*c->first_block));
	c->seen = malloc(((size_t)m->set->blocks.nr + 1) * sizeof(*c->seen));
	if (!c->class_of || !c->first || !c->to || !c->stays || !c->insns || !c->guessed || !c->steps || !c->in_first ||
	    !c->in_pair || !c->source || !c->first_block || !c->seen)
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
	free(c->guessed);
	free(c->steps);
	free(c->in_first);
	free(c->in_pair);
	free(c->source);
	free(c->first_block);
	free(c->seen);
}

/* ---------------------------------------------------------------- solutions */

int vmp_solutions_init(struct vmp_solutions *s, const struct vmp_chain *c, unsigned int first, unsigned int lanes)
{
	size_t rows = ((size_t)c->m->rows + 1) * lanes, pairs = ((size_t)c->m->pairs.nr + 1) * lanes;
	size_t blocks = ((size_t)c->m->set->blocks.nr + 1) * lanes, i;

	*s = (struct vmp_solutions){ .first = first, .lanes = lanes };
	s->part = calloc(pairs, sizeof(*s->part));
	s->samples = calloc(rows, sizeof(*s->samples));
	s->weight = calloc(rows, sizeof(*s->weight));
	s->keeps = calloc(rows, sizeof(*s->keeps));
	s->x = calloc(rows, sizeof(*s->x));
	s->cut_cycles = calloc(rows, sizeof(*s->cut_cycles));
	s->cut_insns = calloc(rows, sizeof(*s->cut_insns));
	s->shown = calloc(rows, sizeof(*s->shown));
	s->missing = calloc(rows, sizeof(*s->missing));
	s->windows = calloc(rows, sizeof(*s->windows));
	s->scale = calloc(2 * ((size_t)c->classes + 1) * lanes, sizeof(*s->scale));
	s->unit = calloc(((size_t)c->m->set->units.nr + 1) * lanes, sizeof(*s->unit));
	s->block = calloc(blocks, sizeof(*s->block));
	s->time = calloc(blocks, sizeof(*s->time));
	s->left = calloc(blocks, sizeof(*s->left));
	s->by_runs = calloc(blocks, sizeof(*s->by_runs));
	s->by_sight = calloc(blocks, sizeof(*s->by_sight));
	if (!s->part || !s->samples || !s->weight || !s->keeps || !s->x || !s->cut_cycles || !s->cut_insns || !s->shown || !s->missing ||
	    !s->windows || !s->scale || !s->unit || !s->block || !s->time || !s->left || !s->by_runs || !s->by_sight)
		return -ENOMEM;
	for (i = 0; i < rows; i++)
		s->x[i] = 1;
	return 0;
}

void vmp_solutions_deinit(struct vmp_solutions *s)
{
	free(s->part);
	free(s->samples);
	free(s->weight);
	free(s->keeps);
	free(s->x);
	free(s->cut_cycles);
	free(s->cut_insns);
	free(s->shown);
	free(s->missing);
	free(s->windows);
	free(s->scale);
	free(s->unit);
	free(s->block);
	free(s->time);
	free(s->left);
	free(s->by_runs);
	free(s->by_sight);
}

/*
 * All below is compiled once for each number of lanes: what is looked up for one lane
 * serves the others, and their sums do not wait for each other.
 */
#define LANES	static inline __attribute__((always_inline))

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

/* Executions of a pair's unit that its row's windows show */
LANES void shown(const struct vmp_chain *c, const struct vmp_solutions *s, unsigned int lanes, uint32_t pair, double out[])
{
	size_t at = (size_t)c->m->pairs.v[pair].row * lanes;
	unsigned int l;

	steps(c, s, lanes, pair, out);
	for (l = 0; l < lanes; l++)
		out[l] = s->weight[at + l] > 0 ? s->x[at + l] * out[l] / s->weight[at + l] : 0;
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
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *land = &set->landings.v[i];
		const struct vmp_common *common = &c->m->common[land->start];

		row = land->flaw || !common->insns ? VMP_NONE : c->m->row_of[land->start];
		if (row == VMP_NONE || !vmp_measure_is_common(c->m, land))
			continue;
		without(s, lanes, c->m->seconds[i].n, n);
		for (l = 0; l < lanes; l++)
			s->x[(size_t)row * lanes + l] += n[l] * period / common->insns;
	}
}

/* What rows' windows show of each unit */
LANES void executions(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	double n[VMP_LANES];
	unsigned int l;
	uint32_t i;

	memset(s->unit, 0, (size_t)set->units.nr * lanes * sizeof(*s->unit));
	for (i = 0; i < c->m->pairs.nr; i++) {
		const struct vmp_pair *p = &c->m->pairs.v[i];

		if (!c->stays[i])
			continue;
		shown(c, s, lanes, i, n);
		for (l = 0; l < lanes; l++)
			if (s->x[(size_t)p->row * lanes + l] > 0)
				s->unit[(size_t)p->unit * lanes + l] += n[l];
	}
}

LANES void sum_blocks(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
{
	const struct vmp_set *set = c->m->set;
	unsigned int l;
	uint32_t i;

	memset(s->block, 0, (size_t)set->blocks.nr * lanes * sizeof(*s->block));
	for (i = 0; i < set->units.nr; i++)
		for (l = 0; set->units.v[i].block != VMP_NONE && l < lanes; l++)
			s->block[(size_t)set->units.v[i].block * lanes + l] += s->unit[(size_t)i * lanes + l];
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
		const struct vmp_landing *land = &set->landings.v[i];

		if (land->flaw || land->ended)
			continue;
		b = vmp_set_landing_block(set, land, c->first_block[land->start]);
		if (b >= set->blocks.nr || set->blocks.v[b].start != land->start || !(c->seen[b] > 0))
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

		if (land->flaw || !land->ended)
			continue;
		without(s, lanes, landings[i].n, n);
		first = vmp_set_landing_block(set, land, c->first_block[land->start]);
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

void vmp_chain_share(const struct vmp_chain *c, struct vmp_solutions *s, const struct vmp_groups *landings, double *time)
{
	if (s->lanes == 1)
		share(c, s, 1, landings, time);
	else
		share(c, s, VMP_LANES, landings, time);
}

/* ------------------------------------------------------------------- cuts */

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
LANES void mend_cuts(const struct vmp_chain *c, struct vmp_solutions *s, unsigned int lanes)
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
	sum_blocks(c, s, lanes);
	share(c, s, lanes, c->m->landings, s->time);
	if (c->by_instructions) {
		find_cuts(c, s, lanes);
		find_missing(c, s, lanes);
		mend_cuts(c, s, lanes);
		sum_blocks(c, s, lanes);
		share(c, s, lanes, c->m->landings, s->time);
	}
}

void vmp_chain_solve(const struct vmp_chain *c, struct vmp_solutions *s)
{
	if (s->lanes == 1)
		solve(c, s, 1);
	else
		solve(c, s, VMP_LANES);
}
