/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vec.h - growing arrays: VMP_VEC(type) name; then name.v[0 .. name.nr).
 *
 * Zeroed memory is an empty array.  Pointers into v are good until the next push.
 */
#ifndef VMP_VEC_H
#define VMP_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define VMP_VEC(type) struct { type *v; uint32_t nr, room; }

#define VMP_VEC_HUGE	(8UL << 20)	/* bytes from which on it is in huge pages, where the kernel has them */
#define VMP_VEC_FIRST	24	/* bytes that malloc() gives at least; there are millions of vectors with one element */

/* From the page on in which it begins: of a mapping with two kinds of pages realloc() would not move the pages, but copy all that is there */
static inline void vmp_vec_hint(void *v, size_t bytes)
{
	const uintptr_t page = 4096, from = (uintptr_t)v & ~(page - 1);

	madvise((void *)from, (uintptr_t)v + bytes - from, MADV_HUGEPAGE);
}

static inline int vmp_vec_grow(void **v, uint32_t *room, uint32_t need, size_t size)
{
	uint32_t n = *room ? *room : size < VMP_VEC_FIRST ? (uint32_t)(VMP_VEC_FIRST / size) : 1;
	void *p;

	while (n < need) {
		if (n > UINT32_MAX / 2)
			return -ENOMEM;
		n *= 2;
	}
	p = realloc(*v, n * size);
	if (!p)
		return -ENOMEM;
	if (n * size >= VMP_VEC_HUGE)
		vmp_vec_hint(p, n * size);
	*v = p;
	*room = n;
	return 0;
}

/* 0 or -ENOMEM: room for @n more elements */
#define vmp_vec_reserve(vec, n) \
	((vec)->room - (vec)->nr >= (n) ? 0 : \
	 (n) > UINT32_MAX - (vec)->nr ? -ENOMEM : \
	 vmp_vec_grow((void **)&(vec)->v, &(vec)->room, (vec)->nr + (n), sizeof(*(vec)->v)))

/* 0 or -ENOMEM: append a copy of @elem */
#define vmp_vec_push(vec, elem) \
	(vmp_vec_reserve(vec, 1) ? -ENOMEM : ((vec)->v[(vec)->nr++] = (elem), 0))

/* Give back what room is left */
#define vmp_vec_trim(vec) \
	do { \
		void *trimmed = (vec)->nr ? realloc((vec)->v, (vec)->nr * sizeof(*(vec)->v)) : NULL; \
		if (trimmed) { \
			(vec)->v = trimmed; \
			(vec)->room = (vec)->nr; \
		} \
	} while (0)

#define vmp_vec_free(vec) \
	do { free((vec)->v); (vec)->v = NULL; (vec)->nr = (vec)->room = 0; } while (0)

#endif
