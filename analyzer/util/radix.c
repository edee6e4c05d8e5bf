// SPDX-License-Identifier: GPL-2.0-only
/* radix.c - least significant digit first; digits that are the same everywhere are passed over. */
#include "util/radix.h"

#define FEW	32	/* are put in order one by one */

static void insert_each(struct vmp_radix *a, uint64_t nr)
{
	struct vmp_radix x;
	uint64_t i, k;

	for (i = 1; i < nr; i++) {
		x = a[i];
		for (k = i; k && a[k - 1].key > x.key; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}

struct vmp_radix *vmp_radix_sort(struct vmp_radix *a, struct vmp_radix *room, uint64_t nr)
{
	uint64_t differ = 0, i;
	struct vmp_radix *swap;
	unsigned int shift;

	if (nr <= FEW) {
		insert_each(a, nr);
		return a;
	}
	for (i = 1; i < nr; i++)
		differ |= a[i].key ^ a[0].key;
	for (shift = 0; shift < 64; shift += 8) {
		uint64_t at[257] = { 0 };

		if (!(differ >> shift & 255))
			continue;
		for (i = 0; i < nr; i++)
			at[(a[i].key >> shift & 255) + 1]++;
		for (i = 1; i < 257; i++)
			at[i] += at[i - 1];
		for (i = 0; i < nr; i++)
			room[at[a[i].key >> shift & 255]++] = a[i];
		swap = a;
		a = room;
		room = swap;
	}
	return a;
}
