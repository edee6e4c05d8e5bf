// SPDX-License-Identifier: GPL-2.0-only
/* frame.c - the agent protocol's frames as a stream; every byte read here is hostile. */
#include "frame.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "crc32c.h"

ssize_t vmp_msg_fixed(unsigned int type)
{
	switch (type) {
#define X(name, number, size, bulk) case number: return size;
	VMPROF_MESSAGES(X)
#undef X
	}
	return -ENOENT;
}

int vmp_msg_is_bulk(unsigned int type)
{
	switch (type) {
#define X(name, number, size, bulk) case number: return bulk;
	VMPROF_MESSAGES(X)
#undef X
	}
	return 0;
}

static uint32_t frame_crc(const struct vmprof_frame *wire, const void *payload, size_t len)
{
	struct vmprof_frame h = *wire;

	h.crc = 0;
	return vmp_crc32c(vmp_crc32c(0, &h, sizeof(h)), payload, len);
}

int vmp_frame_build(struct vmprof_frame *frame, uint16_t type, uint32_t seq,
		    const void *payload, size_t len)
{
	if (len > VMPROF_FRAME_MAX)
		return -EMSGSIZE;
	memset(frame, 0, sizeof(*frame));
	frame->magic = htole32(VMPROF_FRAME_MAGIC);
	frame->type = htole16(type);
	frame->len = htole32((uint32_t)len);
	frame->seq = htole32(seq);
	frame->crc = htole32(frame_crc(frame, payload, len));
	return 0;
}

void vmp_frame_decoder_init(struct vmp_frame_decoder *d)
{
	d->begin = d->end = 0;
	d->next_seq = 0;
	d->in_frame = 1;
	memset(&d->stats, 0, sizeof(d->stats));
}

void *vmp_frame_space(struct vmp_frame_decoder *d, size_t *room)
{
	if (d->begin) {
		memmove(d->buf, d->buf + d->begin, d->end - d->begin);
		d->end -= d->begin;
		d->begin = 0;
	}
	*room = sizeof(d->buf) - d->end;
	return d->buf + d->end;
}

void vmp_frame_fed(struct vmp_frame_decoder *d, size_t len)
{
	d->end += len;
}

/* A frame begins at begin, but is none: count it once, go on a byte later. */
static void reject(struct vmp_frame_decoder *d)
{
	if (d->in_frame)
		d->stats.bad_frames++;
	d->in_frame = 0;
	d->stats.bad_bytes++;
	d->begin++;
}

void vmp_frame_give_up(struct vmp_frame_decoder *d)
{
	if (d->begin < d->end)
		reject(d);
}

static void check_seq(struct vmp_frame_decoder *d, const struct vmprof_frame *f)
{
	int hello = f->type == VMPROF_MSG_HELLO || f->type == VMPROF_MSG_HOST_HELLO;
	uint32_t gap = f->seq - d->next_seq;

	/* back: the sender is not where it was, and how many are missing nobody knows */
	if (!hello && gap) {
		d->stats.seq_gaps += gap <= INT32_MAX ? gap : 1;
		d->stats.seq_back += gap > INT32_MAX;
	}
	d->next_seq = f->seq + 1;
}

int vmp_frame_next(struct vmp_frame_decoder *d, struct vmprof_frame *frame,
		   const void **payload)
{
	struct vmprof_frame wire, f;
	ssize_t fixed;

	while (d->end - d->begin >= sizeof(wire)) {
		memcpy(&wire, d->buf + d->begin, sizeof(wire));
		f = (struct vmprof_frame){
			.magic = le32toh(wire.magic), .type = le16toh(wire.type),
			.reserved0 = le16toh(wire.reserved0), .len = le32toh(wire.len),
			.seq = le32toh(wire.seq), .crc = le32toh(wire.crc),
			.reserved1 = le32toh(wire.reserved1),
		};
		if (f.magic != VMPROF_FRAME_MAGIC || f.len > VMPROF_FRAME_MAX) {
			reject(d);
			continue;
		}
		if (d->end - d->begin < sizeof(wire) + f.len)
			return 0;
		if (f.crc != frame_crc(&wire, d->buf + d->begin + sizeof(wire), f.len)) {
			d->stats.vain_bytes += f.len;
			reject(d);
			continue;
		}
		d->in_frame = 1;
		check_seq(d, &f);
		fixed = vmp_msg_fixed(f.type);
		if (fixed >= 0 && f.len < (size_t)fixed) {
			d->stats.bad_frames++;
			d->begin += sizeof(wire) + f.len;
			continue;
		}
		d->stats.unknown += fixed < 0;
		d->stats.frames++;
		*frame = f;
		*payload = d->buf + d->begin + sizeof(wire);
		d->begin += sizeof(wire) + f.len;
		return 1;
	}
	return 0;
}
