// SPDX-License-Identifier: GPL-2.0-only
/* test_filter.c - filter expressions: values, precedence, faults and where they are, and random ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/filter.h"
#include "report/profile.h"

static struct vmp_model model;
static struct vmp_profile profile = { .model = &model };
static struct vmp_domain domain = { .vm = VMP_NONE, .total = 200 };
static struct vmp_row row;

static uint32_t str(const char *s)
{
	int err = 0;
	uint32_t n = vmp_strings_add(&model.strings, s, strlen(s), &err);

	assert_int_equal(err, 0);
	return n;
}

/* 100 samples of 200, CPI 2 */
static int setup(void **state)
{
	(void)state;
	assert_int_equal(vmp_strings_init(&model.strings), 0);
	row = (struct vmp_row){
		.samples = 100, .cycles = 300, .instructions = 150, .function = str("quantum_toffoli"),
		.module = str("libquantum.so.8"), .comm = str("a shor"), .build_id = str("abcd"),
		.cause = str("NPF"), .pid = 42, .nspid = 7, .cgroup = str("/system.slice/web.service"), .track = 3,
		.side = VMP_SIDE_USER,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_strings_deinit(&model.strings);
	return 0;
}

static int holds(const char *text)
{
	struct vmp_filter_error e;
	struct vmp_filter *f;
	int ret;

	if (vmp_filter_parse(&f, text, &e))
		fail_msg("%s: at %zu: %s", text, e.at, e.text);
	ret = vmp_filter_place(f, &profile, &domain, &row) && vmp_filter_row(f, &profile, &domain, &row);
	vmp_filter_free(f);
	return ret;
}

static void test_values(void **state)
{
	static const char *const yes[] = {
		"process == \"a shor\"", "process=='a shor'", "process != shor", "module ~ \"libq*\"",
		"module ~ lib*", "nspid == 7", "nspid < 8", "cgroup ~ '/system.slice/*'",
		"cgroup == '/system.slice/web.service'", "cgroup !~ '/user*'", "module !~ libc*", "function ~ *toff[oi]li", "pid == 42", "pid != 43", "pid<43",
		"pid <= 42", "pid >= 42", "pid > 41", "vcpu == 3", "thread == \"vCPU 3\"", "side == guest_user",
		"side != vmm", "side ~ guest*", "exit == npf", "exit ~ np?", "build-id ~ ab*", "samples == 100",
		"percent == 50", "percent >= 50%", "%cpu > 49.5", "cpi == 2", "ipc < .6", "cycles == 300",
		"instructions > 1", "domain == '(host)'", "delta > -1000",
	};
	static const char *const no[] = {
		"process == shor", "process == ''", "module ~ libq", "module !~ lib*", "pid == 41", "pid < 42", "nspid == 42", "cgroup == '/'",
		"pid > 42", "percent > 50", "percent < 50", "cpi != 2", "side == vmm", "exit == HLT", "vcpu == 2",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!holds(yes[i]))
			fail_msg("%s does not hold", yes[i]);
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (holds(no[i]))
			fail_msg("%s holds", no[i]);
}

/* What is not known is equal to nothing, and neither more nor less than anything. */
static void test_unknown(void **state)
{
	(void)state;
	row.pid = row.nspid = VMP_NONE;
	row.cgroup = 0;
	row.instructions = 0;
	assert_false(holds("nspid >= 0"));
	assert_false(holds("cgroup ~ '/*'"));
	assert_false(holds("pid == 42"));
	assert_true(holds("pid != 42"));
	assert_false(holds("pid >= 0"));
	assert_false(holds("cpi >= 0"));
	assert_false(holds("cpi < 100"));
	assert_false(holds("ipc == 0"));
}

/* T and F stand for conditions that hold and do not */
static int logic(const char *pattern)
{
	char text[1024] = "";
	const char *p;

	for (p = pattern; *p; p++) {
		size_t n = strlen(text);

		if (*p == 'T' || *p == 'F')
			strcpy(text + n, *p == 'T' ? "pid==42" : "pid==1");
		else
			snprintf(text + n, sizeof(text) - n, "%c", *p);
	}
	return holds(text);
}

static void test_logic(void **state)
{
	(void)state;
	assert_true(logic("T&&T"));
	assert_false(logic("T&&F"));
	assert_true(logic("F||T"));
	assert_false(logic("F||F"));
	assert_true(logic("T||F&&F"));		/* && first */
	assert_false(logic("(T||F)&&F"));
	assert_true(logic("F&&F||T"));
	assert_false(logic("!T"));
	assert_true(logic("!F"));
	assert_true(logic("!!T"));
	assert_true(logic("!(F||F)"));
	assert_false(logic("!T||F"));		/* ! only what follows */
	assert_true(logic(" ( ( T ) ) && ! ( F && T ) "));
}

static void test_faults(void **state)
{
	static const struct {
		const char *text;
		size_t at;
		const char *says;
	} bad[] = {
		{ "", 0, "begins with a column" }, { "   ", 3, "begins with a column" },
		{ "frob == 1", 0, "no column is called so" }, { "pid == 1 && frob == 1", 12, "no column" },
		{ "process = shor", 8, "write ==" }, { "process shor", 8, "an operator is missing" },
		{ "process", 7, "an operator is missing" }, { "process < shor", 8, "holds text" },
		{ "pid ~ 4*", 4, "holds numbers" }, { "pid == x", 7, "a number is needed" },
		{ "pid == 0x10", 7, "a number is needed" }, { "pid == nan", 7, "a number is needed" },
		{ "pid == inf", 7, "a number is needed" }, { "pid ==", 6, "a value is missing" },
		{ "process == \"shor", 11, "does not end" }, { "process == 'shor\"", 11, "does not end" },
		{ "(pid == 1", 9, "a ) is missing" }, { "pid == 1)", 8, "nothing is expected here" },
		{ "pid == 1 pid == 2", 9, "nothing is expected here" }, { "pid == 1 &&", 11, "begins with a column" },
		{ "pid == 1 & pid == 2", 9, "nothing is expected here" }, { "!", 1, "begins with a column" },
		{ "side == kernel", 8, "side is one of" }, { "percent > 1e", 10, "a number is needed" },
	};
	struct vmp_filter_error e;
	struct vmp_filter *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vmp_filter_parse(&f, bad[i].text, &e), -EINVAL);
		if (e.at != bad[i].at || !strstr(e.text, bad[i].says))
			fail_msg("'%s': at %zu: %s", bad[i].text, e.at, e.text);
	}
}

static void test_bounds(void **state)
{
	struct vmp_filter_error e;
	struct vmp_filter *f;
	char text[8192] = "";
	int i;

	(void)state;
	for (i = 0; i < 64; i++)
		sprintf(text + strlen(text), "%spid==42", i ? "&&" : "");
	assert_true(holds(text));	/* 64 comparisons and 63 && */
	strcat(text, "&&pid==42");
	assert_int_equal(vmp_filter_parse(&f, text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too many conditions"));
	memset(text, '(', 40);
	strcpy(text + 40, "pid==1");
	assert_int_equal(vmp_filter_parse(&f, text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too many parentheses"));
	memset(text, ' ', 4000);
	strcpy(text + 4000, "pid==1");
	assert_int_equal(vmp_filter_parse(&f, text, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too long"));
}

/* When conditions are looked at, and what is refused */
static void test_stages(void **state)
{
	struct vmp_filter_error e;
	struct vmp_filter *f;

	(void)state;
	assert_int_equal(vmp_filter_parse(&f, "process == x && (percent > 60 || samples > 1) && module ~ lib*", &e), 0);
	assert_int_equal(vmp_filter_keys(f), VMP_KEY(VMP_COL_PROCESS) | VMP_KEY(VMP_COL_MODULE));
	assert_false(vmp_filter_place(f, &profile, &domain, &row));	/* by its process */
	assert_true(vmp_filter_row(f, &profile, &domain, &row));
	assert_int_equal(vmp_filter_check(f, 0, &e), 0);
	vmp_filter_free(f);
	assert_int_equal(vmp_filter_parse(&f, "pid > 0 && (percent > 60 || module == x)", &e), 0);
	assert_int_equal(vmp_filter_keys(f), VMP_KEY(VMP_COL_PID));
	assert_int_equal(vmp_filter_check(f, VMP_KEY(VMP_COL_MODULE), &e), 0);
	assert_int_equal(vmp_filter_check(f, VMP_KEY(VMP_COL_PROCESS), &e), -EINVAL);
	assert_int_equal(e.at, 12);
	assert_non_null(strstr(e.text, "rows, which have no module here: add module to --group-by"));
	vmp_filter_free(f);
	assert_true(vmp_filter_place(NULL, &profile, &domain, &row));
	assert_true(vmp_filter_row(NULL, &profile, &domain, &row));
}

/* Random texts of the words that there are: each has a value or a fault within it, the same each time. */
static void test_random(void **state)
{
	static const char *const words[] = {
		"process", "pid", "percent", "cpi", "module", "==", "!=", "~", "!~", "<", ">=", "&&", "||", "!", "(",
		")", "\"a b\"", "'", "\"", "42", "-1", "%", "lib*", "\xff", " ", "frob", "=", "&", "side", "vmm",
	};
	unsigned int seed = 1, i, accepted = 0;
	struct vmp_filter_error e, again;
	struct vmp_filter *f;
	char text[512];

	(void)state;
	for (i = 0; i < 200000; i++) {
		int k, n = rand_r(&seed) % 12;

		*text = 0;
		for (k = 0; k < n; k++) {
			/* mostly what may stand there, so that some are accepted */
			static const int likely[] = { 1, 5, 19, 11 };
			int w = rand_r(&seed) % 3 ? likely[k % 4] : rand_r(&seed) % (int)(sizeof(words) / sizeof(words[0]));

			strcat(text, words[w]);
		}
		if (vmp_filter_parse(&f, text, &e)) {
			assert_true(e.at <= strlen(text) && *e.text);
			assert_int_equal(vmp_filter_parse(&f, text, &again), -EINVAL);
			assert_int_equal(again.at, e.at);
			continue;
		}
		accepted++;
		assert_true((unsigned int)vmp_filter_place(f, &profile, &domain, &row) <= 1);
		assert_true((unsigned int)vmp_filter_row(f, &profile, &domain, &row) <= 1);
		vmp_filter_free(f);
	}
	assert_true(accepted > 1000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_values), T(test_unknown), T(test_logic), T(test_faults), T(test_bounds), T(test_stages),
		T(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
