// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_model.c - who owned a CR3 when, through whole captures: reuse, exec,
 * vfork, threads, lost events, PTI, reboots, clocks.
 */
#include "gen.h"

#include "model/clock.h"
#include "model/model.h"
#include "model/needed.h"
#include "model/reuse.h"
#include "report/profile.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define CR3_C	0x7000000ULL
#define CODE	0x401000ULL
#define PROG	0x400000ULL, 0x500000ULL, 0

static char *dir, path[128];
static struct gen g;
static struct vmp_model *model;
static struct vmp_profile *profile;

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_profile_destroy(profile);
	vmp_model_close(model);
	profile = NULL;
	model = NULL;
	gen_rmdir(dir);
	return 0;
}

/* What was put into @g so far is all of the capture. */
static void finish(void)
{
	if (g.agent_len)
		gen_agent_flush(&g, GEN_VM, 0);
	gen_records_flush(&g, 0, 1000, 900000);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
}

static void run(uint32_t by)
{
	struct vmp_options o = { .by = by, .vcpu = -1, .pid = -1 };

	vmp_profile_destroy(profile);
	assert_int_equal(vmp_profile_create(&profile, model, &o), 0);
}

static const struct vmp_domain *domain(const char *name)
{
	uint32_t i;

	for (i = 0; i < profile->domains.nr; i++)
		if (!strcmp(vmp_model_name(model, model->vms.v[profile->domains.v[i].vm].name), name))
			return &profile->domains.v[i];
	fail_msg("no domain %s", name);
	return NULL;
}

/* Samples of a process, by name and pid */
static uint64_t of_process(const char *dom, const char *comm, uint32_t pid)
{
	const struct vmp_domain *d = domain(dom);
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (!strcmp(vmp_model_name(model, d->rows.v[i].comm), comm) && d->rows.v[i].pid == pid)
			n += d->rows.v[i].samples;
	return n;
}

/* Samples of a function in a module; NULL any */
static uint64_t of_function(const char *dom, const char *function, const char *module)
{
	const struct vmp_domain *d = domain(dom);
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if ((!function || !strcmp(vmp_model_name(model, d->rows.v[i].function), function)) &&
		    (!module || !strcmp(vmp_model_name(model, d->rows.v[i].module), module)))
			n += d->rows.v[i].samples;
	return n;
}

/* A program from fork to exec: pid's own address space is @cr3 */
static void start_program(uint64_t tsc, uint64_t cr3, uint32_t pid, const char *comm)
{
	gen_proc(&g, VMPROF_MSG_FORK, tsc, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 1, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 2, cr3, pid, 1, VMPROF_PROC_EXEC_DONE, comm);
}

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

/* --------------------------------------------------------------- mappings */

static void test_maps_in_time(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "app");
	gen_map(&g, 2100, CR3_A, 10, PROG, 100, "/usr/bin/app");
	gen_map(&g, 2200, CR3_A, 10, 0x7f0000000000, 0x7f0000010000, 0, 101, "/lib/one.so");
	gen_map(&g, 3000, CR3_A, 10, 0x7f0000000000, 0x7f0000010000, 0, 102, "/lib/two.so");
	gen_map(&g, 3100, CR3_A, 10, 0x7f1000000000, 0x7f1000010000, 0, 0, "");
	gen_guest(&g, GEN_VM, 2010, CR3_A, 3, CODE, 1);	/* its MAP came later: backwards */
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, 0x7f0000001234, 2);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, 0x7f0000001234, 4);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, 0x7f1000001234, 8);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, 0x7f2000001234, 16);
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, 0x7f1000001234, 32);	/* told only later */
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[app+0x1000]", "app"), 1);
	assert_int_equal(of_function("web01", "[one.so+0x1234]", "one.so"), 2);
	assert_int_equal(of_function("web01", "[two.so+0x1234]", "two.so"), 4);
	assert_int_equal(of_function("web01", NULL, "[anon]"), 40);
	assert_int_equal(domain("web01")->why[VMP_WHY_ANON], 40);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 16);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_OBJECT], 7);
	assert_int_equal(domain("web01")->with_function, 0);
}

/* Nobody compares a mapping with a million others. */
static void test_map_flood(void **state)
{
	uint32_t i;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "app");
	for (i = 0; i < VMP_IMAGE_MAPS_MAX + 1000; i++)
		gen_map(&g, 2100, CR3_A, 10, 0x7f0000000000 + i * 0x10000ULL, 0x7f0000008000 + i * 0x10000ULL, 0, 101, "/lib/one.so");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, 0x7f0000001234, 1);
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, 0x7f0000001234 + i * 0x10000ULL - 0x10000, 2);
	finish();
	assert_int_equal(model->vms.v[0].space.maps_over, 1000);
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[one.so+0x1234]", "one.so"), 1);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 2);
}

static void test_maps_through_fork_and_exit(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "sh");
	gen_map(&g, 1600, CR3_A, 10, PROG, 99, "/bin/before");
	gen_map(&g, 1700, CR3_A, 10, PROG, 100, "/bin/sh");
	gen_proc(&g, VMPROF_MSG_FORK, 2000, CR3_B, 20, 10, 0, "sh");
	gen_proc(&g, VMPROF_MSG_FORK, 2500, CR3_C, 30, 20, 0, "sh");	/* a fork of the fork */
	gen_map(&g, 3000, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/late.so");
	gen_map(&g, 3500, CR3_A, 10, PROG, 103, "/bin/replaced");	/* the parent's, later */
	gen_exit(&g, 4000, CR3_C, 30, "sh", 0x800000, 0x900000, 102, "/lib/told-at-exit.so");
	gen_guest(&g, GEN_VM, 2100, CR3_B, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2600, CR3_C, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2600, CR3_C, 3, 0x801000, 4);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[sh+0x1000]", "sh"), 3);
	assert_int_equal(of_function("web01", "[told-at-exit.so+0x1000]", NULL), 4);
}

/* The new program's maps are not the old one's, though the process is. */
static void test_maps_after_exec(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "sh");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/sh");
	gen_proc(&g, VMPROF_MSG_EXEC, 2000, CR3_B, 10, 1, 0, "sh");
	gen_map(&g, 2001, CR3_B, 10, PROG, 101, "/bin/ls");
	gen_proc(&g, VMPROF_MSG_EXEC, 2002, CR3_B, 10, 1, VMPROF_PROC_EXEC_DONE, "ls");
	gen_guest(&g, GEN_VM, 1700, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2500, CR3_B, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2500, CR3_B, 3, 0x990000, 4);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", NULL, "sh"), 1);
	assert_int_equal(of_function("web01", NULL, "ls"), 2);
	assert_int_equal(of_function("web01", NULL, "[unknown]"), 4);
}

/* ----------------------------------------------------------------- kernel */

static void test_kernel(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, "ffffffff81000000 T _stext\n"
		      "ffffffff81000100 t do_something\n"
		      "ffffffff81000100 T __alias\n"
		      "ffffffff81000200 T default_idle\n"
		      "ffffffff81000300 T _etext\n"
		      "ffffffffc0000010 t virtio_work\t[virtio_net]\n"
		      "ffffffffc0800010 t other\t[other]\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x2000000, 0, 0, VMPROF_PROC_KTHREAD, "swapper/0");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL + 0x110, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL + 0x210, 2);	/* idle on its CR3 */
	gen_guest(&g, GEN_VM, 2000, 0x2000000, 0, GEN_KERNEL + 0x110, 4);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, 0xffffffffc0000020, 8);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, 0xffffffffc0400000, 16);	/* between modules */
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, 0x7c00, 32);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "do_something", "vmlinux") +
			 of_function("web01", "__alias", "vmlinux"), 5);
	assert_int_equal(of_function("web01", "__alias", "vmlinux"), 5);	/* global first */
	assert_int_equal(of_function("web01", "virtio_work", "[virtio_net]"), 8);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_KSYM], 16);
	assert_int_equal(domain("web01")->why[VMP_WHY_BOOT], 32);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "swapper", 0), 6);
	assert_int_equal(of_process("web01", "app", 10), 57);
	assert_int_equal(domain("web01")->side[VMP_SIDE_KERNEL], 63);
}

static void test_no_agent(void **state)
{
	(void)state;
	gen_guest(&g, GEN_VM, 2000, CR3_A, 0, GEN_KERNEL, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 2);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[guest kernel]", NULL), 1);
	assert_int_equal(of_function("web01", "[unknown user code]", NULL), 2);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_AGENT], 3);
	assert_int_equal(domain("web01")->with_process, 0);
}

/* ----------------------------------------------------------------- clocks */

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

/* ---------------------------------------------------------------- needed */

struct needed {
	uint32_t vm[8], file[8];
	char key[8][VMP_OBJKEY_MAX], path[8][64];
	int nr;
};

static int on_needed(void *arg, const struct vmp_needed *needed)
{
	struct needed *n = arg;

	assert_true(needed->bytes > 0);
	assert_true(needed->build_id_len == 2 || strstr(needed->key, "/x"));
	n->vm[n->nr] = needed->vm;
	n->file[n->nr] = needed->file;
	snprintf(n->path[n->nr], sizeof(n->path[0]), "%s", needed->path);
	snprintf(n->key[n->nr++], sizeof(n->key[0]), "%s", needed->key);
	return 0;
}

static void test_needed(void **state)
{
	struct needed n = { 0 };

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_file(&g, 9, 104, 10, NULL, 0, "/old/handle");
	gen_hello(&g, 1550, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/hot.so");
	gen_map(&g, 1600, CR3_A, 10, 0x700000, 0x800000, 0, 102, "/lib/cold.so");
	gen_map(&g, 1600, CR3_A, 10, 0x800000, 0x900000, 0, 103, "/lib/untold.so");
	gen_map(&g, 1600, CR3_A, 10, 0x900000, 0xa00000, 0, 104, "/old/handle");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_file(&g, 2, 101, 10, NULL, 0, "/lib/hot.so");
	gen_file(&g, 3, 102, 10, NULL, 0, "/lib/cold.so");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x601000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x603000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x801000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x901000, 1);
	finish();
	assert_int_equal(vmp_needed_objects(path, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);
	assert_int_equal(n.file[0], 2);		/* most sampled first */
	assert_int_equal(n.vm[0], GEN_VM);
	assert_non_null(strstr(n.key[0], "u-1000/x"));
	assert_int_equal(n.file[1], 1);
	assert_string_equal(n.key[1], "u-1000/12ab");
}

/* A file that only an earlier boot's agent told of, and its like that can be had now */
static void test_needed_after_reboot(void **state)
{
	struct needed n = { 0 };

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 1600, CR3_A, 10, PROG, 100, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x600000, 0x700000, 0, 101, "/lib/gone.so");
	gen_map(&g, 1600, CR3_A, 10, 0x800000, 0x900000, 0, 102, "/bin/copy");
	gen_file(&g, 1, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	gen_file(&g, 2, 101, 10, (const uint8_t *)"\x12\xac", 2, "/lib/gone.so");
	gen_file(&g, 3, 102, 10, (const uint8_t *)"\x12\xab", 2, "/bin/copy");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x601000, 1);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, 0x801000, 1);
	g.offset = (uint64_t)-4000;
	gen_clock_at(&g, GEN_VM, 0, 4000, g.offset);
	gen_hello(&g, 5000, 2, 0);
	gen_file(&g, 7, 100, 10, (const uint8_t *)"\x12\xab", 2, "/bin/app");
	finish();
	assert_int_equal(vmp_needed_objects(path, on_needed, &n), 0);
	assert_int_equal(n.nr, 2);	/* and once only */
	assert_int_equal(n.file[0], 7);
	assert_string_equal(n.key[0], "u-1000/12ab");
	assert_string_equal(n.path[0], "/bin/app");
	/* the agent has no handle for it, but its build-id says what it is */
	assert_int_equal(n.file[1], 0);
	assert_string_equal(n.key[1], "u-1000/12ac");
	assert_string_equal(n.path[1], "/lib/gone.so");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_cr3_reuse), T(test_same_cr3_in_two_vms), T(test_exec), T(test_vfork),
		T(test_vfork_of_threaded), T(test_threads), T(test_lost_begin), T(test_lost_fork),
		T(test_restart_closes), T(test_restart_without_snapshot), T(test_final_snapshot),
		T(test_first_snapshot), T(test_pti), T(test_no_pti), T(test_reboot),
		T(test_reboot_without_arrival_times), T(test_two_reboots),
		T(test_boot_flood), T(test_out_of_order), T(test_pid_reuse_and_names), T(test_agent_restart),
		T(test_maps_in_time), T(test_map_flood), T(test_maps_through_fork_and_exit), T(test_maps_after_exec),
		T(test_kernel), T(test_no_agent), T(test_migration), T(test_needed),
		T(test_needed_after_reboot),
		cmocka_unit_test(test_clock_moves), cmocka_unit_test(test_clock_skew),
		cmocka_unit_test(test_clock_ratio), cmocka_unit_test(test_clock_sources),
		cmocka_unit_test(test_clock_by_arrival),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
