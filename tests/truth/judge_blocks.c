// SPDX-License-Identifier: GPL-2.0-only
/* judge_blocks.c - the hottest blocks, and all of a function, beside the emulator's. */
#include "judge_blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binomial.h"
#include "blocks/estimate.h"
#include "judge_loops.h"
#include "model/weigh.h"
#include "pieces.h"
#include "util/text.h"
#include "verdict.h"

#define CYCLES_OFF	0.03	/* of a block, that are no fault */
#define ERRORS		6	/* and so many standard errors: one in 2,000 by chance, for eight groups (t, 7) */
#define FEW_ERRORS	2.365	/* one in 20 by chance: so many blocks may be that far off together, and no more */
#define FEW		0.05
#define LEVEL		0.0005	/* of both */
#define SAMPLES_MIN	50	/* that the exact cycles of a block ask for which is judged */
#define SURE		0.1	/* of its cycles: so many blocks have a smaller error */
#define NO_CODE_MAX	10	/* of so many blocks that are shown one may not be told: a piece of it never ran, or has no code */
#define MEAN_OFF	0.02	/* of known blocks together, by the weight of their errors: no fault ... */
#define MEAN_ERRORS	3.5	/* ... and so many standard errors: one in 2,000 by chance */
#define HOT		0.01	/* of the cycles of user code, of a piece of code that has to be in a block ... */
#define HOT_MISSING	0.02	/* ... all but so much of them */
#define FUNCTION_OFF	0.01	/* of a function's time, and of its runs, all its blocks together */
#define RUNS_ERROR	0.02	/* of these runs, where instructions are sampled: what nobody knows is never wrong (0.2 to 0.9 % came out) */

/* Whose blocks */
enum asked { USER, KERNEL, BRANCHES_ALONE, HOST_KERNEL, QEMU, KINDS };

/* What is asked of the blocks of a session, by how sessions of the cases came out */
static const struct bounds {
	double unsure;		/* of its cycles: with a larger error a block is held against that error alone */
	uint32_t known;		/* blocks with less than that, or as many as were asked for */
	double mean_samples;	/* of those that are looked at together */
	double mean_error;	/* of these, together: a mean that nobody knows says nothing */
	double close;		/* part of those shown that is within CYCLES_OFF, whatever their errors */
} bounds[KINDS] = {
	/*
	 * User code. 18 to 20 of 20 were known, and 11 to 19 within 3 %; by their errors gzip's and sha256sum's are less than 6 in one session of 250
	 */
	{ .unsure = 0.1, .known = 15, .mean_samples = 250, .mean_error = 0.01, .close = 0.3 },
	/* the kernel's samples lie in many blocks: one has 250 of them or two, and their error was up to 22 %; all have one below 5 % together */
	{ .unsure = 0.5, .known = 10, .mean_samples = SAMPLES_MIN, .mean_error = 0.06 },
	/* by branches alone errors hold what nobody knows: they were half of a block's cycles */
	{ .unsure = 1, .known = 15, .mean_samples = 250, .mean_error = 0.06 },
	/* of the host's kernel, and of QEMU, no more is asked than of the guest's kernel */
	{ .unsure = 0.5, .known = 10, .mean_samples = SAMPLES_MIN, .mean_error = 0.06 },
	{ .unsure = 0.5, .known = 10, .mean_samples = SAMPLES_MIN, .mean_error = 0.06 },
};

static const char *const questions[KINDS] = {
	"blocks have their exact cycles", "the kernel's blocks have their exact cycles", "blocks by branches alone are as far off as they say",
	"blocks of the host's kernel have their exact cycles", "QEMU's blocks have their exact cycles",
};

/* -------------------------------------------------------------- questions */

static int is_host(enum asked of)
{
	return of == HOST_KERNEL || of == QEMU;
}

static int is_asked(const struct vmp_set *set, const struct vmp_block_code *b, enum asked of)
{
	const struct vmp_point *p = &set->points.points.v[b->start];
	const struct vmp_object *o = p->object == VMP_NONE ? NULL : &set->points.objects.v[p->object];

	return b->insns && o && o->kernel == (of == KERNEL || of == HOST_KERNEL) && (o->vm == VMP_NONE) == is_host(of);
}

/* A block that may be judged */
struct candidate {
	uint32_t block;
	double exact;		/* cycles of a run; 0: not known */
	double samples;		/* that these ask for, by as exact runs: of those that it has, and of its runs, chance has made some the hottest */
};

static int hotter(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return a->samples < b->samples ? 1 : a->samples > b->samples ? -1 : a->block < b->block ? -1 : 1;
}

/* Where the exact cycles are not known: the samples that it has; where the runs are not, by those that it says: a block that was seen has some */
static void look_at(const struct pieces *p, const struct vmp_estimates *e, enum asked of, struct candidate *c)
{
	const struct vmp_estimate *s = &e->block[c->block];
	double exact, runs;

	c->exact = pieces_block(p, &p->set->blocks.v[c->block], &exact, &runs) ? exact : 0;
	runs = runs > 0 ? runs : s->executions;
	c->samples = c->exact > 0 && runs >= 0 && e->period > 0 ? runs * c->exact / e->period : s->samples;
	/* its kernel runs for others, too, which are not sampled */
	if (is_host(of))
		c->samples = fmin(c->samples, s->samples);
}

static void print_block(const struct vmp_set *set, const struct vmp_model *m, const struct vmp_block_code *b,
			const struct vmp_estimate *e, double exact)
{
	const struct vmp_point *start = &set->points.points.v[b->start];
	double cycles = e->cycles[e->source], equation1 = e->cycles[VMP_SOURCE_CPI];
	const char *name = vmp_model_name(m, start->function);
	char function[160];

	printf("  %7.0f %6" PRIu32 " %9.2f %9.2f %7.2f %9.2f %+8.2f %+9.2f  %" PRIx64 "-%" PRIx64 " %s\n", e->samples,
	       b->insns, exact, cycles, e->source == VMP_SOURCE_TIME ? e->error : NAN, equation1,
	       100 * (cycles / exact - 1), 100 * (equation1 / exact - 1), start->addr,
	       set->points.points.v[b->end].addr, vmp_text(function, sizeof(function), name, strlen(name)));
}

/* What is said of blocks that are judged */
struct tally {
	uint32_t shown, known, sure, bad, few, close, unknown;	/* sure: to SURE, of the kernel's, too; close: within CYCLES_OFF */
	double off, off1;		/* of those known, without sign */
	double weighed, weights;	/* with it, by the inverse of their variance; of those with many samples */
};

static void tally_block(struct tally *t, const struct vmp_estimate *s, double exact, double samples, const struct bounds *asked)
{
	double cycles = s->cycles[s->source], equation1 = s->cycles[VMP_SOURCE_CPI];
	/* infinite: not known. Of eight groups it can come out next to nothing: no block is known better than by its samples */
	double error = s->source != VMP_SOURCE_TIME ? 0 : isnan(s->error) ? INFINITY : fmax(s->error, exact / sqrt(samples));
	double off = cycles / exact - 1, more = fabs(cycles - exact) - CYCLES_OFF * exact, part;

	t->shown++;
	t->close += more <= 0;
	t->bad += !(more <= ERRORS * error);
	t->sure += error <= SURE * cycles;
	if (error > asked->unsure * cycles)
		return;
	t->known++;
	t->few += !(more <= FEW_ERRORS * error);
	t->off += fabs(off);
	t->off1 += isnan(equation1) ? 0 : fabs(equation1 / exact - 1);
	if (samples < asked->mean_samples)
		return;
	part = fmax(error / exact, 1 / sqrt(samples));
	t->weights += 1 / (part * part);
	t->weighed += off / (part * part);
}

static void tally_verdict(const struct tally *t, uint32_t blocks, enum asked of)
{
	const struct bounds *asked = &bounds[of];
	double chance = t->few > FEW * t->known ? binomial_test(t->known, t->few, FEW) : 1;
	double mean = t->weighed / t->weights, error = 1 / sqrt(t->weights);
	int mean_held = t->weights > 0 && error <= asked->mean_error && fabs(mean) <= MEAN_OFF + MEAN_ERRORS * error;

	verdict(t->known >= (blocks < asked->known ? blocks : asked->known) && !t->bad && chance >= LEVEL &&
		NO_CODE_MAX * t->unknown <= t->shown && mean_held && t->close >= asked->close * t->shown,
		questions[of],
		"%" PRIu32 " of the %" PRIu32 " hottest blocks are known to %g %% (%" PRIu32 " to %g %%), %" PRIu32 " of all more than %g %% and %d standard errors off, of those known %" PRIu32 " more than %g (chance %.2g), %.2f %% in the mean, equation 1 %.2f %%; %" PRIu32 " within %g %%; together %+.2f %%, error %.2f %%; %" PRIu32 " not known",
		t->known, t->shown, 100 * asked->unsure, t->sure, 100 * SURE, t->bad, 100 * CYCLES_OFF, ERRORS, t->few, FEW_ERRORS, chance,
		t->known ? 100 * t->off / t->known : 0, t->known ? 100 * t->off1 / t->known : 0, t->close, 100 * CYCLES_OFF,
		100 * mean, 100 * error, t->unknown);
}

static int judge_all(struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, uint32_t blocks, enum asked of)
{
	struct candidate *order = malloc((p->set->blocks.nr + 1) * sizeof(*order));
	struct tally t = { 0 };
	uint32_t i, n = 0;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < p->set->blocks.nr; i++) {
		if (!is_asked(p->set, &p->set->blocks.v[i], of) || isnan(e->block[i].cycles[e->block[i].source]))
			continue;
		order[n].block = i;
		look_at(p, e, of, &order[n]);
		n += order[n].samples >= SAMPLES_MIN;
	}
	qsort(order, n, sizeof(*order), hotter);
	printf("  samples  insns     exact   sampled      +-      eq.1    off %%  eq.1 off %%  block\n");
	for (i = 0; i < n && t.shown < blocks; i++) {
		const struct candidate *c = &order[i];

		if (!(c->exact > 0)) {
			t.unknown++;
			continue;
		}
		print_block(p->set, m, &p->set->blocks.v[c->block], &e->block[c->block], c->exact);
		tally_block(&t, &e->block[c->block], c->exact, c->samples, &bounds[of]);
	}
	tally_verdict(&t, blocks, of);
	free(order);
	return 0;
}

/* Is the piece's beginning in a block that has figures? */
static int is_shown(const struct pieces *p, const struct vmp_estimates *e, const struct piece *x)
{
	const struct vmp_point *points = p->set->points.points.v;
	uint32_t i;

	for (i = 0; i < p->set->blocks.nr; i++) {
		const struct vmp_block_code *b = &p->set->blocks.v[i];

		if (points[b->start].object == x->object && points[b->start].addr <= x->addr && x->addr <= points[b->end].addr &&
		    b->insns && !isnan(e->block[i].cycles[e->block[i].source]))
			return 1;
	}
	return 0;
}

static int is_user(const struct vmp_set *set, const struct piece *x)
{
	const struct vmp_object *o = &set->points.objects.v[x->object];

	return !o->kernel && o->vm != VMP_NONE;
}

/* Blocks are judged that there are: is one missing, however hot its code? */
static void judge_hot(const struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e)
{
	double all = 0, hot = 0, missing = 0;
	const char *name;
	char function[160];
	uint32_t i, n = 0;

	for (i = 0; i < p->all.nr; i++)
		all += is_user(p->set, &p->all.v[i]) ? (double)p->all.v[i].cycles : 0;
	for (i = 0; i < p->all.nr; i++) {
		const struct piece *x = &p->all.v[i];

		if (!is_user(p->set, x) || (double)x->cycles < HOT * all)
			continue;
		n++;
		hot += (double)x->cycles;
		if (is_shown(p, e, x))
			continue;
		missing += (double)x->cycles;
		name = x->function == VMP_NONE ? "?" : vmp_model_name(m, x->function);
		printf("  in no block: %.2f %% of the cycles, %" PRIx64 " %s\n", 100 * (double)x->cycles / all, x->addr,
		       vmp_text(function, sizeof(function), name, strlen(name)));
	}
	verdict(n && missing <= HOT_MISSING * hot, "hot code is in a block",
		"%.2f %% of the cycles of %" PRIu32 " pieces of user code with %g %% of all and more are in no block (to %g %%)",
		hot > 0 ? 100 * missing / hot : 0, n, 100 * HOT, 100 * HOT_MISSING);
}

/* A guest's: the host may have a namesake */
static int is_of(const struct vmp_set *set, uint32_t object, uint32_t str, const char *function)
{
	return object != VMP_NONE && set->points.objects.v[object].vm != VMP_NONE && str != VMP_NONE &&
	       !strcmp(vmp_model_name(set->m, str), function);
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
	double error = e->executions_error, exact, runs;

	f->cycles += e->executions * e->cycles[e->source];
	f->samples += e->samples;
	f->run_insns += e->executions * b->insns;
	f->blocks++;
	if (!pieces_block(p, b, &exact, &runs))
		return;
	f->run_cycles += e->executions * exact;
	f->run_variance += isnan(error) ? 0 : error * error * exact * exact;
}

/* Cycles of a block are its time by its runs: where runs are wrong, their product is not. So runs are asked about apart. */
static void function_verdict(const struct of_function *f, int paired, const char *function)
{
	double off = f->cycles / f->exact_cycles - 1, error = 1 / sqrt(f->samples);
	double runs = f->run_cycles / f->exact_cycles - 1, insns = f->run_insns / f->exact_insns - 1;
	double runs_error = fmax(sqrt(f->run_variance) / f->exact_cycles, error);
	int known = !paired || runs_error <= RUNS_ERROR;

	verdict(f->blocks && fabs(off) <= FUNCTION_OFF + MEAN_ERRORS * error, "the blocks of a function add up to its time",
		"%s: %.0f cycles in %" PRIu32 " blocks, %.0f exact, %+.2f %% (to %g %% and %g standard errors of %.2f %%)", function, f->cycles,
		f->blocks, f->exact_cycles, 100 * off, 100 * FUNCTION_OFF, MEAN_ERRORS, 100 * error);
	verdict(f->blocks && known && fabs(runs) <= FUNCTION_OFF + MEAN_ERRORS * runs_error &&
		fabs(insns) <= FUNCTION_OFF + MEAN_ERRORS * runs_error, "the blocks of a function ran as often as they say",
		"%s: by exact cycles of a run %+.2f %%, by instructions %+.2f %% (to %g %% and %g standard errors of %.2f %%, wanted %g)", function,
		100 * runs, 100 * insns, 100 * FUNCTION_OFF, MEAN_ERRORS, 100 * runs_error, paired ? 100 * RUNS_ERROR : INFINITY);
}

static void judge_function(struct pieces *p, const struct vmp_estimates *e, int paired, const char *function)
{
	struct of_function f = { 0 };
	char shown[160];
	uint32_t i;

	for (i = 0; i < p->set->blocks.nr; i++) {
		const struct vmp_block_code *b = &p->set->blocks.v[i];
		const struct vmp_estimate *s = &e->block[i];
		const struct vmp_point *start = &p->set->points.points.v[b->start];

		if (!isnan(s->executions) && !isnan(s->cycles[s->source]) && is_of(p->set, start->object, start->function, function))
			add_of_function(&f, p, b, s);
	}
	for (i = 0; i < p->all.nr; i++) {
		if (!is_of(p->set, p->all.v[i].object, p->all.v[i].function, function))
			continue;
		f.exact_cycles += (double)p->all.v[i].cycles;
		f.exact_insns += (double)p->all.v[i].insns;
	}
	function_verdict(&f, paired, vmp_text(shown, sizeof(shown), function, strlen(function)));
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

static int judge_guest(struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, const struct blocks_asked *asked)
{
	const int paired = vmp_weigh_paired(m);
	int err = judge_all(p, m, e, asked->blocks, paired ? USER : BRANCHES_ALONE);

	if (!err && paired && p->set->totals.branches & VMPROF_LBR_KERNEL)
		err = judge_all(p, m, e, asked->blocks, KERNEL);
	if (err)
		return err;
	judge_hot(p, m, e);
	judge_function(p, e, paired, asked->function);
	return judge_loops(p, m, e, paired);
}

static int judge_host_blocks(struct pieces *p, const struct vmp_model *m, const struct vmp_estimates *e, uint32_t blocks)
{
	int err = judge_all(p, m, e, blocks, HOST_KERNEL);

	return err ? err : judge_all(p, m, e, blocks, QEMU);
}

int judge_blocks(struct vmp_model *m, const struct exact *x, const struct blocks_asked *asked)
{
	struct vmp_set_choice counted = { .vcpu = -1, .pid = -1 };
	struct vmp_estimates *estimates = NULL;
	struct vmp_measure *measure = NULL;
	struct vmp_set *set = NULL;
	struct pieces p = { 0 };
	int err;

	if (m->vms.nr != 1)
		return -EINVAL;
	window(x, &counted);
	err = vmp_set_create(&set, m, &counted);
	if (!err)
		err = vmp_measure_create(&measure, set);
	if (!err)
		err = vmp_estimate_create(&estimates, measure, 1);
	if (!err)
		err = pieces_create(&p, set, m, x, asked->qemu);
	if (!err && asked->blocks)
		err = judge_guest(&p, m, estimates, asked);
	if (!err && asked->host)
		err = judge_host_blocks(&p, m, estimates, asked->host);
	pieces_free(&p);
	vmp_estimate_destroy(estimates);
	vmp_measure_destroy(measure);
	vmp_set_destroy(set);
	return err;
}
