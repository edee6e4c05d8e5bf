/* SPDX-License-Identifier: GPL-2.0-only */
/* order.h - sorting what points.c numbers as it meets it; vmp_points_sort() (points.h) is done here. */
#ifndef VMP_BLOCKS_ORDER_H
#define VMP_BLOCKS_ORDER_H

#include "blocks/points.h"
#include "util/radix.h"

/** vmp_order_room() - Two halves: @nr elements, and room to sort them.  Return: the caller's, for free(); NULL: no memory. */
struct vmp_radix *vmp_order_room(uint32_t nr);

/**
 * vmp_order_addresses() - All addresses by context and address.
 * @all: vmp_order_room() for as many.
 * Return: the half of @all that has their numbers, as values.
 */
struct vmp_radix *vmp_order_addresses(const struct vmp_points *p, struct vmp_radix *all);

#endif
