// SPDX-License-Identifier: GPL-2.0-only
/* cells.c - what is done for every sample; all that costs more is done once a cell. */
#include "export/cells.h"

#include <string.h>

#include "report/exits.h"

static void track_of(struct vmp_group *g, const struct vmp_model *m, const struct vmprof_sample *s)
{
	uint32_t vcpu;

	if (g->from.vm == VMP_NONE) {
		g->track_kind = VMP_TRACK_PCPU;
		g->track_id = s->hdr.pcpu;
		return;
	}
	vcpu = vmp_origin_vcpu(m, s);
	g->track_kind = vcpu == VMP_NONE ? VMP_TRACK_THREAD : VMP_TRACK_VCPU;
	g->track_id = vcpu != VMP_NONE ? vcpu : s->flags & VMPROF_SF_STEAL ? s->vcpu_tid : s->host_tid;
}

void vmp_group_of(struct vmp_group *g, const struct vmp_model *m, const struct vmprof_sample *s)
{
	track_of(g, m, s);
	if (vmp_origin_side(g->from.kind) == VMP_SIDE_VMM && s->flags & VMPROF_SF_VCPU) {
		g->has_exit = 1;
		g->vendor = s->vendor;
		g->exit_code = (uint32_t)vmp_exit_code(s->vendor, s->exit_reason);
	}
}

static int number_of(struct vmp_cells *c, const struct vmp_group *g, uint32_t *out)
{
	uint32_t *i, n;
	uint64_t sum;

	if (c->last < c->groups.nr && !memcmp(&c->groups.v[c->last], g, sizeof(*g))) {
		*out = c->last;
		return 0;
	}
	for (sum = vmp_hash_bytes(g, sizeof(*g)); (i = vmp_hash_find(&c->by_group, sum)); sum++)
		if (!memcmp(&c->groups.v[*i], g, sizeof(*g)))
			break;
	n = i ? *i : c->groups.nr;
	if (!i && (vmp_vec_push(&c->groups, *g) || vmp_hash_set(&c->by_group, sum, n)))
		return -ENOMEM;
	*out = c->last = n;
	return 0;
}

int vmp_cells_group(struct vmp_cells *c, struct vmp_model *m, const struct vmprof_sample *s,
		    uint32_t *group, uint64_t *addr)
{
	struct vmp_group g = { 0 };
	struct vmp_hit hit;
	int err = vmp_classify(m, s, &hit);

	if (err)
		return err;
	vmp_origin_from(&hit, s, &g.from, addr);
	if (c->threads)
		g.thread = hit.task + 1;
	*group = VMP_NONE;
	if (g.from.vm == VMP_NONE && !c->all_host)
		return 0;
	vmp_group_of(&g, m, s);
	return number_of(c, &g, group);
}

int vmp_cells_find(struct vmp_cells *c, struct vmp_model *m, const struct vmprof_sample *s,
		   uint32_t *cell)
{
	struct vmp_cell new = { .line = VMP_NONE };
	uint32_t *i, n;
	uint64_t sum;
	int err;

	*cell = VMP_NONE;
	err = vmp_cells_group(c, m, s, &new.group, &new.addr);
	if (err || new.group == VMP_NONE)
		return err;
	for (sum = vmp_hash_mix(new.addr) + new.group; (i = vmp_hash_find(&c->by_cell, sum)); sum++)
		if (c->cells.v[*i].addr == new.addr && c->cells.v[*i].group == new.group)
			break;
	n = i ? *i : c->cells.nr;
	if (!i && (vmp_vec_push(&c->cells, new) || vmp_hash_set(&c->by_cell, sum, n)))
		return -ENOMEM;
	*cell = n;
	return 0;
}

void vmp_cells_free(struct vmp_cells *c)
{
	vmp_vec_free(&c->groups);
	vmp_vec_free(&c->cells);
	vmp_hash_free(&c->by_group);
	vmp_hash_free(&c->by_cell);
}
