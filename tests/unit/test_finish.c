// SPDX-License-Identifier: GPL-2.0-only
/* test_finish.c - from the end of sampling on: how long guests are waited for, and since when. */
#include "cached.h"

#include "collect/clock.h"
#include "collect/early.h"
#include "collect/needs.h"
#include "collect/session.h"

static uint64_t known_ns;	/* when it was known what is needed */
static int all_err;		/* what comes of looking at all guests together */
static uint32_t alone[8];	/* who was looked at alone */
static int nr_alone;
static uint64_t wanted_ns = 60000000000;

/* A large capture: that takes its time (the linker puts it in the other's place) */
int __wrap_vmp_needs(const char *path, uint32_t vm, uint64_t patience_ns,
		     int (*fn)(void *arg, const struct vmp_needed *n), void *arg);
int __wrap_vmp_needs(const char *path, uint32_t vm, uint64_t patience_ns,
		     int (*fn)(void *arg, const struct vmp_needed *n), void *arg)
{
	(void)path;
	(void)fn;
	(void)arg;
	assert_true(vm || patience_ns == wanted_ns);
	assert_true(patience_ns > wanted_ns / 2 && patience_ns <= wanted_ns);
	usleep(2000);
	known_ns = vmp_now_ns();
	if (vm)
		alone[nr_alone++] = vm;
	return vm ? 0 : all_err;
}

/* All agents have said their last: what is needed is found out */
static void end_sampling(struct vmp_session *s)
{
	static const struct vmp_session_opts opts;

	s->opts = &opts;
	s->monitor.fd = -1;
	vmp_session_phase(s, VMP_ENDING);
	vmp_session_finish_step(s, s->phase_ns);
	assert_int_equal(s->phase, VMP_FETCHING);
}

static void test_patience(void **state)
{
	static struct vmp_session s;

	(void)state;
	end_sampling(&s);
	assert_true(known_ns && s.phase_ns >= known_ns);
}

/* Where all that guests told is too much, each is looked at alone, who told most last; and nobody twice else */
static void test_alone(void **state)
{
	static const struct { int err, alone; } cases[] = {
		{ 0, 0 }, { -EBADMSG, 0 }, { -ENOMEM, 2 }, { -ETIMEDOUT, 2 },
	};
	static struct vmp_session s;
	static struct vmp_vm vm[2];
	unsigned int i, k;

	(void)state;
	for (k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		memset(vm, 0, sizeof(vm));
		s.nr_vms = 2;
		for (i = 0; i < 2; i++) {
			s.vms[i] = &vm[i];
			vm[i].dom.pid = (pid_t)(1000 + i);
			vm[i].session = &s;
			vm[i].gone = 1;
			vmp_fetch_init(&vm[i].fetch);
			vmp_early_init(&vm[i]);
			vm[i].agent.counts.kept_bytes = 100 - i;
		}
		all_err = cases[k].err;
		nr_alone = 0;
		end_sampling(&s);
		assert_int_equal(nr_alone, cases[k].alone);
		if (nr_alone) {
			assert_int_equal(alone[0], 1001);
			assert_int_equal(alone[1], 1000);
		}
	}
}

/* The longer a capture is, the longer it may take */
static void test_long(void **state)
{
	static struct vmp_session s;

	(void)state;
	snprintf(s.path, sizeof(s.path), "%s/capture", cache);
	assert_int_equal(close(creat(s.path, 0600)), 0);
	assert_int_equal(truncate(s.path, 1 << 30), 0);
	wanted_ns = 60000000000 + (1ULL << 30) * 59;
	end_sampling(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_patience, make_cache, remove_cache),
		cmocka_unit_test_setup_teardown(test_alone, make_cache, remove_cache),
		cmocka_unit_test_setup_teardown(test_long, make_cache, remove_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
