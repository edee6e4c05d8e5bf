// SPDX-License-Identifier: GPL-2.0-only
/* test_cuts.c - what windows say of a start's runs, beside what samples of instructions say: each by the other one's uncertainty. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define vmp_cuts_mend cuts_mend	/* the library has one, too */
#include "blocks/cuts.c"

#define SHOWN		1000.0
#define EXPECTED	400.0	/* samples of instructions: they know runs to 5 % */

/* Windows know them to 5 %, too */
static double of(double times, double missing, int leaves)
{
	const struct vmp_sight x = { .shown = 0.05 * 0.05 * SHOWN * SHOWN };

	return start_mended(&x, SHOWN, times, missing, EXPECTED, leaves);
}

static int is(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

static void test_both(void **state)
{
	(void)state;
	assert_true(is(of(1.5, 0, 0), 1.25));
	assert_true(is(of(1, 0, 0), 1));
	/* windows that may miss a tenth count a fifth as much */
	assert_true(is(of(1.5, 0.1, 0), 1 + 0.0125 / 0.015 * 0.5));
}

/* Both are off by 7.1 % by chance: of twice that and less nothing is said; beyond it, in a kernel, windows miss runs */
static void test_leaves(void **state)
{
	(void)state;
	assert_true(is(of(1.14, 0, 1), of(1.14, 0, 0)));
	assert_true(is(of(1.15, 0, 1), 1 + (0.0225 - 0.005 + 0.0025) / 0.0225 * 0.15));
	assert_true(is(of(1.5, 0, 1), 1 + (0.25 - 0.0025) / 0.25 * 0.5));
	assert_true(is(of(0.5, 0, 1), 1 - (0.25 - 0.0025) / 0.25 * 0.5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
