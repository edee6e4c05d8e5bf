// SPDX-License-Identifier: GPL-2.0-only
/*
 * writer.c - append blocks to a capture file.
 *
 * The file's end is moved only after a whole block was written, and what a
 * failed write left behind is cut off, so a reader never meets half a block
 * that a later one follows.
 */
#include "capture/writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vmprof/uapi.h>
#include <zstd.h>

#include "capture/block.h"
#include "capture/words.h"
#include "crc32c.h"
#include "model/records.h"
#include "util/room.h"

#define ZSTD_LEVEL	1
#define PACK_MIN	128	/* smaller payloads are not worth a frame */

struct vmp_writer {
	int fd;
	char *path, *temp;	/* temp: NULL once it has its own name */
	uint64_t end;		/* end of the last whole block */
	ZSTD_CCtx *zstd;
	void *packed;
	size_t packed_room;
	struct vmprof_cap_index_entry *index;
	size_t nr_index, index_room;
};

/* All of @v, which is used up */
static int write_at(int fd, struct iovec *v, int nr, uint64_t offset)
{
	while (nr) {
		ssize_t n = pwritev(fd, v, nr, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO;
		offset += (uint64_t)n;
		for (; nr && (size_t)n >= v->iov_len; v++, nr--)
			n -= (ssize_t)v->iov_len;
		if (nr) {
			v->iov_base = (uint8_t *)v->iov_base + n;
			v->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* 1: may be replaced (an earlier capture, or an empty file), 0: not */
static int replaceable(const char *path)
{
	__le64 magic = 0;
	struct stat st;
	int ok = 0, fd;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		ok = !st.st_size || (read(fd, &magic, sizeof(magic)) == sizeof(magic) &&
				     le64toh(magic) == VMPROF_CAP_MAGIC);
	close(fd);
	return ok;
}

static int open_new(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, flags, 0600);

	if (fd < 0 && errno == EEXIST) {
		/* left behind by a session that never began */
		if (!replaceable(path))
			return -EEXIST;
		if (unlink(path))
			return -errno;
		fd = open(path, flags, 0600);
	}
	return fd < 0 ? -errno : fd;
}

static void free_writer(struct vmp_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	free(w->packed);
	free(w->index);
	free(w->path);
	free(w->temp);
	free(w);
}

int vmp_writer_create(struct vmp_writer **out, const char *path,
		      const struct vmprof_cap_header *proto)
{
	struct vmprof_cap_header h = *proto;
	struct vmp_writer *w;
	struct stat st;
	int err;

	if (!lstat(path, &st) && !replaceable(path))
		return -EEXIST;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->zstd = ZSTD_createCCtx();
	w->path = strdup(path);
	if (!w->zstd || !w->path || asprintf(&w->temp, "%s.new", path) < 0) {
		w->temp = NULL;
		err = -ENOMEM;
		goto free_writer;
	}
	w->fd = open_new(w->temp);
	if (w->fd < 0) {
		err = w->fd;
		goto free_writer;
	}
	vmp_header_seal(&h);
	err = write_at(w->fd, &(struct iovec){ &h, sizeof(h) }, 1, 0);
	if (err)
		goto remove_file;
	w->end = sizeof(h);
	*out = w;
	return 0;

remove_file:
	close(w->fd);
	unlink(w->temp);
free_writer:
	free_writer(w);
	return err;
}

int vmp_writer_place(struct vmp_writer *w)
{
	/* A reader of an earlier capture there keeps it. */
	if (w->temp && rename(w->temp, w->path))
		return -errno;
	free(w->temp);
	w->temp = NULL;
	return 0;
}

void vmp_writer_discard(struct vmp_writer *w)
{
	close(w->fd);
	if (w->temp)
		unlink(w->temp);
	free_writer(w);
}

static int grow(void **buf, size_t *room, size_t need, size_t elem)
{
	size_t n = *room ? *room : 64;
	void *p;

	if (need <= *room)
		return 0;
	while (n < need)
		n *= 2;
	p = realloc(*buf, n * elem);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*room = n;
	return 0;
}

/* Packed size if that saves something, else 0; @flag: how */
static size_t pack(struct vmp_writer *w, unsigned int flag, const void *data, size_t len)
{
	size_t n, bound = flag == VMPROF_CAP_WORDS ? vmp_words_bound(len) : ZSTD_compressBound(len);

	if (len < PACK_MIN || grow(&w->packed, &w->packed_room, bound, 1))
		return 0;
	if (flag == VMPROF_CAP_WORDS)
		n = vmp_words_pack(w->packed, data, len);
	else
		n = ZSTD_compressCCtx(w->zstd, w->packed, w->packed_room, data, len, ZSTD_LEVEL);
	return ZSTD_isError(n) || n > len - len / 16 ? 0 : n;
}

/* Samples and their branches, and nothing else?  @branches: whether there are some */
static int only_samples(const void *data, size_t len, int *branches)
{
	const uint8_t *p = data, *end = p + len;
	struct vmprof_record rec;
	int only = 1;

	for (; (size_t)(end - p) >= sizeof(rec); p += rec.size) {
		memcpy(&rec, p, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size > end - p)
			return 0;
		if (rec.type == VMPROF_REC_LBR) {
			*branches = 1;
			only &= rec.size >= sizeof(struct vmprof_rec_lbr);
		} else {
			only &= vmp_record_is_sample(&rec) && rec.size == sizeof(struct vmprof_sample);
		}
	}
	return only && p == end;
}

int vmp_writer_block(struct vmp_writer *w, unsigned type, uint32_t source,
		     const void *data, size_t len, uint64_t tsc_first, uint64_t tsc_last)
{
	static const uint8_t zeros[8];
	struct vmprof_cap_block b = {
		.type = (uint16_t)type, .source = source,
		.tsc_first = tsc_first, .tsc_last = tsc_last,
	};
	unsigned int how = VMPROF_CAP_ZSTD;
	const void *stored = data;
	size_t packed, size = len;
	int err, branches = 0;

	if (len > VMPROF_CAP_RAW_MAX)
		return -EMSGSIZE;
	err = grow((void **)&w->index, &w->index_room, w->nr_index + 1, sizeof(*w->index));
	if (err)
		return err;
	if (type == VMPROF_CAP_RECORDS) {
		if (only_samples(data, len, &branches))
			b.flags |= VMPROF_CAP_SAMPLES;
		/* branches repeat as a whole, not record by record */
		if (!branches)
			how = VMPROF_CAP_WORDS;
	}
	packed = pack(w, how, data, len);
	if (packed) {
		b.flags |= (uint16_t)how;
		stored = w->packed;
		size = packed;
	}
	w->index[w->nr_index] = (struct vmprof_cap_index_entry){
		.offset = htole64(w->end), .type = htole16(b.type), .flags = htole16(b.flags),
		.source = htole32(source),
		.tsc_first = htole64(tsc_first), .tsc_last = htole64(tsc_last),
	};
	b.raw_bytes = (uint32_t)len;
	b.stored_bytes = (uint32_t)size;
	b.payload_crc = vmp_crc32c(0, stored, size);
	vmp_block_seal(&b);

	err = write_at(w->fd, (struct iovec[]){
		{ &b, sizeof(b) }, { (void *)stored, size }, { (void *)zeros, vmp_padded(size) - size },
	}, 3, w->end);
	if (err) {
		/* The write's error is the news; should the cut fail too, a reader
		   still stops at the half block. */
		int uncut = ftruncate(w->fd, (off_t)w->end);

		(void)uncut;
		return err;
	}
	w->end += sizeof(b) + vmp_padded(size);
	w->nr_index++;
	return 0;
}

uint64_t vmp_writer_bytes(const struct vmp_writer *w)
{
	return w->end;
}

uint64_t vmp_writer_room(const struct vmp_writer *w)
{
	return vmp_room_at(w->fd);
}

int vmp_writer_close(struct vmp_writer *w)
{
	size_t bytes = w->nr_index * sizeof(*w->index);
	int placed, err = 0;

	/* An index too large for one block is left out: walking does it too. */
	if (bytes <= VMPROF_CAP_RAW_MAX) {
		err = grow((void **)&w->index, &w->index_room, w->nr_index + 1, sizeof(*w->index));
		if (!err)
			err = vmp_writer_block(w, VMPROF_CAP_INDEX, 0, w->index, bytes, 0, 0);
	}
	if (fsync(w->fd) && !err && errno != EINVAL)
		err = -errno;
	if (close(w->fd) && !err)
		err = -errno;
	placed = vmp_writer_place(w);	/* after an error too: what there is counts */
	free_writer(w);
	return err ? err : placed;
}
