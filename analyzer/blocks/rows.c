// SPDX-License-Identifier: GPL-2.0-only
/* rows.c - which starts have a row of their own, and the code that all runs from a start have in common. */
#include <string.h>

#include "blocks/measure.h"
#include "blocks/phases.h"
#include "util/big.h"
#include "util/parallel.h"
#include "util/radix.h"

#define ROWS_OWN	2048U	/* starts with a row of their own, at most */
#define ROW_SAMPLES	16U	/* and what they need for one */
#define RARE		200	/* an end of one in so many blocks is none, for the common code */

struct start {
	uint32_t point, n;
};

static int by_point(const void *pa, const void *pb)
{
	const struct start *a = pa, *b = pb;

	return a->point < b->point ? -1 : a->point > b->point;
}

/* By samples, the most first; those with as many stay in order of their points */
static int sort_starts(struct start *s, uint32_t nr)
{
	struct vmp_radix *all = vmp_big_alloc(2 * ((size_t)nr + 1) * sizeof(*all)), *v;
	uint32_t i;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		all[i] = (struct vmp_radix){ UINT32_MAX - s[i].n, s[i].point };
	v = vmp_radix_sort(all, all + nr, nr);
	for (i = 0; i < nr; i++)
		s[i] = (struct start){ (uint32_t)v[i].value, UINT32_MAX - (uint32_t)v[i].key };
	free(all);
	return 0;
}

/* Starts in which samples were taken, the most sampled first */
static int list_starts(const struct vmp_set *set, struct start **out, uint32_t *nr)
{
	uint32_t points = set->points.points.nr, i, n = 0;
	struct start *s = vmp_big_alloc(((size_t)points + 1) * sizeof(*s));

	if (!s)
		return -ENOMEM;
	for (i = 0; i < points; i++)
		s[i] = (struct start){ .point = i };
	for (i = 0; i < set->landings.nr; i++)
		if (!set->landings.v[i].flaw)
			s[set->landings.v[i].start].n += set->landings.v[i].n;
	for (i = 0; i < points; i++)
		if (s[i].n)
			s[n++] = s[i];
	*out = s;
	*nr = n;
	return sort_starts(s, n);
}

/* Phases without a sample have no number in the end. */
static int renumber(struct vmp_measure *m, const struct start *starts, uint32_t nr, uint32_t phases)
{
	uint32_t *dense = malloc((phases + 1) * sizeof(*dense)), i;

	if (!dense)
		return -ENOMEM;
	memset(dense, 0xff, (phases + 1) * sizeof(*dense));
	for (i = 0; i < nr; i++) {
		uint32_t *d = &dense[m->phase_of[starts[i].point]];

		if (*d == VMP_NONE)
			*d = m->phases++;
	}
	for (i = 0; i < m->set->points.points.nr; i++)
		m->phase_of[i] = m->phase_of[i] == VMP_NONE ? VMP_NONE : dense[m->phase_of[i]];
	free(dense);
	return 0;
}

/* What lies behind an instruction, or where its code is not here itself */
static uint64_t behind(const struct vmp_set *set, uint32_t point)
{
	const struct vmp_point *p = &set->points.points.v[point];
	uint64_t addr = p->flaw ? 0 : vmp_set_behind(set, p->object, p->addr);

	return addr ? addr : p->addr;
}

/* Interrupts end blocks anywhere, and rare ends would leave next to nothing in common. */
static void find_common(const struct vmp_measure *m)
{
	const struct vmp_set *set = m->set;
	uint64_t all, sum;
	uint32_t i, k, b, end;

	for (i = 0; i < set->points.points.nr; i++)
		m->common[i] = (struct vmp_common){ .end = UINT64_MAX, .behind = UINT64_MAX };
	for (i = 0; i < set->blocks.nr; i = k) {
		struct vmp_common *c = &m->common[set->blocks.v[i].start];

		for (k = i, all = 0; k < set->blocks.nr && set->blocks.v[k].start == set->blocks.v[i].start; k++)
			all += set->blocks.v[k].flow == VMP_FLOW_ON ? 0 : set->blocks.v[k].n;
		for (b = i, end = VMP_NONE, sum = 0; b < k && sum * RARE <= all; b++) {
			if (set->blocks.v[b].flow == VMP_FLOW_ON)
				continue;
			sum += set->blocks.v[b].n;
			end = b;
		}
		if (end != VMP_NONE)
			*c = (struct vmp_common){ set->points.points.v[set->blocks.v[end].end].addr,
						  behind(set, set->blocks.v[end].end), set->blocks.v[end].insns };
	}
}

static int make_rows(struct vmp_measure *m, struct start *starts, uint32_t nr)
{
	uint32_t own = 0, i, *shared = malloc((m->phases + 1) * sizeof(*shared));
	struct vmp_phase none = { { { 0 } } };

	m->phase_of_row = malloc((nr + 1) * sizeof(*m->phase_of_row));
	m->shared = calloc(nr + 1, sizeof(*m->shared));
	if (!shared || !m->phase_of_row || !m->shared) {
		free(shared);
		return -ENOMEM;
	}
	memset(shared, 0xff, (m->phases + 1) * sizeof(*shared));
	while (own < nr && own < ROWS_OWN && starts[own].n >= ROW_SAMPLES)
		own++;
	if (own)
		qsort(starts, own, sizeof(*starts), by_point);
	for (i = 0; i < nr; i++) {
		uint32_t phase = m->phase_of[starts[i].point], row = m->rows;

		if (i >= own && shared[phase] != VMP_NONE)
			row = shared[phase];
		if (i >= own)
			shared[phase] = row;
		m->row_of[starts[i].point] = row;
		m->phase_of_row[row] = phase;
		m->shared[row] = i >= own;
		m->rows += row == m->rows;
	}
	free(shared);
	for (i = 0; i < m->phases; i++)
		if (vmp_vec_push(&m->phase, none))
			return -ENOMEM;
	return 0;
}

/* What needs nothing of each other */
struct preparing {
	const struct vmp_measure *m;
	uint32_t phases;
};

static int prepare_common(void *arg)
{
	const struct preparing *p = arg;

	find_common(p->m);
	return 0;
}

static int prepare_phases(void *arg)
{
	struct preparing *p = arg;

	return vmp_phases_find(p->m->set, p->m->phase_of, &p->phases);
}

int vmp_measure_rows(struct vmp_measure *m)
{
	struct preparing p = { .m = m };
	const struct vmp_set *set = m->set;
	const size_t points = (size_t)set->points.points.nr + 1;
	struct start *starts = NULL;
	uint32_t nr = 0, i;
	int err;

	m->row_of = vmp_big_alloc(points * sizeof(*m->row_of));
	m->phase_of = vmp_big_alloc(points * sizeof(*m->phase_of));
	m->common = vmp_big_alloc(points * sizeof(*m->common));
	if (!m->common || !m->row_of || !m->phase_of)
		return -ENOMEM;
	for (i = 0; i < set->points.points.nr; i++)
		m->row_of[i] = VMP_NONE;
	err = vmp_parallel_two(prepare_phases, prepare_common, &p);
	if (!err)
		err = list_starts(set, &starts, &nr);
	if (!err)
		err = renumber(m, starts, nr, p.phases);
	if (!err)
		err = make_rows(m, starts, nr);
	free(starts);
	return err;
}
