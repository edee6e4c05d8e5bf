/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * choose.h - what a user writes for --group-by, --columns, --sort and --filter,
 * as options; what is wrong with it is told.
 */
#ifndef VMP_CHOOSE_H
#define VMP_CHOOSE_H

#include "report/render.h"

/* As given on the command line; NULL: not given */
struct vmp_wishes {
	const char *by, *group_by, *columns, *sort, *filter, *percent_limit;
	int tree, diff;
};

/**
 * vmp_choose() - Wishes into options.
 * @o: Its by, sort, filter, percent_limit and weighted are set; its view is given.
 *     The filter is the caller's to free.
 * @r: Its columns and levels are set.
 * Return: 0; -EINVAL (told); -ENOMEM.
 */
int vmp_choose(const struct vmp_wishes *w, struct vmp_options *o, struct vmp_render *r);

/** vmp_choose_view() - Of --exits, --steal and --diff, one at most.  Return: 0, or -EINVAL (told). */
int vmp_choose_view(int exits, int steal, int diff, enum vmp_view *view);

/** vmp_choose_columns() - "process,module".  Return: 0, or -EINVAL (told, as of --@option). */
int vmp_choose_columns(const char *option, const char *s, struct vmp_column_list *list);

/** vmp_choose_sort() - "percent:asc,module".  Return: 0, or -EINVAL (told). */
int vmp_choose_sort(const char *s, struct vmp_options *o);

/** vmp_choose_filter() - An expression; told where it is wrong.  Return: 0, -EINVAL, -ENOMEM. */
int vmp_choose_filter(const char *s, uint32_t keys, struct vmp_filter **f);

/** vmp_choose_weight() - Set weighted and rated by what is shown, sorted and filtered by. */
void vmp_choose_weight(struct vmp_options *o, const struct vmp_render *r);

/** vmp_choose_keys() - VMP_KEY() of those in a list that are keys. */
uint32_t vmp_choose_keys(const struct vmp_column_list *list);

#endif
