// SPDX-License-Identifier: GPL-2.0-only
/* reuse.c - CR3 values that stood for several processes. */
#include "model/reuse.h"

/* Did @next get the address space's number because @prev was done with it? */
static int reused(const struct vmp_image *prev, const struct vmp_image *next, uint64_t begin)
{
	int lent = prev->parent != VMP_NONE && prev->fork_tsc == UINT64_MAX;

	return prev->proc != next->proc && prev->end <= begin && !lent;
}

uint64_t vmp_reuse_in_time(const struct vmp_space *s)
{
	uint64_t n = 0;
	uint32_t i, k;

	for (i = 0; i < s->spans.nr; i++) {
		const struct vmp_cr3_spans *sp = &s->spans.v[i];

		for (k = 1; k < sp->s.nr; k++)
			n += reused(&s->images.v[sp->s.v[k - 1].image],
				    &s->images.v[sp->s.v[k].image], sp->s.v[k].begin);
	}
	return n;
}

uint64_t vmp_reuse_in_others(const struct vmp_model *m, uint32_t vm)
{
	const struct vmp_space *s = &m->vms.v[vm].space;
	uint64_t n = 0;
	uint32_t i, k;

	for (i = 0; i < s->spans.nr; i++) {
		if (!s->spans.v[i].s.nr)
			continue;
		for (k = 0; k < m->vms.nr; k++) {
			if (k == vm || !vmp_hash_find(&m->vms.v[k].space.by_cr3,
						      s->images.v[s->spans.v[i].s.v[0].image].cr3))
				continue;
			n++;
			break;
		}
	}
	return n;
}
