// SPDX-License-Identifier: GPL-2.0-only
/* test_child.c - helper programs: what they get, what they may, that they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/child.h"

#define PLENTY	(1ULL << 30)

static struct vmp_child child;
static char out[4096], said[256];

/* All that it writes, up to its end or for some seconds; 1 it has ended */
static int listen_to(const char *script, uint64_t file_bytes)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct pollfd p = { .events = POLLIN };
	size_t len = 0;
	ssize_t n = 1;

	memset(out, 0, sizeof(out));
	assert_int_equal(vmp_child_start(&child, argv, file_bytes), 0);
	p.fd = child.fd;
	while (n > 0 && len < sizeof(out) - 1 && poll(&p, 1, 10000) == 1) {
		n = read(child.fd, out + len, sizeof(out) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	vmp_child_said(&child, said, sizeof(said));
	return !n;
}

static void test_runs(void **state)
{
	(void)state;
	assert_true(listen_to("echo one; echo two; printf 'more\\nbad\\033[2J\\r\\n\\n' >&2; exit 3", PLENTY));
	assert_string_equal(out, "one\ntwo\n");
	assert_string_equal(said, "bad\\x1b[2J");
	assert_int_equal(vmp_child_end(&child, 1), 3);
	assert_true(listen_to("", PLENTY));
	assert_string_equal(said, "");
	assert_int_equal(vmp_child_end(&child, 1), 0);
}

static void test_absent(void **state)
{
	const char *const argv[] = { "no-such-program-here", NULL };
	char c;

	(void)state;
	assert_int_equal(vmp_child_start(&child, argv, PLENTY), 0);
	while (read(child.fd, &c, 1) < 0 && errno == EAGAIN)
		usleep(1000);
	assert_int_equal(vmp_child_end(&child, 1), VMP_CHILD_ABSENT);
}

/* It hears us, and signals that we block or ignore are its own again */
static void test_input(void **state)
{
	const char *const argv[] = { "sh", "-c", "read x; echo \"<$x>\"; kill -PIPE $$; echo not reached", NULL };
	struct pollfd p = { .events = POLLIN };
	char buf[64] = "";

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(vmp_child_start(&child, argv, PLENTY), 0);
	assert_int_equal(write(child.fd, "hello\n", 6), 6);
	p.fd = child.fd;
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(read(child.fd, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "<hello>\n");
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(read(child.fd, buf, sizeof(buf)), 0);
	assert_int_equal(vmp_child_end(&child, 1), -1);
}

static void test_limits(void **state)
{
	char dir[] = "/tmp/vmprof-child-XXXXXX", script[256], file[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/f", dir);
	snprintf(script, sizeof(script), "head -c 1000000 /dev/zero > %s; echo $?; ulimit -c", file);
	assert_true(listen_to(script, 65536));
	assert_string_equal(out, "1\n0\n");
	assert_int_equal(vmp_child_end(&child, 1), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 65536);
	unlink(file);
	rmdir(dir);
	/* a session of its own has no terminal to ask on */
	assert_true(listen_to("(: < /dev/tty) 2> /dev/null || echo no terminal; test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo alone", PLENTY));
	assert_string_equal(out, "no terminal\nalone\n");
	vmp_child_end(&child, 1);
}

/* One that does not end is ended, and what it started too */
static void test_hangs(void **state)
{
	struct timespec a, b;
	pid_t pid;
	int i;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &a);
	listen_to("sleep 1000 > /dev/null 2>&1 & echo $!; exec >&- 2>&- <&-; trap '' TERM; sleep 1000; sleep 1000", PLENTY);
	pid = atoi(out);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(vmp_child_end(&child, 0), -1);
	for (i = 0; i < 1000 && !kill(pid, 0); i++)	/* init reaps it */
		usleep(5000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true(b.tv_sec - a.tv_sec < 60);
	assert_int_equal(child.pid, 0);
	assert_int_equal(child.fd, -1);
	assert_int_equal(vmp_child_end(&child, 0), -1);
}

static void test_caller(void **state)
{
	const char *const argv[] = { "true", NULL };
	const struct passwd *nobody = getpwnam("nobody");
	char uid[16], expected[256];
	gid_t adm = 4;

	(void)state;
	if (geteuid() || !nobody)
		skip();
	snprintf(uid, sizeof(uid), "%u", nobody->pw_uid);
	snprintf(expected, sizeof(expected), "%u %u %s nobody nobody never\n", nobody->pw_uid, nobody->pw_gid,
		 nobody->pw_dir);
	assert_int_equal(setgroups(1, &adm), 0);
	setenv("SUDO_UID", uid, 1);
	setenv("HOME", "/root", 1);
	assert_true(listen_to("echo $(id -u) $(id -G) $HOME $USER $LOGNAME $SSH_ASKPASS_REQUIRE", PLENTY));
	assert_string_equal(out, expected);
	vmp_child_end(&child, 1);
	assert_true(listen_to("kill -9 $PPID || echo may not", PLENTY));
	assert_string_equal(out, "may not\n");
	vmp_child_end(&child, 1);
	setenv("SUDO_UID", "54321987", 1);
	assert_int_equal(vmp_child_start(&child, argv, PLENTY), -ESRCH);
	setenv("SUDO_UID", "0", 1);
	assert_true(listen_to("id -u", PLENTY));
	assert_string_equal(out, "0\n");
	vmp_child_end(&child, 1);
	unsetenv("SUDO_UID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runs), cmocka_unit_test(test_absent), cmocka_unit_test(test_input),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_hangs), cmocka_unit_test(test_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
