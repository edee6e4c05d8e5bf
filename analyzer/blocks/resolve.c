// SPDX-License-Identifier: GPL-2.0-only
/* resolve.c - from raws to units, blocks and landings: the code of each block is looked at once. */
#include "blocks/bounds.h"

#include <string.h>

#include "util/big.h"

#define AHEAD	16U	/* raws that are fetched while one is looked at */
#define BEHIND	4096U	/* bytes behind another sample of the same block, at most */

/* What code says of a drawn's start and end, and of its next */
struct checked {
	uint32_t insns;
	uint8_t flaw, flow;
	uint8_t branch;		/* a flaw, too: of the way from end to next */
};

/* ---------------------------------------------------------------- checking */

static int same_code(const struct vmp_drawn *a, const struct vmp_drawn *b)
{
	return a->start == b->start && a->end == b->end;
}

static struct checked look(struct vmp_stepper *step, const struct vmp_drawn *d)
{
	enum vmp_flow flow = VMP_FLOW_NR;
	struct checked c = { 0 };

	if (d->start != VMP_NONE)
		c.flaw = (uint8_t)vmp_step_straight(step, d->start, d->end, &c.insns, &flow);
	/* wherever the step began */
	if ((d->start == VMP_NONE || c.flaw) && d->end != VMP_NONE)
		flow = vmp_step_flow(step, d->end);
	c.flow = (uint8_t)flow;
	return c;
}

/*
 * Does the branch at the end name another address than the record?  Both must lie in the same object.  A kernel patches
 * its calls and jumps, but no conditional ones: of these a file does not tell what ran.  An interrupt that came
 * when the branch was to run looks like one from there to where the kernel's interrupts begin.
 */
static int goes_elsewhere(struct vmp_stepper *step, const struct vmp_set *set, const struct vmp_drawn *d, enum vmp_flow flow)
{
	const struct vmp_point *points = set->points.points.v;
	const struct vmp_object *o;
	uint64_t target;

	if (points[d->end].object != points[d->next].object || !vmp_step_target(step, d->end, &target) ||
	    target == points[d->next].addr)
		return 0;
	o = &set->points.objects.v[points[d->end].object];
	if (o->kernel && !o->copy && flow != VMP_FLOW_COND)
		return 0;
	return !(set->totals.branches & VMPROF_LBR_FAR) || !vmp_points_entry(&set->points, d->next);
}

/* By its bytes: does a call end before a point?  Then, as mostly, nothing has to be decoded. */
static int is_behind_call(const struct vmp_points *p, const struct vmp_point *x)
{
	static const struct { uint8_t back, mask, modrm; } forms[] = {	/* ff /2 */
		{ 2, 0xf8, 0xd0 }, { 2, 0xf8, 0x10 }, { 3, 0xf8, 0x50 }, { 3, 0xff, 0x14 }, { 4, 0xff, 0x54 },
		{ 6, 0xff, 0x15 }, { 6, 0xf8, 0x90 }, { 7, 0xff, 0x94 }, { 7, 0xff, 0x14 },
	};
	const uint8_t *code;
	size_t len, i;

	code = vmp_points_code(p, x->object, x->addr - 5, &len);
	if (code && len >= 5 && *code == 0xe8)
		return 1;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		code = vmp_points_code(p, x->object, x->addr - forms[i].back, &len);
		if (code && len >= forms[i].back && *code == 0xff && (code[1] & forms[i].mask) == forms[i].modrm)
			return 1;
	}
	return 0;
}

/*
 * A return to code that goes on there anyway, behind what is no call.  What returns elsewhere on purpose: code that stands for an
 * indirect jump, or goes back to where a signal came.  A kernel's file does not tell which calls were patched.
 */
static int returns_astray(struct vmp_bounds *bounds, const struct vmp_set *set, const struct vmp_drawn *d)
{
	const struct vmp_points *p = &set->points;
	const struct vmp_point *next = &p->points.v[d->next];
	const char *from = vmp_model_name(set->m, p->points.v[d->end].function);
	const struct vmp_object *o;

	if (next->object == VMP_NONE || is_behind_call(p, next) || strstr(from, "indirect_thunk") || strstr(from, "asyncPreempt"))
		return 0;
	o = &p->objects.v[next->object];
	return o->code && !(o->kernel && !o->copy) && vmp_bounds_goes_on(bounds, d->next) &&
	       !(set->totals.branches & VMPROF_LBR_FAR && vmp_points_entry(p, d->next));
}

/* What a thread looks at code with */
struct looking {
	struct vmp_stepper step;
	struct vmp_bounds *bounds;
};

static enum vmp_flaw look_at_branch(struct looking *l, const struct vmp_set *set, const struct vmp_drawn *d, enum vmp_flow flow)
{
	enum vmp_flaw flaw;

	if (d->end == VMP_NONE || d->next == VMP_NONE)
		return VMP_FLAW_NONE;
	flaw = set->points.points.v[d->next].flaw;
	if (flaw)
		return flaw == VMP_FLAW_MIDDLE ? flaw : VMP_FLAW_NONE;
	if (flow == VMP_FLOW_RETURN)
		return returns_astray(l->bounds, set, d) ? VMP_FLAW_ELSEWHERE : VMP_FLAW_NONE;
	if (flow != VMP_FLOW_COND && flow != VMP_FLOW_CALL && flow != VMP_FLOW_JUMP)
		return VMP_FLAW_NONE;
	return goes_elsewhere(&l->step, set, d, flow) ? VMP_FLAW_ELSEWHERE : VMP_FLAW_NONE;
}

static void check_range(struct looking *l, const struct vmp_drawing *w, uint32_t from, uint32_t to)
{
	const struct vmp_drawn *d = w->v;
	struct checked *checked = w->found, code = { 0 };
	uint32_t i;

	for (i = from; i < to; i++) {
		if (i == from || i == w->steps || !same_code(&d[i], &d[i - 1]))
			code = look(&l->step, &d[i]);
		else if (d[i].next == d[i - 1].next)
			continue;
		checked[i] = code;
		if (!code.flaw)
			checked[i].branch = (uint8_t)look_at_branch(l, w->set, &d[i], code.flow);
	}
}

static void *check_all(void *arg)
{
	struct vmp_drawer *me = arg;
	const struct vmp_points *p = &me->w->set->points;
	struct looking l = { .bounds = vmp_bounds_create(p) };
	uint32_t from, to;

	me->err = vmp_stepper_init(&l.step, p);
	if (!l.bounds)
		me->err = -ENOMEM;
	while (!me->err && vmp_ranges_take(me->left, &from, &to))
		check_range(&l, me->w, from, to);
	vmp_stepper_deinit(&l.step);
	vmp_bounds_destroy(l.bounds);
	return NULL;
}

/* A step's flaw, as far as not only its code says; instructions with the one at its end */
static enum vmp_flaw check(const struct vmp_set *set, const struct vmp_drawn *d, const struct checked *c, uint32_t *insns)
{
	const struct vmp_raw *raw = vmp_raws_at(&set->raws, d->raw);

	*insns = 0;
	if (c->flaw)
		return c->flaw;
	if (c->branch)
		return c->branch;
	if (d->start == VMP_NONE)
		return VMP_FLAW_NONE;
	*insns = c->insns + (c->flow != VMP_FLOW_ON);
	if (c->flow == VMP_FLOW_ON && (!(raw->c >> 63) || !(set->totals.branches & VMPROF_LBR_FAR)))
		return VMP_FLAW_NO_BRANCH;	/* only an interrupt ends a block so */
	return VMP_FLAW_NONE;
}

/* The block of a good step; the last one is the only one that it can be */
static int block_of(struct vmp_set *set, struct vmp_unit *u, uint32_t insns)
{
	const struct vmp_block_code *last = set->blocks.nr ? &set->blocks.v[set->blocks.nr - 1] : NULL;
	struct vmp_block_code new = { .start = u->start, .end = u->end, .insns = insns, .flow = u->flow };
	int err = 0;

	if (!last || last->start != u->start || last->end != u->end)
		err = vmp_vec_push(&set->blocks, new);
	u->block = set->blocks.nr - 1;
	return err;
}

/* Nothing has told whether an instruction begins at one of its places */
static int is_unbound(const struct vmp_set *set, const struct vmp_unit *u)
{
	const struct vmp_point *p = set->points.points.v;

	return p[u->start].unbound || (u->end != VMP_NONE && p[u->end].unbound) || (u->next != VMP_NONE && p[u->next].unbound);
}

static void add_counts(struct vmp_set *set, struct vmp_unit *u, const struct vmp_raw *raw)
{
	struct vmp_block_code *b = u->block == VMP_NONE ? NULL : &set->blocks.v[u->block];

	u->n += raw->n;
	u->mispredicted += raw->mispredicted;
	if (u->start == VMP_NONE)
		return;
	set->totals.steps += raw->n;
	set->totals.flaw[u->flaw] += raw->n;
	if (!u->flaw && is_unbound(set, u))
		set->totals.unbound += raw->n;
	if (!b)
		return;
	b->n += raw->n;
	b->mispredicted += raw->mispredicted;
	b->cycles += raw->cycles;
	b->cycled += raw->cycled;
	if (!raw->missed)
		return;
	b->missed.n += raw->n;
	b->missed.cycles += raw->cycles;
	b->missed.cycled += raw->cycled;
}

/* Of a raw, which becomes the unit or landing @number */
static void become(struct vmp_set *set, uint32_t raw, uint32_t number, uint32_t block)
{
	set->seen_as[raw] = (struct vmp_seen_as){ number & INT32_MAX, !!vmp_raws_at(&set->raws, raw)->missed, block };
}

static void fetch_ahead(const struct vmp_drawing *w, uint32_t i)
{
	if (i + AHEAD < w->nr)
		__builtin_prefetch(vmp_raws_at(&w->set->raws, w->v[i + AHEAD].raw));
}

static int add_unit(struct vmp_set *set, const struct vmp_drawn *d, const struct checked *c)
{
	struct vmp_unit u = { .start = d->start, .end = d->end, .next = d->next, .block = VMP_NONE, .flow = c->flow };
	uint32_t insns;
	int err = 0;

	u.flaw = check(set, d, c, &insns);
	/* it may be fused with the branch behind it: where that goes would tell */
	if (u.start == VMP_NONE && u.next == VMP_NONE && u.flow == VMP_FLOW_ON)
		u.flow = VMP_FLOW_NR;
	if ((!u.flaw || vmp_flaw_unseen(u.flaw)) && u.start != VMP_NONE)
		err = block_of(set, &u, insns);
	return err ? err : vmp_vec_push(&set->units, u);
}

static int add_units(void *arg)
{
	const struct vmp_drawing *w = arg;
	const struct checked *checked = w->found;
	struct vmp_set *set = w->set;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->steps; i++) {
		const struct vmp_drawn *d = &w->v[i];
		struct vmp_unit *u;

		fetch_ahead(w, i);
		if (!i || vmp_by_points(d, d - 1))
			err = add_unit(set, d, &checked[i]);
		if (err)
			break;
		u = &set->units.v[set->units.nr - 1];
		become(set, d->raw, set->units.nr - 1, u->block);
		add_counts(set, u, vmp_raws_at(&set->raws, d->raw));
	}
	return err;
}

/* Does a block that begins at @start go on as far as an address? */
static int reaches(const struct vmp_set *set, uint32_t start, uint64_t addr)
{
	uint32_t b = vmp_set_blocks_before(set, vmp_set_first_block(set, start), start, addr);

	return b < set->blocks.nr && set->blocks.v[b].start == start;
}

/*
 * Of a sample at @at that no branch leads to: where the block began in which most of those were taken that
 * lie there, or closest before it.  VMP_NONE: no block is known there.
 */
static uint32_t start_by_place(const struct vmp_set *set, const uint32_t *most, uint32_t at)
{
	const struct vmp_point *points = set->points.points.v;
	uint32_t i = at;

	if (points[at].flaw == VMP_FLAW_MIDDLE)
		return VMP_NONE;
	do {
		if (points[at].addr - points[i].addr > BEHIND)
			break;
		if (points[i].object == points[at].object && most[i] != VMP_NONE &&
		    reaches(set, set->landings.v[most[i]].start, points[at].addr))
			return set->landings.v[most[i]].start;
	} while (i-- && points[i].module == points[at].module);
	return VMP_NONE;
}

/* By point: the landing there with the most samples */
static uint32_t *most_at(const struct vmp_set *set)
{
	size_t bytes = ((size_t)set->points.points.nr + 1) * sizeof(uint32_t);
	uint32_t *most = malloc(bytes), i;

	if (!most)
		return NULL;
	memset(most, 0xff, bytes);
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];

		if (!l->flaw && !l->ended && (most[l->at] == VMP_NONE || set->landings.v[most[l->at]].n < l->n))
			most[l->at] = i;
	}
	return most;
}

/*
 * Between VM exit and KVM's handling of it no sample of the host has branches: windows miss all runs there, so that a block which had the
 * time of these would be too long.
 */
static int is_host(const struct vmp_set *set, uint32_t at)
{
	const uint32_t object = set->points.points.v[at].object;

	return object != VMP_NONE && set->points.objects.v[object].vm == VMP_NONE;
}

/* The landing of samples at @at that no branch leads to, made when it is new */
static int find_alone(struct vmp_set *set, uint32_t *most, uint32_t at, uint32_t *out)
{
	struct vmp_landing new = { .start = is_host(set, at) ? VMP_NONE : start_by_place(set, most, at), .at = at, .ip = at };

	*out = most[at];
	if (*out != VMP_NONE && set->landings.v[*out].start == new.start)
		return 0;
	if (new.start == VMP_NONE)
		new = (struct vmp_landing){ .start = at, .at = at, .ip = at, .flaw = VMP_FLAW_UNKNOWN };
	*out = set->landings.nr;
	if (!new.flaw)
		most[at] = *out;
	return vmp_vec_push(&set->landings, new);
}

/* Samples that no branch leads to, from @i on: their place tells the block, where branches of others show one */
static int add_alone(const struct vmp_drawing *w, uint32_t i)
{
	struct vmp_set *set = w->set;
	uint32_t *most = most_at(set), at = VMP_NONE, number = VMP_NONE;
	int err = most ? 0 : -ENOMEM;

	for (; !err && i < w->nr; i++) {
		const uint32_t n = vmp_raws_at(&set->raws, w->v[i].raw)->n;

		fetch_ahead(w, i);
		if (w->v[i].end != at) {
			at = w->v[i].end;
			err = find_alone(set, most, at, &number);
		}
		if (err)
			break;
		become(set, w->v[i].raw, number, VMP_NONE);
		set->landings.v[number].n += n;
		set->totals.alone += n;
		set->totals.placed += set->landings.v[number].flaw ? 0 : n;
	}
	free(most);
	return err;
}

static int is_middle(const struct vmp_set *set, uint32_t point)
{
	return point != VMP_NONE && set->points.points.v[point].flaw == VMP_FLAW_MIDDLE;
}

/* Does a unit say so of its branch?  Where its start is well and code does not come by its end, that is the wrong one. */
static int says_impossible(const struct vmp_set *set, const struct vmp_unit *u)
{
	return u->flaw == VMP_FLAW_ELSEWHERE || is_middle(set, u->end) || is_middle(set, u->next) ||
	       (u->flaw == VMP_FLAW_MIDDLE && !is_middle(set, u->start));
}

static uint64_t branch_of(const struct vmp_unit *u)
{
	return (uint64_t)u->end << 32 | u->next;
}

/* A branch that cannot be is so behind any start; one unit's flaw may be another, which hides that. */
static int mark_impossible(struct vmp_set *set)
{
	struct vmp_hash branches = { 0 };
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < set->units.nr; i++)
		if (says_impossible(set, &set->units.v[i]))
			err = vmp_hash_set(&branches, branch_of(&set->units.v[i]), 1);
	for (i = 0; !err && branches.nr && i < set->units.nr; i++) {
		struct vmp_unit *u = &set->units.v[i];

		u->impossible = !!vmp_hash_find(&branches, branch_of(u));
		set->totals.impossible += u->impossible ? u->n : 0;
	}
	vmp_hash_free(&branches);
	return err;
}

/*
 * Samples where a step's branch led: was that the last instruction? Not where an interrupt ended the step, and not, but for samples
 * of instructions, where one repeats itself: these may be in the middle of it. Then they are of the block that begins there.
 */
static struct vmp_landing land_behind(const struct vmp_set *set, const struct vmp_drawn *d, const struct checked *c)
{
	const struct vmp_points *p = &set->points;
	struct vmp_landing l = { .start = d->start, .at = d->end, .ip = d->next, .ended = 1 };
	uint32_t insns;

	if (c->flow == VMP_FLOW_ON ||
	    (vmp_raws_at(&set->raws, d->raw)->kind == VMP_RAW_ENDED && vmp_points_repeats(p, d->next)))
		return (struct vmp_landing){ .start = d->next, .at = d->next, .ip = d->next, .flaw = p->points.v[d->next].flaw };
	l.flaw = check(set, d, c, &insns);
	return l;
}

static struct vmp_landing landing_of(const struct vmp_set *set, const struct vmp_drawn *d, const struct checked *c)
{
	struct vmp_landing l = { .start = d->start, .at = d->end, .ip = d->end, .flaw = c->flaw };

	if (d->next != VMP_NONE)
		l = land_behind(set, d, c);
	if (vmp_flaw_unseen(l.flaw))
		l.flaw = VMP_FLAW_NONE;
	return l;
}

/* Those to which branches lead */
static int add_landings(void *arg)
{
	const struct vmp_drawing *w = arg;
	const struct checked *checked = w->found;
	const struct checked *c = NULL;	/* equal ones are looked at once */
	struct vmp_set *set = w->set;
	uint32_t i;
	int err = 0;

	for (i = w->steps; !err && i < w->nr && w->v[i].start != VMP_NONE; i++) {
		const struct vmp_drawn *d = &w->v[i];
		const uint32_t n = vmp_raws_at(&set->raws, d->raw)->n;
		struct vmp_landing new, *l;

		fetch_ahead(w, i);
		if (i == w->steps || vmp_by_points(d, d - 1))
			c = &checked[i];
		new = landing_of(set, d, c);
		if (c == &checked[i] || new.ended != set->landings.v[set->landings.nr - 1].ended)
			err = vmp_vec_push(&set->landings, new);
		if (err)
			break;
		l = &set->landings.v[set->landings.nr - 1];
		become(set, d->raw, set->landings.nr - 1, VMP_NONE);
		l->n += n;
		*(l->flaw ? &set->totals.astray : &set->totals.landed) += n;
	}
	return err;
}

/* Where those begin to which none leads */
static uint32_t first_alone(const struct vmp_drawing *w)
{
	uint32_t i = w->steps;

	while (i < w->nr && w->v[i].start != VMP_NONE)
		i++;
	return i;
}

int vmp_set_resolve(struct vmp_drawing *w)
{
	struct checked *checked = vmp_big_alloc(((size_t)w->nr + 1) * sizeof(*checked));
	int err = checked ? vmp_draw(w) : -ENOMEM;

	w->found = checked;
	w->set->seen_as = vmp_big_alloc(((size_t)w->nr + 1) * sizeof(*w->set->seen_as));
	if (!w->set->seen_as)
		err = -ENOMEM;
	if (!err)
		err = vmp_draw_together(w, w->nr, check_all);
	if (!err)	/* neither needs the other */
		err = vmp_parallel_two(add_units, add_landings, w);
	if (!err)
		err = mark_impossible(w->set);
	if (!err)
		err = add_alone(w, first_alone(w));
	free(checked);
	return err;
}
