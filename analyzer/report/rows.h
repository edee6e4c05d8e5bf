/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rows.h - add samples to the rows of a profile's domains, found by a hash of
 * all that tells rows apart.
 *
 * Rows are added in batches, so that the memory of several is fetched at once.
 */
#ifndef VMP_ROWS_H
#define VMP_ROWS_H

#include "report/profile.h"

#define VMP_ROWS_BATCH	64

/** vmp_row_hash(), vmp_row_same() - By all that tells rows apart. */
static inline uint64_t vmp_row_hash(const struct vmp_row *r)
{
	uint32_t key[] = { r->function, r->module, r->comm, r->cause, r->pid, r->track, r->side, r->build_id,
			   r->thread, r->nspid, r->cgroup };

	return vmp_hash_bytes(key, sizeof(key));
}

static inline int vmp_row_same(const struct vmp_row *a, const struct vmp_row *b)
{
	return a->function == b->function && a->module == b->module && a->comm == b->comm &&
	       a->cause == b->cause && a->pid == b->pid && a->track == b->track && a->side == b->side &&
	       a->build_id == b->build_id && a->thread == b->thread && a->nspid == b->nspid && a->cgroup == b->cgroup;
}

/* row is its number + 1, 0 free */
struct vmp_row_slot {
	uint32_t hash, row;
};

struct vmp_row_index {
	struct vmp_row_slot *slot;
	uint32_t mask;
};

struct vmp_row_add {
	struct vmp_row row;	/* with the samples to add */
	uint32_t domain, hash;
};

/* Zeroed but for p it is ready */
struct vmp_rows {
	struct vmp_profile *p;
	VMP_VEC(struct vmp_row_index) index;	/* of the domains */
	struct vmp_row_add add[VMP_ROWS_BATCH];
	uint32_t nr;
};

/**
 * vmp_rows_add() - More samples of a row.
 * @domain: Number of the domain in the profile.
 * @row:    With the samples to add.
 * Return: 0 or -ENOMEM.
 */
int vmp_rows_add(struct vmp_rows *r, uint32_t domain, const struct vmp_row *row);

/** vmp_rows_flush() - All that was added is in the domains' rows now.  Return: 0 or -ENOMEM. */
int vmp_rows_flush(struct vmp_rows *r);

/** vmp_rows_deinit() - Forget what was not flushed, and the indexes; the rows stay. */
void vmp_rows_deinit(struct vmp_rows *r);

#endif
