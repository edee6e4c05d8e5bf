// SPDX-License-Identifier: GPL-2.0-only
/* placed.c - a sorted array. */
#include "blocks/placed.h"

#include "util/bound.h"

struct sought {
	const struct vmp_places *p;
	struct vmp_placed key;
};

static int compare(const void *pa, const void *pb)
{
	const struct vmp_placed *a = pa, *b = pb;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int before(const void *arg, uint32_t i)
{
	const struct sought *s = arg;

	return compare(&s->p->v[i], &s->key) < 0;
}

static int add(struct vmp_places *p, const struct vmp_points *points, uint32_t point, uint32_t number, uint64_t back)
{
	struct vmp_placed new = { points->points.v[point].object, number, points->points.v[point].addr };

	/* nothing lies behind it, and no code there; but a guest can branch to it */
	if (new.addr == UINT64_MAX)
		return 0;
	new.addr -= new.addr ? back : 0;
	return vmp_vec_push(p, new);
}

int vmp_places_add(struct vmp_places *p, const struct vmp_points *points, uint32_t point, uint32_t number)
{
	return add(p, points, point, number, 0);
}

int vmp_places_add_landing(struct vmp_places *p, const struct vmp_set *set, uint32_t number)
{
	const struct vmp_landing *l = &set->landings.v[number];

	/* in the middle of one that repeats it is that one */
	return add(p, &set->points, l->at, number, !l->ended && l->at != l->start && !vmp_points_repeats(&set->points, l->at));
}

void vmp_places_sort(struct vmp_places *p)
{
	if (p->nr)
		qsort(p->v, p->nr, sizeof(*p->v), compare);
}

uint32_t vmp_places_first(const struct vmp_places *p, uint32_t object, uint64_t addr)
{
	struct sought s = { p, { .object = object, .addr = addr } };

	return vmp_bound(p->nr, before, &s);
}
