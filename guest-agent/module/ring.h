/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h - the one bounded ring between the probes and the reader.
 *
 * One ring for all CPUs, so that its order is the order of time.  Writers hold
 * a raw spinlock for the time of one copy; the single reader takes no lock:
 *
 *   writer (lock held)               reader
 *     load-acquire tail                load-acquire head
 *     copy record in                   copy records out
 *     store-release head               store-release tail
 *
 * Waking the reader costs more than a record does.  So it is woken at once only where the
 * record is one that it has to look at soon, or much waits; else a while later, once for all that
 * came meanwhile.
 */
#ifndef VMPG_RING_H
#define VMPG_RING_H

#include <linux/irq_work.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "guest_uapi.h"

struct vmpg_ring {
	raw_spinlock_t lock;		/* writers: head */
	u8 *data;
	u32 size;			/* power of two */
	u64 head;			/* bytes ever written */
	u64 tail;			/* bytes ever read */
	u64 due;			/* head behind the last record that is to be read by now */
	struct delayed_work late;	/* what waits is due then */
	struct irq_work wake;		/* wakes the reader from any context, or sees to it that it is woken */
	wait_queue_head_t readable;
	wait_queue_head_t room;		/* a snapshot waits here */
};

/* One record to be written */
struct vmpg_put {
	u16 type;			/* enum vmprof_msg */
	u16 flags;			/* VMPG_RECORD_* */
	bool can_wait;			/* the reader has nothing to look at */
	u32 len;			/* bytes of payload */
	const void *payload;
	__le64 *tsc;			/* field of the payload, set to the TSC of its place; NULL: it has one */
	u32 keep_free;			/* bytes that must stay free: for events */
	/* asked with the lock held, when the place in the order is certain */
	bool (*still_true)(const void *arg);
	const void *arg;
};

/**
 * vmpg_ring_init() - Allocate an empty ring.
 * @ring:  Zeroed or freed.
 * @bytes: Its size, rounded up to a power of two.
 *
 * Context: may sleep.  Return: 0 or -ENOMEM.
 */
int vmpg_ring_init(struct vmpg_ring *ring, u32 bytes);

/** vmpg_ring_free() - Nobody writes or reads any more.  Context: may sleep. */
void vmpg_ring_free(struct vmpg_ring *ring);

/**
 * vmpg_ring_put() - Write one record.
 *
 * Context: any but NMI; never sleeps.
 * Return: 0, -ENOSPC (full), -ESTALE (@put->still_true said no).
 */
int vmpg_ring_put(struct vmpg_ring *ring, const struct vmpg_put *put);

/** vmpg_ring_has_room() - Would a payload of @len bytes fit and leave @keep_free bytes? */
bool vmpg_ring_has_room(const struct vmpg_ring *ring, u32 len, u32 keep_free);

/** vmpg_ring_empty() - Nothing to read. */
bool vmpg_ring_empty(const struct vmpg_ring *ring);

/**
 * vmpg_ring_is_due() - Is something to be read now?  Where something is to be read later,
 * whoever waits in @ring->readable is woken then.
 * Context: any but NMI; never sleeps.
 */
bool vmpg_ring_is_due(struct vmpg_ring *ring);

/**
 * vmpg_ring_read() - Copy whole records to user space and free their room.
 *
 * Context: process; one reader at a time.
 * Return: bytes copied, 0 (empty), -EMSGSIZE (@len too small for the next
 * record), -EFAULT (nothing was taken).
 */
ssize_t vmpg_ring_read(struct vmpg_ring *ring, char __user *dst, size_t len);

#endif
