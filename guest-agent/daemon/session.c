// SPDX-License-Identifier: GPL-2.0-only
/* session.c - the conversation with the host; states: see session.h. */
#include "session.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent_msg.h"
#include "clock.h"
#include "hello.h"
#include "log.h"
#include "module.h"

#define SILENCE_MS		1000	/* then a connected host is told that we are here */
#define LOST_CHECK_MS		1000	/* at rest nothing else wakes the daemon */
#define GATHER_MS		10	/* events of so long are read together; no more, or their files are gone */
#define DRAIN_MS		5000	/* the last of the files and JIT maps may take at the end */
#define JIT_VERSION		2	/* hosts from this one on take JIT maps */
#define TASKS_VERSION		4	/* ... TASKS */
#define LACK_VERSION		5	/* ... why there are none */
#define MODULES_VERSION		7	/* ... when kernel modules came and went */
#define RECORDS_PER_STEP	256

int vmp_session_init(struct vmp_session *s)
{
	int ret;

	memset(s, 0, sizeof(*s));
	s->module = -1;
	vmp_frame_decoder_init(&s->in);
	vmp_files_init(&s->files);
	vmp_bulk_init(&s->bulk);
	vmp_symbols_init(&s->symbols);
	vmp_jit_init(&s->jit);
	ret = vmp_out_init(&s->out);
	if (ret)
		return ret;
	ret = vmp_reader_init(&s->reader);
	if (ret)
		goto free_out;
	s->records = malloc(VMP_RECORDS_BYTES);
	if (s->records)
		return 0;
	ret = -ENOMEM;
	vmp_reader_deinit(&s->reader);
free_out:
	vmp_out_deinit(&s->out);
	return ret;
}

/* Stop tracing and forget what was said; what is on its way stays. */
static void reset(struct vmp_session *s)
{
	if (s->module >= 0)
		close(s->module);
	s->module = -1;
	s->state = VMP_IDLE;
	s->snapshots = 0;
	s->tasks_told = 0;
	s->records_at = s->records_end = 0;
	s->procfs_msg_waits = 0;
	s->drain_until_ms = 0;
	s->unlooked = 0;
	vmp_reader_stop(&s->reader);
	vmp_sideband_close(&s->sideband);
	vmp_sideband_init(&s->sideband);
	vmp_procfs_end(&s->procfs);
	s->procfs.unread = 0;
	vmp_bulk_clear(&s->bulk);
	vmp_symbols_clear(&s->symbols);
	vmp_jit_clear(&s->jit);
	vmp_files_clear(&s->files);
}

void vmp_session_deinit(struct vmp_session *s)
{
	reset(s);
	free(s->records);
	vmp_reader_deinit(&s->reader);
	vmp_out_deinit(&s->out);
}

void vmp_session_connected(struct vmp_session *s)
{
	vmp_log(VMP_LOG_DEBUG, "the port has a host");
	s->silent_since_ms = vmp_now_ms();
}

void vmp_session_disconnected(struct vmp_session *s)
{
	if (s->state != VMP_IDLE)
		vmp_log(VMP_LOG_NOTICE, "the host left");
	reset(s);
	vmp_out_clear(&s->out);
	vmp_frame_decoder_init(&s->in);
	s->silent_since_ms = 0;
}

/* --------------------------------------------------------- to the host */

static int put(struct vmp_session *s, unsigned int type, const void *payload, size_t len)
{
	const struct iovec iov = { (void *)payload, len };

	return vmp_out_put(&s->out, type, &iov, 1);
}

/* What nobody waits for: it goes out together with others */
static int can_wait(unsigned int type)
{
	switch (type) {
	case VMPROF_MSG_PROC:
	case VMPROF_MSG_MAP:
	case VMPROF_MSG_FORK:
	case VMPROF_MSG_EXEC:
	case VMPROF_MSG_COMM:
	case VMPROF_MSG_EXIT:
		return 1;
	default:
		return 0;
	}
}

static int put_event(struct vmp_session *s, unsigned int type, const void *payload, size_t len)
{
	const struct iovec iov = { (void *)payload, len };

	return can_wait(type) ? vmp_out_put_later(&s->out, type, &iov, 1) : vmp_out_put(&s->out, type, &iov, 1);
}

static void explain_no_module(const struct vmp_session *s)
{
	const int error = s->module_error;
	const char *why = s->start_refused ? "module vmprof_guest did not start" :
			  error == -ENOENT ? "module vmprof_guest is not there for this kernel" :
			  error == -EKEYREJECTED ? "module vmprof_guest is not loaded, and this kernel loads signed modules only" :
			  error == -EBUSY ? "another program has /dev/vmprof_guest open" :
			  error == -EPROTO ? "the loaded module vmprof_guest is of another version" :
			  strerror(-error);

	vmp_log(VMP_LOG_ERROR, "processes are told from /proc and the kernel's perf, without their address spaces: %s; install the module of this agent's package (dkms, or modprobe vmprof_guest shows the reason)",
		why);
}

/* Whether perf would tell what the module does not.  It is listened to from START on. */
static uint32_t flag_of_perf(struct vmp_session *s)
{
	int ret = vmp_sideband_open(&s->sideband);

	vmp_sideband_close(&s->sideband);
	return ret ? VMPROF_HELLO_NO_PERF : 0;
}

/* (Re)start the conversation.  seq starts at 0 with HELLO; @flags: more of VMPROF_HELLO_* */
static void hello(struct vmp_session *s, uint32_t flags)
{
	struct vmp_hello_msg msg;
	size_t len;

	reset(s);
	vmp_out_restart(&s->out);
	s->bad_input = 0;
	memset(s->lost_sent, 0, sizeof(s->lost_sent));
	if (!s->start_refused)
		s->module_error = vmp_module_open(&s->module);
	if (s->module_error) {
		s->module = -1;
		explain_no_module(s);
		flags |= flag_of_perf(s);
	}
	len = vmp_hello_build(&msg, s->module_error ? s->module_error : s->module);
	msg.fixed.flags |= htole32(flags | (s->start_refused ? VMPROF_HELLO_REFUSED : 0));
	put(s, VMPROF_MSG_HELLO, &msg, len);
	s->state = VMP_READY;
}

/* What was lost since HELLO, if that is more than what was told */
static void tell_lost(struct vmp_session *s)
{
	const struct vmp_sideband *sb = &s->sideband;
	struct vmprof_agent_lost msg = {
		.tsc = htole64(sb->lost_since_tsc ? sb->lost_since_tsc : vmp_tsc()),
	};
	struct vmpg_lost lost = { 0 };
	unsigned int i;

	s->lost_checked_ms = vmp_now_ms();
	if (s->module >= 0 && vmp_module_lost(s->module, &lost))
		return;
	lost.count[VMPROF_GLOST_PROTO] += s->bad_input + s->in.stats.bad_frames +
					  s->in.stats.seq_gaps;
	lost.count[VMPROF_GLOST_FILES] += s->files.overflow;
	lost.count[VMPROF_GLOST_JIT] += s->jit.lost;
	lost.count[VMPROF_GLOST_RING] += sb->lost;
	lost.count[VMPROF_GLOST_MISSED] += sb->missed;
	lost.count[VMPROF_GLOST_MAPS] += s->procfs.unread;
	lost.count[VMPROF_GLOST_STUCK] += s->reader.lost + s->unlooked;
	if (!memcmp(lost.count, s->lost_sent, sizeof(s->lost_sent)))
		return;
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		msg.count[i] = htole64(lost.count[i]);
	if (!put(s, VMPROF_MSG_LOST, &msg, sizeof(msg)))
		memcpy(s->lost_sent, lost.count, sizeof(s->lost_sent));
}

/* ------------------------------------------------- requests of the host */

static void on_host_hello(struct vmp_session *s, const struct vmp_msg_host_hello *m)
{
	s->silent_since_ms = 0;
	s->host_version = m->version;
	s->start_refused &= m->session == s->host_session;
	s->host_session = m->session;
	s->refused = m->compat > VMPROF_PROTO_VERSION || m->version < VMPROF_PROTO_COMPAT;
	if (s->refused)
		vmp_log(VMP_LOG_ERROR, "the host speaks protocol version %" PRIu32 " (oldest %" PRIu32 "), we speak %u (oldest %u): update the older of vmprof and vmprof-guest-agent",
			m->version, m->compat, VMPROF_PROTO_VERSION, VMPROF_PROTO_COMPAT);
	else
		vmp_log(VMP_LOG_NOTICE, "session %016" PRIx64 " of the host begins", m->session);
	hello(s, 0);
	vmp_out_add_credit(&s->out, m->credit);
}

static int begin_snapshot(struct vmp_session *s, uint64_t token)
{
	int ret = s->module >= 0 ? vmp_module_snapshot(s->module, token) :
				   vmp_procfs_begin(&s->procfs, token);

	s->snapshot_tsc = vmp_tsc();
	s->snapshots += !ret;
	return ret;
}

/* What the kernel tells without the module; before the snapshot, so that nothing lies between them */
static void start_sideband(struct vmp_session *s)
{
	int ret = vmp_sideband_open(&s->sideband);

	if (!ret)
		return;
	vmp_log(VMP_LOG_ERROR, "cannot listen to the kernel's perf, only /proc is read: %s; no process will be recognised by its samples%s",
		strerror(-ret), ret == -EACCES ? ": set sysctl kernel.perf_event_paranoid to 2 or less, some kernels ask for CAP_SYS_ADMIN above it" : "");
	/* the host must not take what /proc shows for all that there was */
	s->sideband.missed = 1;
	s->sideband.lost_since_tsc = vmp_tsc();
	s->lost_checked_ms = 0;
}

/* What HELLO said of the module is not so: the host starts over, and hears it in the next one */
static void on_start_refused(struct vmp_session *s, int error)
{
	vmp_log(VMP_LOG_ERROR, "the module cannot trace: %s; the kernel's log has the reason", strerror(-error));
	s->start_refused = 1;
	s->module_error = error;
	hello(s, VMPROF_HELLO_UNASKED);
}

static void on_start(struct vmp_session *s, const struct vmp_msg_token *m)
{
	int ret = s->module >= 0 ? vmp_module_start(s->module) : 0;

	if (s->module < 0)
		start_sideband(s);
	if (!ret)
		ret = begin_snapshot(s, m->token);
	if (ret && s->module >= 0) {
		on_start_refused(s, ret);
		return;
	}
	if (ret)
		vmp_log(VMP_LOG_ERROR, "cannot take a snapshot of the processes: %s",
			strerror(-ret));
	s->state = VMP_RUNNING;
	vmp_symbols_begin(&s->symbols, s->module, &s->sideband.made, s->host_version >= MODULES_VERSION, m->kept_bytes,
			  m->kept_crc);
}

/* Ask for the last snapshot; while another one is being made, later. */
static void ask_stop_snapshot(struct vmp_session *s)
{
	int ret = begin_snapshot(s, s->stop_token);

	s->stop_snapshot = !ret;
	if (ret && ret != -EBUSY) {
		vmp_log(VMP_LOG_ERROR, "cannot take the last snapshot of the processes: %s",
			strerror(-ret));
		s->state = VMP_DRAINING;
	}
}

static void on_stop(struct vmp_session *s, uint64_t token)
{
	s->stop_token = token;
	s->stop_snapshot = 0;
	if (s->state == VMP_READY) {		/* nothing to stop: only DONE */
		s->state = VMP_DRAINING;
		return;
	}
	s->state = VMP_STOPPING;
	vmp_symbols_end(&s->symbols);
	ask_stop_snapshot(s);
}

static int on_message(struct vmp_session *s, const struct vmp_agent_msg *m)
{
	if (m->type == VMPROF_MSG_HOST_HELLO) {
		on_host_hello(s, &m->host_hello);
		return 0;
	}
	if (s->state == VMP_IDLE || s->refused)
		return -EPROTO;
	switch (m->type) {
	case VMPROF_MSG_START:
		if (s->state != VMP_READY)
			return -EPROTO;
		on_start(s, &m->token);
		return 0;
	case VMPROF_MSG_STOP:
		if (s->state != VMP_RUNNING && s->state != VMP_READY)
			return -EPROTO;
		on_stop(s, m->token.token);
		return 0;
	case VMPROF_MSG_CREDIT:
		vmp_out_add_credit(&s->out, m->credit.bytes);
		return 0;
	case VMPROF_MSG_GET_OBJECT:
		return vmp_bulk_request(&s->bulk, &m->get_object);
	default:
		return -EPROTO;
	}
}

int vmp_session_input(struct vmp_session *s, int port)
{
	struct vmprof_frame frame;
	struct vmp_agent_msg msg;
	const void *payload;
	size_t room;
	ssize_t n;
	void *to;

	to = vmp_frame_space(&s->in, &room);
	n = read(port, to, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	vmp_frame_fed(&s->in, (size_t)n);
	while (vmp_frame_next(&s->in, &frame, &payload)) {
		if (vmp_agent_msg_parse(frame.type, payload, frame.len, &msg) ||
		    on_message(s, &msg))
			s->bad_input++;
	}
	return 0;
}

/* ------------------------------------------------- from the guest's side */

/* The last snapshot is over: trace no more; what the ring holds still goes out. */
static void on_snapshot_end(struct vmp_session *s)
{
	s->snapshots--;
	if (s->state != VMP_STOPPING || s->snapshots)
		return;
	if (!s->stop_snapshot) {
		ask_stop_snapshot(s);
		return;
	}
	if (s->module >= 0)
		vmp_module_stop(s->module);
	vmp_sideband_flush(&s->sideband);
	s->state = VMP_DRAINING;
}

static int wants_jit(const struct vmp_session *s)
{
	return s->host_version >= JIT_VERSION;
}

static void note_map(struct vmp_session *s, const struct vmp_msg_map *map, enum vmp_files_heard heard)
{
	vmp_files_note(&s->files, map, heard, vmp_now_ms());
	if (wants_jit(s))
		vmp_jit_note(&s->jit, map);
}

/* @heard: Of the files behind its maps. */
static void note(struct vmp_session *s, struct vmp_agent_msg *m, enum vmp_files_heard heard)
{
	struct vmp_msg_map map;

	if (m->type == VMPROF_MSG_MAP)
		note_map(s, &m->map, heard);
	while (m->type == VMPROF_MSG_EXIT && vmp_agent_msg_next_map(&m->proc, &map))
		vmp_files_note(&s->files, &map, heard, vmp_now_ms());
	if (m->type == VMPROF_MSG_EXEC ||
	    (m->type == VMPROF_MSG_EXIT && m->proc.flags & VMPROF_PROC_LAST))
		vmp_jit_ended(&s->jit, m->proc.tgid);
}

/* The first snapshot is over and the module has not told of tasks.  Return: 0 or -ENOBUFS */
static int tell_no_tasks(struct vmp_session *s)
{
	const struct vmprof_task_layout t = {
		.tsc = htole64(vmp_tsc()), .lack = htole32(VMPROF_TASKS_LACK_LOST),
	};
	int ret;

	if (s->module < 0 || s->tasks_told || s->host_version < LACK_VERSION)
		return 0;
	ret = put(s, VMPROF_MSG_TASKS, &t, sizeof(t));
	s->tasks_told = !ret;
	return ret;
}

/* Pass one message on; @heard: see note().  Return: 0 or -ENOBUFS (later). */
static int carry(struct vmp_session *s, unsigned int type, const void *payload, size_t len, enum vmp_files_heard heard)
{
	struct vmp_agent_msg msg;
	int ret;

	if (type == VMPROF_MSG_TASKS && s->host_version < TASKS_VERSION)
		return 0;
	ret = type == VMPROF_MSG_SNAP_END ? tell_no_tasks(s) : 0;
	if (!ret)
		ret = put_event(s, type, payload, len);
	if (ret)
		return ret;
	s->tasks_told |= type == VMPROF_MSG_TASKS;
	if (vmp_agent_msg_parse(type, payload, len, &msg))
		return 0;
	note(s, &msg, heard);
	if (type == VMPROF_MSG_SNAP_END)
		on_snapshot_end(s);
	return 0;
}

/* FILE messages that wait.  Return: 1 all are out. */
static int put_files(struct vmp_session *s)
{
	const struct vmp_file *f;
	struct vmprof_file msg;
	struct iovec iov[3];
	__le64 since_tsc;

	while ((f = vmp_files_unsent(&s->files, &msg))) {
		iov[0] = (struct iovec){ &msg, sizeof(msg) };
		iov[1] = (struct iovec){ f->path, le32toh(msg.path_len) };
		since_tsc = htole64(f->since_tsc);
		iov[2] = (struct iovec){ &since_tsc, sizeof(since_tsc) };
		if (vmp_out_put_later(&s->out, VMPROF_MSG_FILE, iov, 3))
			return 0;
		vmp_files_sent(&s->files);
	}
	return 1;
}

/* Read the module's ring when the last read has been carried.  Return: 1 records lie here. */
static int refill(struct vmp_session *s)
{
	ssize_t n;

	if (s->records_at < s->records_end)
		return 1;
	n = vmp_module_read(s->module, s->records, VMP_RECORDS_BYTES);
	if (n < 0)
		vmp_log(VMP_LOG_ERROR, "reading /dev/vmprof_guest failed: %s", strerror((int)-n));
	s->records_at = 0;
	s->records_end = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static enum vmp_files_heard heard_of(const struct vmpg_record *rec)
{
	return rec->flags & VMPG_RECORD_TOLD ? VMP_FILES_TOLD :
	       rec->flags & VMPG_RECORD_FRESH ? VMP_FILES_FRESH : VMP_FILES_UNSURE;
}

/* Carry one record of the module.  Return: 1, 0 none now, -ENOBUFS no room. */
static int carry_record(struct vmp_session *s)
{
	struct vmpg_record rec;
	int ret;

	if (!refill(s))
		return 0;
	memcpy(&rec, s->records + s->records_at, sizeof(rec));
	/* the module itself keeps together what need not be looked at */
	if (heard_of(&rec) != VMP_FILES_TOLD)
		s->gather_until_ms = vmp_now_ms() + GATHER_MS;
	ret = carry(s, rec.type, s->records + s->records_at + sizeof(rec), rec.len, heard_of(&rec));
	if (ret == -ENOBUFS)
		return ret;
	s->records_at += sizeof(rec) + ((rec.len + 7U) & ~7U);
	return 1;
}

/* Without the module: what perf tells, then the snapshot.  Return: 1 there is a message */
static int next_without_module(struct vmp_session *s)
{
	s->sideband.id.len = 0;
	return vmp_sideband_next(&s->sideband, &s->procfs_msg) ||
	       vmp_procfs_next(&s->procfs, &s->procfs_msg);
}

static void note_kernels_id(struct vmp_session *s, const struct vmp_procfs_msg *msg)
{
	struct vmp_agent_msg m;

	if (s->sideband.id.len && !vmp_agent_msg_parse(msg->type, msg->payload, msg->len, &m))
		vmp_files_tell_id(&s->files, &m.map, &s->sideband.id);
}

static int carry_without_module(struct vmp_session *s)
{
	if (!s->procfs_msg_waits && !next_without_module(s))
		return 0;
	s->procfs_msg_waits = 1;
	if (carry(s, s->procfs_msg.type, s->procfs_msg.payload, s->procfs_msg.len, VMP_FILES_UNSURE))
		return -ENOBUFS;
	note_kernels_id(s, &s->procfs_msg);
	s->procfs_msg_waits = 0;
	return 1;
}

static void say_done(struct vmp_session *s)
{
	struct vmprof_token done = {
		.token = htole64(s->stop_token), .tsc = htole64(vmp_tsc()),
	};

	tell_lost(s);
	if (!vmp_symbols_announce(&s->symbols, &s->out) || put(s, VMPROF_MSG_DONE, &done, sizeof(done)))
		return;
	vmp_sideband_close(&s->sideband);
	s->state = VMP_READY;
	vmp_log(VMP_LOG_NOTICE, "tracing has ended; %" PRIu32 " files were described",
		s->files.nr);
}

/* ----------------------------------------------------- what the child reads */

/* The answer goes to who asked.  Return: 1 there was one */
static int take_answer(struct vmp_session *s)
{
	const uint64_t now = vmp_now_ms();
	const struct vmp_read_request *q = &s->reader.request;
	const struct vmp_read_answer *a = vmp_reader_answer(&s->reader, now);

	if (!a)
		return 0;
	switch (q->what) {
	case VMP_READ_FILE:
		vmp_files_answer(&s->files, q->number, a);
		break;
	case VMP_READ_OBJECT:
		vmp_bulk_answer(&s->bulk, q, a, &s->out);
		break;
	case VMP_READ_MAPS:
		vmp_procfs_answer(&s->procfs, a);
		if (s->procfs.unread && !s->sideband.lost_since_tsc)
			s->sideband.lost_since_tsc = s->snapshot_tsc;
		break;
	default:
		vmp_jit_answer(&s->jit, q, a, &s->out, now);
		break;
	}
	return 1;
}

/* The next request: first what a process's end would take away.  Return: 1 it is answered already */
static int ask(struct vmp_session *s, int bulk_too)
{
	const uint64_t now = vmp_now_ms();
	struct vmp_read_request *q = &s->reader.request;

	if (vmp_reader_busy(&s->reader))
		return 0;
	if (s->reader.begun != s->reader_seen)
		vmp_jit_begin_again(&s->jit);
	s->reader_seen = s->reader.begun;
	if (!vmp_jit_ask_begin(&s->jit, q) && !vmp_procfs_ask(&s->procfs, q) &&
	    !vmp_files_ask(&s->files, q) &&
	    !(bulk_too && ((!s->symbols.active && vmp_bulk_ask(&s->bulk, &s->files, &s->out, q)) ||
			   vmp_jit_ask(&s->jit, &s->out, now, q))))
		return 0;
	return vmp_reader_ask(&s->reader, now);
}

/* The last of the files and JIT maps, then DONE.  Return: as vmp_session_step() */
static int drain(struct vmp_session *s)
{
	uint64_t now = vmp_now_ms();

	if (!s->drain_until_ms) {
		s->drain_until_ms = now + DRAIN_MS;
		vmp_jit_finish(&s->jit);
	}
	if (now < s->drain_until_ms && (s->jit.nr || s->files.sent < s->files.nr))
		return ask(s, 1);
	vmp_jit_give_up(&s->jit);
	s->unlooked += vmp_files_give_up(&s->files);
	s->drain_until_ms = 0;
	if (!put_files(s))
		return 1;
	say_done(s);
	return 1;
}

/* Return: 1 more at once, 0 nothing left, -ENOBUFS the buffer is full */
static int step_events(struct vmp_session *s)
{
	int i, ret = 1;

	for (i = 0; i < RECORDS_PER_STEP && ret == 1; i++) {
		if (!put_files(s))
			return -ENOBUFS;
		ret = s->module >= 0 ? carry_record(s) : carry_without_module(s);
	}
	return ret;
}

static void say_hello_to_silence(struct vmp_session *s)
{
	if (!s->silent_since_ms || s->state != VMP_IDLE ||
	    vmp_now_ms() - s->silent_since_ms < SILENCE_MS)
		return;
	/* the host may be talking to an agent that is no more: tell it of us */
	vmp_log(VMP_LOG_DEBUG, "the host does not greet: saying HELLO");
	s->silent_since_ms = 0;
	hello(s, VMPROF_HELLO_UNASKED);
}

int vmp_session_step(struct vmp_session *s)
{
	int ret, more;

	say_hello_to_silence(s);
	if (s->state == VMP_IDLE)
		return 0;
	more = take_answer(s);
	more |= ask(s, 0);
	ret = step_events(s);
	if (ret)
		return 1;
	if (vmp_now_ms() - s->lost_checked_ms >= LOST_CHECK_MS)
		tell_lost(s);
	vmp_symbols_look(&s->symbols, 0);
	if (s->state == VMP_DRAINING)
		return drain(s) | more;
	more |= vmp_symbols_step(&s->symbols, &s->out);
	return ask(s, 1) | more;
}

/* How long the ring is left alone after a read; 0 no longer */
static int gather_ms(const struct vmp_session *s)
{
	uint64_t now = vmp_now_ms();

	return s->state == VMP_RUNNING && now < s->gather_until_ms ? (int)(s->gather_until_ms - now) : 0;
}

int vmp_session_wants_records(const struct vmp_session *s)
{
	return s->module >= 0 && s->state >= VMP_RUNNING && !gather_ms(s) &&
	       vmp_out_has_room(&s->out, VMPROF_FRAME_MAX);
}

/* The longest wait for what the guest does */
static int wait_for_guest_ms(const struct vmp_session *s)
{
	int gather;

	if (s->silent_since_ms && s->state == VMP_IDLE)
		return SILENCE_MS / 4;
	if (s->state < VMP_RUNNING)
		return vmp_reader_busy(&s->reader) ? LOST_CHECK_MS : -1;
	if (s->sideband.nr)
		return VMP_SIDEBAND_LOOK_MS;
	gather = gather_ms(s);
	return gather ? gather : LOST_CHECK_MS;
}

int vmp_session_timeout_ms(const struct vmp_session *s)
{
	int guest = wait_for_guest_ms(s), out = vmp_out_wait_ms(&s->out, vmp_now_ms());

	return out >= 0 && (guest < 0 || out < guest) ? out : guest;
}
