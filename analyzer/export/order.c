// SPDX-License-Identifier: GPL-2.0-only
/*
 * order.c - rings' blocks are runs that are in order already: they are merged.
 *
 * What was sorted before stays in front, what came since behind it.  When there is no more room both become
 * one, and the first quarter is passed on.
 */
#include "export/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM	1024U

void vmp_order_init(struct vmp_order *o, int (*fn)(void *arg, const struct vmp_moment *m), void *arg)
{
	memset(o, 0, sizeof(*o));
	o->fn = fn;
	o->arg = arg;
	o->limit = VMP_ORDER_ROOM;
}

void vmp_order_deinit(struct vmp_order *o)
{
	free(o->v);
	free(o->spare);
	o->v = o->spare = NULL;
}

static int grow(struct vmp_order *o)
{
	uint32_t room = o->room ? 2 * o->room : FIRST_ROOM;
	struct vmp_moment *v = realloc(o->v, room * sizeof(*v));

	if (!v)
		return -ENOMEM;
	o->v = v;
	v = realloc(o->spare, room * sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->spare = v;
	o->room = room;
	return 0;
}

/* Behind the moments from @i on that are in order */
static uint32_t run_end(const struct vmp_moment *v, uint32_t i, uint32_t nr)
{
	while (++i < nr && v[i - 1].tsc <= v[i].tsc)
		;
	return i;
}

/* v[0 .. a) and v[a .. b), each in order, as one */
static void merge(struct vmp_moment *to, const struct vmp_moment *v, uint32_t a, uint32_t b)
{
	uint32_t i = 0, k = a;

	while (i < a && k < b)
		*to++ = v[k].tsc < v[i].tsc ? v[k++] : v[i++];
	memcpy(to, &v[i], (a - i) * sizeof(*v));
	memcpy(to + (a - i), &v[k], (b - k) * sizeof(*v));
}

/* What came since, in order, into o->spare */
static void sort_new(struct vmp_order *o)
{
	struct vmp_moment *from = o->v + o->sorted, *to = o->spare, *swap;
	uint32_t nr = o->nr - o->sorted, runs, i, a, b;

	do {
		for (runs = i = 0; i < nr; i = b, runs++) {
			a = run_end(from, i, nr);
			b = a < nr ? run_end(from, a, nr) : nr;
			merge(to + i, from + i, a - i, b - i);
		}
		swap = from;
		from = to;
		to = swap;
	} while (runs > 1);
	if (from != o->spare)
		memcpy(o->spare, from, nr * sizeof(*from));
}

/* Both parts as one, from behind: of equal times the earlier one stays in front */
static void sort(struct vmp_order *o)
{
	uint32_t old = o->sorted, new = o->nr - o->sorted, to = o->nr;

	sort_new(o);
	while (new)
		o->v[--to] = old && o->v[old - 1].tsc > o->spare[new - 1].tsc ? o->v[--old] : o->spare[--new];
	o->sorted = o->nr;
}

static int pass_on(struct vmp_order *o, uint32_t nr)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		if (o->v[i].tsc < o->last)
			o->late++;
		else
			o->last = o->v[i].tsc;
		err = o->fn(o->arg, &o->v[i]);
	}
	o->nr = o->sorted -= nr;
	memmove(o->v, o->v + nr, o->nr * sizeof(*o->v));
	return err;
}

int vmp_order_add(struct vmp_order *o, const struct vmp_moment *m)
{
	int err = 0;

	if (o->nr == o->limit) {
		sort(o);
		err = pass_on(o, o->limit / 4);
	} else if (o->nr == o->room) {
		err = grow(o);
	}
	if (!err)
		o->v[o->nr++] = *m;
	return err;
}

int vmp_order_flush(struct vmp_order *o)
{
	if (!o->nr)
		return 0;
	sort(o);
	return pass_on(o, o->nr);
}
