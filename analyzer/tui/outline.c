// SPDX-License-Identifier: GPL-2.0-only
/* outline.c - see outline.h; lines are made anew after each change. */
#include "tui/outline.h"

#include <string.h>

#define OPEN_BELOW_MAX	20000	/* lines that one key opens */
#define NODES_MAX	4000000	/* that a search makes */

/* The same for the same names from the domain down */
static uint64_t path_of(const struct vmp_tree *t, uint32_t node)
{
	const struct vmp_node *n = &t->nodes.v[node];
	uint64_t above = n->parent == VMP_NONE ? 1 : path_of(t, n->parent);
	char buf[64];
	const char *label = vmp_tree_label(t, n, buf);

	return vmp_hash_mix(above ^ vmp_hash_bytes(label, strlen(label)));
}

int vmp_outline_is_open(const struct vmp_outline *o, uint32_t node)
{
	const struct vmp_node *n = &o->tree->nodes.v[node];
	const uint32_t *open = vmp_hash_find(&o->open, path_of(o->tree, node));

	if (vmp_tree_is_leaf(o->tree, n))
		return 0;
	return open ? (int)*open : n->depth == 0;
}

static int add_lines(struct vmp_outline *o, uint32_t node)
{
	uint32_t i, first, nr;
	int err = vmp_vec_push(&o->lines, node);

	if (err || !vmp_outline_is_open(o, node))
		return err;
	err = vmp_tree_open(o->tree, node);
	first = o->tree->nodes.v[node].first;
	nr = o->tree->nodes.v[node].nr;
	for (i = 0; !err && i < nr; i++)
		err = add_lines(o, first + i);
	return err;
}

/* All lines; the cursor goes to @path, or stays where it was. */
static int rebuild(struct vmp_outline *o, uint64_t path)
{
	uint32_t d, i;
	int err = 0;

	o->lines.nr = 0;
	for (d = 0; !err && d < o->tree->p->domains.nr; d++)
		err = add_lines(o, d);
	for (i = 0; path && i < o->lines.nr; i++) {
		if (path_of(o->tree, o->lines.v[i]) == path) {
			o->cursor = i;
			break;
		}
	}
	vmp_outline_move(o, 0);
	return err;
}

int vmp_outline_show(struct vmp_outline *o, struct vmp_tree *t)
{
	uint64_t path = 0;

	if (o->tree && vmp_outline_node(o) != VMP_NONE)
		path = path_of(o->tree, vmp_outline_node(o));
	o->tree = t;
	return rebuild(o, path);
}

void vmp_outline_deinit(struct vmp_outline *o)
{
	vmp_hash_free(&o->open);
	vmp_vec_free(&o->lines);
}

uint32_t vmp_outline_node(const struct vmp_outline *o)
{
	return o->cursor < o->lines.nr ? o->lines.v[o->cursor] : VMP_NONE;
}

static int set_below(struct vmp_outline *o, uint32_t node, int open, uint32_t *budget)
{
	uint32_t i, first, nr;
	int err;

	if (!*budget || vmp_tree_is_leaf(o->tree, &o->tree->nodes.v[node]))
		return 0;
	--*budget;
	err = vmp_hash_set(&o->open, path_of(o->tree, node), (uint32_t)open);
	if (!err && open)
		err = vmp_tree_open(o->tree, node);
	first = o->tree->nodes.v[node].first;
	nr = o->tree->nodes.v[node].nr;
	for (i = 0; !err && i < nr; i++)
		err = set_below(o, first + i, open, budget);
	return err;
}

int vmp_outline_set(struct vmp_outline *o, int open, int below)
{
	uint32_t node = vmp_outline_node(o), budget = OPEN_BELOW_MAX;
	uint64_t path;
	int err;

	if (node == VMP_NONE || vmp_tree_is_leaf(o->tree, &o->tree->nodes.v[node]))
		return 0;
	path = path_of(o->tree, node);
	err = below ? set_below(o, node, open, &budget) : vmp_hash_set(&o->open, path, (uint32_t)open);
	return err ? err : rebuild(o, path);
}

void vmp_outline_up(struct vmp_outline *o)
{
	uint32_t node = vmp_outline_node(o), parent;

	if (node == VMP_NONE || o->tree->nodes.v[node].parent == VMP_NONE)
		return;
	parent = o->tree->nodes.v[node].parent;
	while (o->lines.v[o->cursor] != parent)
		o->cursor--;
}

void vmp_outline_move(struct vmp_outline *o, int64_t lines)
{
	int64_t to = (int64_t)o->cursor + lines;

	if (to >= (int64_t)o->lines.nr)
		to = (int64_t)o->lines.nr - 1;
	o->cursor = to < 0 ? 0 : (uint32_t)to;
}

void vmp_outline_scroll(struct vmp_outline *o, uint32_t height)
{
	if (o->cursor < o->top || !height)
		o->top = o->cursor;
	else if (o->cursor - o->top >= height)
		o->top = o->cursor - height + 1;
	if (o->top && o->top + height > o->lines.nr)
		o->top = o->lines.nr > height ? o->lines.nr - height : 0;
}

/* -------------------------------------------------------------------- search */

struct search {
	struct vmp_outline *o;
	const char *text;
	uint32_t from;		/* the node after which it begins */
	int passed;		/* that node was met */
	uint32_t first;		/* hit before it, VMP_NONE none */
	uint32_t hit;
};

/* Depth first, in order of display.  Return: 1 found, 0, -ENOMEM. */
static int visit(struct search *s, uint32_t node)
{
	struct vmp_tree *t = s->o->tree;
	uint32_t i, first, nr;
	char buf[64];
	int ret;

	if (strcasestr(vmp_tree_label(t, &t->nodes.v[node], buf), s->text) && node != s->from) {
		if (s->passed) {
			s->hit = node;
			return 1;
		}
		s->first = s->first == VMP_NONE ? node : s->first;
	}
	s->passed |= node == s->from;
	if (t->nodes.nr > NODES_MAX)
		return 0;
	ret = vmp_tree_open(t, node);
	first = t->nodes.v[node].first;
	nr = t->nodes.v[node].nr;
	for (i = 0; !ret && i < nr; i++)
		ret = visit(s, first + i);
	return ret;
}

int vmp_outline_find(struct vmp_outline *o, const char *text)
{
	struct search s = { .o = o, .text = text, .from = vmp_outline_node(o), .first = VMP_NONE, .hit = VMP_NONE };
	uint32_t d, n;
	int ret = 0;

	for (d = 0; !ret && d < o->tree->p->domains.nr; d++)
		ret = visit(&s, d);
	if (ret < 0)
		return ret;
	s.hit = s.hit == VMP_NONE ? s.first : s.hit;
	if (s.hit == VMP_NONE)
		return 0;
	for (n = o->tree->nodes.v[s.hit].parent; n != VMP_NONE; n = o->tree->nodes.v[n].parent)
		if (vmp_hash_set(&o->open, path_of(o->tree, n), 1))
			return -ENOMEM;
	ret = rebuild(o, path_of(o->tree, s.hit));
	return ret ? ret : 1;
}
