// SPDX-License-Identifier: GPL-2.0-only
/* sort.c - the table in an order that does not depend on how it was read; equal lines merged. */
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
	return d ? d : cmp_u64(x->pid, y->pid);
}

static int cmp_track(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_track *x = &t->tracks.v[a], *y = &t->tracks.v[b];
	int d = cmp_u64(x->domain, y->domain);

	if (!d)
		d = cmp_u64(x->kind, y->kind);
	return d ? d : cmp_u64(x->id, y->id);
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

static int cmp_line(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_line *x = &t->lines.v[a], *y = &t->lines.v[b];
	int d = cmp_u64(x->task, y->task);

	if (!d)
		d = cmp_u64(x->site, y->site);
	if (!d)
		d = cmp_u64(x->track, y->track);
	if (!d)
		d = cmp_u64(x->side, y->side);
	return d ? d : cmp_str(t, x->exit, y->exit);
}

/* Lines that differ only in what nobody sees (a mapping's history) become one. */
static int merge(struct vmp_table *t, uint32_t *rank)
{
	uint32_t i, n = 0, *now = malloc((t->lines.nr + 1) * sizeof(*now));

	if (!now)
		return -ENOMEM;
	for (i = 0; i < t->lines.nr; i++) {
		struct vmp_line *l = &t->lines.v[i], *p = n ? &t->lines.v[n - 1] : NULL;

		if (p && p->task == l->task && p->site == l->site && p->track == l->track &&
		    p->side == l->side && p->exit == l->exit)
			vmp_sums_add(&p->sum, &l->sum);
		else
			t->lines.v[n++] = *l;
		now[i] = n - 1;
	}
	for (i = 0; i < t->lines.nr; i++)
		rank[i] = now[rank[i]];
	t->lines.nr = n;
	free(now);
	return 0;
}

int vmp_table_sort(struct vmp_table *t)
{
	uint32_t *domain = NULL, *task = NULL, *track = NULL, *site = NULL, *line = NULL, i;
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
		err = SORT(t, &t->sites, &site, cmp_site);
	for (i = 0; !err && i < t->lines.nr; i++) {
		t->lines.v[i].task = task[t->lines.v[i].task];
		t->lines.v[i].track = track[t->lines.v[i].track];
		t->lines.v[i].site = site[t->lines.v[i].site];
	}
	if (!err)
		err = SORT(t, &t->lines, &line, cmp_line);
	if (!err)
		err = merge(t, line);
	for (i = 0; !err && i < t->cells->cells.nr; i++)
		if (t->cells->cells.v[i].line != VMP_NONE)
			t->cells->cells.v[i].line = line[t->cells->cells.v[i].line];
	free(domain);
	free(task);
	free(track);
	free(site);
	free(line);
	return err;
}
