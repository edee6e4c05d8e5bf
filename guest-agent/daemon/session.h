/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - the conversation with the host, from its HOST_HELLO to its leaving.
 *
 *   IDLE --HOST_HELLO--> READY --START--> RUNNING --STOP--> STOPPING
 *                          ^                                    | snapshot over,
 *                          |                                    v tracing stopped
 *                          +---------------DONE------------- DRAINING
 *
 * A HOST_HELLO restarts at READY from anywhere.  The session never waits: it
 * does what can be done now and says what it waits for.
 */
#ifndef VMP_SESSION_H
#define VMP_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "bulk.h"
#include "files.h"
#include "frame.h"
#include "jit.h"
#include "out.h"
#include "procfs.h"
#include "reader.h"
#include "sideband.h"
#include "symbols.h"

#define VMP_RECORDS_BYTES	(256U << 10)	/* one read of the module's ring */
#define VMP_SESSION_END_MS	2000U		/* longest time for what is left, when we are told to end */

enum vmp_state { VMP_IDLE, VMP_READY, VMP_RUNNING, VMP_STOPPING, VMP_DRAINING };

struct vmp_session {
	enum vmp_state state;
	int module;			/* device, -1: none, /proc and perf only */
	int module_error;		/* -errno: why there is none */
	int start_refused;		/* it is there, but did not start in this session of the host's */
	int refused;			/* the host's version is not for us */
	uint32_t host_version;
	uint64_t host_session;
	int tasks_told;			/* where the kernel keeps its tasks, in this conversation */
	uint64_t stop_token;
	int stop_snapshot;		/* the last snapshot has been asked for */
	unsigned int snapshots;		/* asked for, SNAP_END not carried yet */
	uint64_t silent_since_ms;	/* host connected, no greeting from it; 0 it has greeted */
	uint64_t drain_until_ms;	/* files and JIT maps go out until then; 0 not draining */
	int ends;			/* we were told to end */
	int cut;			/* ... while tracing: the host waits for no DONE */
	uint64_t left;			/* events that were behind when there was no more time */
	uint64_t unread;		/* reads that were given up, and files that are told without having been looked at */
	uint64_t lost_checked_ms;
	uint64_t bad_input;		/* requests that made no sense, since HELLO */
	uint64_t lost_sent[VMPROF_GLOST_NR];

	struct vmp_frame_decoder in;
	struct vmp_out out;
	struct vmp_files files;
	struct vmp_bulk bulk;
	struct vmp_symbols symbols;
	struct vmp_jit jit;
	struct vmp_reader reader;
	struct vmp_procfs procfs;
	uint64_t snapshot_tsc;		/* the last one was asked for then */
	struct vmp_sideband sideband;
	struct vmp_procfs_msg procfs_msg;	/* of either */
	int procfs_msg_waits;		/* found no room yet */
	uint8_t *records;		/* VMP_RECORDS_BYTES, from the module */
	size_t records_at, records_end;
	uint64_t gather_until_ms;	/* events that come until then are read together */
};

/** vmp_session_init() - Return: 0 or -ENOMEM. */
int vmp_session_init(struct vmp_session *s);
void vmp_session_deinit(struct vmp_session *s);

/** vmp_session_connected() - The port has a host. */
void vmp_session_connected(struct vmp_session *s);

/** vmp_session_disconnected() - It has none any more: stop tracing, forget. */
void vmp_session_disconnected(struct vmp_session *s);

/**
 * vmp_session_input() - Read what the host sent and act on it.
 * @port: Non-blocking.
 *
 * Return: 0, -EPIPE (host gone), -errno (port gone).
 */
int vmp_session_input(struct vmp_session *s, int port);

/**
 * vmp_session_step() - Do a bounded amount of what can be done now.
 * Return: 1 there is more that needs no waiting, 0 wait.
 */
int vmp_session_step(struct vmp_session *s);

/**
 * vmp_session_wants_records() - Wait for the module's device too.
 *
 * Not for some milliseconds after events were read: those that come meanwhile are read
 * together, so that the agent runs less often.  When they are written is another matter (out.h).
 */
int vmp_session_wants_records(const struct vmp_session *s);

/** vmp_session_timeout_ms() - Longest wait, -1 without end. */
int vmp_session_timeout_ms(const struct vmp_session *s);

/**
 * vmp_session_told_to_end() - We are told to end: trace no more.
 *
 * vmp_session_step() goes on with what was traced until then, for VMP_SESSION_END_MS at most: nothing of it waits any longer.
 */
void vmp_session_told_to_end(struct vmp_session *s);

/** vmp_session_has_ended() - Has all gone out that was there? */
int vmp_session_has_ended(const struct vmp_session *s);

/** vmp_session_leave() - There is no more time: what has not gone out is counted, and told where there is room. */
void vmp_session_leave(struct vmp_session *s);

#endif
