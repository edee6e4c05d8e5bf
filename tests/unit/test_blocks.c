// SPDX-License-Identifier: GPL-2.0-only
/* test_blocks.c - cycles and runs of blocks, of programs that a simulator ran beside what it counted. */
#include "simulated.h"

#define RARE_NR	10	/* slow pieces of code in test_rare() */
#define CHAIN_NR 32	/* blocks one behind the other in test_exit() ... */
#define EXIT_AT	20	/* ... and the one that leads to a VM exit */

/* What a capture of simulated code says: docs/block-timing.md names these lines */
static void show_verdict(const char *what, const struct verdict *v)
{
	print_message("# %s: %d blocks, off by up to %.1f %%, less three errors by %.1f %%; equation 1 by %.0f %% to %+.0f %%\n", what, v->compared,
		      100 * v->off, 100 * v->worst, 100 * v->cpi_from, 100 * v->cpi_to);
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

/* Code of the host's: a block's time and its runs are found as a guest's are */
static void test_host(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 20000, .instructions = 3001, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1,
		.host = 0x500000000000,
	};
	const struct vmp_point *point;
	struct verdict v;
	uint32_t i;

	(void)state;
	mixed_program();
	simulate(&run);
	v = compare(VMP_SOURCE_TIME, 100);
	assert_true(v.compared >= 7);
	assert_true(v.worst < 0.03);
	for (i = 0; i < set->blocks.nr; i++) {
		point = &set->points.points.v[set->blocks.v[i].start];
		assert_int_equal(set->points.objects.v[point->object].vm, VMP_NONE);
		assert_string_equal(vmp_model_name(model, point->module), "qemu");
	}
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

/* The host's are in no block: windows do not show the runs that would go with their time */
static void test_host_alone(void **state)
{
	const struct prog_run run = {
		.period = 40009, .samples = 10000, .instructions = 2003, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1, .leaves = 1,
		.host = 0x500000000000,
	};
	int top;

	(void)state;
	top = prog_plain(&prog, 200, 30, 21);
	prog.insn[top].function = "main";
	prog_jump(&prog, PROG_COND, prog_plain(&prog, 4, 7, 2), 300, 0);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	assert_true(set->totals.alone > 300);
	assert_int_equal(set->totals.placed, 0);
	assert_true(estimates->samples < 10000 - 300 && estimates->samples > 5000);
}

/*
 * As SHA-256 has it: a short loop that goes on into a long block, so that all windows of a sample there show the loop alone. VM entries cut
 * the long block, whose start has next to no code that is not the loop's, too.
 */
static void test_tail(void **state)
{
	const struct prog_run run = {
		.period = 40009, .samples = 20000, .instructions = 4003, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1, .leaves = 1,
	};
	double off = NAN;
	int top, inner;
	uint32_t i;

	(void)state;
	top = prog_plain(&prog, 4, 1, 1);
	prog.insn[top].function = "main";
	inner = prog_plain(&prog, 6, 1, 2);
	prog_jump(&prog, PROG_COND, inner, 16, 0);
	prog_plain(&prog, 200, 17, 17);
	prog_jump(&prog, PROG_JUMP, top, 0, 0);
	simulate(&run);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];

		if (insn_at(b->start) == inner && b->insns > 200)
			off = estimates->block[i].executions / (double)t->runs - 1;
	}
	print_message("a long block behind a loop: %+.2f %% runs\n", 100 * off);
	assert_true(fabs(off) < 0.01);
	assert_true(compare(VMP_SOURCE_TIME, 100).worst < 0.03);
}

/* How far runs of some blocks of a chain are off, all together */
static double chain_off(const int *block, int nr)
{
	double found = 0, runs = 0;
	uint32_t b;
	int i;

	for (i = 0; i < nr; i++) {
		for (b = 0; b < set->blocks.nr; b++)
			found += insn_at(set->blocks.v[b].start) == block[i] ? estimates->block[b].executions : 0;
		for (b = 0; b < PROG_MAX; b++)
			runs += (double)prog.truth[block[i]][b].runs;
	}
	return found / runs - 1;
}

/*
 * As a kernel sets its timer: a chain of short blocks, which exits in one place in every second round. Of what runs before that windows that
 * are taken far behind it show the half, and none is cut in these blocks.
 */
static void test_exit(void **state)
{
	const struct prog_run run = {
		.period = 1009, .samples = 40000, .instructions = 1013, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1,
	};
	int block[CHAIN_NR], leads = 0, i;
	double before, behind;

	(void)state;
	for (i = 0; i < CHAIN_NR; i++) {
		block[i] = prog_plain(&prog, 2 + i % 3, 1 + (uint32_t)i % 4, 1);
		if (i == EXIT_AT)
			leads = prog_jump(&prog, PROG_COND, 0, 2, 0);
		prog_jump(&prog, PROG_JUMP, i < CHAIN_NR - 1 ? prog.nr + 1 : 0, 0, 0);
	}
	prog.insn[0].function = "main";
	prog.insn[leads].target = prog_plain(&prog, 4, 1, 1);
	prog.insn[prog.nr - 2].exits = 1;
	prog_jump(&prog, PROG_JUMP, block[EXIT_AT + 1], 0, 0);
	simulate(&run);
	before = chain_off(block + EXIT_AT - 7, 7);
	behind = chain_off(block + EXIT_AT + 1, 7);
	print_message("seven blocks before an exit: %+.2f %% runs, behind it: %+.2f %%\n", 100 * before, 100 * behind);
	assert_true(fabs(before) < 0.05);
	assert_true(fabs(behind) < 0.05);
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

/* ... as those that are over the counter's top: they are counted */
static void test_own_cycles_topped(void **state)
{
	const struct prog_run run = {
		.period = 5003, .samples = 10000, .format = VMPROF_LBR_FROM_TO_CYCLES, .depth = 32, .counts = 1, .top = 50,
	}, none = {
		.period = 5003, .samples = 1000, .format = VMPROF_LBR_FROM_TO, .depth = 32, .counts = 1,
	};
	uint64_t n = 0;
	uint32_t i, blocks = 0;

	(void)state;
	mixed_program();
	simulate(&run);
	assert_int_equal(estimates->source, VMP_SOURCE_LBR);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];
		const struct prog_truth *t = &prog.truth[insn_at(b->start)][insn_at(b->end)];
		int over = t->cycles >= 50 * t->runs;

		assert_int_equal(b->cycled, over ? 0 : b->n);
		assert_int_equal(estimates->block[i].source == VMP_SOURCE_LBR, !over);
		n += over ? b->n : 0;
		blocks += (uint32_t)over;
	}
	assert_true(n > 0);
	assert_int_equal(estimates->uncycled, n);
	assert_int_equal(estimates->uncycled_blocks, blocks);

	/* records without cycles lack none */
	forget();
	begin("a");
	mixed_program();
	simulate(&none);
	assert_int_equal(estimates->uncycled, 0);
	assert_int_equal(estimates->uncycled_blocks, 0);
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

static int write_captures(char *folder)
{
	write_run(folder, "mixed", mixed_program, VMPROF_LBR_FROM_TO, 0);
	write_run(folder, "pair", mixed_program, VMPROF_LBR_FROM_TO, 20011);
	write_run(folder, "sources", mixed_program, VMPROF_LBR_FROM, 0);
	write_run(folder, "topped", mixed_program, VMPROF_LBR_FROM_TO_CYCLES, 0);
	return 0;
}

/* Of figures that differ; where all that shows something is in one group; where the solution without one group fell apart */
static void test_error_of(void **state)
{
	(void)state;
	assert_true(fabs(vmp_error_of((double[VMP_GROUPS]){ 9, 11, 9, 11, 9, 11, 9, 11 }) - sqrt(7)) < 1e-9);
	assert_true(vmp_error_of((double[VMP_GROUPS]){ 5, 5, 5, 5, 5, 5, 5, 0 }) > 4);
	assert_true(vmp_error_of((double[VMP_GROUPS]){ 1, 1, 1, 1, 1, 1, 1, 500 }) > 400);
	assert_true(isnan(vmp_error_of((double[VMP_GROUPS]){ 1, 1, 1, 1, 1, 1, 1, 2000 })));
	assert_true(isnan(vmp_error_of((double[VMP_GROUPS]){ 1, 1, 1, 1, 1, 1, 1, NAN })));
}

/* Runs that may be half as many make cycles that may be twice as many */
static void test_time_error(void **state)
{
	const struct prog_run few = {
		.period = 50021, .samples = 400, .instructions = 25013, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1, .scatters = 1,
	};
	uint32_t i, wide = 0;

	(void)state;
	assert_true(fabs(vmp_time_error(100, 50) - 100) < 1e-9);
	assert_true(fabs(vmp_time_error(100, 1) - 1.0101) < 1e-4);
	assert_true(fabs(vmp_time_error(100, 95) - 950) < 1e-9 && fabs(vmp_time_error(100, 200) - 2000) < 1e-9);
	assert_true(isnan(vmp_time_error(100, NAN)));
	mixed_program();
	simulate(&few);
	for (i = 0; i < set->blocks.nr; i++) {
		const struct vmp_estimate *e = &estimates->block[i];
		const double part = e->error / e->cycles[VMP_SOURCE_TIME], runs = e->executions_error / e->executions;

		if (e->source != VMP_SOURCE_TIME || e->samples < VMP_FEW_SAMPLES || !(part > 0.2 && part < 9))
			continue;
		/* the jackknife's part, which the error of runs is at least */
		assert_true(part / (1 + part) < runs + 1e-9);
		wide += fabs(part / (1 + part) - runs) < 1e-9;
	}
	assert_true(wide > 0);
}

/* Glue beside slow code has hardly a sample, and its CPI is another one: its error has to tell */
static void test_glue(void **state)
{
	int seed, loop, call, stub, all = 0, far = 0;
	uint32_t i;

	(void)state;
	for (seed = 0; seed < 30; seed++) {
		const struct prog_run run = {
			.period = 5003, .samples = 600, .instructions = 5003, .format = VMPROF_LBR_FROM_TO, .depth = 16, .counts = 1,
			.scatters = 1, .seed = (uint64_t)seed * 7919,
		};

		if (seed) {
			forget();
			begin("again");
		}
		loop = prog_plain(&prog, 8, 300, 1);
		prog.insn[loop].function = "main";
		call = prog_jump(&prog, PROG_CALL, 0, 0, 0);
		prog_jump(&prog, PROG_JUMP, loop, 0, 0);
		prog.insn[call].target = stub = prog_plain(&prog, 2, 1, 1);
		prog.insn[stub].function = "stub";
		prog_jump(&prog, PROG_RET, 0, 0, 0);
		simulate(&run);
		for (i = 0; i < set->blocks.nr; i++) {
			const struct vmp_estimate *e = &estimates->block[i];
			const struct prog_truth *t = &prog.truth[insn_at(set->blocks.v[i].start)][insn_at(set->blocks.v[i].end)];
			const double error = vmp_estimate_error(e);

			if (e->samples >= 4 || isnan(error))
				continue;
			all++;
			far += fabs(e->cycles[e->source] - (double)t->cycles / (double)t->runs) > 3 * error;
			assert_true(error <= 2 * fmax(e->cycles[VMP_SOURCE_CPI], 2 * estimates->period / e->executions));
		}
	}
	assert_true(all >= 20);
	assert_true(far <= all / 20);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tail, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_phases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_glue, setup, teardown),
		cmocka_unit_test(test_error_of),
		cmocka_unit_test_setup_teardown(test_time_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rare, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_cycles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_cycles_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_cycles_topped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_few, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
