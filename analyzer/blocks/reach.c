// SPDX-License-Identifier: GPL-2.0-only
/* reach.c - straight code as far as it was seen to run, then wherever its branches went, until nothing new is met. */
#include "blocks/reach.h"

#include <string.h>

/* What one search may look at, and all together, for each unit: nests in a huge function would take quadratic time */
#define SEARCH_LOOKS	16384U
#define REACH_LOOKS	256U

/* Who saw a branch back so often without the way from its header to it has seen all ways: each round takes both once */
#define SEEN_ENOUGH	16

struct vmp_reach {
	const struct vmp_set *set;
	const struct vmp_places *starts;
	uint64_t *runs;			/* by start: the last end of all that begin there or before, in the object */
	struct vmp_places ends;		/* units by their branch */
	uint32_t *met;			/* by unit: the last search that came there */
	uint32_t search;
	int open;			/* it came to what cannot be seen, or it was too much */
	int ends_open;			/* ... to a conditional jump that was always seen to branch */
	uint64_t looks, left;		/* of this search, of all */
	VMP_VEC(uint64_t) todo;		/* addresses in the header's object */
	struct vmp_point header;
};

static const struct vmp_point *point(const struct vmp_reach *r, uint32_t p)
{
	return &r->set->points.points.v[p];
}

static void find_runs(struct vmp_reach *r)
{
	const struct vmp_places *s = r->starts;
	uint32_t i;

	for (i = 0; i < s->nr; i++) {
		r->runs[i] = point(r, r->set->units.v[s->v[i].number].end)->addr;
		if (i && s->v[i - 1].object == s->v[i].object && r->runs[i - 1] > r->runs[i])
			r->runs[i] = r->runs[i - 1];
	}
}

int vmp_reach_create(struct vmp_reach **out, const struct vmp_set *set, const struct vmp_places *starts)
{
	struct vmp_reach *r = calloc(1, sizeof(*r));
	uint32_t i;
	int err = 0;

	if (!r)
		return -ENOMEM;
	r->set = set;
	r->starts = starts;
	r->left = (uint64_t)REACH_LOOKS * set->units.nr;
	r->runs = calloc((size_t)starts->nr + 1, sizeof(*r->runs));
	r->met = calloc((size_t)set->units.nr + 1, sizeof(*r->met));
	if (!r->runs || !r->met)
		err = -ENOMEM;
	for (i = 0; !err && i < set->units.nr; i++) {
		if (!set->units.v[i].flaw && set->units.v[i].end != VMP_NONE)
			err = vmp_places_add(&r->ends, &set->points, set->units.v[i].end, i);
	}
	vmp_places_sort(&r->ends);
	if (err) {
		vmp_reach_destroy(r);
		return err;
	}
	find_runs(r);
	*out = r;
	return 0;
}

void vmp_reach_destroy(struct vmp_reach *r)
{
	if (!r)
		return;
	vmp_vec_free(&r->ends);
	vmp_vec_free(&r->todo);
	free(r->runs);
	free(r->met);
	free(r);
}

static int look(struct vmp_reach *r)
{
	if (!r->looks || !r->left) {
		r->open = 1;
		return 0;
	}
	r->looks--;
	r->left--;
	return 1;
}

/* Where a branch went: in the header's function not before the header. Parts of it with a name of their own (foo.cold) lie anywhere, and lead anywhere. */
static int go_to(struct vmp_reach *r, const struct vmp_unit *u)
{
	const struct vmp_point *x;

	if (u->next == VMP_NONE || point(r, u->next)->object == VMP_NONE || point(r, u->next)->flaw) {
		r->open = 1;
		return 0;
	}
	x = point(r, u->next);
	if (x->object != r->header.object ||
	    (x->addr < r->header.addr && x->function == r->header.function && point(r, u->end)->function == r->header.function))
		return 0;
	return vmp_vec_push(&r->todo, x->addr);
}

static int go_behind(struct vmp_reach *r, uint32_t p)
{
	uint64_t behind = vmp_set_behind(r->set, r->header.object, point(r, p)->addr);

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
		return go_to(r, u);
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

/* The last branch to which code was seen to run straight on from an address, whole or in parts; 0: it was not seen */
static uint64_t straight_end(const struct vmp_reach *r, uint64_t addr)
{
	uint64_t until = addr, end = 0;
	uint32_t i;

	do {
		until = end > until ? end : until;
		/* the last that begins there or before */
		i = vmp_places_first(r->starts, r->header.object, until + 1);
		end = i && r->starts->v[i - 1].object == r->header.object ? r->runs[i - 1] : 0;
	} while (end > until);
	return end < addr ? 0 : until;
}

/* From the first branch that was met already all that follows is known */
static int run_from(struct vmp_reach *r, uint64_t addr)
{
	const uint64_t until = straight_end(r, addr);
	const struct vmp_unit *u = NULL;
	uint32_t i;
	int err = 0;

	if (!until) {
		r->open = 1;
		return 0;
	}
	for (i = vmp_places_first(&r->ends, r->header.object, addr);
	     !err && vmp_places_until(&r->ends, i, r->header.object, until + 1); i++) {
		u = &r->set->units.v[r->ends.v[i].number];
		if (r->met[r->ends.v[i].number] == r->search || !look(r))
			return 0;
		r->met[r->ends.v[i].number] = r->search;
		err = follow(r, u);
	}
	if (u && u->flow == VMP_FLOW_COND)
		r->ends_open = 1;
	return err;
}

int vmp_reach_from(struct vmp_reach *r, uint32_t header)
{
	int err;

	r->search++;
	r->open = r->ends_open = 0;
	r->looks = SEARCH_LOOKS;
	r->header = *point(r, header);
	r->todo.nr = 0;
	err = vmp_vec_push(&r->todo, r->header.addr);
	while (!err && r->todo.nr)
		err = run_from(r, r->todo.v[--r->todo.nr]);
	return err;
}

int vmp_reach_leads(const struct vmp_reach *r, uint32_t unit)
{
	return r->met[unit] == r->search || r->open || (r->ends_open && r->set->units.v[unit].n < SEEN_ENOUGH);
}
