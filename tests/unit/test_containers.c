// SPDX-License-Identifier: GPL-2.0-only
/* test_containers.c - where a process is, by its own pid namespace and its cgroup: from what an agent tells to rows. */
#include "modelled.h"

#include "report/render.h"

#define PLACES	(VMP_KEY(VMP_COL_PROCESS) | VMP_KEY(VMP_COL_PID) | VMP_KEY(VMP_COL_NSPID) | VMP_KEY(VMP_COL_CGROUP))

/* Samples of a process that is there; "" in none, VMP_NONE not known */
static uint64_t at(uint32_t pid, uint32_t nspid, const char *cgroup)
{
	const struct vmp_domain *d = domain("web01");
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (d->rows.v[i].pid == pid && d->rows.v[i].nspid == nspid &&
		    !strcmp(vmp_model_name(model, d->rows.v[i].cgroup), cgroup))
			n += d->rows.v[i].samples;
	return n;
}

/* systemd forks, moves the child and it runs its program; that forks workers, in a namespace of their own */
static void test_told_by_events(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_A, 1, 0, 0, "systemd", 1, "/init.scope");
	gen_proc_in(&g, VMPROF_MSG_FORK, 2000, CR3_B, 20, 1, 0, "systemd", 20, "");
	gen_guest(&g, GEN_VM, 2001, CR3_B, 3, CODE, 3);
	gen_proc(&g, VMPROF_MSG_EXEC, 3000, CR3_C, 20, 1, 0, "systemd");
	gen_proc_in(&g, VMPROF_MSG_EXEC, 3002, CR3_C, 20, 1, VMPROF_PROC_EXEC_DONE, "web", 20, "/system.slice/web.service");
	gen_guest(&g, GEN_VM, 3010, CR3_C, 3, CODE, 5);
	gen_proc_in(&g, VMPROF_MSG_FORK, 4000, CR3_B, 30, 20, 0, "web", 1, "");
	gen_guest(&g, GEN_VM, 4001, CR3_B, 3, CODE, 7);
	gen_proc(&g, VMPROF_MSG_EXIT, 5000, CR3_B, 30, 20, VMPROF_PROC_LAST, "web");
	/* another program, while it is loaded */
	gen_proc(&g, VMPROF_MSG_EXEC, 6000, 0x8000000, 20, 1, 0, "web");
	gen_guest(&g, GEN_VM, 6001, 0x8000000, 0, CODE, 4);
	finish();
	run(PLACES);
	assert_int_equal(at(20, 20, "/init.scope"), 3);
	assert_int_equal(at(20, 20, "/system.slice/web.service"), 9);
	assert_int_equal(at(30, 1, "/system.slice/web.service"), 7);
	/* rows that they do not tell apart stay one */
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "web", 20), 9);
	run(VMP_KEY(VMP_COL_CGROUP));
	assert_int_equal(domain("web01")->rows.nr, 2);
	assert_int_equal(at(VMP_NONE, VMP_NONE, "/system.slice/web.service"), 16);
}

/* Lost events: what the snapshot tells; and a process that was moved is where it was told of last */
static void test_told_by_snapshots(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app", 4, "/a");
	/* forked while it was not told of yet */
	gen_proc_in(&g, VMPROF_MSG_FORK, 1590, 0x8000000, 12, 11, 0, "app", 6, "");
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_B, 11, 1, 0, "app", 5, "/a");
	gen_guest(&g, GEN_VM, 2000, 0x8000000, 3, CODE, 32);
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2000, CR3_B, 3, CODE, 3);
	gen_proc_in(&g, VMPROF_MSG_PROC, 9000, CR3_A, 10, 1, 0, "app", 4, "/b");
	gen_proc_in(&g, VMPROF_MSG_PROC, 9000, CR3_B, 11, 1, 0, "app", 5, "/a");
	finish();
	run(PLACES);
	assert_int_equal(at(10, 4, "/b"), 2);
	assert_int_equal(at(11, 5, "/a"), 3);
	assert_int_equal(at(12, 6, "/a"), 32);
}

/* Agents up to version 6 */
static void test_not_told(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2000, CR3_B, 3, CODE, 3);
	finish();
	run(PLACES);
	assert_int_equal(at(10, VMP_NONE, ""), 2);
	assert_int_equal(at(VMP_NONE, VMP_NONE, ""), 3);
}

/* What a report shows, and in which order; a cgroup's name is a guest's word */
static void test_shown(void **state)
{
	static const enum vmp_column levels[] = { VMP_COL_CGROUP, VMP_COL_NSPID, VMP_COL_PROCESS };
	struct vmp_options o = { .by = PLACES, .vcpu = -1, .pid = -1, .nr_sort = 1, .sort = { { VMP_COL_CGROUP, 1, 0 } } };
	struct vmp_render r = { .path = path };
	char *text;
	size_t len;
	FILE *f;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app", 4, "/b\033]0;x\007\n");
	gen_proc_in(&g, VMPROF_MSG_PROC, 1600, CR3_B, 11, 1, 0, "app", 5, "/a");
	gen_guest(&g, GEN_VM, 2000, CR3_A, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2000, CR3_B, 3, CODE, 3);
	gen_guest(&g, GEN_VM, 2000, CR3_C, 3, CODE, 1);
	finish();
	assert_int_equal(vmp_profile_create(&profile, model, &o), 0);
	f = open_memstream(&text, &len);
	vmp_render_text(f, profile, &o, &r);
	fclose(f);
	gen_says(text, "   Samples    %CPU  Process    PID  NSPID  Cgroup\n"
		 "         1   16.67  [unknown]  -    -      -\n"
		 "         3   50.00  app        11   5      /a\n"
		 "         2   33.33  app        10   4      /b\\x1b]0;x\\x07\\x0a\n");
	free(text);
	f = open_memstream(&text, &len);
	vmp_render_json(f, profile, &o, &r);
	fclose(f);
	gen_says(text, "\"nspid\":5,\"cgroup\":\"/a\"");
	free(text);
	for (r.levels.nr = 0; r.levels.nr < 3; r.levels.nr++)
		r.levels.column[r.levels.nr] = (uint8_t)levels[r.levels.nr];
	f = open_memstream(&text, &len);
	vmp_render_text(f, profile, &o, &r);
	fclose(f);
	gen_says(text, "/a\n");
	gen_says(text, "NSPID 5\n");
	gen_says_not(text, "\033");
	free(text);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_told_by_events), T(test_told_by_snapshots), T(test_not_told), T(test_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
