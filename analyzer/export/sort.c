// SPDX-License-Identifier: GPL-2.0-only
/* sort.c - the table in an order that does not depend on how it was read. */
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_str(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(vmp_table_str(t, a), vmp_table_str(t, b));
}

static int cmp_domain(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_table_domain *x = &t->domains.v[a], *y = &t->domains.v[b];
	int d = (x->vm == VMP_NONE) - (y->vm == VMP_NONE);	/* the host last */

	if (!d)
		d = cmp_str(t, x->name, y->name);
	return d || x->vm == VMP_NONE ? d : cmp_u64(t->model->vms.v[x->vm].vm, t->model->vms.v[y->vm].vm);
}

static int cmp_task(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_task *x = &t->tasks.v[a], *y = &t->tasks.v[b];
	int d = cmp_u64(x->domain, y->domain);

	if (!d)
		d = cmp_str(t, x->comm, y->comm);
	if (!d)
		d = cmp_u64(x->pid, y->pid);
	if (!d)
		d = cmp_u64(x->tid, y->tid);
	return d ? d : cmp_str(t, x->thread, y->thread);
}

static int cmp_track(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_track *x = &t->tracks.v[a], *y = &t->tracks.v[b];
	int d = cmp_u64(x->domain, y->domain);

	if (!d)
		d = cmp_u64(x->kind, y->kind);
	return d ? d : cmp_u64(x->id, y->id);
}

static int cmp_mapping(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_mapping *x = &t->mappings.v[a], *y = &t->mappings.v[b];
	int d = cmp_u64(x->vm, y->vm);

	if (!d)
		d = x->kernel - y->kernel;
	if (!d)
		d = cmp_str(t, x->path, y->path);
	return d ? d : cmp_u64(x->file, y->file);
}

static int cmp_site(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_site *x = &t->sites.v[a], *y = &t->sites.v[b];
	int d = cmp_str(t, x->module, y->module);

	if (!d)
		d = cmp_str(t, x->function, y->function);
	if (!d)
		d = cmp_u64(x->mapping, y->mapping);
	return d ? d : cmp_u64(x->offset, y->offset);
}

struct sorter {
	const struct vmp_table *t;
	int (*cmp)(const struct vmp_table *t, uint32_t a, uint32_t b);
};

static int cmp_index(const void *a, const void *b, void *arg)
{
	const struct sorter *s = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int d = s->cmp(s->t, x, y);

	return d ? d : x < y ? -1 : x > y;
}

/* Sort @nr things of @size bytes; @rank gets the new number of each, by the old one. */
static int sort(const struct vmp_table *t, void *v, uint32_t nr, size_t size, uint32_t **rank,
		int (*cmp)(const struct vmp_table *t, uint32_t a, uint32_t b))
{
	struct sorter s = { t, cmp };
	uint32_t *order = malloc((nr + 1) * sizeof(*order)), i;
	char *copy = malloc((nr + 1) * size);

	*rank = malloc((nr + 1) * sizeof(**rank));
	if (!order || !copy || !*rank) {
		free(order);
		free(copy);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), cmp_index, &s);
	for (i = 0; i < nr; i++) {
		memcpy(copy + i * size, (char *)v + order[i] * size, size);
		(*rank)[order[i]] = i;
	}
	if (nr)
		memcpy(v, copy, nr * size);
	free(order);
	free(copy);
	return 0;
}

#define SORT(t, vec, rank, cmp) sort(t, (vec)->v, (vec)->nr, sizeof(*(vec)->v), rank, cmp)

static int cmp_draft(const void *pa, const void *pb, void *arg)
{
	const struct vmp_draft *a = pa, *b = pb;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return cmp_str(arg, a->exit, b->exit);
}

static int same_line(const struct vmp_line *l, const struct vmp_draft *d)
{
	return l->task == d->task && l->site == d->site && l->track == d->track && l->side == d->side &&
	       l->exit == d->exit;
}

/* By task first, which leaves little to compare; what is left of one task lies together. */
static int sort_drafts(struct vmp_table *t, struct vmp_draft *drafts, uint32_t nr)
{
	struct vmp_draft *by_task = malloc(((size_t)nr + 1) * sizeof(*by_task));
	uint32_t *end = calloc((size_t)t->tasks.nr + 1, sizeof(*end)), i, from;
	int err = by_task && end ? 0 : -ENOMEM;

	for (i = 0; !err && i < nr; i++)
		end[drafts[i].task + 1]++;
	for (i = 0; !err && i < t->tasks.nr; i++)
		end[i + 1] += end[i];
	for (i = 0; !err && i < nr; i++)
		by_task[end[drafts[i].task]++] = drafts[i];
	for (i = from = 0; !err && i < t->tasks.nr; from = end[i++])
		if (end[i] > from)
			qsort_r(by_task + from, end[i] - from, sizeof(*by_task), cmp_draft, t);
	if (!err && nr)
		memcpy(drafts, by_task, nr * sizeof(*drafts));
	free(by_task);
	free(end);
	return err;
}

static int make_lines(struct vmp_table *t, const struct vmp_draft *drafts, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct vmp_draft *d = &drafts[i];
		struct vmp_cell *cell = &t->cells->cells.v[d->cell];

		if (!i || !same_line(&t->lines.v[t->lines.nr - 1], d)) {
			struct vmp_line new = { d->task, d->site, d->track, d->exit, d->side, { 0 } };

			if (vmp_vec_push(&t->lines, new))
				return -ENOMEM;
		}
		cell->line = t->lines.nr - 1;
		vmp_sums_add(&t->lines.v[cell->line].sum, &cell->sum);
	}
	return 0;
}

/* What is known when all sites are */
static void settle(struct vmp_table *t, const uint32_t *mapping)
{
	uint32_t i;

	for (i = 0; i < t->sites.nr; i++) {
		struct vmp_site *s = &t->sites.v[i];
		struct vmp_mapping *m;

		s->address = s->offset;
		if (s->mapping == VMP_NONE)
			continue;
		s->mapping = mapping[s->mapping];
		m = &t->mappings.v[s->mapping];
		s->address += m->bias;
		if (m->kernel) {
			m->low = s->offset < m->low ? s->offset : m->low;
			m->high = s->offset >= m->high ? s->offset + 1 : m->high;
		}
	}
}

int vmp_table_sort(struct vmp_table *t, struct vmp_draft *drafts, uint32_t nr)
{
	uint32_t *domain = NULL, *task = NULL, *track = NULL, *mapping = NULL, *site = NULL, i;
	int err;

	err = SORT(t, &t->domains, &domain, cmp_domain);
	for (i = 0; !err && i < t->tasks.nr; i++)
		t->tasks.v[i].domain = domain[t->tasks.v[i].domain];
	for (i = 0; !err && i < t->tracks.nr; i++)
		t->tracks.v[i].domain = domain[t->tracks.v[i].domain];
	if (!err)
		err = SORT(t, &t->tasks, &task, cmp_task);
	if (!err)
		err = SORT(t, &t->tracks, &track, cmp_track);
	if (!err)
		err = SORT(t, &t->mappings, &mapping, cmp_mapping);
	if (!err)
		settle(t, mapping);
	if (!err)
		err = SORT(t, &t->sites, &site, cmp_site);
	for (i = 0; !err && i < nr; i++) {
		drafts[i].task = task[drafts[i].task];
		drafts[i].track = track[drafts[i].track];
		drafts[i].site = site[drafts[i].site];
	}
	if (!err)
		err = sort_drafts(t, drafts, nr);
	if (!err)
		err = make_lines(t, drafts, nr);
	free(domain);
	free(task);
	free(track);
	free(mapping);
	free(site);
	return err;
}
