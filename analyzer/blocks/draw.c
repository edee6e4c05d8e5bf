// SPDX-License-Identifier: GPL-2.0-only
/* draw.c - each address becomes a point once; points and raws are put in order, whatever threads did. */
#include "blocks/draw.h"

#include "blocks/bounds.h"

#define AHEAD	8U	/* raws that are fetched while one is looked at */
#define FEW	16U	/* are put in order one by one */

/* What is known of a point at which steps end: does it branch? */
enum end { END_NOT, END_UNSEEN, END_BRANCHES, END_DOES_NOT };

int vmp_in_parts(struct vmp_drawing *w, uint32_t nr, void *(*fn)(void *part))
{
	unsigned int threads = vmp_scan_threads(), i;
	struct vmp_part part[VMP_PARALLEL_MAX];
	void *args[VMP_PARALLEL_MAX];
	int err = 0;

	for (i = 0; i < threads; i++) {
		part[i] = (struct vmp_part){ w, (uint32_t)((uint64_t)nr * i / threads), (uint32_t)((uint64_t)nr * (i + 1) / threads) };
		args[i] = &part[i];
	}
	vmp_parallel(fn, args, threads);
	for (i = 0; i < threads; i++)
		err = err ? err : part[i].err;
	return err;
}

/* ----------------------------------------------------------------- points */

static int note(struct vmp_set *set, uint32_t context, uint64_t addr, uint32_t *out)
{
	*out = VMP_NONE;
	return addr ? vmp_points_note(&set->points, context, addr, out) : 0;
}

/* Numbers of addresses are put where those of their points will be */
static int note_raw(struct vmp_drawing *w, uint32_t i, struct vmp_drawn *d)
{
	const struct vmp_raw *raw = vmp_raws_at(&w->set->raws, i);
	int err = note(w->set, raw->context, raw->a, &d->start);

	if (!err)
		err = note(w->set, raw->context, raw->b, &d->end);
	if (!err)
		err = note(w->set, raw->context_c, raw->kind == VMP_RAW_STEP ? raw->c : 0, &d->next);
	d->raw = i;
	return err;
}

static void fetch_raw(const struct vmp_drawing *w, uint32_t i)
{
	const struct vmp_raw *raw;

	if (i >= w->set->raws.nr)
		return;
	raw = vmp_raws_at(&w->set->raws, i);
	vmp_points_fetch(&w->set->points, raw->context, raw->a);
	vmp_points_fetch(&w->set->points, raw->context, raw->b);
	vmp_points_fetch(&w->set->points, raw->context_c, raw->c);
}

static int note_all(struct vmp_drawing *w, enum vmp_raw_kind kind)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->set->raws.nr; i++) {
		fetch_raw(w, i + AHEAD);
		if (vmp_raws_at(&w->set->raws, i)->kind == kind)
			err = note_raw(w, i, &w->v[w->nr++]);
	}
	return err;
}

static void take_point(const struct vmp_points *p, uint32_t *number)
{
	if (*number != VMP_NONE)
		*number = p->addresses.v[*number].point;
}

static void *see_ends(void *arg)
{
	struct vmp_part *part = arg;
	uint8_t *ends = part->w->found;
	struct vmp_stepper step;
	uint32_t i;

	part->err = vmp_stepper_init(&step, &part->w->set->points);
	for (i = part->from; !part->err && i < part->to; i++)
		if (ends[i] == END_UNSEEN)
			ends[i] = vmp_step_flow(&step, i) == VMP_FLOW_ON ? END_DOES_NOT : END_BRANCHES;
	vmp_stepper_deinit(&step);
	return NULL;
}

/* Each step ends with the branch itself, whatever the processor named */
static int find_branches(struct vmp_drawing *w)
{
	struct vmp_set *set = w->set;
	uint8_t *ends = calloc((size_t)set->points.points.nr + 1, 1);
	uint64_t bytes;
	uint32_t i;
	int err;

	if (!ends)
		return -ENOMEM;
	for (i = 0; i < w->steps; i++)
		if (w->v[i].end != VMP_NONE && w->v[i].next != VMP_NONE)
			ends[w->v[i].end] = END_UNSEEN;
	w->found = ends;
	err = vmp_in_parts(w, set->points.points.nr, see_ends);
	for (i = 0; !err && i < w->steps; i++) {
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

static int sort_points(struct vmp_drawing *w)
{
	uint32_t *place = malloc(((size_t)w->set->points.points.nr + 1) * sizeof(*place)), i;
	int err = place ? vmp_points_sort(&w->set->points, place) : -ENOMEM;

	for (i = 0; !err && i < w->nr; i++) {
		struct vmp_drawn *d = &w->v[i];

		d->start = d->start == VMP_NONE ? VMP_NONE : place[d->start];
		d->end = d->end == VMP_NONE ? VMP_NONE : place[d->end];
		d->next = d->next == VMP_NONE ? VMP_NONE : place[d->next];
	}
	free(place);
	return err;
}

static int make_points(struct vmp_drawing *w)
{
	uint32_t i;
	int err = note_all(w, VMP_RAW_STEP);

	w->steps = w->nr;
	if (!err)
		err = note_all(w, VMP_RAW_LANDING);
	if (!err)
		err = vmp_points_resolve(&w->set->points);
	for (i = 0; !err && i < w->nr; i++) {
		take_point(&w->set->points, &w->v[i].start);
		take_point(&w->set->points, &w->v[i].end);
		take_point(&w->set->points, &w->v[i].next);
	}
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

/* By start in one go, for that is a number of a point; then those of one start, which are few */
static int sort(const struct vmp_drawing *w, struct vmp_drawn *sorted, uint32_t from, uint32_t nr)
{
	uint32_t points = w->set->points.points.nr, i, k, end;
	uint32_t *at = calloc((size_t)points + 2, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (i = from; i < from + nr; i++)
		at[(w->v[i].start == VMP_NONE ? points : w->v[i].start) + 1]++;
	for (k = 0; k <= points; k++)
		at[k + 1] += at[k];
	for (i = from; i < from + nr; i++)
		sorted[from + at[w->v[i].start == VMP_NONE ? points : w->v[i].start]++] = w->v[i];
	for (i = from; i < from + nr; i = end) {
		end = from + at[sorted[i].start == VMP_NONE ? points : sorted[i].start];
		sort_few(&sorted[i], end - i);
	}
	free(at);
	return 0;
}

int vmp_draw(struct vmp_drawing *w, struct vmp_set *set)
{
	size_t bytes = ((size_t)set->raws.nr + 1) * sizeof(*w->v);
	struct vmp_drawn *sorted = malloc(bytes);
	int err = -ENOMEM;

	*w = (struct vmp_drawing){ .set = set, .v = malloc(bytes) };
	if (w->v && sorted)
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
