// SPDX-License-Identifier: GPL-2.0-only
/* test_truth.c - the judge's parts: the statistical test, the file of exact counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/truth/binomial.c"
#include "tests/truth/exact.c"

/* Computed with whole fractions */
static void test_binomial_known_values(void **state)
{
	static const struct {
		uint64_t n, k;
		double p, chance;
	} known[] = {
		{ 10, 0, 0.5, 0.001953125 },
		{ 10, 5, 0.5, 1 },
		{ 1000, 150, 0.1, 8.978885718900017e-07 },
		{ 1000, 60, 0.1, 8.757639805725584e-06 },
		{ 5000, 25, 0.01, 0.0001341718674216116 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		double chance = binomial_test(known[i].n, known[i].k, known[i].p);

		assert_true(fabs(chance - known[i].chance) <= known[i].chance * 1e-6);
		/* hits and misses are alike */
		chance = binomial_test(known[i].n, known[i].n - known[i].k, 1 - known[i].p);
		assert_true(fabs(chance - known[i].chance) <= known[i].chance * 1e-6);
	}
}

static void test_binomial_certainties(void **state)
{
	(void)state;
	assert_true(binomial_test(100, 0, 0) == 1);
	assert_true(binomial_test(100, 1, 0) == 0);
	assert_true(binomial_test(100, 100, 1) == 1);
	assert_true(binomial_test(100, 99, 1) == 0);
	assert_true(binomial_test(100000, 50000, 0.01) < 1e-300);
}

static const char text[] =
	"vmprof-exact 1\n"
	"cpu 0 1000 9000\n"
	"exit 0x61 3\n"
	"space 1 host kernel quiet 0x0 0x0 0xffffffffffffffff 1000 2000\n"
	"space 2 guest user counting 0x5000 0x7000 0xffffffffffffffff 2000 3000\n"
	"overflow 2100 guest guest user 0x5000 0x7000 0x61 0x401000\n"
	"overflow 2200 host host kernel 0x8000 0x0 0x7c 0xffffffff81000000\n"
	"block 2 0x401000 12 30 90 31 94\n"
	"cpu 1 1001 9001\n"
	"exit 0x61 4\n"
	"exit 0x7c 1\n"
	"space 1 guest kernel counting 0x0 0x7000 0xffffffffffffffff 1500 1600\n"
	"block 1 0xffffffff80000000 4 1 5 2 6\n"
	"end\n";

/* exact_read() of the first @len bytes of @s */
static int read_text(struct exact *x, const char *s, size_t len)
{
	char path[] = "/tmp/test-truth-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, s, len), len);
	close(fd);
	err = exact_read(x, path);
	unlink(path);
	return err;
}

static void test_exact_read(void **state)
{
	struct exact x;

	(void)state;
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	assert_int_equal(x.cpus.nr, 2);
	assert_int_equal(exact_cpu_of(&x, 1)->last_tsc, 9001);
	assert_null(exact_cpu_of(&x, 2));
	assert_int_equal(x.exits.nr, 2);
	assert_int_equal(x.exits.v[0].code, 0x61);
	assert_int_equal(x.exits.v[0].count, 7);
	assert_int_equal(x.spaces.nr, 3);
	assert_int_equal(x.spaces.v[0].flags, 0);
	assert_int_equal(x.spaces.v[1].flags, EXACT_GUEST | EXACT_USER | EXACT_COUNTING);
	assert_int_equal(x.spaces.v[1].cr3, 0x5000);
	assert_int_equal(x.spaces.v[2].cpu, 1);
	assert_int_equal(x.blocks.nr, 2);
	assert_int_equal(x.blocks.v[0].space, 1);
	assert_int_equal(x.blocks.v[0].cycles_at, 94);
	assert_int_equal(x.blocks.v[1].space, 2);	/* numbers begin anew on each CPU */
	exact_free(&x);
	assert_int_equal(exact_read(&x, "/nonexistent"), -ENOENT);
}

static void test_exact_cut(void **state)
{
	struct exact x;
	size_t len;

	(void)state;
	for (len = 0; len < strlen(text); len++)
		assert_int_equal(read_text(&x, text, len), -EBADMSG);
}

static void test_exact_nonsense(void **state)
{
	static const char *const lines[] = {
		"cpu 0 1\n", "cpu 0 1 2 3\n", "block 1 0x1 1 1 1 1 1\n",
		"cpu 0 1 2\nspace 2 host user quiet 0 0 0 0 0\n",
		"cpu 0 1 2\nspace 1 moon user quiet 0 0 0 0 0\n",
		"cpu 0 1 2\nspace 1 host user maybe 0 0 0 0 0\n",
		"overflow 1 host host user 0 0 0 0\n", "cpu 0 1 2\noverflow 1 host user 0 0 0 0\n",
		"what\n",
	};
	char s[256];
	struct exact x;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(s, sizeof(s), "vmprof-exact 1\n%send\n", lines[i]);
		assert_int_equal(read_text(&x, s, strlen(s)), -EBADMSG);
	}
}

/* Two counters overflowed before one interrupt: each sample gets its own side's */
static void test_overflow_of(void **state)
{
	struct exact_overflow *o;
	struct exact x;

	(void)state;
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	assert_null(exact_overflow_of(&x, 0, 2099, EXACT_GUEST));
	assert_null(exact_overflow_of(&x, 1, 5000, EXACT_GUEST));
	o = exact_overflow_of(&x, 0, 2300, EXACT_GUEST);
	assert_ptr_equal(o, &x.overflows.v[0]);
	o = exact_overflow_of(&x, 0, 2300, 0);
	assert_ptr_equal(o, &x.overflows.v[1]);
	assert_null(exact_overflow_of(&x, 0, 2300, 0));
	exact_free(&x);

	/* the wrong side rather than none */
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	o = exact_overflow_of(&x, 0, 2150, 0);
	assert_ptr_equal(o, &x.overflows.v[0]);
	exact_free(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binomial_known_values),
		cmocka_unit_test(test_binomial_certainties),
		cmocka_unit_test(test_exact_read),
		cmocka_unit_test(test_exact_cut),
		cmocka_unit_test(test_exact_nonsense),
		cmocka_unit_test(test_overflow_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
