/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * filter.h - which rows are wanted, as a user writes it:
 *
 *   process == "shor" && module ~ "libq*" && percent > 1
 *
 *   expression  = term { "||" term }
 *   term        = factor { "&&" factor }
 *   factor      = "!" factor | "(" expression ")" | comparison
 *   comparison  = column operator value
 *   operator    = "==" "!=" "~" "!~" (patterns as in the shell), "<" "<=" ">" ">=" (numbers)
 *   value       = number | word | string in quotes, single or double
 *
 * What the conditions joined by && at the top compare decides when they are
 * looked at: those on keys (process, module ...) before samples are put into
 * rows, so that they need not be shown; those on measures (percent, cpi ...)
 * on the finished rows.  A condition on both must have its keys among the rows' own.
 */
#ifndef VMP_FILTER_H
#define VMP_FILTER_H

#include "report/columns.h"

#define VMP_FILTER_NODES	128
#define VMP_FILTER_BYTES	4096

struct vmp_filter;

struct vmp_filter_error {
	size_t at;		/* byte of the text at which it fails */
	char text[160];		/* what is wrong, safe for a terminal */
};

/**
 * vmp_filter_parse() - Read an expression.
 * Return: 0; -EINVAL with @e set; -ENOMEM.
 */
int vmp_filter_parse(struct vmp_filter **f, const char *text, struct vmp_filter_error *e);
void vmp_filter_free(struct vmp_filter *f);

/** vmp_filter_keys() - Keys that it compares before rows are made: VMP_KEY() of each. */
uint32_t vmp_filter_keys(const struct vmp_filter *f);

/** vmp_filter_columns() - All columns that it compares: VMP_KEY() of each. */
uint32_t vmp_filter_columns(const struct vmp_filter *f);

/** vmp_filter_check() - Does it suit rows with these keys?  Return: 0, -EINVAL with @e set. */
int vmp_filter_check(const struct vmp_filter *f, uint32_t keys, struct vmp_filter_error *e);

/** vmp_filter_place() - The conditions on keys; the row has those of vmp_filter_keys().  NULL: 1. */
int vmp_filter_place(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
		     const struct vmp_row *row);

/** vmp_filter_row() - The conditions on measures, of a finished row.  NULL: 1. */
int vmp_filter_row(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_row *row);

/**
 * vmp_filter_measured() - The same for who has measures of another kind; the row has the keys.
 * @measure: By column, VMP_COL_NR of them; NAN: not known, which is equal to nothing.
 */
int vmp_filter_measured(const struct vmp_filter *f, const struct vmp_profile *p, const struct vmp_domain *d,
			const struct vmp_row *row, const double *measure);

#endif
