// SPDX-License-Identifier: GPL-2.0-only
/* views.c - see views.h. */
#include "tui/views.h"

#include <errno.h>

#include "util/log.h"

static const struct {
	const char *name;
	enum vmp_view view;
} views[] = {
	[VMP_TUI_TIME] = { "time", VMP_VIEW_TIME },
	[VMP_TUI_EXITS] = { "exits", VMP_VIEW_EXITS },
	[VMP_TUI_STEAL] = { "steal", VMP_VIEW_THIEVES },
	[VMP_TUI_WAITERS] = { "waiters", VMP_VIEW_WAITERS },
	[VMP_TUI_DIFF] = { "diff", VMP_VIEW_TIME },
};

const char *vmp_view_name(enum vmp_tui_view view)
{
	return views[view].name;
}

/* As it is when nobody has changed it yet */
static int usual(const struct vmp_tui *t, enum vmp_tui_view view, struct vmp_options *o, struct vmp_render *r)
{
	const struct vmp_wishes w = { .tree = 1, .diff = view == VMP_TUI_DIFF };

	*o = t->options;
	*r = t->render;
	o->view = views[view].view;
	o->nr_sort = 0;
	r->columns.nr = r->levels.nr = 0;
	r->path_before = w.diff ? t->title_before : NULL;
	return vmp_choose(&w, o, r);
}

int vmp_views_switch(struct vmp_views *v, struct vmp_tui *t, enum vmp_tui_view to)
{
	struct vmp_filter *filter = (struct vmp_filter *)t->options.filter;
	struct vmp_options o;
	struct vmp_render r;
	struct vmp_filter_error e;
	int err;

	if (to == VMP_TUI_DIFF && !t->before) {
		vmp_err("to compare, name two captures: vmprof tui --diff EARLIER LATER");
		return -ENOENT;
	}
	err = usual(t, to, &o, &r);
	if (err)
		return err;
	v->kept[t->view].options = t->options;
	v->kept[t->view].render = t->render;
	v->kept[t->view].left = 1;
	if (v->kept[to].left) {
		o = v->kept[to].options;
		r = v->kept[to].render;
	}
	o.filter = filter;
	if (vmp_filter_check(filter, vmp_by(&o), &e) ||
	    (to != VMP_TUI_DIFF && vmp_filter_columns(filter) & VMP_COLUMNS_COMPARED)) {
		vmp_info("the filter does not suit this view, and is left out");
		vmp_filter_free(filter);
		o.filter = NULL;
	}
	vmp_choose_weight(&o, &r);
	t->options = o;
	t->render = r;
	t->view = to;
	return 0;
}
