// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_judge_blocks.c - what the judge of tests/truth says of blocks whose figures are made up: twenty that are right
 * to their errors, and the same bent. What blocks of real captures cost, tests/truth/cases show.
 */
#include "gen.h"

#include "tests/truth/judge_blocks.c"

#define BLOCKS	20
#define SAMPLES	2500.0
#define EXACT	40.0

static int says;		/* of all questions since it was set */
static char said[512];

void verdict(int yes, const char *question, const char *fmt, ...)
{
	va_list args;

	(void)question;
	says = says && yes;
	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

int verdict_noes(void)
{
	return !says;
}

/* What a test bends */
static struct bend {
	double all;			/* all blocks are so much too long */
	double few, one;		/* eight of them, half of these too short; one of them too long */
	double error;			/* of each, a part of it; 0: 0.02 */
	double error_of_one;		/* that one's own */
	double samples;			/* of each; 0: SAMPLES */
	uint32_t right;			/* so many have the exact cycles */
	uint32_t sure;			/* so many have that error, the others one of 0.6 of their own cycles; 0: all */
	uint32_t unknown;
} bend;

/* Their own errors are half up, half down, and as large as the error says */
static int judged(uint32_t blocks, enum asked of)
{
	const double error = bend.error > 0 ? bend.error : 0.02;
	struct tally t = { .unknown = bend.unknown };
	uint32_t i;

	for (i = 0; i < BLOCKS; i++) {
		int sure = !bend.sure || i < bend.sure;
		double off = (i % 2 ? error : -error) + bend.all + (i < 8 ? (i % 2 ? bend.few : -bend.few) : 0) + (i == 5 ? bend.one : 0);
		struct vmp_estimate e = { .samples = bend.samples > 0 ? bend.samples : SAMPLES, .source = VMP_SOURCE_TIME,
			.cycles = { [VMP_SOURCE_CPI] = 2 * EXACT, [VMP_SOURCE_TIME] = EXACT * (1 + (i < bend.right ? 0 : off)) },
			.error = EXACT * (!sure ? 0.6 : i == 5 && bend.error_of_one > 0 ? bend.error_of_one : error) };

		tally_block(&t, &e, EXACT, e.samples, &bounds[of]);
	}
	says = 1;
	tally_verdict(&t, blocks, of);
	bend = (struct bend){ 0 };
	if (getenv("SHOW"))
		print_message("# %s\n", said);
	return says;
}

static void test_right(void **state)
{
	(void)state;
	assert_true(judged(BLOCKS, USER));
	assert_non_null(strstr(said, "20 of the 20 hottest blocks are known to 10 % (20 to 10 %), 0 of all"));
	assert_non_null(strstr(said, "2.00 % in the mean, equation 1 100.00 %; 20 within 3 %; together "));
}

static void test_one_is_far_off(void **state)
{
	(void)state;
	bend.one = 0.03 + 6 * 0.02 - 0.021;	/* it has an error of its own of 0.02 */
	assert_true(judged(BLOCKS, USER));
	bend.one = 0.03 + 6 * 0.02;
	assert_false(judged(BLOCKS, USER));
}

/* Of a session of libquantum on two vCPUs: samples, exact cycles and the error of each of the 20 hottest blocks */
static const struct { double samples, exact, error; } real[BLOCKS] = {
	{ 57839, 12, 0.04 }, { 22024, 8, 0.06 }, { 6610, 20, 0.18 }, { 8326, 15, 0.28 }, { 8334, 7, 0.09 }, { 2990, 9, 0.13 },
	{ 5572, 7, 0.12 }, { 4763, 4, 0.09 }, { 2786, 8, 0.19 }, { 2820, 30, 1.01 }, { 2607, 29, 0.65 }, { 2391, 27, 0.53 },
	{ 8385, 17, 0.29 }, { 1980, 21, 0.55 }, { 999, 14, 0.63 }, { 978, 79, 3.20 }, { 574, 7, 0.25 }, { 453, 39, 15.16 },
	{ 443, 5, 0.26 }, { 290, 90, 8.06 },
};

/* All of them are right but one; so many sessions as large as this one are one capture */
static int real_judged(uint32_t which, double off, double sessions)
{
	struct tally t = { 0 };
	uint32_t i;

	for (i = 0; i < BLOCKS; i++) {
		const double cycles = real[i].exact * (i == which ? 1 + off : 1);
		const struct vmp_estimate e = { .samples = sessions * real[i].samples, .source = VMP_SOURCE_TIME,
			.cycles = { [VMP_SOURCE_CPI] = cycles, [VMP_SOURCE_TIME] = cycles }, .error = real[i].error / sqrt(sessions) };

		tally_block(&t, &e, real[i].exact, e.samples, &bounds[USER]);
	}
	says = 1;
	tally_verdict(&t, BLOCKS, USER);
	return says;
}

/*
 * One block that is 8 % off, and all others right: of one session it is heard in the two that have most samples, with four times these in four. What
 * tests/truth/pooled makes of four sessions hears it in 13 (tests/unit/bench.t): their errors have more groups.
 */
static void test_one_of_real_ones(void **state)
{
	uint32_t i, heard = 0;

	(void)state;
	assert_true(real_judged(BLOCKS, 0, 1));
	assert_false(real_judged(0, 0.08, 1));
	assert_false(real_judged(0, -0.08, 1));
	assert_false(real_judged(1, 0.08, 1));
	for (i = 0; i < BLOCKS; i++) {
		heard += !real_judged(i, 0.08, 1);
		/* four per cent are too few for a single one */
		assert_true(real_judged(i, 0.04, 1));
	}
	assert_int_equal(heard, 2);
	for (i = heard = 0; i < BLOCKS; i++)
		heard += !real_judged(i, 0.08, 4);
	assert_int_equal(heard, 4);
}

/* Of the host's blocks the same is asked as of the guest's kernel's */
static void test_host(void **state)
{
	static const enum asked of[] = { HOST_KERNEL, QEMU };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		bend.error = 0.26;
		assert_true(judged(BLOCKS, of[i]));
		bend.error = 0.28;
		assert_false(judged(BLOCKS, of[i]));
		bend.one = 0.03 + 6 * 0.02;
		assert_false(judged(BLOCKS, of[i]));
		bend.sure = 9;
		assert_false(judged(BLOCKS, of[i]));
		bend.few = 0.08;
		assert_false(judged(BLOCKS, of[i]));
		bend.all = -0.045;
		assert_false(judged(BLOCKS, of[i]));
		assert_true(judged(BLOCKS, of[i]));
	}
}

/* A block is the guest's or the host's, and the kernel's or not */
static void test_whose(void **state)
{
	struct vmp_object objects[4] = { { .vm = 0 }, { .vm = 0, .kernel = 1 }, { .vm = VMP_NONE, .kernel = 1 }, { .vm = VMP_NONE } };
	static const enum asked of[4] = { USER, KERNEL, HOST_KERNEL, QEMU };
	struct vmp_point points[5] = { { .object = 0 }, { .object = 1 }, { .object = 2 }, { .object = 3 }, { .object = VMP_NONE } };
	struct vmp_set set = { .points.points = { .v = points, .nr = 5 }, .points.objects = { .v = objects, .nr = 4 } };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 5; i++) {
		struct vmp_block_code b = { .start = i, .end = i, .insns = 1 };

		for (k = 0; k < 4; k++)
			assert_int_equal(is_asked(&set, &b, of[k]), i == k);
		assert_int_equal(is_asked(&set, &b, BRANCHES_ALONE), i == 0);
		b.insns = 0;
		assert_false(is_asked(&set, &b, of[i % 4]));
	}
}

/* No one is six errors off, and all together are right, but eight are further off than chance allows */
static void test_several_are_off(void **state)
{
	(void)state;
	bend.few = 0.05;
	assert_true(judged(BLOCKS, USER));
	bend.few = 0.08;
	assert_false(judged(BLOCKS, USER));
	assert_non_null(strstr(said, "0 of all more than 3 % and 6"));
}

/* No one is far off, but all together are: four and a half per cent, with 0.45 % to be expected */
static void test_all_are_off(void **state)
{
	(void)state;
	bend.all = 0.03;
	assert_true(judged(BLOCKS, USER));
	bend.all = 0.045;
	assert_false(judged(BLOCKS, USER));
	bend.all = -0.045;
	assert_false(judged(BLOCKS, USER));
}

/* One whose groups happen to agree does not weigh more than its samples */
static void test_error_by_chance(void **state)
{
	(void)state;
	bend.error_of_one = 0.004;
	assert_true(judged(BLOCKS, USER));
	assert_non_null(strstr(said, "0.00 %, error 0.45 %; 0 not known"));
}

/* All are known, none is further off than its error, and all together are right; but next to none is near */
static void test_none_is_near(void **state)
{
	(void)state;
	bend.error = 0.04;
	bend.right = 6;
	assert_true(judged(BLOCKS, USER));
	assert_non_null(strstr(said, "; 6 within 3 %; together"));
	bend.error = 0.04;
	bend.right = 5;
	assert_false(judged(BLOCKS, USER));
	bend.error = 0.04;
	assert_true(judged(BLOCKS, KERNEL));
}

/* Blocks with few samples say nothing of all together; of the kernel's all that are judged do */
static void test_few_samples(void **state)
{
	(void)state;
	bend.samples = 249;
	assert_false(judged(BLOCKS, USER));
	assert_non_null(strstr(said, "nan %"));
	bend.samples = 100;
	bend.all = 0.055;
	assert_true(judged(BLOCKS, KERNEL));
	assert_non_null(strstr(said, "together +5.50 %, error 2.24 %"));
	bend.samples = 100;
	bend.all = 0.11;
	assert_false(judged(BLOCKS, KERNEL));
	bend.samples = 49;
	assert_false(judged(BLOCKS, KERNEL));
}

/* Blocks that nobody knows together say nothing, however right they are */
static void test_together_is_unknown(void **state)
{
	(void)state;
	bend.error = 0.26;
	assert_true(judged(BLOCKS, KERNEL));
	assert_non_null(strstr(said, "error 5.81 %"));
	bend.error = 0.28;
	assert_false(judged(BLOCKS, KERNEL));
	bend.samples = 600;
	assert_true(judged(BLOCKS, USER));
	bend.samples = 400;
	assert_false(judged(BLOCKS, USER));
}

static void test_few_are_known(void **state)
{
	(void)state;
	bend.error = 0.13;
	assert_false(judged(BLOCKS, USER));
	bend.error = 0.13;
	assert_false(judged(1, USER));
	assert_non_null(strstr(said, "0 of the 20"));
	bend.sure = 14;
	assert_false(judged(BLOCKS, USER));
	bend.sure = 15;
	assert_true(judged(BLOCKS, USER));
	bend.sure = 9;
	assert_false(judged(BLOCKS, KERNEL));
	bend.sure = 10;
	assert_true(judged(BLOCKS, KERNEL));
}

/* By branches alone a block is known by an error of half its cycles, and nobody asks that any be near */
static void test_branches_alone(void **state)
{
	(void)state;
	bend.error = 0.26;
	assert_true(judged(BLOCKS, BRANCHES_ALONE));
	assert_non_null(strstr(said, "20 of the 20 hottest blocks are known to 100 %"));
	bend.error = 0.26;
	assert_false(judged(BLOCKS, USER));
	bend.error = 0.28;
	assert_false(judged(BLOCKS, BRANCHES_ALONE));
	bend.one = 0.03 + 6 * 0.02;
	assert_false(judged(BLOCKS, BRANCHES_ALONE));
	bend.all = 0.045;
	assert_false(judged(BLOCKS, BRANCHES_ALONE));
}

static void test_no_code(void **state)
{
	(void)state;
	bend.unknown = 2;
	assert_true(judged(BLOCKS, USER));
	bend.unknown = 3;
	assert_false(judged(BLOCKS, USER));
}

/* A function of 40,000 samples, its error half a per cent: time, runs by cycles, runs by instructions */
static int function_judged_of(int paired, double cycles, double run_cycles, double run_insns, double runs_error)
{
	const struct of_function f = {
		.blocks = 10, .samples = 40000, .exact_cycles = 4e9, .exact_insns = 1e9, .cycles = 4e9 * (1 + cycles),
		.run_cycles = 4e9 * (1 + run_cycles), .run_insns = 1e9 * (1 + run_insns), .run_variance = pow(4e9 * runs_error, 2),
	};

	says = 1;
	function_verdict(&f, paired, "burn");
	return says;
}

static int function_judged(double cycles, double run_cycles, double run_insns, double runs_error)
{
	return function_judged_of(1, cycles, run_cycles, run_insns, runs_error);
}

/* Runs that are too many are heard, though runs by cycles are right */
static void test_function(void **state)
{
	(void)state;
	assert_true(function_judged(0.027, -0.027, 0.027, 0));
	assert_false(function_judged(0.028, 0, 0, 0));
	assert_false(function_judged(0, 0.028, 0, 0));
	assert_false(function_judged(0, 0, -0.028, 0));
	assert_true(function_judged(0, 0.028, -0.028, 0.006));
	assert_false(function_judged(0.028, 0, 0, 0.006));
	/* runs that nobody knows are not right, but where instructions are not sampled */
	assert_true(function_judged(0, 0, 0, 0.019));
	assert_false(function_judged(0, 0, 0, 0.021));
	assert_true(function_judged_of(0, 0, 0, 0, 0.021));
}

/* 99 pieces of a hundredth of the cycles each, the last one of as much as is said, in blocks of one piece but so many */
static int hot_judged(uint64_t last, uint32_t missing, int cold)
{
	struct vmp_object objects[2] = { { .vm = 0 }, { .vm = 0, .kernel = 1 } };
	struct vmp_point points[200];
	struct vmp_block_code blocks[100];
	struct vmp_estimate e[100];
	struct piece all[101];
	struct vmp_set set = { .points.points = { .v = points, .nr = 200 }, .points.objects = { .v = objects, .nr = 2 },
			       .blocks = { .v = blocks, .nr = 100 - missing } };
	struct pieces p = { .set = &set, .all = { .v = all, .nr = 101 } };
	struct vmp_estimates estimates = { .block = e };
	uint32_t i;

	for (i = 0; i < 100; i++) {
		points[2 * i] = (struct vmp_point){ .addr = 0x1000 + 16 * i };
		points[2 * i + 1] = (struct vmp_point){ .addr = 0x1008 + 16 * i };
		blocks[i] = (struct vmp_block_code){ .start = 2 * i, .end = 2 * i + 1, .insns = 3 };
		e[i] = (struct vmp_estimate){ .source = VMP_SOURCE_TIME, .cycles = { [VMP_SOURCE_TIME] = i < (uint32_t)cold ? NAN : 1 } };
		all[i] = (struct piece){ .addr = 0x1004 + 16 * i, .size = 4, .function = VMP_NONE, .cycles = i < 99 ? 1000 : last };
	}
	all[100] = (struct piece){ .object = 1, .addr = 0x9000, .size = 4, .function = VMP_NONE, .cycles = 100000 };	/* the kernel's */
	says = 1;
	judge_hot(&p, NULL, &estimates);
	return says;
}

/* Two of a hundred pieces may be in no block that has figures; those that are not hot may be in none */
static void test_hot(void **state)
{
	(void)state;
	assert_true(hot_judged(1000, 0, 0));
	assert_true(hot_judged(1000, 2, 0));
	assert_false(hot_judged(1000, 3, 0));
	assert_true(hot_judged(1000, 0, 2));
	assert_false(hot_judged(1000, 0, 3));
	assert_true(hot_judged(900, 1, 1));
	assert_false(hot_judged(5000, 1, 0));
	assert_non_null(strstr(said, "100.00 % of the cycles of 1 pieces"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_one_is_far_off),
		cmocka_unit_test(test_one_of_real_ones),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_whose),
		cmocka_unit_test(test_several_are_off),
		cmocka_unit_test(test_all_are_off),
		cmocka_unit_test(test_error_by_chance),
		cmocka_unit_test(test_none_is_near),
		cmocka_unit_test(test_few_samples),
		cmocka_unit_test(test_together_is_unknown),
		cmocka_unit_test(test_few_are_known),
		cmocka_unit_test(test_branches_alone),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_hot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
