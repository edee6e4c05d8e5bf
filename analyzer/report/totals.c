// SPDX-License-Identifier: GPL-2.0-only
/* totals.c - see totals.h. */
#include "report/totals.h"

void vmp_totals_weigh(const struct vmp_model *m, const struct vmp_gather_space *s, const struct vmp_gathered *g,
		      struct vmp_row *row)
{
	if (!vmp_weigh_paired(m)) {
		row->cycles = g->cycles;
		row->instructions = g->instructions;
	} else if (s->second) {
		row->instruction_samples = g->samples;
	} else if (row->side < VMP_SIDE_STEAL) {
		row->cycle_samples = g->samples;
	}
}

void vmp_totals_add(const struct vmp_model *m, struct vmp_domain *d, const struct vmp_gather_space *s,
		    const struct vmp_place *place, const struct vmp_row *row, int aside)
{
	uint64_t n = row->samples;

	d->side[row->side] += n;
	d->total += row->side == VMP_SIDE_HOST && s->from.vm != VMP_NONE ? 0 : n;
	if (vmp_weigh_paired(m)) {
		d->cycle_samples += row->cycle_samples;
		d->instruction_samples += row->instruction_samples;
	} else {
		struct vmp_weight *w = row->side <= VMP_SIDE_USER ? &d->guest : &d->rest;

		w->cycles += row->cycles;
		w->instructions += row->instructions;
	}
	if (!vmp_origin_is_guest(s->from.kind) || aside)
		return;
	d->with_process += row->pid != VMP_NONE ? n : 0;
	d->with_function += place->why <= VMP_WHY_UNNAMED ? n : 0;
	d->with_both += row->pid != VMP_NONE && place->why <= VMP_WHY_UNNAMED ? n : 0;
	d->why[place->why] += n;
	d->shared += s->from.shared ? n : 0;
	d->who[s->from.who] += n;
}
