// SPDX-License-Identifier: GPL-2.0-only
/* test_mappings.c - what lies at an address: mappings through time, fork and exec; the kernel and its modules. */
#include "modelled.h"

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

/*
 * dlclose() is not told: another library at its place, a smaller one or code in no file, is what lies there from when
 * that is told, and not before; also in a child that was forked in between, and where a snapshot tells of the first again.
 */
static void test_another_library_at_its_place(void **state)
{
	const uint64_t at = 0x7f0000000000;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "app");
	gen_map(&g, 2200, CR3_A, 10, at, at + 0x10000, 0, 101, "/lib/one.so");
	gen_proc(&g, VMPROF_MSG_FORK, 2600, CR3_B, 20, 10, 0, "app");
	gen_map(&g, 3000, CR3_A, 10, at, at + 0x4000, 0x2000, 102, "/lib/two.so");
	gen_map(&g, 4000, CR3_A, 10, at, at + 0x10000, 0, 101, "/lib/one.so");
	gen_map(&g, 5000, CR3_A, 10, at, at + 0x1000, 0, 0, "");
	gen_exit(&g, 6000, CR3_A, 10, "app", at, at + 0x1000, 0, "");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, at + 0x234, 1);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, at + 0x234, 2);
	gen_guest(&g, GEN_VM, 3500, CR3_B, 3, at + 0x234, 4);
	gen_guest(&g, GEN_VM, 4500, CR3_A, 3, at + 0x234, 8);
	gen_guest(&g, GEN_VM, 5500, CR3_A, 3, at + 0x234, 16);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[one.so+0x234]", "one.so"), 13);
	assert_int_equal(of_function("web01", "[two.so+0x2234]", "two.so"), 2);
	assert_int_equal(of_function("web01", NULL, "[anon]"), 16);
}

/* With five levels of page tables addresses of both halves are longer, and so may CR3s be */
static void test_five_levels(void **state)
{
	const uint64_t cr3 = 0x000ffff123456000, high = 0x00fe7f0000000000;

	(void)state;
	gen_hello(&g, 1500, 1, VMPROF_HELLO_LA57 | VMPROF_HELLO_PTI);
	gen_ksyms(&g, "ff10000000001000 T low_code\nff10000000002000 T low_end\n"
		      "ffffffff81000000 T _stext\nffffffff81000100 t do_something\nffffffff81000300 T _etext\n");
	gen_proc(&g, VMPROF_MSG_PROC, 1600, cr3, 10, 1, 0, "app");
	gen_map(&g, 1600, cr3, 10, high, high + 0x10000, 0x1000, 100, "/usr/bin/app");
	gen_map(&g, 1600, cr3, 10, high - (1ULL << 47), high - (1ULL << 47) + 0x10000, 0, 101, "/lib/other.so");
	gen_guest(&g, GEN_VM, 2000, cr3, 3, high + 0x10, 1);
	gen_guest(&g, GEN_VM, 2000, cr3 | 0x1005, 3, high + 0x10, 2);		/* the user's half, with a PCID */
	gen_guest(&g, GEN_VM, 2000, cr3, 0, GEN_KERNEL + 0x110, 4);
	gen_guest(&g, GEN_VM, 2000, cr3, 0, 0xff10000000001010, 8);
	gen_guest(&g, GEN_VM, 2000, cr3, 0, 0xff11000000001010, 16);		/* the kernel's map of all memory */
	gen_guest(&g, GEN_VM, 2000, cr3 ^ 0x0008000000000000, 3, high + 0x10, 32);	/* another one's */
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[app+0x1010]", "app"), 3);
	assert_int_equal(of_function("web01", "do_something", "vmlinux"), 4);
	assert_int_equal(of_function("web01", "low_code", "vmlinux"), 8);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_KSYM], 16);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_OWNER], 32);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "app", 10), 31);
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

/*
 * A snapshot tells of one process after the other: what is forked meanwhile by one of whom nobody told yet has its mappings, too, if
 * that one still runs what it ran then.  Another one of the same number is not its parent.
 */
static void test_forked_before_its_parent_was_told(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_FORK, 1600, CR3_B, 20, 10, 0, "app");
	gen_proc(&g, VMPROF_MSG_FORK, 1650, CR3_B + 0x10000, 21, 10, 0, "app");
	gen_proc(&g, VMPROF_MSG_FORK, 1700, CR3_C, 40, 30, 0, "sh");
	gen_proc(&g, VMPROF_MSG_PROC, 2000, CR3_A, 10, 1, 0, "app");
	gen_map(&g, 2000, CR3_A, 10, PROG, 100, "/usr/bin/app");
	start_program(2100, CR3_A + 0x10000, 30, "other");
	gen_map(&g, 2200, CR3_A + 0x10000, 30, PROG, 101, "/usr/bin/other");
	gen_guest(&g, GEN_VM, 1610, CR3_B, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 1660, CR3_B + 0x10000, 3, CODE, 2);
	gen_guest(&g, GEN_VM, 2300, CR3_C, 3, CODE, 4);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[app+0x1000]", "app"), 3);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 4);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "app", 20), 1);
	assert_int_equal(of_process("web01", "app", 21), 2);
}

/* Its number was another's when that one forked: an exec of whom nobody had told, and one whose CR3 had an owner until later */
static void test_parent_was_another(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(1550, CR3_A, 11, "first");
	gen_proc(&g, VMPROF_MSG_FORK, 1600, CR3_B, 20, 10, 0, "app");
	gen_proc(&g, VMPROF_MSG_FORK, 1600, CR3_C, 40, 30, 0, "sh");
	gen_exit(&g, 1800, CR3_A, 11, "first", 0x400000, 0x500000, 99, "/usr/bin/first");
	gen_proc(&g, VMPROF_MSG_PROC, 2000, CR3_A, 10, 1, 0, "later");
	gen_map(&g, 2000, CR3_A, 10, PROG, 100, "/usr/bin/later");
	gen_proc(&g, VMPROF_MSG_EXEC, 2000, CR3_A + 0x10000, 30, 1, 0, "exec");
	gen_map(&g, 2000, CR3_A + 0x10000, 30, PROG, 101, "/usr/bin/exec");
	gen_proc(&g, VMPROF_MSG_EXIT, 2100, CR3_A + 0x10000, 30, 1, VMPROF_PROC_LAST | VMPROF_PROC_NO_MAPS, "exec");
	gen_proc(&g, VMPROF_MSG_PROC, 2200, CR3_A + 0x20000, 30, 1, 0, "third");
	gen_map(&g, 2200, CR3_A + 0x20000, 30, PROG, 102, "/usr/bin/third");
	gen_guest(&g, GEN_VM, 2300, CR3_B, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2300, CR3_C, 3, CODE, 2);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 3);
}

/* An exit whose list of mappings could not be read takes nothing from what was told as it was mapped; what was told only there is not known. */
static void test_exit_without_maps(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "app");
	gen_map(&g, 2100, CR3_A, 10, PROG, 100, "/usr/bin/app");
	gen_map(&g, 2200, CR3_A, 10, 0x7f0000000000, 0x7f0000010000, 0, 101, "/lib/one.so");
	gen_proc(&g, VMPROF_MSG_EXIT, 3000, CR3_A, 10, 1, VMPROF_PROC_LAST | VMPROF_PROC_NO_MAPS, "app");
	start_program(3500, CR3_A, 11, "next");
	gen_guest(&g, GEN_VM, 2500, CR3_A, 3, CODE, 1);
	gen_guest(&g, GEN_VM, 2900, CR3_A, 3, 0x7f0000001234, 2);
	gen_guest(&g, GEN_VM, 2900, CR3_A, 3, 0x7f2000001234, 4);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "[app+0x1000]", "app"), 1);
	assert_int_equal(of_function("web01", "[one.so+0x1234]", "one.so"), 2);
	assert_int_equal(domain("web01")->why[VMP_WHY_NO_MAP], 4);
	run(VMP_BY_PROCESS);
	assert_int_equal(of_process("web01", "app", 10), 7);
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

/* Size of the file that lies at CODE in the process that has this CR3 then; 0: nothing does */
static uint64_t bytes_at(uint64_t cr3, uint64_t tsc)
{
	const struct vmp_machine *vm = &model->vms.v[0];
	const uint32_t image = vmp_space_owner(&vm->space, cr3, tsc);
	const struct vmp_map *map;

	assert_int_not_equal(image, VMP_NONE);
	map = vmp_space_map(&vm->space, image, vmp_space_version(&vm->space, image, tsc), CODE);
	return map ? vm->files.v[map->file].bytes : 0;
}

/* One that is written over in place is another file for who maps it from then on, and the old one for who did before */
static void test_written_over(void **state)
{
	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "old");
	gen_map(&g, 2100, CR3_A, 10, PROG, 100, "/tmp/x");
	gen_file_since(&g, 1, 100, 1000, 0, "/tmp/x");
	start_program(3000, CR3_B, 11, "new");
	gen_map(&g, 3100, CR3_B, 11, PROG, 100, "/tmp/x");
	gen_exit(&g, 3200, CR3_B, 11, "new", 0x400000, 0x500000, 100, "/tmp/x");
	gen_map(&g, 3300, CR3_A, 10, 0x900000, 0xa00000, 0, 101, "/lib/other.so");
	gen_file_since(&g, 2, 101, 1000, 0, "/lib/other.so");
	gen_file_since(&g, 3, 100, 2000, 3100, "/tmp/x");	/* when it was looked at */
	/* an agent that was begun again tells of all files anew: of this one, that it was written meanwhile */
	gen_hello(&g, 4000, 1, 0);
	start_program(4100, CR3_C, 12, "newest");
	gen_map(&g, 4200, CR3_C, 12, PROG, 100, "/tmp/x");
	gen_file_since(&g, 3, 100, 3000, 0, "/tmp/x");
	/* the same once more is the same; and so is one of which nobody says since when */
	gen_map(&g, 5000, CR3_C, 12, PROG, 100, "/tmp/x");
	gen_file_since(&g, 3, 100, 3000, 4900, "/tmp/x");
	gen_map(&g, 6000, CR3_C, 12, PROG, 100, "/tmp/x");
	finish();
	assert_int_equal(model->vms.v[0].files.nr, 1 + 4);
	assert_int_equal(bytes_at(CR3_A, 2500), 1000);
	assert_int_equal(bytes_at(CR3_A, 3900), 1000);
	assert_int_equal(bytes_at(CR3_B, 3150), 2000);
	assert_int_equal(bytes_at(CR3_C, 4300), 3000);
	assert_int_equal(bytes_at(CR3_C, 6100), 3000);
}

/* Whoever tells of change after change makes nobody look at all that was told, each time */
static void test_written_over_and_over(void **state)
{
	const struct vmp_machine *vm;
	uint32_t i;

	(void)state;
	gen_hello(&g, 1500, 1, 0);
	start_program(2000, CR3_A, 10, "old");
	for (i = 0; i < 3000; i++)
		gen_map(&g, 2100 + i, CR3_A, 10, PROG, 100, "/tmp/x");
	for (i = 1; i <= 300; i++)
		gen_file_since(&g, i, 100, i, 1, "/tmp/x");
	finish();
	vm = &model->vms.v[0];
	assert_int_equal(vm->files.nr, 1 + 300);
	assert_in_range(vm->looked_back, 65536, 65536 + 64 * 4000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_maps_in_time), T(test_another_library_at_its_place), T(test_five_levels), T(test_map_flood), T(test_maps_through_fork_and_exit), T(test_forked_before_its_parent_was_told),
		T(test_parent_was_another), T(test_exit_without_maps),
		T(test_maps_after_exec), T(test_written_over), T(test_written_over_and_over), T(test_kernel), T(test_no_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
