// SPDX-License-Identifier: GPL-2.0-only
/* big.c - small tables are not worth a page of 2 MiB. */
#include "util/big.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES	64U
#define HUGE_BYTES	(2UL << 20)

void *vmp_big_alloc(size_t bytes)
{
	size_t unit = bytes < HUGE_BYTES ? LINE_BYTES : HUGE_BYTES;
	void *p;

	if (bytes > SIZE_MAX - unit)
		return NULL;
	bytes = (bytes + !bytes + unit - 1) / unit * unit;
	p = aligned_alloc(unit, bytes);
	if (!p)
		return NULL;
	if (unit == HUGE_BYTES)
		madvise(p, bytes, MADV_HUGEPAGE);	/* without it all is as it was, only slower */
	return p;
}

void *vmp_big_zeroed(size_t nr, size_t size)
{
	void *p = nr && size > SIZE_MAX / nr ? NULL : vmp_big_alloc(nr * size);

	return p ? memset(p, 0, nr * size) : NULL;
}
