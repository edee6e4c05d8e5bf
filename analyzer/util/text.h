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

/**
 * vmp_text_hex() - Bytes, such as a build-id, as lower-case hexadecimal digits.
 * @dst: 2 * @len + 1 bytes.
 * Return: @dst.
 */
char *vmp_text_hex(char *dst, const uint8_t *src, size_t len);

/**
 * vmp_text_unhex() - Read a number in hexadecimal digits of either case.
 * @s:   Where it begins; moved behind it on success.
 * @end: No byte from here on is read.
 *
 * Return: 1, or 0 (no digit, or more than 64 bits).
 */
int vmp_text_unhex(const char **s, const char *end, uint64_t *value);

/** vmp_text_plain() - Bytes at the beginning of @s that are printable ASCII. */
size_t vmp_text_plain(const char *s);

/** vmp_text_width() - Places that a safe string takes on a terminal. */
int vmp_text_width(const char *s);

/**
 * vmp_text_cut() - A safe string in at most @width places, with an ellipsis where its middle was.
 * @dst: @size bytes, > 0; it is the shorter for a string that does not fit there.
 * Return: places that it takes now.
 */
int vmp_text_cut(char *dst, size_t size, const char *src, int width);

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
