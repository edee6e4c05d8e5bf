// SPDX-License-Identifier: GPL-2.0-only
/* spool.c - streams in pieces of one temporary file. */
#include "export/spool.h"

#include <string.h>
#include <unistd.h>

int vmp_spool_init(struct vmp_spool *s, uint32_t nr)
{
	memset(s, 0, sizeof(*s));
	s->streams = calloc(nr ? nr : 1, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	s->nr = nr;
	s->file = tmpfile();
	return s->file ? 0 : -errno;
}

void vmp_spool_deinit(struct vmp_spool *s)
{
	uint32_t i;

	for (i = 0; i < s->nr; i++) {
		free(s->streams[i].buffer);
		vmp_vec_free(&s->streams[i].pieces);
	}
	free(s->streams);
	if (s->file)
		fclose(s->file);
}

static int put_piece(struct vmp_spool *s, struct vmp_spool_stream *st)
{
	if (vmp_vec_push(&st->pieces, s->end))
		return -ENOMEM;
	errno = EIO;
	if (pwrite(fileno(s->file), st->buffer, VMP_SPOOL_PIECE, (off_t)s->end) != VMP_SPOOL_PIECE)
		return -errno;
	s->end += VMP_SPOOL_PIECE;
	st->used = 0;
	return 0;
}

int vmp_spool_add(struct vmp_spool *s, uint32_t stream, const char *data, size_t len)
{
	struct vmp_spool_stream *st = &s->streams[stream];
	int err = 0;

	if (!st->buffer)
		st->buffer = malloc(VMP_SPOOL_PIECE);
	if (!st->buffer)
		return -ENOMEM;
	while (!err && len) {
		size_t n = VMP_SPOOL_PIECE - st->used < len ? VMP_SPOOL_PIECE - st->used : len;

		memcpy(st->buffer + st->used, data, n);
		st->used += (uint32_t)n;
		data += n;
		len -= n;
		if (st->used == VMP_SPOOL_PIECE)
			err = put_piece(s, st);
	}
	return err;
}

int vmp_spool_copy(struct vmp_spool *s, uint32_t stream, FILE *out)
{
	const struct vmp_spool_stream *st = &s->streams[stream];
	char piece[VMP_SPOOL_PIECE];
	uint32_t i;

	for (i = 0; i < st->pieces.nr; i++) {
		errno = EIO;
		if (pread(fileno(s->file), piece, sizeof(piece), (off_t)st->pieces.v[i]) != sizeof(piece))
			return -errno;
		fwrite(piece, 1, sizeof(piece), out);
	}
	if (st->used)
		fwrite(st->buffer, 1, st->used, out);
	return 0;
}
