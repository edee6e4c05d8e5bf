/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * agent_talk.h - the whole agent but its main(), a module that is made up, and a
 * host that talks to it over a socket.
 */
#ifndef VMP_TEST_AGENT_TALK_H
#define VMP_TEST_AGENT_TALK_H

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

/* Its clock: tests let time pass, or stop it */
#include "guest-agent/daemon/clock.h"
static uint64_t passed_ms, stopped_at_ms;

static inline uint64_t agent_now_ms(void)
{
	return stopped_at_ms ? stopped_at_ms : vmp_now_ms() + passed_ms;
}
#define vmp_now_ms agent_now_ms

/* What it writes to the port */
static unsigned int writes;

static inline ssize_t counted_write(int fd, const void *buf, size_t len)
{
	writes++;
	return write(fd, buf, len);
}

/* the agent is a program of its own: its log is not that of what is linked here */
#define vmp_log agent_log
#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/jitfile.c"
static char debug_root[] = "/tmp/vmprof-debug.XXXXXX";
#define VMP_DEBUG_ROOT debug_root
#include "guest-agent/daemon/worker.c"
#include "guest-agent/daemon/reader.c"
#include "guest-agent/daemon/files.c"
#include "guest-agent/daemon/ksyms.c"
#define write counted_write
#include "guest-agent/daemon/out.c"
#undef write
#undef WRITE_MAX
static const char *kallsyms = "/proc/kallsyms";
#define VMP_KALLSYMS kallsyms
static const char *modules_path = "/proc/modules";
#define VMP_MODULES modules_path
#include "guest-agent/daemon/bulk.c"
#include "guest-agent/daemon/jit.c"
#include "guest-agent/daemon/procfs.c"
#include <sys/syscall.h>
static long perf_call = SYS_perf_event_open;
#undef SYS_perf_event_open
#define SYS_perf_event_open perf_call
#include "guest-agent/daemon/sideband.c"
#undef PAGE
#include "guest-agent/daemon/symbols.c"
#include "guest-agent/daemon/hello.c"
#include "guest-agent/daemon/carry.c"
#include "guest-agent/daemon/requests.c"
#include "guest-agent/daemon/session.c"

static char complaint[512];		/* the last error in the agent's log */

void agent_log(enum vmp_log_level level, const char *format, ...)
{
	va_list ap;

	if (level != VMP_LOG_ERROR)
		return;
	va_start(ap, format);
	vsnprintf(complaint, sizeof(complaint), format, ap);
	va_end(ap);
}

/* --------------------------------------------- a module that is made up */

static struct {
	int present;
	int tracing;
	int snapshots;			/* asked for since open */
	int busy;			/* refuse further snapshots */
	int busy_behind;		/* ... so many still behind the end of one */
	int start_error, snapshot_error;
	int no_tasks;			/* it does not tell where the kernel keeps them */
	uint32_t forks;			/* that come as soon as it traces */
	uint16_t flags;			/* of the next records */
	uint8_t ring[4 << 20];
	size_t at, end;
	struct vmpg_lost lost;
} module;

static inline void module_put(unsigned int type, const void *payload, uint32_t len)
{
	struct vmpg_record rec = { .len = len, .type = (uint16_t)type, .flags = module.flags };

	memcpy(module.ring + module.end, &rec, sizeof(rec));
	memcpy(module.ring + module.end + sizeof(rec), payload, len);
	module.end += sizeof(rec) + ((len + 7) & ~7U);
}

static inline void module_snapshot_end(uint64_t token)
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
	struct vmprof_proc p = { .tgid = htole32(1) };

	(void)fd;
	if (module.start_error)
		return module.start_error;
	module.tracing = 1;
	if (!module.no_tasks)
		module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
	for (p.pid = 0; p.pid < module.forks; p.pid++)
		module_put(VMPROF_MSG_FORK, &p, sizeof(p));
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
	if (module.busy || (module.busy_behind && module.busy_behind--))
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

int vmp_module_symbol(int fd, uint64_t address, uint64_t *bytes)
{
	(void)fd, (void)address, (void)bytes;
	return -ENOENT;
}

static uint64_t fake_changes;	/* of modules, as ours counts them */

int vmp_module_changes(int fd, uint64_t *changes)
{
	(void)fd;
	*changes = fake_changes;
	return 0;
}

static uint64_t fake_made;		/* code that the kernel made or gave up */
static int made_error;

int vmp_module_made(int fd, uint64_t *made)
{
	(void)fd;
	*made = fake_made;
	return made_error;
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

static inline int setup(void **state)
{
	int fd[2];

	(void)state;
	memset(&module, 0, sizeof(module));
	module.present = 1;
	host_seq = 0;
	complaint[0] = 0;
	stopped_at_ms = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd), 0);
	host_fd = fd[0];
	agent_fd = fd[1];
	vmp_frame_decoder_init(&from_agent);
	assert_int_equal(vmp_session_init(&agent), 0);
	vmp_session_connected(&agent);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	vmp_session_deinit(&agent);
	close(host_fd);
	close(agent_fd);
	return 0;
}

static inline void tell(unsigned int type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	if (type == VMPROF_MSG_HOST_HELLO)
		host_seq = 0;
	vmp_frame_build(&f, (uint16_t)type, host_seq++, payload, len);
	assert_int_equal(write(host_fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(write(host_fd, payload, len), len);
}

static inline void tell_token(unsigned int type, uint64_t token)
{
	struct vmprof_token t = { .token = htole64(token) };

	tell(type, &t, sizeof(t));
}

/* As a host of a version that accepts agents from version @compat on */
static inline void greet_as(uint32_t version, uint32_t compat, uint64_t credit)
{
	struct vmprof_host_hello h = {
		.version = htole32(version), .compat = htole32(compat), .credit = htole64(credit),
		.session = htole64(host_session),
	};

	tell(VMPROF_MSG_HOST_HELLO, &h, sizeof(h));
}

static inline void greet(uint64_t credit)
{
	greet_as(VMPROF_PROTO_VERSION, VMPROF_PROTO_COMPAT, credit);
}

/* As the agent's own loop does.  Return: 1 there is an answer of the child that reads files */
static inline int wait_for_child(void)
{
	struct pollfd p = { .fd = agent.reader.fd, .events = POLLIN };

	return vmp_reader_busy(&agent.reader) && poll(&p, 1, 100) > 0;
}

/* Let the agent work until it would wait; returns when the port is full too. */
static inline void work(void)
{
	int more;

	do {
		assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
		more = vmp_session_step(&agent) || wait_for_child();
	} while (vmp_out_flush(&agent.out, agent_fd, vmp_now_ms()) == 0 && more);
}

/* The next message, or type 0; lets the agent work, and its clock go on unless it is stopped, while there is none. */
static inline struct vmp_agent_msg hear(void)
{
	struct vmp_agent_msg m = { 0 };
	struct vmprof_frame f;
	const void *payload;
	size_t room;
	ssize_t n;
	void *to;
	int tries;

	for (tries = 0; tries < (vmp_reader_busy(&agent.reader) ? 300 : 3); ) {
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
		if (n <= 0 && vmp_out_pending(&agent.out))
			passed_ms += VMP_OUT_HOLD_MS;
	}
	m.type = 0;
	return m;
}

static inline struct vmp_agent_msg hear_type(unsigned int type)
{
	struct vmp_agent_msg m;

	do {
		m = hear();
		assert_int_not_equal(m.type, 0);
	} while (m.type != type);
	return m;
}

static inline void assert_clean(void)
{
	assert_int_equal(from_agent.stats.bad_bytes, 0);
	assert_int_equal(from_agent.stats.bad_frames, 0);
	assert_int_equal(from_agent.stats.seq_gaps, 0);
}

static inline void start(uint64_t credit)
{
	greet(credit);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 7);
}

static inline void replay(const char *name)
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

#endif
