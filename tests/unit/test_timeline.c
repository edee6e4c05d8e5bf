// SPDX-License-Identifier: GPL-2.0-only
/* test_timeline.c - the time line of blocks: when each ran, and exits, steal and samples between them. */
#include "measured.h"

#include <math.h>

#include "blocks/timeline.h"

/* A sample of a vCPU with so many runs of the small loop before it, each of so many cycles, since it was called.
   @cut: branches beyond a VM entry */
static void put_cut_runs(uint32_t vm, uint32_t vcpu, uint64_t tsc, uint64_t cr3, unsigned runs, uint64_t cycles, uint8_t cut)
{
	struct vmprof_sample s = gen_guest_sample(vm, tsc, cr3, 3, AT(0));
	struct prog_branch b[VMPROF_LBR_MAX];
	unsigned i;

	for (i = 0; i <= runs; i++)
		b[i] = (struct prog_branch){ i < runs ? AT(4) : AT(19), AT(0), cycles };
	s.vcpu = vcpu;
	gen_record(&g, &s, sizeof(s));
	gen_lbr_cut(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO_CYCLES, b, runs + 1, 0, cut);
}

static void put_runs(uint32_t vm, uint32_t vcpu, uint64_t tsc, uint64_t cr3, unsigned runs, uint64_t cycles)
{
	put_cut_runs(vm, vcpu, tsc, cr3, runs, cycles, 0);
}

static void put_moment(uint8_t mode, uint32_t flags, uint32_t vcpu, uint64_t tsc)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = tsc, .host_ip = 0xffffffff90000010, .vm = GEN_VM,
		.host_pid = mode == VMPROF_MODE_VMM_KERNEL ? GEN_VM : 77, .host_tid = GEN_VM + 1, .vcpu_tid = GEN_VM + 1,
		.flags = VMPROF_SF_VCPU | flags, .mode = mode, .vendor = VMPROF_VENDOR_SVM, .exit_reason = 0x7b, .vcpu = vcpu,
	};

	gen_record(&g, &s, sizeof(s));
}

/* Samples of a pCPU each so many ticks behind the one before, with cycles counted since that */
static void put_counted(unsigned nr, uint64_t tsc, uint64_t ticks, uint64_t cycles)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, tsc, PROG_CR3, 3, AT(0));

	for (; nr; nr--) {
		s.tsc += ticks;
		s.flags |= VMPROF_SF_COUNTS;
		s.cycles = cycles;
		gen_record(&g, &s, sizeof(s));
	}
}

/* The same of guest and host in turns, each with a counter of its own: it has counted since before the other's sample */
static void put_turns(unsigned nr, uint64_t tsc)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, tsc, PROG_CR3, 3, AT(0));

	for (; nr; nr--) {
		s.tsc += 100;
		s.flags |= VMPROF_SF_COUNTS;
		s.cycles = 1600;
		s.mode = s.mode == VMPROF_MODE_GUEST ? VMPROF_MODE_VMM_KERNEL : VMPROF_MODE_GUEST;
		gen_record(&g, &s, sizeof(s));
	}
}

/* A sample with two runs of 100 cycles, behind so many intervals: most of a processor that slept, a fifth at 1.6 cycles a tick, and others between the sides */
static void put_rates(unsigned nr)
{
	begin_small();
	put_counted(4 * nr, 20000, 5000, 1000);
	put_counted(nr, 20000 + 4 * (uint64_t)nr * 5000, 1000, 1600);
	put_turns(4 * nr, 20000 + nr * 21000ULL);
	put_runs(GEN_VM, 0, 900000, PROG_CR3, 2, 100);
	gen_records_flush(&g, 0, 20000, 900000);
	gen_end(&g);
}

static void lay_rates(unsigned nr, double rate)
{
	const struct vmp_timeline_choice last = { .from_tsc = 900000, .to_tsc = UINT64_MAX, .limit = 100 };
	struct vmp_set_choice web01 = { .vcpu = -1, .pid = -1, .domain = "web01" };
	const double off = rate > 0 ? rate * 0.011 : 0, ticks = rate > 0 ? rate : 1;
	struct vmp_timeline *t;

	put_rates(nr);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &web01), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	assert_int_equal(vmp_timeline_create(&t, set, estimates, &last), 0);
	assert_true(fabs(t->rate - rate) <= off);
	assert_int_equal(t->spans.nr, 3);
	assert_true(fabs(t->spans.v[1].ticks - 100 * ticks) <= 100 * off && t->spans.v[1].cycles == 100);
	assert_true(t->spans.v[1].tsc == 900000 - t->spans.v[1].ticks && t->spans.v[0].tsc == 900000 - 2 * t->spans.v[1].ticks);
	vmp_timeline_destroy(t);
}

/* Blocks are as long as the processor's clock made them, by the intervals in which it did not sleep */
static void test_rate(void **state)
{
	(void)state;
	lay_rates(20, 0.625);
}

static void test_no_rate(void **state)
{
	(void)state;
	lay_rates(3, 0);	/* 14 intervals: too few */
}

/* Two vCPUs of web01 with two processes, an exit and steal; another domain with the same program */
static void put_moments(void)
{
	begin_small();
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, OTHER_PID, 1, 0, "other");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, OTHER_PID, PROG_BASE + PROG_VADDR, PROG_BASE + PROG_VADDR + 0x1000, PROG_VADDR,
		PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 3000);
	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	prog_install_in(&g, &prog, dir, OTHER_VM);
	gen_agent_flush(&g, OTHER_VM, 3000);
	gen_text(&g, VMPROF_CAP_HOST_KSYMS, 0, "ffffffff90000000 T svm_vcpu_run\nffffffff91000000 T end\n");
	gen_text(&g, VMPROF_CAP_HOST_COMMS, 0, "77 77 thief\n");
	put_runs(GEN_VM, 0, 20000, PROG_CR3, 2, 100);
	put_runs(GEN_VM, 0, 20100, PROG_CR3, 3, 45);		/* the first of them before that sample, in part */
	put_runs(GEN_VM, 0, 20110, PROG_CR3, 2, 10);		/* ... wholly */
	put_moment(VMPROF_MODE_VMM_KERNEL, 0, 0, 20200);
	put_moment(VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL, 0, 20300);
	put_runs(GEN_VM, 0, 20400, PROG_CR3 + 0x5000, 1, 50);
	put_runs(GEN_VM, 1, 20105, PROG_CR3, 1, 5000);		/* another vCPU's samples are not in its way */
	put_cut_runs(GEN_VM, 1, 20200, PROG_CR3, 2, 30, 5);	/* the guest was entered before */
	put_cut_runs(GEN_VM, 1, 20210, PROG_CR3, 2, 30, 5);	/* ... which was before the last sample, too */
	put_runs(OTHER_VM, 0, 20500, PROG_CR3, 1, 50);
	gen_records_flush(&g, 0, 20000, 20500);
	gen_end(&g);
}

static void test_timeline(void **state)
{
	static const struct { int vcpu; enum vmp_moment_kind kind; double tsc, ticks, cycles; } want[] = {
		{ 0, VMP_MOMENT_BLOCK, 19800, 100, 100 }, { 0, VMP_MOMENT_BLOCK, 19900, 100, 100 },
		{ 0, VMP_MOMENT_SAMPLE, 20000 },
		{ 0, VMP_MOMENT_BLOCK, 20000, 10, 45 }, { 0, VMP_MOMENT_BLOCK, 20010, 45, 45 },
		{ 0, VMP_MOMENT_BLOCK, 20055, 45, 45 }, { 0, VMP_MOMENT_SAMPLE, 20100 },
		{ 0, VMP_MOMENT_BLOCK, 20100, 10, 10 }, { 0, VMP_MOMENT_SAMPLE, 20110 },
		{ 0, VMP_MOMENT_VMM, 20200 }, { 0, VMP_MOMENT_STEAL, 20300 },
		{ 0, VMP_MOMENT_BLOCK, 20350, 50, 50 }, { 0, VMP_MOMENT_SAMPLE, 20400 },
		{ 1, VMP_MOMENT_BLOCK, 15105, 5000, 5000 }, { 1, VMP_MOMENT_SAMPLE, 20105 },
		{ 1, VMP_MOMENT_EDGE, 20140 }, { 1, VMP_MOMENT_BLOCK, 20140, 30, 30 }, { 1, VMP_MOMENT_BLOCK, 20170, 30, 30 },
		{ 1, VMP_MOMENT_SAMPLE, 20200 }, { 1, VMP_MOMENT_BLOCK, 20200, 10, 30 }, { 1, VMP_MOMENT_SAMPLE, 20210 },
	};
	struct vmp_set_choice web01 = { .vcpu = -1, .pid = -1, .domain = "web01" };
	const struct vmp_timeline_choice all = { .to_tsc = UINT64_MAX, .limit = 100 };
	struct vmp_timeline *t;
	size_t i;

	(void)state;
	put_moments();
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &web01), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	assert_int_equal(vmp_timeline_create(&t, set, estimates, &all), 0);
	for (i = 0; i < t->spans.nr && i < sizeof(want) / sizeof(want[0]); i++) {
		const struct vmp_strip_span *s = &t->spans.v[i];

		if (s->kind != want[i].kind || s->vcpu != (uint32_t)want[i].vcpu || s->tsc != want[i].tsc ||
		    s->ticks != want[i].ticks || s->cycles != want[i].cycles)
			fail_msg("%zu: vCPU %u, kind %d, %f, %f ticks, %f cycles", i, s->vcpu, s->kind, s->tsc, s->ticks, s->cycles);
	}
	assert_int_equal(i, sizeof(want) / sizeof(want[0]));
	assert_int_equal(t->spans.nr, i);
	assert_int_equal(t->samples, 9);
	assert_int_equal(t->cut, 2);
	assert_int_equal(t->left_out, 2);
	vmp_timeline_destroy(t);
}

/* Two pCPUs, each with a vCPU: of the first there is a whole block before one of the other, all of it at the same times */
static void put_rings(void)
{
	unsigned i;

	begin_small();
	for (i = 0; i < 20; i++)
		put_runs(GEN_VM, 0, 20000 + 100 * i, PROG_CR3, 1, 10);
	gen_records_flush(&g, 0, 20000, 21900);
	for (i = 0; i < 20; i++)
		put_runs(GEN_VM, 1, 20000 + 100 * i + i % 2 * 50, PROG_CR3, 1, 10);
	gen_records_flush(&g, 1, 20000, 21950);
	gen_end(&g);
}

static struct vmp_timeline *rings(uint64_t from, uint64_t limit)
{
	const struct vmp_timeline_choice c = { .from_tsc = from, .to_tsc = UINT64_MAX, .limit = limit };
	struct vmp_timeline *t;

	assert_int_equal(vmp_timeline_create(&t, set, estimates, &c), 0);
	return t;
}

/* Samples of a vCPU, or of any, from a time on and before another one; *last: TSC of the latest */
static unsigned samples_of(const struct vmp_timeline *t, int vcpu, double from, double to, double *last)
{
	unsigned n = 0;
	uint32_t i;

	for (i = 0; i < t->spans.nr; i++) {
		const struct vmp_strip_span *s = &t->spans.v[i];

		if (s->kind != VMP_MOMENT_SAMPLE || (vcpu >= 0 && s->vcpu != (uint32_t)vcpu) || s->tsc < from || s->tsc >= to)
			continue;
		*last = s->tsc > *last ? s->tsc : *last;
		n++;
	}
	return n;
}

/* As many as the limit, the earliest: of all vCPUs, though the file has them of one pCPU after the other */
static void test_limit(void **state)
{
	static const struct { uint64_t from, limit; unsigned first, second; } want[] = {
		{ 0, 4, 2, 2 },		/* 20000 twice, 20100, 20150 */
		{ 0, 5, 3, 2 },		/* of 20200 there are two: the first of the file */
		{ 0, 6, 3, 3 }, { 0, 7, 4, 3 }, { 0, 1, 1, 0 }, { 0, 2, 1, 1 }, { 0, 39, 20, 19 }, { 0, 40, 20, 20 },
		{ 0, 41, 20, 20 }, { 0, UINT64_MAX, 20, 20 }, { 20101, 1, 0, 1 }, { 21900, 1, 1, 0 }, { 21900, 2, 1, 1 }, { 0, 0, 0, 0 },
	};
	struct vmp_set_choice web01 = { .vcpu = -1, .pid = -1, .domain = "web01" };
	struct vmp_timeline *all, *t;
	size_t i;

	(void)state;
	put_rings();
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &web01), 0);
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 0), 0);
	all = rings(0, UINT64_MAX);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		double last = 0, none = 0, from = (double)want[i].from;
		unsigned first, second;

		t = rings(want[i].from, want[i].limit);
		first = samples_of(t, 0, 0, INFINITY, &last);
		second = samples_of(t, 1, 0, INFINITY, &last);
		if (first != want[i].first || second != want[i].second)
			fail_msg("%zu: %u samples of the first vCPU, %u of the second", i, first, second);
		/* no one that is left out was before one that is shown */
		assert_int_equal(samples_of(t, -1, from, last, &none), samples_of(all, -1, from, last, &none));
		assert_int_equal(t->samples, first + second);
		assert_int_equal(t->more, samples_of(all, -1, from, INFINITY, &none) - first - second);
		assert_true(t->last_tsc == (t->more ? (uint64_t)last : 0));
		vmp_timeline_destroy(t);
	}
	vmp_timeline_destroy(all);
}

/* For blocks.t and export.t */
static int write_captures(char *folder)
{
	dir = own_folder(folder, "moments");
	begin("moments");
	put_moments();
	dir = own_folder(folder, "rings");
	begin("rings");
	put_rings();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timeline, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
