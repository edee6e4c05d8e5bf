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

void neighbours_see(struct neighbours *n, const struct vmp_model *m, const struct vmprof_sample *s, int counts)
{
	const int is_second = neighbours_is_second(m, s);
	struct vmprof_sample *second = &n->second[s->hdr.pcpu % NEIGHBOURS_PCPUS];

	if (second->tsc)
		n->stray += is_second || !is_first_of(second, s);
	second->tsc = 0;
	if (!is_second)
		return;
	*second = *s;
	n->stray += vmp_model_vm(m, s->vm) == VMP_NONE || s->vm == s->host_pid;
	n->seconds += (uint64_t)!!counts;
}

void neighbours_finish(struct neighbours *n)
{
	uint32_t i;

	for (i = 0; i < NEIGHBOURS_PCPUS; i++)
		n->stray += !!n->second[i].tsc;
}
