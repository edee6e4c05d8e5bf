/* SPDX-License-Identifier: GPL-2.0-only */
/* lines.h - the few lines of a text in /proc that are wanted, however long the others are. */
#ifndef VMP_LINES_H
#define VMP_LINES_H

#include <stddef.h>

#define VMP_LINES_BYTES_MAX	(1U << 20)	/* that are read of one text: a process may have 65,536 groups */

/**
 * vmp_lines_of() - Read the lines that begin with one of these words.
 * @words: NULL at the end.
 * @text:  Gets a newline, then the lines that fit into @size bytes with it and a NUL, each whole and in its order.
 *
 * Return: 0, -errno (@text has what was read until then), -EFBIG (too long to be read to its end).
 */
int vmp_lines_of(const char *path, const char *const *words, char *text, size_t size);

#endif
