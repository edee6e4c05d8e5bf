/* SPDX-License-Identifier: GPL-2.0-only */
/* strings.h - each distinct string once, known by a number; 0 is the empty string. */
#ifndef VMP_STRINGS_H
#define VMP_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "model/hash.h"
#include "model/vec.h"

/* id 0: free */
struct vmp_strings_slot {
	uint32_t hash, id;
};

struct vmp_strings {
	VMP_VEC(const char *) str;
	struct vmp_strings_slot *slots;
	uint32_t mask;
	char *chunk;			/* where new strings are put */
	size_t chunk_left;
	VMP_VEC(char *) chunks;
};

int vmp_strings_init(struct vmp_strings *s);
void vmp_strings_deinit(struct vmp_strings *s);

/**
 * vmp_strings_add() - Number of a string.
 * @p: @len bytes; what follows a NUL among them is left out.  Other bytes
 *     stay as they are: escape them before they are shown.
 *
 * Return: the number; 0 also when there is no memory, with @err set to -ENOMEM.
 */
uint32_t vmp_strings_add(struct vmp_strings *s, const char *p, size_t len, int *err);

/**
 * vmp_strings_ranks() - Place of each string among all, as strcmp() has it.
 * Return: by string number, for free(); NULL without memory.
 */
uint32_t *vmp_strings_ranks(const struct vmp_strings *s);

/** vmp_strings_get() - The string, NUL-terminated; lives as long as @s. */
static inline const char *vmp_strings_get(const struct vmp_strings *s, uint32_t id)
{
	return id < s->str.nr ? s->str.v[id] : "";
}

#endif
