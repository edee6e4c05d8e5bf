// SPDX-License-Identifier: GPL-2.0-only
/*
 * judge_blocks.c - a block of the branch record, from a branch's target to the next taken branch, is
 * a chain of the emulator's blocks, which end at every branch.
 *
 * What a run of one of those costs is its cycles by the number of its runs: the instructions that
 * were retired in it by those that it has. What leads to its first instruction costs as it was
 * reached: by a branch where the block begins, in line behind that.
 */
#include "judge_blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binomial.h"
#include "blocks/estimate.h"
#include "util/text.h"
#include "verdict.h"

#define CYCLES_OFF	0.03	/* of a block, that are no fault */
#define ERRORS		6	/* and so many standard errors: one in 2,000 by chance, for eight groups (t, 7) */
#define FEW_ERRORS	2.365	/* one in 20 by chance: so many blocks may be that far off together, and no more */
#define FEW		0.05
#define LEVEL		0.0005	/* of both */
#define SAMPLES_MIN	50	/* in a block that is judged */
#define SURE		0.1	/* of its cycles: so many blocks have a smaller error */
#define NO_CODE_MAX	10	/* of so many blocks that are shown one may not be told: a piece of it never ran, or has no code */
#define MEAN_OFF	0.02	/* of known blocks together, by the weight of their errors: no fault ... */
#define MEAN_ERRORS	3.5	/* ... and so many standard errors: one in 2,000 by chance */
#define FUNCTION_OFF	0.01	/* of a function's time, and of its runs, all its blocks together */

/* What is asked of the blocks of a session: by twelve of the cases' */
static const struct bounds {
	double unsure;		/* of its cycles: with a larger error a block is held against that error alone */
	uint32_t known;		/* blocks with less than that, or as many as were asked for */
	double mean_samples;	/* of those that are looked at together */
	double mean_error;	/* of these, together: a mean that nobody knows says nothing */
	double close;		/* part of those shown that is within CYCLES_OFF, whatever their errors */
} bounds[2] = {
	/*
	 * User code: blocks with fewer samples are among the hottest because they happened to get many. 18 to 20 of 20 were
	 * known, and 11 to 18 within 3 %; by their errors gzip's and sha256sum's are less than 6 in one session of 250
	 */
	{ .unsure = 0.1, .known = 15, .mean_samples = 250, .mean_error = 0.01, .close = 0.3 },
	/* the kernel's samples lie in many blocks: one has 250 of them or two, and their error was up to 22 %; all have one below 5 % together */
	{ .unsure = 0.5, .known = 10, .mean_samples = SAMPLES_MIN, .mean_error = 0.06 },
};

/* One of the emulator's blocks, in whichever processes it ran */
struct piece {
	uint32_t object, size, function;
	uint64_t addr, insns, cycles, cycles_at;
	uint64_t entries[2], led[2];	/* as in struct exact_block */
};

struct pieces {
	struct vmp_set *set;
	VMP_VEC(struct piece) all;
	struct vmp_hash by_place;	/* object, address and size */
	struct vmp_hash by_start;	/* object and address: the one that ran most */
};

/* A run of a block: cycles of its own instructions, and those that led to its addresses */
struct cost {
	double own, at;
};

struct judged {
	uint32_t block;
	struct cost exact;
};

/* --------------------------------------------------------- the emulator's */

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

/* Whose code a space is; 0: nobody knows */
static int origin_of(struct vmp_model *m, const struct exact_space *s, struct vmp_origin *from)
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
	from->image = vmp_space_owner(space, s->cr3, s->last_tsc);
	if (from->image == VMP_NONE)
		return 0;
	from->version = vmp_space_version(space, from->image, s->last_tsc);
	return 1;
}

static int add_pieces(struct pieces *p, struct vmp_model *m, const struct exact *x)
{
	const uint32_t wanted = EXACT_GUEST | EXACT_COUNTING;
	uint32_t i, last = UINT32_MAX, context = VMP_NONE, point;
	struct vmp_origin from;
	int err = 0;

	for (i = 0; !err && i < x->blocks.nr; i++) {
		const struct exact_block *b = &x->blocks.v[i];
		const struct exact_space *s = &x->spaces.v[b->space];

		if ((s->flags & wanted) != wanted)
			continue;
		if (b->space != last) {
			context = VMP_NONE;
			last = b->space;
			if (origin_of(m, s, &from))
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

/* ------------------------------------------------------------ of one block */

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

/*
 * Cycles that lead to the first instruction of a piece.  One that crosses a page is a piece of its own; what leads to
 * it in line was counted with the piece before.
 */
static double entry_cost(const struct piece *p, int by_branch)
{
	uint64_t entries = p->entries[0] + p->entries[1];

	if (!by_branch && !p->entries[0])
		return 0;
	if (p->entries[by_branch])
		return (double)p->led[by_branch] / (double)p->entries[by_branch];
	return entries ? (double)(p->led[0] + p->led[1]) / (double)entries : 0;
}

/* Return: 1, 0 where a piece of it never ran or has no code */
static int cost_of(struct pieces *p, const struct vmp_block_code *b, struct cost *cost)
{
	const struct vmp_points *points = &p->set->points;
	const struct vmp_point *start = &points->points.v[b->start], *end = &points->points.v[b->end];
	uint64_t addr = start->addr;

	*cost = (struct cost){ 0 };
	while (addr <= end->addr) {
		const uint32_t *i = vmp_hash_find(&p->by_start, place(start->object, addr, 0));
		const struct piece *piece = i ? &p->all.v[*i] : NULL;
		uint32_t whole, part;
		double runs;

		if (!piece || !piece->insns)
			return 0;
		whole = insns_until(p->set, start->object, addr, addr + piece->size);
		part = insns_until(p->set, start->object, addr, addr + piece->size <= end->addr ?
				   addr + piece->size : end->addr + 1);
		if (!whole || !part)
			return 0;
		runs = (double)piece->insns / whole;
		cost->own += (double)piece->cycles / runs * part / whole;
		cost->at += entry_cost(piece, addr == start->addr);
		if (whole > 1)
			cost->at += (double)(piece->cycles_at - piece->led[0] - piece->led[1]) / runs * (part - 1) / (whole - 1);
		addr += piece->size;
	}
	return 1;
}

/* -------------------------------------------------------------- questions */

static int is_asked(const struct vmp_set *set, const struct vmp_block_code *b, int kernel)
{
	const struct vmp_point *p = &set->points.points.v[b->start];

	return b->insns && p->object != VMP_NONE && set->points.objects.v[p->object].kernel == kernel &&
	       set->points.objects.v[p->object].vm != VMP_NONE;
}

static int hotter(const void *pa, const void *pb, void *arg)
{
	const struct vmp_estimates *e = arg;
	double a = e->block[*(const uint32_t *)pa].samples, b = e->block[*(const uint32_t *)pb].samples;

	return a < b ? 1 : a > b ? -1 : *(const uint32_t *)pa < *(const uint32_t *)pb ? -1 : 1;
}

static void print_block(const struct vmp_set *set, const struct vmp_model *m, const struct vmp_block_code *b,
			const struct vmp_estimate *e, const struct cost *exact)
{
	const struct vmp_point *start = &set->points.points.v[b->start];
	double cycles = e->cycles[e->source], equation1 = e->cycles[VMP_SOURCE_CPI];
	const char *name = vmp_model_name(m, start->function);
	char function[160];

	printf("  %7.0f %6" PRIu32 " %9.2f %9.2f %7.2f %9.2f %+8.2f %+9.2f %9.2f  %" PRIx64 "-%" PRIx64 " %s\n", e->samples,
	       b->insns, exact->at, cycles, e->source == VMP_SOURCE_TIME ? e->error : NAN, equation1,
	       100 * (cycles / exact->at - 1), 100 * (equation1 / exact->at - 1), exact->own, start->addr,
	       set->points.points.v[b->end].addr, vmp_text(function, sizeof(function), name, strlen(name)));
}

/* What is said of blocks that are judged */
struct tally {
	uint32_t shown, known, sure, bad, few, close, own, unknown;	/* sure: to SURE, of the kernel's, too; own: within CYCLES_OFF of it */
	double off, off1;		/* of those known, without sign */
	double weighed, weights;	/* with it, by the inverse of their variance; of those with many samples */
};

static void tally_block(struct tally *t, const struct vmp_estimate *s, const struct cost *cost, const struct bounds *asked)
{
	double exact = cost->at, cycles = s->cycles[s->source], equation1 = s->cycles[VMP_SOURCE_CPI];
	double error = s->source == VMP_SOURCE_TIME ? s->error : 0;
	double off = cycles / exact - 1, more = fabs(cycles - exact) - CYCLES_OFF * exact, part;

	t->shown++;
	t->close += more <= 0;
	t->own += fabs(cycles - cost->own) <= CYCLES_OFF * cost->own;
	t->bad += !(more <= ERRORS * error);
	t->sure += error <= SURE * cycles;
	if (error > asked->unsure * cycles)
		return;
	t->known++;
	t->few += !(more <= FEW_ERRORS * error);
	t->off += fabs(off);
	t->off1 += isnan(equation1) ? 0 : fabs(equation1 / exact - 1);
	if (s->samples < asked->mean_samples)
		return;
	/* of eight groups an error can come out next to nothing: no block is known better than by its samples */
	part = fmax(error / exact, 1 / sqrt(s->samples));
	t->weights += 1 / (part * part);
	t->weighed += off / (part * part);
}

static void tally_verdict(const struct tally *t, uint32_t blocks, int kernel)
{
	const struct bounds *asked = &bounds[kernel];
	double chance = t->few > FEW * t->known ? binomial_test(t->known, t->few, FEW) : 1;
	double mean = t->weighed / t->weights, error = 1 / sqrt(t->weights);
	int mean_held = t->weights > 0 && error <= asked->mean_error && fabs(mean) <= MEAN_OFF + MEAN_ERRORS * error;

	verdict(t->known >= (blocks < asked->known ? blocks : asked->known) && !t->bad && chance >= LEVEL &&
		NO_CODE_MAX * t->unknown <= t->shown && mean_held && t->close >= asked->close * t->shown,
		kernel ? "the kernel's blocks have their exact cycles" : "blocks have their exact cycles",
		"%" PRIu32 " of the %" PRIu32 " hottest blocks are known to %g %% (%" PRIu32 " to %g %%), %" PRIu32 " of all more than %g %% and %d standard errors off, of those known %" PRIu32 " more than %g (chance %.2g), %.2f %% in the mean, equation 1 %.2f %%; %" PRIu32 " within %g %%, %" PRIu32 " of what their own instructions took; together %+.2f %%, error %.2f %%; %" PRIu32 " not known",
		t->known, t->shown, 100 * asked->unsure, t->sure, 100 * SURE, t->bad, 100 * CYCLES_OFF, ERRORS, t->few, FEW_ERRORS, chance,
		t->known ? 100 * t->off / t->known : 0, t->known ? 100 * t->off1 / t->known : 0, t->close, 100 * CYCLES_OFF, t->own,
		100 * mean, 100 * error, t->unknown);
}

static int judge_all(struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, uint32_t blocks, int kernel)
{
	uint32_t *order = malloc((p->set->blocks.nr + 1) * sizeof(*order)), i, n = 0;
	struct tally t = { 0 };

	if (!order)
		return -ENOMEM;
	for (i = 0; i < p->set->blocks.nr; i++)
		if (is_asked(p->set, &p->set->blocks.v[i], kernel) && e->block[i].samples >= SAMPLES_MIN &&
		    !isnan(e->block[i].cycles[e->block[i].source]))
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), hotter, (void *)e);
	printf("  samples  insns     exact   sampled      +-      eq.1    off %%  eq.1 off %%  by instruction  block\n");
	for (i = 0; i < n && t.shown < blocks; i++) {
		const struct vmp_block_code *b = &p->set->blocks.v[order[i]];
		struct cost exact;

		if (!cost_of(p, b, &exact) || exact.at <= 0) {
			t.unknown++;
			continue;
		}
		print_block(p->set, m, b, &e->block[order[i]], &exact);
		tally_block(&t, &e->block[order[i]], &exact, &bounds[kernel]);
	}
	tally_verdict(&t, blocks, kernel);
	free(order);
	return 0;
}

static int is_of(const struct vmp_model *m, uint32_t str, const char *function)
{
	return str != VMP_NONE && !strcmp(vmp_model_name(m, str), function);
}

/* A function: what its blocks say, and what the emulator counted in it */
struct of_function {
	uint32_t blocks;
	double cycles, samples;		/* runs by cycles, as they are said; samples in them */
	double run_cycles, run_insns;	/* runs as they are said, by exact cycles and by instructions of a run ... */
	double run_variance;		/* ... and of the former, by the errors of runs */
	double exact_cycles, exact_insns;
};

static void add_of_function(struct of_function *f, struct pieces *p, const struct vmp_block_code *b, const struct vmp_estimate *e)
{
	double error = e->executions_error;
	struct cost exact;

	f->cycles += e->executions * e->cycles[e->source];
	f->samples += e->samples;
	f->run_insns += e->executions * b->insns;
	f->blocks++;
	if (!cost_of(p, b, &exact))
		return;
	f->run_cycles += e->executions * exact.at;
	f->run_variance += isnan(error) ? 0 : error * error * exact.at * exact.at;
}

/* Cycles of a block are its time by its runs: where runs are wrong, their product is not. So runs are asked about apart. */
static void function_verdict(const struct of_function *f, const char *function)
{
	double off = f->cycles / f->exact_cycles - 1, error = 1 / sqrt(f->samples);
	double runs = f->run_cycles / f->exact_cycles - 1, insns = f->run_insns / f->exact_insns - 1;
	double runs_error = fmax(sqrt(f->run_variance) / f->exact_cycles, error);

	verdict(f->blocks && fabs(off) <= FUNCTION_OFF + MEAN_ERRORS * error, "the blocks of a function add up to its time",
		"%s: %.0f cycles in %" PRIu32 " blocks, %.0f exact, %+.2f %% (to %g %% and %g standard errors of %.2f %%)", function, f->cycles,
		f->blocks, f->exact_cycles, 100 * off, 100 * FUNCTION_OFF, MEAN_ERRORS, 100 * error);
	verdict(f->blocks && fabs(runs) <= FUNCTION_OFF + MEAN_ERRORS * runs_error &&
		fabs(insns) <= FUNCTION_OFF + MEAN_ERRORS * runs_error, "the blocks of a function ran as often as they say",
		"%s: by exact cycles of a run %+.2f %%, by instructions %+.2f %% (to %g %% and %g standard errors of %.2f %%)", function,
		100 * runs, 100 * insns, 100 * FUNCTION_OFF, MEAN_ERRORS, 100 * runs_error);
}

static void judge_function(struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, const char *function)
{
	struct of_function f = { 0 };
	char shown[160];
	uint32_t i;

	for (i = 0; i < p->set->blocks.nr; i++) {
		const struct vmp_block_code *b = &p->set->blocks.v[i];
		const struct vmp_estimate *s = &e->block[i];

		if (!isnan(s->executions) && !isnan(s->cycles[s->source]) && is_of(m, p->set->points.points.v[b->start].function, function))
			add_of_function(&f, p, b, s);
	}
	for (i = 0; i < p->all.nr; i++) {
		if (!is_of(m, p->all.v[i].function, function))
			continue;
		f.exact_cycles += (double)p->all.v[i].cycles_at;
		f.exact_insns += (double)p->all.v[i].insns;
	}
	function_verdict(&f, vmp_text(shown, sizeof(shown), function, strlen(function)));
}

/* The time that was counted on all CPUs */
static void window(const struct exact *x, struct vmp_set_choice *c)
{
	uint32_t i;

	for (i = 0; i < x->cpus.nr; i++) {
		if (x->cpus.v[i].first_tsc > c->from_tsc)
			c->from_tsc = x->cpus.v[i].first_tsc;
		if (!i || x->cpus.v[i].last_tsc < c->to_tsc)
			c->to_tsc = x->cpus.v[i].last_tsc;
	}
}

int judge_blocks(struct vmp_model *m, const struct exact *x, uint32_t blocks, const char *function)
{
	struct vmp_set_choice counted = { .vcpu = -1, .pid = -1 };
	struct vmp_estimates *estimates = NULL;
	struct vmp_measure *measure = NULL;
	struct pieces p = { 0 };
	int err;

	if (m->vms.nr != 1)
		return -EINVAL;
	window(x, &counted);
	err = vmp_set_create(&p.set, m, &counted);
	if (!err)
		err = vmp_measure_create(&measure, p.set);
	if (!err)
		err = vmp_estimate_create(&estimates, measure, 0);
	if (!err)
		err = add_pieces(&p, m, x);
	if (!err)
		err = find_starts(&p);
	if (!err)
		err = judge_all(&p, m, estimates, blocks, 0);
	if (!err)
		err = judge_all(&p, m, estimates, blocks, 1);
	if (!err)
		judge_function(&p, m, estimates, function);
	vmp_vec_free(&p.all);
	vmp_hash_free(&p.by_place);
	vmp_hash_free(&p.by_start);
	vmp_estimate_destroy(estimates);
	vmp_measure_destroy(measure);
	vmp_set_destroy(p.set);
	return err;
}
