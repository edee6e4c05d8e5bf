// SPDX-License-Identifier: GPL-2.0-only
/* draw.c - each address becomes a point once; points and raws are put in order, whatever threads did. */
#include "blocks/draw.h"

#include <string.h>

#include "blocks/bounds.h"
#include "util/big.h"

#define FEW	16U	/* are put in order one by one */
#define TWICE	65536U	/* raws from which on several threads put them in order */

/* What is known of a point at which steps end: does it branch? */
enum end { END_NOT, END_UNSEEN, END_BRANCHES, END_DOES_NOT };

int vmp_draw_together(struct vmp_drawing *w, uint32_t nr, void *(*fn)(void *drawer))
{
	unsigned int threads = vmp_scan_threads(), i;
	struct vmp_drawer drawer[VMP_PARALLEL_MAX];
	struct vmp_ranges left = { .nr = nr };
	void *args[VMP_PARALLEL_MAX];
	int err = 0;

	for (i = 0; i < threads; i++) {
		drawer[i] = (struct vmp_drawer){ w, &left, 0 };
		args[i] = &drawer[i];
	}
	vmp_parallel(fn, args, threads);
	for (i = 0; i < threads; i++)
		err = err ? err : drawer[i].err;
	return err;
}

/* ----------------------------------------------------------------- points */

#define TOGETHER	(VMP_POINTS_TOGETHER / 3)	/* raws */

/* Numbers of addresses are put where those of their points will be */
static int note_some(struct vmp_drawing *w, uint32_t first, uint32_t nr)
{
	struct vmp_raw_address of[3 * TOGETHER] = { { 0 } };
	uint32_t number[3 * TOGETHER], i;
	int err;

	for (i = 0; i < nr; i++) {
		const struct vmp_raw *raw = vmp_raws_at(&w->set->raws, first + i);

		of[3 * i] = (struct vmp_raw_address){ .addr = raw->a, .context = raw->context };
		of[3 * i + 1] = (struct vmp_raw_address){ .addr = raw->b, .context = raw->context };
		of[3 * i + 2] = (struct vmp_raw_address){ .addr = raw->kind == VMP_RAW_LANDING ? 0 : raw->c, .context = raw->context_c };
	}
	err = vmp_points_note(&w->set->points, of, 3 * nr, number);
	for (i = 0; !err && i < nr; i++) {
		int step = vmp_raws_at(&w->set->raws, first + i)->kind == VMP_RAW_STEP;

		w->nr++;
		w->v[step ? w->steps++ : w->room - (w->nr - w->steps)] =
			(struct vmp_drawn){ number[3 * i], number[3 * i + 1], number[3 * i + 2], first + i };
	}
	return err;
}

int vmp_draw_note(struct vmp_drawing *w, uint32_t nr)
{
	const uint32_t end = w->nr + nr;
	int err = 0;

	while (!err && w->nr < end)
		err = note_some(w, w->nr, end - w->nr < TOGETHER ? end - w->nr : TOGETHER);
	return err;
}

static uint32_t point_of(const struct vmp_points *p, uint32_t number)
{
	return number == VMP_NONE ? VMP_NONE : p->addresses.v[number].point;
}

static void take_points(void *arg, uint32_t i, uint32_t to)
{
	const struct vmp_drawing *w = arg;
	const struct vmp_points *p = &w->set->points;

	for (; i < to; i++) {
		struct vmp_drawn *d = &w->v[i];

		*d = (struct vmp_drawn){ point_of(p, d->start), point_of(p, d->end), point_of(p, d->next), d->raw };
	}
}

static void *see_ends(void *arg)
{
	struct vmp_drawer *me = arg;
	uint8_t *ends = me->w->found;
	struct vmp_stepper step;
	uint32_t i, to;

	me->err = vmp_stepper_init(&step, &me->w->set->points);
	while (!me->err && vmp_ranges_take(me->left, &i, &to))
		for (; i < to; i++)
			if (ends[i] == END_UNSEEN)
				ends[i] = vmp_step_flow(&step, i) == VMP_FLOW_ON ? END_DOES_NOT : END_BRANCHES;
	vmp_stepper_deinit(&step);
	return NULL;
}

/* Each step, and what was taken behind it, ends with the branch itself, whatever the processor named */
static int find_branches(struct vmp_drawing *w)
{
	struct vmp_set *set = w->set;
	uint8_t *ends = vmp_big_zeroed((size_t)set->points.points.nr + 1, 1);
	uint64_t bytes;
	uint32_t i;
	int err;

	if (!ends)
		return -ENOMEM;
	for (i = 0; i < w->nr; i++)
		if (w->v[i].end != VMP_NONE && w->v[i].next != VMP_NONE)
			ends[w->v[i].end] = END_UNSEEN;
	w->found = ends;
	err = vmp_draw_together(w, set->points.points.nr, see_ends);
	for (i = 0; !err && i < w->nr; i++) {
		struct vmp_drawn *d = &w->v[i];

		if (d->end == VMP_NONE || d->next == VMP_NONE || ends[d->end] != END_DOES_NOT)
			continue;
		bytes = vmp_step_branch(&set->stepper, d->end, d->next);
		if (bytes)
			err = vmp_points_behind(&set->points, d->end, bytes, &d->end);
	}
	free(ends);
	return err;
}

static uint32_t place_of(const uint32_t *place, uint32_t point)
{
	return point == VMP_NONE ? VMP_NONE : place[point];
}

static void take_places(void *arg, uint32_t i, uint32_t to)
{
	const struct vmp_drawing *w = arg;
	const uint32_t *place = w->found;

	for (; i < to; i++) {
		struct vmp_drawn *d = &w->v[i];

		*d = (struct vmp_drawn){ place_of(place, d->start), place_of(place, d->end), place_of(place, d->next), d->raw };
	}
}

static int sort_points(struct vmp_drawing *w)
{
	uint32_t *place = vmp_big_alloc(((size_t)w->set->points.points.nr + 1) * sizeof(*place));
	int err = place ? vmp_points_sort(&w->set->points, place) : -ENOMEM;

	w->found = place;
	if (!err)
		vmp_parallel_ranges(w->nr, vmp_scan_threads(), take_places, w);
	free(place);
	return err;
}

static int make_points(struct vmp_drawing *w)
{
	int err = vmp_points_resolve(&w->set->points);

	if (!err)
		vmp_parallel_ranges(w->nr, vmp_scan_threads(), take_points, w);
	if (!err)
		err = find_branches(w);
	if (!err)
		err = sort_points(w);
	return err ? err : vmp_bounds_mark(w);
}

/* ------------------------------------------------------------------ order */

int vmp_by_points(const void *pa, const void *pb)
{
	const struct vmp_drawn *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->next < b->next ? -1 : a->next > b->next;
}

/* Of one start there are mostly few */
static void sort_few(struct vmp_drawn *v, uint32_t nr)
{
	struct vmp_drawn x;
	uint32_t i, k;

	if (nr > FEW) {
		qsort(v, nr, sizeof(*v), vmp_by_points);
		return;
	}
	for (i = 1; i < nr; i++) {
		x = v[i];
		for (k = i; k && vmp_by_points(&v[k - 1], &x) > 0; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Raws that are put in order by their starts */
struct starts {
	const struct vmp_drawn *from;
	uint32_t nr;
	struct vmp_drawn *to;
	uint32_t *at;		/* by start: where the next one goes, in the end where those of the next start begin */
	uint32_t points;
};

static uint32_t start_of(const struct starts *s, uint32_t i)
{
	return s->from[i].start == VMP_NONE ? s->points : s->from[i].start;
}

/* A thread has all raws of some starts */
struct placing {
	const struct starts *s;
	uint32_t first, end;
};

static void *place(void *arg)
{
	const struct placing *p = arg;
	const struct starts *s = p->s;
	uint32_t i, start;

	for (i = 0; i < s->nr; i++) {
		start = start_of(s, i);
		if (start >= p->first && start < p->end)
			s->to[s->at[start]++] = s->from[i];
	}
	return NULL;
}

/* Each thread gets starts of about as many raws */
static void place_all(const struct starts *s)
{
	unsigned int threads = s->nr < TWICE ? 1 : vmp_scan_threads(), k;
	struct placing p[VMP_PARALLEL_MAX];
	void *args[VMP_PARALLEL_MAX];
	uint32_t start = 0;

	for (k = 0; k < threads; k++) {
		p[k] = (struct placing){ .s = s, .first = start };
		while (start <= s->points && (k + 1 == threads || s->at[start] < (uint64_t)s->nr * (k + 1) / threads))
			start++;
		p[k].end = start;
		args[k] = &p[k];
	}
	vmp_parallel(place, args, threads);
}

static void sort_starts(void *arg, uint32_t i, uint32_t to)
{
	const struct starts *s = arg;

	for (; i < to; i++) {
		uint32_t from = i ? s->at[i - 1] : 0;

		sort_few(s->to + from, s->at[i] - from);
	}
}

/* By start in one go, for that is a number of a point; then those of one start, which are few */
static int sort(const struct vmp_drawing *w, struct vmp_drawn *sorted, uint32_t from, uint32_t nr)
{
	struct starts s = { w->v + from, nr, sorted + from, NULL, w->set->points.points.nr };
	uint32_t i;

	s.at = vmp_big_zeroed((size_t)s.points + 2, sizeof(*s.at));
	if (!s.at)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		s.at[start_of(&s, i) + 1]++;
	for (i = 0; i <= s.points; i++)
		s.at[i + 1] += s.at[i];
	place_all(&s);
	vmp_parallel_ranges(s.points + 1, vmp_scan_threads(), sort_starts, &s);
	free(s.at);
	return 0;
}

int vmp_draw_begin(struct vmp_drawing *w, struct vmp_set *set, uint32_t most)
{
	*w = (struct vmp_drawing){ .set = set, .v = vmp_big_alloc(((size_t)most + 1) * sizeof(*w->v)), .room = most };
	return w->v ? 0 : -ENOMEM;
}

int vmp_draw(struct vmp_drawing *w)
{
	struct vmp_drawn *sorted = vmp_big_alloc(((size_t)w->nr + 1) * sizeof(*sorted));
	const uint32_t landings = w->nr - w->steps;
	int err = -ENOMEM;

	memmove(w->v + w->steps, w->v + w->room - landings, landings * sizeof(*w->v));
	if (sorted)
		err = make_points(w);
	if (!err)
		err = sort(w, sorted, 0, w->steps);
	if (!err)
		err = sort(w, sorted, w->steps, w->nr - w->steps);
	if (err) {
		free(sorted);
		return err;
	}
	free(w->v);
	w->v = sorted;
	return 0;
}
