// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_doctor.c - what doctor says of a guest's agent, which is made up here behind the
 * channel's socket: of this version, older, newer, without its module.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/tasks.h"
#include "gen.h"

struct fake {
	uint32_t version, compat, flags, error;
	uint32_t start_error;		/* START fails the first time */
};

static char *dir, *lines;
static struct vmp_domain domain;

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	domain = (struct vmp_domain){ .shown = "web01", .word = "web01", .pid = (uint32_t)getpid() };
	domain.xml.has_channel = 1;
	snprintf(domain.xml.channel_path, sizeof(domain.xml.channel_path), "%s/channel", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(lines);
	lines = NULL;
	gen_rmdir(dir);
	return 0;
}

/* ---------------------------------------------------------- the agent's side */

static void answer(int fd, unsigned int type, uint32_t *seq, const void *payload, size_t len)
{
	struct vmprof_frame f;

	vmp_frame_build(&f, (uint16_t)type, (*seq)++, payload, len);
	if (write(fd, &f, sizeof(f)) != sizeof(f) || write(fd, payload, len) != (ssize_t)len)
		_exit(1);
}

static void say_hello(int fd, const struct fake *a, uint32_t *seq, uint32_t flags, uint32_t error)
{
	struct {
		struct vmprof_hello h;
		char release[3];
		uint8_t error[4];
	} m = {
		.h = { .version = htole32(a->version), .compat = htole32(a->compat),
		       .flags = htole32(a->flags | flags), .release_len = htole32(3) },
		.release = "6.1", .error = { (uint8_t)error },
	};

	*seq = 0;
	answer(fd, VMPROF_MSG_HELLO, seq, &m, sizeof(m.h) + sizeof(m.release) + (a->version >= 5 ? 4 : 0));
}

static void serve(int fd, struct fake a)
{
	static struct vmp_frame_decoder in;
	const uint32_t refused = VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED;
	struct vmprof_frame f;
	const void *payload;
	uint32_t seq = 0;
	size_t room;
	ssize_t n;
	void *to;

	vmp_frame_decoder_init(&in);
	for (;;) {
		to = vmp_frame_space(&in, &room);
		n = read(fd, to, room);
		if (n <= 0)
			_exit(0);
		vmp_frame_fed(&in, (size_t)n);
		while (vmp_frame_next(&in, &f, &payload)) {
			if (f.type == VMPROF_MSG_HOST_HELLO) {
				say_hello(fd, &a, &seq, 0, a.error);
			} else if (f.type == VMPROF_MSG_START && a.start_error) {
				a.error = a.start_error;
				a.start_error = 0;
				say_hello(fd, &a, &seq, refused | VMPROF_HELLO_UNASKED, a.error);
				a.flags |= refused;
			} else if (f.type == VMPROF_MSG_START) {
				answer(fd, VMPROF_MSG_SNAP_BEGIN, &seq, payload, sizeof(struct vmprof_token));
			}
		}
	}
}

/* What doctor says of it */
static void look_at(struct fake a)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct vmp_checks c = { 0 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len;
	pid_t pid;

	strcpy(addr.sun_path, domain.xml.channel_path);
	unlink(addr.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	pid = fork();
	if (!pid)
		serve(accept(fd, NULL, NULL), a);
	close(fd);
	free(lines);
	c.out = open_memstream(&lines, &len);
	vmp_check_domain(&c, NULL, &domain);
	fclose(c.out);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ------------------------------------------------------------------- tests */

static void test_versions(void **state)
{
	struct fake a = { .version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT };

	(void)state;
	look_at(a);
	gen_says(lines, "web01: the agent answers, guest kernel 6.1\n");
	gen_says_not(lines, "install the agent");
	/* the first that tells where the guest keeps its tasks, and the last that does not */
	a.version = VMP_TASKS_VERSION;
	look_at(a);
	gen_says(lines, "web01: the agent answers, guest kernel 6.1\n");
	a.version = VMP_TASKS_VERSION - 1;
	look_at(a);
	gen_says(lines, "web01: the agent is older than this vmprof, the guest's threads are not told apart: install the agent of this version");
	gen_says_not(lines, "the agent answers");
	/* newer: one that still speaks with us, and one that does not */
	a.version = VMPROF_PROTO_VERSION + 1;
	look_at(a);
	gen_says(lines, "web01: the agent answers, guest kernel 6.1\n");
	a.compat = VMPROF_PROTO_VERSION + 1;
	look_at(a);
	gen_says(lines, "web01: the agent speaks protocol 8, vmprof 7, user code stays unnamed: install the agent of this version");
	/* older than we speak with */
	a.version = a.compat = VMPROF_PROTO_COMPAT - 1;
	look_at(a);
	gen_says(lines, "web01: the agent speaks protocol 0, vmprof 7");
}

static void test_without_module(void **state)
{
	struct fake a = { .version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT };

	(void)state;
	a.flags = VMPROF_HELLO_NO_MODULE;
	a.error = ENOENT;
	look_at(a);
	gen_says(lines, "web01: the agent has no module, it is not loaded; some processes stay unknown: in the guest, modprobe");
	a.error = EPROTO;
	look_at(a);
	gen_says(lines, "the agent has no module, the loaded one is of another version; ");
	assert_null(strstr(lines, "perf"));
	a.flags |= VMPROF_HELLO_NO_PERF;
	look_at(a);
	gen_says(lines, "the agent has no module, the loaded one is of another version, and the guest's kernel refuses it perf events; all processes stay unknown: in the guest, modprobe vmprof_guest, or sysctl kernel.perf_event_paranoid=2, and");
	a.flags &= ~VMPROF_HELLO_NO_PERF;
	/* agents that could not say why */
	a.version = 4;
	look_at(a);
	gen_says(lines, "the agent has no module, the agent does not tell why; ");
	assert_null(strstr(lines, "perf"));
}

/* It says to have one, which then does not start */
static void test_module_refuses(void **state)
{
	(void)state;
	look_at((struct fake){ .version = VMPROF_PROTO_VERSION, .compat = VMPROF_PROTO_COMPAT, .start_error = ENOMEM });
	gen_says(lines, "web01: the agent has no module, it did not start: Cannot allocate memory (the guest's kernel log has more); some processes stay unknown");
	gen_says_not(lines, "the agent answers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module_refuses, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
