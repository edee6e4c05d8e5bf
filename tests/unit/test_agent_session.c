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
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* the agent is a program of its own: its log is not that of what is linked here */
#define vmp_log agent_log
#include "guest-agent/daemon/elf_id.c"
#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/jitfile.c"
static char debug_root[] = "/tmp/vmprof-debug.XXXXXX";
#define VMP_DEBUG_ROOT debug_root
#include "guest-agent/daemon/worker.c"
#include "guest-agent/daemon/reader.c"
#include "guest-agent/daemon/files.c"
#include "guest-agent/daemon/ksyms.c"
#include "guest-agent/daemon/out.c"
#undef WRITE_MAX
#include "guest-agent/daemon/bulk.c"
#include "guest-agent/daemon/jit.c"
#include "guest-agent/daemon/procfs.c"
#include <sys/syscall.h>
static long perf_call = SYS_perf_event_open;
#undef SYS_perf_event_open
#define SYS_perf_event_open perf_call
#include "guest-agent/daemon/sideband.c"
#undef PAGE
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
	int start_error, snapshot_error;
	int no_tasks;			/* it does not tell where the kernel keeps them */
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
	const struct vmprof_task_layout t = { .pid_offset = htole32(2400) };

	(void)fd;
	if (module.start_error)
		return module.start_error;
	module.tracing = 1;
	if (!module.no_tasks)
		module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
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
	if (module.snapshot_error)
		return module.snapshot_error;
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
static uint64_t host_session;

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
		.session = htole64(host_session),
	};

	tell(VMPROF_MSG_HOST_HELLO, &h, sizeof(h));
}

/* As the agent's own loop does.  Return: 1 there is an answer of the child that reads files */
static int wait_for_child(void)
{
	struct pollfd p = { .fd = agent.reader.fd, .events = POLLIN };

	return vmp_reader_busy(&agent.reader) && poll(&p, 1, 100) > 0;
}

/* Let the agent work until it would wait; returns when the port is full too. */
static void work(void)
{
	int more;

	do {
		assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
		more = vmp_session_step(&agent) || wait_for_child();
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

	for (tries = 0; tries < (vmp_reader_busy(&agent.reader) ? 30 : 3); ) {
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

	assert_int_equal(m.hello.module_error, 0);
	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear().type, VMPROF_MSG_TASKS);
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

/* Events that come right after others wait for more of their kind, but not for STOP. */
static void test_events_go_together(void **state)
{
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5), .comm = "sh" };

	(void)state;
	start(0);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
	agent.gather_until_ms = 0;
	assert_true(vmp_session_wants_records(&agent));
	assert_int_equal(vmp_session_timeout_ms(&agent), LOST_CHECK_MS);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	hear_type(VMPROF_MSG_FORK);
	assert_in_range(agent.gather_until_ms, 1, vmp_now_ms() + GATHER_MS);
	agent.gather_until_ms = vmp_now_ms() + 10 * LOST_CHECK_MS;	/* however slow this test is */
	assert_false(vmp_session_wants_records(&agent));
	assert_in_range(vmp_session_timeout_ms(&agent), 1, 10 * LOST_CHECK_MS);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	assert_true(vmp_session_wants_records(&agent));
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
	agent.bad_input++;		/* on a slow machine the others have been told of */
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

/* The symbols that a distribution stripped from a file and keeps below another folder */
static void test_debug_file(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1 | VMPROF_OBJECT_DEBUG), .len = htole32(6) };
	const struct vmp_msg_file id = { .build_id = { 0xab, 0xcd, 0x01 }, .build_id_len = 3 };
	struct vmprof_credit credit = { .bytes = htole64(100000) };
	struct vmp_agent_msg m;
	char cmd[256];

	(void)state;
	strcpy(debug_root + sizeof(debug_root) - 7, "XXXXXX");
	assert_non_null(mkdtemp(debug_root));
	start(0);
	agent.bulk.ksyms_active = 0;
	tell(VMPROF_MSG_CREDIT, &credit, sizeof(credit));
	agent.files.file = calloc(1, sizeof(*agent.files.file));
	agent.files.nr = agent.files.room = agent.files.sent = 1;
	agent.files.file[0].path = strdup("/nowhere");
	agent.files.file[0].tgid = 0x7fffffff;	/* gone */
	agent.files.file[0].looked_at = 1;
	agent.files.file[0].flags = VMPROF_FILE_NO_ACCESS;
	agent.files.file[0].id.len = id.build_id_len;
	memcpy(agent.files.file[0].id.bytes, id.build_id, id.build_id_len);

	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.file, 1 | VMPROF_OBJECT_DEBUG);
	assert_int_equal(m.object.status, ENOENT);

	snprintf(cmd, sizeof(cmd), "mkdir -p %s/.build-id/ab && printf 'some symbols' > %s/.build-id/ab/cd01.debug",
		 debug_root, debug_root);
	assert_int_equal(system(cmd), 0);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, 0);
	assert_int_equal(m.object.total, 12);
	assert_int_equal(m.object.data.len, 6);
	assert_memory_equal(m.object.data.p, "some s", 6);
	get.offset = htole64(6);
	get.len = htole32(1000);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.offset, 6);
	assert_memory_equal(m.object.data.p, "ymbols", 6);
	assert_int_equal(m.object.data.len, 6);

	/* the file itself is another object */
	get.file = htole32(1);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.status, EACCES);
	assert_clean();
	snprintf(cmd, sizeof(cmd), "rm -r %s", debug_root);
	assert_int_equal(system(cmd), 0);
}

/* Without the module: who lives and who begins, but no CR3, and it says so. */
static void test_degraded(void **state)
{
	struct vmp_agent_msg m;
	int procs = 0, perf, forks = 0, ends = 0;
	pid_t pid;

	(void)state;
	module.present = 0;
	greet(1 << 30);
	m = hear_type(VMPROF_MSG_HELLO);
	assert_true(m.hello.flags & VMPROF_HELLO_NO_MODULE);
	assert_int_equal(m.hello.module_error, ENOENT);
	tell_token(VMPROF_MSG_START, 7);
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	agent.bulk.ksyms_active = 0;
	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
		procs += m.type == VMPROF_MSG_PROC;
		if (m.type == VMPROF_MSG_PROC)
			assert_int_equal(m.proc.cr3, 0);
	} while (m.type != VMPROF_MSG_SNAP_END);
	assert_true(procs > 0);
	perf = agent.sideband.nr > 0;		/* where the kernel lets us */
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
}

/* Nor with perf: the host learns that what /proc shows is not all, from before the snapshot on */
static void test_proc_only(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	module.present = 0;
	perf_call = -1;
	greet(0);
	hear_type(VMPROF_MSG_HELLO);
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

/* A host that greeted an agent before us does not greet again by itself. */
static void test_speaks_first(void **state)
{
	struct vmprof_credit c = { .bytes = htole64(5) };

	(void)state;
	tell(VMPROF_MSG_CREDIT, &c, sizeof(c));
	assert_int_equal(hear().type, 0);
	agent.silent_since_ms -= SILENCE_MS;
	assert_true(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_UNASKED);
	assert_int_equal(hear().type, 0);
	greet(0);
	assert_false(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_UNASKED);
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

static void replay(const char *name)
{
	char path[512], buf[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/unit/frozen/%s", getenv("SRC") ? getenv("SRC") : ".", name);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	assert_int_equal(write(host_fd, buf, n), n);
	work();
}

/* A module that was loaded in the session: all symbols once more, from their beginning */
static void test_modules_change(void **state)
{
	struct vmprof_credit credit = { .bytes = htole64(1 << 26) };
	struct vmp_agent_msg m;
	int begun = 0, whole = 0, round;

	(void)state;
	start(1 << 26);
	for (round = 1; round <= 2; round++) {
		do {
			m = hear_type(VMPROF_MSG_KSYMS);
			begun += !m.ksyms.offset;
			whole += m.ksyms.offset + m.ksyms.text.len == m.ksyms.total;
		} while (whole < round);
		assert_int_equal(begun, round);
		agent.modules_checked_ms -= MODULES_CHECK_MS;
		assert_int_equal(hear().type, 0);	/* nothing has changed */
		agent.modules++;
		agent.modules_checked_ms -= MODULES_CHECK_MS;
		tell(VMPROF_MSG_CREDIT, &credit, sizeof(credit));
	}
}

/* A host that was frozen with version 1: its bytes do not change, and are understood. */
static void test_old_host(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	replay("host-1-start");
	m = hear_type(VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.compat, 1);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 1);
	module_snapshot_end(1);
	hear_type(VMPROF_MSG_SNAP_END);
	replay("host-1-stop");
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 2);
	module_snapshot_end(2);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 2);
	assert_int_equal(agent.bad_input + agent.in.stats.bad_bytes + agent.in.stats.seq_gaps, 0);
	agent.bulk.ksyms_active = 0;		/* they may have used up the credit */
	vmp_out_add_credit(&agent.out, 1000);
	assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.status, ENOENT);
	assert_clean();
}

/* Where the kernel keeps its tasks: only for hosts that know the message */
static void test_tasks(void **state)
{
	const struct vmprof_task_layout t = { .pid_offset = htole32(2400) };

	(void)state;
	start(0);
	module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
	assert_int_equal(hear().type, VMPROF_MSG_TASKS);
	agent.host_version = TASKS_VERSION - 1;
	module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
	module_snapshot_end(7);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_clean();
}

/* A module that could not tell of them: the host hears that, once and before the snapshot is over */
static void test_tasks_lost(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	module.no_tasks = 1;
	start(0);
	module_snapshot_end(7);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_TASKS);
	assert_int_equal(m.tasks.lack, VMPROF_TASKS_LACK_LOST);
	assert_int_equal(m.tasks.nr_cpus, 0);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_BEGIN);
	module_snapshot_end(8);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	/* hosts that know of no such lack */
	start(0);
	agent.host_version = LACK_VERSION - 1;
	module_snapshot_end(7);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_clean();
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
	agent.bulk.ksyms_active = 0;
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
	agent.bulk.ksyms_active = 0;
	hear_type(VMPROF_MSG_PROC);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
}

/* A process that says to have code of its own making, and the map that it wrote */
static pid_t made_code(char path[64], const char *text)
{
	struct vmprof_map map = { .tsc = htole64(5), .start = htole64(0x1000), .end = htole64(0x2000),
				  .flags = htole16(VMPROF_MAP_ANON) };
	pid_t pid = fork();
	FILE *f;

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	snprintf(path, 64, "/tmp/perf-%d.map", pid);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	map.tgid = htole32((uint32_t)pid);
	module_put(VMPROF_MSG_MAP, &map, sizeof(map));
	return pid;
}

static void end_process(pid_t pid, const char *path)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
}

static void assert_jitmap(const char *text)
{
	const struct vmp_agent_msg m = hear_type(VMPROF_MSG_JITMAP);

	assert_int_equal(m.jitmap.tsc, 5);
	assert_int_equal(m.jitmap.text.len, strlen(text));
	assert_memory_equal(m.jitmap.text.p, text, strlen(text));
}

/* What a program appended is there before DONE, and what it wrote before its exit too */
static void test_jit_map(void **state)
{
	struct vmprof_proc gone = { .tgid = 0, .flags = htole32(VMPROF_PROC_LAST) };
	char one[64], two[64];
	pid_t first, second;
	FILE *f;

	(void)state;
	start(1 << 20);
	agent.bulk.ksyms_active = 0;
	module_snapshot_end(7);
	first = made_code(one, "1000 10 one\n");
	assert_jitmap("1000 10 one\n");
	second = made_code(two, "2000 10 two\n");
	assert_jitmap("2000 10 two\n");

	f = fopen(two, "ae");
	fputs("2010 10 last words\n", f);
	fclose(f);
	end_process(second, two);
	gone.tgid = gone.pid = htole32((uint32_t)second);
	module_put(VMPROF_MSG_EXIT, &gone, sizeof(gone));
	assert_jitmap("2010 10 last words\n");

	f = fopen(one, "ae");
	fputs("1010 10 appended\n", f);
	fclose(f);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	assert_jitmap("1010 10 appended\n");
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_int_equal(agent.jit.nr, 0);
	assert_int_equal(agent.jit.lost, 0);
	assert_clean();
	end_process(first, one);
}

/* A host that gives no credit: the end is waited for, but not for ever, and the loss is told */
static void test_jit_map_without_credit(void **state)
{
	char path[64];
	pid_t pid;

	(void)state;
	start(0);
	module_snapshot_end(7);
	pid = made_code(path, "1000 10 one\n");
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
	assert_int_equal(hear().type, 0);
	assert_int_equal(agent.state, VMP_DRAINING);
	agent.drain_until_ms = 1;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_JIT], 1);
	assert_int_equal(hear().type, VMPROF_MSG_DONE);
	end_process(pid, path);
}

/* A host of version 1 would give no credit for them */
static void test_jit_map_unwanted(void **state)
{
	char path[64];
	pid_t pid;

	(void)state;
	replay("host-1-start");
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	pid = made_code(path, "1000 10 one\n");
	assert_int_equal(hear_type(VMPROF_MSG_MAP).map.tgid, pid);
	assert_int_equal(agent.jit.nr, 0);
	end_process(pid, path);
}

static void serve_nobody(int fd, struct vmp_reader_page *page)
{
	(void)fd;
	(void)page;
	pause();
}

/* A file whose reading does not end: events pass it by, it is told without, the loss is told */
static void test_stuck_file(void **state)
{
	struct {
		struct vmprof_map map;
		char path[8];
	} map_msg = {
		.map = { .end = htole64(8192), .ino = htole64(3), .dev_minor = htole32(77), .path_len = htole32(8) },
		.path = "/no/file",
	};
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5) };

	(void)state;
	agent.reader.serve = serve_nobody;
	start(0);
	module_snapshot_end(7);
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 8);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear_type(VMPROF_MSG_MAP).map.ino, 3);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	agent.reader.asked_ms -= VMP_READER_PATIENCE_MS;
	assert_int_equal(hear_type(VMPROF_MSG_FILE).file.flags, VMPROF_FILE_NO_ACCESS);
	agent.lost_checked_ms = 0;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_STUCK], 1);

	/* another one at the end: DONE does not wait for ever */
	map_msg.map.ino = htole64(4);
	map_msg.map.dev_minor = htole32(78);
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 8);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	work();
	assert_int_equal(agent.state, VMP_DRAINING);
	agent.drain_until_ms = 1;
	assert_int_equal(hear_type(VMPROF_MSG_FILE).file.ino, 4);
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_STUCK], 2);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
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
		cmocka_unit_test_setup_teardown(test_events_go_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_early_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop_of_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frozen_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_object, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_degraded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proc_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_speaks_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tasks_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_refused_old_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modules_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_map, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_map_without_credit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jit_map_unwanted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stuck_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_leaves, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
