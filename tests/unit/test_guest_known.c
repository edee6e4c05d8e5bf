// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_known.c - the guest module's table of files that were told, compiled as it is: each once, again when it
 * was written or is another one, and after all was forgotten, which costs the same however many there are; of many the last.
 */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../guest-agent/module/known.c"

static struct super_block disk = { .s_dev = 0xfe00001 }, other = { .s_dev = 0xfe00002 };

static int forget(void **state)
{
	(void)state;
	vmpg_known_forget();
	return 0;
}

/* Whatever is changed of it makes it one that was not told */
static void test_once(void **state)
{
	struct inode file = { .i_ino = 7, .size = 100, .i_sb = &disk, .mtime = { 1000, 5 } };
	unsigned int i;

	(void)state;
	for (i = 0; i < 7; i++) {
		switch (i) {
		case 1: file.size++; break;
		case 2: file.mtime.tv_sec++; break;
		case 3: file.mtime.tv_nsec++; break;
		case 4: file.i_generation++; break;
		case 5: file.i_ino++; break;
		case 6: file.i_sb = &other; break;
		}
		assert_false(vmpg_known_file(&file));
		assert_true(vmpg_known_file(&file));
		assert_true(vmpg_known_file(&file));
	}
	vmpg_known_forget();
	assert_false(vmpg_known_file(&file));
}

/* What is all zeros is a file like others; and so are both vdsos */
static void test_zeros(void **state)
{
	struct super_block none = { 0 };
	struct inode file = { .i_sb = &none };

	(void)state;
	assert_false(vmpg_known_file(&file));
	assert_true(vmpg_known_file(&file));
	assert_false(vmpg_known_vdso(false));
	assert_false(vmpg_known_vdso(true));
	assert_true(vmpg_known_vdso(false));
	assert_true(vmpg_known_vdso(true));
}

/* Of more files than there is room for, those of the last that were asked for are known, and none that was not told */
static void test_many(void **state)
{
	struct inode file = { .i_sb = &disk };
	unsigned int known_nr = 0;

	(void)state;
	for (file.i_ino = 1; file.i_ino <= 5000; file.i_ino++)
		assert_false(vmpg_known_file(&file));
	for (file.i_ino = 5000; file.i_ino; file.i_ino--)
		known_nr += vmpg_known_file(&file);
	assert_in_range(known_nr, 500, WAYS << SETS_BITS);
}

/* To forget writes nothing to the table, however often: what is in it is not believed any more, and makes room first */
static void test_forget(void **state)
{
	static const u64 rounds[] = { 1, 1ULL << 8, 1ULL << 16, 1ULL << 32, 1ULL << 48 };
	static struct file_set before[ARRAY_SIZE(known)];
	struct inode file = { .i_sb = &disk };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rounds); i++) {
		for (file.i_ino = 1; file.i_ino <= 500; file.i_ino++)
			assert_false(vmpg_known_file(&file));
		for (file.i_ino = 1; file.i_ino <= 500; file.i_ino++)
			assert_true(vmpg_known_file(&file));
		memcpy(before, known, sizeof(known));
		known_round += rounds[i] - 1;
		vmpg_known_forget();
		assert_memory_equal(before, known, sizeof(known));
	}
	/* full of old ones */
	for (file.i_ino = 1; file.i_ino <= 5000; file.i_ino++)
		assert_false(vmpg_known_file(&file));
	vmpg_known_forget();
	for (file.i_ino = 1; file.i_ino <= 500; file.i_ino++)
		assert_false(vmpg_known_file(&file));
	for (file.i_ino = 1; file.i_ino <= 500; file.i_ino++)
		assert_true(vmpg_known_file(&file));
}

#define T(name) cmocka_unit_test_setup(name, forget)

int main(void)
{
	const struct CMUnitTest tests[] = { T(test_once), T(test_zeros), T(test_many), T(test_forget) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
