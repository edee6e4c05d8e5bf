// SPDX-License-Identifier: GPL-2.0-only
/* test_model.c - who owned a CR3 when, through whole captures: reuse, exec, vfork, threads, lost events, PTI. */
#include "modelled.h"

#include "model/reuse.h"

static void test_cr3_reuse(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "seq");
	gen_exit(&g, 3000, CR3_A, 10, "seq", PROG, "");
	start_program(4000, CR3_A, 11, "true");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 0, GEN_KERNEL, 2);	/* teardown, lazy TLB */
	gen_guest(&g, GEN_VM, 4002, CR3_A, 3, CODE, 4);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "seq", 10), 3);
	assert_int_equal(of_process("web01", "true", 11), 4);
	assert_int_equal(vmp_reuse_in_time(&model->vms.v[0].space), 1);
	assert_int_equal(vmp_reuse_in_others(model, 0), 0);
}

static void test_same_cr3_in_two_vms(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "nginx");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_vm(&g, 2000, "web02");
	gen_clock_at(&g, 2000, 0, 1000, GEN_OFFSET);
	g.seq = 0;
	gen_hello(&g, 1500, 2, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "postgres");
	gen_agent_flush(&g, 2000, 0);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 3);
	gen_guest(&g, 2000, 2000, CR3_A, 3, CODE, 5);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "nginx", 10), 3);
	assert_int_equal(of_process("web01", "postgres", 10), 0);
	assert_int_equal(of_process("web02", "postgres", 10), 5);
	assert_int_equal(domain("web01")->total, 3);
	assert_int_equal(domain("web02")->total, 5);
	assert_int_equal(vmp_reuse_in_others(model, 0), 1);
	assert_int_equal(vmp_reuse_in_others(model, 1), 1);
	assert_int_equal(vmp_reuse_in_time(&model->vms.v[0].space), 0);
}

static void test_exec(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 2000, CR3_A, 10, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, 3000, CR3_B, 10, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, 3500, CR3_B, 10, 1, VMPROF_PROC_EXEC_DONE, "ls");
	gen_proc(&g, VMPROF_MSG_COMM, 3600, CR3_B, 12, 10, 0, "worker");	/* another process */
	gen_guest(&g, GEN_VM, 2100, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 3001, CR3_B, 3, CODE, 2);	/* before it is loaded */
	gen_guest(&g, GEN_VM, 4000, CR3_B, 3, CODE, 4);
	gen_guest(&g, GEN_VM, 4100, CR3_A, 0, GEN_KERNEL, 8);	/* old space torn down */
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "sh", 10), 9);
	assert_int_equal(of_process("web01", "ls", 10), 6);
}

/* A runs B runs C, as wrappers do: C gets the page tables that A gave back, the process stays one */
static void test_exec_chain(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "a");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_proc(&g, VMPROF_MSG_EXEC, 3000, CR3_B, 10, 1, 0, "a");
	gen_proc(&g, VMPROF_MSG_EXEC, 3001, CR3_B, 10, 1, VMPROF_PROC_EXEC_DONE, "b");
	gen_map(&g, 3001, CR3_B, 10, PROG, 100, "/bin/b");
	gen_guest(&g, GEN_VM, 3500, CR3_B, 3, CODE, 2);
	gen_proc(&g, VMPROF_MSG_EXEC, 4000, CR3_A, 10, 1, 0, "b");
	gen_proc(&g, VMPROF_MSG_EXEC, 4001, CR3_A, 10, 1, VMPROF_PROC_EXEC_DONE, "c");
	gen_map(&g, 4001, CR3_A, 10, PROG, 101, "/bin/c");
	gen_guest(&g, GEN_VM, 4500, CR3_A, 3, CODE, 4);
	gen_exit(&g, 5000, CR3_A, 10, "c", 0x400000, 0x500000, 101, "/bin/c");
	finish();
	run(VMP_BY_FUNCTION | VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "a", 10), 1);
	assert_int_equal(of_process("web01", "b", 10), 2);
	assert_int_equal(of_process("web01", "c", 10), 4);
	assert_int_equal(of_function("web01", "[b+0x1000]", "b"), 2);
	assert_int_equal(of_function("web01", "[c+0x1000]", "c"), 4);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 1);	/* nobody told what A had mapped */
}

static void vfork_story(uint32_t thread)
{
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "make");
	if (thread) {
		struct vmprof_proc p = gen_proc_of(&g, 1700, CR3_A, thread, 10, 1, 0, "make");

		gen_frame(&g, VMPROF_MSG_FORK, &p, sizeof(p), NULL, 0);
	}
	gen_proc(&g, VMPROF_MSG_FORK, 2000, CR3_A, 20, 10, 0, "make");
	gen_proc(&g, VMPROF_MSG_EXEC, 2200, CR3_B, 20, 10, 0, "make");
	gen_proc(&g, VMPROF_MSG_EXEC, 2201, CR3_B, 20, 10, VMPROF_PROC_EXEC_DONE, "cc");
	gen_proc(&g, VMPROF_MSG_FORK, 3000, CR3_A, 21, 10, 0, "make");
	gen_exit(&g, 3100, CR3_A, 21, "make", PROG, "");	/* no exec: it failed */
	gen_guest(&g, GEN_VM, 1900, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2100, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2300, CR3_A, 3, CODE, 4);
	gen_guest(&g, GEN_VM, 2300, CR3_B, 3, CODE, 8);
	gen_guest(&g, GEN_VM, 3050, CR3_A, 3, CODE, 16);
	gen_guest(&g, GEN_VM, 3200, CR3_A, 3, CODE, 32);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "cc", 20), 8);
}

/* While the parent waits, the shared CR3 is the child's; then the parent's again. */
static void test_vfork(void **state)
{
	(void)state;
	vfork_story(0);
	assert_int_equal(of_process("web01", "make", 20), 2);
	assert_int_equal(of_process("web01", "make", 21), 16);
	assert_int_equal(of_process("web01", "make", 10), 37);
	/* lent and given back */
	assert_int_equal(vmp_reuse_in_time(&model->vms.v[0].space), 0);
}

/* Its other threads run on: they are the parent's. */
static void test_vfork_of_threaded(void **state)
{
	(void)state;
	vfork_story(11);
	assert_int_equal(of_process("web01", "make", 10), 55);
}

static void test_threads(void **state)
{
	struct vmprof_proc p;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "java");
	p = gen_proc_of(&g, 2100, CR3_A, 11, 10, 1, 0, "java");
	gen_frame(&g, VMPROF_MSG_FORK, &p, sizeof(p), NULL, 0);
	p = gen_proc_of(&g, 2200, CR3_A, 11, 10, 1, 0, "GC Thread#0");
	gen_frame(&g, VMPROF_MSG_COMM, &p, sizeof(p), NULL, 0);
	p = gen_proc_of(&g, 2300, CR3_A, 11, 10, 1, 0, "GC Thread#0");
	gen_frame(&g, VMPROF_MSG_EXIT, &p, sizeof(p), NULL, 0);	/* not the last */
	gen_proc(&g, VMPROF_MSG_COMM, 2350, CR3_A, 10, 1, 0, "tomcat");
	gen_guest(&g, GEN_VM, 2250, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2400, CR3_A, 3, CODE, 2);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "tomcat", 10), 3);
	assert_int_equal(domain("web01")->rows.nr, 1);
}

/* Only the exit arrived: it counts back to the exit of the one before. */
static void test_lost_begin(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_exit(&g, 2000, CR3_A, 10, "first", PROG, "");
	gen_exit(&g, 3000, CR3_A, 11, "second", PROG, "");
	gen_proc(&g, VMPROF_MSG_PROC, 5000, CR3_A, 12, 1, 0, "third");
	gen_guest(&g, GEN_VM, 1200, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, CODE, 4);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "first", 10), 1);
	assert_int_equal(of_process("web01", "second", 11), 2);
	assert_int_equal(of_process("web01", "third", 12), 4);
	assert_true(model->vms.v[0].space.repaired >= 2);
}

/* Nobody told who has the CR3 after an exit: user code on it is not the dead one's. */
static void test_lost_fork(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "seq");
	gen_exit(&g, 3000, CR3_A, 10, "seq", PROG, "");
	gen_guest(&g, GEN_VM, 2999, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, CODE, 4);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 0, GEN_KERNEL, 8);	/* its own teardown */
	gen_guest(&g, GEN_VM, 1000003100ULL, CR3_A, 0, GEN_KERNEL, 16);	/* a second later */
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "seq", 10), 10);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 20);
}

/* What ran on the CR3 before the snapshot is the process's only where its mappings allow it */
static void test_before_the_snapshot(void **state)
{
	const uint64_t other = CODE + 0x10000000;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 5000, CR3_A, 12, 1, 0, "httpd");
	gen_map(&g, 5000, CR3_A, 12, PROG, 100, "/bin/httpd");
	gen_proc(&g, VMPROF_MSG_PROC, 5001, CR3_B, 13, 1, 0, "untold");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2100, CR3_A, 3, other, 2);
	gen_guest(&g, GEN_VM, 2200, CR3_A, 0, GEN_KERNEL, 4);
	gen_guest(&g, GEN_VM, 6000, CR3_A, 3, other, 8);
	gen_guest(&g, GEN_VM, 2000, CR3_B, 3, other, 16);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "httpd", 12), 13);
	assert_int_equal(of_process("web01", "untold", 13), 16);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 2);
}

static void pti(uint32_t flags)
{
	gen_hello(&g, 1500, 1, flags);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "a");
	gen_guest(&g, GEN_VM, 2000, CR3_A | 0x005 | 1ULL << 63, 0, GEN_KERNEL, 1);	/* PCID, no flush */
	gen_guest(&g, GEN_VM, 2000, CR3_A | 0x1805, 3, CODE, 2);	/* user half */
	finish();
	run(VMP_BY_PROCESS);
}

static void test_pti(void **state)
{
	(void)state;
	pti(VMPROF_HELLO_PTI);
	assert_int_equal(of_process("web01", "a", 10), 3);
}

/* Without PTI bit 12 is part of the address. */
static void test_no_pti(void **state)
{
	(void)state;
	pti(0);
	assert_int_equal(of_process("web01", "a", 10), 1);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 2);
}

/* CPUs' messages may overtake each other: time counts, not arrival. */
static void test_out_of_order(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(4000, CR3_A, 11, "late");
	gen_exit(&g, 3000, CR3_A, 10, "early", PROG, "");
	start_program(2000, CR3_A, 10, "early");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 4500, CR3_A, 3, CODE, 2);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "early", 10), 1);
	assert_int_equal(of_process("web01", "late", 11), 2);
}

static void test_pid_reuse_and_names(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 2000, CR3_A, 10, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_COMM, 2100, CR3_A, 10, 1, 0, "(worker)");
	gen_exit(&g, 3000, CR3_A, 10, "(worker)", PROG, "");
	gen_proc(&g, VMPROF_MSG_FORK, 4000, CR3_B, 10, 1, 0, "cron");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 4500, CR3_B, 3, CODE, 2);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "(worker)", 10), 1);
	assert_int_equal(of_process("web01", "cron", 10), 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_cr3_reuse), T(test_same_cr3_in_two_vms), T(test_exec), T(test_exec_chain), T(test_vfork),
		T(test_vfork_of_threaded), T(test_threads), T(test_lost_begin), T(test_lost_fork),
		T(test_before_the_snapshot), T(test_pti), T(test_no_pti), T(test_out_of_order), T(test_pid_reuse_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
