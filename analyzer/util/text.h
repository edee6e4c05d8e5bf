/* SPDX-License-Identifier: GPL-2.0-only */
/* text.h - foreign strings made safe for terminals, file names and JSON. */
#ifndef VMP_TEXT_H
#define VMP_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * vmp_text() - Copy foreign bytes so that a terminal only shows them.
 * @dst:  @size bytes, > 0; gets a NUL-terminated string, cut if need be
 *        (never inside a character).
 * @src:  @len bytes, anything.
 *
 * Well-formed UTF-8 of printable characters is kept; control characters,
 * broken UTF-8, and characters that reorder or hide text become \xNN.
 *
 * Return: @dst.
 */
const char *vmp_text(char *dst, size_t size, const void *src, size_t len);

/** vmp_text_plain() - Bytes at the beginning of @s that are printable ASCII. */
size_t vmp_text_plain(const char *s);

/**
 * vmp_file_part() - Make one file name component of a foreign name.
 * Only A-Z a-z 0-9 . _ - stay, others become '_'; a leading '.' too; "" is "_".
 * Return: @dst.
 */
const char *vmp_file_part(char *dst, size_t size, const char *src);

/**
 * vmp_utf8_char() - Length of the well-formed UTF-8 character at @p, its value in @out.
 * @len: Bytes there, > 0.
 * Return: 1 to 4; 0 for bytes that are none.
 */
size_t vmp_utf8_char(const uint8_t *p, size_t len, uint32_t *out);

/**
 * vmp_shell_word() - A foreign name as one word of a shell command, safe to show and to paste.
 * What cannot be shown becomes bash's $'\xNN'; a word that does not fit @size is "".
 * Return: @dst.
 */
const char *vmp_shell_word(char *dst, size_t size, const char *src);

/**
 * vmp_json_text() - Write a JSON string, quotes included; control characters (C0, C1) by number.
 * Bytes that are no UTF-8 are written as the character U+FFFD each.
 */
void vmp_json_text(FILE *out, const void *src, size_t len);

/** vmp_json_str() - The same for a NUL-terminated string. */
void vmp_json_str(FILE *out, const char *src);

#endif
