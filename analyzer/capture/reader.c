// SPDX-License-Identifier: GPL-2.0-only
/*
 * reader.c - walk a capture file by pread.
 *
 * Not mapped: a file that shrinks under a map would kill us.  Sizes come from
 * checked headers, are bounded by VMPROF_CAP_RAW_MAX, and are compared with
 * what is left of the file before memory is taken for them.
 */
#include "capture/reader.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/block.h"
#include "capture/words.h"
#include "crc32c.h"

struct vmp_reader {
	int fd;
	uint64_t size;
	uint64_t first;		/* offset of the first block */
	uint64_t next;		/* offset of the block after the current one */
	uint64_t stop;		/* no block at or behind this offset is good */
	const char *why;
	int indexed;
	struct vmprof_cap_header header;
	struct vmprof_cap_block block;	/* the current one */
	uint64_t offset;
	struct vmp_unpacker u;
};

/* 0: @len bytes read, -ENODATA: the file ended before, or -errno */
static int read_at(int fd, void *data, size_t len, uint64_t offset)
{
	uint8_t *p = data;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENODATA;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* A file that ends within its header, but as one of ours: a capture of no block. */
static int is_cut_header(const struct vmp_reader *r, int fd)
{
	__le64 magic = htole64(VMPROF_CAP_MAGIC), got;
	size_t len = r->size < sizeof(got) ? (size_t)r->size : sizeof(got);

	return r->size < sizeof(r->header) && !read_at(fd, &got, len, 0) && !memcmp(&got, &magic, len);
}

int vmp_reader_open_fd(struct vmp_reader **out, int fd)
{
	struct vmp_reader *r;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->size = (uint64_t)st.st_size;
	if (is_cut_header(r, fd)) {
		r->why = "the file ends within its header";
		err = 0;
	} else {
		err = read_at(fd, &r->header, sizeof(r->header), 0);
		if (err == -ENODATA)
			err = -EBADMSG;
		if (!err)
			err = vmp_header_check(&r->header);
		r->stop = r->size;
	}
	if (err)
		goto free_reader;
	r->fd = fd;
	r->first = r->header.header_bytes;
	vmp_reader_rewind(r);
	*out = r;
	return 0;

free_reader:
	free(r);
	return err;
}

int vmp_reader_open(struct vmp_reader **r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0)
		return -errno;
	err = vmp_reader_open_fd(r, fd);
	if (err)
		close(fd);
	return err;
}

const struct vmprof_cap_header *vmp_reader_header(const struct vmp_reader *r)
{
	return &r->header;
}

void vmp_reader_rewind(struct vmp_reader *r)
{
	r->next = r->first;
}

static int room(void **buf, size_t *have, size_t need)
{
	void *p;

	need = need ? need : 1;		/* empty is not NULL */
	if (need <= *have)
		return 0;
	p = realloc(*buf, need);
	if (!p)
		return -ENOMEM;
	*buf = p;
	*have = need;
	return 0;
}

/* From now on the file ends at @offset. */
static int end_here(struct vmp_reader *r, uint64_t offset, const char *why)
{
	r->stop = offset;
	r->next = offset;
	r->why = why;
	r->indexed = 0;
	return 0;
}

void vmp_reader_cut(struct vmp_reader *r, uint64_t offset, const char *why)
{
	end_here(r, offset, why);
}

/* The next block's header, its payload being all there.  Return: 1, 0 the end, -errno of read. */
static int next_header(struct vmp_reader *r)
{
	struct vmprof_cap_block *b = &r->block;
	uint64_t at = r->next, left;
	int err;

	if (at >= r->stop) {
		if (at > r->size && !r->why)
			r->why = "the file ends within its header";
		return 0;
	}
	left = r->stop - at;
	if (left < sizeof(*b))
		return end_here(r, at, "the file ends within a block's header");
	err = read_at(r->fd, b, sizeof(*b), at);
	if (err && err != -ENODATA)
		return err;
	if (err || vmp_block_check(b))
		return end_here(r, at, err ? "the file became shorter" :
				       "a block's header is damaged");
	/* The last block's padding may be missing: nothing of it is. */
	if (left - sizeof(*b) < b->stored_bytes)
		return end_here(r, at, "the file ends within a block");
	return 1;
}

static struct vmp_block accept(struct vmp_reader *r)
{
	const struct vmprof_cap_block *b = &r->block;

	r->offset = r->next;
	r->next = r->offset + sizeof(*b) + vmp_padded(b->stored_bytes);
	if (b->type == VMPROF_CAP_INDEX && r->next == r->stop)
		r->indexed = 1;	/* that remains so, wherever reading goes on */
	return (struct vmp_block){
		.type = b->type, .flags = b->flags, .source = b->source,
		.tsc_first = b->tsc_first, .tsc_last = b->tsc_last,
		.offset = r->offset, .raw_bytes = b->raw_bytes,
	};
}

/* Stored payload of the block at @offset.  Return: 0, -EBADMSG, -ENODATA (shorter now), -ENOMEM, -errno. */
static int read_stored(const struct vmp_reader *r, struct vmp_unpacker *u, uint64_t offset,
		       uint32_t bytes, uint32_t crc)
{
	int err = room(&u->stored, &u->stored_room, bytes);

	if (!err)
		err = read_at(r->fd, u->stored, bytes, offset + sizeof(struct vmprof_cap_block));
	if (!err && vmp_crc32c(0, u->stored, bytes) != crc)
		err = -EBADMSG;
	return err;
}

/* What was stored, unpacked.  Return: 0, -EBADMSG, -ENOMEM. */
static int unpack(struct vmp_unpacker *u, unsigned int flags, uint32_t stored_bytes, uint32_t raw_bytes,
		  const void **data, size_t *len)
{
	size_t n;

	*data = u->stored;
	*len = stored_bytes;
	if (!(flags & (VMPROF_CAP_ZSTD | VMPROF_CAP_WORDS)))
		return 0;
	if (room(&u->raw, &u->raw_room, raw_bytes))
		return -ENOMEM;
	*data = u->raw;
	*len = raw_bytes;
	if (flags & VMPROF_CAP_WORDS)
		return vmp_words_unpack(u->raw, raw_bytes, u->stored, stored_bytes);
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	if (!u->zstd)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(u->zstd, u->raw, raw_bytes, u->stored, stored_bytes);
	return ZSTD_isError(n) || n != raw_bytes ? -EBADMSG : 0;
}

int vmp_reader_next(struct vmp_reader *r, struct vmp_block *out)
{
	int err = next_header(r);

	if (err <= 0)
		return err;
	err = read_stored(r, &r->u, r->next, r->block.stored_bytes, r->block.payload_crc);
	if (err == -ENODATA || err == -EBADMSG)
		return end_here(r, r->next, err == -ENODATA ? "the file became shorter" :
					    "a block's content is damaged");
	if (err)
		return err;
	*out = accept(r);
	return 1;
}

int vmp_reader_data(struct vmp_reader *r, const void **data, size_t *len)
{
	int err = unpack(&r->u, r->block.flags, r->block.stored_bytes, r->block.raw_bytes, data, len);

	if (err == -EBADMSG)
		end_here(r, r->offset, "a block cannot be unpacked");
	return err;
}

int vmp_reader_take(struct vmp_reader *r, struct vmp_packed *p)
{
	int err = next_header(r);

	if (err <= 0)
		return err;
	p->block = accept(r);
	p->stored_bytes = r->block.stored_bytes;
	p->payload_crc = r->block.payload_crc;
	return 1;
}

int vmp_reader_unpack(const struct vmp_reader *r, struct vmp_unpacker *u, const struct vmp_packed *p,
		      const void **data, size_t *len)
{
	int err = read_stored(r, u, p->block.offset, p->stored_bytes, p->payload_crc);

	if (err)
		return err == -ENODATA ? -EBADMSG : err;
	return unpack(u, p->block.flags, p->stored_bytes, p->block.raw_bytes, data, len);
}

void vmp_unpacker_free(struct vmp_unpacker *u)
{
	ZSTD_freeDCtx(u->zstd);
	free(u->stored);
	free(u->raw);
}

struct vmp_reader_end vmp_reader_end(const struct vmp_reader *r)
{
	return (struct vmp_reader_end){
		.unread = r->stop < r->size ? r->size - r->stop : 0,
		.why = r->why,
		.indexed = r->indexed,
	};
}

const char *vmp_reader_warning(const struct vmp_reader *r, char *buf, size_t size)
{
	struct vmp_reader_end end = vmp_reader_end(r);

	*buf = 0;
	if (end.unread)
		snprintf(buf, size, "%" PRIu64 " bytes at the end of the capture were not read: %s", end.unread, end.why);
	else if (!end.indexed)
		snprintf(buf, size, "the capture was not closed: the session is still running, or its collector was killed");
	return buf;
}

void vmp_reader_close(struct vmp_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	vmp_unpacker_free(&r->u);
	free(r);
}
