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

int vmp_places_add(struct vmp_places *p, const struct vmp_points *points, uint32_t point, uint32_t number)
{
	struct vmp_placed new = { points->points.v[point].object, number, points->points.v[point].addr };

	return vmp_vec_push(p, new);
}

int vmp_places_add_landing(struct vmp_places *p, const struct vmp_set *set, uint32_t number)
{
	const struct vmp_landing *l = &set->landings.v[number];
	int err = vmp_places_add(p, &set->points, l->at, number);

	/* in the middle of one that repeats it is that one */
	if (!err && !l->ended && l->at != l->start && !vmp_points_repeats(&set->points, l->at))
		p->v[p->nr - 1].addr--;
	return err;
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
