// SPDX-License-Identifier: GPL-2.0-only
/* test_spread.c - cycles of a block's single runs: percentiles, how they are kept, and the error of their mean. */
#include "simulated.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spread_error),
		cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
		cmocka_unit_test(test_spread_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
