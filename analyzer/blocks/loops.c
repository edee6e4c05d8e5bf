// SPDX-License-Identifier: GPL-2.0-only
/* loops.c - headers by where branches back go, what enters them, and what an iteration takes. */
#include "blocks/loops.h"

#include <math.h>
#include <string.h>

#include "blocks/reach.h"
#include "blocks/solutions.h"

struct work {
	const struct vmp_set *set;
	const struct vmp_estimates *e;
	struct vmp_loops *out;
	struct vmp_places nexts, starts, landings;	/* units by next and by start; landings */
	struct vmp_groups *upto;	/* by number in landings: samples of all before it */
};

static const struct vmp_point *point(const struct work *w, uint32_t p)
{
	return &w->set->points.points.v[p];
}

/* By a jump within a function: not by a call, nor by a return or by what interrupts it */
static int jumps(const struct work *w, const struct vmp_unit *u)
{
	const struct vmp_point *from, *to;

	if (u->flaw || u->end == VMP_NONE || u->next == VMP_NONE)
		return 0;
	if (u->flow != VMP_FLOW_COND && u->flow != VMP_FLOW_JUMP && u->flow != VMP_FLOW_JUMP_IND)
		return 0;
	from = point(w, u->end);
	to = point(w, u->next);
	return from->object == to->object && from->object != VMP_NONE && !to->flaw && to->function == from->function;
}

static int goes_back(const struct work *w, const struct vmp_unit *u)
{
	return jumps(w, u) && point(w, u->next)->addr <= point(w, u->end)->addr;
}

/* Branches back from nexts.v[first] on, until before last, go to one header; those that it leads to again make its loop */
static int find_loop(struct work *w, struct vmp_reach *reach, uint32_t first, uint32_t last)
{
	const struct vmp_unit *units = w->set->units.v;
	const uint32_t header = units[w->nexts.v[first].number].next;
	struct vmp_loop l = { .header = header };
	int err = vmp_reach_from(reach, header);
	uint32_t i;

	for (i = first; !err && i < last; i++) {
		const struct vmp_unit *u = &units[w->nexts.v[i].number];

		if (!goes_back(w, u) || !vmp_reach_leads(reach, w->nexts.v[i].number))
			continue;
		l.seen += u->n;
		if (point(w, u->end)->addr > l.end)
			l.end = point(w, u->end)->addr;
	}
	return !err && l.seen ? vmp_vec_push(&w->out->list, l) : err;
}

static int find_loops(struct work *w)
{
	const struct vmp_unit *units = w->set->units.v;
	struct vmp_reach *reach;
	uint32_t i, first, back;
	int err = vmp_reach_create(&reach, w->set, &w->starts);

	if (err)
		return err;
	for (first = 0; !err && first < w->nexts.nr; first = i) {
		const struct vmp_placed *at = &w->nexts.v[first];

		for (back = 0, i = first; vmp_places_until(&w->nexts, i, at->object, at->addr + 1); i++)
			back |= (uint32_t)goes_back(w, &units[w->nexts.v[i].number]);
		if (back)
			err = find_loop(w, reach, first, i);
	}
	vmp_reach_destroy(reach);
	return err;
}

/* ------------------------------------------------------------------ levels */

/* By object, the outer before the inner */
static int by_place(const void *pa, const void *pb, void *arg)
{
	const struct vmp_loop *a = pa, *b = pb;
	const struct work *w = arg;
	const struct vmp_point *x = point(w, a->header), *y = point(w, b->header);

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

static int same_function(const struct work *w, const struct vmp_loop *a, const struct vmp_loop *b)
{
	const struct vmp_point *x = point(w, a->header), *y = point(w, b->header);

	return x->object == y->object && x->function == y->function;
}

static int by_address(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

/* Loops of one function by where they end; most[] is a Fenwick tree: levels + 1 of those that end up to there */
struct levels {
	uint64_t *end;
	uint32_t *most;
	uint32_t nr;
};

static uint32_t rank_of(const struct levels *t, uint64_t end)
{
	const uint64_t *e = bsearch(&end, t->end, t->nr, sizeof(end), by_address);

	while (e > t->end && e[-1] == end)
		e--;
	return (uint32_t)(e - t->end) + 1;
}

/* Those behind a loop that end before it does, or with it, lie in it */
static void level_of(struct levels *t, struct vmp_loop *l)
{
	uint32_t rank = rank_of(t, l->end), i;

	l->level = 0;
	for (i = rank; i; i -= i & -i)
		l->level = t->most[i] > l->level ? t->most[i] : l->level;
	for (i = rank; i <= t->nr; i += i & -i)
		t->most[i] = t->most[i] > l->level + 1 ? t->most[i] : l->level + 1;
}

static int find_levels(struct work *w)
{
	struct vmp_loop *v = w->out->list.v;
	uint32_t nr = w->out->list.nr, first, last, i;
	struct levels t = {
		.end = malloc(((size_t)nr + 1) * sizeof(*t.end)), .most = malloc(((size_t)nr + 1) * sizeof(*t.most)),
	};
	int err = t.end && t.most ? 0 : -ENOMEM;

	if (nr)
		qsort_r(v, nr, sizeof(*v), by_place, w);
	for (first = 0; !err && first < nr; first = last) {
		for (last = first; last < nr && same_function(w, &v[first], &v[last]); last++)
			t.end[last - first] = v[last].end;
		t.nr = last - first;
		qsort(t.end, t.nr, sizeof(*t.end), by_address);
		memset(t.most, 0, ((size_t)t.nr + 1) * sizeof(*t.most));
		for (i = last; i-- > first; )
			level_of(&t, &v[i]);
	}
	free(t.end);
	free(t.most);
	return err;
}

/* ----------------------------------------------------------------- figures */

/* How often some units ran.  [VMP_GROUPS]: of all; else without one group, here and below */
struct ways {
	double runs[VMP_GROUPS + 1];
	struct vmp_chance variance;
	uint64_t seen;		/* in windows */
};

struct figures {
	struct ways top, middle, back;	/* entries at the header, and behind it; branches back */
	double samples[VMP_GROUPS + 1];
	double period;
};

static int inside(const struct work *w, const struct vmp_loop *l, uint32_t p)
{
	const struct vmp_point *h = point(w, l->header), *x;

	if (p == VMP_NONE)
		return 0;
	x = point(w, p);
	return x->object == h->object && x->addr >= h->addr && x->addr <= l->end;
}

static void add_runs(const struct work *w, struct ways *to, uint32_t unit)
{
	int g;

	to->seen += w->set->units.v[unit].n;
	to->variance.windows += w->e->unit_chance[unit].windows;
	to->variance.samples += w->e->unit_chance[unit].samples;
	to->runs[VMP_GROUPS] += w->e->unit[unit];
	for (g = 0; g < VMP_GROUPS; g++)
		to->runs[g] += (double)w->e->unit_without[g][unit];
}

/* Samples of landings up to each, as they lie in memory */
static int sum_landings(struct work *w)
{
	uint32_t i;
	int g;

	w->upto = calloc((size_t)w->landings.nr + 1, sizeof(*w->upto));
	for (i = 0; w->upto && i < w->landings.nr; i++)
		for (g = 0; g < VMP_GROUPS; g++)
			w->upto[i + 1].n[g] = w->upto[i].n[g] + w->e->m->landings[w->landings.v[i].number].n[g];
	return w->upto ? 0 : -ENOMEM;
}

static int index_all(struct work *w)
{
	const struct vmp_points *points = &w->set->points;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->set->units.nr; i++) {
		const struct vmp_unit *u = &w->set->units.v[i];

		if (u->flaw || u->next == VMP_NONE)
			continue;
		err = vmp_places_add(&w->nexts, points, u->next, i);
		if (!err && u->block != VMP_NONE)
			err = vmp_places_add(&w->starts, points, u->start, i);
	}
	for (i = 0; !err && i < w->set->landings.nr; i++) {
		if (!w->set->landings.v[i].flaw)
			err = vmp_places_add_landing(&w->landings, w->set, i);
	}
	vmp_places_sort(&w->nexts);
	vmp_places_sort(&w->starts);
	vmp_places_sort(&w->landings);
	return err ? err : sum_landings(w);
}

static int is_kernel(const struct work *w, uint32_t p)
{
	const struct vmp_point *x = point(w, p);

	return x->object != VMP_NONE && w->set->points.objects.v[x->object].kernel;
}

int vmp_loops_behind_system_call(const struct vmp_set *set, const struct vmp_point *to)
{
	size_t len;
	const uint8_t *code = vmp_points_code(&set->points, to->object, to->addr - 2, &len);

	if (!code || len < 2)
		return 0;
	return code[0] == 0x0f ? code[1] == 0x05 || code[1] == 0x34 : code[0] == 0xcd && code[1] == 0x80;
}

/* An interrupt's way back to where code was interrupted: nothing begins there. Behind a system call code goes on so. */
static int resumes(const struct work *w, const struct vmp_unit *u)
{
	const struct vmp_point *to = point(w, u->next);

	if (u->flow != VMP_FLOW_SYSRET && !(u->end != VMP_NONE && is_kernel(w, u->end) && !is_kernel(w, u->next)))
		return 0;
	return !vmp_loops_behind_system_call(w->set, to);
}

static void count_entries(const struct work *w, const struct vmp_loop *l, struct figures *f)
{
	const struct vmp_point *h = point(w, l->header);
	uint64_t before = h->addr > VMP_STRAIGHT_BYTES ? h->addr - VMP_STRAIGHT_BYTES : 0;
	uint32_t i, n;
	int is_back;

	for (i = vmp_places_first(&w->nexts, h->object, h->addr);
	     vmp_places_until(&w->nexts, i, h->object, h->addr + 1); i++) {
		n = w->nexts.v[i].number;
		if (resumes(w, &w->set->units.v[n]))
			continue;
		is_back = inside(w, l, w->set->units.v[n].end);
		add_runs(w, is_back ? &f->back : &f->top, n);
	}
	/* straight code that runs into the header from before */
	for (i = vmp_places_first(&w->starts, h->object, before);
	     vmp_places_until(&w->starts, i, h->object, h->addr); i++) {
		n = w->starts.v[i].number;
		if (point(w, w->set->units.v[n].end)->addr >= h->addr)
			add_runs(w, &f->top, n);
	}
	/* jumps from before into the middle: `jmp test; body: ...; test: ...; jcc body` */
	for (i = vmp_places_first(&w->nexts, h->object, h->addr + 1);
	     vmp_places_until(&w->nexts, i, h->object, l->end + 1); i++) {
		n = w->nexts.v[i].number;
		if (jumps(w, &w->set->units.v[n]) && point(w, w->set->units.v[n].end)->addr < h->addr)
			add_runs(w, &f->middle, n);
	}
}

static void count_samples(const struct work *w, const struct vmp_loop *l, struct figures *f)
{
	const struct vmp_point *h = point(w, l->header);
	const struct vmp_groups *from = &w->upto[vmp_places_first(&w->landings, h->object, h->addr)];
	const uint64_t behind = vmp_set_behind(w->set, h->object, l->end);
	const struct vmp_groups *to = &w->upto[vmp_places_first(&w->landings, h->object, behind ? behind : l->end + 1)];
	int g;

	for (g = 0; g <= VMP_GROUPS; g++)
		f->samples[g] = vmp_groups_without(to, g) - vmp_groups_without(from, g);
}

/* Figures of a loop; @group: without one, VMP_GROUPS: of all */
static double entries(const struct figures *f, int group)
{
	return f->top.runs[group] + f->middle.runs[group];
}

static double iterations(const struct figures *f, int group)
{
	return f->top.runs[group] + f->back.runs[group];
}

static double trips(const struct figures *f, int group)
{
	double n = entries(f, group);

	return n > 0 ? iterations(f, group) / n : NAN;
}

static double cycles(const struct figures *f, int group)
{
	double n = iterations(f, group);

	return n > 0 ? f->samples[group] * f->period / n : NAN;
}

/* A figure of all, and its error by those without each group */
static double find(const struct figures *f, double (*figure)(const struct figures *f, int group), double *error)
{
	double all = figure(f, VMP_GROUPS), without[VMP_GROUPS];
	int g;

	for (g = 0; g < VMP_GROUPS; g++)
		without[g] = figure(f, g);
	*error = isnan(all) ? NAN : vmp_error_of(without);
	return all;
}

/*
 * As far as chance goes in what so many windows show: of few more than their root, since they are few by chance themselves (Gehrels,
 * Astrophysical Journal 303, 336, 1986, equation 7).  Windows stand for more or less; as many are meant as would vary so if each stood for the
 * same.  One more is added, of the kind that rare code has: those that were seen may stand for nothing, since no sample
 * of instructions says for what.  What was never seen need not be there.
 */
static double chance(const struct work *w, const struct ways *of)
{
	const double runs = of->runs[VMP_GROUPS], window = w->e->window;
	const double one = window > 0 ? (of->variance.windows + window * window) / (runs + window) : 0;

	return of->seen && one > 0 ? one * (1 + sqrt(runs / one + 0.75)) : 0;
}

static void at_least(double *error, double least)
{
	if (!isnan(*error) && *error < least)
		*error = least;
}

/* The error of trips whose entries and branches back are off by so much each, without each other */
static double of_trips(const struct figures *f, double trips, double top, double back, double middle)
{
	const double in = entries(f, VMP_GROUPS);

	return in > 0 ? hypot(back, hypot(top * (1 - trips), middle * trips)) / in : 0;
}

/*
 * Groups can agree by chance, the more so where they are a few windows: no figure is known better than it was seen often, and than the
 * samples of instructions say for how much that stands. Trips are top and back by entries; what is uncertain of their parts is so in
 * either, but what windows stand for mostly cancels.
 */
static void hold_chance(const struct work *w, const struct figures *f, struct vmp_loop *l)
{
	const double top = chance(w, &f->top), back = chance(w, &f->back), middle = chance(w, &f->middle);
	const double round = sqrt(top * top + back * back + f->top.variance.samples + f->back.variance.samples);

	at_least(&l->entries_error, sqrt(top * top + middle * middle + f->top.variance.samples + f->middle.variance.samples));
	at_least(&l->iterations_error, round);
	at_least(&l->trips_error, of_trips(f, l->trips, top, back, middle));
	at_least(&l->cycles_error, l->cycles * round / l->iterations);
}

/*
 * What is in doubt of a loop's iterations, and of their cycles, is so of the blocks that begin where it does.  Trips are a ratio, in which
 * what windows stand for cancels; but not where that is known by less than it is.
 */
static void doubt(const struct work *w, const struct figures *f, struct vmp_loop *l)
{
	double runs = 0, executions = 0, cycles = 0;
	uint32_t i;

	for (i = vmp_set_first_block(w->set, l->header); i < w->set->blocks.nr && w->set->blocks.v[i].start == l->header; i++) {
		const struct vmp_estimate *e = &w->e->block[i];

		if (isnan(e->executions))
			continue;
		runs += e->executions;
		executions += e->executions * e->executions_doubt;
		cycles += e->executions * e->doubt;
	}
	if (!(runs > 0))
		return;
	executions /= runs;
	l->iterations_error = hypot(l->iterations_error, l->iterations * executions);
	l->entries_error = hypot(l->entries_error, l->entries * executions);
	if (executions > 1)
		l->trips_error = hypot(l->trips_error, executions * of_trips(f, l->trips, f->top.runs[VMP_GROUPS], f->back.runs[VMP_GROUPS],
									     f->middle.runs[VMP_GROUPS]));
	l->cycles_error = hypot(l->cycles_error, l->cycles * cycles / runs);
}

static void fill(const struct work *w, struct vmp_loop *l)
{
	struct figures f = { .period = w->e->period };

	l->entries = l->iterations = l->trips = l->cycles = NAN;
	l->entries_error = l->iterations_error = l->trips_error = l->cycles_error = NAN;
	if (!w->e->unit)
		return;
	count_entries(w, l, &f);
	count_samples(w, l, &f);
	l->samples = f.samples[VMP_GROUPS];
	l->entries = find(&f, entries, &l->entries_error);
	l->iterations = find(&f, iterations, &l->iterations_error);
	l->trips = find(&f, trips, &l->trips_error);
	/* all entries that windows show are of one group: of how many they stand for nobody knows the error */
	if (isnan(l->trips_error))
		l->trips = NAN;
	l->cycles = find(&f, cycles, &l->cycles_error);
	if (l->samples < VMP_FEW_SAMPLES && !isnan(l->cycles))
		l->cycles_error = fmax(l->cycles_error, vmp_few_error(l->samples, f.period, l->iterations));
	hold_chance(w, &f, l);
	doubt(w, &f, l);
}

int vmp_loops_create(struct vmp_loops **out, const struct vmp_set *set, const struct vmp_estimates *e)
{
	struct work w = { .set = set, .e = e };
	uint32_t i;
	int err;

	w.out = calloc(1, sizeof(*w.out));
	if (!w.out)
		return -ENOMEM;
	err = index_all(&w);
	if (!err)
		err = find_loops(&w);
	if (!err)
		err = find_levels(&w);
	if (!err) {
		for (i = 0; i < w.out->list.nr; i++)
			fill(&w, &w.out->list.v[i]);
		*out = w.out;
	} else {
		vmp_loops_destroy(w.out);
	}
	vmp_vec_free(&w.nexts);
	vmp_vec_free(&w.starts);
	vmp_vec_free(&w.landings);
	free(w.upto);
	return err;
}

void vmp_loops_destroy(struct vmp_loops *l)
{
	if (!l)
		return;
	vmp_vec_free(&l->list);
	free(l);
}
