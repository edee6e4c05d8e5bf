/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perfmap.h - names of code made at run time, out of text as in /tmp/perf-PID.map.
 *
 * A line is "start size name", numbers hexadecimal.  The program adds lines as
 * it makes functions and tells of none that goes: where lines overlap, the
 * later one holds.
 */
#ifndef VMP_PERFMAP_H
#define VMP_PERFMAP_H

#include "model/symtab.h"

/* What a reader of lines may take yet, and what it met */
struct vmp_perfmap_counts {
	uint32_t room;		/* lines; one less for each that is taken */
	uint64_t over;		/* lines left out for want of room */
	uint64_t bad;		/* lines that make no sense */
};

/**
 * vmp_perfmap_lines() - Add the symbols of some lines, in their order.
 * @t:    Not sorted yet; names are borrowed from @text.
 * @text: @len bytes, which must outlive @t; line ends become NULs.
 *        A last line without an end is left out.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_perfmap_lines(struct vmp_symtab *t, char *text, size_t len, struct vmp_perfmap_counts *counts);

/**
 * vmp_perfmap_sort() - After the last line: a table to be searched, where nothing overlaps.
 * Return: 0 or -ENOMEM.
 */
int vmp_perfmap_sort(struct vmp_symtab *t);

#endif
