// SPDX-License-Identifier: GPL-2.0-only
/* requests.c - what the host asks for, and what it is told at once. */
#include "conversation.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "agent_msg.h"
#include "clock.h"
#include "hello.h"
#include "log.h"
#include "module.h"

#define MODULES_VERSION		7	/* hosts from this one on are told when kernel modules came and went */

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

void vmp_session_hello(struct vmp_session *s, uint32_t flags)
{
	struct vmp_hello_msg msg;
	size_t len;

	vmp_session_reset(s);
	vmp_out_restart(&s->out);
	s->bad_input = 0;
	s->left = 0;
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
	vmp_session_put(s, VMPROF_MSG_HELLO, &msg, len);
	s->state = VMP_READY;
}

void vmp_session_tell_lost(struct vmp_session *s)
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
	lost.count[VMPROF_GLOST_RING] += sb->lost + s->left;
	lost.count[VMPROF_GLOST_MISSED] += sb->missed;
	lost.count[VMPROF_GLOST_MAPS] += s->procfs.unread;
	lost.count[VMPROF_GLOST_STUCK] += s->unread;
	if (!memcmp(lost.count, s->lost_sent, sizeof(s->lost_sent)))
		return;
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		msg.count[i] = htole64(lost.count[i]);
	if (!vmp_session_put(s, VMPROF_MSG_LOST, &msg, sizeof(msg)))
		memcpy(s->lost_sent, lost.count, sizeof(s->lost_sent));
}

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
	vmp_session_hello(s, 0);
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
	vmp_session_hello(s, VMPROF_HELLO_UNASKED);
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

void vmp_session_ask_stop_snapshot(struct vmp_session *s)
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
	vmp_session_ask_stop_snapshot(s);
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
