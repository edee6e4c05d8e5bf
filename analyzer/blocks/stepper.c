// SPDX-License-Identifier: GPL-2.0-only
/* stepper.c - what was decoded last is kept: code is gone through in order, and blocks overlap. */
#include "blocks/stepper.h"

#include <string.h>

int vmp_stepper_init(struct vmp_stepper *s, const struct vmp_points *p)
{
	*s = (struct vmp_stepper){ .p = p, .walk.start = VMP_NONE, .decoder = vmp_decoder_create() };
	s->decoded = malloc(VMP_DECODED * sizeof(*s->decoded));
	if (!s->decoded || (!s->decoder && VMP_DECODES))
		return -ENOMEM;
	memset(s->decoded, 0xff, VMP_DECODED * sizeof(*s->decoded));	/* of no object */
	return 0;
}

void vmp_stepper_deinit(struct vmp_stepper *s)
{
	vmp_decoder_destroy(s->decoder);
	free(s->decoded);
}

/* Bytes and flow of an instruction; 0: there is none */
static unsigned int step_at(struct vmp_stepper *s, uint32_t object, uint64_t addr, const uint8_t *code, size_t len,
			    enum vmp_flow *flow)
{
	struct vmp_decoded *d = &s->decoded[(addr ^ (uint64_t)object * 0x9e3779b1U) % VMP_DECODED];

	if (d->addr != addr || d->object != object) {
		*flow = VMP_FLOW_ON;
		*d = (struct vmp_decoded){ .addr = addr, .object = object };
		d->bytes = (uint8_t)vmp_decode_step(s->decoder, code, len, flow);
		d->flow = (uint8_t)*flow;
	}
	*flow = d->flow;
	return d->bytes;
}

/* From where it stands until an instruction begins at @bytes or behind that.  Return: NONE; PASSES, DATA: it comes no further, ever */
static enum vmp_flaw walk_to(struct vmp_stepper *s, const struct vmp_point *a, uint64_t bytes, const uint8_t *code, size_t len)
{
	struct vmp_walk *w = &s->walk;
	enum vmp_flow flow;
	unsigned int step;

	while (w->at < bytes) {
		if (vmp_flow_leaves(w->flow))
			return VMP_FLAW_PASSES;
		step = w->at < len ? step_at(s, a->object, a->addr + w->at, code + w->at, len - w->at, &flow) : 0;
		if (!step)
			return VMP_FLAW_DATA;
		w->last = w->at;
		w->at += step;
		w->flow = flow;
		w->insns++;
	}
	return VMP_FLAW_NONE;
}

enum vmp_flaw vmp_step_straight(struct vmp_stepper *s, uint32_t start, uint32_t end, uint32_t *insns, enum vmp_flow *flow)
{
	const struct vmp_point *a = &s->p->points.v[start], *b = &s->p->points.v[end];
	struct vmp_walk *w = &s->walk;
	enum vmp_flaw flaw;
	const uint8_t *code;
	uint64_t bytes;
	size_t len;

	*insns = 0;
	if (a->flaw && !vmp_flaw_unseen(a->flaw))
		return a->flaw;
	if (a->object != b->object || a->object == VMP_NONE)
		return b->flaw ? b->flaw : VMP_FLAW_MIXED;
	if (b->addr < a->addr)
		return VMP_FLAW_BACKWARD;
	bytes = b->addr - a->addr;
	if (bytes > VMP_STRAIGHT_BYTES)
		return VMP_FLAW_LONG;
	if (a->flaw || b->flaw)
		return a->flaw ? a->flaw : b->flaw;
	code = vmp_points_code(s->p, a->object, a->addr, &len);
	if (!code)
		return VMP_FLAW_DATA;
	if (w->start != start || (w->at > bytes && w->last >= bytes))
		*w = (struct vmp_walk){ .start = start, .flow = VMP_FLOW_ON };
	flaw = walk_to(s, a, bytes, code, len);
	*insns = w->insns;
	if (flaw)
		return flaw;
	if (w->at >= len)
		return VMP_FLAW_DATA;
	if (w->at > bytes)
		return VMP_FLAW_MIDDLE;
	if (vmp_flow_leaves(w->flow))
		return VMP_FLAW_PASSES;
	return step_at(s, a->object, b->addr, code + w->at, len - w->at, flow) ? VMP_FLAW_NONE : VMP_FLAW_DATA;
}

enum vmp_flow vmp_step_flow(struct vmp_stepper *s, uint32_t point)
{
	const struct vmp_point *x = &s->p->points.v[point];
	enum vmp_flow flow;
	const uint8_t *code;
	size_t len;

	if (x->flaw || x->object == VMP_NONE)
		return VMP_FLOW_NR;
	code = vmp_points_code(s->p, x->object, x->addr, &len);
	return code && step_at(s, x->object, x->addr, code, len, &flow) ? flow : VMP_FLOW_NR;
}

int vmp_step_target(struct vmp_stepper *s, uint32_t point, uint64_t *addr)
{
	const struct vmp_point *x = &s->p->points.v[point];
	enum vmp_flow flow;
	unsigned int step;
	const uint8_t *code;
	size_t len;
	int64_t rel;

	if (x->flaw || x->object == VMP_NONE)
		return 0;
	code = vmp_points_code(s->p, x->object, x->addr, &len);
	step = code ? step_at(s, x->object, x->addr, code, len, &flow) : 0;
	if (!step || flow == VMP_FLOW_ON || !vmp_decode_target(code, step, &rel))
		return 0;
	*addr = x->addr + step + (uint64_t)rel;
	return 1;
}

/* Bytes from a point to the first branch behind it, if that goes to an address; else 0 */
static uint64_t fused_bytes(struct vmp_stepper *s, const struct vmp_point *from, uint64_t to)
{
	enum vmp_flow flow = VMP_FLOW_ON;
	uint64_t at = 0;
	unsigned int step = 0;
	const uint8_t *code;
	size_t len;
	int64_t rel;

	code = vmp_points_code(s->p, from->object, from->addr, &len);
	for (; code && flow == VMP_FLOW_ON && at < VMP_FUSED_BYTES && at < len; at += step) {
		step = step_at(s, from->object, from->addr + at, code + at, len - at, &flow);
		if (!step)
			return 0;
	}
	if (flow == VMP_FLOW_ON || !code || at == step || !vmp_decode_target(code + at - step, step, &rel))
		return 0;
	return from->addr + at + (uint64_t)rel == to ? at - step : 0;
}

uint64_t vmp_step_branch(struct vmp_stepper *s, uint32_t from, uint32_t to)
{
	const struct vmp_point *a = &s->p->points.v[from], *b = &s->p->points.v[to];

	return a->flaw || b->flaw || a->object == VMP_NONE || a->object != b->object ? 0 : fused_bytes(s, a, b->addr);
}
