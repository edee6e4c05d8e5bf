// SPDX-License-Identifier: GPL-2.0-only
/* kept.c - samples of different lengths, one behind the other in 64-bit words. */
#include "blocks/kept.h"

#include "blocks/set.h"

_Static_assert(sizeof(struct vmp_kept_sample) == 32, "head in whole words");

static uint32_t words_of(uint32_t nr, int has_cycles)
{
	return (uint32_t)(sizeof(struct vmp_kept_sample) + (has_cycles ? 2 : 1) * sizeof(uint32_t) * nr + 7) / 8;
}

void vmp_kept_pass(struct vmp_kept *k, const struct vmp_lbr_sample *ls)
{
	k->fresh |= ls->first || vmp_lbr_is_timed(ls);
}

void vmp_kept_head(struct vmp_kept_sample *s, struct vmp_kept *k, const struct vmp_lbr_sample *ls,
		   const struct vmp_set_keys *keys)
{
	int counts = ls->s->flags & VMPROF_SF_COUNTS;
	unsigned int i;

	_Static_assert(VMP_GROUPS == 8, "of three bits");
	*s = (struct vmp_kept_sample){
		.cycles = counts ? ls->s->cycles : 0, .insns = counts ? ls->s->instructions : 0,
		.group = (uint8_t)(ls->s->tsc * 0x9e3779b97f4a7c15ULL >> 61),
		.timed = (uint8_t)vmp_lbr_is_timed(ls), .cut = ls->lbr && ls->lbr->nr && ls->lbr->cut, .fresh = (uint8_t)(k->fresh | ls->first),
	};
	for (i = 0; i < keys->nr; i++)
		s->has_cycles |= keys->raw[i].cycles != 0;
	k->fresh = !s->timed && s->fresh;
}

int vmp_kept_add(struct vmp_kept *k, const struct vmp_kept_sample *head, const struct vmp_set_keys *keys)
{
	struct vmp_kept_sample *s;
	uint32_t n = 0;
	unsigned int i;

	if (vmp_vec_reserve(&k->words, words_of(VMPROF_LBR_MAX, 1)))
		return -ENOMEM;
	s = (struct vmp_kept_sample *)&k->words.v[k->words.nr];
	*s = *head;
	s->landing = keys->landed ? keys->number[keys->nr] : VMP_NONE;
	for (i = 0; i < keys->nr; i++)
		s->nr += keys->raw[i].a != 0;
	for (i = 0; i < keys->nr; i++) {
		if (!keys->raw[i].a)
			continue;
		s->step[n] = keys->number[i];
		if (s->has_cycles)
			s->step[s->nr + n] = (uint32_t)keys->raw[i].cycles;
		n++;
	}
	k->words.nr += words_of(s->nr, s->has_cycles);
	return 0;
}

const struct vmp_kept_sample *vmp_kept_next(const struct vmp_kept *k, uint32_t *at)
{
	const struct vmp_kept_sample *s;

	if (*at == k->words.nr)
		return NULL;
	s = (const struct vmp_kept_sample *)&k->words.v[*at];
	*at += words_of(s->nr, s->has_cycles);
	return s;
}
