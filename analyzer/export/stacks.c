// SPDX-License-Identifier: GPL-2.0-only
/* stacks.c - lines of one stack are added up; tasks and sites are sorted already. */
#include "export/stacks.h"

#include <stdlib.h>

static int same_task(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	const struct vmp_task *x = &t->tasks.v[a], *y = &t->tasks.v[b];

	return x->domain == y->domain && x->comm == y->comm &&
	       (x->comm || (x->pid == VMP_NONE) == (y->pid == VMP_NONE));
}

static int same_site(const struct vmp_table *t, uint32_t a, uint32_t b)
{
	return t->sites.v[a].function == t->sites.v[b].function &&
	       t->sites.v[a].module == t->sites.v[b].module;
}

/* Number of the first that is the same, for each of @nr */
static uint32_t *firsts(const struct vmp_table *t, uint32_t nr,
			int (*same)(const struct vmp_table *t, uint32_t a, uint32_t b))
{
	uint32_t *first = malloc((nr + 1) * sizeof(*first)), i;

	for (i = 0; first && i < nr; i++)
		first[i] = i && same(t, i - 1, i) ? first[i - 1] : i;
	return first;
}

static int cmp(const void *pa, const void *pb)
{
	const struct vmp_stack *a = pa, *b = pb;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

int vmp_stacks_create(struct vmp_stacks *s, const struct vmp_table *t)
{
	uint32_t *task = firsts(t, t->tasks.nr, same_task);
	uint32_t *site = firsts(t, t->sites.nr, same_site);
	uint32_t i, n = 0, all = 0;
	int err = task && site && !vmp_vec_reserve(&s->v, t->lines.nr) ? 0 : -ENOMEM;

	for (i = 0; !err && i < t->lines.nr; i++) {
		const struct vmp_line *l = &t->lines.v[i];

		if (l->sum.samples)
			s->v.v[all++] = (struct vmp_stack){ task[l->task], site[l->site], i, l->sum.samples };
	}
	free(task);
	free(site);
	if (err)
		return err;
	if (all)
		qsort(s->v.v, all, sizeof(*s->v.v), cmp);
	for (i = 0; i < all; i++) {
		struct vmp_stack *a = &s->v.v[i];

		if (n && s->v.v[n - 1].task == a->task && s->v.v[n - 1].site == a->site)
			s->v.v[n - 1].samples += a->samples;
		else
			s->v.v[n++] = *a;
	}
	s->v.nr = n;
	return 0;
}

void vmp_stacks_free(struct vmp_stacks *s)
{
	vmp_vec_free(&s->v);
}
