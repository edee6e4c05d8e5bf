/* SPDX-License-Identifier: GPL-2.0-only */
/* stacks.h - the table by domain, process name, module and function alone: what flame graphs show. */
#ifndef VMP_STACKS_H
#define VMP_STACKS_H

#include "export/table.h"

struct vmp_stack {
	uint32_t task;		/* the first of that name in the domain */
	uint32_t site;		/* the first of that function in the module */
	uint32_t line;		/* one of its lines */
	uint64_t samples;
};

struct vmp_stacks {
	VMP_VEC(struct vmp_stack) v;	/* in the table's order */
};

/** vmp_stacks_create() - Return: 0 or -ENOMEM. */
int vmp_stacks_create(struct vmp_stacks *s, const struct vmp_table *t);
void vmp_stacks_free(struct vmp_stacks *s);

#endif
