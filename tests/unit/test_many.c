// SPDX-License-Identifier: GPL-2.0-only
/* test_many.c - a guest that tells of more processes and files than anybody runs: what is left out, and the memory that the rest takes. */
#include "modelled.h"

#include <sys/resource.h>
#include <sys/wait.h>

static struct vmp_space space;

static void event(unsigned int type, uint64_t tsc, uint64_t cr3, uint32_t tgid, uint32_t flags)
{
	const struct vmp_space_event ev = {
		.type = type, .tsc = tsc, .cr3 = cr3, .pid = tgid, .tgid = tgid, .ppid = 1, .flags = flags,
	};

	assert_int_equal(vmp_space_event(&space, &ev), 0);
}

/* What is behind the limit is lost, and takes nothing from what came before: not its time, and not its end. */
static void test_programs(void **state)
{
	const uint32_t last = VMPROF_PROC_LAST;
	uint32_t i;

	(void)state;
	finish();
	vmp_space_init(&space);
	assert_int_equal(space.images_max, VMP_IMAGES_MAX);
	space.images_max = 4;
	assert_int_equal(vmp_space_epoch(&space, 0, 0), 0);
	for (i = 0; i < 4; i++)
		event(VMPROF_MSG_FORK, 100 + i, 0x10000 + 0x1000 * i, 10 + i, 0);
	assert_int_equal(space.images_over, 0);
	event(VMPROF_MSG_EXIT, 200, 0x10000, 10, last);
	assert_int_equal(space.images.v[0].end, 200);
	/* a new process where the first one was; a number that is used again; another program in a process */
	event(VMPROF_MSG_FORK, 300, 0x10000, 20, 0);
	event(VMPROF_MSG_FORK, 400, 0x50000, 11, 0);
	event(VMPROF_MSG_EXEC, 500, 0x60000, 12, 0);
	assert_int_equal(space.images_over, 3);
	assert_int_equal(space.images.nr, 4);
	assert_int_equal(space.procs.nr, 4);
	assert_int_equal(space.images.v[1].end, 400);
	assert_int_equal(space.images.v[2].end, 500);
	/* nothing of them is known, whatever is told next */
	event(VMPROF_MSG_EXEC, 501, 0x60000, 12, VMPROF_PROC_EXEC_DONE);
	event(VMPROF_MSG_PROC, 502, 0x60000, 12, 0);
	event(VMPROF_MSG_EXIT, 600, 0x60000, 12, last);
	assert_int_equal(space.images_over, 6);
	assert_int_equal(vmp_space_owner(&space, 0x60000, 550), VMP_NONE);
	assert_int_equal(vmp_space_owner(&space, 0x10000, 350), 0);	/* which had ended, as is known */
	assert_int_equal(space.images.v[0].end, 200);
	assert_int_equal(vmp_space_owner(&space, 0x13000, 700), 3);
	event(VMPROF_MSG_EXIT, 800, 0x13000, 13, last);
	assert_int_equal(space.images.v[3].end, 800);
	vmp_space_end_unheard(&space);
	vmp_space_finish(&space);
	vmp_space_deinit(&space);
}

static void test_files(void **state)
{
	struct vmp_strings strings;
	struct vmp_machine m;
	uint32_t i;

	(void)state;
	finish();
	assert_int_equal(vmp_strings_init(&strings), 0);
	assert_int_equal(vmp_machine_init(&m, GEN_VM), 0);
	assert_int_equal(m.files_max, VMP_FILES_MAX);
	m.files_max = 1 + 3;
	memset(&g, 0, sizeof(g));
	gen_hello(&g, 1500, 1, 0);
	for (i = 0; i < 10; i++)
		gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 100 + i, "/bin/app");
	gen_map(&g, 1600, CR3_A, 10, 0x400000, 0x500000, 0, 102, "/bin/app");
	gen_file(&g, 1, 102, 10, NULL, 0, "/bin/app");
	gen_file(&g, 2, 103, 10, NULL, 0, "/bin/app");
	assert_int_equal(vmp_machine_frames(&m, &strings, g.agent, g.agent_len, 0), 0);
	assert_int_equal(m.bad_frames, 0);
	assert_int_equal(m.files.nr, 1 + 3);
	assert_int_equal(m.files.v[3].handle, 1);
	assert_int_equal(m.files_over, 7 + 1);
	assert_int_equal(m.maps.nr, 3 + 1);
	assert_int_equal(vmp_machine_build(&m, &strings, 1000, 3000), 0);
	vmp_machine_deinit(&m);
	vmp_strings_deinit(&strings);
}

static long read_in_kib(void)
{
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(vmp_model_open(&model, path) != 0);
	assert_int_equal(wait4(pid, &status, 0, &used), pid);
	assert_int_equal(status, 0);
	return used.ru_maxrss;
}

/* Each byte that a guest tells takes a few in who reads it, and no more. */
static void test_memory(void **state)
{
	const uint32_t many = 250000;
	uint64_t told = 0;
	char name[32];
	long before, kib;
	uint32_t i;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 1000000, CR3_A, 3, CODE, 1);
	gen_records_flush(&g, 0, 2000, 1000000);
	assert_int_equal(vmp_writer_place(g.w), 0);
	before = read_in_kib();
	for (i = 0; i < many; i++) {
		snprintf(name, sizeof(name), "fork-%x", i);
		gen_proc(&g, VMPROF_MSG_FORK, 2000 + i, (1ULL << 40) + i * 4096ULL, 1000 + i, 1, 0, name);
		if (g.agent_len < sizeof(g.agent) - 4096 && i + 1 < many)
			continue;
		told += g.agent_len;
		gen_agent_flush(&g, GEN_VM, 0);
	}
	gen_end(&g);
	kib = read_in_kib() - before;
	print_message("%u processes in %llu KiB took %ld KiB\n", many, (unsigned long long)told >> 10, kib);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_true(kib < 5 * (long)(told >> 10));
#endif
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(model->vms.v[0].space.images.nr, many);
	assert_int_equal(model->vms.v[0].space.images_over, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_programs), T(test_files), T(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
