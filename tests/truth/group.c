// SPDX-License-Identifier: GPL-2.0-only
/* group.c - rows of the join, those of one piece of code together. */
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "util/text.h"

static int by_cycles(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;

	return a->cycles_at > b->cycles_at ? -1 : a->cycles_at < b->cycles_at;
}

static uint32_t top(const struct join *j, uint32_t row)
{
	while (j->rows.v[row].group != row)
		row = j->rows.v[row].group;
	return row;
}

static void add(struct group *to, const struct group *g)
{
	to->cycles_at += g->cycles_at;
	to->cycles += g->cycles;
	to->insns += g->insns;
	to->insns_at += g->insns_at;
	to->samples += g->samples;
	to->insn_samples += g->insn_samples;
}

struct group *groups_make(const struct join *j, uint32_t *nr)
{
	struct group *g = calloc(j->rows.nr ? j->rows.nr : 1, sizeof(*g));
	uint32_t i;

	if (!g)
		return NULL;
	for (i = 0; i < j->rows.nr; i++)
		g[i].row = i;
	for (i = 0; i < j->rows.nr; i++) {
		const struct join_row *r = &j->rows.v[i];
		struct group *to = &g[top(j, i)];

		if (r->cycles_at > j->rows.v[to->row].cycles_at)
			to->row = i;
		add(to, &(struct group){ .cycles_at = r->cycles_at, .insns_at = r->insns_at, .insns = r->insns, .cycles = r->cycles,
					 .samples = r->samples, .insn_samples = r->insn_samples });
	}
	qsort(g, j->rows.nr, sizeof(*g), by_cycles);
	*nr = j->rows.nr;
	return g;
}

static int is_same_code(const struct join_row *a, const struct join_row *b)
{
	return a->vm == b->vm && a->function == b->function && a->module == b->module;
}

struct group *groups_across_programs(const struct join *j, const struct group *g, uint32_t nr, uint32_t *shared)
{
	struct group *all = calloc(nr ? nr : 1, sizeof(*all));
	uint32_t i, k, n = 0;

	for (i = 0; all && i < nr; i++) {
		const struct join_row *r = &j->rows.v[g[i].row];

		if (group_part(j, &g[i]) != USER || !(g[i].cycles_at | g[i].samples))
			continue;
		for (k = 0; k < n && !is_same_code(r, &j->rows.v[all[k].row]); )
			k++;
		if (k == n)
			all[n++] = (struct group){ .row = g[i].row };
		add(&all[k], &g[i]);
	}
	*shared = n;
	if (all)
		qsort(all, n, sizeof(*all), by_cycles);
	return all;
}

int group_part(const struct join *j, const struct group *g)
{
	return j->rows.v[g->row].kind == VMP_KIND_GUEST_KERNEL ? KERNEL : USER;
}

const char *group_text(const struct join *j, uint32_t string, char *buf, size_t size)
{
	const char *s = vmp_model_name(j->model, string);

	return vmp_text(buf, size, s, strlen(s));
}
