// SPDX-License-Identifier: GPL-2.0-only
/* session.c - the course of the conversation with the host; states: see session.h. */
#include "conversation.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "module.h"

#define SILENCE_MS		1000	/* then a connected host is told that we are here */
#define LOST_CHECK_MS		1000	/* at rest nothing else wakes the daemon */
#define DRAIN_MS		5000	/* the last of the files and JIT maps may take at the end */
#define LAST_DRAIN_MS		1000	/* ... and when we are told to end */

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

void vmp_session_reset(struct vmp_session *s)
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
	s->unread = 0;
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
	vmp_session_reset(s);
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
	vmp_session_reset(s);
	vmp_out_clear(&s->out);
	vmp_frame_decoder_init(&s->in);
	s->silent_since_ms = 0;
}

int vmp_session_put(struct vmp_session *s, unsigned int type, const void *payload, size_t len)
{
	const struct iovec iov = { (void *)payload, len };

	return vmp_out_put(&s->out, type, &iov, 1);
}

static void say_done(struct vmp_session *s)
{
	struct vmprof_token done = {
		.token = htole64(s->stop_token), .tsc = htole64(vmp_tsc()),
	};

	vmp_session_tell_lost(s);
	if (!s->cut && (!vmp_symbols_announce(&s->symbols, &s->out) || vmp_session_put(s, VMPROF_MSG_DONE, &done, sizeof(done))))
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
	int waits = 0;

	if (!a)
		return 0;
	switch (q->what) {
	case VMP_READ_FILE:
		waits = vmp_files_answer(&s->files, q->number, a, now);
		break;
	case VMP_READ_OBJECT:
		waits = vmp_bulk_answer(&s->bulk, q, a, &s->out, now);
		break;
	case VMP_READ_MAPS:
		vmp_procfs_answer(&s->procfs, a);
		if (s->procfs.unread && !s->sideband.lost_since_tsc)
			s->sideband.lost_since_tsc = s->snapshot_tsc;
		break;
	default:
		vmp_jit_answer(&s->jit, q, a, &s->out, now);
		waits = 1;
		break;
	}
	s->unread += !waits && vmp_read_is_late(a);
	return 1;
}

/* The next request: first what a process's end would take away.  Return: 1 it is answered already */
static int ask(struct vmp_session *s, int bulk_too)
{
	const uint64_t now = vmp_now_ms();
	struct vmp_read_request *q = &s->reader.request;

	if (vmp_reader_busy(&s->reader))
		return 0;
	/* the request goes to another child, which has nothing open */
	if (s->reader.fd < 0)
		vmp_jit_begin_again(&s->jit);
	if (!vmp_jit_ask_begin(&s->jit, now, q) && !vmp_procfs_ask(&s->procfs, q) &&
	    !vmp_files_ask(&s->files, now, q) &&
	    !(bulk_too && ((!s->symbols.active && vmp_bulk_ask(&s->bulk, &s->files, &s->out, now, q)) ||
			   vmp_jit_ask(&s->jit, &s->out, now, q))))
		return 0;
	return vmp_reader_ask(&s->reader, now);
}

/* The last of the files and JIT maps, then DONE.  Return: as vmp_session_step() */
static int drain(struct vmp_session *s)
{
	uint64_t now = vmp_now_ms();

	if (!s->drain_until_ms) {
		s->drain_until_ms = now + (s->ends ? LAST_DRAIN_MS : DRAIN_MS);
		vmp_jit_finish(&s->jit);
	}
	if (now < s->drain_until_ms && (s->jit.nr || s->files.sent < s->files.nr))
		return ask(s, 1);
	vmp_jit_give_up(&s->jit);
	s->unread += vmp_files_give_up(&s->files);
	s->drain_until_ms = 0;
	if (!vmp_session_put_files(s))
		return 1;
	say_done(s);
	return 1;
}

/* ---------------------------------------------------- when we are told to end */

/* No more comes than what is there; of a snapshot that is being made the rest is not told. */
static void trace_no_more(struct vmp_session *s)
{
	if (s->module >= 0)
		vmp_module_stop(s->module);
	vmp_sideband_flush(&s->sideband);
	vmp_procfs_end(&s->procfs);
}

void vmp_session_told_to_end(struct vmp_session *s)
{
	s->ends = 1;
	if (s->state == VMP_RUNNING) {
		s->cut = 1;
		trace_no_more(s);
		s->state = VMP_DRAINING;
	}
	if (s->drain_until_ms)
		s->drain_until_ms = vmp_now_ms() + LAST_DRAIN_MS;
}

int vmp_session_has_ended(const struct vmp_session *s)
{
	return s->state <= VMP_READY && !vmp_out_pending(&s->out);
}

void vmp_session_leave(struct vmp_session *s)
{
	if (s->state < VMP_RUNNING)
		return;
	trace_no_more(s);
	s->left = vmp_session_drop(s);
	if (s->left && s->module < 0 && !s->sideband.lost_since_tsc)
		s->sideband.lost_since_tsc = s->snapshot_tsc;
	vmp_jit_give_up(&s->jit);
	s->unread += vmp_files_give_up(&s->files);
	vmp_session_tell_lost(s);
}

/* ------------------------------------------------------------- step by step */

static void say_hello_to_silence(struct vmp_session *s)
{
	if (!s->silent_since_ms || s->state != VMP_IDLE ||
	    vmp_now_ms() - s->silent_since_ms < SILENCE_MS)
		return;
	/* the host may be talking to an agent that is no more: tell it of us */
	vmp_log(VMP_LOG_DEBUG, "the host does not greet: saying HELLO");
	s->silent_since_ms = 0;
	vmp_session_hello(s, VMPROF_HELLO_UNASKED);
}

int vmp_session_step(struct vmp_session *s)
{
	int ret, more;

	say_hello_to_silence(s);
	if (s->state == VMP_IDLE)
		return 0;
	more = take_answer(s);
	more |= ask(s, 0);
	ret = vmp_session_carry(s);
	if (ret)
		return 1;
	if (vmp_now_ms() - s->lost_checked_ms >= LOST_CHECK_MS)
		vmp_session_tell_lost(s);
	/* the module may not be done with the first when we have read its end */
	if (s->state == VMP_STOPPING && !s->stop_snapshot && !s->snapshots)
		vmp_session_ask_stop_snapshot(s);
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
		return vmp_reader_busy(&s->reader) || s->bulk.due_ms ? LOST_CHECK_MS : -1;
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
