// SPDX-License-Identifier: GPL-2.0-only
/* out.c - frames on their way to the host: a bounded buffer, order, credit. */
#include "out.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The virtio port copies each write at once, and at most this much of it. */
#define WRITE_MAX	(32U << 10)

int vmp_out_init(struct vmp_out *out)
{
	memset(out, 0, sizeof(*out));
	out->buf = malloc(VMP_OUT_BYTES);
	return out->buf ? 0 : -ENOMEM;
}

void vmp_out_deinit(struct vmp_out *out)
{
	free(out->buf);
	out->buf = NULL;
}

void vmp_out_clear(struct vmp_out *out)
{
	out->begin = out->end = out->current = 0;
	out->seq = 0;
	out->credit = 0;
	out->due_ms = 0;
	out->full = 0;
}

void vmp_out_restart(struct vmp_out *out)
{
	out->end = out->begin + out->current;
	out->seq = 0;
	out->credit = 0;
}

int vmp_out_has_room(const struct vmp_out *out, size_t len)
{
	return VMP_OUT_BYTES - (out->end - out->begin) >= sizeof(struct vmprof_frame) + len;
}

static size_t iov_bytes(const struct iovec *iov, int nr)
{
	size_t sum = 0;

	for (; nr; nr--, iov++)
		sum += iov->iov_len;
	return sum;
}

static int take(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr)
{
	size_t len = iov_bytes(iov, nr);
	struct vmprof_frame frame;
	uint8_t *payload, *p;

	if (len > VMPROF_FRAME_MAX)
		return -EMSGSIZE;
	if (!vmp_out_has_room(out, len))
		return -ENOBUFS;
	if (VMP_OUT_BYTES - out->end < sizeof(frame) + len) {
		memmove(out->buf, out->buf + out->begin, out->end - out->begin);
		out->end -= out->begin;
		out->begin = 0;
	}
	payload = p = out->buf + out->end + sizeof(frame);
	for (; nr; nr--, iov++) {
		if (iov->iov_len)
			memcpy(p, iov->iov_base, iov->iov_len);
		p += iov->iov_len;
	}
	vmp_frame_build(&frame, (uint16_t)type, out->seq++, payload, len);
	memcpy(out->buf + out->end, &frame, sizeof(frame));
	out->end += sizeof(frame) + len;
	return 0;
}

int vmp_out_put(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr)
{
	int ret = take(out, type, iov, nr);

	if (!ret)
		out->due_ms = 0;
	return ret;
}

int vmp_out_put_later(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr)
{
	const int first = !vmp_out_pending(out);
	int ret = take(out, type, iov, nr);

	if (!ret && first)
		out->due_ms = out->wrote_ms + VMP_OUT_HOLD_MS;
	return ret;
}

size_t vmp_out_bulk_room(const struct vmp_out *out)
{
	if (out->end - out->begin >= VMP_OUT_BULK_BELOW)
		return 0;
	return out->credit < VMP_OUT_BULK_PAYLOAD ? (size_t)out->credit : VMP_OUT_BULK_PAYLOAD;
}

int vmp_out_put_bulk(struct vmp_out *out, unsigned int type, const struct iovec *iov, int nr)
{
	size_t len = iov_bytes(iov, nr);
	int ret;

	if (len > vmp_out_bulk_room(out))
		return -ENOBUFS;
	ret = vmp_out_put(out, type, iov, nr);
	if (!ret)
		out->credit -= len;
	return ret;
}

void vmp_out_add_credit(struct vmp_out *out, uint64_t bytes)
{
	if (__builtin_add_overflow(out->credit, bytes, &out->credit))
		out->credit = UINT64_MAX;
}

size_t vmp_out_pending(const struct vmp_out *out)
{
	return out->end - out->begin;
}

/* n bytes went out: keep track of where in a frame the stream stands. */
static void advance(struct vmp_out *out, size_t n)
{
	struct vmprof_frame frame;
	size_t step;

	while (n) {
		if (!out->current) {
			memcpy(&frame, out->buf + out->begin, sizeof(frame));
			out->current = sizeof(frame) + le32toh(frame.len);
		}
		step = n < out->current ? n : out->current;
		out->begin += step;
		out->current -= step;
		n -= step;
	}
	if (out->begin == out->end)
		out->begin = out->end = 0;
}

/* Is there something that goes out now: a whole write, or what has waited long enough? */
static int goes_now(const struct vmp_out *out, uint64_t now_ms)
{
	size_t len = vmp_out_pending(out);

	return len >= WRITE_MAX || (len && now_ms >= out->due_ms);
}

int vmp_out_wait_ms(const struct vmp_out *out, uint64_t now_ms)
{
	if (out->full || !vmp_out_pending(out))
		return -1;
	return goes_now(out, now_ms) ? 0 : (int)(out->due_ms - now_ms);
}

int vmp_out_flush(struct vmp_out *out, int fd, uint64_t now_ms)
{
	size_t len;
	ssize_t n;

	out->full = 0;
	while (goes_now(out, now_ms)) {
		len = vmp_out_pending(out);
		n = write(fd, out->buf + out->begin, len < WRITE_MAX ? len : WRITE_MAX);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -errno;
		out->full = n <= 0;
		if (out->full)
			return 1;
		advance(out, (size_t)n);
		out->wrote_ms = now_ms;
	}
	return 0;
}
