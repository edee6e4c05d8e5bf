/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * spool.h - many streams written in turns, read one after the other.
 *
 * For formats that want what lies mixed in a capture apart.  All streams share
 * one temporary file; memory is one small buffer and a list of the pieces for
 * each.
 */
#ifndef VMP_SPOOL_H
#define VMP_SPOOL_H

#include <stdio.h>

#include "model/vec.h"

#define VMP_SPOOL_PIECE	4096U

struct vmp_spool_stream {
	char *buffer;
	uint32_t used;
	VMP_VEC(uint64_t) pieces;	/* offsets in the file, VMP_SPOOL_PIECE bytes each */
};

struct vmp_spool {
	FILE *file;
	uint64_t end;
	struct vmp_spool_stream *streams;
	uint32_t nr;
};

/** vmp_spool_init() - @nr empty streams.  Return: 0, -ENOMEM, -errno of making the file. */
int vmp_spool_init(struct vmp_spool *s, uint32_t nr);
void vmp_spool_deinit(struct vmp_spool *s);

/** vmp_spool_add() - Append to a stream.  Return: 0, -ENOMEM, -errno of writing. */
int vmp_spool_add(struct vmp_spool *s, uint32_t stream, const char *data, size_t len);

/** vmp_spool_empty() - 1 when nothing was added to a stream yet. */
static inline int vmp_spool_empty(const struct vmp_spool *s, uint32_t stream)
{
	return !s->streams[stream].used && !s->streams[stream].pieces.nr;
}

/** vmp_spool_copy() - A whole stream to @out.  Return: 0 or -errno of reading. */
int vmp_spool_copy(struct vmp_spool *s, uint32_t stream, FILE *out);

#endif
