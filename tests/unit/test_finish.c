// SPDX-License-Identifier: GPL-2.0-only
/* test_finish.c - from the end of sampling on: how long guests are waited for, and since when. */
#include "cached.h"

#include "collect/clock.h"
#include "collect/needs.h"
#include "collect/session.h"

static uint64_t known_ns;	/* when it was known what is needed */

/* A large capture: that takes its time (the linker puts it in the other's place) */
int __wrap_vmp_needs(const char *path, uint32_t vm, int (*fn)(void *arg, const struct vmp_needed *n), void *arg);
int __wrap_vmp_needs(const char *path, uint32_t vm, int (*fn)(void *arg, const struct vmp_needed *n), void *arg)
{
	(void)path;
	(void)vm;
	(void)fn;
	(void)arg;
	usleep(2000);
	known_ns = vmp_now_ns();
	return 0;
}

static void test_patience(void **state)
{
	static const struct vmp_session_opts opts;
	static struct vmp_session s;

	(void)state;
	s.opts = &opts;
	s.monitor.fd = -1;
	vmp_session_phase(&s, VMP_ENDING);
	vmp_session_finish_step(&s, s.phase_ns);
	assert_int_equal(s.phase, VMP_FETCHING);
	assert_true(known_ns && s.phase_ns >= known_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_patience, make_cache, remove_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
