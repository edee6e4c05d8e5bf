// SPDX-License-Identifier: GPL-2.0-only
/* view.c - the picture is made anew each time; ncurses sends what differs. */
#include "tui/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tui/screen.h"
#include "tui/views.h"
#include "util/text.h"

#define ABOVE	3	/* title, domain, columns */
#define BELOW	1

static const char *const help[] = {
	"Up Down PgUp PgDn Home End   move (j and k, too)",
	"Enter, Right                 open or close what is below",
	"Left                         close it, or go to what is above",
	"e  c                         open, close all below",
	"s  r                         sort by the next column; the other way round",
	"g                            group: keys from the domain down, such as module,function",
	"f                            filter: process == \"shor\" && percent > 1; empty: none",
	"/  n                         search a name; the next one",
	"1 2 3 4 5                    where time went; exits; steal: what ran, who waited; --diff",
	"p                            hold or go on with a running session",
	"? F1                         this; any key goes back",
	"q  Ctrl-C                    leave",
};

int vmp_view_rows(void)
{
	int rows = vmp_screen_height() - ABOVE - BELOW;

	return rows > 0 ? rows : 0;
}

static void draw_help(void)
{
	size_t i;

	vmp_screen_text(0, 0, vmp_screen_width(), VMP_PEN_BAR, " Keys");
	for (i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		vmp_screen_text((int)i + 2, 2, vmp_screen_width() - 2, VMP_PEN_PLAIN, help[i]);
}

static void title(const struct vmp_view_state *s)
{
	const struct vmp_options *o = &s->tui->options;
	char line[4096];
	int n;

	n = snprintf(line, sizeof(line), " vmprof%s%s  %s   sort: %s%s", s->tui->view ? " " : "",
		     s->tui->view ? vmp_view_name(s->tui->view) : "", s->tui->title,
		     vmp_column_name(o->nr_sort ? o->sort[0].column : VMP_COL_SAMPLES),
		     o->nr_sort && o->sort[0].up ? " (smallest first)" : "");
	if (*s->filter && n < (int)sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, "   filter: %s", s->filter);
	vmp_screen_text(0, 0, vmp_screen_width(), VMP_PEN_BAR, line);
}

/* Of the domain under the cursor */
static void domain(const struct vmp_view_state *s)
{
	const struct vmp_domain *d;
	char line[512], part[64];
	uint32_t node;
	int n;

	if (!s->profile || !s->outline.tree)
		return;
	node = vmp_outline_node(&s->outline);
	if (node == VMP_NONE) {
		vmp_screen_text(1, 0, vmp_screen_width(), VMP_PEN_PLAIN, " No domain has samples yet.");
		return;
	}
	d = vmp_tree_domain(s->outline.tree, &s->outline.tree->nodes.v[node]);
	/* where others' instructions are in it, that is not to be cut off */
	n = snprintf(line, sizeof(line), " %" PRIu64 " samples%s   kernel %.1f%%  user %.1f%%  VMM %.1f%%  steal %.1f%%", d->total,
		     s->tui->options.rated && vmp_profile_counted(s->profile) ? "   CPI by counts" : "",
		     vmp_percent(d->side[VMP_SIDE_KERNEL], d->total),
		     vmp_percent(d->side[VMP_SIDE_USER], d->total), vmp_percent(d->side[VMP_SIDE_VMM], d->total),
		     vmp_percent(d->side[VMP_SIDE_STEAL], d->total));
	if (d->shown != d->total)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "   shown %.1f%%", vmp_percent(d->shown, d->total));
	if (d->compared)
		snprintf(line + n, sizeof(line) - (size_t)n, "   before %" PRIu64, d->before_total);
	snprintf(part, sizeof(part), "%u/%u ", s->outline.cursor + 1, s->outline.lines.nr);
	vmp_screen_text(1, 0, vmp_screen_width(), VMP_PEN_PLAIN, line);
	n = (int)strlen(part);
	if (n < vmp_screen_width() / 4)
		vmp_screen_text(1, vmp_screen_width() - n, n, VMP_PEN_PLAIN, part);
}

static void columns(const struct vmp_view_state *s)
{
	const struct vmp_column_list *list = &s->columns;
	const struct vmp_column_list *levels = &s->tui->render.levels;
	char names[512] = "";
	int i, n = 0, x = 0;

	for (i = 0; i < list->nr; i++) {
		const char *name = vmp_column_title(list->column[i]);
		int w = vmp_render_width(list->column[i]);

		vmp_screen_text(2, x + w - (int)strlen(name), (int)strlen(name), VMP_PEN_BOLD, name);
		x += w + 2;
	}
	n = snprintf(names, sizeof(names), "Domain");
	for (i = 0; i < levels->nr; i++)
		if (levels->column[i] != VMP_COL_DOMAIN)
			n += snprintf(names + n, sizeof(names) - (size_t)n, " > %s", vmp_column_title(levels->column[i]));
	vmp_screen_text(2, x, vmp_screen_width() - x, VMP_PEN_BOLD, names);
}

static enum vmp_pen pen_of(enum vmp_column c, const struct vmp_domain *d, const struct vmp_node *node)
{
	int colour = c == VMP_COL_PERCENT ? vmp_colour_of(vmp_percent(node->row.samples, d->total)) : 0;

	return colour == 31 ? VMP_PEN_HOT : colour == 32 ? VMP_PEN_WARM : VMP_PEN_PLAIN;
}

static void line(const struct vmp_view_state *s, uint32_t at, int y)
{
	const struct vmp_column_list *list = &s->columns;
	const struct vmp_outline *o = &s->outline;
	const struct vmp_node *node = &o->tree->nodes.v[o->lines.v[at]];
	const struct vmp_domain *d = vmp_tree_domain(o->tree, node);
	int i, x = 0, here = at == o->cursor, leaf = vmp_tree_is_leaf(o->tree, node);
	char cell[32], buf[64];

	if (here)
		vmp_screen_text(y, 0, vmp_screen_width(), VMP_PEN_CURSOR, "");
	for (i = 0; i < list->nr; i++) {
		vmp_render_cell(cell, s->profile, d, &node->row, list->column[i]);
		vmp_screen_text(y, x, (int)strlen(cell), here ? VMP_PEN_CURSOR : pen_of(list->column[i], d, node), cell);
		x += vmp_render_width(list->column[i]) + 2;
	}
	x += 2 * (int)node->depth;
	vmp_screen_text(y, x, 2, here ? VMP_PEN_CURSOR : VMP_PEN_PLAIN,
			leaf ? "" : vmp_outline_is_open(o, o->lines.v[at]) ? "-" : "+");
	x += 2;
	vmp_screen_text(y, x, vmp_screen_width() - x, here ? VMP_PEN_CURSOR : node->depth ? VMP_PEN_PLAIN : VMP_PEN_BOLD,
			vmp_tree_label(o->tree, node, buf));
}

static void prompt(const struct vmp_view_state *s, int y)
{
	int width = vmp_screen_width(), head = vmp_text_width(s->prompt), room = width - head - 1, w;
	char safe[8 * VMP_PROMPT_BYTES];
	const char *tail = safe;

	vmp_text(safe, sizeof(safe), s->answer, strlen(s->answer));
	/* the end of what is typed is what must be seen */
	while ((w = vmp_text_width(tail)) > room && *tail)
		tail++;
	vmp_screen_text(y - 1, 0, width, VMP_PEN_PLAIN, *s->message ? s->message : s->hint);
	vmp_screen_text(y, 0, head, VMP_PEN_BOLD, s->prompt);
	vmp_screen_text(y, head, room + 1, VMP_PEN_PLAIN, tail);
	vmp_screen_caret(y, head + w < width ? head + w : width - 1);
}

static void last_line(const struct vmp_view_state *s)
{
	int y = vmp_screen_height() - 1;

	if (s->prompt)
		prompt(s, y);
	else
		vmp_screen_text(y, 0, vmp_screen_width(), VMP_PEN_BAR, *s->message ? s->message : s->paused ?
				" held; p goes on" : " ? help  Enter open  s sort  g group  f filter  / search  1-5 view  q leave");
}

void vmp_view_draw(struct vmp_view_state *s)
{
	struct vmp_render render = s->tui->render;
	uint32_t i, at;

	vmp_screen_clear();
	if (s->help) {
		draw_help();
		vmp_screen_show();
		return;
	}
	s->columns = s->tui->render.columns;
	render.look.width = vmp_screen_width();
	if (s->profile)
		s->columns = vmp_render_columns(s->profile, &s->tui->options, &render);
	title(s);
	domain(s);
	columns(s);
	vmp_outline_scroll(&s->outline, (uint32_t)vmp_view_rows());
	for (i = 0; s->outline.tree && i < (uint32_t)vmp_view_rows(); i++) {
		at = s->outline.top + i;
		if (at < s->outline.lines.nr)
			line(s, at, ABOVE + (int)i);
	}
	last_line(s);
	vmp_screen_show();
}
