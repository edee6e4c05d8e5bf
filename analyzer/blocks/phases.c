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

#include "util/big.h"
#include "util/radix.h"

#define LARGE		2000U	/* steps seen in a cluster that can be a phase */
#define MIXED		1500U	/* steps between two, seen; each crossing shows up to 15 times */

/* Key: of how few steps, value: its two ends; those of most steps come first, then those of the lowest ends */
struct graph {
	uint32_t *parent;	/* by point */
	uint64_t *size;		/* steps seen, by root */
	struct vmp_radix *edges, *room;
	uint32_t nr;
};

static uint64_t ends_of(uint32_t a, uint32_t b)
{
	return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

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

/* Return: 1 when something was joined */
static int join_edges(struct graph *g)
{
	uint32_t i, a, b;
	int any = 0;

	for (i = 0; i < g->nr; i++) {
		a = root_of(g, (uint32_t)(g->edges[i].value >> 32));
		b = root_of(g, (uint32_t)g->edges[i].value);
		if (a == b || (~g->edges[i].key < MIXED && g->size[a] >= LARGE && g->size[b] >= LARGE))
			continue;
		join(g, a, b);
		any = 1;
	}
	return any;
}

static void sort(struct graph *g)
{
	struct vmp_radix *sorted = vmp_radix_sort(g->edges, g->room, g->nr);

	if (sorted == g->room) {
		g->room = g->edges;
		g->edges = sorted;
	}
}

/* Edges between clusters, those of the same two added up */
static void shorten(struct graph *g)
{
	uint32_t i, n = 0, a, b;

	for (i = 0; i < g->nr; i++) {
		a = root_of(g, (uint32_t)(g->edges[i].value >> 32));
		b = root_of(g, (uint32_t)g->edges[i].value);
		if (a != b)
			g->edges[n++] = (struct vmp_radix){ ends_of(a, b), ~g->edges[i].key };
	}
	g->nr = n;
	sort(g);
	for (i = n = 0; i < g->nr; i++) {
		if (n && g->edges[n - 1].key == g->edges[i].key)
			g->edges[n - 1].value += g->edges[i].value;
		else
			g->edges[n++] = g->edges[i];
	}
	g->nr = n;
	for (i = 0; i < n; i++)
		g->edges[i] = (struct vmp_radix){ ~g->edges[i].value, g->edges[i].key };
	sort(g);
}

static int fill(struct graph *g, const struct vmp_set *set)
{
	uint32_t i, nr = set->points.points.nr;

	g->parent = vmp_big_alloc(((size_t)nr + 1) * sizeof(*g->parent));
	g->size = vmp_big_zeroed((size_t)nr + 1, sizeof(*g->size));
	g->edges = vmp_big_alloc(((size_t)set->units.nr + 1) * sizeof(*g->edges));
	g->room = vmp_big_alloc(((size_t)set->units.nr + 1) * sizeof(*g->room));
	if (!g->parent || !g->size || !g->edges || !g->room)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		g->parent[i] = i;
	for (i = 0; i < set->units.nr; i++) {
		const struct vmp_unit *u = &set->units.v[i];

		if (u->block == VMP_NONE || u->next == VMP_NONE)
			continue;
		g->size[u->start] += u->n;
		g->edges[g->nr++] = (struct vmp_radix){ ~(uint64_t)u->n, (uint64_t)u->start << 32 | u->next };
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
	free(g.edges);
	free(g.room);
	return err;
}
