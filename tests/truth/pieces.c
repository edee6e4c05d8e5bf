// SPDX-License-Identifier: GPL-2.0-only
/* pieces.c - the emulator's blocks as pieces of code, whoever ran them. */
#include "pieces.h"

#include <errno.h>
#include <math.h>

#include "owner.h"

#define FEW_RUNS	10	/* that branched, of an instruction: what is left of it is not known */

static uint64_t place(uint32_t object, uint64_t addr, uint32_t size)
{
	return vmp_hash_mix(vmp_hash_mix(addr) + ((uint64_t)object << 32 | size));
}

static int add_piece(struct pieces *p, const struct vmp_point *point, const struct exact_block *b)
{
	uint64_t key = place(point->object, point->addr, b->size);
	uint32_t *known = vmp_hash_find(&p->by_place, key);
	struct piece new = { .object = point->object, .size = b->size, .addr = point->addr, .function = point->function }, *to;
	int i;

	if (!known && (vmp_vec_push(&p->all, new) || vmp_hash_set(&p->by_place, key, p->all.nr - 1)))
		return -ENOMEM;
	to = &p->all.v[known ? *known : p->all.nr - 1];
	to->insns += b->insns;
	to->cycles += b->cycles;
	to->cycles_at += b->cycles_at;
	for (i = 0; i < 2; i++) {
		to->entries[i] += b->entries[i];
		to->led[i] += b->led[i];
	}
	return 0;
}

/* The host's kernel is every task's, of its user code the VM's QEMU's is wanted; 0: it is another's */
static int host_origin(const struct vmp_model *m, const struct exact_space *s, uint64_t qemu, struct vmp_origin *from)
{
	const int user = s->flags & EXACT_USER;

	*from = (struct vmp_origin){
		.kind = user ? VMP_KIND_VMM_USER : VMP_KIND_VMM_KERNEL, .vm = 0, .epoch = VMP_NONE, .image = VMP_NONE,
		.tgid = user ? m->vms.v[0].vm : 0,
	};
	return !user || (qemu && s->cr3 == qemu);
}

/* Whose code a space is; 0: nobody knows */
static int guest_origin(struct vmp_model *m, const struct exact_space *s, struct vmp_origin *from)
{
	struct vmp_machine *vm = &m->vms.v[0];
	struct vmp_space *space = &vm->space;
	struct vmp_tsc_span valid = { 0, UINT64_MAX };

	*from = (struct vmp_origin){
		.kind = s->flags & EXACT_USER ? VMP_KIND_GUEST_USER : VMP_KIND_GUEST_KERNEL, .vm = 0,
		.epoch = vmp_space_epoch_at(space, s->last_tsc), .image = VMP_NONE,
	};
	if (from->epoch < vm->boots.nr)
		from->era = vmp_kernel_era(&vm->boots.v[from->epoch].kernel, s->last_tsc, &valid);
	if (from->kind == VMP_KIND_GUEST_KERNEL)
		return from->epoch != VMP_NONE;
	from->image = owner_of(vm, s);
	if (from->image == VMP_NONE)
		return 0;
	from->version = vmp_space_version(space, from->image, s->last_tsc);
	return 1;
}

static int origin_of(struct vmp_model *m, const struct exact_space *s, uint64_t qemu, struct vmp_origin *from)
{
	return s->flags & EXACT_GUEST ? guest_origin(m, s, from) : host_origin(m, s, qemu, from);
}

/* No sample is taken from an NMI to its IRET, and what runs there is mostly the sampler */
static int is_counted(const struct exact_space *s)
{
	return (s->flags & (EXACT_COUNTING | EXACT_NMI)) == EXACT_COUNTING;
}

static int add_pieces(struct pieces *p, struct vmp_model *m, const struct exact *x, uint64_t qemu)
{
	uint32_t i, last = UINT32_MAX, context = VMP_NONE, point;
	struct vmp_origin from;
	int err = 0;

	for (i = 0; !err && i < x->blocks.nr; i++) {
		const struct exact_block *b = &x->blocks.v[i];
		const struct exact_space *s = &x->spaces.v[b->space];

		if (!is_counted(s))
			continue;
		if (b->space != last) {
			context = VMP_NONE;
			last = b->space;
			if (origin_of(m, s, qemu, &from))
				err = vmp_points_context(&p->set->points, &from, &context);
		}
		if (err || context == VMP_NONE)
			continue;
		err = vmp_points_find(&p->set->points, context, b->pc, &point);
		if (!err && p->set->points.points.v[point].object != VMP_NONE)
			err = add_piece(p, &p->set->points.points.v[point], b);
	}
	return err;
}

static int find_starts(struct pieces *p)
{
	uint32_t i;

	for (i = 0; i < p->all.nr; i++) {
		const struct piece *new = &p->all.v[i];
		uint64_t key = place(new->object, new->addr, 0);
		const uint32_t *known = vmp_hash_find(&p->by_start, key);

		if ((!known || p->all.v[*known].insns < new->insns) && vmp_hash_set(&p->by_start, key, i))
			return -ENOMEM;
	}
	return 0;
}

/* Instructions from @addr on that begin before @end; 0: it cannot be told */
static uint32_t insns_until(const struct vmp_set *set, uint32_t object, uint64_t addr, uint64_t end)
{
	uint32_t n = 0;

	for (; addr < end; n++) {
		size_t len;
		const uint8_t *code = vmp_points_code(&set->points, object, addr, &len);
		enum vmp_flow flow;
		unsigned int step = code ? vmp_decode_step(set->stepper.decoder, code, len, &flow) : 0;

		if (!step)
			return 0;
		addr += step;
	}
	return n;
}

/* Cycles that led to its instructions, and not from elsewhere */
static double led_within(const struct piece *p)
{
	return (double)(p->cycles_at - p->led[0] - p->led[1]);
}

/*
 * How often it goes on with an instruction that repeats itself (`rep movsb`), whose run began in another piece: it is one alone, nothing led to it from
 * elsewhere, and each time it had taken a cycle at least.
 */
static double again(const struct piece *p)
{
	const double more = (double)p->insns - (double)(p->entries[0] + p->entries[1]);

	return p->has == 1 && more > 0 && led_within(p) >= more ? more : 0;
}

/* Cycles of all its instructions but the last: what led to the others */
static double cycles_within(const struct piece *p)
{
	return again(p) > 0 ? 0 : led_within(p);
}

static double runs_of(const struct piece *p)
{
	return ((double)p->insns - again(p)) / p->has;
}

static struct ending *ending_at(struct pieces *p, uint32_t object, uint64_t addr)
{
	const uint64_t key = place(object, addr, 0);
	const uint32_t *known = vmp_hash_find(&p->by_end, key);

	if (!known && (vmp_vec_push(&p->endings, ((struct ending){ 0 })) || vmp_hash_set(&p->by_end, key, p->endings.nr - 1)))
		return NULL;
	return &p->endings.v[known ? *known : p->endings.nr - 1];
}

static int find_endings(struct pieces *p)
{
	struct ending *e;
	uint32_t i;

	for (i = 0; i < p->all.nr; i++) {
		struct piece *x = &p->all.v[i];

		x->has = insns_until(p->set, x->object, x->addr, x->addr + x->size);
		e = ending_at(p, x->object, x->addr);
		if (!e)
			return -ENOMEM;
		e->entries += (double)x->entries[0];
		e->led += (double)x->led[0];
		e = ending_at(p, x->object, x->addr + x->size);
		if (!e)
			return -ENOMEM;
		if (!x->has || !x->insns)
			continue;
		e->runs += runs_of(x);
		e->cycles += (double)x->cycles - cycles_within(x);
		e->repeated += again(x) > 0 ? led_within(x) : 0;
	}
	return 0;
}

/* ------------------------------------------------------------ of one block */

/* Of the instruction before an address, where it branches or where it does not */
static double last_cost(const struct pieces *p, uint32_t object, uint64_t behind, int branches)
{
	const struct ending *e = &p->endings.v[*vmp_hash_find(&p->by_end, place(object, behind, 0))];

	if (!branches && e->entries > 0)
		return (e->led + e->repeated) / e->entries;
	if (branches && e->runs > e->entries + FEW_RUNS)
		return (e->cycles - e->led) / (e->runs - e->entries);
	return e->cycles / e->runs;
}

/* The part of the runs of the instruction before an address that branched, or did not */
static double part_of(const struct pieces *p, uint32_t object, uint64_t behind, int branches)
{
	const struct ending *e = &p->endings.v[*vmp_hash_find(&p->by_end, place(object, behind, 0))];
	const double line = e->entries < e->runs ? e->entries / e->runs : 1;

	return branches ? 1 - line : line;
}

int pieces_block(const struct pieces *p, const struct vmp_block_code *b, double *cost, double *runs)
{
	/* an interrupt came instead of the instruction where it ends */
	const int whole_end = b->flow != VMP_FLOW_ON;
	const struct vmp_points *points = &p->set->points;
	const struct vmp_point *start = &points->points.v[b->start], *end = &points->points.v[b->end];
	const uint64_t until = end->addr + (uint64_t)whole_end;
	uint64_t addr = start->addr;

	*cost = 0;
	*runs = NAN;
	while (addr < until) {
		const uint32_t *i = vmp_hash_find(&p->by_start, place(start->object, addr, 0));
		const struct piece *piece = i ? &p->all.v[*i] : NULL;
		const int goes_on = piece && addr + piece->size < until;
		uint32_t part;

		if (!piece || !piece->insns || !piece->has)
			return 0;
		if (addr == start->addr && whole_end)
			*runs = (double)piece->entries[1];
		part = goes_on ? piece->has : insns_until(p->set, start->object, addr, until);
		if (!part)
			return 0;
		if (piece->has > 1)
			*cost += cycles_within(piece) / runs_of(piece) * (part < piece->has ? part : part - 1) / (piece->has - 1);
		if (part == piece->has) {
			*cost += last_cost(p, start->object, addr + piece->size, !goes_on && whole_end);
			*runs *= part_of(p, start->object, addr + piece->size, !goes_on && whole_end);
		}
		addr += piece->size;
	}
	return *cost > 0;
}

double pieces_runs(const struct pieces *p, uint32_t object, uint64_t addr)
{
	double runs = 0;
	uint32_t i;

	for (i = 0; i < p->all.nr; i++) {
		const struct piece *x = &p->all.v[i];

		if (x->has && x->object == object && addr >= x->addr && addr < x->addr + x->size)
			runs += runs_of(x);
	}
	return runs;
}

/* The part of a piece from an address within it on: as a run of the one that begins there and ends with it.  NAN: there is none. */
static double cycles_from(const struct pieces *p, const struct piece *x, uint64_t addr)
{
	const uint32_t size = (uint32_t)(x->addr + x->size - addr);
	const uint32_t *known = vmp_hash_find(&p->by_place, place(x->object, addr, size));
	const struct piece *part = known ? &p->all.v[*known] : NULL;

	return part && part->has && x->has && part->insns ? runs_of(x) * (double)part->cycles / runs_of(part) : NAN;
}

double pieces_cycles(const struct pieces *p, uint32_t object, uint64_t addr, uint64_t behind)
{
	double cycles = 0;
	uint32_t i;

	for (i = 0; i < p->all.nr; i++) {
		const struct piece *x = &p->all.v[i];

		if (x->object != object || !x->insns || x->addr + x->size <= addr || x->addr + x->size > behind)
			continue;
		cycles += x->addr >= addr ? (double)x->cycles : cycles_from(p, x, addr);
	}
	return cycles;
}

double pieces_in_line(const struct pieces *p, uint32_t object, uint64_t addr)
{
	const uint32_t *known = vmp_hash_find(&p->by_end, place(object, addr, 0));
	double runs = known ? p->endings.v[*known].entries : 0;
	uint32_t i;

	for (i = 0; i < p->all.nr; i++) {
		const struct piece *x = &p->all.v[i];

		if (x->has && x->object == object && addr > x->addr && addr < x->addr + x->size)
			runs += runs_of(x);
	}
	return runs;
}

double pieces_taken(const struct pieces *p, uint32_t object, uint64_t behind)
{
	const uint32_t *i = vmp_hash_find(&p->by_end, place(object, behind, 0));
	const struct ending *e = i ? &p->endings.v[*i] : NULL;

	return e && e->runs > e->entries ? e->runs - e->entries : 0;
}

int pieces_create(struct pieces *p, struct vmp_set *set, struct vmp_model *m, const struct exact *x, uint64_t qemu)
{
	int err;

	*p = (struct pieces){ .set = set };
	err = add_pieces(p, m, x, qemu);
	if (!err)
		err = find_starts(p);
	return err ? err : find_endings(p);
}

void pieces_free(struct pieces *p)
{
	vmp_vec_free(&p->all);
	vmp_hash_free(&p->by_place);
	vmp_hash_free(&p->by_start);
	vmp_vec_free(&p->endings);
	vmp_hash_free(&p->by_end);
}
