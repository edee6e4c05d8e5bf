// SPDX-License-Identifier: GPL-2.0-only
/* chain.c - what does not change is looked up once, so that a solution's loops run through arrays. */
#include "blocks/chain.h"

#include "blocks/classes.h"
#include "blocks/share.h"
#include "util/big.h"
#include "util/parallel.h"

#define BYTES_PER_INSN	4.2		/* of x86 code that is not here, for the scale only */

static double guess_insns(const struct vmp_set *set, const struct vmp_block_code *b)
{
	double bytes = (double)(set->points.points.v[b->end].addr - set->points.points.v[b->start].addr);

	return 1 + bytes / BYTES_PER_INSN;
}

/* Of pairs from @i until before @to */
static void load_pairs(void *arg, uint32_t i, uint32_t to)
{
	const struct vmp_chain *c = arg;
	const struct vmp_set *set = c->m->set;

	for (; i < to; i++) {
		const struct vmp_pair *p = &c->m->pairs.v[i];
		const struct vmp_unit *u = &set->units.v[p->unit];
		const struct vmp_block_code *b = &set->blocks.v[u->block];
		uint64_t sum = 0;
		int g;

		for (g = 0; g < VMP_GROUPS; g++)
			sum += p->n[g];
		c->steps[i] = sum;
		c->to[i] = c->m->row_of[u->start];
		c->block[i] = u->block;
		c->guessed[i] = !b->insns;
		c->insns[i] = b->insns ? b->insns : guess_insns(set, b);
	}
}

static void find_targets(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t i;

	vmp_parallel_ranges(m->pairs.nr, vmp_scan_threads(), load_pairs, c);
	for (i = 0; i < m->pairs.nr; i++)
		c->first[m->pairs.v[i].row + 1]++;
	for (i = 0; i < m->rows; i++)
		c->first[i + 1] += c->first[i];
}

/* Classes lie within phases */
static int find_classes(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t *to = vmp_big_alloc(((size_t)m->pairs.nr + 1) * sizeof(*to)), i;
	const struct vmp_graph g = { m->rows, c->first, to };
	int err;

	if (!to)
		return -ENOMEM;
	for (i = 0; i < m->pairs.nr; i++)
		to[i] = c->to[i] != VMP_NONE && m->phase_of_row[c->to[i]] == m->phase_of_row[m->pairs.v[i].row] ?
			c->to[i] : VMP_NONE;
	err = vmp_classes_find(&g, c->class_of, &c->classes);
	free(to);
	return err;
}

/* What leads to each row, within classes */
static int index_targets(struct vmp_chain *c)
{
	const struct vmp_measure *m = c->m;
	uint32_t i, k, r, *at = calloc((size_t)m->rows + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (i = 0; i < m->pairs.nr; i++) {
		int inside = c->to[i] != VMP_NONE && c->class_of[c->to[i]] == c->class_of[m->pairs.v[i].row];

		c->stays[i] = c->by_instructions || inside || c->to[i] == VMP_NONE;
		if (inside)
			c->in_first[c->to[i] + 1]++;
	}
	for (r = 0; r < m->rows; r++) {
		c->in_first[r + 1] += c->in_first[r];
		at[r] = c->in_first[r];
	}
	for (i = 0; i < m->pairs.nr; i++) {
		if (c->to[i] == VMP_NONE || c->class_of[c->to[i]] != c->class_of[m->pairs.v[i].row])
			continue;
		k = at[c->to[i]]++;
		c->in_pair[k] = i;
		c->source[k] = m->pairs.v[i].row;
	}
	free(at);
	return 0;
}

int vmp_chain_init(struct vmp_chain *c, const struct vmp_measure *m, double period, int by_instructions)
{
	size_t rows = (size_t)m->rows + 2, pairs = (size_t)m->pairs.nr + 1;
	int err;

	*c = (struct vmp_chain){ .m = m, .period = period, .by_instructions = by_instructions };
	c->class_of = calloc(rows, sizeof(*c->class_of));
	c->first = calloc(rows, sizeof(*c->first));
	c->to = vmp_big_alloc(pairs * sizeof(*c->to));
	c->stays = vmp_big_alloc(pairs * sizeof(*c->stays));
	c->block = vmp_big_alloc(pairs * sizeof(*c->block));
	c->insns = vmp_big_alloc(pairs * sizeof(*c->insns));
	c->guessed = vmp_big_alloc(pairs * sizeof(*c->guessed));
	c->steps = vmp_big_alloc(pairs * sizeof(*c->steps));
	c->in_first = calloc(rows, sizeof(*c->in_first));
	c->in_pair = vmp_big_alloc(pairs * sizeof(*c->in_pair));
	c->source = vmp_big_alloc(pairs * sizeof(*c->source));
	if (!c->class_of || !c->first || !c->to || !c->stays || !c->block || !c->insns || !c->guessed || !c->steps || !c->in_first ||
	    !c->in_pair || !c->source)
		return -ENOMEM;
	find_targets(c);
	err = vmp_share_init(c);
	if (!err)
		err = find_classes(c);
	return err ? err : index_targets(c);
}

void vmp_chain_deinit(struct vmp_chain *c)
{
	free(c->class_of);
	free(c->first);
	free(c->to);
	free(c->stays);
	free(c->block);
	free(c->insns);
	free(c->guessed);
	free(c->steps);
	free(c->in_first);
	free(c->in_pair);
	free(c->source);
	free(c->landed);
	free(c->seen);
}
