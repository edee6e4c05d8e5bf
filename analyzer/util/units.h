/* SPDX-License-Identifier: GPL-2.0-only */
/* units.h - amounts as people write them: 1ms, 90s, 4M, 1000000. */
#ifndef VMP_UNITS_H
#define VMP_UNITS_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_parse_time() - A time with its unit: ns us ms s min h; "1.5s" is allowed.
 * Return: 0, -EINVAL (no number, no unit, negative), -ERANGE (more than 10 years).
 */
int vmp_parse_time(const char *s, uint64_t *ns);

/** vmp_parse_size() - Bytes, with K, M, G for powers of 1024. Return: 0, -EINVAL, -ERANGE. */
int vmp_parse_size(const char *s, uint64_t *bytes);

/** vmp_parse_count() - A plain decimal number. Return: 0, -EINVAL, -ERANGE. */
int vmp_parse_count(const char *s, uint64_t *n);

/** vmp_format_size() - "12.3 MiB" into @dst (at least 16 bytes). Return: @dst. */
const char *vmp_format_size(char *dst, size_t size, uint64_t bytes);

/** vmp_format_time() - "1.5 ms", "2 min 5 s" into @dst (at least 24 bytes). Return: @dst. */
const char *vmp_format_time(char *dst, size_t size, uint64_t ns);

#endif
