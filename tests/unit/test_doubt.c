// SPDX-License-Identifier: GPL-2.0-only
/* test_doubt.c - what errors of blocks hold beside chance, where nobody knows better. */
#include "simulated.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_doubt_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt_of_phases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_doubt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_doubt, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
