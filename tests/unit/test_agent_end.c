// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_end.c - an agent that is told to end while it traces: what the host still hears. */
#include "agent_talk.h"

#include <sys/signalfd.h>
#include <termios.h>

#ifndef VMPROF_VERSION
#define VMPROF_VERSION	"0"
#endif
#include "guest-agent/daemon/port.c"
int agent_main(int argc, char **argv);
#define main agent_main
#define vmp_log_init(verbose)	((void)(verbose))
#include "guest-agent/daemon/main.c"
#undef main

/* It runs, and its snapshot was heard */
static void start_and_read(void)
{
	start(0);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
}

static void fork_of(uint32_t pid)
{
	struct vmprof_proc p = { .pid = htole32(pid), .tgid = htole32(pid), .comm = "sh" };

	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
}

/* All that was traced, no end of a session that nobody asked for, and nothing that comes later */
static void test_end(void **state)
{
	uint32_t i;

	(void)state;
	start_and_read();
	for (i = 0; i < 1000; i++)
		fork_of(i);
	vmp_session_told_to_end(&agent);
	assert_int_equal(module.tracing, 0);
	assert_false(vmp_session_has_ended(&agent));
	for (i = 0; i < 1000; i++)
		assert_int_equal(hear_type(VMPROF_MSG_FORK).proc.pid, i);
	assert_int_equal(hear().type, 0);
	assert_true(vmp_session_has_ended(&agent));
	vmp_session_leave(&agent);
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* The host had asked for the end: it hears of it */
static void test_end_of_stop(void **state)
{
	(void)state;
	start_and_read();
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	vmp_session_told_to_end(&agent);
	assert_false(vmp_session_has_ended(&agent));
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_true(vmp_session_has_ended(&agent));
}

/* A host that reads too slowly: what it does not hear it hears the number of */
static void test_end_of_time(void **state)
{
	struct vmp_agent_msg m;
	uint32_t i, heard = 0;
	char some[4096];

	(void)state;
	start_and_read();
	for (i = 0; i < 40000; i++)
		fork_of(i);
	vmp_session_told_to_end(&agent);
	work();
	assert_false(vmp_session_has_ended(&agent));
	assert_int_equal(read(host_fd, some, sizeof(some)), sizeof(some));
	vmp_frame_decoder_init(&from_agent);
	assert_true(vmp_out_flush(&agent.out, agent_fd, UINT64_MAX) >= 0);
	vmp_session_leave(&agent);
	agent.state = VMP_READY;		/* it carries nothing any more */
	do {
		m = hear();
		heard += m.type == VMPROF_MSG_FORK;
	} while (m.type == VMPROF_MSG_FORK);
	assert_int_equal(m.type, VMPROF_MSG_LOST);
	assert_in_range(heard, 1000, 39000);
	/* some of what was read here were whole frames */
	assert_in_range(m.lost.count[VMPROF_GLOST_RING] + heard, 40000 - sizeof(some) / sizeof(struct vmprof_proc), 40000);
	assert_int_equal(m.lost.count[VMPROF_GLOST_RING], agent.left);
}

/* Whatever it says, until it has ended.  Return: forks */
static uint32_t hear_to_the_end(pid_t daemon_pid, int *status)
{
	struct vmprof_frame f;
	const void *payload;
	uint32_t forks = 0;
	int over = 0;
	size_t room;
	ssize_t n;
	void *to;

	for (;;) {
		to = vmp_frame_space(&from_agent, &room);
		n = read(host_fd, to, room);
		if (n <= 0 && over)
			return forks;
		if (n <= 0) {
			over = waitpid(daemon_pid, status, WNOHANG) == daemon_pid;
			usleep(1000);
			continue;
		}
		vmp_frame_fed(&from_agent, (size_t)n);
		while (vmp_frame_next(&from_agent, &f, &payload))
			forks += f.type == VMPROF_MSG_FORK;
	}
}

/* A port for the daemon itself: a terminal that holds 4 KiB.  Return: its end of it */
static int make_terminal(void)
{
	struct termios raw;
	int slave;

	close(host_fd);
	vmp_frame_decoder_init(&from_agent);
	host_fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	assert_true(host_fd >= 0 && !grantpt(host_fd) && !unlockpt(host_fd));
	slave = open(ptsname(host_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		skip();			/* no /dev/pts here */
	assert_int_equal(tcgetattr(slave, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	return slave;
}

/* SIGTERM comes when its buffer is full and its module's ring is not empty */
static void test_sigterm(void **state)
{
	struct options o = { .foreground = 1 };
	struct pollfd p;
	int slave, status = -1;
	pid_t pid;

	(void)state;
	slave = make_terminal();
	o.port = ptsname(host_fd);
	pid = fork();
	if (!pid) {
		alarm(60);
		module.forks = 10000;
		stopped_at_ms = vmp_now_ms();	/* however slow this test is */
		_exit(run(&o));
	}
	greet(0);
	tell_token(VMPROF_MSG_START, 7);
	p = (struct pollfd){ .fd = host_fd, .events = POLLIN };
	assert_int_equal(poll(&p, 1, 60000), 1);
	usleep(300000);				/* it fills all that there is */
	kill(pid, SIGTERM);
	assert_int_equal(hear_to_the_end(pid, &status), 10000);
	assert_int_equal(status, 0);
	assert_clean();
	close(slave);
}

/* What the daemon says to a question for a file, which it does not know */
static uint32_t answer_with(const char *option)
{
	struct vmprof_get_object get = { .file = htole32(1), .len = htole32(10) };
	struct vmp_agent_msg m = { 0 };
	int slave = make_terminal();
	char *argv[] = { "vmprof-agent", "-f", "-p", ptsname(host_fd), (char *)(uintptr_t)option, NULL };
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		alarm(60);
		kallsyms = "/nowhere";		/* they would use up the credit */
		_exit(agent_main(option ? 5 : 4, argv));
	}
	greet(1 << 20);
	tell_token(VMPROF_MSG_START, 7);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	while (m.type != VMPROF_MSG_OBJECT && !waitpid(pid, &status, WNOHANG)) {
		struct vmprof_frame f;
		const void *payload;
		size_t room;
		void *to = vmp_frame_space(&from_agent, &room);
		ssize_t n = read(host_fd, to, room);

		vmp_frame_fed(&from_agent, n > 0 ? (size_t)n : 0);
		while (m.type != VMPROF_MSG_OBJECT && vmp_frame_next(&from_agent, &f, &payload))
			assert_int_equal(vmp_agent_msg_parse(f.type, payload, f.len, &m), 0);
		usleep(1000);
	}
	assert_int_equal(m.type, VMPROF_MSG_OBJECT);
	kill(pid, SIGTERM);
	hear_to_the_end(pid, &status);
	assert_int_equal(status, 0);
	close(slave);
	return m.object.status;
}

static void test_no_objects(void **state)
{
	(void)state;
	assert_int_equal(answer_with(NULL), ENOENT);
	assert_int_equal(answer_with("--no-objects"), EPERM);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_end), T(test_end_of_stop), T(test_end_of_time), T(test_sigterm), T(test_no_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
