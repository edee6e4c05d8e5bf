// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_maps.c - how the guest module goes through a process's mappings, compiled as it is: which it tells, where
 * it stops, and that it goes on from there.
 */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct mm_struct {
	void *pgd;
	unsigned int nr;		/* mappings, each of a page, one beside the other */
	unsigned int every;		/* ... of which each so many-th is executable */
	unsigned int looks;
};

#include "../../guest-agent/module/maps.c"

#define PAGE		4096UL
#define NR_MAX		1000000U

atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

static struct super_block disk = { .s_dev = 0xfe01 };
static struct inode inode = { .i_ino = 5, .i_sb = &disk, .i_nlink = 1 };
static struct dentry dentry = { .inode = &inode };
static struct file file = { .f_path = { .dentry = &dentry } };
static struct mm_struct mm;
static bool known_files;		/* each file was told before */
static int forgotten;
static char scratch[VMPG_PATH_ROOM];
static const struct vmpg_view view = { .tgid = 7, .path = scratch };

/* --------------------------------------------------------- the kernel's part */

struct vm_area_struct *vma_next(struct vma_iterator *vmi)
{
	static struct vm_area_struct vma;
	unsigned long nr = vmi->at / PAGE;

	if (nr >= mm.nr)
		return NULL;
	mm.looks++;
	vmi->at = (nr + 1) * PAGE;
	vma = (struct vm_area_struct){
		.vm_start = nr * PAGE, .vm_end = (nr + 1) * PAGE, .vm_mm = vmi->mm, .vm_file = &file,
		.vm_flags = VM_READ | ((nr + 1) % mm.every ? 0 : VM_EXEC),
	};
	return &vma;
}

char *d_path(const struct path *path, char *buf, int room)
{
	assert_ptr_equal(path->dentry, &dentry);
	snprintf(buf, (size_t)room, "/lib/x.so");
	return buf;
}

int scnprintf(char *buf, size_t room, const char *fmt, ...)
{
	(void)fmt;
	return snprintf(buf, room, "x.so");
}

unsigned long kernel_pa(const void *p)
{
	return (unsigned long)p;
}

u64 rdtsc_ordered(void)
{
	return 1;
}

/* ------------------------------------------------- the module's other files */

bool vmpg_known_file(const struct inode *of)
{
	assert_ptr_equal(of, &inode);
	return known_files;
}

bool vmpg_known_vdso(bool is_32)
{
	(void)is_32;
	return true;
}

void vmpg_known_forget(void)
{
	forgotten++;
}

/* ------------------------------------------------------------------- tests */

static u8 room[VMPROF_FRAME_MAX] __aligned(8);

static int setup(void **state)
{
	(void)state;
	mm = (struct mm_struct){ .nr = NR_MAX, .every = 1 };
	memset(vmpg_lost_count, 0, sizeof(vmpg_lost_count));
	known_files = true;
	forgotten = 0;
	return 0;
}

static const struct vmprof_map *first(void)
{
	return (const struct vmprof_map *)room;
}

/* Whoever must not be long looks at no more mappings than were asked for, be there ever so many */
static void test_looks(void **state)
{
	struct vmpg_walk walk = { .dst = room, .room = sizeof(room), .nr_max = 512, .look_max = 16384 };

	(void)state;
	mm.every = 10000;
	vmpg_maps_walk(&view, &mm, &walk);
	assert_int_equal(mm.looks, 16384 + 1);
	assert_int_equal(walk.nr, 1);
	assert_true(walk.more);
	assert_int_equal(first()->start, 9999 * PAGE);
	assert_memory_equal(first() + 1, "/lib/x.so", 9);
	assert_int_equal(walk.next, 16384 * PAGE);
	/* ... and goes on from there */
	vmpg_maps_walk(&view, &mm, &walk);
	assert_int_equal(first()->start, 19999 * PAGE);
	assert_int_equal(walk.next, 2 * 16384 * PAGE);
	/* what ends there lacks nothing */
	mm.nr = 3 * 16384;
	vmpg_maps_walk(&view, &mm, &walk);
	assert_false(walk.more);
	assert_int_equal(walk.nr, 1);
}

/* Who asks for all of them gets all, each once */
static void test_all(void **state)
{
	struct vmpg_walk walk = { .dst = room, .room = sizeof(room), .nr_max = U32_MAX, .look_max = U32_MAX };
	unsigned int nr = 0, at, i;
	const struct vmprof_map *map;

	(void)state;
	mm.every = 100;
	do {
		vmpg_maps_walk(&view, &mm, &walk);
		for (i = at = 0; i < walk.nr; i++) {
			map = (const struct vmprof_map *)(room + at);
			assert_int_equal(map->start, (++nr * 100UL - 1) * PAGE);
			at += ALIGN((u32)sizeof(*map) + map->path_len, 8);
		}
		assert_int_equal(at, walk.bytes);
	} while (walk.more);
	assert_int_equal(nr, NR_MAX / 100);
}

/* A file whose mapping finds no room was not told: nobody may take it for one that was */
static void test_no_room(void **state)
{
	/* of the eleventh all but its path */
	struct vmpg_walk walk = {
		.dst = room, .room = 10 * ALIGN(sizeof(struct vmprof_map) + 9, 8) + sizeof(struct vmprof_map),
		.nr_max = U32_MAX, .look_max = U32_MAX,
	};

	(void)state;
	vmpg_maps_walk(&view, &mm, &walk);
	assert_true(walk.nr == 10 && walk.more && walk.told);
	assert_int_equal(forgotten, 0);
	known_files = false;
	vmpg_maps_walk(&view, &mm, &walk);
	assert_true(walk.nr == 10 && walk.more && !walk.told);
	assert_int_equal(forgotten, 1);
	/* where no more are wanted nothing is asked */
	walk.nr_max = 9;
	vmpg_maps_walk(&view, &mm, &walk);
	assert_true(walk.nr == 9 && walk.more);
	assert_int_equal(forgotten, 1);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_looks), T(test_all), T(test_no_room) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
