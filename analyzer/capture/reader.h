/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reader.h - read a capture file block by block; no byte of it is trusted.
 *
 * Reading ends at the end of the file, or before the first thing that is
 * wrong; vmp_reader_end() tells which, and how much was left.  The file may
 * still grow: its size is taken once, when it is opened.
 */
#ifndef VMP_CAPTURE_READER_H
#define VMP_CAPTURE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/capture.h>

struct vmp_reader;

struct vmp_block {
	unsigned type;		/* enum vmprof_cap_type, or one unknown to us */
	unsigned flags;
	uint32_t source;
	uint64_t tsc_first;
	uint64_t tsc_last;
	uint64_t offset;	/* of its header in the file */
	uint32_t raw_bytes;
};

struct vmp_reader_end {
	uint64_t unread;	/* bytes behind the last good block */
	const char *why;	/* a phrase, NULL when nothing was left */
	int indexed;		/* the last good block was the index: closed properly */
};

/**
 * vmp_reader_open() - Open a capture and check its header.
 * Return: 0; -EBADMSG no capture, or its header is damaged; -EPROTONOSUPPORT
 * made by a newer vmprof; -EINVAL no regular file; other -errno of open and read.
 */
int vmp_reader_open(struct vmp_reader **r, const char *path);

/** vmp_reader_open_fd() - The same; @fd is the reader's on success only. */
int vmp_reader_open_fd(struct vmp_reader **r, int fd);

/** vmp_reader_header() - The file's header in host order, borrowed. */
const struct vmprof_cap_header *vmp_reader_header(const struct vmp_reader *r);

/**
 * vmp_reader_next() - Go to the next block; its checksums have been verified.
 * Return: 1 a block, 0 the end (see vmp_reader_end()), -ENOMEM, -errno of read.
 */
int vmp_reader_next(struct vmp_reader *r, struct vmp_block *b);

/**
 * vmp_reader_data() - Payload of the current block, unpacked.
 * @data: Borrowed until the next call for this reader.
 *
 * Return: 0; -EBADMSG cannot be unpacked (reading ends before this block),
 * -ENOMEM.
 */
int vmp_reader_data(struct vmp_reader *r, const void **data, size_t *len);

/* A block as it lies in the file, for threads that unpack on their own */
struct vmp_packed {
	struct vmp_block block;
	uint32_t stored_bytes;
	uint32_t payload_crc;
};

/* A thread's buffers; zeroed memory is an empty one */
struct vmp_unpacker {
	void *stored, *raw;
	size_t stored_room, raw_room;
	void *zstd;
};

/**
 * vmp_reader_take() - As vmp_reader_next(), but the payload is not looked at.
 * Not for several threads at once.
 * Return: 1 a block, 0 the end, -errno of read.
 */
int vmp_reader_take(struct vmp_reader *r, struct vmp_packed *p);

/**
 * vmp_reader_unpack() - Payload of a block that was taken; any thread.
 * @data: Borrowed until the next call with this @u.
 * Return: 0; -EBADMSG damaged or cannot be unpacked; -ENOMEM, -errno of read.
 */
int vmp_reader_unpack(const struct vmp_reader *r, struct vmp_unpacker *u, const struct vmp_packed *p,
		      const void **data, size_t *len);
void vmp_unpacker_free(struct vmp_unpacker *u);

/** vmp_reader_cut() - Reading ends before the block at @offset, for the reason @why (a literal). */
void vmp_reader_cut(struct vmp_reader *r, uint64_t offset, const char *why);

/** vmp_reader_rewind() - Back to before the first block. */
void vmp_reader_rewind(struct vmp_reader *r);

/** vmp_reader_end() - How the reading ended; valid once vmp_reader_next() gave 0, also when it begins anew. */
struct vmp_reader_end vmp_reader_end(const struct vmp_reader *r);

/** vmp_reader_warning() - What is to be said of a capture that was cut off or not closed; "" where all is well. */
const char *vmp_reader_warning(const struct vmp_reader *r, char *buf, size_t size);

void vmp_reader_close(struct vmp_reader *r);

#endif
