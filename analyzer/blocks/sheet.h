/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sheet.h - a table of figures as text, CSV or JSON, in an order by its columns;
 * every foreign string is escaped as the format wants it.
 */
#ifndef VMP_SHEET_H
#define VMP_SHEET_H

#include <stdint.h>
#include <stdio.h>

#include "util/terminal.h"

enum vmp_sheet_kind {
	VMP_SHEET_TEXT,
	VMP_SHEET_REAL,		/* NAN: not known */
	VMP_SHEET_HEX,		/* an address */
};

enum vmp_sheet_flag {
	VMP_SHEET_HIDDEN = 1,	/* not in text */
	VMP_SHEET_SHARE = 2,	/* a percentage that is coloured on a terminal */
};

struct vmp_sheet_column {
	const char *key, *title;
	enum vmp_sheet_kind kind;
	int digits;		/* of a real, behind the point */
	unsigned int flags;
	unsigned int spare;	/* not 0: leaves where a terminal is too narrow, the largest first, those that are the same together */
};

/* The member of the column's kind */
struct vmp_sheet_cell {
	const char *text;
	double real;
	uint64_t hex;
};

struct vmp_sheet {
	const struct vmp_sheet_column *columns;
	int nr;
	void (*cell)(void *arg, uint32_t row, int column, struct vmp_sheet_cell *cell);
	void *arg;
	uint32_t *rows, nr_rows;	/* numbers for cell(), in order */
	uint32_t hidden;		/* bits of columns that are not in text this time ... */
	uint32_t absent;		/* ... and of those that mean nothing, and are nowhere */
};

/**
 * vmp_sheet_sort() - Order the rows.
 * @keys:  "cycles:asc,function"; numbers are largest first unless told otherwise.
 * @limit: So many are shown: only they are in order by all keys.  0: all.
 * Rows that are the same by all of them stay as they are.
 * Return: 0, -EINVAL (told), -ENOMEM.
 */
int vmp_sheet_sort(struct vmp_sheet *s, const char *keys, uint64_t limit);

/** vmp_sheet_text() - Titles and the first @limit rows (0 all), then how many more there are, and columns for which there is no room. */
void vmp_sheet_text(FILE *out, const struct vmp_sheet *s, const struct vmp_look *look, uint64_t limit);

/** vmp_sheet_csv(), vmp_sheet_json() - The first @limit rows with all columns; an array of objects. */
void vmp_sheet_csv(FILE *out, const struct vmp_sheet *s, uint64_t limit);
void vmp_sheet_json(FILE *out, const struct vmp_sheet *s, uint64_t limit);

/** vmp_sheet_real() - A number in JSON; null for NAN. */
void vmp_sheet_real(FILE *out, double real, int digits);

#endif
