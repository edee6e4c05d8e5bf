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
#include <vmprof/agent_proto.h>

#include "tests/truth/axis.c"
#include "tests/truth/binomial.c"
#include "tests/truth/exact.c"
#include "tests/truth/host.c"
#include "tests/truth/verdict.c"

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
	"vmprof-exact 7\n"
	"cpu 0 1000 9000\n"
	"injected 40 3\n"
	"clock 0x7000 0xfffffffffffff000 1000 8000\n"
	"exit 0x61 3\n"
	"space 1 host kernel quiet 0x0 0x0 0xffffffffffffffff 1000 2000\n"
	"space 2 guest user counting 0x5000 0x7000 0xffffffffffffffff 2000 3000\n"
	"space 3 host nmi counting 0x0 0x0 0x61 2000 3000\n"
	"overflow 2100 guest guest user due 0x5000 0x7000 0x61 0x401000 0x7f00 0xffffffff81000020\n"
	"overflow 2200 host host kernel held 0x8000 0x0 0x7c 0xffffffff81000000 0x0 0xffffffff81000010\n"
	"block 2 0x401000 12 30 90 31 94 3 6 2 8\n"
	"cpu 1 1001 9001\n"
	"injected 60 4\n"
	"exit 0x61 4\n"
	"exit 0x7c 1\n"
	"space 1 guest kernel counting 0x0 0x7000 0xffffffffffffffff 1500 1600\n"
	"block 1 0xffffffff80000000 4 1 5 2 6 0 0 1 4\n"
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
	assert_int_equal(x.injected, 100);
	assert_int_equal(x.behind, 7);
	assert_int_equal(x.spaces.nr, 4);
	assert_int_equal(x.spaces.v[0].flags, 0);
	assert_int_equal(x.spaces.v[1].flags, EXACT_GUEST | EXACT_USER | EXACT_COUNTING);
	assert_int_equal(x.spaces.v[1].cr3, 0x5000);
	assert_int_equal(x.spaces.v[2].flags, EXACT_NMI | EXACT_COUNTING);
	assert_int_equal(x.spaces.v[3].cpu, 1);
	assert_int_equal(x.overflows.nr, 2);
	assert_int_equal(x.overflows.v[0].pc, 0x401000);
	assert_int_equal(x.overflows.v[0].fs, 0x7f00);
	assert_int_equal(x.overflows.v[0].held, 0);
	assert_int_equal(x.overflows.v[1].held, 1);
	assert_int_equal(x.clocks.nr, 1);
	assert_int_equal(x.clocks.v[0].ncr3, 0x7000);
	assert_int_equal(x.clocks.v[0].offset, -0x1000ULL);
	assert_int_equal(x.clocks.v[0].first_tsc, 1000);
	assert_int_equal(x.clocks.v[0].last_tsc, 8000);
	assert_int_equal(x.blocks.nr, 2);
	assert_int_equal(x.blocks.v[0].space, 1);
	assert_int_equal(x.blocks.v[0].cycles_at, 94);
	assert_int_equal(x.blocks.v[0].entries[0], 3);
	assert_int_equal(x.blocks.v[0].led[0], 6);
	assert_int_equal(x.blocks.v[0].entries[1], 2);
	assert_int_equal(x.blocks.v[0].led[1], 8);
	assert_int_equal(x.blocks.v[1].space, 3);	/* numbers begin anew on each CPU */
	exact_free(&x);
	assert_int_equal(exact_read(&x, "/nonexistent"), -ENOENT);
}

/* A count of more than 32 bits is several blocks' */
static void test_exact_large(void **state)
{
	static const char large[] =
		"vmprof-exact 7\n"
		"cpu 0 1000 9000\n"
		"space 1 guest user counting 0x5000 0x7000 0xffffffffffffffff 2000 3000\n"
		"block 1 0x401000 12 8589934597 90 4294967296 4294967295 3 6 2 8\n"
		"end\n";
	uint64_t insns = 0, cycles = 0, insns_at = 0, cycles_at = 0, entries = 0;
	struct exact x;
	uint32_t i;

	(void)state;
	assert_int_equal(read_text(&x, large, strlen(large)), 0);
	assert_int_equal(x.blocks.nr, 3);
	for (i = 0; i < x.blocks.nr; i++) {
		assert_int_equal(x.blocks.v[i].pc, 0x401000);
		assert_int_equal(x.blocks.v[i].space, 0);
		assert_int_equal(x.blocks.v[i].size, 12);
		insns += x.blocks.v[i].insns;
		cycles += x.blocks.v[i].cycles;
		insns_at += x.blocks.v[i].insns_at;
		cycles_at += x.blocks.v[i].cycles_at;
		entries += x.blocks.v[i].entries[1];
	}
	assert_int_equal(insns, 8589934597);
	assert_int_equal(cycles, 90);
	assert_int_equal(insns_at, 4294967296);
	assert_int_equal(cycles_at, 4294967295);
	assert_int_equal(entries, 2);
	exact_free(&x);
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
		"cpu 0 1\n", "cpu 0 1 2 3\n", "block 1 0x1 1 1 1 1 1 0 0 0 0\n",
		"cpu 0 1 2\nspace 2 host user quiet 0 0 0 0 0\n",
		"cpu 0 1 2\nspace 1 moon user quiet 0 0 0 0 0\n",
		"cpu 0 1 2\nspace 1 guest nmi quiet 0 0 0 0 0\n", "cpu 0 1 2\noverflow 1 host host nmi due 0 0 0 0 0 0\n",
		"cpu 0 1 2\nspace 1 host user maybe 0 0 0 0 0\n",
		"overflow 1 host host user due 0 0 0 0 0 0\n", "cpu 0 1 2\noverflow 1 host user due 0 0 0 0 0 0\n",
		"cpu 0 1 2\noverflow 1 host host user due 0 0 0 0 0\n", "cpu 0 1 2\noverflow 1 host host user 0 0 0 0 0 0\n",
		"cpu 0 1 2\noverflow 1 host host user late 0 0 0 0 0 0\n",
		"injected 1 2\n", "clock 0x7000 0x1 2000\n", "clock 0x7000 0x1 2000 1999\n", "what\n",
	};
	char s[256];
	struct exact x;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(s, sizeof(s), "vmprof-exact 7\n%send\n", lines[i]);
		assert_int_equal(read_text(&x, s, strlen(s)), -EBADMSG);
	}
}

/* What an emulator of another series wrote is refused, and not as a file that is cut */
static void test_exact_version(void **state)
{
	static const char *const others[] = { "vmprof-exact 6\nend\n", "vmprof-exact 70\nend\n", "vmprof-exact \nend\n" };
	struct exact x;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(read_text(&x, others[i], strlen(others[i])), -EPROTO);
	assert_non_null(strstr(exact_why(-EPROTO), "version 7"));
	assert_non_null(strstr(exact_why(-EBADMSG), "cut"));
	assert_string_equal(exact_why(-ENOENT), strerror(ENOENT));
}

/* Two counters overflowed before one interrupt: each sample gets its own side's */
static void test_overflow_of(void **state)
{
	struct exact_overflow *o;
	struct exact x;

	(void)state;
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	assert_null(exact_overflow_of(&x, 0, 2099, EXACT_GUEST, 0, 1000));
	assert_null(exact_overflow_of(&x, 1, 5000, EXACT_GUEST, 0, 1000));
	o = exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 1000);
	assert_ptr_equal(o, &x.overflows.v[0]);
	o = exact_overflow_of(&x, 0, 2300, 0, 0, 1000);
	assert_ptr_equal(o, &x.overflows.v[1]);
	assert_null(exact_overflow_of(&x, 0, 2300, 0, 0, 1000));
	exact_free(&x);

	/* the wrong side rather than none */
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	o = exact_overflow_of(&x, 0, 2150, 0, 0, 1000);
	assert_ptr_equal(o, &x.overflows.v[0]);
	exact_free(&x);
}

/* One that is too long ago is of no sample, however few came since */
static void test_overflow_too_old(void **state)
{
	struct exact x;

	(void)state;
	assert_int_equal(read_text(&x, text, strlen(text)), 0);
	assert_null(exact_overflow_of(&x, 0, 2300, 0, 0, 99));
	assert_ptr_equal(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 199), &x.overflows.v[1]);
	assert_null(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 199));
	assert_ptr_equal(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 200), &x.overflows.v[0]);
	exact_free(&x);
}

/* Two sides and two events overflowed before one interrupt: there are as many samples, and no more */
static void test_overflows_of_one_interrupt(void **state)
{
	static const char four[] =
		"vmprof-exact 7\ncpu 0 1000 9000\n"
		"overflow 2100 host host kernel due 0x8000 0x0 0x7c 0x10 0x0 0x0\n"
		"overflow 2101 guest guest user due 0x5000 0x7000 0x61 0x11 0x0 0x0\n"
		"overflow 2102 host host kernel due 0x8000 0x0 0x7c 0x12 0x0 0x0\n"
		"overflow 2103 guest guest user due 0x5000 0x7000 0x61 0x13 0x0 0x0\nend\n";
	struct exact x;

	(void)state;
	assert_int_equal(read_text(&x, four, strlen(four)), 0);
	assert_int_equal(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 1000)->pc, 0x13);
	assert_int_equal(exact_overflow_of(&x, 0, 2300, 0, 0, 1000)->pc, 0x12);
	assert_int_equal(exact_overflow_of(&x, 0, 2300, 0, 0, 1000)->pc, 0x10);
	assert_int_equal(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 1000)->pc, 0x11);
	assert_null(exact_overflow_of(&x, 0, 2300, EXACT_GUEST, 0, 1000));
	exact_free(&x);
}

static void begin_at(struct vmp_space *space, uint64_t tsc, uint32_t pid)
{
	struct vmp_space_event ev = {
		.tsc = tsc, .cr3 = 0x5000, .type = VMPROF_MSG_EXEC, .pid = pid, .tgid = pid, .ppid = 1,
	};

	assert_int_equal(vmp_space_event(space, &ev), 0);
}

/* A CR3 went from one process to the next at 2000: as deep in a residence as that is wrong */
static void test_axis(void **state)
{
	struct exact_space s = { .cr3 = 0x5000, .flags = EXACT_GUEST | EXACT_USER };
	struct vmp_space space;
	struct vmp_clock clock = { 0 };
	struct axis a = { 0 };

	(void)state;
	vmp_space_init(&space);
	assert_int_equal(vmp_space_epoch(&space, 100, 0), 0);
	begin_at(&space, 1000, 10);
	begin_at(&space, 2000, 11);
	vmp_space_finish(&space);
	s.first_tsc = 1500, s.last_tsc = 2000;
	axis_residence(&a, &space, &clock, &s);
	s.first_tsc = 2000, s.last_tsc = 3000;
	axis_residence(&a, &space, &clock, &s);
	s.first_tsc = 900, s.last_tsc = 1100;	/* its first owner's */
	axis_residence(&a, &space, &clock, &s);
	assert_int_equal(a.residences, 3);
	assert_int_equal(a.inside, 0);
	s.first_tsc = 1990, s.last_tsc = 2500;
	axis_residence(&a, &space, &clock, &s);
	s.first_tsc = 1500, s.last_tsc = 2003;
	axis_residence(&a, &space, &clock, &s);
	assert_int_equal(a.inside, 2);
	assert_int_equal(a.worst, 10);
	assert_int_equal(a.ends, 0);
	vmp_space_deinit(&space);
}

/* The driver saw it moved at 5000; it was moved at 4990 */
static void test_axis_clock(void **state)
{
	const struct vmp_clock_point points[] = { { .host_tsc = 1000, .offset = 100 }, { .host_tsc = 5000, .offset = 9100 } };
	struct exact_clock c = { .offset = 100, .first_tsc = 500, .last_tsc = 4989 };
	struct vmp_clock clock = { 0 };
	struct axis a = { 0 };

	(void)state;
	assert_int_equal(vmp_clock_add(&clock, 1, &points[0]), 0);
	assert_int_equal(vmp_clock_add(&clock, 1, &points[1]), 0);
	assert_int_equal(vmp_clock_build(&clock), 0);
	axis_clock(&a, &clock, &c);
	c = (struct exact_clock){ .offset = 9100, .first_tsc = 4990, .last_tsc = 8000 };
	axis_clock(&a, &clock, &c);
	assert_int_equal(a.clocks, 2);
	assert_int_equal(a.clock_worst, 0);
	c.offset += 3;
	axis_clock(&a, &clock, &c);
	assert_int_equal(a.clock_worst, 3);
	c = (struct exact_clock){ .offset = 9090, .first_tsc = 4990, .last_tsc = 4990 };
	axis_clock(&a, &clock, &c);
	assert_int_equal(a.clock_worst, 10);
	vmp_clock_free(&clock);
}

/* It ended at 1800: its user code cannot run on */
static void test_axis_ends(void **state)
{
	struct exact_space s = { .cr3 = 0x5000, .flags = EXACT_GUEST | EXACT_USER };
	struct vmp_space_event ev = { .tsc = 1800, .cr3 = 0x5000, .type = VMPROF_MSG_EXIT, .pid = 10, .tgid = 10, .flags = VMPROF_PROC_LAST };
	struct vmp_space space;
	struct vmp_clock clock = { 0 };
	struct axis a = { 0 };

	(void)state;
	vmp_space_init(&space);
	assert_int_equal(vmp_space_epoch(&space, 100, 0), 0);
	begin_at(&space, 1000, 10);
	assert_int_equal(vmp_space_event(&space, &ev), 0);
	begin_at(&space, 2000, 11);
	vmp_space_finish(&space);
	s.first_tsc = 1500, s.last_tsc = 1790;
	axis_residence(&a, &space, &clock, &s);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.inside, 0);
	assert_int_equal(a.early, 10);
	s.first_tsc = 2200, s.last_tsc = 2500;	/* the next one's, which runs */
	axis_residence(&a, &space, &clock, &s);
	assert_int_equal(a.ends, 1);
	s.first_tsc = 1500, s.last_tsc = 1815;
	axis_residence(&a, &space, &clock, &s);
	assert_int_equal(a.ends, 2);
	assert_int_equal(a.inside, 1);
	assert_int_equal(a.worst, 15);
	vmp_space_deinit(&space);
}

/* A process has the CR3 that most of its overflows had; its other samples are held against that, too. */
static void test_host_processes(void **state)
{
	struct vmprof_sample s = {
		.hdr.type = VMPROF_REC_SAMPLE, .mode = VMPROF_MODE_OTHER_USER, .host_pid = 7,
	};
	struct exact_space user = { .flags = EXACT_USER, .cr3 = 0x1000 };
	struct exact_block b = { .cycles_at = 500 };
	struct exact_overflow o = { .cr3 = 0x2000 };
	struct vmp_model no_vms = { 0 };
	struct host h = { 0 };

	(void)state;
	assert_int_equal(host_block(&h, NULL, &user, &b), 0);
	assert_int_equal(host_sample(&h, NULL, &s, &o), 0);
	o.cr3 = 0x1000;
	s.flags = VMPROF_SF_STEAL;
	assert_int_equal(host_sample(&h, NULL, &s, &o), 0);
	assert_int_equal(host_sample(&h, NULL, &s, &o), 0);
	s.hdr.type = VMPROF_REC_INSTRUCTIONS;
	assert_int_equal(host_sample(&h, NULL, &s, &o), 0);
	assert_int_equal(host_finish(&h, &no_vms), 0);
	assert_int_equal(host_proc_cr3(&h, 7), 0x1000);
	assert_int_equal(host_proc_cr3(&h, 8), 0);
	assert_int_equal(h.procs.nr, 1);
	assert_int_equal(h.procs.v[0].cycles, 500);
	assert_int_equal(h.procs.v[0].samples, 3);
	assert_int_equal(h.procs.v[0].steal, 2);
	host_free(&h);
}

/* What tests/lab/suite.sh takes for final: what was, not what there was too little of */
static void test_verdicts(void **state)
{
	char text[256] = "";
	int out = dup(STDOUT_FILENO), fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fflush(stdout);
	assert_int_equal(dup2(fds[1], STDOUT_FILENO), STDOUT_FILENO);
	verdict(1, "shares", "%d", 1);
	verdict(0, "shares", "%d", 2);
	verdict_never(0, 1, "ghosts", "%d", 3);
	verdict_never(0, 0, "ghosts", "%d", 4);
	verdict_never(1, 1, "ghosts", "%d", 5);
	fflush(stdout);
	assert_int_equal(dup2(out, STDOUT_FILENO), STDOUT_FILENO);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "yes shares: 1\nNO shares: 2\nyes ghosts: 3\nNO ghosts: 4\nNO ghosts: 5 (final)\n");
	assert_int_equal(verdict_noes(), 3);
	close(out);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binomial_known_values),
		cmocka_unit_test(test_binomial_certainties),
		cmocka_unit_test(test_exact_read),
		cmocka_unit_test(test_exact_large),
		cmocka_unit_test(test_exact_cut),
		cmocka_unit_test(test_exact_nonsense),
		cmocka_unit_test(test_exact_version),
		cmocka_unit_test(test_overflow_of),
		cmocka_unit_test(test_overflow_too_old),
		cmocka_unit_test(test_overflows_of_one_interrupt),
		cmocka_unit_test(test_axis),
		cmocka_unit_test(test_axis_ends),
		cmocka_unit_test(test_axis_clock),
		cmocka_unit_test(test_host_processes),
		cmocka_unit_test(test_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
