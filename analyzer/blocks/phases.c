// SPDX-License-Identifier: GPL-2.0-only
/*
 * phases.c - clusters of the graph of starts, joined along the most frequent steps first.
 *
 * Windows tell how often one start follows another.  Where two large clusters
 * follow each other in a handful of windows only, these tell next to nothing of how
 * often either runs; what counters say of the time in each tells more.  So
 * they stay apart: they are phases of the program.
 */
#include "blocks/phases.h"

#include <string.h>

#define LARGE		2000U	/* steps seen in a cluster that can be a phase */
#define MIXED		1500U	/* steps between two, seen; each crossing shows up to 15 times */

struct edge {
	uint32_t a, b, n;
};

struct graph {
	uint32_t *parent;	/* by point */
	uint64_t *size;		/* steps seen, by root */
	VMP_VEC(struct edge) edges;
};

static uint32_t root_of(struct graph *g, uint32_t i)
{
	while (g->parent[i] != i)
		i = g->parent[i] = g->parent[g->parent[i]];
	return i;
}

static void join(struct graph *g, uint32_t a, uint32_t b)
{
	uint32_t low = a < b ? a : b, high = a < b ? b : a;

	g->parent[high] = low;
	g->size[low] += g->size[high];
}

static int most_first(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static int by_ends(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

/* Return: 1 when something was joined */
static int join_edges(struct graph *g)
{
	uint32_t i, a, b;
	int any = 0;

	for (i = 0; i < g->edges.nr; i++) {
		const struct edge *e = &g->edges.v[i];

		a = root_of(g, e->a);
		b = root_of(g, e->b);
		if (a == b || (e->n < MIXED && g->size[a] >= LARGE && g->size[b] >= LARGE))
			continue;
		join(g, a, b);
		any = 1;
	}
	return any;
}

/* Edges between clusters, those of the same two added up */
static void shorten(struct graph *g)
{
	uint32_t i, n = 0, a, b;

	for (i = 0; i < g->edges.nr; i++) {
		a = root_of(g, g->edges.v[i].a);
		b = root_of(g, g->edges.v[i].b);
		if (a != b)
			g->edges.v[n++] = (struct edge){ a < b ? a : b, a < b ? b : a, g->edges.v[i].n };
	}
	g->edges.nr = n;
	if (n)
		qsort(g->edges.v, n, sizeof(*g->edges.v), by_ends);
	for (i = n = 0; i < g->edges.nr; i++) {
		if (n && !by_ends(&g->edges.v[n - 1], &g->edges.v[i]))
			g->edges.v[n - 1].n += g->edges.v[i].n;
		else
			g->edges.v[n++] = g->edges.v[i];
	}
	g->edges.nr = n;
	if (n)
		qsort(g->edges.v, n, sizeof(*g->edges.v), most_first);
}

static int fill(struct graph *g, const struct vmp_set *set)
{
	uint32_t i, nr = set->points.points.nr;

	g->parent = malloc((nr + 1) * sizeof(*g->parent));
	g->size = calloc(nr + 1, sizeof(*g->size));
	if (!g->parent || !g->size)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		g->parent[i] = i;
	for (i = 0; i < set->units.nr; i++) {
		const struct vmp_unit *u = &set->units.v[i];
		struct edge e = { u->start, u->next, u->n };

		if (u->block == VMP_NONE || u->next == VMP_NONE)
			continue;
		g->size[u->start] += u->n;
		if (vmp_vec_push(&g->edges, e))
			return -ENOMEM;
	}
	return 0;
}

static void number(struct graph *g, const struct vmp_set *set, uint32_t *phase_of, uint32_t *phases)
{
	uint32_t i, nr = set->points.points.nr, root;

	*phases = 0;
	for (i = 0; i < nr; i++)
		phase_of[i] = VMP_NONE;
	/* roots have the lowest number of their cluster */
	for (i = 0; i < nr; i++) {
		root = root_of(g, i);
		if (phase_of[root] == VMP_NONE)
			phase_of[root] = (*phases)++;
		phase_of[i] = phase_of[root];
	}
}

int vmp_phases_find(const struct vmp_set *set, uint32_t *phase_of, uint32_t *phases)
{
	struct graph g = { 0 };
	int err = fill(&g, set);

	if (!err) {
		do
			shorten(&g);
		while (join_edges(&g));
		number(&g, set, phase_of, phases);
	}
	free(g.parent);
	free(g.size);
	vmp_vec_free(&g.edges);
	return err;
}
