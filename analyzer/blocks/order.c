// SPDX-License-Identifier: GPL-2.0-only
/* order.c - points by module and address, addresses by context. */
#include "blocks/order.h"

#include <string.h>

#include "model/scan.h"
#include "util/big.h"
#include "util/parallel.h"
#include "util/radix.h"

#define TWICE	65536U	/* elements from which on two threads put them in order */

struct vmp_radix *vmp_order_room(uint32_t nr)
{
	return vmp_big_alloc(2 * ((size_t)nr + 1) * sizeof(struct vmp_radix));
}

/* What a thread puts in order */
struct part {
	struct vmp_radix *v, *room;
	uint32_t nr;
};

static void *sort_part(void *arg)
{
	struct part *p = arg;

	p->v = vmp_radix_sort(p->v, p->room, p->nr);
	return NULL;
}

/* Of the same keys those of @a come first */
static void merge_parts(struct vmp_radix *to, const struct part *a, const struct part *b)
{
	uint32_t i = 0, k = 0;

	while (i < a->nr && k < b->nr)
		*to++ = b->v[k].key < a->v[i].key ? b->v[k++] : a->v[i++];
	memcpy(to, a->v + i, (a->nr - i) * sizeof(*to));
	memcpy(to + (a->nr - i), b->v + k, (b->nr - k) * sizeof(*to));
}

static struct vmp_radix *sort_half(struct vmp_radix *all, struct vmp_radix *half, uint32_t nr)
{
	struct vmp_radix *other = half == all ? all + nr : all;
	struct part a = { half, other, nr / 2 }, b = { half + a.nr, other + a.nr, nr - a.nr };
	void *args[] = { &a, &b };

	if (nr < TWICE || vmp_scan_threads() < 2)
		return vmp_radix_sort(half, other, nr);
	vmp_parallel(sort_part, args, 2);
	/* both where a is, for what is free then is in one piece */
	if ((a.v == half) != (b.v == half + (nr / 2))) {
		struct vmp_radix *beside = (a.v == half ? half : other) + nr / 2;

		memcpy(beside, b.v, b.nr * sizeof(*b.v));
		b.v = beside;
	}
	other = a.v == half ? other : half;
	merge_parts(other, &a, &b);
	return other;
}

struct vmp_radix *vmp_order_addresses(const struct vmp_points *p, struct vmp_radix *all)
{
	uint32_t nr = p->addresses.nr, i;
	struct vmp_radix *v;

	for (i = 0; i < nr; i++)
		all[i] = (struct vmp_radix){ p->addresses.v[i].addr, i };
	v = sort_half(all, all, nr);
	for (i = 0; i < nr; i++)
		v[i].key = p->addresses.v[v[i].value].context;
	return sort_half(all, v, nr);
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

struct sorting {
	const struct vmp_points *p;
	const uint32_t *ranks;	/* of strings */
	const uint32_t *place;	/* by point, in the end */
};

static uint32_t vm_of(const struct vmp_points *p, uint32_t object)
{
	return object == VMP_NONE ? VMP_NONE : p->objects.v[object].vm;
}

/* Points at one address of one module */
static int in_order(const void *pa, const void *pb, void *arg)
{
	const struct vmp_radix *x = pa, *y = pb;
	const struct sorting *s = arg;
	const struct vmp_point *a = &s->p->points.v[x->value], *b = &s->p->points.v[y->value];
	int d = cmp_u64(s->ranks[a->function], s->ranks[b->function]);

	d = d ? d : cmp_u64(a->object == VMP_NONE, b->object == VMP_NONE);
	d = d ? d : cmp_u64(vm_of(s->p, a->object), vm_of(s->p, b->object));
	return d ? d : cmp_u64(a->object, b->object);
}

/* Those of one key are in order of their addresses */
static void sort_same(const struct sorting *s, struct vmp_radix *v, uint32_t nr)
{
	const struct vmp_point *points = s->p->points.v;
	uint32_t i, end;

	for (i = 0; i < nr; i = end) {
		for (end = i + 1; end < nr && v[end].key == v[i].key && points[v[end].value].addr == points[v[i].value].addr; )
			end++;
		if (end - i > 1)
			qsort_r(&v[i], end - i, sizeof(*v), in_order, (void *)s);
	}
}

/* By module and address.  @all: vmp_order_room() */
static struct vmp_radix *in_order_of_modules(const struct sorting *s, struct vmp_radix *all)
{
	const struct vmp_point *points = s->p->points.v;
	uint32_t nr = s->p->points.nr, i;
	struct vmp_radix *v;

	for (i = 0; i < nr; i++)
		all[i] = (struct vmp_radix){ points[i].addr, i };
	v = sort_half(all, all, nr);
	for (i = 0; i < nr; i++)
		v[i].key = s->ranks[points[v[i].value].module];
	v = sort_half(all, v, nr);
	sort_same(s, v, nr);
	return v;
}

/* @place: filled */
static struct vmp_point *ordered(const struct vmp_points *p, uint32_t *place)
{
	struct sorting s = { .p = p, .ranks = vmp_strings_ranks(&p->m->strings) };
	struct vmp_radix *all = vmp_order_room(p->points.nr), *from;
	struct vmp_point *v = vmp_big_alloc(((size_t)p->points.nr + 1) * sizeof(*v));
	uint32_t i;

	if (!s.ranks || !all) {
		free(v);
		v = NULL;
	}
	from = v ? in_order_of_modules(&s, all) : NULL;
	for (i = 0; v && i < p->points.nr; i++) {
		v[i] = p->points.v[from[i].value];
		place[from[i].value] = i;
	}
	free((void *)s.ranks);
	free(all);
	return v;
}

static void move_addresses(void *arg, uint32_t i, uint32_t to)
{
	const struct sorting *s = arg;
	struct vmp_raw_address *v = s->p->addresses.v;

	for (; i < to; i++)
		v[i].point = s->place[v[i].point];
}

static void move_slots(void *arg, uint32_t i, uint32_t to)
{
	const struct sorting *s = arg;
	struct vmp_slot *v = s->p->by_place.v;

	for (; i < to; i++)
		if (v[i].number)
			v[i].number = s->place[v[i].number - 1] + 1;
}

int vmp_points_sort(struct vmp_points *p, uint32_t *place)
{
	struct vmp_point *v = ordered(p, place);
	struct sorting s = { .p = p, .place = place };

	if (!v)
		return -ENOMEM;
	free(p->points.v);
	p->points.v = v;
	p->points.room = p->points.nr + 1;
	vmp_parallel_ranges(p->addresses.nr, vmp_scan_threads(), move_addresses, &s);
	vmp_parallel_ranges(p->by_place.v ? p->by_place.mask + 1 : 0, vmp_scan_threads(), move_slots, &s);
	return 0;
}
