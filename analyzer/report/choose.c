// SPDX-License-Identifier: GPL-2.0-only
/* choose.c - see choose.h. */
#include "report/choose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/log.h"
#include "util/text.h"

static const char *safe(const char *s)
{
	static char buf[512];

	return vmp_text(buf, sizeof(buf), s, strlen(s));
}

static int in_list(const struct vmp_column_list *list, enum vmp_column c)
{
	int i;

	for (i = 0; i < list->nr; i++)
		if (list->column[i] == c)
			return 1;
	return 0;
}

static void append(struct vmp_column_list *list, enum vmp_column c)
{
	if (!in_list(list, c))
		list->column[list->nr++] = (uint8_t)c;
}

uint32_t vmp_choose_keys(const struct vmp_column_list *list)
{
	uint32_t keys = 0;
	int i;

	for (i = 0; i < list->nr; i++)
		keys |= VMP_IS_MEASURE(list->column[i]) ? 0 : VMP_KEY(list->column[i]);
	return keys;
}

int vmp_choose_columns(const char *option, const char *s, struct vmp_column_list *list)
{
	size_t len;
	int c;

	list->nr = 0;
	for (; *s; s += len + (s[len] == ',')) {
		len = strcspn(s, ",");
		c = vmp_column_find(s, len);
		if (c < 0) {
			vmp_err("--%s: no column is called '%.*s'; there are %s", option, (int)strcspn(safe(s), ","), safe(s), vmp_column_names());
			return -EINVAL;
		}
		append(list, (enum vmp_column)c);
	}
	return 0;
}

int vmp_choose_sort(const char *s, struct vmp_options *o)
{
	size_t len, name;
	int c;

	o->nr_sort = 0;
	for (; *s; s += len + (s[len] == ',')) {
		struct vmp_sort *key = &o->sort[o->nr_sort];
		size_t way;

		len = strcspn(s, ",");
		name = strcspn(s, ",:");
		way = len - name;
		c = vmp_column_find(s, name);
		if (c < 0 || o->nr_sort == VMP_SORT_KEYS ||
		    (way && !(way == 4 && !strncmp(s + name, ":asc", 4)) &&
		     !(way == 5 && !strncmp(s + name, ":desc", 5)))) {
			vmp_err("cannot sort by '%s'; --sort takes %s, with commas between, each with :asc or :desc if wanted", safe(s), vmp_column_names());
			return -EINVAL;
		}
		*key = (struct vmp_sort){ (uint8_t)c, way ? way == 4 : !VMP_IS_MEASURE(c) };
		o->nr_sort++;
	}
	return 0;
}

int vmp_choose_filter(const char *s, uint32_t keys, struct vmp_filter **f)
{
	char shown[VMP_FILTER_BYTES], before[VMP_FILTER_BYTES];
	struct vmp_filter_error e;
	int err = vmp_filter_parse(f, s, &e);

	if (!err) {
		err = vmp_filter_check(*f, keys, &e);
		if (!err)
			return 0;
		vmp_filter_free(*f);
		*f = NULL;
	}
	if (err != -EINVAL)
		return err;
	vmp_text(shown, sizeof(shown), s, strlen(s));
	vmp_text(before, sizeof(before), s, e.at < strlen(s) ? e.at : strlen(s));
	vmp_err("--filter, character %zu: %s\n  %s\n  %*s^", e.at + 1, e.text, shown, vmp_text_width(before), "");
	return -EINVAL;
}

/* -------------------------------------------------------------------- all together */

static const enum vmp_column by_function[] = { VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_PROCESS };
static const enum vmp_column by_process[] = { VMP_COL_PROCESS, VMP_COL_PID };
static const enum vmp_column by_module[] = { VMP_COL_MODULE, VMP_COL_SIDE };
static const enum vmp_column by_vcpu[] = { VMP_COL_VCPU };
static const enum vmp_column by_exit[] = { VMP_COL_EXIT, VMP_COL_SIDE };
static const enum vmp_column of_exits[] = { VMP_COL_EXIT, VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_PROCESS };
static const enum vmp_column of_thieves[] = { VMP_COL_VCPU, VMP_COL_PROCESS, VMP_COL_FUNCTION, VMP_COL_MODULE };
static const enum vmp_column of_waiters[] = { VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_PROCESS, VMP_COL_VCPU, VMP_COL_THIEF };
static const enum vmp_column of_tree[] = { VMP_COL_PROCESS, VMP_COL_THREAD, VMP_COL_MODULE, VMP_COL_FUNCTION };
/* a thread has another number the next time */
static const enum vmp_column of_diff[] = { VMP_COL_PROCESS, VMP_COL_MODULE, VMP_COL_FUNCTION };

#define LIST(list, keys) put(list, keys, sizeof(keys) / sizeof((keys)[0]))

static void put(struct vmp_column_list *list, const enum vmp_column *c, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		append(list, c[i]);
}

/* One of the sets that have names */
static int named(const char *s, struct vmp_column_list *list, struct vmp_options *o)
{
	static const struct {
		const char *name;
		uint32_t by;
		const enum vmp_column *shown;
		size_t nr;
	} sets[] = {
		{ "function", VMP_BY_FUNCTION, by_function, 3 }, { "process", VMP_BY_PROCESS, by_process, 2 },
		{ "module", VMP_BY_MODULE, by_module, 2 }, { "vcpu", VMP_BY_VCPU, by_vcpu, 1 },
		{ "exit", VMP_BY_EXIT, by_exit, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (strcmp(s, sets[i].name))
			continue;
		o->by = sets[i].by;
		put(list, sets[i].shown, sets[i].nr);
		return 0;
	}
	vmp_err("cannot group by '%s'; --by takes function, process, module, vcpu or exit, --group-by any keys", safe(s));
	return -EINVAL;
}

static void usual(const struct vmp_wishes *w, struct vmp_column_list *list, struct vmp_options *o)
{
	switch (o->view) {
	case VMP_VIEW_TIME:
		if (w->tree && w->diff)
			LIST(list, of_diff);
		else if (w->tree)
			LIST(list, of_tree);
		else
			LIST(list, by_function);
		break;
	case VMP_VIEW_EXITS:
		LIST(list, of_exits);
		break;
	case VMP_VIEW_THIEVES:
		LIST(list, of_thieves);
		break;
	case VMP_VIEW_WAITERS:
		LIST(list, of_waiters);
	}
	o->by = vmp_choose_keys(list);
	if (o->by == (VMP_BY_FUNCTION & ~VMP_KEY(VMP_COL_SIDE)) && !o->view)
		o->by = VMP_BY_FUNCTION;
}

/* What rows are told apart by, in order, into @keys and o->by */
static int group(const struct vmp_wishes *w, struct vmp_column_list *keys, struct vmp_options *o)
{
	struct vmp_column_list columns = { 0 };
	int i;

	if (w->by && (w->group_by || w->tree)) {
		vmp_err("--by has sets of keys for tables; with --group-by or --tree leave it out");
		return -EINVAL;
	}
	if (w->by)
		return named(w->by, keys, o);
	if (w->group_by) {
		if (vmp_choose_columns("group-by", w->group_by, keys))
			return -EINVAL;
	} else if (w->columns && !w->tree) {
		if (vmp_choose_columns("columns", w->columns, &columns))
			return -EINVAL;
		for (i = 0; i < columns.nr; i++)
			if (!VMP_IS_MEASURE(columns.column[i]))
				append(keys, columns.column[i]);
	}
	for (i = 0; i < keys->nr; i++) {
		if (VMP_IS_MEASURE(keys->column[i])) {
			vmp_err("--group-by takes keys; %s is a number of a row: put it into --columns", vmp_column_name(keys->column[i]));
			return -EINVAL;
		}
	}
	o->by = vmp_choose_keys(keys);
	if (!o->by)
		usual(w, keys, o);
	return 0;
}

/* What is shown: as wished, else samples, share, and the keys */
static int shown(const struct vmp_wishes *w, const struct vmp_column_list *keys, const struct vmp_options *o,
		 struct vmp_column_list *list)
{
	const char *lack;
	uint32_t missing;
	int i;

	if (!w->columns && w->diff) {
		append(list, VMP_COL_BEFORE);
		append(list, VMP_COL_AFTER);
		append(list, VMP_COL_DELTA);
	} else if (!w->columns) {
		append(list, VMP_COL_SAMPLES);
		append(list, VMP_COL_PERCENT);
		if (o->view == VMP_VIEW_EXITS)
			append(list, VMP_COL_CYCLES);
	} else if (vmp_choose_columns("columns", w->columns, list)) {
		return -EINVAL;
	}
	for (i = 0; i < keys->nr && !w->tree && !w->columns; i++)
		append(list, keys->column[i]);
	missing = vmp_choose_keys(list) & ~o->by & ~VMP_KEY(VMP_COL_DOMAIN);
	if (!missing)
		return 0;
	lack = vmp_column_name((enum vmp_column)__builtin_ctz(missing));
	vmp_err("--columns: rows have no %s here; add %s to --group-by", lack, lack);
	return -EINVAL;
}

static int limit(const char *s, double *percent)
{
	char *end;

	*percent = s ? strtod(s, &end) : 0;
	if (!s || (end != s && !strcmp(end, *end == '%' ? "%" : "") && *percent >= 0 && *percent <= 100))
		return 0;
	vmp_err("--percent-limit takes percent, from 0 to 100, such as 0.5, not '%s'", safe(s));
	return -EINVAL;
}

/* All columns that are needed */
static uint32_t used(const struct vmp_options *o, const struct vmp_column_list *list)
{
	uint32_t all = vmp_filter_columns(o->filter);
	int i;

	for (i = 0; i < list->nr; i++)
		all |= VMP_KEY(list->column[i]);
	for (i = 0; i < o->nr_sort; i++)
		all |= VMP_KEY(o->sort[i].column);
	return all;
}

void vmp_choose_weight(struct vmp_options *o, const struct vmp_render *r)
{
	const uint32_t all = used(o, &r->columns);

	o->weighted = (all & VMP_COLUMNS_WEIGHTED) != 0;
	o->rated = (all & VMP_COLUMNS_RATED) != 0;
}

int vmp_choose_view(int exits, int steal, int diff, enum vmp_view *view)
{
	*view = exits ? VMP_VIEW_EXITS : steal ? VMP_VIEW_THIEVES : VMP_VIEW_TIME;
	if (exits + steal + diff <= 1)
		return 0;
	vmp_err("--exits, --steal and --diff are reports of their own; give one of them");
	return -EINVAL;
}

int vmp_choose(const struct vmp_wishes *w, struct vmp_options *o, struct vmp_render *r)
{
	struct vmp_column_list keys = { 0 };
	struct vmp_filter *f = NULL;
	int err;

	if (group(w, &keys, o) || shown(w, &keys, o, &r->columns) || limit(w->percent_limit, &o->percent_limit))
		return -EINVAL;
	if (w->sort && vmp_choose_sort(w->sort, o))
		return -EINVAL;
	if (w->diff && !o->nr_sort)
		o->sort[o->nr_sort++] = (struct vmp_sort){ VMP_COL_DELTA, .size = 1 };
	r->usual = !w->columns;
	err = w->filter ? vmp_choose_filter(w->filter, o->by, &f) : 0;
	if (err)
		return err;
	o->filter = f;
	vmp_choose_weight(o, r);
	if (used(o, &r->columns) & VMP_COLUMNS_COMPARED && !w->diff) {
		vmp_err("before, after and delta are columns of --diff");
		return -EINVAL;
	}
	if (w->tree) {
		/* leaves may be small; what they add up to is what counts */
		r->levels = keys;
		r->percent_limit = o->percent_limit;
		o->percent_limit = 0;
	}
	return 0;
}
