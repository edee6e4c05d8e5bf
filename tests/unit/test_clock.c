// SPDX-License-Identifier: GPL-2.0-only
/* test_clock.c - guest time to host time: offsets that move, ratios, sources, arrival. */
#include "modelled.h"

#include "model/clock.h"

static struct vmp_clock_point point(uint64_t host, uint32_t vcpu, uint64_t offset)
{
	return (struct vmp_clock_point){ .host_tsc = host, .vcpu = vcpu, .offset = offset };
}

static void add(struct vmp_clock *c, int driver, struct vmp_clock_point p)
{
	assert_int_equal(vmp_clock_add(c, driver, &p), 0);
}

static void test_clock_moves(void **state)
{
	struct vmp_clock c = { 0 };

	(void)state;
	add(&c, 1, point(1000, 0, 500));
	add(&c, 1, point(1010, 1, 500));
	add(&c, 1, point(8990, 2, 700));	/* never seen before */
	add(&c, 1, point(9000, 1, 700));	/* moved; vCPU 1 tells first */
	add(&c, 1, point(9100, 0, 700));
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.source, VMP_CLOCK_DRIVER);
	assert_int_equal(c.pieces.nr, 2);
	assert_int_equal(c.error_tsc, 0);
	assert_int_equal(vmp_clock_to_host(&c, 2500, 900, 0), 2000);
	assert_int_equal(vmp_clock_to_host(&c, 20700, 900, 0), 20000);
	/* 9600 may be 9100 before or 8900 after: only the former lies in its piece */
	assert_int_equal(vmp_clock_piece_begin(&c, 5000), 0);
	assert_int_equal(vmp_clock_piece_begin(&c, 9500), 9000);
	vmp_clock_free(&c);
}

/* A vCPU with a clock of its own widens the bound, and moves nothing. */
static void test_clock_skew(void **state)
{
	struct vmp_clock c = { 0 };

	(void)state;
	add(&c, 1, point(1000, 0, 500));
	add(&c, 1, point(1001, 1, 530));
	add(&c, 1, point(2000, 0, 500));
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.pieces.nr, 1);
	assert_int_equal(c.error_tsc, 30);
	vmp_clock_free(&c);
}

static void test_clock_ratio(void **state)
{
	struct vmp_clock c = { 0 };
	struct vmp_clock_point p = point(1000, 0, 7);

	(void)state;
	p.ratio = 3ULL << 31;	/* 1.5 */
	p.frac_bits = 32;
	add(&c, 1, p);
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(vmp_clock_to_host(&c, 15007, 0, 0), 10000);
	vmp_clock_free(&c);
}

static void test_clock_sources(void **state)
{
	struct vmp_clock c = { 0 };
	struct vmp_clock_point p = point(1000, 0, 100);

	(void)state;
	p.error_tsc = 9;
	add(&c, 0, p);
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.source, VMP_CLOCK_MEASURED);
	assert_int_equal(c.error_tsc, 9);
	/* the driver knows better; what was measured is held against it */
	add(&c, 1, point(1000, 0, 104));
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.source, VMP_CLOCK_DRIVER);
	assert_int_equal(vmp_clock_to_host(&c, 2104, 0, 0), 2000);
	assert_int_equal(c.error_tsc, 4);
	vmp_clock_free(&c);
}

/* A VM that waits for another's memory has no clock yet */
static void test_clock_comes_later(void **state)
{
	struct vmp_clock c = { 0 };

	(void)state;
	add(&c, 0, point(1000, 0, 100));
	add(&c, 1, point(2000, 0, 7000000));
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.error_tsc, 7000000 - 100);	/* nobody else says how good it is */
	add(&c, 0, point(3000, 0, 7000002));
	assert_int_equal(vmp_clock_build(&c), 0);
	assert_int_equal(c.error_tsc, 2);
	vmp_clock_free(&c);
}

/* No clock at all: the quickest message is the best guess. */
static void test_clock_by_arrival(void **state)
{
	struct vmp_clock c = { 0 };

	(void)state;
	assert_int_equal(vmp_clock_add_arrival(&c, 10500, 10050), 0);
	assert_int_equal(vmp_clock_add_arrival(&c, 20500, 20010), 0);
	assert_int_equal(vmp_clock_add_arrival(&c, 30500, 30100), 0);
	assert_int_equal(c.source, VMP_CLOCK_ARRIVAL);
	assert_int_equal(vmp_clock_to_host(&c, 20500, 0, 0), 20010);
	vmp_clock_free(&c);
}

/* The offset moves while a process lives: both sides of the join hold. */
static void test_migration(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "one");
	gen_exit(&g, 40000, CR3_A, 10, "one", PROG, "");
	gen_agent_flush(&g, GEN_VM, 41000);
	g.offset = GEN_OFFSET + 70000000;
	gen_clock_at(&g, GEN_VM, 0, 50000, g.offset);
	start_program(60000, CR3_A, 11, "two");
	gen_agent_flush(&g, GEN_VM, 62000);
	gen_guest(&g, GEN_VM, 30000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 59000, CR3_A, 0, GEN_KERNEL, 2);
	gen_guest(&g, GEN_VM, 61000, CR3_A, 3, CODE, 4);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "one", 10), 3);
	assert_int_equal(of_process("web01", "two", 11), 4);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_migration), cmocka_unit_test(test_clock_moves), cmocka_unit_test(test_clock_skew),
		cmocka_unit_test(test_clock_ratio), cmocka_unit_test(test_clock_sources),
		cmocka_unit_test(test_clock_by_arrival), cmocka_unit_test(test_clock_comes_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
