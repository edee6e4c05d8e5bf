// SPDX-License-Identifier: GPL-2.0-only
/* tui.c - keys, prompts, and making the profile anew when one of them, or time, asks for it. */
#include "tui/tui.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tui/screen.h"
#include "report/diff.h"
#include "tui/view.h"
#include "tui/views.h"
#include "util/log.h"

struct run {
	struct vmp_tui *t;
	struct vmp_view_state s;
	struct vmp_views views;
	struct vmp_model *model;
	struct vmp_profile *profile;
	struct vmp_tree *tree;
	char filter[VMP_PROMPT_BYTES];	/* as it was written */
	char search[VMP_PROMPT_BYTES];
	uint64_t next_ms;		/* when the model is asked for again */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* While the screen is ours, what is told stands in its last line. */
static void to_message(void *arg, enum vmp_log_level level, const char *text)
{
	struct run *r = arg;

	(void)level;
	snprintf(r->s.message, sizeof(r->s.message), " %.*s", (int)strcspn(text, "\n"), text);
}

/* ---------------------------------------------------------------------- data */

static void drop(struct run *r, struct vmp_tree *tree, struct vmp_profile *profile)
{
	vmp_tree_destroy(tree);
	vmp_profile_destroy(profile);
	if (r->s.profile == profile)
		r->s.profile = NULL;
}

/* By the options as they are; in the view of differences with the rows of the other capture */
static int make_profile(const struct vmp_tui *t, struct vmp_model *m, struct vmp_profile **out)
{
	struct vmp_options o = t->options;
	struct vmp_profile *profile, *before = NULL;
	int err;

	o.all_rows = t->view == VMP_TUI_DIFF;
	err = vmp_profile_create(&profile, m, &o);
	if (err)
		return err;
	if (t->view == VMP_TUI_DIFF)
		err = vmp_profile_create(&before, t->before, &o);
	if (before)
		err = vmp_diff(profile, before, &t->options);
	vmp_profile_destroy(before);
	if (err)
		vmp_profile_destroy(profile);
	else
		*out = profile;
	return err;
}

/* A profile of @m; what was seen before stays when there is an error. */
static int look(struct run *r, struct vmp_model *m)
{
	struct vmp_profile *profile, *old_profile = r->profile;
	struct vmp_tree *tree, *old_tree = r->tree;
	int err = make_profile(r->t, m, &profile);

	if (!err) {
		err = vmp_tree_create(&tree, profile, &r->t->options, &r->t->render.levels);
		if (err)
			vmp_profile_destroy(profile);
	}
	if (!err && vmp_outline_show(&r->s.outline, tree)) {
		/* nothing of either tree is shown */
		r->s.outline.tree = NULL;
		r->s.outline.lines.nr = 0;
		drop(r, tree, profile);
		err = -ENOMEM;
	}
	if (err) {
		vmp_err("cannot read the capture: %s", strerror(-err));
		return err;
	}
	r->profile = profile;
	r->s.profile = profile;
	r->tree = tree;
	drop(r, old_tree, old_profile);
	return 0;
}

static int reload(struct run *r)
{
	struct vmp_model *m = r->model;
	int err = r->t->model(r->t->arg, &m);

	r->next_ms = now_ms() + (uint64_t)r->t->refresh_ms;
	if (err)
		return err;
	err = look(r, m);
	if (m != r->model && r->t->done)
		r->t->done(r->t->arg, err ? m : r->model);
	if (!err)
		r->model = m;
	return err;
}

static void again(struct run *r)
{
	if (r->model)
		look(r, r->model);
}

/* Another view, from the domain on that was looked at */
static void show(struct run *r, enum vmp_tui_view view)
{
	struct vmp_tui old = *r->t;
	struct vmp_outline *o = &r->s.outline;

	if (view == r->t->view || vmp_views_switch(&r->views, r->t, view))
		return;
	if (!r->t->options.filter)
		r->filter[0] = 0;
	while (vmp_outline_node(o) != VMP_NONE && o->tree->nodes.v[vmp_outline_node(o)].depth)
		vmp_outline_up(o);
	if (!r->model || !look(r, r->model))
		return;
	old.options.filter = r->t->options.filter;
	*r->t = old;
}

/* -------------------------------------------------------------------- prompts */

/* Let the user write into s.answer.  Return: 1 done, 0 given up. */
static int ask(struct run *r, const char *prompt, const char *hint)
{
	size_t n;
	int key;

	r->s.prompt = prompt;
	r->s.hint = hint;
	for (;;) {
		vmp_view_draw(&r->s);
		key = vmp_screen_key(-1);
		if (key == VMP_KEY_QUIT || key == 27 || key == '\n')
			break;
		r->s.message[0] = 0;
		n = strlen(r->s.answer);
		if (key == VMP_KEY_BACKSPACE) {
			/* whole characters */
			while (n && (r->s.answer[--n] & 0xc0) == 0x80)
				;
			r->s.answer[n] = 0;
		} else if (key == 21) {	/* Ctrl-U */
			r->s.answer[0] = 0;
		} else if (key >= ' ' && key < 256 && n + 1 < sizeof(r->s.answer)) {
			r->s.answer[n] = (char)key;
			r->s.answer[n + 1] = 0;
		}
	}
	r->s.prompt = NULL;
	return key == '\n';
}

static void ask_filter(struct run *r)
{
	struct vmp_options *o = &r->t->options;
	struct vmp_filter *f, *old = (struct vmp_filter *)o->filter;

	strcpy(r->s.answer, r->filter);
	r->s.message[0] = 0;
	while (ask(r, "Filter: ", " such as process == \"shor\" && module ~ \"libq*\" && percent > 1; empty: none")) {
		f = NULL;
		r->s.message[0] = 0;
		if (r->s.answer[0] && vmp_choose_filter(r->s.answer, vmp_by(o), &f))
			continue;	/* it was told what is wrong: go on writing */
		strcpy(r->filter, r->s.answer);
		o->filter = f;
		vmp_choose_weight(o, &r->t->render);
		again(r);
		vmp_filter_free(old);
		return;
	}
	r->s.message[0] = 0;
}

static int suits(const struct vmp_column_list *list, const struct vmp_options *o)
{
	struct vmp_filter_error e;
	int i;

	for (i = 0; i < list->nr; i++) {
		if (VMP_IS_MEASURE(list->column[i])) {
			vmp_err("%s is a number, not a key to group by", vmp_column_name(list->column[i]));
			return 0;
		}
	}
	if (vmp_filter_check(o->filter, vmp_choose_keys(list), &e)) {
		vmp_err("the filter: %s", e.text);
		return 0;
	}
	return list->nr > 0;
}

static void ask_groups(struct run *r)
{
	struct vmp_column_list *levels = &r->t->render.levels, list;
	int i, n = 0;

	for (i = 0; i < levels->nr; i++)
		n += snprintf(r->s.answer + n, sizeof(r->s.answer) - (size_t)n, "%s%s", i ? "," : "",
			      vmp_column_name(levels->column[i]));
	r->s.message[0] = 0;
	while (ask(r, "Group by: ", " process, pid, nspid, cgroup, thread, vcpu, module, build-id, function, exit, side")) {
		r->s.message[0] = 0;
		if (vmp_choose_columns("group-by", r->s.answer, &list) || !suits(&list, &r->t->options))
			continue;
		*levels = list;
		r->t->options.by = vmp_choose_keys(&list);
		again(r);
		return;
	}
	r->s.message[0] = 0;
}

static void find(struct run *r)
{
	if (*r->search && r->tree && vmp_outline_find(&r->s.outline, r->search) != 1)
		vmp_info("nothing is called '%s'", r->search);
}

static void ask_search(struct run *r)
{
	r->s.answer[0] = 0;
	if (ask(r, "/", " a part of a name")) {
		strcpy(r->search, r->s.answer);
		find(r);
	}
}

/* -------------------------------------------------------------------- sorting */

/* The next of the columns that are shown; after them by name */
static void next_sort(struct run *r)
{
	const struct vmp_column_list *list = &r->s.columns;
	struct vmp_options *o = &r->t->options;
	int i, at = -1;

	for (i = 0; i < list->nr; i++)
		if (list->column[i] == (o->nr_sort ? o->sort[0].column : VMP_COL_SAMPLES))
			at = i;
	o->nr_sort = 1;
	if (at + 1 < list->nr) {
		o->sort[0] = (struct vmp_sort){ .column = list->column[at + 1] };
	} else {
		/* a tree's levels are sorted by the keys that tell them apart */
		o->nr_sort = 0;
		for (i = 0; i < r->t->render.levels.nr && o->nr_sort < VMP_SORT_KEYS && at >= 0; i++)
			o->sort[o->nr_sort++] = (struct vmp_sort){ .column = r->t->render.levels.column[i], .up = 1 };
		if (at < 0)
			o->nr_sort = 0;
	}
	again(r);
}

static void reverse_sort(struct run *r)
{
	struct vmp_options *o = &r->t->options;
	int i;

	if (!o->nr_sort)
		o->sort[o->nr_sort++] = (struct vmp_sort){ .column = VMP_COL_SAMPLES };
	for (i = 0; i < o->nr_sort; i++)
		o->sort[i].up = !o->sort[i].up;
	again(r);
}

/* ----------------------------------------------------------------------- keys */

static void toggle(struct run *r)
{
	uint32_t node = vmp_outline_node(&r->s.outline);

	if (node != VMP_NONE)
		vmp_outline_set(&r->s.outline, !vmp_outline_is_open(&r->s.outline, node), 0);
}

static void left(struct run *r)
{
	uint32_t node = vmp_outline_node(&r->s.outline);

	if (node != VMP_NONE && vmp_outline_is_open(&r->s.outline, node))
		vmp_outline_set(&r->s.outline, 0, 0);
	else
		vmp_outline_up(&r->s.outline);
}

static void right(struct run *r)
{
	uint32_t node = vmp_outline_node(&r->s.outline);

	if (node != VMP_NONE && !vmp_outline_is_open(&r->s.outline, node))
		vmp_outline_set(&r->s.outline, 1, 0);
	else
		vmp_outline_move(&r->s.outline, 1);
}

static void on_key(struct run *r, int key)
{
	struct vmp_outline *o = &r->s.outline;
	int page = vmp_view_rows() > 1 ? vmp_view_rows() - 1 : 1;

	switch (key) {
	case VMP_KEY_UP: case 'k': vmp_outline_move(o, -1); break;
	case VMP_KEY_DOWN: case 'j': vmp_outline_move(o, 1); break;
	case VMP_KEY_PAGE_UP: vmp_outline_move(o, -page); break;
	case VMP_KEY_PAGE_DOWN: case ' ': vmp_outline_move(o, page); break;
	case VMP_KEY_HOME: vmp_outline_move(o, INT32_MIN); break;
	case VMP_KEY_END: vmp_outline_move(o, INT32_MAX); break;
	case VMP_KEY_LEFT: case 'h': left(r); break;
	case VMP_KEY_RIGHT: case 'l': right(r); break;
	case '\n': toggle(r); break;
	case 'e': vmp_outline_set(o, 1, 1); break;
	case 'c': vmp_outline_set(o, 0, 1); break;
	case 's': next_sort(r); break;
	case 'r': reverse_sort(r); break;
	case 'f': ask_filter(r); break;
	case 'g': ask_groups(r); break;
	case '/': ask_search(r); break;
	case 'n': find(r); break;
	case '1': case '2': case '3': case '4': case '5': show(r, (enum vmp_tui_view)(key - '1')); break;
	case 'p': r->s.paused = r->t->refresh_ms && !r->s.paused; break;
	case '?': case VMP_KEY_F1: r->s.help = 1; break;
	}
}

/* How long to wait for a key */
static int patience(const struct run *r)
{
	uint64_t now = now_ms();

	if (!r->t->refresh_ms || r->s.paused)
		return -1;
	return r->next_ms > now ? (int)(r->next_ms - now) : 0;
}

static void loop(struct run *r)
{
	int key;

	for (;;) {
		vmp_view_draw(&r->s);
		key = vmp_screen_key(patience(r));
		if (key == VMP_KEY_QUIT || (key == 'q' && !r->s.help) || vmp_screen_broken())
			return;
		if (key == VMP_KEY_NONE) {
			if (r->t->refresh_ms && !r->s.paused && now_ms() >= r->next_ms)
				reload(r);
			continue;
		}
		r->s.message[0] = 0;
		if (r->s.help)
			r->s.help = key == VMP_KEY_RESIZE;
		else
			on_key(r, key);
	}
}

int vmp_tui_run(struct vmp_tui *t)
{
	struct run r = { .t = t, .s = { .tui = t } };
	int err;

	r.s.filter = r.filter;
	snprintf(r.filter, sizeof(r.filter), "%s", t->filter ? t->filter : "");
	err = vmp_screen_start(t->render.look.colour);
	if (err == -ENODEV)
		vmp_err("this terminal is not known to ncurses; set TERM, for instance to vt100");
	if (err) {
		vmp_filter_free((struct vmp_filter *)t->options.filter);
		return err;
	}
	vmp_log_set(to_message, &r);
	snprintf(r.s.message, sizeof(r.s.message), " reading ...");
	vmp_view_draw(&r.s);
	r.s.message[0] = 0;
	err = reload(&r);
	if (!err || t->refresh_ms)
		loop(&r);
	vmp_log_set(NULL, NULL);
	vmp_screen_end();
	if (err && !t->refresh_ms)
		vmp_err("%s", r.s.message + 1);
	vmp_outline_deinit(&r.s.outline);
	drop(&r, r.tree, r.profile);
	if (r.model && t->done)
		t->done(t->arg, r.model);
	vmp_filter_free((struct vmp_filter *)t->options.filter);
	return t->refresh_ms ? 0 : err;
}
