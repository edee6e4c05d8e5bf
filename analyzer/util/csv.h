/* SPDX-License-Identifier: GPL-2.0-only */
/* csv.h - cells of comma-separated values (RFC 4180). */
#ifndef VMP_CSV_H
#define VMP_CSV_H

#include <stdio.h>

/**
 * vmp_csv_text() - Write a foreign string as one cell.
 * What a spreadsheet would take for a formula gets an apostrophe in front; control characters
 * become \xNN.
 */
void vmp_csv_text(FILE *out, const char *s);

#endif
