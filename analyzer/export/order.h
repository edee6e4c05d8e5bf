/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * order.h - samples of several rings put in order of time, in bounded memory.
 *
 * A capture holds each ring's records in order, the rings' blocks one after
 * the other.  A heap of VMP_ORDER_ROOM entries holds back what came, so a
 * sample may lie that many samples too far behind; a later one is passed on at
 * once and counted.
 */
#ifndef VMP_ORDER_H
#define VMP_ORDER_H

#include <stdint.h>

#define VMP_ORDER_ROOM	(1U << 20)	/* 16 MiB */

struct vmp_moment {
	uint64_t tsc;
	uint32_t line;		/* the caller's */
	uint32_t seq;		/* of equal times the one that came first */
};

struct vmp_order {
	struct vmp_moment *heap;
	uint32_t nr, room, seq;
	uint32_t limit;		/* entries that are held back; may be lowered at first */
	uint64_t last;		/* time passed on last */
	uint64_t late;
	int (*fn)(void *arg, const struct vmp_moment *m);
	void *arg;
};

/** vmp_order_init() - @fn gets the moments in order. */
void vmp_order_init(struct vmp_order *o, int (*fn)(void *arg, const struct vmp_moment *m), void *arg);
void vmp_order_deinit(struct vmp_order *o);

/** vmp_order_add() - One more.  Return: 0, -ENOMEM, or the first non-zero result of fn. */
int vmp_order_add(struct vmp_order *o, uint64_t tsc, uint32_t line);

/** vmp_order_flush() - Pass on all that is held back.  Return: as vmp_order_add(). */
int vmp_order_flush(struct vmp_order *o);

#endif
