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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "capture/block.h"
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
	ZSTD_DCtx *zstd;
	void *stored, *raw;
	size_t stored_room, raw_room;
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
	r->zstd = ZSTD_createDCtx();
	if (!r->zstd) {
		err = -ENOMEM;
		goto free_reader;
	}
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
	r->indexed = 0;
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
	return 0;
}

int vmp_reader_next(struct vmp_reader *r, struct vmp_block *out)
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
	err = room(&r->stored, &r->stored_room, b->stored_bytes);
	if (!err)
		err = read_at(r->fd, r->stored, b->stored_bytes, at + sizeof(*b));
	if (err && err != -ENODATA)
		return err;
	if (err || vmp_crc32c(0, r->stored, b->stored_bytes) != b->payload_crc)
		return end_here(r, at, err ? "the file became shorter" :
				       "a block's content is damaged");
	r->offset = at;
	r->next = at + sizeof(*b) + vmp_padded(b->stored_bytes);
	r->indexed = b->type == VMPROF_CAP_INDEX && r->next == r->stop;
	*out = (struct vmp_block){
		.type = b->type, .flags = b->flags, .source = b->source,
		.tsc_first = b->tsc_first, .tsc_last = b->tsc_last,
		.offset = at, .raw_bytes = b->raw_bytes,
	};
	return 1;
}

int vmp_reader_data(struct vmp_reader *r, const void **data, size_t *len)
{
	struct vmprof_cap_block *b = &r->block;
	size_t n;

	if (!(b->flags & VMPROF_CAP_ZSTD)) {
		*data = r->stored;
		*len = b->stored_bytes;
		return 0;
	}
	if (room(&r->raw, &r->raw_room, b->raw_bytes))
		return -ENOMEM;
	n = ZSTD_decompressDCtx(r->zstd, r->raw, b->raw_bytes, r->stored, b->stored_bytes);
	if (ZSTD_isError(n) || n != b->raw_bytes) {
		end_here(r, r->offset, "a block cannot be unpacked");
		return -EBADMSG;
	}
	*data = r->raw;
	*len = n;
	return 0;
}

struct vmp_reader_end vmp_reader_end(const struct vmp_reader *r)
{
	return (struct vmp_reader_end){
		.unread = r->stop < r->size ? r->size - r->stop : 0,
		.why = r->why,
		.indexed = r->indexed,
	};
}

void vmp_reader_close(struct vmp_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	ZSTD_freeDCtx(r->zstd);
	free(r->stored);
	free(r->raw);
	free(r);
}
