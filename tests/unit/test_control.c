// SPDX-License-Identifier: GPL-2.0-only
/* test_control.c - a session that runs, seen from outside: its socket, its log, its state. */
#include "cached.h"

#include "collect/control.h"
#include "collect/logfile.h"
#include "collect/statedir.h"

static void test_control(void **state)
{
	struct vmp_control_client *k = NULL;
	struct vmp_control c;
	struct pollfd p[1 + VMP_CONTROL_CLIENTS];
	char *json = NULL;
	int status;
	pid_t pid;

	(void)state;
	setenv("VMPROF_RUN_DIR", cache, 1);
	assert_true(vmp_control_ask("status", NULL) < 0);	/* nobody there */
	vmp_control_init(&c);
	assert_int_equal(vmp_control_open(&c), 0);
	pid = fork();
	if (!pid)
		_exit(vmp_control_ask("status", &json) == 3 && json && !strcmp(json, "{}") ? 0 : 1);
	assert_int_equal(vmp_control_fill(&c, p), 1);
	assert_int_equal(poll(p, 1, 60000), 1);
	vmp_control_accept(&c);
	assert_int_equal(vmp_control_fill(&c, p), 2);
	assert_int_equal(poll(p + 1, 1, 60000), 1);
	assert_int_equal(vmp_control_read(&c, p[1].fd, &k), VMP_CONTROL_STATUS);
	vmp_control_reply(k, 'J', "{}", 0);
	vmp_control_reply(k, 'X', "3", 1);
	assert_int_equal(vmp_control_fill(&c, p), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* a descriptor that was dropped meanwhile is no client */
	assert_int_equal(vmp_control_read(&c, p[1].fd, &k), VMP_CONTROL_NOTHING);
	vmp_control_close(&c);
	unsetenv("VMPROF_RUN_DIR");
}

static void test_log_has_an_end(void **state)
{
	struct vmp_logfile log;
	char path[128], *text;
	size_t len;
	int i;

	(void)state;
	snprintf(path, sizeof(path), "%s/log", cache);
	vmp_logfile_open(&log, path);
	for (i = 0; i < 100000; i++)
		vmp_logfile_line(&log, "warning: ", "the agent answers, guest kernel 6.12 (again)");
	vmp_logfile_close(&log);
	assert_int_equal(vmp_file_read(path, 16 << 20, &text, &len), 0);
	assert_true(len > VMP_LOGFILE_BYTES);
	assert_true(len < VMP_LOGFILE_BYTES + 4096);
	assert_non_null(strstr(text + len - 200, "the log ends here"));
	free(text);
	/* and none where there is no place for it */
	vmp_logfile_open(&log, "/nonexistent/log");
	vmp_logfile_line(&log, "", "nothing");
	vmp_logfile_close(&log);
}

static void test_state(void **state)
{
	char path[4096], last[4096], *json;
	int lock, status;
	pid_t pid, seen;

	(void)state;
	setenv("VMPROF_RUN_DIR", cache, 1);
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_NONE);
	lock = vmp_state_lock();
	assert_true(lock >= 0);
	pid = fork();
	if (!pid)
		_exit(vmp_state_lock() != -EBUSY || vmp_state_look(&seen, &json) !=
		      VMP_STATE_RUNNING || seen != getppid());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* killed: the lock went with it, session.json stays */
	vmp_file_write(vmp_state_path(path, sizeof(path), "session.json"), "{}", 2);
	close(lock);
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_STALE);
	assert_int_equal(seen, getpid());
	assert_string_equal(json, "{}");
	free(json);
	vmp_state_clean();
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_NONE);
	assert_int_equal(vmp_state_last(path, sizeof(path)), -ENOENT);
	vmp_state_path(last, sizeof(last), "last.json");
	vmp_file_write(last, "{\"file\":\"/tmp/a b.vmprof\"}", 26);
	assert_int_equal(vmp_state_last(path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/a b.vmprof");
	vmp_file_write(last, "{\"file\":7", 9);
	assert_int_equal(vmp_state_last(path, sizeof(path)), -ENOENT);
	unsetenv("VMPROF_RUN_DIR");
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_cache, remove_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_control), T(test_log_has_an_end), T(test_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
