/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * out.h - frames on their way to the host: a bounded buffer, order, credit.
 *
 * The buffer takes whole frames and is written as the port takes bytes.  When
 * it is full the caller keeps what it has (events stay in the module's ring,
 * which counts what does not fit).  Bulk frames need credit and are taken only
 * while little else waits, so that an event is never far behind one.
 *
 * Each write makes the guest exit, and wakes its QEMU and the host's collector, whatever its
 * length.  So frames that nobody waits for stay here until there is a whole write of them, or the
 * last write was VMP_OUT_HOLD_MS ago.  A frame that cannot wait takes along what lies before it.
 */
#ifndef VMP_OUT_H
#define VMP_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "frame.h"

#define VMP_OUT_BYTES		(8 * VMP_FRAME_BYTES_MAX)
#define VMP_OUT_BULK_BELOW	(64U << 10)	/* bulk joins only below this fill */
#define VMP_OUT_BULK_PAYLOAD	(32U << 10)	/* largest bulk payload that we build */
#define VMP_OUT_HOLD_MS		100		/* between writes of frames that can wait */

struct vmp_out {
	uint8_t *buf;			/* VMP_OUT_BYTES */
	size_t begin, end;		/* bytes not written yet */
	size_t current;			/* unwritten rest of a frame that is partly out */
	uint64_t due_ms;		/* what waits goes out then, 0 at once */
	uint64_t wrote_ms;		/* the last write */
	int full;			/* the port took no more */
	uint32_t seq;
	uint64_t credit;		/* bulk payload bytes that the host still takes */
};

/** vmp_out_init() - Return: 0 or -ENOMEM. */
int vmp_out_init(struct vmp_out *out);
void vmp_out_deinit(struct vmp_out *out);

/** vmp_out_clear() - Drop everything: the host is gone. */
void vmp_out_clear(struct vmp_out *out);

/**
 * vmp_out_restart() - A new conversation on the same stream: drop frames that
 * have not begun to go out; seq and credit from 0.
 */
void vmp_out_restart(struct vmp_out *out);

/** vmp_out_has_room() - Would a frame with @len payload bytes be taken? */
int vmp_out_has_room(const struct vmp_out *out, size_t len);

/**
 * vmp_out_put() - Take a frame, which goes out at once.
 * @iov: Pieces of the payload, together at most VMPROF_FRAME_MAX bytes.
 *
 * Return: 0, -ENOBUFS (no room now), -EMSGSIZE.
 */
int vmp_out_put(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr);

/** vmp_out_put_later() - As vmp_out_put(), but the frame waits for others. */
int vmp_out_put_later(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr);

/** vmp_out_bulk_room() - Payload bytes that a bulk frame may have now; 0 none. */
size_t vmp_out_bulk_room(const struct vmp_out *out);

/** vmp_out_put_bulk() - As vmp_out_put(), and takes the payload off the credit. */
int vmp_out_put_bulk(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr);

/** vmp_out_add_credit() - The host takes @bytes more; saturates. */
void vmp_out_add_credit(struct vmp_out *out, uint64_t bytes);

/** vmp_out_pending() - Bytes that wait. */
size_t vmp_out_pending(const struct vmp_out *out);

/** vmp_out_wait_ms() - How long until vmp_out_flush() has something to do; -1: not before there is more, or the port has room. */
int vmp_out_wait_ms(const struct vmp_out *out, uint64_t now_ms);

/**
 * vmp_out_flush() - Write what @fd (non-blocking) takes of what has waited long enough.
 * @now_ms: A clock that does not go back; UINT64_MAX: nothing waits any longer, and this is the last.
 *
 * Return: 0 nothing more is to be written now, 1 the port takes no more now, -errno.
 */
int vmp_out_flush(struct vmp_out *out, int fd, uint64_t now_ms);

#endif
