/* SPDX-License-Identifier: GPL-2.0-only */
/* big.h - memory for large tables that are looked up at random: in huge pages where the kernel has them. */
#ifndef VMP_BIG_H
#define VMP_BIG_H

#include <stddef.h>

/** vmp_big_alloc() - From the beginning of a line of cache on, not cleared; free() gives it back.  NULL: no memory. */
void *vmp_big_alloc(size_t bytes);

/** vmp_big_zeroed() - The same, cleared. */
void *vmp_big_zeroed(size_t nr, size_t size);

#endif
