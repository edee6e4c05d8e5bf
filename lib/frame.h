/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * frame.h - the agent protocol's frames as a stream: build, find, check.
 *
 * Used by both ends (vmprof-agent in the guest, vmprof on the host).  The
 * decoder takes bytes as they arrive and gives whole, checked frames; what
 * lies between them is dropped and counted.  Layout: include/vmprof/agent_proto.h.
 */
#ifndef VMP_FRAME_H
#define VMP_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <vmprof/agent_proto.h>

#define VMP_FRAME_BYTES_MAX	(sizeof(struct vmprof_frame) + VMPROF_FRAME_MAX)

struct vmp_frame_stats {
	uint64_t frames;	/* good ones */
	uint64_t bad_bytes;	/* dropped while looking for a frame */
	uint64_t bad_frames;	/* magic seen, but length or checksum wrong, or
				   shorter than its type needs */
	uint64_t seq_gaps;	/* frames missing by their sequence number */
	uint64_t seq_back;	/* times that a frame had a number of before */
	uint64_t unknown;	/* frames of unknown type (given out all the same) */
	uint64_t vain_bytes;	/* whose checksum was made and was wrong: a stream of
				   false headers makes many times its own length of them */
};

struct vmp_frame_decoder {
	uint8_t buf[2 * VMP_FRAME_BYTES_MAX];
	size_t begin, end;	/* unread bytes in buf */
	uint32_t next_seq;
	int in_frame;		/* the last bytes looked at were part of a frame */
	struct vmp_frame_stats stats;
};

/** vmp_frame_decoder_init() - Start of a stream; statistics from 0. */
void vmp_frame_decoder_init(struct vmp_frame_decoder *d);

/**
 * vmp_frame_space() - Where to put arriving bytes.
 * @d:    Decoder.
 * @room: Set to the number of bytes that fit; > 0 when vmp_frame_next() has
 *        been called until it gave 0.
 *
 * Return: the place, borrowed until vmp_frame_fed().
 */
void *vmp_frame_space(struct vmp_frame_decoder *d, size_t *room);

/** vmp_frame_fed() - @len bytes were put at vmp_frame_space(). */
void vmp_frame_fed(struct vmp_frame_decoder *d, size_t len);

/**
 * vmp_frame_next() - The next whole frame.
 * @d:       Decoder.
 * @frame:   Header, in host byte order.
 * @payload: frame->len bytes, borrowed until vmp_frame_space().
 *
 * A HELLO or HOST_HELLO starts a new sequence; else a gap in seq is counted.
 *
 * Return: 1 a frame, 0 more bytes are needed.
 */
int vmp_frame_next(struct vmp_frame_decoder *d, struct vmprof_frame *frame,
		   const void **payload);

/**
 * vmp_frame_give_up() - Do not wait for the rest of the frame that has begun.
 * @d: Decoder.
 *
 * For a sender that died in the middle: what came of its last frame is dropped
 * and counted, and vmp_frame_next() looks for a frame in what follows.
 */
void vmp_frame_give_up(struct vmp_frame_decoder *d);

/**
 * vmp_frame_build() - Header of a frame to be sent.
 * @frame:   Filled, in wire byte order.
 * @type:    enum vmprof_msg.
 * @seq:     The sender's frame number.
 * @payload: @len bytes, needed for the checksum; stays the caller's.
 * @len:     <= VMPROF_FRAME_MAX.
 *
 * Return: 0, or -EMSGSIZE.
 */
int vmp_frame_build(struct vmprof_frame *frame, uint16_t type, uint32_t seq,
		    const void *payload, size_t len);

/** vmp_msg_fixed() - Size of the fixed part of a type's payload; -ENOENT unknown. */
ssize_t vmp_msg_fixed(unsigned int type);

/** vmp_msg_is_bulk() - Is a type sent within the credit only? */
int vmp_msg_is_bulk(unsigned int type);

#endif
