// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_judge_loops.c - what the judge of tests/truth says of loops whose figures are made up: ten that are right to their
 * errors, and the same bent. What loops of real captures do, tests/truth/cases show.
 */
#include "gen.h"

#include "tests/truth/judge_loops.c"

static int says;
static char said[512];

void verdict(int yes, const char *question, const char *fmt, ...)
{
	va_list args;

	(void)question;
	says = yes;
	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

/* What a test bends: all trips, their error (0: 2 %), exact branches back, cycles of one loop, and of all */
static struct bend {
	double all, error, back, cycles, all_cycles;
	uint32_t dashes;	/* loops without a figure */
	uint32_t vague;		/* loops whose cycles nobody knows */
	int alone;		/* instructions are not sampled */
} bend;

/* @nr loops of 50 trips, errors of 2 %; one of them so much off in trips, and in iterations */
static int judged(uint32_t nr, double trips, double iterations)
{
	const struct counted exact = { .iterations = 50000, .entries = 1000, .back = 49000 * (1 + bend.back), .cycles = 20 * 50000 };
	const double error = bend.error > 0 ? bend.error : 0.02;
	struct tally t = { .dashes = bend.dashes };
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const double off = i % 2 ? 0.01 : -0.01;
		const struct vmp_loop l = {
			.trips = 50 * (1 + bend.all + (i == 4 ? trips : off)), .trips_error = 50 * error,
			.iterations = 50000 * (1 + (i == 4 ? iterations : off)), .iterations_error = 1000, .samples = 2500,
			.cycles = 20 * (1 + bend.all_cycles + (i == 4 ? bend.cycles : off)), .cycles_error = 20 * (i < bend.vague ? 0.2 : error),
		};

		tally_loop(&t, &l, &exact);
	}
	tally_verdict(&t, !bend.alone);
	bend = (struct bend){ 0 };
	return says;
}

static void test_right(void **state)
{
	(void)state;
	assert_true(judged(10, 0.01, 0.01));
	assert_non_null(strstr(said, "of the 10 hottest loops (wanted 2) 0 are more than 3 % and 6 standard errors off"));
	assert_non_null(strstr(said, "trips of 10 within 3 %, 1.00 % off in the mean"));
}

static void test_one_is_off(void **state)
{
	(void)state;
	assert_true(judged(10, 0.03 + 6 * 0.02 - 0.001, 0));
	assert_non_null(strstr(said, "trips of 9 within 3 %"));
	assert_false(judged(10, 0.03 + 6 * 0.02 + 0.001, 0));
	assert_true(judged(10, 0, -0.03 - 6 * 0.02 + 0.001));
	assert_false(judged(10, 0, -0.03 - 6 * 0.02 - 0.001));
	assert_false(judged(10, NAN, 0));
	bend.cycles = 0.03 + 6 * 0.02 - 0.001;
	assert_true(judged(10, 0, 0));
	bend.cycles = -0.03 - 6 * 0.02 - 0.001;
	assert_false(judged(10, 0, 0));
	bend.cycles = NAN;
	assert_false(judged(10, 0, 0));
}

/* No one is far off, but all together are; and where nobody knows them nothing is said */
static void test_all_are_off(void **state)
{
	(void)state;
	bend.all = 0.035;
	assert_true(judged(10, 0, 0));
	bend.all = 0.05;
	assert_false(judged(10, 0, 0));
	bend.all_cycles = 0.035;
	assert_true(judged(10, 0, 0));
	bend.all_cycles = -0.05;
	assert_false(judged(10, 0, 0));
	bend.error = 0.09;
	assert_true(judged(10, 0, 0));
	bend.error = 0.11;
	assert_false(judged(10, 0, 0));
	assert_non_null(strstr(said, "; 0 are known to 10 %"));
}

/* Entries that vmprof did not see are none of its branches */
static void test_open(void **state)
{
	(void)state;
	bend.back = 0.019;
	assert_true(judged(10, 0, 0));
	bend.back = -0.021;
	assert_false(judged(10, 0, 0));
	assert_non_null(strstr(said, "of 10 not all"));
}

static void test_few(void **state)
{
	(void)state;
	assert_true(judged(2, 0, 0));
	assert_false(judged(1, 0, 0));
	assert_false(judged(0, 0, 0));
	bend.dashes = 10;
	assert_true(judged(10, 0, 0));
	bend.dashes = 11;
	assert_false(judged(10, 0, 0));
	bend.vague = 8;
	assert_true(judged(10, 0, 0));
	bend.vague = 9;
	assert_false(judged(10, 0, 0));
	bend = (struct bend){ .vague = 9, .alone = 1 };
	assert_true(judged(10, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_one_is_off),
		cmocka_unit_test(test_all_are_off),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
