// SPDX-License-Identifier: GPL-2.0-only
/* order.c - a binary heap, the earliest on top. */
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
	free(o->heap);
	o->heap = NULL;
}

static int grow(struct vmp_order *o)
{
	uint32_t room = o->room ? 2 * o->room : FIRST_ROOM;
	struct vmp_moment *heap = realloc(o->heap, room * sizeof(*heap));

	if (!heap)
		return -ENOMEM;
	o->heap = heap;
	o->room = room;
	return 0;
}

static int before(const struct vmp_moment *a, const struct vmp_moment *b)
{
	/* seq may wrap: only neighbours are compared by it */
	return a->tsc != b->tsc ? a->tsc < b->tsc : (int32_t)(a->seq - b->seq) < 0;
}

static int pop(struct vmp_order *o)
{
	struct vmp_moment top = o->heap[0], x = o->heap[--o->nr];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < o->nr) {
		child += child + 1 < o->nr && before(&o->heap[child + 1], &o->heap[child]);
		if (!before(&o->heap[child], &x))
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = x;
	if (top.tsc < o->last)
		o->late++;
	else
		o->last = top.tsc;
	return o->fn(o->arg, &top);
}

int vmp_order_add(struct vmp_order *o, uint64_t tsc, uint32_t line)
{
	struct vmp_moment x = { .tsc = tsc, .line = line, .seq = o->seq++ };
	uint32_t i, parent;
	int err = 0;

	if (o->nr == o->limit)
		err = pop(o);
	else if (o->nr == o->room)
		err = grow(o);
	if (err)
		return err;
	for (i = o->nr++; i; i = parent) {
		parent = (i - 1) / 2;
		if (!before(&x, &o->heap[parent]))
			break;
		o->heap[i] = o->heap[parent];
	}
	o->heap[i] = x;
	return 0;
}

int vmp_order_flush(struct vmp_order *o)
{
	int err = 0;

	while (!err && o->nr)
		err = pop(o);
	return err;
}
