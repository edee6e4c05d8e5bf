// SPDX-License-Identifier: GPL-2.0-only
/* carry.c - what happens in the guest, on its way to the host. */
#include "conversation.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "agent_msg.h"
#include "clock.h"
#include "log.h"
#include "module.h"

#define GATHER_MS		10	/* events of so long are read together; no more, or their files are gone */
#define JIT_VERSION		2	/* hosts from this one on take JIT maps */
#define TASKS_VERSION		4	/* ... TASKS */
#define LACK_VERSION		5	/* ... why there are none */
#define RECORDS_PER_STEP	256

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

/* The last snapshot is over: trace no more; what the ring holds still goes out. */
static void on_snapshot_end(struct vmp_session *s)
{
	s->snapshots--;
	if (s->state != VMP_STOPPING || s->snapshots)
		return;
	if (!s->stop_snapshot) {
		vmp_session_ask_stop_snapshot(s);
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
	ret = vmp_session_put(s, VMPROF_MSG_TASKS, &t, sizeof(t));
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

int vmp_session_put_files(struct vmp_session *s)
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

static uint64_t drop_without_module(struct vmp_session *s)
{
	uint64_t n = (uint64_t)s->procfs_msg_waits;

	s->procfs_msg_waits = 0;
	while (vmp_sideband_next(&s->sideband, &s->procfs_msg))
		n++;
	return n;
}

uint64_t vmp_session_drop(struct vmp_session *s)
{
	struct vmpg_record rec;
	uint64_t n;

	if (s->module < 0)
		return drop_without_module(s);
	for (n = 0; refill(s); n++) {
		memcpy(&rec, s->records + s->records_at, sizeof(rec));
		s->records_at += sizeof(rec) + ((rec.len + 7U) & ~7U);
	}
	return n;
}

int vmp_session_carry(struct vmp_session *s)
{
	int i, ret = 1;

	for (i = 0; i < RECORDS_PER_STEP && ret == 1; i++) {
		if (!vmp_session_put_files(s))
			return -ENOBUFS;
		ret = s->module >= 0 ? carry_record(s) : carry_without_module(s);
	}
	return ret;
}
