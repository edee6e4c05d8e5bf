// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_degraded.c - the agent without its module, or with one that does not start. */
#include "agent_talk.h"

/* Without the module: who lives and who begins, but no CR3, and it says so. */
static void test_degraded(void **state)
{
	struct vmp_agent_msg m;
	int procs = 0, perf, forks = 0, ends = 0;
	uint32_t told;
	pid_t pid;

	(void)state;
	module.present = 0;
	greet(1 << 30);
	m = hear_type(VMPROF_MSG_HELLO);
	assert_true(m.hello.flags & VMPROF_HELLO_NO_MODULE);
	assert_int_equal(m.hello.module_error, ENOENT);
	assert_int_equal(agent.sideband.nr, 0);	/* HELLO only tried */
	told = m.hello.flags & VMPROF_HELLO_NO_PERF;
	tell_token(VMPROF_MSG_START, 7);
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	agent.symbols.active = 0;
	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
		procs += m.type == VMPROF_MSG_PROC;
		if (m.type == VMPROF_MSG_PROC)
			assert_int_equal(m.proc.cr3, 0);
	} while (m.type != VMPROF_MSG_SNAP_END);
	assert_true(procs > 0);
	perf = agent.sideband.nr > 0;		/* where the kernel lets us */
	assert_int_equal(told, perf ? 0 : VMPROF_HELLO_NO_PERF);
	assert_int_equal(vmp_session_timeout_ms(&agent), perf ? VMP_SIDEBAND_LOOK_MS : LOST_CHECK_MS);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	tell_token(VMPROF_MSG_STOP, 8);
	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
		if (m.type != VMPROF_MSG_FORK && m.type != VMPROF_MSG_EXIT)
			continue;
		forks += m.type == VMPROF_MSG_FORK && m.proc.tgid == (uint32_t)pid;
		ends += m.type == VMPROF_MSG_EXIT && m.proc.tgid == (uint32_t)pid &&
			m.proc.flags & VMPROF_PROC_LAST;
	} while (m.type != VMPROF_MSG_SNAP_END);
	assert_int_equal(m.token.token, 8);
	assert_int_equal(forks, perf);
	assert_int_equal(ends, perf);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
	if (!perf) {
		print_message("this machine's kernel refuses perf events (kernel.perf_event_paranoid): no fork and no exit was heard\n");
		skip();
	}
}

/* As readelf has it */
static void build_id_of(const char *path, char hex[64])
{
	char cmd[128];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "readelf -n %s | sed -n 's/.*Build ID: //p'", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%63s", hex), 1);
	pclose(f);
}

static void run_and_remove(const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(path, path, NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(unlink(path), 0);
}

/* Process and file are gone before the agent hears of them: the build-id is the one in the kernel's records. */
static void test_gone(void **state)
{
	char dir[] = "/tmp/vmprof-gone.XXXXXX", path[64], cmd[128], expected[64], told[2 * VMPROF_BUILD_ID_MAX + 1] = "";
	struct vmp_agent_msg m;
	uint32_t i;

	(void)state;
	module.present = 0;
	greet(0);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	hear_type(VMPROF_MSG_SNAP_END);
	if (!agent.sideband.nr || agent.sideband.ring[0].fd_ids < 0) {
		print_message("this machine's kernel %s\n", agent.sideband.nr ? "tells no build-ids" :
			      "refuses perf events (kernel.perf_event_paranoid)");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/gone", dir);
	snprintf(cmd, sizeof(cmd), "cp /bin/true %s", path);
	assert_int_equal(system(cmd), 0);
	build_id_of(path, expected);
	run_and_remove(path);
	rmdir(dir);
	tell_token(VMPROF_MSG_STOP, 8);
	do
		m = hear_type(VMPROF_MSG_FILE);
	while (m.file.path.len != strlen(path) || memcmp(m.file.path.p, path, m.file.path.len));
	assert_int_equal(m.file.flags, VMPROF_FILE_NO_ACCESS);
	for (i = 0; i < m.file.build_id_len; i++)
		sprintf(told + 2 * i, "%02x", m.file.build_id[i]);
	assert_string_equal(told, expected);
	assert_clean();
}

/* Nor with perf: the host learns that what /proc shows is not all, from before the snapshot on */
static void test_proc_only(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	perf_call = -1;
	greet(0);
	assert_int_equal(hear_type(VMPROF_MSG_HELLO).hello.flags, 0);	/* with the module it needs none */
	module.present = 0;
	greet(0);
	assert_int_equal(hear_type(VMPROF_MSG_HELLO).hello.flags & (VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_NO_PERF),
			 VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_NO_PERF);
	tell_token(VMPROF_MSG_START, 7);
	work();
	perf_call = __NR_perf_event_open;
	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
	} while (m.type != VMPROF_MSG_LOST);
	assert_int_equal(m.lost.count[VMPROF_GLOST_MISSED], 1);
	assert_int_equal(agent.sideband.nr, 0);
	assert_true(m.lost.tsc < agent.snapshot_tsc);
}

/* A module that is there and fails only now: HELLO was wrong, so the host starts over and hears why. */
static void refuses(int error)
{
	struct vmp_agent_msg m;

	module.tracing = 0;
	greet(0);
	assert_false(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_NO_MODULE);
	tell_token(VMPROF_MSG_START, 7);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_HELLO);
	assert_true(m.hello.flags & VMPROF_HELLO_UNASKED);
	greet(1 << 20);
	m = hear_type(VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.flags & (VMPROF_HELLO_UNASKED | VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED),
			 VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED);
	assert_int_equal(m.hello.module_error, error);
	tell_token(VMPROF_MSG_START, 8);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 8);
	agent.symbols.active = 0;
	hear_type(VMPROF_MSG_PROC);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
	tell_token(VMPROF_MSG_STOP, 9);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 9);
	assert_clean();
}

static void test_start_refused(void **state)
{
	(void)state;
	host_session = 1;
	module.start_error = -ENOMEM;
	refuses(ENOMEM);
	host_session = 2;		/* another session tries again */
	module.start_error = 0;
	module.snapshot_error = -EIO;
	refuses(EIO);
	host_session = 3;
	module.snapshot_error = 0;
	start(0);
	assert_int_equal(module.tracing, 1);
	host_session = 0;
}

/* An old host does not greet again but goes on with the conversation: no CR3s, yet all that /proc tells */
static void test_start_refused_old_host(void **state)
{
	(void)state;
	module.start_error = -ENOMEM;
	greet(0);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	assert_true(hear().hello.flags & VMPROF_HELLO_NO_MODULE);
	tell_token(VMPROF_MSG_START, 8);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 8);
	agent.symbols.active = 0;
	hear_type(VMPROF_MSG_PROC);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_degraded), T(test_gone), T(test_proc_only), T(test_start_refused), T(test_start_refused_old_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
