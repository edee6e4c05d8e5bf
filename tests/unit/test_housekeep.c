// SPDX-License-Identifier: GPL-2.0-only
/* test_housekeep.c - what is removed from the object cache, and what killed collectors left behind. */
#include "cached.h"

#include "collect/housekeep.h"
#include "util/capdir.h"

/* An object or another file of the cache, last used @ago seconds before now */
static void put_object(const char *name, size_t bytes, time_t ago)
{
	struct timespec when[2] = { { time(NULL) - ago, 0 }, { time(NULL) - ago, 0 } };
	char file[4096], *zeros = calloc(1, bytes + 1);
	int fd;

	snprintf(file, sizeof(file), "%s/%s", cache, name);
	*strrchr(file, '/') = 0;
	assert_int_equal(vmp_make_dirs(file, 0700), 0);
	file[strlen(file)] = '/';
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(vmp_write_all(fd, zeros, bytes), 0);
	assert_int_equal(futimens(fd, when), 0);
	close(fd);
	free(zeros);
}

static int is_there(const char *name)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/%s", cache, name);
	return !access(file, F_OK);
}

static void test_cache_trim(void **state)
{
	(void)state;
	put_object("u-1/ab/cd", 10000, 5000);
	put_object("u-1/ab/ce", 10000, 9000);
	put_object("u-2/ab/cd", 10000, 7000);
	put_object("u-2/ff/00", 10, 10);		/* a page of the disk all the same */
	assert_int_equal(vmp_cache_trim(34096, time(NULL)), 34096);
	assert_int_equal(files_in_cache(), 4);
	/* one that is needed again is young again */
	assert_int_equal(add(1, 10000, NULL, 0, "u-1/abce"), 0);
	assert_int_equal(vmp_cache_trim(33000, time(NULL)), 24096);
	assert_false(is_there("u-2/ab/cd"));
	assert_int_equal(vmp_cache_trim(0, time(NULL)), 14096);
	assert_true(is_there("u-1/ab/ce") && is_there("u-2/ff/00"));
}

static void test_leftovers(void **state)
{
	(void)state;
	setenv("VMPROF_DIR", cache, 1);
	put_object("u-1/ab/cd", 8, 5000);
	put_object("u-1/ab/cd.debug", 8, 5000);		/* lies there by hand */
	put_object("u-1/ab/cd.x0Y9zZ", 8, 5000);	/* its collector was killed */
	put_object("u-1/ab/ce.x0Y9zZ", 8, 5);		/* it may be arriving */
	put_object("web01/2026.vmprof", 8, 5000);
	put_object("web01/2026.vmprof.new", 8, 5000);
	put_object("web01/2027.vmprof.new", 8, 5);
	assert_int_equal(vmp_sweep_leftovers(time(NULL)), 2);
	assert_false(is_there("u-1/ab/cd.x0Y9zZ") || is_there("web01/2026.vmprof.new"));
	assert_int_equal(files_in_cache(), 5);
	unsetenv("VMPROF_DIR");
	setenv("VMPROF_OBJCACHE", "/nonexistent", 1);
	assert_int_equal(vmp_cache_trim(0, time(NULL)), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_cache, remove_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_cache_trim), T(test_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
