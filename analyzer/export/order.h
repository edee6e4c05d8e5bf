/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - samples of several rings put in order of time, in bounded memory.
 *
 * A capture holds each ring's records in order, the rings' blocks one after
 * the other.  VMP_ORDER_ROOM of them are held back, so a sample may lie three
 * quarters of that many samples too far behind; a later one is passed on all the
 * same and counted.
 */
#ifndef VMP_ORDER_H
#define VMP_ORDER_H

#include <stdint.h>

#define VMP_ORDER_ROOM	(1U << 20)	/* 48 MiB */

struct vmp_moment {
	uint64_t tsc;
	uint64_t addr;		/* these three are the caller's */
	uint32_t line, more;
};

struct vmp_order {
	struct vmp_moment *v, *spare;
	uint32_t nr, room;
	uint32_t sorted;	/* so many of the first ones are in order */
	uint32_t limit;		/* so many are held back; may be lowered at first */
	uint64_t last;		/* time passed on last */
	uint64_t late;
	int (*fn)(void *arg, const struct vmp_moment *m);
	void *arg;
};

/** vmp_order_init() - @fn gets the moments in order; of equal times as they came. */
void vmp_order_init(struct vmp_order *o, int (*fn)(void *arg, const struct vmp_moment *m), void *arg);
void vmp_order_deinit(struct vmp_order *o);

/** vmp_order_add() - One more.  Return: 0, -ENOMEM, or the first non-zero result of fn. */
int vmp_order_add(struct vmp_order *o, const struct vmp_moment *m);

/** vmp_order_flush() - Pass on all that is held back.  Return: as vmp_order_add(). */
int vmp_order_flush(struct vmp_order *o);

#endif
