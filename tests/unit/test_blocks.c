// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_blocks.c - block times of programs that a simulator ran beside what it
 * counted, and branches that cannot be.
 */
#include "measured.h"

#include <math.h>

#include "blocks/about.h"
#include "blocks/loops.h"
#include "blocks/timeline.h"
#include "model/objcache.h"
#include "util/capdir.h"
#include "util/file.h"

#define RARE_NR	10	/* slow pieces of code in test_rare() */

/* ------------------------------------------------------------- simulated */

/* The capture's META says another period than gen_begin() does */
static void say_period(uint64_t period, uint64_t instructions)
{
	char meta[256];

	snprintf(meta, sizeof(meta), "{\"event\":\"cycles\",\"trigger\":\"pmc\",\"period\":%llu,\"instruction_period\":%llu}",
		 (unsigned long long)period, (unsigned long long)instructions);
	gen_text(&g, VMPROF_CAP_META, 0, meta);
}

static void simulate(const struct prog_run *run)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };

	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	say_period(run->period, run->instructions);
	prog_simulate(&g, &prog, run);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &all), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
}

static int insn_at(uint32_t point)
{
	int i;

	for (i = 0; i < prog.nr; i++)
		if (prog.insn[i].addr == set->points.points.v[point].addr)
			return i;
	fail_msg("no instruction at %#llx", (unsigned long long)set->points.points.v[point].addr);
	return -1;
}

static void show(const struct vmp_estimate *e, const struct vmp_block_code *b, double cycles, double runs)
{
	print_message("# %3d..%-3d insns %u n %u samples %.0f: cycles %.2f, time %.2f +- %.2f, cpi %.2f, lbr %.2f; runs %.0f, %.0f +- %.0f\n",
		      insn_at(b->start), insn_at(b->end), b->insns, b->n, e->samples, cycles,
		      e->cycles[VMP_SOURCE_TIME], e->error, e->cycles[VMP_SOURCE_CPI], e->cycles[VMP_SOURCE_LBR],
		      runs, e->executions, e->executions_error);
}

/* What of an error is by chance: without what else it holds, a part of the figure */
static double by_chance(double error, double figure, double part)
{
	return sqrt(fmax(0, error * error - figure * part * figure * part));
}

/* What a comparison of all blocks with the truth found */
struct verdict {
	int compared;
	double cpi_from, cpi_to;	/* equation 1's largest relative errors, below the truth and above it */
	double off;		/* the largest of the one in use */
	double worst;		/* the same, its sampling error taken off */
};

/* What a capture of simulated code says: docs/block-timing.md names these lines */
static void show_verdict(const char *what, const struct verdict *v)
{
	print_message("# %s: %d blocks, off by up to %.1f %%, less three errors by %.1f %%; equation 1 by %.0f %% to %+.0f %%\n", what, v->compared,
		      100 * v->off, 100 * v->worst, 100 * v->cpi_from, 100 * v->cpi_to);
}

static struct verdict compare(enum vmp_source source, double samples)
{
	struct verdict v = { 0 };
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct vmp_estimate *e = &estimates->block[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];
		double cycles, off;

		assert_true(t->runs > 0);
		assert_int_equal(b->insns, insn_at(b->end) - insn_at(b->start) + 1);
		if (e->samples < samples)
			continue;
		cycles = (double)t->cycles / (double)t->runs;
		if (getenv("SHOW"))
			show(e, b, cycles, (double)t->runs);
		assert_int_equal(e->source, source);
		off = fabs(e->cycles[source] - cycles);
		v.off = fmax(v.off, off / cycles);
		off -= source == VMP_SOURCE_TIME ? 3 * by_chance(e->error, e->cycles[source], e->doubt) : 0;
		v.worst = fmax(v.worst, off / cycles);
		if (!isnan(e->cycles[VMP_SOURCE_CPI])) {
			v.cpi_from = fmin(v.cpi_from, e->cycles[VMP_SOURCE_CPI] / cycles - 1);
			v.cpi_to = fmax(v.cpi_to, e->cycles[VMP_SOURCE_CPI] / cycles - 1);
		}
		off = fabs(e->executions - (double)t->runs);
		off -= isnan(e->executions_error) ? 0 : 3 * by_chance(e->executions_error, e->executions, e->executions_doubt);
		assert_true(off / (double)t->runs < 0.05);
		v.compared++;
	}
	return v;
}

/* Slow and fast blocks, an inner loop, calls, and a path by chance */
static void mixed_program(void)
{
	int top, inner, call, skip, f, out;

	prog.insn[0].function = "main";
	top = prog_plain(&prog, 3, 90, 2);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 4, 1, 0);
	prog_jump(&prog, PROG_COND, inner, 40, 0);
	prog_plain(&prog, 2, 5, 5);
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_plain(&prog, 2, 1, 1);
	skip = prog_jump(&prog, PROG_COND, 0, 0, 70);
	prog_plain(&prog, 5, 30, 1);
	call = (call << 16) | prog_jump(&prog, PROG_CALL, 0, 0, 0);
	out = prog_plain(&prog, 1, 3, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[skip].target = out;
	f = prog_plain(&prog, 3, 12, 1);
	prog.insn[f].function = "helper";
	skip = prog_jump(&prog, PROG_COND, 0, 0, 50);
	prog_plain(&prog, 6, 20, 0);
	out = prog_jump(&prog, PROG_RET, 0, 0, 0);
	prog.insn[skip].target = out;
	prog.insn[call >> 16].target = prog.insn[call & 0xffff].target = f;
}

/* Equation 1 has its error beside another source's, from the CPI of samples; none where cycles of single runs are the processor's */
static void compare_equation1(int has)
{
	double alike = (double)set->totals.steps / (double)set->totals.with_branches, want;
	int known = 0;
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		double got = vmp_estimate_cpi_error(estimates, i);

		want = has ? vmp_spread_error(&measure->spreads, i, alike) : NAN;
		assert_true(isnan(want) ? isnan(got) : got == want && want > 0);
		known += estimates->block[i].source != VMP_SOURCE_CPI && !isnan(got);
	}
	assert_true(has ? known >= 6 : !known);
}

static void test_mixed(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	struct verdict v;

	(void)state;
	mixed_program();
	simulate(&run);
	v = compare(VMP_SOURCE_TIME, 100);
	show_verdict("slow and fast blocks, calls and branches by chance", &v);
	assert_true(v.compared >= 7);
	assert_true(v.worst < 0.03);
	assert_true(fmax(-v.cpi_from, v.cpi_to) > 0.5);
	compare_equation1(1);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], set->totals.steps);
	assert_int_equal(set->totals.landed, 20000);
	assert_true(estimates->doubted > 0 && estimates->doubted < set->blocks.nr);
	assert_true(estimates->doubted_samples > 0 && estimates->doubted_samples < estimates->samples);
}

/* A VM entry at each sample: in a long block some come before the first branch behind it, and entries cut many of its runs */
static void test_alone(void **state)
{
	const struct prog_run run = {
		.period = 40009, .samples = 10000, .instructions = 2003, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1, .leaves = 1,
	};
	double cycles = 0, samples = 0;
	int top, inner;
	uint32_t i;

	(void)state;
	top = prog_plain(&prog, 200, 30, 21);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 4, 7, 2);
	prog_jump(&prog, PROG_COND, inner, 300, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	assert_true(set->totals.alone > 300);
	assert_true(set->totals.landed > 10000);
	assert_int_equal(set->totals.placed, set->totals.alone);
	for (i = 0; i < set->blocks.nr; i++) {
		if (insn_at(set->blocks.v[i].start) != top)
			continue;
		cycles += (double)prog.truth[top][insn_at(set->blocks.v[i].end)].cycles;
		samples += estimates->block[i].samples;
	}
	assert_true(fabs(samples * 40009 / cycles - 1) < 0.01);
	assert_true(compare(VMP_SOURCE_TIME, 100).worst < 0.03);
	assert_true(fabs(estimates->samples - 10000) < 1);
}

/* Two loops that run for long, one after the other: only counters tell their scale */
static void phased_program(void)
{
	int a, b;

	a = prog_plain(&prog, 3, 30, 1);
	prog.insn[a].function = "slow_loop";
	prog_jump(&prog, PROG_COND, a, 6000, 0);
	b = prog_plain(&prog, 9, 1, 0);
	prog.insn[b].function = "fast_loop";
	prog_jump(&prog, PROG_COND, b, 180000, 0);
	prog_jump(&prog, PROG_JUMP, a, 0, 0);
}

static void test_phases(void **state)
{
	const struct prog_run run = {
		.period = 4001, .samples = 10000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	struct verdict v;

	(void)state;
	phased_program();
	simulate(&run);
	v = compare(VMP_SOURCE_TIME, 100);
	show_verdict("long phases", &v);
	assert_int_equal(v.compared, 2);
	assert_true(v.worst < 0.03);
	assert_true(measure->phases >= 2);
}

/* A long inner loop within a slow outer one: most windows show one of the two only */
static void test_nested(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	struct verdict v;
	int top, inner;

	(void)state;
	top = prog_plain(&prog, 2, 400, 1);
	prog.insn[top].function = "outer";
	inner = prog_plain(&prog, 4, 1, 1);
	prog_jump(&prog, PROG_COND, inner, 100, 0);
	prog_plain(&prog, 1, 1, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	v = compare(VMP_SOURCE_TIME, 50);
	show_verdict("a long loop within a slow one", &v);
	assert_true(v.compared >= 2);
	assert_true(v.worst < 0.03);
	assert_true(fmax(-v.cpi_from, v.cpi_to) > 0.5);
}

/* Samples of instructions tell executions themselves */
static void test_two_events(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .instructions = 2503,
	};
	struct verdict v;

	(void)state;
	mixed_program();
	simulate(&run);
	assert_true(estimates->by_instructions);
	assert_int_equal(estimates->doubted, 0);
	v = compare(VMP_SOURCE_TIME, 100);
	show_verdict("with samples of instructions", &v);
	assert_true(v.compared >= 7);
	assert_true(v.worst < 0.03);
}

/*
 * Slow code that is left by pieces so short that hardly a sample is taken in any: these share a row, in which
 * only samples of instructions weigh them rightly.  The first of the pieces takes most of their time, and its
 * windows show the slow code; those of the last ones do not.
 */
static void test_rare(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 40000, .format = VMPROF_LBR_FROM_TO, .depth = 3, .instructions = 4001,
	};
	double found = 0, true_runs = 0;
	int top, slow[RARE_NR], i, n;
	uint32_t b;

	(void)state;
	top = prog_plain(&prog, 3, 1, 1);
	prog.insn[top].function = "main";
	prog_jump(&prog, PROG_COND, top, 8000, 0);
	for (i = 0; i < RARE_NR; i++) {
		slow[i] = prog_plain(&prog, 12, 150, 0);
		for (n = 0; n < 5; n++) {
			prog_jump(&prog, PROG_JUMP, prog.nr + 1, 0, 0);
			if (n < 4)
				prog_plain(&prog, 1, n ? 0 : 5, 0);
		}
	}
	prog.insn[prog.nr - 1].target = top;
	simulate(&run);
	assert_true(estimates->by_instructions);
	for (b = 0; b < set->blocks.nr; b++) {
		for (i = 1; i < RARE_NR; i++) {	/* the first one's runs end the loop, too */
			if (insn_at(set->blocks.v[b].start) != slow[i])
				continue;
			assert_int_equal(set->blocks.v[b].insns, 13);
			found += estimates->block[b].executions;
			true_runs += (double)prog.truth[slow[i]][slow[i] + 12].runs;
		}
	}
	if (getenv("SHOW"))
		print_message("# %.0f runs, %.0f found\n", true_runs, found);
	assert_true(fabs(found / true_runs - 1) < 0.04);
}


/*
 * Branches that are mispredicted now and then, which costs the code behind them: its runs
 * are told apart from those behind a predicted branch.
 */
static void missing(uint32_t missed, uint32_t penalty)
{
	int top, skip, out;

	top = prog_plain(&prog, 3, 40, 2);
	prog.insn[top].function = "main";
	skip = prog_jump(&prog, PROG_COND, 0, 0, 60);
	prog_plain(&prog, 4, 10, 1);
	out = prog_plain(&prog, 6, 20, 1);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[skip].target = out;
	prog.insn[skip].missed = missed;
	prog.insn[skip].penalty = penalty;
}

static void missing_program(void)
{
	missing(25, 60);
}

static void compare_missed(double within)
{
	int i, parted = 0;

	for (i = 0; i < (int)set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct vmp_estimate *e = &estimates->block[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];
		double missed = (double)t->missed_cycles / (double)t->missed;
		double other = (double)(t->cycles - t->missed_cycles) / (double)(t->runs - t->missed);

		if (getenv("SHOW"))
			print_message("# %d..%d: %.2f after a miss, %.2f found of %u, %.0f samples; else %.2f, %.2f\n", insn_at(b->start),
				      insn_at(b->end), missed, e->cycles_missed, b->missed.n, e->missed, other, e->cycles_predicted);
		assert_true(fabs(e->cycles_predicted / other - 1) < within);
		if (!t->missed) {
			assert_int_equal(b->missed.n, 0);
			assert_true(isnan(e->cycles_missed));
			continue;
		}
		assert_true(fabs((double)b->missed.n / b->n - (double)t->missed / (double)t->runs) < 0.02);
		assert_true(fabs(e->cycles_missed / missed - 1) < within);
		assert_true(missed > 2 * other);
		parted++;
	}
	assert_int_equal(parted, 1);
}

static void test_missed(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};

	(void)state;
	missing_program();
	simulate(&run);
	compare(VMP_SOURCE_TIME, 100);
	compare_missed(0.06);
}

static void test_missed_by_two_events(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .instructions = 2503,
	};

	(void)state;
	missing_program();
	simulate(&run);
	assert_true(estimates->by_instructions);
	compare_missed(0.06);
}

static void test_missed_own_cycles(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 10000, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	};

	(void)state;
	missing_program();
	simulate(&run);
	compare(VMP_SOURCE_LBR, 200);
	compare_missed(0.001);
}

#define SEEDS	40

/* Over all seeds: how far figures are off, and their errors */
struct covered {
	int all, within[2];
	double off, error;	/* sums of squares */
};

static void cover(struct covered *c, double figure, double exact, double printed, double doubt)
{
	const double off = fabs(figure - exact), error = by_chance(printed, figure, doubt);

	assert_true(error > 0 && isfinite(off / error));
	c->all++;
	c->within[0] += off < error;
	c->within[1] += off < 2 * error;
	c->off += off * off;
	c->error += error * error;
}

/*
 * Figures of both kinds lie within their error about as often as an error from eight groups should: 65 %, and
 * 91 % within two; and as far apart as it says.  @missed of 100, at @penalty.
 */
static void covers(const struct prog_run *run, uint32_t missed, uint32_t penalty)
{
	struct covered of[2] = { 0 };	/* behind predicted branches, mispredicted ones */
	struct prog_run other = *run;
	int seed, kind;
	uint32_t i;

	for (seed = 0; seed < SEEDS; seed++) {
		if (seed) {
			forget();
			begin("a");
		}
		missing(missed, penalty);
		other.seed = (uint64_t)seed * 7919;
		simulate(&other);
		for (i = 0; i < set->blocks.nr; i++) {
			const struct vmp_block_code *b = &set->blocks.v[i];
			const struct vmp_estimate *e = &estimates->block[i];
			const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];

			if (!t->missed)		/* its runs are all of one kind */
				continue;
			cover(&of[0], e->cycles_predicted, (double)(t->cycles - t->missed_cycles) / (double)(t->runs - t->missed),
			      e->predicted_error, e->doubt);
			cover(&of[1], e->cycles_missed, (double)t->missed_cycles / (double)t->missed, e->missed_error, e->doubt);
		}
	}
	for (kind = 0; kind < 2; kind++) {
		const struct covered *c = &of[kind];

		if (getenv("SHOW"))
			print_message("# %s: of %d figures %d within one error, %d within two; off by %.2f, errors %.2f\n", kind ? "missed" : "predicted",
				      c->all, c->within[0], c->within[1], sqrt(c->off / c->all), sqrt(c->error / c->all));
		assert_int_equal(c->all, SEEDS);
		assert_true(c->within[0] > 0.45 * c->all && c->within[0] < 0.85 * c->all);
		assert_true(c->within[1] > 0.8 * c->all);
		assert_true(c->off < 2 * c->error && c->error < 2 * c->off);
	}
}

/* Windows show many runs: how far figures are off is by samples */
static void test_missed_errors(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 4000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1,
	};

	(void)state;
	covers(&run, 25, 60);
}

static void test_missed_errors_by_two_events(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 2000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .instructions = 2503, .scatters = 1,
	};

	(void)state;
	covers(&run, 25, 60);
}

/* Windows show a run each, and hardly one of one kind, that many samples are in: it is by the share that this kind has of the runs */
static void test_missed_errors_of_shares(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 4000, .format = VMPROF_LBR_FROM_TO, .depth = 2, .counts = 1, .scatters = 1,
	};

	(void)state;
	covers(&run, 6, 1500);
	forget();
	begin("a");
	covers(&run, 94, 60);
}

/* The error of cycles behind a mispredicted branch is the jackknife's: samples, runs and the share of these, each without one group */
static void test_missed_error_by_hand(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 4000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	struct vmp_estimates *by_group;
	double without[VMP_GROUPS], samples;
	uint32_t i, l, found = 0;
	int g;

	(void)state;
	missing_program();
	simulate(&run);
	assert_int_equal(vmp_estimate_create(&by_group, measure, 1), 0);
	for (i = 0; i < set->blocks.nr; i++) {
		if (!set->blocks.v[i].missed.n)
			continue;
		for (g = 0; g < VMP_GROUPS; g++) {
			for (l = 0, samples = 0; l < set->landings.nr; l++)
				if (set->landings.v[l].start == set->blocks.v[i].start)
					samples += vmp_groups_without(&measure->missed[l], g);
			without[g] = samples * VMP_GROUPS / (VMP_GROUPS - 1) * run.period / by_group->block_without[g][i] /
				vmp_part_missed(&measure->parts[measure->part_of[i]], g);
		}
		assert_true(vmp_error_of(without) > 0);
		assert_true(by_group->block[i].doubt > 0);	/* by branches alone */
		assert_true(fabs(by_group->block[i].missed_error / hypot(vmp_error_of(without), by_group->block[i].doubt *
			    by_group->block[i].cycles_missed) - 1) < 0.001);
		found++;
	}
	assert_int_equal(found, 1);
	vmp_estimate_destroy(by_group);
}

/* A block's runs, and how many of them a mispredicted branch led to, in each group of samples by itself */
static void test_missed_groups(void **state)
{
	unsigned want[2][VMP_GROUPS] = { 0 };
	const struct vmp_part *p;
	double n[2] = { 0 };
	uint64_t tsc;
	int i;

	(void)state;
	begin_small();
	for (tsc = 10001; tsc < 10401; tsc++) {
		const struct prog_branch b[] = { { AT(4), AT(0) }, { AT(8), AT(0) } };
		/* which group a sample is in; the first four have no mispredicted branch, the last one a good many */
		int group = (int)(tsc * 0x9e3779b97f4a7c15ULL >> 61), missed = group > 3 && tsc % (9 - (unsigned)group) == 0;

		gen_guest(&g, GEN_VM, tsc, PROG_CR3, 3, AT(0), 1);
		gen_lbr(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, b, 2, missed ? 2 : 0);
		want[missed][group]++;
		n[missed]++;
	}
	load_small();
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(set->blocks.nr, 1);
	p = &measure->parts[measure->part_of[0]];
	for (i = 0; i < VMP_GROUPS; i++) {
		assert_int_equal(p->n[0][i], want[0][i]);
		assert_int_equal(p->n[1][i], want[1][i]);
		assert_true(fabs(vmp_part_missed(p, i) - (n[1] - want[1][i]) / (n[0] + n[1] - want[0][i] - want[1][i])) < 1e-12);
	}
	assert_true(want[1][7] > 10 && !want[1][3]);
	assert_true(fabs(vmp_part_missed(p, VMP_GROUPS) - n[1] / 400) < 1e-12);
}

/* Of blocks that always take the same: half of their runs take that, and 95 % */
static void compare_spread(void)
{
	int same = 0;
	uint32_t i;

	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];
		double cycles = (double)t->cycles / (double)t->runs, rounded = cycles <= 64 ? 0 : cycles / 64;

		if (measure->spreads.of[i] == VMP_NONE)
			continue;
		assert_true(fabs(vmp_spread_part(&measure->spreads, i, 0.5) - cycles) <= rounded);
		assert_true(fabs(vmp_spread_part(&measure->spreads, i, 0.95) - cycles) <= rounded);
		same++;
	}
	assert_true(same >= 6);
}

/* Cycles in the branch records themselves */
static void test_own_cycles(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 10000, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	};
	struct verdict v;

	(void)state;
	mixed_program();
	simulate(&run);
	v = compare(VMP_SOURCE_LBR, 200);
	assert_true(v.compared >= 6);
	assert_true(v.worst < 0.001);
	compare_spread();
	compare_equation1(0);
}

/* Eight runs of 4 cycles, eight of 8, counted or listed: a deviation of 2; each for itself, and four as one */
static void test_spread_error(void **state)
{
	uint32_t words[VMP_SPREAD_VALUES] = { 0 }, list[2 + 8] = { 16, 16 };
	uint32_t of[] = { 0, VMP_SPREAD_LIST, VMP_NONE };
	struct vmp_spreads counted = { of, words }, listed = { of, list };
	int i;

	(void)state;
	words[vmp_spread_value(4)] = words[vmp_spread_value(8)] = 8;
	for (i = 0; i < 16; i++)
		((uint16_t *)(list + 2))[i] = (uint16_t)vmp_spread_value(i % 2 ? 4 : 8);
	assert_true(fabs(vmp_spread_error(&counted, 0, 1) - 2 / sqrt(15)) < 1e-9);
	assert_true(fabs(vmp_spread_error(&counted, 0, 4) - 2 / sqrt(3)) < 1e-9);
	assert_true(fabs(vmp_spread_error(&listed, 1, 1) - 2 / sqrt(15)) < 1e-9);
	assert_true(isnan(vmp_spread_error(&counted, 0, 16)));
	assert_true(isnan(vmp_spread_error(&counted, 2, 1)));
}

/* Whether it is seen often or seldom: a loop's short rounds always take the same */
static void test_spread(void **state)
{
	const struct prog_run often = {
		.period = 503, .samples = 2000, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	}, seldom = {
		.period = 503, .samples = 20, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	};
	int few, inner, latch;
	uint32_t i;

	(void)state;
	for (few = 0; few < 2; few++) {
		if (few) {
			forget();
			begin("a");
		}
		prog_plain(&prog, 3, 300, 1);
		prog.insn[0].function = "main";
		inner = prog_plain(&prog, 4, 7, 0);
		latch = prog_jump(&prog, PROG_COND, inner, 40, 0);	/* 8 cycles */
		prog_jump(&prog, PROG_JUMP, 0, 0, 0);
		simulate(few ? &seldom : &often);
		for (i = 0; i < set->blocks.nr; i++) {
			const struct vmp_block_code *b = &set->blocks.v[i];

			if (insn_at(b->start) != inner || insn_at(b->end) != latch)
				continue;
			assert_true(few ? b->n < 2 * VMP_SPREAD_VALUES : b->n > 2 * VMP_SPREAD_VALUES);
			assert_true(vmp_spread_part(&measure->spreads, i, 0.5) == 8);
			assert_true(vmp_spread_part(&measure->spreads, i, 0.95) == 8);
			break;
		}
		assert_true(i < set->blocks.nr);
	}
}

/* What is kept of a number of cycles: all of small ones, else six binary digits */
static void test_spread_values(void **state)
{
	struct vmp_block_code block = { .n = 100 };
	struct vmp_set one = { .blocks = { &block, 1, 1 } };
	double cycles, found, worst = 0;
	struct vmp_spread_run run;
	struct vmp_spreads s;
	int i;

	(void)state;
	for (cycles = 0.25; cycles < 64512; cycles = cycles < 64 ? cycles + 0.25 : floor(cycles * 1.01) + 1) {
		assert_int_equal(vmp_spreads_init(&s, &one), 0);
		run = vmp_spread_run(&s, s.of[0], cycles);
		vmp_spread_count(&run);
		found = vmp_spread_part(&s, 0, 0.5);
		assert_true(cycles > 64 || cycles != floor(cycles) || found == cycles);
		worst = fmax(worst, fabs(found / cycles - 1));
		vmp_spreads_free(&s);
	}
	assert_true(worst > 0.01 && worst <= 1 / 64.0);
	assert_int_equal(vmp_spreads_init(&s, &one), 0);
	assert_true(isnan(vmp_spread_part(&s, 0, 0.5)));
	for (i = 1; i <= 200; i++) {	/* twice as many as there is room for */
		run = vmp_spread_run(&s, s.of[0], i <= 100 ? (i - 1) % 20 + 1 : 1000);
		vmp_spread_count(&run);
	}
	assert_true(vmp_spread_part(&s, 0, 0.5) == 10);
	assert_true(vmp_spread_part(&s, 0, 0.95) == 19);
	assert_true(vmp_spread_part(&s, 0, 1) == 20);
	vmp_spreads_free(&s);
	block.n = 15;
	assert_int_equal(vmp_spreads_init(&s, &one), 0);
	assert_true(s.of[0] == VMP_NONE && isnan(vmp_spread_part(&s, 0, 0.5)));
	vmp_spreads_free(&s);
}

/* ... which not all records have: a block without them has the next best figure, and one without samples the windows' runs */
static void test_own_cycles_missing(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 10000, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	}, few = {
		.period = 50021, .samples = 150, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1,
	};
	uint32_t i, timed = 0, rare = 0;

	(void)state;
	mixed_program();
	simulate(&run);
	vmp_estimate_destroy(estimates);
	for (i = 0; i < set->blocks.nr; i += 2)
		set->blocks.v[i].cycled = 0;
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	assert_int_equal(estimates->source, VMP_SOURCE_LBR);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_estimate *e = &estimates->block[i];

		assert_int_equal(e->source, i % 2 ? VMP_SOURCE_LBR : e->samples >= 4 ? VMP_SOURCE_TIME : VMP_SOURCE_CPI);
		timed += e->source == VMP_SOURCE_TIME;
	}
	assert_true(timed > 2);

	forget();
	begin("a");
	mixed_program();
	simulate(&few);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct vmp_estimate *e = &estimates->block[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];

		assert_int_equal(e->source, VMP_SOURCE_LBR);
		if (e->samples >= 1 || b->n < 20)
			continue;
		rare++;
		assert_true(e->executions > (double)t->runs / 2 && e->executions < (double)t->runs * 2);
		assert_true(e->executions_error > 0);
	}
	assert_true(rare > 0);
}

/* -------------------------------------------------------- what is in doubt */

/* By branches alone a block's errors hold what both estimates say otherwise, beside what is by chance */
static void test_doubt_by_hand(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 4000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	uint32_t i, n = 0;

	(void)state;
	mixed_program();
	simulate(&run);
	assert_int_equal(measure->phases, 1);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_estimate *e = &estimates->block[i];
		const double difference = fabs(e->cycles[VMP_SOURCE_TIME] - e->cycles[VMP_SOURCE_CPI]);
		const double runs = fabs(e->executions - e->samples * (double)run.period / e->cycles[VMP_SOURCE_CPI]);

		if (e->source != VMP_SOURCE_TIME)
			continue;
		assert_true(e->error >= difference && e->executions_error >= runs);
		assert_true(fabs(e->doubt * e->cycles[VMP_SOURCE_TIME] - difference) < 1e-6 * difference);
		assert_true(fabs(e->executions_doubt * e->executions - runs) < 1e-6 * runs);
		n++;
	}
	assert_true(n > 6);
}

/* The counters between two samples in a phase tell how fast it is if it ran alone in between, and not if others did */
static void test_doubt_of_phases(void **state)
{
	const struct prog_run run = {
		.period = 4001, .samples = 2500, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1,
	};
	uint32_t i;
	int k;

	(void)state;
	for (k = 0; k < 2; k++) {
		if (k) {
			forget();
			begin("a");
		}
		phased_program();	/* turns of 200,000 and 2,000,000 cycles, or a hundredth of that */
		if (k) {
			prog.insn[3].trips /= 100;
			prog.insn[13].trips /= 100;
		}
		simulate(&run);
		assert_true(measure->phases >= 2);
		for (i = 0; i < set->blocks.nr; i++) {
			const struct vmp_estimate *e = &estimates->block[i];
			const double difference = e->cycles[VMP_SOURCE_TIME] / e->cycles[VMP_SOURCE_CPI] - 1;
			const double scale = sqrt(fmax(0, e->executions_doubt * e->executions_doubt - difference * difference));

			if (e->samples < 50)
				continue;
			if (getenv("SHOW"))
				print_message("# turns of %d: %.0f samples, part of the scale in doubt %.3f\n", k, e->samples, scale);
			assert_true(k ? scale > 0.1 && scale <= 1 : scale < 0.01);
		}
	}
}

/* --------------- programs made by chance: loops that take turns, with paths that are common or rare, in one another's way */

static uint64_t drawn;

static uint32_t draw(uint32_t below)
{
	drawn = drawn * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(drawn >> 33) % below;
}

/* From 1 up to about @most, of each size as many */
static uint32_t draw_steep(uint32_t most)
{
	uint32_t n = 1 + draw(2U << draw(32 - (uint32_t)__builtin_clz(most)));

	return n > most ? most : n;
}

static void drawn_program(void)
{
	static const uint32_t chances[] = { 2, 10, 50, 90, 99 };
	int loops = 2 + (int)draw(4), paths, head, skip;

	prog.insn[0].function = "main";
	while (loops--) {
		head = prog_plain(&prog, 1 + (int)draw(4), draw_steep(200), draw(3));
		prog.insn[0].function = "main";
		for (paths = (int)draw(3); paths > 0; paths--) {
			skip = prog_jump(&prog, PROG_COND, 0, 0, chances[draw(5)]);
			prog_plain(&prog, 1 + (int)draw(8), draw_steep(200), draw(3));
			prog.insn[skip].target = prog_plain(&prog, 1 + (int)draw(3), 1 + draw(3), draw(2));
		}
		prog_jump(&prog, PROG_COND, head, 1 + draw_steep(4000), 0);
	}
	prog_plain(&prog, 1, 1, 0);
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);
}

#define DRAWN	24

/* Blocks of all these programs, and how many have the truth within so many of their errors: as printed, and by chance alone */
struct held {
	int all, printed[3], chance[3];
};

static void hold(struct held *h, const struct vmp_estimate *e, double cycles)
{
	const double time = e->cycles[VMP_SOURCE_TIME], off = fabs(time - cycles), chance = by_chance(e->error, time, e->doubt);
	int k;

	h->all++;
	for (k = 0; k < 3; k++) {
		h->printed[k] += off <= (k + 1) * e->error;
		h->chance[k] += off <= (k + 1) * chance;
	}
}

static struct held hold_drawn(uint64_t instructions)
{
	static const unsigned depths[] = { 3, 8, 16, 16 };
	struct held h = { 0 };
	uint32_t i;
	int seed;

	for (seed = 0; seed < DRAWN; seed++) {
		struct prog_run run = { .period = 5003, .samples = 2000, .instructions = instructions, .format = VMPROF_LBR_FROM_TO,
			.counts = 1, .scatters = 1 };

		forget();
		begin("a");
		drawn = (uint64_t)seed * 7919 + 1;
		draw(2);
		run.depth = depths[draw(4)];
		run.seed = drawn;
		drawn_program();
		simulate(&run);
		assert_int_equal(estimates->by_instructions, !!instructions);
		for (i = 0; i < set->blocks.nr; i++) {
			const struct vmp_block_code *b = &set->blocks.v[i];
			const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];

			if (estimates->block[i].source != VMP_SOURCE_TIME || !t->runs)
				continue;
			hold(&h, &estimates->block[i], (double)t->cycles / (double)t->runs);
			if (getenv("SHOW"))
				show(&estimates->block[i], b, (double)t->cycles / (double)t->runs, (double)t->runs);
		}
	}
	print_message("# programs made by chance, %s: of %d blocks %.0f %% are within one printed error, %.0f %% within two, %.0f %% within three; %.0f %%, %.0f %%, %.0f %% by chance alone\n",
		      instructions ? "with samples of instructions" : "by branches alone", h.all, 100.0 * h.printed[0] / h.all,
		      100.0 * h.printed[1] / h.all, 100.0 * h.printed[2] / h.all, 100.0 * h.chance[0] / h.all,
		      100.0 * h.chance[1] / h.all, 100.0 * h.chance[2] / h.all);
	return h;
}

/* The chain alone does not know much of such programs: its errors say so */
static void test_doubt(void **state)
{
	struct held h;

	(void)state;
	gen_end(&g);
	h = hold_drawn(0);
	assert_true(h.all > 150);
	assert_true(h.printed[0] > 0.75 * h.all && h.printed[1] > 0.9 * h.all && h.printed[2] > 0.94 * h.all);
	/* or there would be nothing to be said */
	assert_true(h.chance[0] < 0.65 * h.all && h.chance[1] < 0.8 * h.all && h.chance[2] < 0.85 * h.all);
}

/* Samples of instructions do, and no error holds anything but chance */
static void test_no_doubt(void **state)
{
	struct held h;
	int k;

	(void)state;
	gen_end(&g);
	h = hold_drawn(1009);
	assert_true(h.all > 150);
	for (k = 0; k < 3; k++)
		assert_int_equal(h.printed[k], h.chance[k]);
	assert_true(h.printed[2] > 0.95 * h.all);
}

/* ------------------------------------------------------------------ loops */

/* A loop of the program, by its instructions */
struct want {
	int header, end;
	uint32_t level;
	uint64_t entries;
	double trips;
};

static double reached(int insn)
{
	uint64_t n = 0;
	int s, e;

	for (s = 0; s <= insn; s++)
		for (e = insn; e < prog.nr; e++)
			n += prog.truth[s][e].runs;
	return (double)n;
}

static void near(const char *what, int header, double found, double error, double truth)
{
	if (getenv("SHOW"))
		print_message("# %d: %s %.2f +- %.2f, truly %.2f\n", header, what, found, error, truth);
	assert_true(error > 0 && error < 0.1 * found);
	assert_true(fabs(found - truth) < 3 * error + 0.01 * truth);
}

static void compare_loops(const struct want *want, size_t nr)
{
	struct vmp_loops *loops;
	uint32_t i;
	size_t w;

	vmp_estimate_destroy(estimates);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 1), 0);
	assert_int_equal(vmp_loops_create(&loops, set, estimates), 0);
	for (w = 0; w < nr; w++) {
		const struct vmp_loop *l = NULL;

		for (i = 0; i < loops->list.nr; i++)
			if (insn_at(loops->list.v[i].header) == want[w].header)
				l = &loops->list.v[i];
		assert_non_null(l);
		assert_int_equal(l->end, prog.insn[want[w].end].addr);
		assert_int_equal(l->level, want[w].level);
		near("entries", want[w].header, l->entries, l->entries_error, (double)want[w].entries);
		near("iterations", want[w].header, l->iterations, l->iterations_error, reached(want[w].header));
		near("trips", want[w].header, l->trips, l->trips_error, want[w].trips);
	}
	vmp_loops_destroy(loops);
}

static const struct prog_run loops_run = {
	.period = 2503, .samples = 20000, .format = VMPROF_LBR_FROM_TO, .depth = 32, .counts = 1, .scatters = 1,
};

/* The test is at the bottom, and where it is entered; in an outer loop whose test never fails */
static void test_loop_rotated(void **state)
{
	int top, enter, body, latch;

	(void)state;
	top = prog_plain(&prog, 3, 20, 2);
	prog.insn[top].function = "main";
	enter = prog_jump(&prog, PROG_JUMP, 0, 0, 0);
	body = prog_plain(&prog, 5, 6, 1);
	prog.insn[enter].target = prog_plain(&prog, 2, 2, 1);
	latch = prog_jump(&prog, PROG_COND, body, 6, 0);
	prog_plain(&prog, 2, 9, 1);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&loops_run);
	assert_true(fabs((double)prog.taken[latch] / (double)prog.taken[enter] - 5) < 0.001);
	compare_loops((struct want[]){ { body, latch, 0, prog.taken[enter], 5 } }, 1);
}

/* Each goes round another number of times; the outermost is run into from above */
static void test_loop_nest(void **state)
{
	int call, outer, middle, inner, latch[3], ret, main;

	(void)state;
	main = prog_plain(&prog, 2, 10, 1);
	prog.insn[main].function = "main";
	call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
	prog_plain(&prog, 2, 3, 1);
	prog_jump(&prog, PROG_JUMP, main, 0, 0);
	prog.insn[call].target = prog_plain(&prog, 2, 5, 1);
	prog.insn[prog.insn[call].target].function = "nest";
	outer = prog_plain(&prog, 2, 12, 1);
	middle = prog_plain(&prog, 3, 8, 1);
	inner = prog_plain(&prog, 4, 4, 1);
	latch[0] = prog_jump(&prog, PROG_COND, inner, 7, 0);
	prog_plain(&prog, 2, 3, 1);
	latch[1] = prog_jump(&prog, PROG_COND, middle, 4, 0);
	prog_plain(&prog, 1, 2, 0);
	latch[2] = prog_jump(&prog, PROG_COND, outer, 3, 0);
	ret = prog_jump(&prog, PROG_RET, 0, 0, 0);
	simulate(&loops_run);
	assert_true(fabs((double)prog.taken[ret] - (double)prog.taken[call]) <= 1);
	compare_loops((struct want[]){
		{ inner, latch[0], 0, prog.taken[latch[0]] / 6, 7 },
		{ middle, latch[1], 1, prog.taken[latch[1]] / 3, 4 },
		{ outer, latch[2], 2, prog.taken[call], 3 },
	}, 3);
}

/* One behind the other; the second one leaves its body now and then for code behind it, which comes back into the middle */
static void test_loops_beside(void **state)
{
	int top, a, b, latch[2], leave, again;

	(void)state;
	top = prog_plain(&prog, 2, 10, 1);
	prog.insn[top].function = "main";
	a = prog_plain(&prog, 3, 3, 1);
	latch[0] = prog_jump(&prog, PROG_COND, a, 4, 0);
	prog_plain(&prog, 2, 7, 1);
	b = prog_plain(&prog, 4, 5, 1);
	leave = prog_jump(&prog, PROG_COND, 0, 0, 30);
	again = prog_plain(&prog, 2, 2, 1);
	latch[1] = prog_jump(&prog, PROG_COND, b, 9, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	prog.insn[leave].target = prog_plain(&prog, 2, 6, 1);
	prog_jump(&prog, PROG_JUMP, again, 0, 0);
	simulate(&loops_run);
	compare_loops((struct want[]){
		{ a, latch[0], 0, prog.taken[latch[0]] / 3, 4 }, { b, latch[1], 0, prog.taken[latch[1]] / 8, 9 },
	}, 2);
}

/* A handful of samples: no start has a row of its own, the sums are right all the same */
static void test_few(void **state)
{
	const struct prog_run run = {
		.period = 50021, .samples = 150, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	double runs = 0, truth = 0, insns = 0, true_insns = 0;
	uint32_t i;

	(void)state;
	mixed_program();
	simulate(&run);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		double n = (double)prog.truth[insn_at(b->start)][insn_at(b->end)].runs;
		double x = isnan(estimates->block[i].executions) ? 0 : estimates->block[i].executions;

		if (getenv("SHOW"))
			show(&estimates->block[i], b, 0, n);
		runs += x;
		truth += n;
		insns += x * b->insns;
		true_insns += n * b->insns;
	}
	assert_true(fabs(runs / truth - 1) < 0.1);
	assert_true(fabs(insns / true_insns - 1) < 0.05);
}

/* The same whatever the number of threads, and whether samples were kept or are read again */
static void test_threads(void **state)
{
	static const struct {
		const char *threads;
		uint64_t keep_bytes;
	} ways[] = { { "1", VMP_KEEP_BYTES }, { "4", VMP_KEEP_BYTES }, { "1", 0 }, { "4", 0 }, { "2", 1 << 16 } };
	const struct prog_run run = {
		.period = 2003, .samples = 9000, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
	};
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };
	struct vmp_estimate want[64];
	uint32_t blocks, i;
	size_t w;

	(void)state;
	setenv("VMPROF_THREADS", "1", 1);
	mixed_program();
	simulate(&run);
	blocks = set->blocks.nr;
	assert_true(blocks > 5 && blocks < 64);
	memcpy(want, estimates->block, blocks * sizeof(*want));
	for (w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		forget();
		setenv("VMPROF_THREADS", ways[w].threads, 1);
		all.keep_bytes = ways[w].keep_bytes;
		assert_int_equal(vmp_model_open(&model, path), 0);
		assert_int_equal(vmp_set_create(&set, model, &all), 0);
		assert_int_equal(set->kept.nr, all.keep_bytes == VMP_KEEP_BYTES ? atoi(ways[w].threads) : 0);
		assert_int_equal(vmp_measure_create(&measure, set), 0);
		assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
		assert_int_equal(set->kept.nr, 0);
		assert_int_equal(set->blocks.nr, blocks);
		for (i = 0; i < blocks; i++)
			assert_memory_equal(&want[i], &estimates->block[i], sizeof(want[i]));
	}
}

/* ---------------------------------------------------------------- hostile */

#define SWITCH_TO	(GEN_KERNEL + 0x2000)

static void put_in(uint32_t vm, uint64_t cr3, unsigned format, const struct prog_branch *b, unsigned nr)
{
	static uint64_t tsc = 10000;

	tsc += 1000;
	gen_guest(&g, vm, tsc, cr3, 3, AT(0), 1);
	gen_lbr(&g, tsc, VMPROF_LBR_ALL, format, b, nr, 0);
}

static void put(const struct prog_branch *b, unsigned nr)
{
	put_in(GEN_VM, PROG_CR3, VMPROF_LBR_FROM_TO, b, nr);
}

/* Libraries with the same code, mapped by the same process */
#define HERE	0x600000ULL	/* in the object cache, without a build-id */
#define GONE	0x800000ULL	/* not there */
#define ANON	0xa00000ULL	/* in no file at all */
#define IN(base, i)	((base) + prog.insn[i].addr - PROG_VADDR)

static void map_code(uint64_t base, uint32_t ino, const char *file)
{
	gen_map(&g, 2000, PROG_CR3, PROG_PID, base, base + 0x1000, *file ? PROG_VADDR : 0, ino, file);
}

static void put_libraries(uint32_t vm)
{
	static const char here[] = "/usr/lib/here.so", gone[] = "/usr/lib/gone.so";
	const struct vmp_msg_file file = {
		.ino = PROG_INO + 1, .dev_major = 8, .dev_minor = 1, .bytes = 0x8000, .path = { here, strlen(here) },
	};
	const uint8_t id[20] = { 0xba, 0xd1 };
	uint8_t boot[16];
	char key[VMP_OBJKEY_MAX], copy[256];

	memset(boot, 1, sizeof(boot));
	vmp_objcache_key(key, boot, &file);
	gen_sh(dir, "mkdir -p u-%u/%.2s", vm, key);
	snprintf(copy, sizeof(copy), "%s/u-%u/%.2s/%s", dir, vm, key, key + 2);
	prog_write(&prog, copy, NULL);
	gen_file(&g, 2, PROG_INO + 1, 0x8000, NULL, 0, here);
	gen_file(&g, 3, PROG_INO + 2, 0x8000, id, sizeof(id), gone);
	map_code(HERE, PROG_INO + 1, here);
	map_code(GONE, PROG_INO + 2, gone);
	map_code(ANON, 0, "");
	gen_agent_flush(&g, vm, 3000);
}

static void test_flaws(void **state)
{
	/* the older branch's end, and where the younger one begins */
	const struct {
		int from, to;	/* instructions, or ... */
		uint64_t end, start;
		enum vmp_flaw flaw;
		int next;	/* instruction to which the younger one goes */
		uint64_t cr3;	/* of another process */
		uint64_t went;	/* ... or an address */
	} *c, cases[] = {
		{ 4, 0, 0, 0, VMP_FLAW_NONE },
		{ 8, 5, 0, 0, VMP_FLAW_NONE },
		{ 4, 5, 0, 0, VMP_FLAW_BACKWARD },
		{ 11, 5, 0, 0, VMP_FLAW_PASSES },
		{ 3, 0, 0, 0, VMP_FLAW_NO_BRANCH, 5 },
		{ 0, 0, PROG_BASE + PROG_VADDR + 13, PROG_BASE + PROG_VADDR, VMP_FLAW_MIDDLE },
		{ 4, 0, 0, PROG_BASE + PROG_VADDR + 0x800, VMP_FLAW_DATA },	/* mapped, but not in the file's code */
		{ 4, 0, 0, 0x7f0000000000, VMP_FLAW_UNMAPPED },
		{ 0, 0, 0x7f0000000000, PROG_BASE + PROG_VADDR, VMP_FLAW_UNMAPPED },
		{ 4, 0, 0, GEN_KERNEL + 0x1000, VMP_FLAW_MIXED },
		{ 0, 0, GEN_KERNEL + 0x1010, GEN_KERNEL + 0x1000, VMP_FLAW_NO_KERNEL },
		{ 0, 0, GEN_KERNEL + 0x1000, GEN_KERNEL + 0x1010, VMP_FLAW_BACKWARD },
		{ 0, 0, GEN_KERNEL + 0x1000 + (1 << 20), GEN_KERNEL + 0x1000, VMP_FLAW_LONG },
		{ 0, 0, HERE + 12, PROG_BASE + PROG_VADDR, VMP_FLAW_MIXED },	/* both files are here */
		{ 0, 0, HERE + 12, HERE, VMP_FLAW_NONE },
		{ 0, 0, GONE + 12, GONE, VMP_FLAW_NO_FILE },
		{ 0, 0, GONE + 12, PROG_BASE + PROG_VADDR, VMP_FLAW_NO_FILE },
		{ 0, 0, ANON + 12, ANON, VMP_FLAW_ANON },
		{ 4, 0, 0, ANON, VMP_FLAW_ANON },
		{ 4, 0, 0, 0, VMP_FLAW_UNKNOWN, 0, PROG_CR3 + 0x9000 },
		/* what the bytes there would be is an instruction, too, and code goes on to the branch */
		{ 4, 0, 0, PROG_BASE + PROG_VADDR + 1, VMP_FLAW_MIDDLE },
		{ 18, 0, 0, PROG_BASE + PROG_VADDR + 0x2c, VMP_FLAW_MIDDLE },	/* no branch leads to 12 */
		{ 18, 12, 0, 0, VMP_FLAW_NONE, 11 },
		{ 8, 5, 0, 0, VMP_FLAW_ELSEWHERE, 5 },		/* a jump that names another address */
		{ 4, 0, 0, 0, VMP_FLAW_ELSEWHERE, 12 },		/* a conditional one */
		{ 19, 19, 0, 0, VMP_FLAW_ELSEWHERE, 12 },	/* a call */
		{ 19, 19, 0, 0, VMP_FLAW_NONE, 0 },
		{ 4, 0, 0, 0, VMP_FLAW_MIDDLE, 0, 0, PROG_BASE + PROG_VADDR + 1 },
		{ 4, 0, 0, 0, VMP_FLAW_NONE, 0, 0, GEN_KERNEL + 0x1000 },	/* an interrupt, before it jumped */
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	uint64_t want[VMP_FLAW_NR] = { 0 };
	int f;

	(void)state;
	begin_small();
	put_libraries(GEN_VM);
	for (i = 0; i < n; i++) {
		c = &cases[i];
		put_in(GEN_VM, c->cr3 ? c->cr3 : PROG_CR3, VMPROF_LBR_FROM_TO,
		       (struct prog_branch[]){ { c->end ? c->end : AT(c->from), c->went ? c->went : AT(c->next) },
					       { AT(8), c->start ? c->start : AT(c->to) } }, 2);
		want[c->flaw]++;
	}
	load_small();
	assert_int_equal(set->totals.steps, n);
	for (f = 0; f < VMP_FLAW_NR; f++)
		if (set->totals.flaw[f] != want[f])
			fail_msg("%s: %d, not %d", vmp_flaw_key(f), (int)set->totals.flaw[f], (int)want[f]);
	assert_int_equal(set->losses.records, n);
	assert_int_equal(set->losses.entries, 2 * n);
}

/* A return goes behind a call, or to where no other way leads; not into the middle of what runs anyway */
static void test_returns(void **state)
{
	const struct { int next; enum vmp_flaw flaw; } cases[] = {
		{ 4, VMP_FLAW_NONE }, { 5, VMP_FLAW_ELSEWHERE }, { 2, VMP_FLAW_ELSEWHERE },
		{ 0, VMP_FLAW_NONE },	/* a function: a trampoline */
		{ 7, VMP_FLAW_NONE },	/* a landing pad */
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	uint64_t good = 0;

	(void)state;
	prog_plain(&prog, 3, 1, 1);			/* 0 .. 2 */
	prog.insn[0].function = "main";
	prog_jump(&prog, PROG_CALL, 9, 0, 0);		/* 3 */
	prog_plain(&prog, 2, 1, 1);			/* 4, 5 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 6 */
	prog_plain(&prog, 1, 1, 1);			/* 7 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 8 */
	prog_plain(&prog, 2, 1, 1);			/* 9, 10 */
	prog.insn[9].function = "called";
	prog_jump(&prog, PROG_RET, 0, 0, 0);		/* 11 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	for (i = 0; i < n; i++) {
		put((struct prog_branch[]){ { AT(11), AT(cases[i].next) }, { AT(3), AT(9) } }, 2);
		good += !cases[i].flaw;
	}
	load_small();
	assert_int_equal(set->totals.steps, n);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], good);
	assert_int_equal(set->totals.flaw[VMP_FLAW_ELSEWHERE], n - good);
	for (i = 0; i < set->units.nr; i++)
		if (set->units.v[i].start != VMP_NONE)
			assert_int_equal(!set->units.v[i].flaw, insn_at(set->units.v[i].next) != 5 && insn_at(set->units.v[i].next) != 2);
}

/* Code that is in no function: used whatever its address is, and counted */
static void test_unbound(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	prog_plain(&prog, 3, 1, 1);			/* 0 .. 2 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 3 */
	prog_plain(&prog, 2, 1, 1);			/* 4, 5 */
	prog.insn[4].function = "main";
	prog_jump(&prog, PROG_JUMP, 4, 0, 0);		/* 6 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	put((struct prog_branch[]){ { AT(6), AT(4) }, { AT(6), AT(4) } }, 2);
	put((struct prog_branch[]){ { AT(3), AT(0) }, { AT(3), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(3), AT(0) }, { AT(3), AT(0) + 1 } }, 2);
	load_small();
	assert_int_equal(set->totals.steps, 3);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 3);
	assert_int_equal(set->totals.unbound, 2);
	out = open_memstream(&text, &len);
	vmp_about_notes(out, set, NULL);
	vmp_about_json(out, set, NULL, "x");
	fclose(out);
	assert_non_null(strstr(text, " 2 used, though nothing tells whether their instruction begins there"));
	assert_non_null(strstr(text, "\"instruction_not_known\":2,"));
	free(text);
}

/* Where a processor fused instructions with a branch, its record names the first of them */
static void test_fused(void **state)
{
	const struct {
		int start, end, next;	/* instructions; next -1: the kernel */
		enum vmp_flaw flaw;
	} cases[] = {
		{ 0, 4, 0, VMP_FLAW_NONE },		/* the branch itself */
		{ 0, 3, 0, VMP_FLAW_NONE },		/* fused with the one before it */
		{ 0, 2, 0, VMP_FLAW_NONE },		/* with two */
		{ 0, 3, 5, VMP_FLAW_NO_BRANCH },	/* it does not go there */
		{ 0, 3, -1, VMP_FLAW_NONE },		/* an interrupt */
		{ 12, 12, 11, VMP_FLAW_NO_BRANCH },	/* the branch is 18 bytes away */
		{ 12, 13, 11, VMP_FLAW_NONE },		/* 15 */
	};
	static const struct { int end; uint32_t insns, n; enum vmp_flow flow; } blocks[] = {
		{ 3, 3, 1, VMP_FLOW_ON }, { 4, 5, 3, VMP_FLOW_COND }, { 18, 7, 1, VMP_FLOW_JUMP },
	};
	uint64_t want[VMP_FLAW_NR] = { 0 };
	size_t i, n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	begin_small();
	for (i = 0; i < n; i++) {
		put((struct prog_branch[]){ { AT(cases[i].end), cases[i].next < 0 ? GEN_KERNEL + 0x1000 : AT(cases[i].next) },
					    { AT(8), AT(cases[i].start) } }, 2);
		want[cases[i].flaw]++;
	}
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], want[VMP_FLAW_NONE]);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_BRANCH], want[VMP_FLAW_NO_BRANCH]);
	assert_int_equal(set->totals.steps, n);
	assert_int_equal(set->blocks.nr, 3);
	for (i = 0; i < 3; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];

		assert_int_equal(set->points.points.v[b->end].addr, prog.insn[blocks[i].end].addr);
		assert_int_equal(b->insns, blocks[i].insns);
		assert_int_equal(b->n, blocks[i].n);
		assert_int_equal(b->flow, blocks[i].flow);
	}
}

/* Where only sources were recorded, instructions tell what the branches were; one that is none tells nothing */
static void test_from_only(void **state)
{
	static const struct { int insn; enum vmp_flow flow; } cases[] = {
		{ 4, VMP_FLOW_COND }, { 8, VMP_FLOW_JUMP }, { 19, VMP_FLOW_CALL },
		{ 3, VMP_FLOW_NR }, { -1, VMP_FLOW_NR },
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	const struct vmp_unit *u;
	uint32_t k;

	(void)state;
	begin_small();
	for (i = 0; i < n; i++)
		put_in(GEN_VM, PROG_CR3, VMPROF_LBR_FROM,
		       &(struct prog_branch){ cases[i].insn < 0 ? GONE : AT(cases[i].insn) }, 1);
	load_small();
	assert_int_equal(set->units.nr, n);
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			u = &set->units.v[k];
			if (set->points.points.v[u->end].seen == (cases[i].insn < 0 ? GONE : AT(cases[i].insn)))
				break;
		}
		assert_true(k < n);
		assert_int_equal(u->flow, cases[i].flow);
		assert_int_equal(u->next, VMP_NONE);
	}
}

/* Records that follow no sample, or are not what they say */
static void test_losses(void **state)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[2]; } bad = {
		.h = { .hdr = { VMPROF_REC_LBR, sizeof(bad), 0 }, .tsc = 500, .branches = VMPROF_LBR_ALL,
		       .format = VMPROF_LBR_FROM_TO, .nr = 1 },
	};
	struct vmprof_rec_lost lost = { .hdr = { VMPROF_REC_LOST, sizeof(lost), 0 } };
	struct prog_branch b;

	(void)state;
	begin_small();
	b = (struct prog_branch){ AT(4), AT(0) };
	gen_record(&g, &bad, sizeof(bad));			/* no sample yet */
	put(&b, 1);
	gen_record(&g, &bad, sizeof(bad));			/* the sample has one already */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	gen_record(&g, &lost, sizeof(lost));
	gen_record(&g, &bad, sizeof(bad));			/* not right behind its sample */
	gen_guest(&g, GEN_VM, 501, PROG_CR3, 3, AT(0), 1);
	gen_record(&g, &bad, sizeof(bad));			/* another time than its sample's */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.nr = 2;
	gen_record(&g, &bad, sizeof(bad));			/* more entries than it has room for */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.nr = 1;
	bad.h.format = 9;
	gen_record(&g, &bad, sizeof(bad));
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.format = VMPROF_LBR_FROM_TO;
	bad.h.hdr.size = 16;
	gen_record(&g, &bad, 16);				/* not even a whole head */
	load_small();
	assert_int_equal(set->losses.orphans, 3);
	assert_int_equal(set->losses.malformed, 4);
	assert_int_equal(set->losses.records, 1);
	assert_int_equal(set->totals.samples, 6);
	assert_int_equal(set->totals.with_branches, 1);
}

/* Branches of a guest of web01's own: whatever is at their addresses in web01 was not run by them */
static void test_nested_guest(void **state)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, 500, PROG_CR3, 3, 0);
	struct prog_branch b;

	(void)state;
	begin_small();
	b = (struct prog_branch){ AT(4), AT(0) };
	put(&b, 1);
	s.guest_ip = AT(0);
	s.flags |= VMPROF_SF_NESTED;
	gen_record(&g, &s, sizeof(s));
	gen_lbr(&g, s.tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, &b, 1, 0);
	load_small();
	assert_int_equal(set->losses.records, 2);
	assert_int_equal(set->totals.samples, 1);
	assert_int_equal(set->totals.with_branches, 1);
	assert_int_equal(set->losses.orphans + set->losses.malformed, 0);
}

/* User code from before the kernel switched tasks is another process's */
static void test_switch(void **state)
{
	uint64_t kernel = GEN_KERNEL + 0x1000;
	const struct vmp_unit *u;
	uint32_t i, users = 0;

	(void)state;
	begin_small();
	put((struct prog_branch[]){
		{ AT(4), AT(0) },			/* ours */
		{ kernel + 0x40, AT(0) },		/* back to user code */
		{ SWITCH_TO + 0x20, kernel + 0x10 },	/* the switch returns */
		{ kernel + 0x30, SWITCH_TO },
		{ AT(8), kernel },			/* another's system call */
		{ AT(4), AT(5) },			/* another's */
	}, 6);
	load_small();
	assert_int_equal(set->totals.switched, 2);
	for (i = 0; i < set->units.nr; i++) {
		u = &set->units.v[i];
		assert_true(u->end != vmp_point_at(&set->points, 0, prog.insn[8].addr));
		users += u->block != VMP_NONE && set->blocks.v[u->block].insns;
	}
	assert_int_equal(users, 1);
}

/* --------------------------------------------------------------- timeline */

#define OTHER_VM	(GEN_VM + 100)
#define OTHER_PID	(PROG_PID + 1)

/* A sample of a vCPU with so many runs of the small loop before it, each of so many cycles, since it was called */
static void put_runs(uint32_t vm, uint32_t vcpu, uint64_t tsc, uint64_t cr3, unsigned runs, uint64_t cycles)
{
	struct vmprof_sample s = gen_guest_sample(vm, tsc, cr3, 3, AT(0));
	struct prog_branch b[VMPROF_LBR_MAX];
	unsigned i;

	for (i = 0; i <= runs; i++)
		b[i] = (struct prog_branch){ i < runs ? AT(4) : AT(19), AT(0), cycles };
	s.vcpu = vcpu;
	gen_record(&g, &s, sizeof(s));
	gen_lbr(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO_CYCLES, b, runs + 1, 0);
}

static void put_moment(uint8_t mode, uint32_t flags, uint32_t vcpu, uint64_t tsc)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = tsc, .host_ip = 0xffffffff90000010, .vm = GEN_VM,
		.host_pid = mode == VMPROF_MODE_VMM_KERNEL ? GEN_VM : 77, .host_tid = GEN_VM + 1, .vcpu_tid = GEN_VM + 1,
		.flags = VMPROF_SF_VCPU | flags, .mode = mode, .vendor = VMPROF_VENDOR_SVM, .exit_reason = 0x7b, .vcpu = vcpu,
	};

	gen_record(&g, &s, sizeof(s));
}

/* Two vCPUs of web01 with two processes, an exit and steal; another domain with the same program */
static void put_moments(void)
{
	begin_small();
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, OTHER_PID, 1, 0, "other");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, OTHER_PID, PROG_BASE + PROG_VADDR, PROG_BASE + PROG_VADDR + 0x1000, PROG_VADDR,
		PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 3000);
	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	prog_install_in(&g, &prog, dir, OTHER_VM);
	gen_agent_flush(&g, OTHER_VM, 3000);
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0, "ffffffff90000000 T svm_vcpu_run\nffffffff91000000 T end\n");
	gen_text(&g, VMPROF_CAP_HOST_COMMS, 0, "77 77 thief\n");
	put_runs(GEN_VM, 0, 20000, PROG_CR3, 2, 100);
	put_runs(GEN_VM, 0, 20100, PROG_CR3, 3, 45);		/* the first of them before that sample, in part */
	put_runs(GEN_VM, 0, 20110, PROG_CR3, 2, 10);		/* ... wholly */
	put_moment(VMPROF_MODE_VMM_KERNEL, 0, 0, 20200);
	put_moment(VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL, 0, 20300);
	put_runs(GEN_VM, 0, 20400, PROG_CR3 + 0x5000, 1, 50);
	put_runs(GEN_VM, 1, 20105, PROG_CR3, 1, 5000);		/* another vCPU's samples are not in its way */
	put_runs(OTHER_VM, 0, 20500, PROG_CR3, 1, 50);
	gen_records_flush(&g, 0, 20000, 20500);
	gen_end(&g);
}

static void test_timeline(void **state)
{
	static const struct { int vcpu; enum vmp_moment_kind kind; double tsc, ticks, cycles; } want[] = {
		{ 0, VMP_MOMENT_BLOCK, 19800, 100, 100 }, { 0, VMP_MOMENT_BLOCK, 19900, 100, 100 },
		{ 0, VMP_MOMENT_SAMPLE, 20000 },
		{ 0, VMP_MOMENT_BLOCK, 20000, 10, 45 }, { 0, VMP_MOMENT_BLOCK, 20010, 45, 45 },
		{ 0, VMP_MOMENT_BLOCK, 20055, 45, 45 }, { 0, VMP_MOMENT_SAMPLE, 20100 },
		{ 0, VMP_MOMENT_BLOCK, 20100, 10, 10 }, { 0, VMP_MOMENT_SAMPLE, 20110 },
		{ 0, VMP_MOMENT_VMM, 20200 }, { 0, VMP_MOMENT_STEAL, 20300 },
		{ 0, VMP_MOMENT_BLOCK, 20350, 50, 50 }, { 0, VMP_MOMENT_SAMPLE, 20400 },
		{ 1, VMP_MOMENT_BLOCK, 15105, 5000, 5000 }, { 1, VMP_MOMENT_SAMPLE, 20105 },
	};
	struct vmp_set_choice web01 = { .vcpu = -1, .pid = -1, .domain = "web01" };
	const struct vmp_timeline_choice all = { .to_tsc = UINT64_MAX, .limit = 100 };
	struct vmp_timeline *t;
	size_t i;

	(void)state;
	put_moments();
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &web01), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	assert_int_equal(vmp_timeline_create(&t, set, estimates, &all), 0);
	for (i = 0; i < t->spans.nr && i < sizeof(want) / sizeof(want[0]); i++) {
		const struct vmp_strip_span *s = &t->spans.v[i];

		if (s->kind != want[i].kind || s->vcpu != (uint32_t)want[i].vcpu || s->tsc != want[i].tsc ||
		    s->ticks != want[i].ticks || s->cycles != want[i].cycles)
			fail_msg("%zu: vCPU %u, kind %d, %f, %f ticks, %f cycles", i, s->vcpu, s->kind, s->tsc, s->ticks, s->cycles);
	}
	assert_int_equal(i, sizeof(want) / sizeof(want[0]));
	assert_int_equal(t->spans.nr, i);
	assert_int_equal(t->samples, 7);
	assert_int_equal(t->cut, 1);
	assert_int_equal(t->left_out, 1);
	vmp_timeline_destroy(t);
}

/* The same code of two processes, at two addresses, is one block */
static void test_two_processes(void **state)
{
	const uint64_t other = 0x7f1200000000;

	(void)state;
	begin_small();
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, PROG_PID + 1, 1, 0, "prog");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, PROG_PID + 1, other + PROG_VADDR, other + PROG_VADDR + 0x1000, PROG_VADDR,
		PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 3000);
	gen_guest(&g, GEN_VM, 10000, PROG_CR3, 3, AT(0), 1);
	put_loop(10000, PROG_BASE);
	gen_guest(&g, GEN_VM, 10001, PROG_CR3 + 0x5000, 3, other + prog.insn[0].addr, 1);
	put_loop(10001, other);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 2);
	assert_int_equal(set->blocks.nr, 1);
	assert_int_equal(set->blocks.v[0].n, 2);
	assert_int_equal(set->landings.nr, 1);
}

/* Without kernel branches the driver's word must do: whose user code it is, is not known */
static void test_switch_unseen(void **state)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[4]; } rec = {
		.h = { .hdr = { VMPROF_REC_LBR, sizeof(rec), 0 }, .branches = VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL,
		       .format = VMPROF_LBR_FROM_TO, .nr = 2 },
	};
	int i;

	(void)state;
	begin_small();
	for (i = 0; i < 2; i++) {
		rec.h.tsc = 10000 + (uint64_t)i;
		rec.h.flags = i ? VMPROF_LBR_SWITCHED : 0;
		memcpy(rec.word, (uint64_t[]){ AT(4), AT(0), AT(4), AT(0) }, sizeof(rec.word));
		gen_guest(&g, GEN_VM, rec.h.tsc, PROG_CR3, 3, AT(0), 1);
		gen_record(&g, &rec, sizeof(rec));
	}
	load_small();
	assert_int_equal(set->totals.switched, 2);
	assert_int_equal(set->totals.steps, 1);
	assert_int_equal(set->totals.landed, 1);
	assert_int_equal(set->totals.user_only, 2);
}

/* The same program and library in two domains; branches between files, one of which is not here, and steps that cannot be */
static void put_binaries(void)
{
	const uint64_t nowhere = 0x7f0000000000;

	begin_small();
	put_libraries(GEN_VM);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { IN(HERE, 4), HERE }, { AT(19), HERE } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { IN(GONE, 8), AT(0) }, { IN(GONE, 4), IN(GONE, 5) }, { AT(19), GONE } }, 4);
	put((struct prog_branch[]){ { IN(HERE, 8), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { nowhere, AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), nowhere } }, 2);
	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	prog_install_in(&g, &prog, dir, OTHER_VM);
	put_libraries(OTHER_VM);
	put_in(OTHER_VM, PROG_CR3, VMPROF_LBR_FROM_TO,
	       (struct prog_branch[]){ { IN(HERE, 4), HERE }, { IN(HERE, 4), HERE }, { AT(19), HERE } }, 3);
	gen_records_flush(&g, 0, 10000, 20000);
	gen_end(&g);
}

#define MOVED	0x7f1200000000ULL

/* A sample at an address of one's own choice, with branches that the driver says something of */
static void put_at(uint32_t vm, uint64_t cr3, uint8_t cpl, uint64_t ip, uint8_t flags, const struct prog_branch *b, uint8_t nr)
{
	static uint64_t tsc = 50000;
	struct { struct vmprof_rec_lbr h; uint64_t word[2 * VMPROF_LBR_MAX]; } rec = { .h = {
		.hdr = { VMPROF_REC_LBR, (uint16_t)(sizeof(rec.h) + 16U * nr), 0 }, .tsc = ++tsc,
		.branches = flags ? VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL : VMPROF_LBR_ALL, .format = VMPROF_LBR_FROM_TO,
		.nr = nr, .flags = flags,
	} };
	uint8_t i;

	for (i = 0; i < nr; i++) {
		rec.word[2 * i] = b[i].from;
		rec.word[2 * i + 1] = b[i].to;
	}
	gen_guest(&g, vm, tsc, cr3, cpl, ip, 1);
	gen_record(&g, &rec, rec.h.hdr.size);
}

/* Two processes of which nobody tells the CR3, with one library at one place */
static void put_doubles(void)
{
	struct vmprof_token t = { .token = 1, .tsc = 2000 + g.offset };
	uint32_t pid, i;

	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	gen_no_module(&g, 1500, 2, 0, 0);
	for (i = 0; i < 2; i++, t.tsc += 90000) {	/* what was there at the beginning, and at the end */
		gen_frame(&g, VMPROF_MSG_SNAP_BEGIN, &t, sizeof(t), NULL, 0);
		for (pid = 10; !i && pid <= 20; pid += 10) {
			gen_proc(&g, VMPROF_MSG_PROC, 2500, 0, pid, 1, 0, pid == 10 ? "ten" : "twenty");
			gen_map(&g, 2500, 0, pid, HERE, HERE + 0x1000, PROG_VADDR, 7, "/usr/lib/both.so");
		}
		gen_frame(&g, VMPROF_MSG_SNAP_END, &t, sizeof(t), NULL, 0);
	}
	gen_agent_flush(&g, OTHER_VM, 4000);
	put_at(OTHER_VM, 0x9000, 3, HERE, 0, (struct prog_branch[]){ { HERE + 4, HERE }, { HERE + 8, HERE } }, 2);
}

/* Branches of which it is not known, one way or another, that they are the sample's process's */
static void put_owners(void)
{
	const uint64_t kernel = GEN_KERNEL + 0x1000, moved = MOVED + PROG_VADDR;

	begin_small();
	put_libraries(GEN_VM);
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, OTHER_PID, 1, 0, "moved");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, OTHER_PID, moved, moved + 0x1000, PROG_VADDR, PROG_INO + 2, "/usr/lib/gone.so");
	gen_map(&g, 5000, PROG_CR3 + 0x5000, OTHER_PID, moved, moved + 0x1000, PROG_VADDR, PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 6000);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), 0, (struct prog_branch[]){
		{ AT(4), AT(0) }, { kernel + 0x40, AT(0) }, { SWITCH_TO + 0x20, kernel + 0x10 }, { kernel + 0x30, SWITCH_TO },
		{ AT(8), kernel }, { AT(4), AT(5) },		/* another's, before the switch */
	}, 6);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), VMPROF_LBR_SWITCHED, (struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put_at(GEN_VM, PROG_CR3 + 0x9000, 3, AT(0), 0, (struct prog_branch[]){ { AT(4), AT(0) }, { kernel + 0x40, AT(0) } }, 2);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), 0, (struct prog_branch[]){	/* through code without a file, in a file without samples */
		{ AT(4), AT(0) }, { ANON + 8, AT(0) }, { ANON + 4, ANON }, { AT(8), ANON }, { IN(GONE, 4), AT(5) },
	}, 5);
	/* in the kernel for a process that had another file there */
	put_at(GEN_VM, PROG_CR3 + 0x5000, 0, kernel, 0, (struct prog_branch[]){
		{ IN(moved, 8), kernel }, { kernel + 0x40, IN(moved, 5) },
	}, 2);
	put_doubles();
	gen_records_flush(&g, 0, 50000, 60000);
	gen_end(&g);
}

/* Branches that cannot be, some of them behind a start that is not well either */
static void put_impossible(void)
{
	const uint64_t middle = PROG_BASE + PROG_VADDR + 1;

	begin_small();
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(12) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(12) }, { AT(8), AT(5) } }, 2);
	put((struct prog_branch[]){ { AT(19), AT(12) }, { AT(8), AT(19) } }, 2);
	put((struct prog_branch[]){ { AT(19), AT(0) }, { AT(19), AT(0) }, { AT(19), AT(0) } }, 3);
	put((struct prog_branch[]){ { AT(4), middle }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), middle } }, 2);
	gen_records_flush(&g, 0, 10000, 40000);
	gen_end(&g);
}

/* Captures and their object caches for blocks.t: the program of test_mixed(), test_timeline()'s, and those of above */
static void write_run(char *folder, const char *name, void (*program)(void), unsigned format, uint64_t instructions)
{
	/* of two events few: some blocks have less than one of them */
	const struct prog_run run = {
		.period = 5003, .samples = instructions ? 200 : 4000, .format = format, .depth = 16, .counts = !instructions, .instructions = instructions,
	};

	dir = folder;
	begin(name);
	program();
	prog_assemble(&prog);
	prog_install(&g, &prog, folder);
	gen_agent_flush(&g, GEN_VM, 3000);
	say_period(run.period, instructions);
	prog_simulate(&g, &prog, &run);
	gen_end(&g);
}

static int write_captures(char *folder)
{
	char missed[100], moments[100], binaries[100], owners[100], impossible[100];

	write_run(folder, "mixed", mixed_program, VMPROF_LBR_FROM_TO, 0);
	write_run(folder, "pair", mixed_program, VMPROF_LBR_FROM_TO, 20011);
	write_run(folder, "sources", mixed_program, VMPROF_LBR_FROM, 0);
	gen_sh(folder, "mkdir missed moments binaries owners impossible");
	write_run(strcat(strcpy(missed, folder), "/missed"), "missed", missing_program, VMPROF_LBR_FROM_TO, 0);
	dir = strcat(strcpy(moments, folder), "/moments");
	begin("moments");
	put_moments();
	dir = strcat(strcpy(binaries, folder), "/binaries");
	begin("binaries");
	put_binaries();
	dir = strcat(strcpy(owners, folder), "/owners");
	begin("owners");
	put_owners();
	dir = strcat(strcpy(impossible, folder), "/impossible");
	begin("impossible");
	put_impossible();
	return 0;
}

#define MANY	(2 * VMP_RAWS_CHUNK + 100)

/* More steps than one piece of the table holds: numbers in the order of their coming, counts of both times */
static void test_many_steps(void **state)
{
	struct vmp_raws raws = { 0 };
	struct vmp_raw raw = { .kind = VMP_RAW_STEP, .n = 1, .context = 3 };
	const struct vmp_raw *first = NULL;
	uint32_t number, i;

	(void)state;
	for (i = 0; i < 2 * MANY; i++) {
		raw.a = 0x1000 + 16 * (i % MANY);
		raw.mispredicted = i >= MANY;
		assert_int_equal(vmp_raws_add(&raws, &raw, vmp_raws_hash(&raws, &raw), &number), 0);
		assert_int_equal(number, i % MANY);
		if (!i)
			first = vmp_raws_at(&raws, 0);
	}
	assert_int_equal(raws.nr, MANY);
	assert_ptr_equal(vmp_raws_at(&raws, 0), first);
	for (i = 0; i < MANY; i++) {
		raw.a = 0x1000 + 16 * i;
		assert_int_equal(vmp_raws_find(&raws, &raw, vmp_raws_hash(&raws, &raw)), i);
		assert_int_equal(vmp_raws_at(&raws, i)->n, 2);
		assert_int_equal(vmp_raws_at(&raws, i)->mispredicted, 1);
		assert_int_equal(vmp_raws_at(&raws, i)->a, raw.a);
	}
	raw.context++;
	assert_int_equal(vmp_raws_find(&raws, &raw, vmp_raws_hash(&raws, &raw)), VMP_NONE);
	vmp_raws_free(&raws);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
		cmocka_unit_test(test_many_steps),
		cmocka_unit_test_setup_teardown(test_phases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested_guest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_cycles, setup, teardown),
		cmocka_unit_test(test_spread_error),
		cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
		cmocka_unit_test(test_spread_values),
		cmocka_unit_test_setup_teardown(test_own_cycles_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_by_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_own_cycles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_error_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors_by_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors_of_shares, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt_of_phases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_rotated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loop_nest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loops_beside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flaws, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unbound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_returns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch_unseen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_processes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
