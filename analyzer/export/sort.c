// SPDX-License-Identifier: GPL-2.0-only
/* sort.c - the table in an order that does not depend on how it was read. */
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"
#include "util/radix.h"

#define AHEAD	16	/* drafts that are fetched before they are needed */

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
	if (!d)
		d = cmp_str(t, x->thread, y->thread);
	if (!d)
		d = cmp_u64(x->nspid, y->nspid);
	return d ? d : cmp_str(t, x->cgroup, y->cgroup);
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

static int cmp_exit(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	return cmp_str(t, t->exits.v[a], t->exits.v[b]);
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

/* What drafts name, by its old number: the sorted one */
struct ranks {
	uint32_t *domain, *task, *track, *mapping, *site, *exit;
};

/* What sorts the lines of one task: site, track, side, exit */
static uint64_t key_of(const struct vmp_table *t, const struct ranks *r, const struct vmp_draft *d)
{
	return (((uint64_t)r->site[d->site] * t->tracks.nr + r->track[d->track]) * VMP_SIDE_NR + d->side) * t->exits.nr +
	       r->exit[d->exit];
}

static int key_fits(const struct vmp_table *t)
{
	unsigned __int128 keys = (unsigned __int128)t->sites.nr * t->tracks.nr * VMP_SIDE_NR;

	return keys <= UINT64_MAX && keys * t->exits.nr <= UINT64_MAX;
}

/* Drafts of one key are one line; @sorted: of one task, with their numbers */
static int add_lines(struct vmp_table *t, const struct ranks *r, const struct vmp_draft *drafts,
		     const struct vmp_radix *sorted, uint32_t nr)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct vmp_draft *d = &drafts[sorted[i].value];

		if (!i || sorted[i].key != sorted[i - 1].key) {
			struct vmp_line new = {
				.task = r->task[d->task], .site = r->site[d->site], .track = r->track[d->track],
				.exit = t->exits.v[r->exit[d->exit]], .side = d->side,
			};

			if (vmp_vec_push(&t->lines, new))
				return -ENOMEM;
		}
		if (d->cell != VMP_NONE)
			t->cells->cells.v[d->cell].line = t->lines.nr - 1;
		vmp_sums_add(&t->lines.v[t->lines.nr - 1].sum, &d->sum);
	}
	return 0;
}

/* By task first; what is left to sort of one lies together. */
static int make_lines(struct vmp_table *t, const struct ranks *r, const struct vmp_draft *drafts, uint32_t nr)
{
	uint32_t *by_task = malloc(((size_t)nr + 1) * sizeof(*by_task)), i, k, from, n, most = 0;
	uint32_t *end = calloc((size_t)t->tasks.nr + 1, sizeof(*end));
	struct vmp_radix *items = NULL;
	int err = !by_task || !end ? -ENOMEM : key_fits(t) ? 0 : -EOVERFLOW;

	for (i = 0; !err && i < nr; i++) {
		n = ++end[r->task[drafts[i].task] + 1];
		most = n > most ? n : most;
	}
	for (i = 0; !err && i < t->tasks.nr; i++)
		end[i + 1] += end[i];
	for (i = 0; !err && i < nr; i++)
		by_task[end[r->task[drafts[i].task]]++] = i;
	if (!err) {
		items = malloc((2 * (size_t)most + 1) * sizeof(*items));
		err = items ? 0 : -ENOMEM;
	}
	for (i = from = 0; !err && i < t->tasks.nr; from = end[i++]) {
		n = end[i] - from;
		for (k = 0; k < n; k++) {
			if (from + k + AHEAD < nr)
				__builtin_prefetch(&drafts[by_task[from + k + AHEAD]]);
			items[k] = (struct vmp_radix){ key_of(t, r, &drafts[by_task[from + k]]), by_task[from + k] };
		}
		err = add_lines(t, r, drafts, vmp_radix_sort(items, items + n, n), n);
	}
	free(items);
	free(by_task);
	free(end);
	return err;
}

int vmp_table_sort(struct vmp_table *t, const struct vmp_draft *drafts, uint32_t nr)
{
	struct ranks r = { NULL };
	uint32_t i;
	int err;

	err = SORT(t, &t->domains, &r.domain, cmp_domain);
	for (i = 0; !err && i < t->tasks.nr; i++)
		t->tasks.v[i].domain = r.domain[t->tasks.v[i].domain];
	for (i = 0; !err && i < t->tracks.nr; i++)
		t->tracks.v[i].domain = r.domain[t->tracks.v[i].domain];
	if (!err)
		err = SORT(t, &t->tasks, &r.task, cmp_task);
	if (!err)
		err = SORT(t, &t->tracks, &r.track, cmp_track);
	if (!err)
		err = SORT(t, &t->mappings, &r.mapping, cmp_mapping);
	if (!err)
		settle(t, r.mapping);
	if (!err)
		err = SORT(t, &t->sites, &r.site, cmp_site);
	if (!err)
		err = SORT(t, &t->exits, &r.exit, cmp_exit);
	if (!err)
		err = make_lines(t, &r, drafts, nr);
	free(r.domain);
	free(r.task);
	free(r.track);
	free(r.mapping);
	free(r.site);
	free(r.exit);
	return err;
}
