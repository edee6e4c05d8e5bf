// SPDX-License-Identifier: GPL-2.0-only
/* order.c - which of the finished rows stay, and in which order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/profile.h"
#include "report/render.h"
#include "util/radix.h"

struct work {
	const struct vmp_profile *p;
	const struct vmp_options *o;
	uint32_t *rank;		/* of strings */
};

struct sorting {
	const struct work *w;
	const struct vmp_domain *d;
};

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_numbers(const struct sorting *s, const struct vmp_sort *by, const struct vmp_row *a,
		       const struct vmp_row *b)
{
	enum vmp_column c = by->column;
	double x = 0, y = 0;
	int known_x = vmp_column_number(s->w->p, s->d, a, c, &x), known_y = vmp_column_number(s->w->p, s->d, b, c, &y);

	if (known_x != known_y)
		return known_x == by->up ? -1 : 1;	/* what is not known comes last either way */
	if (by->size) {
		x = fabs(x);
		y = fabs(y);
	}
	return x < y ? -1 : x > y;
}

/* The guest's threads by name, then vCPUs, then the host's threads */
static uint64_t thread_key(const struct work *w, const struct vmp_row *row)
{
	return row->thread ? w->rank[row->thread] : 1ULL << 32 | row->track;
}

static int cmp_column(const struct sorting *s, const struct vmp_sort *by, const struct vmp_row *a,
		      const struct vmp_row *b)
{
	enum vmp_column c = by->column;
	const struct work *w = s->w;
	uint32_t x, y;

	switch (c) {
	case VMP_COL_SAMPLES:
		return cmp_u64(a->samples, b->samples);
	case VMP_COL_THREAD:
		return cmp_u64(thread_key(w, a), thread_key(w, b));
	case VMP_COL_CGROUP:
		return cmp_u64(w->rank[a->cgroup], w->rank[b->cgroup]);
	case VMP_COL_SIDE:
		return cmp_u64(a->side, b->side);
	default:
		if (vmp_column_is_number(c))
			return cmp_numbers(s, by, a, b);
		x = vmp_column_string(w->p, s->d, a, c);
		y = vmp_column_string(w->p, s->d, b, c);
		return x == y ? 0 : cmp_u64(w->rank[x], w->rank[y]);
	}
}

static int cmp_rows(const struct sorting *s, const struct vmp_row *a, const struct vmp_row *b)
{
	static const struct vmp_sort last[] = {
		{ VMP_COL_FUNCTION }, { VMP_COL_MODULE }, { VMP_COL_PROCESS }, { VMP_COL_PID, 1 },
		{ VMP_COL_NSPID, 1 }, { VMP_COL_CGROUP }, { VMP_COL_THREAD }, { VMP_COL_EXIT }, { VMP_COL_BUILD_ID },
		{ VMP_COL_SIDE },
	};
	const struct vmp_options *o = s->w->o;
	int d = 0, i;

	for (i = 0; !d && i < o->nr_sort; i++) {
		d = cmp_column(s, &o->sort[i], a, b);
		d = o->sort[i].up ? d : -d;
	}
	if (!d)
		d = cmp_u64(b->samples, a->samples);
	for (i = 0; !d && i < (int)(sizeof(last) / sizeof(last[0])); i++)
		d = cmp_column(s, &last[i], a, b);
	return d;
}

static int by_samples(const struct vmp_options *o)
{
	return !o->nr_sort || (o->nr_sort == 1 && o->sort[0].column == VMP_COL_SAMPLES && !o->sort[0].up);
}

/* What nearly always decides, one after the other, where rows are sorted by their samples */
enum level { BY_SAMPLES, BY_FUNCTION, BY_PROCESS, BY_ALL };

static uint64_t level_key(const struct work *w, const struct vmp_row *row, enum level level)
{
	if (level == BY_SAMPLES)
		return UINT64_MAX - row->samples;
	if (level == BY_FUNCTION)
		return (uint64_t)w->rank[row->function] << 32 | w->rank[row->module];
	return w->rank[row->comm];
}

static int cmp_values(const void *pa, const void *pb, void *arg)
{
	const struct vmp_radix *a = pa, *b = pb;
	const struct sorting *s = arg;

	return cmp_rows(s, &s->d->rows.v[a->value], &s->d->rows.v[b->value]);
}

/*
 * Sort the @nr numbers of rows in the values of @v; @room is for as many again. A key that
 * is the same for all costs a look at it; the order of those with one key is that of the next level.
 */
static void sort_level(const struct sorting *s, struct vmp_radix *v, struct vmp_radix *room, uint64_t nr, enum level level)
{
	struct vmp_radix *sorted;
	uint64_t i, end;

	if (nr < 2)
		return;
	if (level == BY_ALL) {
		qsort_r(v, nr, sizeof(*v), cmp_values, (void *)s);
		return;
	}
	for (i = 0; i < nr; i++)
		v[i].key = level_key(s->w, &s->d->rows.v[v[i].value], level);
	sorted = vmp_radix_sort(v, room, nr);
	if (sorted != v)
		memcpy(v, sorted, nr * sizeof(*v));
	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && v[end].key == v[i].key; end++)
			;
		sort_level(s, &v[i], room, end - i, level + 1);
	}
}

/*
 * Put rows where @from says, along the cycles of the permutation: no second copy of them is needed.
 * The next one is fetched while one is moved.
 */
static void permute(struct vmp_domain *d, uint32_t *from)
{
	uint32_t i, to, next;

	for (i = 0; i < d->rows.nr; i++) {
		struct vmp_row row = d->rows.v[i];

		for (to = i; from[to] != i; to = next) {
			next = from[to];
			__builtin_prefetch(&d->rows.v[from[next]]);
			__builtin_prefetch((const char *)(&d->rows.v[from[next]] + 1) - 1);
			d->rows.v[to] = d->rows.v[next];
			from[to] = to;
		}
		d->rows.v[to] = row;
		from[to] = to;
	}
}

static int sort_rows(const struct work *w, struct vmp_domain *d)
{
	struct vmp_radix *v = malloc(2 * (size_t)d->rows.nr * sizeof(*v) + 1);
	uint32_t *from = malloc(d->rows.nr * sizeof(*from) + 1), i;
	const struct sorting s = { w, d };
	int err;

	for (i = 0; v && i < d->rows.nr; i++)
		v[i].value = i;
	if (v && from)
		sort_level(&s, v, v + d->rows.nr, d->rows.nr, by_samples(w->o) ? BY_SAMPLES : BY_ALL);
	for (i = 0; v && from && i < d->rows.nr; i++)
		from[i] = (uint32_t)v[i].value;
	err = v && from ? 0 : -ENOMEM;
	free(v);
	if (!err)
		permute(d, from);
	free(from);
	return err;
}

/* Rows that the filter's measures or the limit hold back */
static void sieve(const struct vmp_profile *p, const struct vmp_options *o, struct vmp_domain *d)
{
	uint8_t keep;
	uint32_t i, n;

	if (o->all_rows || (!o->filter && o->percent_limit <= 0))
		return;
	for (i = 0, n = 0; i < d->timeless.nr; i++)
		if (vmp_filter_row(o->filter, p, d, &d->timeless.v[i]))
			d->timeless.v[n++] = d->timeless.v[i];
	d->timeless.nr = n;
	for (i = 0, n = 0; i < d->rows.nr; i++) {
		const struct vmp_row *row = &d->rows.v[i];

		keep = vmp_filter_row(o->filter, p, d, row) != 0;
		if (!keep) {
			d->shown -= row->samples;
		} else if (vmp_percent(row->samples, d->total) < o->percent_limit &&
			   vmp_percent(row->before, d->before_total) < o->percent_limit) {
			d->small += row->samples;
			d->small_rows++;
			keep = 0;
		}
		if (keep)
			d->rows.v[n++] = *row;
	}
	d->rows.nr = n;
}

/* By name, the host last */
static int cmp_domains(const void *pa, const void *pb, void *arg)
{
	const struct vmp_domain *a = pa, *b = pb;
	const struct work *w = arg;
	const struct vmp_model *m = w->p->model;
	int d;

	if (a->vm == VMP_NONE || b->vm == VMP_NONE)
		return (a->vm == VMP_NONE) - (b->vm == VMP_NONE);
	d = strcmp(vmp_model_name(m, m->vms.v[a->vm].name), vmp_model_name(m, m->vms.v[b->vm].name));
	return d ? d : cmp_u64(m->vms.v[a->vm].vm, m->vms.v[b->vm].vm);
}

int vmp_profile_order(struct vmp_profile *p, const struct vmp_options *o)
{
	struct work w = { .p = p, .o = o, .rank = vmp_strings_ranks(&p->model->strings) };
	uint32_t i;
	int err = 0;

	if (!w.rank)
		return -ENOMEM;
	if (p->domains.nr)
		qsort_r(p->domains.v, p->domains.nr, sizeof(*p->domains.v), cmp_domains, &w);
	for (i = 0; !err && i < p->domains.nr; i++) {
		sieve(p, o, &p->domains.v[i]);
		err = sort_rows(&w, &p->domains.v[i]);
	}
	free(w.rank);
	return err;
}
