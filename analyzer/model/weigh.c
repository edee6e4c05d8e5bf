// SPDX-License-Identifier: GPL-2.0-only
/* weigh.c - a sample's weight, by two events or by counters that were read at it. */
#include "model/weigh.h"

#include "model/model.h"

#define EVENTS_A_CPU	2	/* counters of one event: each keeps a part of a period */

/* A sample's part of the total, where overflows are missing or periods are random */
static uint64_t stands_for(const struct vmp_model *m, uint64_t period, uint64_t count,
			   uint64_t overflows)
{
	const struct vmp_driver_losses *d = &m->driver;

	if (!overflows || !count ||
	    (!m->meta.random && count / period <= overflows + EVENTS_A_CPU * (uint64_t)d->cpus))
		return period;
	return count / overflows;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void vmp_weigh_init(struct vmp_model *m)
{
	const struct vmp_driver_losses *d = &m->driver;

	if (!m->meta.instruction_period || !m->meta.period)
		return;
	/* a throttled counter stands still: the ones that only count go on */
	m->pair.cycles = stands_for(m, m->meta.period, most(d->event_count, d->cycles),
				    d->interrupts - d->instruction_interrupts);
	m->pair.instructions = stands_for(m, m->meta.instruction_period,
					  most(d->instruction_count, d->instructions),
					  d->instruction_interrupts);
}

int vmp_weigh_paired(const struct vmp_model *m)
{
	return m->pair.instructions != 0;
}

const char *vmp_weigh_estimator(const struct vmp_model *m)
{
	return vmp_weigh_paired(m) ? "two-events" : "counts";
}

int vmp_weigh(const struct vmp_model *m, const struct vmprof_sample *s, struct vmp_weight *w)
{
	*w = (struct vmp_weight){ 0 };
	if (!vmp_weigh_paired(m)) {
		if (!(s->flags & VMPROF_SF_COUNTS) || s->hdr.type != VMPROF_REC_SAMPLE)
			return 0;
		*w = (struct vmp_weight){ s->cycles, s->instructions };
		return 1;
	}
	/* others' instructions are not sampled */
	if (s->mode > VMPROF_MODE_VMM_USER)
		return 0;
	if (s->hdr.type == VMPROF_REC_SAMPLE)
		w->cycles = m->pair.cycles;
	else
		w->instructions = m->pair.instructions;
	return 1;
}

double vmp_weigh_cpi(const struct vmp_model *m, uint64_t samples, uint64_t instruction_samples)
{
	if (!instruction_samples)
		return 0;
	return (double)samples * (double)m->pair.cycles /
	       ((double)instruction_samples * (double)m->pair.instructions);
}
