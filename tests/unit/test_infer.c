// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_infer.c - whose a sample is when the agent ran without its module: what follows from
 * the mappings, what does not, and that nothing wrong is ever said.
 */
#include "profiled.h"

#include "model/classify.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define CR3_C	0x7000000ULL
#define TICK	100000ULL	/* far above what clocks are good for */
#define FROM	(10 * TICK)	/* all is known from here on */
#define LIBC	0x7f0000000000ULL

static int setup(void **state)
{
	(void)state;
	profiled_guest(2000, VMPROF_HELLO_NO_MODULE);
	return 0;
}

static void token(unsigned int type, uint64_t tsc)
{
	const struct vmprof_token t = { .token = 1, .tsc = tsc + g.offset };

	gen_frame(&g, type, &t, sizeof(t), NULL, 0);
}

static void lost(uint64_t tsc, int cause)
{
	struct vmprof_agent_lost l = { .tsc = tsc + g.offset };

	l.count[cause] = 1;
	gen_frame(&g, VMPROF_MSG_LOST, &l, sizeof(l), NULL, 0);
}

static void map(uint64_t tsc, uint32_t tgid, uint64_t start, uint64_t ino, const char *name)
{
	gen_map(&g, tsc, 0, tgid, start, start + 0x10000, 0, ino, name);
}

/* Two that live when the session begins: each its own program, both with a libc at one place */
static void snapshot_of_two(void)
{
	uint32_t pid;

	gen_proc(&g, VMPROF_MSG_PROC, 6 * TICK, 0, 5, 2, VMPROF_PROC_KTHREAD, "kworker/0:1");
	for (pid = 10; pid <= 20; pid += 10) {
		gen_proc(&g, VMPROF_MSG_PROC, 6 * TICK, 0, pid, 1, 0, pid == 10 ? "ten" : "twenty");
		map(6 * TICK, pid, pid * 0x100000, 100 + pid, pid == 10 ? "/bin/ten" : "/bin/twenty");
		map(6 * TICK, pid, LIBC, 7, "/lib/libc.so");
	}
	token(VMPROF_MSG_SNAP_END, FROM);
}

static void snapshot(void)
{
	token(VMPROF_MSG_SNAP_BEGIN, 5 * TICK);
	snapshot_of_two();
}

static void fork_of(uint64_t tsc, uint32_t pid, uint32_t parent)
{
	gen_proc(&g, VMPROF_MSG_FORK, tsc, 0, pid, parent, 0, "");
}

static void exec_of(uint64_t tsc, uint32_t pid, const char *comm)
{
	gen_proc(&g, VMPROF_MSG_EXEC, tsc, 0, pid, 0, 0, comm);
}

static void exit_of(uint64_t tsc, uint32_t pid)
{
	gen_exit(&g, tsc, 0, pid, "", 0, 0, 0, "");
}

static void user(uint64_t tsc, uint64_t cr3, uint64_t ip)
{
	gen_guest(&g, GEN_VM, tsc, cr3, 3, ip, 1);
}

static void finish(uint64_t end)
{
	struct vmp_options o = { .by = VMP_BY_FUNCTION | VMP_KEY(VMP_COL_PID), .vcpu = -1, .pid = -1 };

	token(VMPROF_MSG_SNAP_BEGIN, end);
	token(VMPROF_MSG_SNAP_END, end + TICK);
	gen_agent_flush(&g, GEN_VM, 0);
	gen_records_flush(&g, 0, 1000, end + 2 * TICK);
	profiled_load();
	profiled_make(&o);
}

/* Samples of a process by name; pid VMP_NONE: it is not known */
static uint64_t of(const char *comm, uint32_t pid, const char *module)
{
	const struct vmp_domain *d = &profile->domains.v[0];
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (!strcmp(vmp_model_name(model, d->rows.v[i].comm), comm) && d->rows.v[i].pid == pid &&
		    (!module || !strcmp(vmp_model_name(model, d->rows.v[i].module), module)))
			n += d->rows.v[i].samples;
	return n;
}

/* Code that one has alone tells whose the CR3 is, also before, elsewhere and in the kernel */
static void test_alone(void **state)
{
	(void)state;
	snapshot();
	user(FROM + 1 * TICK, CR3_A, LIBC + 0x10);		/* before it is known */
	user(FROM + 2 * TICK, CR3_A, 10 * 0x100000 + 0x10);
	gen_guest(&g, GEN_VM, FROM + 3 * TICK, CR3_A, 0, GEN_KERNEL, 4);
	user(FROM + 4 * TICK, CR3_B, LIBC + 0x10);		/* nobody's yet: both have it */
	user(FROM + 5 * TICK, CR3_B, 0x123456000);		/* nobody has this */
	gen_guest(&g, GEN_VM, FROM + 6 * TICK, CR3_B, 0, GEN_KERNEL, 2);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("ten", 10, NULL), 6);
	assert_int_equal(of("ten", 10, "libc.so"), 1);
	assert_int_equal(of("[unknown]", VMP_NONE, "libc.so"), 1);
	assert_int_equal(of("[unknown]", VMP_NONE, NULL), 4);
	assert_int_equal(of("twenty", 20, NULL), 0);
	assert_int_equal(profile->domains.v[0].with_process, 6);
	assert_int_equal(profile->domains.v[0].shared, 1);
	assert_int_equal(model->vms.v[0].infer.learned, 1);
}

/* A forked process is its parent's double until it execs; its name is its parent's */
static void test_fork_and_exec(void **state)
{
	(void)state;
	snapshot();
	fork_of(FROM + TICK, 30, 10);
	user(FROM + 2 * TICK, CR3_C, 10 * 0x100000 + 0x10);	/* 10 or 30: both are called ten */
	user(FROM + 3 * TICK, CR3_C, LIBC + 0x10);		/* 10, 20 or 30 */
	exec_of(FROM + 4 * TICK, 30, "prog");
	map(FROM + 4 * TICK + 10, 30, 0x900000, 30, "/bin/prog");
	user(FROM + 5 * TICK, CR3_B, 0x900010);
	user(FROM + 6 * TICK, CR3_A, 10 * 0x100000 + 0x10);	/* only 10 again */
	fork_of(FROM + 7 * TICK, 40, 30);
	user(FROM + 8 * TICK, CR3_C, 0x900010);			/* 30 by its CR3, or its child? not 30 */
	exit_of(FROM + 10 * TICK, 40);
	user(FROM + 12 * TICK, CR3_B, 0x900010);
	exit_of(FROM + 13 * TICK, 30);
	user(FROM + 15 * TICK, CR3_B, 0x900010);		/* nobody is there any more */
	finish(FROM + 20 * TICK);
	assert_int_equal(of("ten", VMP_NONE, "ten"), 1);
	assert_int_equal(of("[unknown]", VMP_NONE, "libc.so"), 1);
	assert_int_equal(of("prog", 30, "prog"), 2);
	assert_int_equal(of("ten", 10, "ten"), 1);
	assert_int_equal(of("prog", VMP_NONE, "prog"), 1);
	assert_int_equal(of("[unknown]", VMP_NONE, "[unknown]"), 1);
	assert_int_equal(model->vms.v[0].infer.contradicted, 0);
}

/* One CR3, one process after the other */
static void test_cr3_reuse(void **state)
{
	uint32_t pid;
	uint64_t t;

	(void)state;
	snapshot();
	for (pid = 100; pid < 110; pid++) {
		t = FROM + (pid - 100) * 10 * TICK;
		fork_of(t + TICK, pid, 10);
		exec_of(t + 2 * TICK, pid, "short");
		map(t + 2 * TICK, pid, 0x40000000 + pid * 0x100000, 50, "/bin/short");
		user(t + 3 * TICK, CR3_C, 0x40000000 + pid * 0x100000);
		gen_guest(&g, GEN_VM, t + 4 * TICK, CR3_C, 0, GEN_KERNEL, 1);
		exit_of(t + 5 * TICK, pid);
	}
	finish(FROM + 200 * TICK);
	for (pid = 100; pid < 110; pid++)
		assert_int_equal(of("short", pid, NULL), 2);
}

/* Of what was lost nothing is known: neither what came before the loss was told of suffers, nor
   does what came after it profit */
static void test_loss(void **state)
{
	(void)state;
	snapshot();
	user(7 * TICK, CR3_A, 10 * 0x100000);			/* before the snapshot was whole */
	fork_of(FROM + TICK, 30, 20);
	exec_of(FROM + 2 * TICK, 30, "early");
	map(FROM + 2 * TICK, 30, 0x900000, 30, "/bin/early");
	user(FROM + 4 * TICK, CR3_C, 0x900010);
	lost(FROM + 10 * TICK, VMPROF_GLOST_STUCK);		/* no event */
	user(FROM + 15 * TICK, CR3_B, 20 * 0x100000);
	lost(FROM + 20 * TICK, VMPROF_GLOST_RING);
	user(FROM + 21 * TICK, CR3_A, 10 * 0x100000);
	user(FROM + 22 * TICK, CR3_C, 0x900020);		/* known by its CR3 since before */
	finish(FROM + 30 * TICK);
	assert_int_equal(of("early", 30, NULL), 2);
	assert_int_equal(of("twenty", 20, NULL), 1);
	assert_int_equal(of("ten", 10, NULL), 0);
	assert_int_equal(of("[unknown]", VMP_NONE, NULL), 2);
	assert_int_equal(model->vms.v[0].infer.known.nr, 1);
}

/* A forked process whose parent nobody told of may have anything mapped */
static void test_unknown_parent(void **state)
{
	(void)state;
	snapshot();
	fork_of(FROM + TICK, 30, 5);				/* the kernel's threads have nothing */
	user(FROM + 2 * TICK, CR3_B, 20 * 0x100000);
	exec_of(FROM + 2 * TICK, 30, "helper");
	map(FROM + 2 * TICK, 30, 0x900000, 30, "/sbin/helper");
	user(FROM + 3 * TICK, CR3_C, 0x900010);
	fork_of(FROM + 4 * TICK, 40, 4711);
	user(FROM + 5 * TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("twenty", 20, NULL), 1);
	assert_int_equal(of("helper", 30, NULL), 1);
	assert_int_equal(of("ten", 10, NULL), 0);
}

/* It was forked while the snapshot was made: the snapshot tells of it itself */
static void test_forked_in_the_snapshot(void **state)
{
	(void)state;
	token(VMPROF_MSG_SNAP_BEGIN, 5 * TICK);
	fork_of(5 * TICK + 10, 30, 4711);
	gen_proc(&g, VMPROF_MSG_PROC, 6 * TICK, 0, 30, 4711, 0, "thirty");
	map(6 * TICK, 30, 0x900000, 30, "/bin/thirty");
	token(VMPROF_MSG_SNAP_END, FROM);
	user(FROM + TICK, CR3_A, 0x900010);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("thirty", 30, NULL), 1);
}

/* Forked while the snapshot was made, by one that it had not told of yet: what it has mapped is
   known when it has called exec, and never where it does not. */
static void forked_by_one_told_later(int calls_exec)
{
	token(VMPROF_MSG_SNAP_BEGIN, 5 * TICK);
	fork_of(5 * TICK + 10, 30, 20);
	snapshot_of_two();
	if (calls_exec) {
		exec_of(FROM + 2 * TICK, 30, "prog");
		map(FROM + 2 * TICK, 30, 0x900000, 30, "/bin/prog");
	}
	user(FROM + 4 * TICK, CR3_A, 10 * 0x100000);
	user(FROM + 5 * TICK, CR3_B, 0x900010);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("ten", 10, NULL), calls_exec);
	assert_int_equal(of("prog", 30, NULL), calls_exec);
	assert_int_equal(model->vms.v[0].infer.known.nr, calls_exec);
}

static void test_opaque_until_exec(void **state)
{
	(void)state;
	forked_by_one_told_later(1);
}

static void test_opaque_to_the_end(void **state)
{
	(void)state;
	forked_by_one_told_later(0);
}

/* One process on two CR3s, or two at once on one: something is not as it was told */
static void test_contradiction(void **state)
{
	(void)state;
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	user(FROM + 2 * TICK, CR3_A, 20 * 0x100000);
	user(FROM + 3 * TICK, CR3_B, 20 * 0x100000);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("[unknown]", VMP_NONE, NULL), 3);
	assert_int_equal(profile->domains.v[0].with_process, 0);
	assert_int_equal(model->vms.v[0].infer.contradicted, 2);
}

/* Threads that end together: the process lives up to the last of them */
static void test_threads_end(void **state)
{
	(void)state;
	snapshot();
	fork_of(FROM + TICK, 30, 10);
	exit_of(FROM + 2 * TICK, 30);
	exit_of(FROM + 5 * TICK, 30);
	user(FROM + 4 * TICK, CR3_C, 10 * 0x100000);		/* 10, or still 30 */
	user(FROM + 7 * TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("ten", 10, NULL), 1);
	assert_int_equal(of("ten", VMP_NONE, NULL), 1);
}

/* What lived in an earlier boot has nothing mapped in this one */
static void test_reboot(void **state)
{
	(void)state;
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	fork_of(FROM + 3 * TICK, 30, 20);
	user(FROM + 5 * TICK, CR3_C, 10 * 0x100000);	/* after the last word of this boot */
	gen_agent_flush(&g, GEN_VM, FROM + 10 * TICK);
	g.offset = -(FROM + 15 * TICK);			/* the guest's TSC begins anew */
	gen_clock_at(&g, GEN_VM, 0, FROM + 15 * TICK + 10, g.offset);
	gen_hello(&g, FROM + 20 * TICK, 2, VMPROF_HELLO_NO_MODULE);
	token(VMPROF_MSG_SNAP_BEGIN, FROM + 21 * TICK);
	gen_proc(&g, VMPROF_MSG_PROC, FROM + 22 * TICK, 0, 77, 1, 0, "after");
	map(FROM + 22 * TICK, 77, 10 * 0x100000, 177, "/bin/after");
	token(VMPROF_MSG_SNAP_END, FROM + 23 * TICK);
	user(FROM + 25 * TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 30 * TICK);
	assert_int_equal(of("ten", 10, NULL), 1);
	assert_int_equal(of("after", 77, NULL), 1);
	assert_int_equal(of("[unknown]", VMP_NONE, NULL), 1);
}

/* With its module the agent tells: nothing is inferred */
static void test_with_module(void **state)
{
	(void)state;
	g.agent_len = 0;
	gen_hello(&g, 2000, 1, 0);
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 9 * TICK);
	assert_int_equal(profile->domains.v[0].with_process, 0);
	assert_int_equal(model->vms.v[0].infer.learned, 0);
}

/* Its module was there but did not start: inferred as without it, and one conversation */
static void test_start_refused(void **state)
{
	(void)state;
	g.agent_len = 0;
	gen_hello(&g, 2000, 1, 0);
	gen_no_module(&g, 2000, 1, VMPROF_HELLO_REFUSED, 12);
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 9 * TICK);
	assert_int_equal(of("ten", 10, NULL), 1);
	assert_int_equal(model->vms.v[0].hellos, 1);
	profiled_text(vmp_render_text);
	gen_says(output, "the agent ran without its module, it did not start: Cannot allocate memory (the guest's kernel log has more): nobody told");
	gen_says_not(output, "began anew");
	gen_says_not(output, "perf events");
	profiled_text(vmp_render_json);
	gen_says(output, "\"without_module\":true,\"without_module_why\":\"it did not start: Cannot allocate memory");
	gen_says_not(output, "without_perf");
}

/* Nor did perf tell it anything: that and what to do is said */
static void test_without_perf(void **state)
{
	(void)state;
	g.agent_len = 0;
	gen_no_module(&g, 2000, 1, VMPROF_HELLO_NO_PERF, 2);
	lost(3000, VMPROF_GLOST_MISSED);
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	finish(FROM + 9 * TICK);
	profiled_text(vmp_render_text);
	gen_says(output, "the agent ran without its module, it is not loaded: nobody told");
	gen_says(output, "refused it perf events, too, so nobody told what began and ended: in the guest, load the module, or sysctl kernel.perf_event_paranoid=2");
	profiled_text(vmp_render_json);
	gen_says(output, "\"without_module_why\":\"it is not loaded\",\"without_perf\":true,");
}

/* It had its module before: what came then is believed, and that it is gone is said */
static void test_later_without_module(void **state)
{
	(void)state;
	g.agent_len = 0;
	gen_hello(&g, 2000, 1, 0);
	snapshot();
	gen_no_module(&g, FROM + TICK, 1, VMPROF_HELLO_REFUSED, 16);
	finish(FROM + 9 * TICK);
	assert_false(vmp_machine_without_module(&model->vms.v[0]));
	assert_int_equal(model->vms.v[0].hellos, 2);
	profiled_text(vmp_render_text);
	gen_says(output, "the agent went on without its module, it did not start: ");
	profiled_text(vmp_render_json);
	gen_says(output, "\"went_on_without_module\":true,\"without_module_why\":\"it did not start: ");
	gen_says_not(output, "\"without_module\":");
	gen_says_not(output, "inferred");
}

static void test_report_says_so(void **state)
{
	(void)state;
	snapshot();
	user(FROM + TICK, CR3_A, 10 * 0x100000);
	user(FROM + 2 * TICK, CR3_B, LIBC);
	finish(FROM + 9 * TICK);
	profiled_text(vmp_render_text);
	gen_says(output, "the agent ran without its module, the agent does not tell why: ");
	gen_says(output, "processes are INFERRED, from code that only one living process had mapped: 1 address spaces, 50.00% of the guest samples");
	gen_says(output, "1 samples (50.00%) more have module and function");
	profiled_text(vmp_render_json);
	gen_says(output, "\"without_module\":true,\"without_module_why\":\"the agent does not tell why\",\"inferred_address_spaces\":1,\"contradicted_address_spaces\":0");
	gen_says(output, "\"inferred_function_only\":1");
}

/* ---------------------------------------------------------------- a storm */

#define STORM		2000
#define STORM_CR3S	16	/* address spaces are used again and again */

static uint32_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1103515245U + 12345U;
	return (seed >> 8) % n;
}

struct truth {
	uint32_t right, wrong, unknown, function_only, wrong_function;
};

static struct truth truth;

/* The vCPU's thread tells the test, and nobody else, whose a sample is */
static int judge(void *arg, const struct vmprof_sample *s)
{
	const struct vmp_space *space = &model->vms.v[0].space;
	const struct vmp_map *m;
	struct vmp_hit hit;

	(void)arg;
	assert_int_equal(vmp_classify(model, s, &hit), 0);
	if (hit.image == VMP_NONE) {
		truth.unknown++;
		return 0;
	}
	if (hit.shared) {
		m = vmp_space_map(space, hit.image, hit.version, hit.addr);
		truth.function_only++;
		truth.wrong_function += !m || m->file == VMP_FILE_ANON;
		return 0;
	}
	if (space->procs.v[space->images.v[hit.image].proc].tgid == s->vcpu_tid)
		truth.right++;
	else
		truth.wrong++;
	return 0;
}

static void sample_of(uint32_t pid, uint64_t tsc, uint64_t cr3, uint8_t cpl, uint64_t ip)
{
	struct vmprof_sample s = {
		.hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 }, .tsc = tsc, .host_pid = GEN_VM,
		.vm = GEN_VM, .vcpu_tid = pid, .flags = VMPROF_SF_LONG_MODE,
		.mode = VMPROF_MODE_GUEST, .cpl = cpl, .vendor = VMPROF_VENDOR_SVM, .guest_ip = ip,
		.guest_cr3 = cr3, .exit_reason = 0x61,
	};

	gen_record(&g, &s, sizeof(s));
}

/*
 * A shell forks short-lived programs, four at a time, each at addresses of its own; some are
 * forks that run the shell's own code.  Of each a few samples, some of them of forked code before
 * the exec, some in the kernel.
 */
static void test_storm(void **state)
{
	uint64_t t, base, lib, cr3;
	uint32_t i, k, pid;
	int execs;

	(void)state;
	seed = 1;
	snapshot();
	for (i = 0; i < STORM; i++) {
		pid = 1000 + i;
		t = FROM + TICK + i * 3 * TICK;
		cr3 = 0x10000000ULL + (i % STORM_CR3S) * 0x2000;
		base = 0x550000000000ULL + ((uint64_t)dice(1 << 24) << 12);
		lib = LIBC + 0x100000000ULL + ((uint64_t)dice(1 << 24) << 12);
		execs = dice(10) != 0;
		fork_of(t, pid, 10);
		sample_of(pid, t + TICK / 4, cr3, dice(2) ? 3 : 0, dice(2) ? 10 * 0x100000 : LIBC);
		if (execs) {
			cr3 += 0x1000;		/* exec brings a new one */
			exec_of(t + TICK / 2, pid, "storm");
			map(t + TICK / 2, pid, base, 300 + dice(50), "/bin/storm");
			map(t + TICK / 2, pid, lib, 7, "/lib/libc.so");
			for (k = 0; k < 5; k++)
				sample_of(pid, t + (3 + k) * TICK / 2, cr3, dice(4) ? 3 : 0,
					  dice(2) ? base + 0x100 : lib + 0x100);
		}
		exit_of(t + 10 * TICK, pid);
		if (i % 500 == 499) {
			gen_agent_flush(&g, GEN_VM, 0);
			gen_records_flush(&g, 0, FROM, t);
		}
	}
	finish(FROM + (STORM + 10) * 3 * TICK);
	assert_int_equal(vmp_model_samples(model, judge, NULL), 0);
	print_message("storm: %u right, %u function only, %u unknown, %u wrong\n", truth.right,
		      truth.function_only, truth.unknown, truth.wrong);
	assert_int_equal(truth.wrong, 0);
	assert_int_equal(truth.wrong_function, 0);
	assert_int_equal(model->vms.v[0].infer.contradicted, 0);
	assert_true(truth.right > 8000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, profiled_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_alone), T(test_fork_and_exec), T(test_cr3_reuse), T(test_loss),
		T(test_unknown_parent), T(test_forked_in_the_snapshot), T(test_contradiction),
		T(test_opaque_until_exec), T(test_opaque_to_the_end),
		T(test_threads_end), T(test_reboot), T(test_with_module), T(test_start_refused),
		T(test_without_perf), T(test_later_without_module), T(test_report_says_so),
		T(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
