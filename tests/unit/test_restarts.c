// SPDX-License-Identifier: GPL-2.0-only
/* test_restarts.c - guests that boot anew, agents that begin anew, and what snapshots tell of the time between. */
#include "modelled.h"

static void gen_snap_end(uint64_t tsc)
{
	struct vmprof_token t = { .token = 1, .tsc = tsc + g.offset };

	gen_frame(&g, VMPROF_MSG_SNAP_END, &t, sizeof(t), NULL, 0);
}

/* While the agent was away a process ended and another got its CR3; a third lived on,
   a fourth began a new program. */
static void restart(int snapshot_ends)
{
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "gone");
	gen_proc(&g, VMPROF_MSG_PROC, 1700, CR3_B, 11, 1, 0, "stays");
	gen_proc(&g, VMPROF_MSG_PROC, 1800, CR3_C, 12, 1, 0, "sh");
	gen_hello(&g, 5000, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 5100, CR3_B, 11, 1, 0, "stays");
	gen_proc(&g, VMPROF_MSG_PROC, 5200, CR3_C + 0x1000, 12, 1, 0, "ls");
	if (snapshot_ends)
		gen_snap_end(5300);
	gen_guest(&g, GEN_VM, 1750, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 6000, CR3_A, 3, CODE, 4);
	gen_guest(&g, GEN_VM, 3000, CR3_B, 3, CODE, 8);
	gen_guest(&g, GEN_VM, 6000, CR3_B, 3, CODE, 16);
	gen_guest(&g, GEN_VM, 6000, CR3_C, 3, CODE, 32);
	gen_guest(&g, GEN_VM, 6000, CR3_C + 0x1000, 3, CODE, 64);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "stays", 11), 24);
	assert_int_equal(of_process("web01", "sh", 12), 0);
	assert_int_equal(of_process("web01", "ls", 12), 64);
}

static void test_restart_closes(void **state)
{
	(void)state;
	restart(1);
	assert_int_equal(of_process("web01", "gone", 10), 1);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 38);
}

/* Half a snapshot says nothing about those that it does not hold. */
static void test_restart_without_snapshot(void **state)
{
	(void)state;
	restart(0);
	assert_int_equal(of_process("web01", "gone", 10), 7);
}

/* An exec was lost: the snapshot at the end tells of the new address space. */
static void test_final_snapshot(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 2000, CR3_A, 10, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_PROC, 5000, CR3_B, 10, 1, 0, "sleep");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 4000, CR3_B, 3, CODE, 2);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "sh", 10), 1);
	assert_int_equal(of_process("web01", "sleep", 10), 2);
}

/* A process of the first snapshot was there from the beginning. */
static void test_first_snapshot(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 1, 0, 0, "systemd");
	gen_guest(&g, GEN_VM, 1100, CR3_A, 3, CODE, 3);
	gen_guest(&g, GEN_VM, 1100, CR3_B, 3, CODE, 5);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "systemd", 1), 3);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 5);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_OWNER], 5);
	assert_int_equal(domain("web01")->with_process, 3);
}

/* After a reset CR3s, the kernel's place and the TSC begin anew.  Guest TSCs of
   both boots overlap: the first one's events, read by the second one's clock,
   would lie within the session too. */
static void reboot(int arrival)
{
	g.records_len = 0;
	g.offset = 500;
	gen_clock_at(&g, GEN_VM, 0, 1000, g.offset);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 61000, CR3_B, 9, 1, 0, "first-boot");
	gen_guest(&g, GEN_VM, 61005, CR3_B, 3, CODE, 8);
	gen_ksyms(&g, "ffffffff81000000 T old_kernel\nffffffff81001000 T old_end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "before");
	gen_agent_flush(&g, GEN_VM, arrival ? 62000 : 0);
	g.offset = (uint64_t)-100000;		/* guest TSC is 0 at host 100000 */
	gen_clock_at(&g, GEN_VM, 0, 100010, g.offset);
	gen_hello(&g, 150000, 2, 0);
	gen_ksyms(&g, "ffffffff81000000 T new_kernel\nffffffff81001000 T new_end\n");
	gen_proc(&g, VMPROF_MSG_PROC, 151000, CR3_A, 10, 1, 0, "after");
	gen_agent_flush(&g, GEN_VM, arrival ? 160000 : 0);
	gen_guest(&g, GEN_VM, 50000, CR3_A, 0, GEN_KERNEL + 0x10, 1);
	gen_guest(&g, GEN_VM, 120000, CR3_A, 0, GEN_KERNEL + 0x10, 2);
	gen_guest(&g, GEN_VM, 170000, CR3_A, 0, GEN_KERNEL + 0x10, 4);
	gen_guest(&g, GEN_VM, 170000, CR3_B, 3, CODE, 16);	/* told of in the first boot only */
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 16);
	assert_int_equal(of_process("web01", "before", 10), 1);
	assert_int_equal(of_process("web01", "after", 10), 6);
	assert_int_equal(of_process("web01", "first-boot", 9), 8);
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "old_kernel", "vmlinux"), 1);
	assert_int_equal(of_function("web01", "new_kernel", "vmlinux"), 6);
}

static void test_reboot(void **state)
{
	(void)state;
	reboot(1);
}

static void test_reboot_without_arrival_times(void **state)
{
	(void)state;
	reboot(0);
}

/* Three boots: the second one's HELLO would fit the third one's clock as well. */
static void test_two_reboots(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	g.offset = (uint64_t)-100000;
	gen_clock_at(&g, GEN_VM, 0, 100010, g.offset);
	gen_hello(&g, 130000, 2, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 140000, CR3_A, 10, 1, 0, "second");
	g.offset = (uint64_t)-200000;
	gen_clock_at(&g, GEN_VM, 0, 200010, g.offset);
	gen_hello(&g, 250000, 3, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 260000, CR3_A, 10, 1, 0, "third");
	gen_guest(&g, GEN_VM, 150000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 270000, CR3_A, 3, CODE, 2);
	finish();
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "second", 10), 1);
	assert_int_equal(of_process("web01", "third", 10), 2);
}

/*
 * A snapshot is loaded: the same boot once more, from an earlier moment on.  What the guest told of the time
 * that it lost would fit the clock after it, and the other way round.
 */
static void test_snapshot_is_loaded(void **state)
{
	(void)state;
	g.records_len = 0;
	g.offset = 500000;
	gen_clock_at(&g, GEN_VM, 0, 1000, g.offset);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "before");
	gen_proc(&g, VMPROF_MSG_FORK, 90000, CR3_B, 9, 1, 0, "undone");
	g.offset -= 98000;		/* the guest is at 2000 again when the host is at 100000 */
	gen_clock_at(&g, GEN_VM, 0, 100010, g.offset);
	gen_hello(&g, 150000, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 151000, CR3_A, 10, 1, 0, "after");
	gen_proc(&g, VMPROF_MSG_FORK, 160000, CR3_C, 9, 1, 0, "again");
	gen_guest(&g, GEN_VM, 50000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 62005, CR3_C, 3, CODE, 2);	/* nobody's yet */
	gen_guest(&g, GEN_VM, 90005, CR3_B, 3, CODE, 4);
	gen_guest(&g, GEN_VM, 120000, CR3_A, 3, CODE, 8);
	gen_guest(&g, GEN_VM, 120000, CR3_B, 3, CODE, 16);	/* no more */
	gen_guest(&g, GEN_VM, 160005, CR3_C, 3, CODE, 32);
	gen_guest(&g, GEN_VM, 195000, CR3_B, 3, CODE, 64);
	finish();
	assert_int_equal(model->vms.v[0].boots.nr, 2);
	assert_int_equal(model->vms.v[0].went_back, 1);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "before", 10), 1);
	assert_int_equal(of_process("web01", "undone", 9), 4);
	assert_int_equal(of_process("web01", "after", 10), 8);
	assert_int_equal(of_process("web01", "again", 9), 32);
	assert_int_equal(of_process("web01", "[unknown]", VMP_NONE), 2 + 16 + 64);
}

/* A guest may say that it booted as often as it likes: memory and time stay bounded. */
static void test_boot_flood(void **state)
{
	const struct vmp_space *s;
	uint64_t tsc;
	uint32_t i, e;

	(void)state;
	for (i = 0; i < 1000; i++)
		gen_hello(&g, 1500 + i, (uint8_t)i, 0);
	finish();
	s = &model->vms.v[0].space;
	assert_int_equal(model->vms.v[0].boots.nr, VMP_BOOTS_MAX);
	/* twice it says the last one again: that is the agent, not the guest */
	assert_int_equal(model->vms.v[0].more_boots, 1000 - VMP_BOOTS_MAX - 2);
	assert_int_equal(model->vms.v[0].hellos, 1000);
	assert_int_equal(s->epochs.nr, VMP_BOOTS_MAX);
	for (tsc = 0; tsc < 2000; tsc++) {
		for (e = s->epochs.nr - 1; e && s->epochs.v[e].begin > tsc; e--)
			;
		assert_int_equal(vmp_space_epoch_at(s, tsc), e);
	}
	assert_int_equal(vmp_space_epoch_at(s, UINT64_MAX), VMP_BOOTS_MAX - 1);
}

/* The agent restarted: same boot, nothing is forgotten. */
static void test_agent_restart(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "db");
	gen_hello(&g, 5000, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 5100, CR3_A, 10, 1, 0, "db");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 6000, CR3_A, 3, CODE, 1);
	finish();
	assert_int_equal(model->vms.v[0].boots.nr, 1);
	assert_int_equal(model->vms.v[0].hellos, 2);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "db", 10), 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_restart_closes), T(test_restart_without_snapshot), T(test_final_snapshot),
		T(test_first_snapshot), T(test_reboot), T(test_reboot_without_arrival_times),
		T(test_two_reboots), T(test_snapshot_is_loaded), T(test_boot_flood), T(test_agent_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
