// SPDX-License-Identifier: GPL-2.0-only
/*
 * branches.c - samples with their branches in order of time: what the order holds back waits in a pool, and
 * copies of branches, which are much larger, in one of their own.
 */
#include <string.h>

#include "export/cells.h"
#include "export/order.h"
#include "model/lbr.h"

#define WAITING_MAX	(1U << 18)	/* samples held back; each has a copy of its branches */

struct waiting {
	uint32_t line;
	uint32_t next;		/* free ones: the next free one + 1 */
	uint32_t branches;	/* number of its copy + 1; 0 it has none */
};

struct copy {
	struct vmp_lbr lbr;
	uint32_t next;		/* as above */
};

/* Where the last address was found: neighbours lie there, too */
struct near {
	uint32_t vm, image, version;
	uint64_t start, end, add;
};

struct again {
	struct vmp_table *t;
	struct vmp_order order;
	VMP_VEC(struct waiting) pool;
	VMP_VEC(struct copy) copies;
	uint32_t free, free_copy;
	struct near near;
	int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line, const struct vmp_lbr *lbr);
	void *arg;
};

static int on_moment(void *arg, const struct vmp_moment *m)
{
	struct again *a = arg;
	struct waiting *w = &a->pool.v[m->line];
	struct copy *c = w->branches ? &a->copies.v[w->branches - 1] : NULL;
	int err = a->fn(a->arg, vmp_table_ns(a->t, m->tsc), &a->t->lines.v[w->line], c ? &c->lbr : NULL);

	if (c) {
		c->next = a->free_copy;
		a->free_copy = w->branches;
	}
	w->next = a->free;
	a->free = m->line + 1;
	return err;
}

/* What is added to addresses of a mapping; nothing where no sample was taken in its file */
static uint64_t shift_of(const struct vmp_table *t, uint32_t vm, const struct vmp_map *map)
{
	uint32_t i;

	for (i = 0; i < t->mappings.nr; i++) {
		const struct vmp_mapping *m = &t->mappings.v[i];

		if (m->vm == vm && m->file == map->file && !m->kernel)
			return m->bias + map->pgoff - map->start;
	}
	return 0;
}

/* An address of the guest as sites have it */
static uint64_t shown(struct again *a, const struct vmp_origin *from, uint64_t addr)
{
	struct near *n = &a->near;
	const struct vmp_map *map;
	uint64_t same;

	if (!vmp_origin_is_guest(from->kind) || from->image == VMP_NONE || !addr || addr >> 63)
		return addr;
	if (n->vm != from->vm || n->image != from->image || n->version != from->version || addr < n->start ||
	    addr >= n->end) {
		map = vmp_space_map_until(&a->t->model->vms.v[from->vm].space, from->image, from->version, addr, &same);
		if (!map || map->file == VMP_FILE_ANON)
			return addr;
		*n = (struct near){ from->vm, from->image, from->version, addr, same, shift_of(a->t, from->vm, map) };
	}
	return addr + n->add;
}

static int copy_branches(struct again *a, const struct vmp_origin *from, const struct vmp_lbr *lbr, uint32_t *number)
{
	static const struct copy new;
	struct copy *c;
	unsigned int i;

	if (!a->free_copy) {
		if (vmp_vec_push(&a->copies, new))
			return -ENOMEM;
		a->free_copy = a->copies.nr;
	}
	*number = a->free_copy;
	c = &a->copies.v[*number - 1];
	a->free_copy = c->next;
	c->lbr = *lbr;
	for (i = 0; i < lbr->nr; i++) {
		c->lbr.b[i].from = shown(a, from, lbr->b[i].from);
		c->lbr.b[i].to = shown(a, from, lbr->b[i].to);
	}
	return 0;
}

static int keep(struct again *a, uint32_t line, const struct vmp_origin *from, const struct vmp_lbr *lbr,
		uint32_t *slot)
{
	struct waiting new = { 0 }, *w;

	if (!a->free) {
		if (vmp_vec_push(&a->pool, new))
			return -ENOMEM;
		a->free = a->pool.nr;
	}
	*slot = a->free - 1;
	w = &a->pool.v[*slot];
	a->free = w->next;
	w->line = line;
	w->branches = 0;
	return lbr ? copy_branches(a, from, lbr, &w->branches) : 0;
}

static int on_sample(void *arg, const struct vmp_lbr_sample *ls)
{
	struct again *a = arg;
	const struct vmp_cells *cells = a->t->cells;
	uint32_t cell, slot;
	int err;

	if (ls->s->hdr.type != VMPROF_REC_SAMPLE)
		return 0;
	err = vmp_cells_find(a->t->cells, a->t->model, ls->s, &cell);
	if (err || cell == VMP_NONE || cells->cells.v[cell].line == VMP_NONE)
		return err;
	err = keep(a, cells->cells.v[cell].line, &cells->groups.v[cells->cells.v[cell].group].from, ls->lbr, &slot);
	return err ? err : vmp_order_add(&a->order, ls->s->tsc, slot);
}

int vmp_table_branches(struct vmp_table *t, uint64_t *late,
		       int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line,
				 const struct vmp_lbr *lbr), void *arg)
{
	struct again a = { .t = t, .fn = fn, .arg = arg };
	int err;

	vmp_order_init(&a.order, on_moment, &a);
	a.order.limit = WAITING_MAX;
	err = vmp_model_lbr_samples(t->model, on_sample, &a);
	if (!err)
		err = vmp_order_flush(&a.order);
	*late = a.order.late;
	vmp_order_deinit(&a.order);
	vmp_vec_free(&a.pool);
	vmp_vec_free(&a.copies);
	return err;
}
