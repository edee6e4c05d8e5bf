/* SPDX-License-Identifier: GPL-2.0-only */
/* radix.h - sorting by a number. */
#ifndef VMP_RADIX_H
#define VMP_RADIX_H

#include <stdint.h>

struct vmp_radix {
	uint64_t key;
	uint64_t value;		/* what goes along with it */
};

/**
 * vmp_radix_sort() - Sort by key; what has the same keeps its order.
 * @a:    @nr of them.
 * @room: For as many again.
 * Return: @a or @room, wherever they are sorted now.
 */
struct vmp_radix *vmp_radix_sort(struct vmp_radix *a, struct vmp_radix *room, uint64_t nr);

#endif
