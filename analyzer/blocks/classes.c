// SPDX-License-Identifier: GPL-2.0-only
/* classes.c - Tarjan's algorithm without recursion: guests decide how deep it goes. */
#include "blocks/classes.h"

#include <errno.h>
#include <stdlib.h>

#include "model/space.h"

struct walk {
	const struct vmp_graph *g;
	uint32_t *class_of, classes;
	uint32_t *number, *low, *stack, *path, *next;
	uint8_t *on_stack;
	uint32_t count, depth, top;
};

static void enter(struct walk *w, uint32_t node)
{
	w->number[node] = w->low[node] = ++w->count;
	w->stack[w->top++] = node;
	w->on_stack[node] = 1;
	w->path[w->depth] = node;
	w->next[w->depth++] = w->g->first[node];
}

static void leave(struct walk *w, uint32_t node)
{
	uint32_t x;

	if (w->low[node] == w->number[node]) {
		do {
			x = w->stack[--w->top];
			w->on_stack[x] = 0;
			w->class_of[x] = w->classes;
		} while (x != node);
		w->classes++;
	}
	w->depth--;
	if (w->depth && w->low[node] < w->low[w->path[w->depth - 1]])
		w->low[w->path[w->depth - 1]] = w->low[node];
}

static void visit(struct walk *w, uint32_t root)
{
	enter(w, root);
	while (w->depth) {
		uint32_t node = w->path[w->depth - 1], i = w->next[w->depth - 1]++, to;

		if (i == w->g->first[node + 1]) {
			leave(w, node);
			continue;
		}
		to = w->g->to[i];
		if (to == VMP_NONE)
			continue;
		if (!w->number[to])
			enter(w, to);
		else if (w->on_stack[to] && w->number[to] < w->low[node])
			w->low[node] = w->number[to];
	}
}

int vmp_classes_find(const struct vmp_graph *g, uint32_t *class_of, uint32_t *classes)
{
	struct walk w = { .g = g, .class_of = class_of };
	size_t n = (size_t)g->nodes + 1;
	uint32_t *words = calloc(5 * n, sizeof(*words)), i;
	int err = 0;

	w.on_stack = calloc(n, 1);
	if (words && w.on_stack) {
		w.number = words;
		w.low = words + n;
		w.stack = words + 2 * n;
		w.path = words + 3 * n;
		w.next = words + 4 * n;
		for (i = 0; i < g->nodes; i++)
			if (!w.number[i])
				visit(&w, i);
		*classes = w.classes;
	} else {
		err = -ENOMEM;
	}
	free(words);
	free(w.on_stack);
	return err;
}
