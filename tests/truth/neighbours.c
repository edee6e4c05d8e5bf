// SPDX-License-Identifier: GPL-2.0-only
/* neighbours.c - see neighbours.h. */
#include "neighbours.h"

int neighbours_is_second(const struct vmp_model *m, const struct vmprof_sample *s)
{
	return s->flags & VMPROF_SF_STEAL && vmp_model_vm(m, s->host_pid) != VMP_NONE;
}

static int is_first_of(const struct vmprof_sample *second, const struct vmprof_sample *s)
{
	return s->tsc == second->tsc && s->hdr.pcpu == second->hdr.pcpu && s->host_pid == second->host_pid &&
	       s->host_ip == second->host_ip;
}

/* Two records of one overflow stand for the same time */
static void stands_for(struct neighbours_pcpu *p, uint64_t tsc)
{
	if (tsc == p->tsc)
		return;
	p->ticks = p->tsc && tsc > p->tsc ? tsc - p->tsc : 0;
	p->tsc = tsc;
}

static void add(struct neighbours_count *c, uint64_t ticks)
{
	c->samples++;
	c->ticks += ticks;
}

void neighbours_see(struct neighbours *n, const struct vmp_model *m, const struct vmprof_sample *s, int counts)
{
	const int second = neighbours_is_second(m, s);
	struct neighbours_pcpu *p = &n->pcpus[s->hdr.pcpu % NEIGHBOURS_PCPUS];

	if (p->second.tsc)
		n->stray += second || !is_first_of(&p->second, s);
	p->second.tsc = 0;
	if (second) {
		p->second = *s;
		n->stray += vmp_model_vm(m, s->vm) == VMP_NONE || s->vm == s->host_pid;
	}
	if (!counts || s->hdr.type != VMPROF_REC_SAMPLE)
		return;
	stands_for(p, s->tsc);
	if (s->flags & VMPROF_SF_STEAL)
		add(&n->steal, p->ticks);
	if (second)
		add(&n->second, p->ticks);
	else if (vmp_model_vm(m, s->host_pid) != VMP_NONE)
		add(&n->ran, p->ticks);
}

void neighbours_finish(struct neighbours *n)
{
	uint32_t i;

	for (i = 0; i < NEIGHBOURS_PCPUS; i++)
		n->stray += !!n->pcpus[i].second.tsc;
}
