/* SPDX-License-Identifier: GPL-2.0-only */
/* group.h - functions that share code as one, the guest's user code and its kernel. */
#ifndef TRUTH_GROUP_H
#define TRUTH_GROUP_H

#include "join.h"

/* Of functions that share code: the sum, named after the largest */
struct group {
	uint32_t row;
	uint64_t cycles_at, insns_at, insns, cycles, samples, insn_samples;
};

/* The guest's user code, and its kernel: shares are judged within either */
enum { USER, KERNEL, PARTS };

/**
 * groups_make() - One for each row, by exact cycles, the most first; those of rows that joined another are empty.
 * @nr: How many.
 *
 * Return: to be freed; NULL: no memory.
 */
struct group *groups_make(const struct join *j, uint32_t *nr);

/**
 * groups_across_programs() - Those of user code by their functions, whichever programs have them, by exact cycles, the most first;
 * named after one of them.
 * @g: So many (@nr).
 * @shared: How many there are.
 *
 * Return: to be freed; NULL: no memory.
 */
struct group *groups_across_programs(const struct join *j, const struct group *g, uint32_t nr, uint32_t *shared);

/** group_part() - USER or KERNEL. */
int group_part(const struct join *j, const struct group *g);

/** group_text() - A string of the model's, escaped. */
const char *group_text(const struct join *j, uint32_t string, char *buf, size_t size);

#endif
