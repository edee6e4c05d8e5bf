// SPDX-License-Identifier: GPL-2.0-only
/* test_guest_task.c - how the guest module describes a task, compiled as it is: also one that was released. */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "../../guest-agent/module/task.c"

atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

static struct pid pid = { .level = 1, .numbers = { { 70 }, { 7 } } };

u64 vmpg_mm_cr3(const struct mm_struct *mm)
{
	return mm ? 0x1000 : 0;
}

int vmpg_cgroup_path(struct task_struct *task, char *buf, size_t room)
{
	(void)task;
	return snprintf(buf, room, "/a.slice");
}

static void test_lives(void **state)
{
	struct task_struct parent = { .tgid = 60 };
	struct task_struct task = { .tgid = 70, .pid = 71, .comm = "name", .real_parent = &parent, .thread_pid = &pid };
	struct vmprof_proc proc;

	(void)state;
	vmpg_task_fill(&proc, &task, NULL, VMPROF_PROC_LAST);
	assert_int_equal(proc.tgid, 70);
	assert_int_equal(proc.pid, 71);
	assert_int_equal(proc.ppid, 60);
	assert_int_equal(proc.cr3, 0);
	assert_int_equal(proc.flags, VMPROF_PROC_LAST);
	assert_string_equal((char *)proc.comm, "name");
	task.flags = PF_KTHREAD;
	vmpg_task_fill(&proc, &task, NULL, 0);
	assert_int_equal(proc.flags, VMPROF_PROC_KTHREAD);
}

/* Its parent may have gone since, and is not looked at */
static void test_released(void **state)
{
	struct task_struct *parent = malloc(sizeof(*parent));
	struct task_struct task = { .tgid = 70, .pid = 71, .real_parent = parent };
	struct {
		struct vmprof_place place;
		char path[16];
	} at;
	struct vmprof_proc proc;

	(void)state;
	assert_non_null(parent);
	parent->tgid = 60;
	free(parent);
	vmpg_task_fill(&proc, &task, NULL, 0);
	assert_int_equal(proc.tgid, 70);
	assert_int_equal(proc.ppid, 0);
	assert_int_equal(vmpg_task_place(&at, sizeof(at), &task), sizeof(at.place) + 8);
	assert_int_equal(at.place.nspid, 0);
}

/* A path that does not fit is counted, and told not at all */
static void test_place(void **state)
{
	struct task_struct task = { .tgid = 70, .thread_pid = &pid };
	struct {
		struct vmprof_place place;
		char path[16];
	} at;

	(void)state;
	assert_int_equal(vmpg_task_place(&at, sizeof(at), &task), sizeof(at.place) + 8);
	assert_int_equal(at.place.nspid, 7);
	assert_int_equal(at.place.cgroup_len, 8);
	assert_memory_equal(at.path, "/a.slice", 8);
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_PATH].counter, 0);
	assert_int_equal(vmpg_task_place(&at, sizeof(at.place) + 8, &task), sizeof(at.place));
	assert_int_equal(at.place.cgroup_len, 0);
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_PATH].counter, 1);
	/* who has no room for one does not ask */
	assert_int_equal(vmpg_task_place(&at, sizeof(at.place), &task), sizeof(at.place));
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_PATH].counter, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives), cmocka_unit_test(test_released), cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
