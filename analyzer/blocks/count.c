// SPDX-License-Identifier: GPL-2.0-only
/* count.c - samples one by one, then the pairs of their rows; nothing here is in order of the file. */
#include "blocks/count.h"

#include <string.h>

#include "model/weigh.h"
#include "util/big.h"
#include "util/radix.h"

#define SHARED_UNIT	256U	/* weight of a sample in common code of one instruction */
#define AHEAD		4U	/* samples that are fetched while one is counted */
#define LINE_BYTES	64U
#define TOGETHER	16U	/* samples whose places are fetched before they are counted */

/* ---------------------------------------------------------------- samples */

static void add64(uint64_t *to, uint64_t n)
{
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static double cpi_of(const struct vmp_kept_sample *s)
{
	if (!s->timed || !s->insns || s->cycles / s->insns > 10000)
		return 0;
	return (double)s->cycles / (double)s->insns;
}

/* An interval belongs to a phase if it began and ended there */
static void add_phase(struct vmp_count *t, const struct vmp_kept_sample *s, uint32_t phase)
{
	struct vmp_phase *p = &t->m->phase.v[phase];

	add64(&p->all_cycles.n[s->group], s->cycles);
	add64(&p->all_insns.n[s->group], s->insns);
	if (t->phase == phase) {
		add64(&p->cycles.n[s->group], s->cycles);
		add64(&p->insns.n[s->group], s->insns);
	}
}

static void count_spread(struct vmp_count *t)
{
	while (t->runs)
		vmp_spread_count(&t->run[--t->runs]);
}

/* Equation 1: each step of a window has the CPI of its sample */
static void spread(struct vmp_count *t, const struct vmp_kept_sample *s, double cpi)
{
	const uint32_t *cycles = s->has_cycles ? s->step + s->nr : NULL;
	uint64_t fixed = (uint64_t)(cpi * VMP_CPI_ONE);
	struct vmp_spread_run run[VMPROF_LBR_MAX];	/* their places are fetched until the next sample is spread */
	uint32_t i, n = 0;

	for (i = 0; i < s->nr; i++) {
		uint32_t number = t->seen_as[s->step[i]].block;
		struct vmp_count_block *b = &t->block[number];
		double here;

		if (number == VMP_NONE)
			continue;
		b->cpi.n += cpi > 0;
		b->cpi.sum += fixed;
		here = cycles && cycles[i] ? cycles[i] : cpi * b->insns;
		if (!(here > 0) || b->spread == VMP_NONE)
			continue;
		run[n] = vmp_spread_run(&t->m->spreads, b->spread, here);
		__builtin_prefetch(run[n++].at, 1);
	}
	count_spread(t);
	memcpy(t->run, run, n * sizeof(*run));
	t->runs = n;
}

/* Of a sample in a block that had ended just then the first step is no window, but the sample itself */
static uint32_t is_ended(const struct vmp_count *t, const struct vmp_kept_sample *s)
{
	return s->landing == VMP_NONE ? 0 : t->m->set->landings.v[t->seen_as[s->landing].number].ended;
}

/* Windows of either event show how often mispredicted branches led to a block.  @first: step of the window */
static void count_parts(struct vmp_count *t, const struct vmp_kept_sample *s, uint32_t first)
{
	uint32_t i, part;

	for (i = first; i < s->nr; i++) {
		const struct vmp_seen_as *seen = &t->seen_as[s->step[i]];

		part = seen->block == VMP_NONE ? VMP_NONE : t->block[seen->block].part;
		if (part != VMP_NONE)
			__atomic_fetch_add(&t->m->parts[part].n[seen->missed][s->group], 1, __ATOMIC_RELAXED);
	}
}

/*
 * What a sample in the code that a start's blocks have in common weighs; elsewhere 0.  In a row
 * of several starts that is by the code's length, which is right for samples of instructions.
 */
static uint32_t weight_of(const struct vmp_count *t, const struct vmp_landing *l, int timed)
{
	const struct vmp_measure *m = t->m;
	const struct vmp_common *c = &m->common[l->start];

	if (!vmp_measure_is_common(m, l))
		return 0;
	if (!m->shared[m->row_of[l->start]])
		return 1;
	if (timed && t->paired)
		return 0;
	return c->insns && c->insns < SHARED_UNIT ? SHARED_UNIT / c->insns : 1;
}

/* Row of a sample, VMP_NONE: it is not known in which block it was taken */
static uint32_t land(struct vmp_count *t, const struct vmp_kept_sample *s, uint32_t *weight)
{
	const struct vmp_measure *m = t->m;
	const struct vmp_landing *l;
	struct vmp_groups *n;

	*weight = 0;
	if (s->landing == VMP_NONE)
		return VMP_NONE;
	l = &m->set->landings.v[t->seen_as[s->landing].number];
	if (l->flaw)
		return VMP_NONE;
	n = s->timed ? m->landings : m->seconds;
	add64(&n[l - m->set->landings.v].n[s->group], 1);
	if (s->timed && t->seen_as[s->landing].missed)
		add64(&m->missed[l - m->set->landings.v].n[s->group], 1);
	*weight = weight_of(t, l, s->timed);
	return m->row_of[l->start];
}

static int count_sample(struct vmp_count *t, const struct vmp_kept_sample *s, uint32_t at)
{
	struct vmp_count_hit hit = { .at = at };
	uint32_t phase = VMP_NONE, weight;
	double cpi = cpi_of(s);

	if (s->fresh)
		t->phase = VMP_NONE;
	hit.row = land(t, s, &weight);
	hit.weight = weight & INT32_MAX;
	hit.ended = is_ended(t, s);
	if (hit.row != VMP_NONE)
		phase = t->m->phase_of_row[hit.row];
	if (phase != VMP_NONE && cpi > 0)
		add_phase(t, s, phase);
	t->counts |= cpi > 0;
	count_parts(t, s, hit.ended);
	if (s->timed) {
		t->phase = phase;
		spread(t, s, cpi);
	}
	return hit.weight ? vmp_vec_push(&t->hits, hit) : 0;
}

/* ------------------------------------------------------------------ pairs */

static int by_row(const struct vmp_pair *a, const struct vmp_pair *b)
{
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

/* Pairs of one row in order of their units; those in @from are as they came */
static int sort_row(struct vmp_pairs *pairs, const struct vmp_pairs *from)
{
	struct vmp_radix *units = malloc(2 * (size_t)from->nr * sizeof(*units)), *sorted;
	uint32_t i;
	int err = units ? vmp_vec_reserve(pairs, from->nr) : -ENOMEM;

	for (i = 0; !err && i < from->nr; i++)
		units[i] = (struct vmp_radix){ from->v[i].unit, i };
	sorted = err ? NULL : vmp_radix_sort(units, units + from->nr, from->nr);
	for (i = 0; !err && i < from->nr; i++)
		pairs->v[pairs->nr++] = from->v[sorted[i].value];
	free(units);
	return err;
}

/* Pairs of one sample, among those of its row */
static int count_pairs(struct vmp_count *t, const struct vmp_kept_sample *s, const struct vmp_count_hit *h,
		       struct vmp_pairs *row)
{
	uint32_t i;

	for (i = h->ended; i < s->nr; i++) {
		const struct vmp_seen_as *seen = &t->seen_as[s->step[i]];
		struct vmp_pair new = { h->row, seen->number, { 0 }, 0 };
		uint32_t *place = &t->place[seen->number];

		if (seen->block == VMP_NONE)
			continue;
		if (!*place) {
			if (vmp_vec_push(row, new))
				return -ENOMEM;
			*place = row->nr;
		}
		row->v[*place - 1].n[s->group] += h->weight;
		row->v[*place - 1].far += i - h->ended >= VMP_NEAR ? h->weight : 0;
	}
	return 0;
}

static void count_window(struct vmp_cuts *c, const struct vmp_kept_sample *s, const struct vmp_count_hit *h)
{
	const uint32_t nr = s->nr > h->ended ? s->nr - h->ended : 0;
	const uint64_t steps = (uint64_t)h->weight * nr;

	c->windows.n[s->group] += h->weight;
	c->steps.n[s->group] += steps;
	c->squares += (uint64_t)h->weight * h->weight;
	c->cut.n[s->group] += s->cut ? h->weight : 0;
	c->cut_steps.n[s->group] += s->cut ? steps : 0;
	c->far += !s->cut && nr > VMP_NEAR ? (uint64_t)h->weight * (nr - VMP_NEAR) : 0;
}

static void add_cuts(struct vmp_cuts *to, const struct vmp_cuts *from)
{
	int g;

	for (g = 0; g < VMP_GROUPS; g++) {
		add64(&to->windows.n[g], from->windows.n[g]);
		add64(&to->steps.n[g], from->steps.n[g]);
		add64(&to->cut.n[g], from->cut.n[g]);
		add64(&to->cut_steps.n[g], from->cut_steps.n[g]);
	}
	add64(&to->far, from->far);
	add64(&to->squares, from->squares);
}

/* Those of all samples of a row, in order of their units.  @row: room for them */
static int count_row(struct vmp_count *t, const struct vmp_kept *kept, const struct vmp_count_hit *h, uint32_t nr,
		     struct vmp_pairs *row, struct vmp_pairs *pairs)
{
	struct vmp_cuts cuts = { 0 };
	uint32_t i;
	int err = 0;

	row->nr = 0;
	for (i = 0; !err && i < nr; i++) {
		if (i + AHEAD < nr) {
			__builtin_prefetch(&kept->words.v[h[i + AHEAD].at]);
			__builtin_prefetch((const char *)&kept->words.v[h[i + AHEAD].at] + LINE_BYTES);
		}
		count_window(&cuts, (const void *)&kept->words.v[h[i].at], &h[i]);
		err = count_pairs(t, (const void *)&kept->words.v[h[i].at], &h[i], row);
	}
	add_cuts(&t->m->cuts[h->row], &cuts);
	for (i = 0; i < row->nr; i++)
		t->place[row->v[i].unit] = 0;
	return err || !row->nr ? err : sort_row(pairs, row);
}

/* Hits in order of their rows: a row's end is where the next begins */
static int sort_hits(struct vmp_count *t, struct vmp_count_hit *sorted)
{
	uint32_t *at = calloc((size_t)t->m->rows + 1, sizeof(*at)), i;

	if (!at)
		return -ENOMEM;
	for (i = 0; i < t->hits.nr; i++)
		at[t->hits.v[i].row + 1]++;
	for (i = 0; i < t->m->rows; i++)
		at[i + 1] += at[i];
	for (i = 0; i < t->hits.nr; i++)
		sorted[at[t->hits.v[i].row]++] = t->hits.v[i];
	free(at);
	return 0;
}

/* Of both, each pair once; @more may be taken */
static int merge_pairs(struct vmp_pairs *to, struct vmp_pairs *more)
{
	struct vmp_pairs all = { 0 };
	uint32_t a = 0, b = 0;
	int g, d;

	if (!to->nr) {
		all = *to;
		*to = *more;
		*more = all;
		return 0;
	}
	if (vmp_vec_reserve(&all, to->nr) || vmp_vec_reserve(&all, to->nr + more->nr))
		return -ENOMEM;
	while (a < to->nr || b < more->nr) {
		struct vmp_pair *out = &all.v[all.nr++];

		d = a == to->nr ? 1 : b == more->nr ? -1 : by_row(&to->v[a], &more->v[b]);
		*out = d > 0 ? more->v[b] : to->v[a];
		for (g = 0; !d && g < VMP_GROUPS; g++)
			out->n[g] += more->v[b].n[g];
		out->far += d ? 0 : more->v[b].far;
		a += d <= 0;
		b += d >= 0;
	}
	vmp_vec_free(to);
	*to = all;
	return 0;
}

static int count_rows(struct vmp_count *t, const struct vmp_kept *kept)
{
	struct vmp_count_hit *sorted = vmp_big_alloc(((size_t)t->hits.nr + 1) * sizeof(*sorted));
	struct vmp_pairs pairs = { 0 }, row = { 0 };
	uint32_t i, end;
	int err = sorted ? sort_hits(t, sorted) : -ENOMEM;

	for (i = 0; !err && i < t->hits.nr; i = end) {
		for (end = i; end < t->hits.nr && sorted[end].row == sorted[i].row; end++)
			;
		err = count_row(t, kept, &sorted[i], end - i, &row, &pairs);
	}
	if (!err)
		err = merge_pairs(&t->pairs, &pairs);
	vmp_vec_free(&row);
	vmp_vec_free(&pairs);
	free(sorted);
	return err;
}

/* What samples point to lies anywhere: first what says where, then what is there */
static void fetch_places(const struct vmp_count *t, const struct vmp_kept_sample *s)
{
	uint32_t i;

	if (s->landing != VMP_NONE)
		__builtin_prefetch(&t->seen_as[s->landing]);
	for (i = 0; i < s->nr; i++)
		__builtin_prefetch(&t->seen_as[s->step[i]]);
}

static void fetch_counts(const struct vmp_count *t, const struct vmp_kept_sample *s)
{
	uint32_t i, number;

	if (s->landing != VMP_NONE) {
		number = t->seen_as[s->landing].number;
		__builtin_prefetch(&t->m->set->landings.v[number]);
		__builtin_prefetch(&(s->timed ? t->m->landings : t->m->seconds)[number].n[s->group], 1);
	}
	for (i = 0; i < s->nr; i++) {
		number = t->seen_as[s->step[i]].block;
		if (number != VMP_NONE)
			__builtin_prefetch(&t->block[number], 1);
	}
}

static void fetch_landing(const struct vmp_count *t, const struct vmp_kept_sample *s)
{
	const struct vmp_measure *m = t->m;
	const struct vmp_landing *l;
	uint32_t i, number;

	for (i = 0; i < s->nr; i++) {
		number = t->seen_as[s->step[i]].block;
		if (number != VMP_NONE && t->block[number].part != VMP_NONE)
			__builtin_prefetch(&m->parts[t->block[number].part], 1);
	}
	if (s->landing == VMP_NONE)
		return;
	l = &m->set->landings.v[t->seen_as[s->landing].number];
	__builtin_prefetch(&m->common[l->start]);
	__builtin_prefetch(&m->row_of[l->start]);
	__builtin_prefetch(&m->set->points.points.v[l->at].addr);
}

int vmp_count_kept(struct vmp_count *t, const struct vmp_kept *kept)
{
	const struct vmp_kept_sample *s[TOGETHER];
	uint32_t at = 0, here[TOGETHER], n, i;
	int err = 0;

	t->hits.nr = 0;
	do {
		for (n = 0; n < TOGETHER && (here[n] = at, s[n] = vmp_kept_next(kept, &at)); n++)
			fetch_places(t, s[n]);
		for (i = 0; i < n; i++)
			fetch_counts(t, s[i]);
		for (i = 0; i < n; i++)
			fetch_landing(t, s[i]);
		for (i = 0; !err && i < n; i++)
			err = count_sample(t, s[i], here[i]);
	} while (!err && n);
	count_spread(t);
	return err ? err : count_rows(t, kept);
}

/* ------------------------------------------------------------------- all */

/* By a thread's own numbers */
static int look_up(struct vmp_count *t, const struct vmp_set_kept *from)
{
	const struct vmp_seen_as *all = t->m->set->seen_as;
	uint32_t i;

	t->seen_as = t->own = vmp_big_alloc(((size_t)from->raw.nr + 1) * sizeof(*t->own));
	for (i = 0; t->own && i < from->raw.nr; i++)
		t->own[i] = all[from->raw.v[i]];
	return t->own ? 0 : -ENOMEM;
}

int vmp_count_init(struct vmp_count *t, struct vmp_measure *m, const struct vmp_set_kept *from)
{
	const struct vmp_set *set = m->set;
	uint32_t i;

	*t = (struct vmp_count){ .m = m, .phase = VMP_NONE, .paired = vmp_weigh_paired(set->m), .seen_as = set->seen_as };
	t->block = vmp_big_alloc(((size_t)set->blocks.nr + 1) * sizeof(*t->block));
	t->place = vmp_big_zeroed((size_t)set->units.nr + 1, sizeof(*t->place));
	if (!t->block || !t->place)
		return -ENOMEM;
	for (i = 0; i < set->blocks.nr; i++)
		t->block[i] = (struct vmp_count_block){
			.insns = set->blocks.v[i].insns, .spread = m->spreads.of[i], .part = m->part_of[i],
		};
	return from && from->raw.nr ? look_up(t, from) : 0;
}

int vmp_count_merge(struct vmp_measure *m, struct vmp_count *t)
{
	uint32_t i;

	m->counts |= t->counts;
	for (i = 0; i < m->set->blocks.nr; i++) {
		m->cpi[i].n += t->block[i].cpi.n;
		m->cpi[i].sum += t->block[i].cpi.sum;
	}
	return merge_pairs(&m->pairs, &t->pairs);
}

void vmp_count_deinit(struct vmp_count *t)
{
	free(t->own);
	free(t->block);
	free(t->place);
	vmp_vec_free(&t->hits);
	vmp_vec_free(&t->pairs);
}
