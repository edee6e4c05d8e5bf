// SPDX-License-Identifier: GPL-2.0-only
/* reach.c - straight code from start to start, until nothing new is met. */
#include "blocks/reach.h"

#include <string.h>

/* What all searches together may look at, for each unit: nests in one huge function would take quadratic time */
#define REACH_LOOKS	64

struct vmp_reach {
	const struct vmp_set *set;
	const struct vmp_places *starts;
	struct vmp_places ends;		/* units by their branch */
	uint32_t *begun, *met;		/* by start, by unit: the last search that came there */
	uint32_t search;
	int open;			/* it came to code of which nothing was seen */
	uint64_t looks;			/* left */
	VMP_VEC(uint64_t) todo;		/* addresses in the header's object */
	struct vmp_point header;
};

int vmp_reach_create(struct vmp_reach **out, const struct vmp_set *set, const struct vmp_places *starts)
{
	struct vmp_reach *r = calloc(1, sizeof(*r));
	uint32_t i;
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->set = set;
	r->starts = starts;
	r->looks = (uint64_t)REACH_LOOKS * set->units.nr;
	r->begun = calloc((size_t)starts->nr + 1, sizeof(*r->begun));
	r->met = calloc((size_t)set->units.nr + 1, sizeof(*r->met));
	if (!r->begun || !r->met)
		err = -ENOMEM;
	for (i = 0; !err && i < set->units.nr; i++) {
		if (!set->units.v[i].flaw && set->units.v[i].end != VMP_NONE)
			err = vmp_places_add(&r->ends, &set->points, set->units.v[i].end, i);
	}
	vmp_places_sort(&r->ends);
	if (err)
		vmp_reach_destroy(r);
	else
		*out = r;
	return err;
}

void vmp_reach_destroy(struct vmp_reach *r)
{
	if (!r)
		return;
	vmp_vec_free(&r->ends);
	vmp_vec_free(&r->todo);
	free(r->begun);
	free(r->met);
	free(r);
}

static int look(struct vmp_reach *r)
{
	if (!r->looks) {
		r->open = 1;
		return 0;
	}
	r->looks--;
	return 1;
}

/* Parts of a function that have a name of their own (foo.cold) lie anywhere */
static int go_to(struct vmp_reach *r, uint32_t p)
{
	const struct vmp_point *x;

	if (p == VMP_NONE) {
		r->open = 1;
		return 0;
	}
	x = &r->set->points.points.v[p];
	if (x->object != r->header.object || (x->function == r->header.function && x->addr < r->header.addr))
		return 0;
	return vmp_vec_push(&r->todo, x->addr);
}

static int go_behind(struct vmp_reach *r, uint32_t p)
{
	uint64_t behind = vmp_set_behind(r->set, r->header.object, r->set->points.points.v[p].addr);

	if (!behind) {
		r->open = 1;
		return 0;
	}
	return vmp_vec_push(&r->todo, behind);
}

static int follow(struct vmp_reach *r, const struct vmp_unit *u)
{
	switch (u->flow) {
	case VMP_FLOW_COND:
	case VMP_FLOW_JUMP:
	case VMP_FLOW_JUMP_IND:
		return go_to(r, u->next);
	case VMP_FLOW_CALL:
	case VMP_FLOW_CALL_IND:
	case VMP_FLOW_SYSCALL:
		return go_behind(r, u->end);
	case VMP_FLOW_ON:	/* an interrupt: where it came is a start, too */
	case VMP_FLOW_RETURN:
	case VMP_FLOW_SYSRET:
		return 0;
	case VMP_FLOW_NR:
		break;
	}
	r->open = 1;
	return 0;
}

/* Straight code from an address on: as far as it was seen to run, from there or from what lies on the way */
static int run_from(struct vmp_reach *r, uint64_t addr)
{
	const struct vmp_set *set = r->set;
	const uint32_t object = r->header.object;
	uint32_t i = vmp_places_first(r->starts, object, addr);
	uint64_t until = addr;
	int err = 0;

	if (!vmp_places_until(r->starts, i, object, addr + 1)) {
		r->open = 1;
		return 0;
	}
	if (r->begun[i] == r->search)
		return 0;
	for (; vmp_places_until(r->starts, i, object, until + 1) && look(r); i++) {
		uint64_t end = set->points.points.v[set->units.v[r->starts->v[i].number].end].addr;

		r->begun[i] = r->search;
		until = end > until ? end : until;
	}
	for (i = vmp_places_first(&r->ends, object, addr);
	     !err && vmp_places_until(&r->ends, i, object, until + 1) && look(r); i++) {
		uint32_t unit = r->ends.v[i].number;

		if (r->met[unit] != r->search)
			err = follow(r, &set->units.v[unit]);
		r->met[unit] = r->search;
	}
	return err;
}

int vmp_reach_from(struct vmp_reach *r, uint32_t header)
{
	int err;

	r->search++;
	r->open = 0;
	r->header = r->set->points.points.v[header];
	r->todo.nr = 0;
	err = vmp_vec_push(&r->todo, r->header.addr);
	while (!err && r->todo.nr)
		err = run_from(r, r->todo.v[--r->todo.nr]);
	return err;
}

int vmp_reach_leads(const struct vmp_reach *r, uint32_t unit)
{
	return r->open || r->met[unit] == r->search;
}
