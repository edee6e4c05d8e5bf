/* SPDX-License-Identifier: GPL-2.0-only */
/* session.h - tracing from open to close of the device. */
#ifndef VMPG_SESSION_H
#define VMPG_SESSION_H

#include "guest_uapi.h"
#include "ring.h"

/**
 * vmpg_session_open() - Ring and scratch; nothing is traced yet.
 * Context: may sleep.  Return: 0, -EBUSY (another reader has it), -ENOMEM.
 */
int vmpg_session_open(u32 ring_bytes);

/** vmpg_session_close() - Stop and free everything.  Context: may sleep. */
void vmpg_session_close(void);

/** vmpg_session_start() - Trace.  Return: 0 (also when it was), or -errno. */
int vmpg_session_start(void);

/** vmpg_session_stop() - Trace no more, give a snapshot up; the ring stays readable. */
void vmpg_session_stop(void);

/** vmpg_session_snapshot() - Begin a snapshot.  Return: 0, -EBUSY, -EINVAL (not started). */
int vmpg_session_snapshot(u64 token);

/** vmpg_session_lost() - Losses since open. */
void vmpg_session_lost(struct vmpg_lost *lost);

/** vmpg_session_ring() - The open session's ring. */
struct vmpg_ring *vmpg_session_ring(void);

/** vmpg_session_lock() - For a reader: one at a time.  Return: 0 or -EINTR. */
int vmpg_session_lock(void);
void vmpg_session_unlock(void);

/* Workqueue of snapshots, for the time that the module is loaded */
int vmpg_session_module_init(void);
void vmpg_session_module_exit(void);

#endif
