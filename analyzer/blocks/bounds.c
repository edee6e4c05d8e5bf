// SPDX-License-Identifier: GPL-2.0-only
/* bounds.c - a map of the bytes of one function after the other: where instructions begin, and how sure that is. */
#include "blocks/bounds.h"

#include <string.h>

#include "util/big.h"

#define NOP	0x90

/* What is known of a byte */
enum byte {
	BYTE_NEW,	/* no way leads there */
	BYTE_FIRST,	/* of an instruction that a way leads to */
	BYTE_WITHIN,	/* such a one */
	BYTE_ORDER_FIRST, BYTE_ORDER_WITHIN,	/* the same, only because code lies before it */
	BYTE_UNSURE,	/* behind what may be data */
};

/* A function and its map */
struct vmp_bounds {
	const struct vmp_points *p;
	void *decoder;
	uint32_t object;
	uint64_t start;
	const uint8_t *code;
	uint32_t bytes;
	uint8_t map[VMP_BOUNDS_BYTES];
	VMP_VEC(uint32_t) ways;		/* offsets that branches name */
	uint32_t followed;		/* of these */
	uint32_t at;			/* where we are */
};

/* What the function that holds a point is, by addresses of points; 0: it is not known */
static int function_at(const struct vmp_points *p, const struct vmp_point *x, uint64_t *start, uint64_t *end)
{
	const struct vmp_object *o = &p->objects.v[x->object];
	const struct vmp_symbol *sym;

	if (o->copy)
		sym = vmp_symtab_find(vmp_points_ksyms(p, o), x->addr);
	else
		sym = vmp_elf_symbol(o->code, x->addr - o->slide);
	if (!sym)
		return 0;
	*start = sym->start + o->slide;
	*end = sym->end + o->slide;
	return 1;
}

static void mark(struct vmp_bounds *b, uint32_t at, unsigned int step, enum byte first)
{
	uint32_t i;

	b->map[at] = (uint8_t)first;
	for (i = at + 1; i < at + step && i < b->bytes; i++)
		if (b->map[i] == BYTE_NEW)
			b->map[i] = (uint8_t)(first + 1);
}

/* The instruction where we are, and where we are then; two may share an end: there is a way past the other's prefix */
static int follow_one(struct vmp_bounds *b)
{
	enum vmp_flow flow = VMP_FLOW_ON;
	unsigned int step = vmp_decode_step(b->decoder, b->code + b->at, b->bytes - b->at, &flow);
	uint32_t at = b->at;
	int64_t rel;

	b->at = step && !vmp_flow_leaves(flow) ? at + step : b->bytes;
	if (!step)
		return 0;
	mark(b, at, step, BYTE_FIRST);
	if (flow == VMP_FLOW_ON || !vmp_decode_target(b->code + at, step, &rel))
		return 0;
	rel += at + step;
	return rel >= 0 && rel < b->bytes && b->map[rel] != BYTE_FIRST ? vmp_vec_push(&b->ways, (uint32_t)rel) : 0;
}

/* Go on until an instruction is found that begins at @wanted, or there is no way left; bytes: to the end */
static int follow(struct vmp_bounds *b, uint32_t wanted)
{
	int err = 0;

	while (!err && (wanted >= b->bytes || b->map[wanted] != BYTE_FIRST)) {
		if (b->at < b->bytes && b->map[b->at] != BYTE_FIRST)
			err = follow_one(b);
		else if (b->followed < b->ways.nr)
			b->at = b->ways.v[b->followed++];
		else
			break;
	}
	return err;
}

/*
 * The bytes around @at that no way leads to, in order.  Two that are zero are an instruction that no program
 * has (add [rax], al), and most data has some.
 */
static void go_through(struct vmp_bounds *b, uint32_t at)
{
	enum vmp_flow flow;
	unsigned int step;

	while (at && b->map[at - 1] == BYTE_NEW)
		at--;
	for (; at < b->bytes && b->map[at] == BYTE_NEW; at += step) {
		step = at + 1 < b->bytes && !b->code[at] && !b->code[at + 1] ? 0 :
		       vmp_decode_step(b->decoder, b->code + at, b->bytes - at, &flow);
		if (!step)
			break;
		mark(b, at, step, BYTE_ORDER_FIRST);
	}
	for (; at < b->bytes && b->map[at] == BYTE_NEW; at++)
		b->map[at] = BYTE_UNSURE;
}

static void take_function(struct vmp_bounds *b, uint32_t object, uint64_t start, uint64_t end)
{
	size_t len;

	b->object = object;
	b->start = start;
	b->code = vmp_points_code(b->p, object, start, &len);
	len = b->code && len > end - start ? (size_t)(end - start) : len;
	b->bytes = len < VMP_BOUNDS_BYTES ? (uint32_t)len : VMP_BOUNDS_BYTES;
	memset(b->map, BYTE_NEW, b->bytes);
	b->ways.nr = b->followed = b->at = 0;
}

/* Offset of a point in its function, which is taken; 0: it begins there, or nothing is known: @known */
static uint32_t take_point(struct vmp_bounds *b, const struct vmp_point *x, int *known)
{
	uint64_t start, end, at;

	*known = function_at(b->p, x, &start, &end);
	if (!*known)
		return 0;
	at = x->addr - start;
	if (at && (b->object != x->object || b->start != start))
		take_function(b, x->object, start, end);
	*known = !at || at < b->bytes;
	return *known ? (uint32_t)at : 0;
}

static int look_at(struct vmp_bounds *b, struct vmp_point *x)
{
	int known, err;
	uint32_t at = take_point(b, x, &known);

	x->unbound = !known;
	if (!at)
		return 0;
	err = follow(b, at);
	if (!err && b->map[at] == BYTE_NEW)
		go_through(b, at);
	if (b->map[at] == BYTE_WITHIN || b->map[at] == BYTE_ORDER_WITHIN)
		x->flaw = VMP_FLAW_MIDDLE;
	x->unbound = b->map[at] == BYTE_UNSURE;
	return err;
}

int vmp_bounds_goes_on(struct vmp_bounds *b, uint32_t point)
{
	const struct vmp_point *x = &b->p->points.v[point];
	int known;
	uint32_t at = take_point(b, x, &known), i;
	enum vmp_flow flow;

	if (!at || b->code[at - 1] == NOP || follow(b, b->bytes) || b->map[at] != BYTE_FIRST)
		return 0;
	for (i = 1; i <= VMP_DECODE_BYTES && i <= at; i++)
		if (b->map[at - i] == BYTE_FIRST && vmp_decode_step(b->decoder, b->code + at - i, i, &flow) == i)
			return flow == VMP_FLOW_ON || flow == VMP_FLOW_COND;
	return 0;
}

struct vmp_bounds *vmp_bounds_create(const struct vmp_points *p)
{
	struct vmp_bounds *b = malloc(sizeof(*b));

	if (!b)
		return NULL;
	b->p = p;
	b->object = VMP_NONE;
	b->bytes = 0;
	b->ways = (typeof(b->ways)){ 0 };
	b->decoder = vmp_decoder_create();
	if (b->decoder || !VMP_DECODES)
		return b;
	free(b);
	return NULL;
}

void vmp_bounds_destroy(struct vmp_bounds *b)
{
	if (!b)
		return;
	vmp_decoder_destroy(b->decoder);
	vmp_vec_free(&b->ways);
	free(b);
}

static void *mark_points(void *arg)
{
	struct vmp_drawer *me = arg;
	struct vmp_points *p = &me->w->set->points;
	const uint32_t *order = me->w->found;
	struct vmp_bounds *b = vmp_bounds_create(p);
	uint32_t i, to;

	me->err = b ? 0 : -ENOMEM;
	while (!me->err && vmp_ranges_take(me->left, &i, &to))
		for (; !me->err && i < to; i++)
			me->err = look_at(b, &p->points.v[order[i]]);
	vmp_bounds_destroy(b);
	return NULL;
}

/* Points whose code is here, those of an object together: the same file of two guests is two. */
static uint32_t *by_object(const struct vmp_points *p, uint32_t *nr)
{
	uint32_t *order = vmp_big_alloc(((size_t)p->points.nr + 1) * sizeof(*order));
	uint32_t *at = calloc((size_t)p->objects.nr + 2, sizeof(*at)), i;

	for (i = 0; order && at && i < p->points.nr; i++)
		if (!p->points.v[i].flaw && p->points.v[i].object != VMP_NONE)
			at[p->points.v[i].object + 1]++;
	for (i = 0; at && i < p->objects.nr; i++)
		at[i + 1] += at[i];
	*nr = at ? at[p->objects.nr] : 0;
	for (i = 0; order && at && i < p->points.nr; i++)
		if (!p->points.v[i].flaw && p->points.v[i].object != VMP_NONE)
			order[at[p->points.v[i].object]++] = i;
	if (!at) {
		free(order);
		order = NULL;
	}
	free(at);
	return order;
}

int vmp_bounds_mark(struct vmp_drawing *w)
{
	uint32_t *order, nr;
	int err;

	order = by_object(&w->set->points, &nr);
	w->found = order;
	err = order ? vmp_draw_together(w, nr, mark_points) : -ENOMEM;
	free(order);
	return err;
}
