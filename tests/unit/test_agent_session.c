// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_session.c - the agent's conversation with a host, over a socket,
 * with a module that is made up here: order, restarts, nonsense, a full port.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* the agent is a program of its own: its log is not that of what is linked here */
#define vmp_log agent_log
#include "guest-agent/daemon/elf_id.c"
#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/files.c"
#include "guest-agent/daemon/ksyms.c"
#include "guest-agent/daemon/out.c"
#undef WRITE_MAX
#include "guest-agent/daemon/bulk.c"
#include "guest-agent/daemon/procfs.c"
#include "guest-agent/daemon/hello.c"
#include "guest-agent/daemon/session.c"

void agent_log(enum vmp_log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

/* --------------------------------------------- a module that is made up */

static struct {
	int present;
	int tracing;
	int snapshots;			/* asked for since open */
	int busy;			/* refuse further snapshots */
	uint8_t ring[4 << 20];
	size_t at, end;
	struct vmpg_lost lost;
} module;

static void module_put(unsigned int type, const void *payload, uint32_t len)
{
	struct vmpg_record rec = { .len = len, .type = (uint16_t)type };

	memcpy(module.ring + module.end, &rec, sizeof(rec));
	memcpy(module.ring + module.end + sizeof(rec), payload, len);
	module.end += sizeof(rec) + ((len + 7) & ~7U);
}

static void module_snapshot_end(uint64_t token)
{
	struct vmprof_token t = { .token = htole64(token) };

	module_put(VMPROF_MSG_SNAP_END, &t, sizeof(t));
	module.busy = 0;
}

int vmp_module_open(int *fd)
{
	if (!module.present)
		return -ENOENT;
	*fd = eventfd(0, EFD_CLOEXEC);
	module.tracing = module.snapshots = module.busy = 0;
	module.at = module.end = 0;
	return 0;
}

int vmp_module_query(int fd, struct vmpg_query *query)
{
	(void)fd;
	*query = (struct vmpg_query){ .version = VMPG_UAPI_VERSION, .tsc_khz = 1234 };
	return 0;
}

int vmp_module_start(int fd)
{
	(void)fd;
	module.tracing = 1;
	return 0;
}

int vmp_module_stop(int fd)
{
	(void)fd;
	module.tracing = 0;
	return 0;
}

int vmp_module_snapshot(int fd, uint64_t token)
{
	struct vmprof_token t = { .token = htole64(token) };

	(void)fd;
	if (!module.tracing)
		return -EINVAL;
	if (module.busy)
		return -EBUSY;
	module.busy = 1;
	module.snapshots++;
	module_put(VMPROF_MSG_SNAP_BEGIN, &t, sizeof(t));
	return 0;
}

int vmp_module_lost(int fd, struct vmpg_lost *lost)
{
	(void)fd;
	*lost = module.lost;
	return 0;
}

ssize_t vmp_module_read(int fd, void *buf, size_t len)
{
	size_t n = 0, one;
	struct vmpg_record rec;

	(void)fd;
	while (module.at < module.end) {
		memcpy(&rec, module.ring + module.at, sizeof(rec));
		one = sizeof(rec) + ((rec.len + 7) & ~7U);
		if (n + one > len)
			break;
		memcpy((uint8_t *)buf + n, module.ring + module.at, one);
		module.at += one;
		n += one;
	}
	return (ssize_t)n;
}

/* ---------------------------------------------------------- a host too */

static struct vmp_session agent;
static struct vmp_frame_decoder from_agent;
static int host_fd, agent_fd;
static uint32_t host_seq;

static int setup(void **state)
{
	int fd[2];

	(void)state;
	memset(&module, 0, sizeof(module));
	module.present = 1;
	host_seq = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	host_fd = fd[0];
	agent_fd = fd[1];
	vmp_frame_decoder_init(&from_agent);
	assert_int_equal(vmp_session_init(&agent), 0);
	vmp_session_connected(&agent);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_session_deinit(&agent);
	close(host_fd);
	close(agent_fd);
	return 0;
}

static void tell(unsigned int type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	if (type == VMPROF_MSG_HOST_HELLO)
		host_seq = 0;
	vmp_frame_build(&f, (uint16_t)type, host_seq++, payload, len);
	assert_int_equal(write(host_fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(write(host_fd, payload, len), len);
}

static void tell_token(unsigned int type, uint64_t token)
{
	struct vmprof_token t = { .token = htole64(token) };

	tell(type, &t, sizeof(t));
}

static void greet(uint64_t credit)
{
	struct vmprof_host_hello h = {
		.version = htole32(VMPROF_PROTO_VERSION),
		.compat = htole32(VMPROF_PROTO_COMPAT), .credit = htole64(credit),
	};

	tell(VMPROF_MSG_HOST_HELLO, &h, sizeof(h));
}

/* Let the agent work until it would wait; returns when the port is full too. */
static void work(void)
{
	int more;

	do {
		assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
		more = vmp_session_step(&agent);
	} while (vmp_out_flush(&agent.out, agent_fd) == 0 && more);
}

/* The next message, or type 0; lets the agent work while there is none. */
static struct vmp_agent_msg hear(void)
{
	struct vmp_agent_msg m = { 0 };
	struct vmprof_frame f;
	const void *payload;
	size_t room;
	ssize_t n;
	void *to;
	int tries;

	for (tries = 0; tries < 3; ) {
		if (vmp_frame_next(&from_agent, &f, &payload)) {
			assert_int_equal(vmp_agent_msg_parse(f.type, payload, f.len, &m), 0);
			return m;
		}
		to = vmp_frame_space(&from_agent, &room);
		n = read(host_fd, to, room);
		if (n > 0)
			vmp_frame_fed(&from_agent, (size_t)n);
		else
			tries++;
		work();
	}
	m.type = 0;
	return m;
}

static struct vmp_agent_msg hear_type(unsigned int type)
{
	struct vmp_agent_msg m;

	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
	} while (m.type != type);
	return m;
}

static void assert_clean(void)
{
	assert_int_equal(from_agent.stats.bad_bytes, 0);
	assert_int_equal(from_agent.stats.bad_frames, 0);
	assert_int_equal(from_agent.stats.seq_gaps, 0);
}

static void start(uint64_t credit)
{
	greet(credit);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 7);
}

/* -------------------------------------------------------------- tests */

static void test_conversation(void **state)
{
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5), .comm = "sh" };
	struct vmp_agent_msg m;

	(void)state;
	greet(0);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.version, VMPROF_PROTO_VERSION);
	assert_int_equal(m.hello.tsc_khz, 1234);
	assert_int_equal(m.hello.flags & VMPROF_HELLO_NO_MODULE, 0);
	assert_int_equal(module.tracing, 0);

	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_BEGIN);
	assert_int_equal(module.tracing, 1);
	module_put(VMPROF_MSG_PROC, &p, sizeof(p));
	module_snapshot_end(7);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_PROC);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);

	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear().token.token, 8);
	module_snapshot_end(8);
	module_put(VMPROF_MSG_EXIT, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_int_equal(hear().type, VMPROF_MSG_EXIT);	/* what the ring still holds */
	assert_int_equal(module.tracing, 0);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_DONE);
	assert_int_equal(m.token.token, 8);
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* STOP while the first snapshot is being made, whose end may lie in the ring already */
static void test_early_stop(void **state)
{
	(void)state;
	start(0);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	assert_int_equal(module.snapshots, 1);
	module_snapshot_end(7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	work();
	assert_int_equal(module.snapshots, 2);
	assert_int_equal(module.tracing, 1);
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);

	/* the same with the first end not read when the second is asked for */
	start(0);
	module_snapshot_end(7);
	assert_int_equal(vmp_module_snapshot(0, 8), 0);
	module.busy = 0;
	agent.snapshots++;
	agent.state = VMP_STOPPING;
	agent.stop_snapshot = 1;
	agent.stop_token = 8;
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	work();
	assert_int_equal(module.tracing, 1);
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
}

static void test_stop_of_nothing(void **state)
{
	(void)state;
	greet(0);
	tell_token(VMPROF_MSG_STOP, 3);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 3);
}

/* A new collector greets while the port is full of the old one's frames. */
static void test_restart(void **state)
{
	static uint8_t big[60000];
	struct vmp_agent_msg m;
	int i, exits = 0;

	(void)state;
	start(0);
	for (i = 0; i < 16; i++)
		module_put(VMPROF_MSG_EXIT, big, sizeof(big));
	work();
	assert_true(vmp_out_pending(&agent.out) > 0);
	greet(0);
	work();
	assert_int_equal(module.tracing, 0);
	do {
		m = hear();
		exits += m.type == VMPROF_MSG_EXIT;
	} while (m.type != VMPROF_MSG_HELLO);
	assert_in_range(exits, 1, 15);
	tell_token(VMPROF_MSG_START, 9);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 9);
	assert_clean();
}

/* Nobody reads: the agent holds a bounded amount and loses nothing of it. */
static void test_frozen_host(void **state)
{
	struct vmprof_proc p = { .tgid = htole32(1) };
	uint32_t i, seen;

	(void)state;
	start(0);
	for (i = 0; i < 40000; i++) {
		p.pid = htole32(i);
		module_put(VMPROF_MSG_FORK, &p, sizeof(p));
		if (i % 1000 == 0)
			work();
	}
	work();
	assert_true(vmp_out_pending(&agent.out) <= VMP_OUT_BYTES);
	for (seen = 0; seen < 40000; seen++)
		assert_int_equal(hear_type(VMPROF_MSG_FORK).proc.pid, seen);
	assert_clean();
}

static void test_nonsense(void **state)
{
	struct vmprof_get_object get = { .file = htole32(99), .len = htole32(10) };
	struct vmp_agent_msg m;
	unsigned int type;
	uint8_t junk[4096];

	(void)state;
	tell_token(VMPROF_MSG_START, 1);	/* without a greeting */
	tell_token(VMPROF_MSG_STOP, 1);
	work();
	assert_int_equal(module.tracing, 0);

	start(1 << 20);
	memset(junk, 'V', sizeof(junk));
	assert_int_equal(write(host_fd, junk, sizeof(junk)), sizeof(junk));
	for (type = 0; type < 300; type++) {
		if (type != VMPROF_MSG_HOST_HELLO && type != VMPROF_MSG_STOP)
			tell(type, junk, 64);
		work();
	}
	tell_token(VMPROF_MSG_START, 5);	/* again */
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, ENOENT);
	agent.lost_checked_ms = 0;
	m = hear_type(VMPROF_MSG_LOST);
	assert_true(m.lost.count[VMPROF_GLOST_PROTO] > 0);
	assert_int_equal(agent.state, VMP_RUNNING);
	assert_clean();
}

/* LOST tells what grew, and only then. */
static void test_lost(void **state)
{
	(void)state;
	start(0);
	module.lost.count[VMPROF_GLOST_RING] = 12;
	agent.lost_checked_ms = 0;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_RING], 12);
	agent.lost_checked_ms = 0;
	assert_int_equal(hear().type, 0);
}

/* The vdso as an object, whole, in pieces, within the credit */
static void test_object(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1), .len = htole32(UINT32_MAX) };
	struct vmprof_credit more = { .bytes = htole64(1000) };
	struct {
		struct vmprof_map map;
		char path[6];
	} map_msg = {
		.map = { .start = htole64(1ULL << 40), .end = htole64((1ULL << 40) + 8192),
			 .flags = htole16(VMPROF_MAP_VDSO), .path_len = htole32(6) },
		.path = "[vdso]",
	};
	size_t got = 0, spent = 0, given = 0;
	struct vmp_agent_msg m;

	(void)state;
	if (!vmp_vdso_bytes())
		skip();
	start(0);
	agent.bulk.ksyms_active = 0;
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 6);
	m = hear_type(VMPROF_MSG_FILE);
	assert_int_equal(m.file.bytes, vmp_vdso_bytes());
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	while (got < vmp_vdso_bytes()) {
		m = hear();
		if (!m.type) {
			assert_true(given <= vmp_vdso_bytes() + 100000);
			tell(VMPROF_MSG_CREDIT, &more, sizeof(more));
			given += 1000;
			continue;
		}
		assert_int_equal(m.type, VMPROF_MSG_OBJECT);
		assert_int_equal(m.object.status, 0);
		assert_int_equal(m.object.offset, got);
		assert_memory_equal(m.object.data.p, vdso()->begin + got, m.object.data.len);
		got += m.object.data.len;
		spent += m.object.data.len + sizeof(struct vmprof_object);
		assert_true(spent <= given);
	}
	assert_int_equal(got, vmp_vdso_bytes());
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* Without the module: who lives, but no CR3, and it says so. */
static void test_degraded(void **state)
{
	struct vmp_agent_msg m;
	int procs = 0;

	(void)state;
	module.present = 0;
	greet(0);
	assert_true(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_NO_MODULE);
	tell_token(VMPROF_MSG_START, 7);
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
		procs += m.type == VMPROF_MSG_PROC;
		if (m.type == VMPROF_MSG_PROC)
			assert_int_equal(m.proc.cr3, 0);
	} while (m.type != VMPROF_MSG_SNAP_END);
	assert_true(procs > 0);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
}

/* A host that greeted an agent before us does not greet again by itself. */
static void test_speaks_first(void **state)
{
	struct vmprof_credit c = { .bytes = htole64(5) };

	(void)state;
	tell(VMPROF_MSG_CREDIT, &c, sizeof(c));
	assert_int_equal(hear().type, 0);
	agent.silent_since_ms -= SILENCE_MS;
	assert_int_equal(hear().type, VMPROF_MSG_HELLO);
	assert_int_equal(hear().type, 0);
	greet(0);
	assert_int_equal(hear().type, VMPROF_MSG_HELLO);
}

static void test_other_version(void **state)
{
	struct vmprof_host_hello h = { .version = htole32(9), .compat = htole32(9) };

	(void)state;
	tell(VMPROF_MSG_HOST_HELLO, &h, sizeof(h));
	assert_int_equal(hear().type, VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 1);
	work();
	assert_int_equal(module.tracing, 0);
}

static void test_host_leaves(void **state)
{
	(void)state;
	start(0);
	close(host_fd);
	assert_int_equal(vmp_session_input(&agent, agent_fd), -EPIPE);
	vmp_session_disconnected(&agent);
	assert_int_equal(agent.module, -1);
	assert_int_equal(vmp_out_pending(&agent.out), 0);
	host_fd = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_conversation, setup, teardown),
		cmocka_unit_test_setup_teardown(test_early_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_of_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frozen_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_object, setup, teardown),
		cmocka_unit_test_setup_teardown(test_degraded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_speaks_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_leaves, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
