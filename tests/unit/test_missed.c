// SPDX-License-Identifier: GPL-2.0-only
/* test_missed.c - blocks behind mispredicted branches and behind predicted ones: their cycles, and the errors of these. */
#include "simulated.h"

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

		gen_guest(&g, GEN_VM, tsc, PROG_CR3, 3, AT(1), 1);
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

static int write_captures(char *folder)
{
	write_run(own_folder(folder, "missed"), "missed", missing_program, VMPROF_LBR_FROM_TO, 0);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_missed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_by_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_own_cycles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_error_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors_by_two_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missed_errors_of_shares, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
