/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cells.h - counting for the table: samples by (group, address), nothing resolved.
 *
 * A group is what samples have in common besides the address.
 */
#ifndef VMP_CELLS_H
#define VMP_CELLS_H

#include "export/table.h"

/* No padding: it is hashed as bytes */
struct vmp_group {
	struct vmp_origin from;
	uint32_t thread;		/* with threads: vmp_hit.task + 1; else, and not known: 0 */
	uint32_t track_kind, track_id;
	uint32_t has_exit, exit_code;	/* the VMM's work: what the vCPU had left the guest for */
	uint32_t vendor;
};

struct vmp_cell {
	uint64_t addr;
	uint32_t group;
	uint32_t line;			/* VMP_NONE: not chosen */
	struct vmp_sums sum;
};

struct vmp_cells {
	int all_host, threads;
	VMP_VEC(struct vmp_group) groups;
	VMP_VEC(struct vmp_cell) cells;
	struct vmp_hash by_group, by_cell;
	uint32_t last;			/* group of the sample before */
};

/** vmp_group_of() - Set all of a group but its origin, which is known. */
void vmp_group_of(struct vmp_group *g, const struct vmp_model *m, const struct vmprof_sample *s);

/**
 * vmp_cells_group() - Group of a sample, and its address.
 * @group: Its number; VMP_NONE: host work that was not asked for.
 * Return: 0 or -ENOMEM.
 */
int vmp_cells_group(struct vmp_cells *c, struct vmp_model *m, const struct vmprof_sample *s,
		    uint32_t *group, uint64_t *addr);

/**
 * vmp_cells_find() - Cell of a sample, made if it is new.
 * @cell: Its number; VMP_NONE: host work that was not asked for.
 * Return: 0 or -ENOMEM.
 */
int vmp_cells_find(struct vmp_cells *c, struct vmp_model *m, const struct vmprof_sample *s,
		   uint32_t *cell);

/* A part of a line: numbers in the table */
struct vmp_draft {
	uint32_t task, site, track, side, exit;
	uint32_t cell;			/* where single samples are asked for: what it is the sum of */
	struct vmp_sums sum;
};

/** vmp_table_sort() - Sort all of a table and make its lines of @nr drafts.  Return: 0, -ENOMEM, -EOVERFLOW. */
int vmp_table_sort(struct vmp_table *t, const struct vmp_draft *drafts, uint32_t nr);

/** vmp_chosen_group() - 1 when the choice has a group's domain and vCPU. */
int vmp_chosen_group(const struct vmp_model *m, const struct vmp_choice *c, const struct vmp_group *g);

/** vmp_chosen_owner() - 1 when it has the process. */
int vmp_chosen_owner(const struct vmp_model *m, const struct vmp_choice *c, const struct vmp_origin *from,
		     const struct vmp_owner *owner);

/* A mapping of a file */
struct vmp_file_place {
	uint32_t vm, file;		/* VMP_NONE: the host's */
	uint32_t path;			/* string number */
	uint64_t start, end, pgoff;
	uint64_t same;			/* it is so from the address asked for up to here, exclusive */
};

/** vmp_file_at() - The file that an address lies in.  Return: 1, 0 in none. */
int vmp_file_at(struct vmp_model *m, const struct vmp_origin *o, uint64_t addr, struct vmp_file_place *f);

/** vmp_file_bias() - Addresses less offsets in the file. */
static inline uint64_t vmp_file_bias(const struct vmp_file_place *f)
{
	return f->start >= f->pgoff ? f->start - f->pgoff : 0;
}

void vmp_cells_free(struct vmp_cells *c);

#endif
