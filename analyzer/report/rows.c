// SPDX-License-Identifier: GPL-2.0-only
/* rows.c - open addressing, at most half full; a slot has the hash, so that few rows are looked at in vain. */
#include "report/rows.h"

#include <string.h>

#include "util/big.h"

static int grow_index(struct vmp_row_index *x)
{
	struct vmp_row_index n = { .mask = x->slot ? 2 * x->mask + 1 : 255 };
	uint32_t i, k;

	n.slot = x->mask < UINT32_MAX / 2 ? vmp_big_alloc(((size_t)n.mask + 1) * sizeof(*n.slot)) : NULL;
	if (!n.slot)
		return -ENOMEM;
	memset(n.slot, 0, ((size_t)n.mask + 1) * sizeof(*n.slot));
	for (i = 0; x->slot && i <= x->mask; i++) {
		if (!x->slot[i].row)
			continue;
		for (k = x->slot[i].hash & n.mask; n.slot[k].row; )
			k = (k + 1) & n.mask;
		n.slot[k] = x->slot[i];
	}
	free(x->slot);
	*x = n;
	return 0;
}

/* The first slot that may be the row's: it is free or has its hash */
static struct vmp_row_slot *first_slot(const struct vmp_row_index *x, uint32_t hash)
{
	uint32_t i = hash & x->mask;

	while (x->slot[i].row && x->slot[i].hash != hash)
		i = (i + 1) & x->mask;
	return &x->slot[i];
}

static int add_row(struct vmp_domain *d, struct vmp_row_index *x, const struct vmp_row_add *add)
{
	struct vmp_row_slot *slot = first_slot(x, add->hash);

	while (slot->row && (slot->hash != add->hash || !vmp_row_same(&d->rows.v[slot->row - 1], &add->row)))
		slot = &x->slot[(slot - x->slot + 1) & x->mask];
	if (slot->row) {
		struct vmp_row *row = &d->rows.v[slot->row - 1];

		row->samples += add->row.samples;
		row->cycles += add->row.cycles;
		row->instructions += add->row.instructions;
		return 0;
	}
	if (vmp_vec_push(&d->rows, add->row))
		return -ENOMEM;
	*slot = (struct vmp_row_slot){ add->hash, d->rows.nr };
	return 0;
}

int vmp_rows_flush(struct vmp_rows *r)
{
	uint32_t i, n = r->nr;
	int err = 0;

	r->nr = 0;
	for (i = 0; i < n; i++) {
		const struct vmp_domain *d = &r->p->domains.v[r->add[i].domain];
		struct vmp_row_index *x = &r->index.v[r->add[i].domain];
		const struct vmp_row_slot *slot;

		/* with all of the batch there is still a free slot in two */
		while (!x->slot || d->rows.nr + VMP_ROWS_BATCH > x->mask / 2)
			if (grow_index(x))
				return -ENOMEM;
		slot = first_slot(x, r->add[i].hash);
		if (slot->row)
			__builtin_prefetch(&d->rows.v[slot->row - 1], 1);
	}
	for (i = 0; !err && i < n; i++)
		err = add_row(&r->p->domains.v[r->add[i].domain], &r->index.v[r->add[i].domain], &r->add[i]);
	return err;
}

int vmp_rows_add(struct vmp_rows *r, uint32_t domain, const struct vmp_row *row)
{
	struct vmp_row_add *a = &r->add[r->nr];
	const struct vmp_row_index *x;
	struct vmp_row_index none = { 0 };

	while (r->index.nr <= domain)
		if (vmp_vec_push(&r->index, none))
			return -ENOMEM;
	x = &r->index.v[domain];
	*a = (struct vmp_row_add){ *row, domain, (uint32_t)vmp_row_hash(row) };
	if (x->slot)
		__builtin_prefetch(&x->slot[a->hash & x->mask], 1);
	return ++r->nr == VMP_ROWS_BATCH ? vmp_rows_flush(r) : 0;
}

void vmp_rows_deinit(struct vmp_rows *r)
{
	uint32_t i;

	for (i = 0; i < r->index.nr; i++)
		free(r->index.v[i].slot);
	vmp_vec_free(&r->index);
	r->nr = 0;
}
