// SPDX-License-Identifier: GPL-2.0-only
/* out.c - packers as cookies of stdio: one below the other, the file at the bottom. */
#include "export/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "util/file.h"

#define BUFFER_BYTES	(256U << 10)
#define EARLY_BYTES	(1U << 20)
#define GZIP_LEVEL	1	/* more costs far more time than it saves room */
#define ZSTD_LEVEL	9
#define ZSTD_THREADS	8
#define GZIP_WINDOW	(15 + 16)	/* zlib: 32 KiB, with gzip's header */

/*
 * Of XML all but the numbers was there before, one thread or process earlier. To find that takes no search
 * (one step), but to part it from the digits takes prices: those of the levels from 18 on, which would search
 * long. A match as long as an item ends the search. Ratio of level 19 in a tenth of its time.
 */
static const struct {
	ZSTD_cParameter parameter;
	int value;
} zstd_xml[] = {
	{ ZSTD_c_strategy, ZSTD_btultra }, { ZSTD_c_windowLog, 20 }, { ZSTD_c_chainLog, 18 }, { ZSTD_c_hashLog, 18 },
	{ ZSTD_c_searchLog, 1 }, { ZSTD_c_minMatch, 4 }, { ZSTD_c_targetLength, 64 },
};

struct vmp_pack {
	int fd;
	int err;
	size_t bytes;		/* since the disk was last told */
	ZSTD_CStream *zstd;	/* NULL: not packed so */
	z_stream gzip;
	int has_gzip;
	char buffer[BUFFER_BYTES], stdio[BUFFER_BYTES];
};

static void to_file(struct vmp_pack *p, const void *data, size_t len)
{
	if (!p->err && len)
		p->err = vmp_write_all(p->fd, data, len);
	if ((p->bytes += len) < EARLY_BYTES)
		return;
	p->bytes = 0;
	sync_file_range(p->fd, 0, 0, SYNC_FILE_RANGE_WRITE);	/* on its way to the disk, which is waited for at the end */
}

static void to_zstd(struct vmp_pack *p, const void *data, size_t len, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	if (!p->zstd) {
		to_file(p, data, len);
		return;
	}
	do {
		char buf[1 << 16];
		ZSTD_outBuffer out = { buf, sizeof(buf), 0 };

		left = ZSTD_compressStream2(p->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			p->err = -EIO;
		else
			to_file(p, buf, out.pos);
	} while (!p->err && (end == ZSTD_e_end ? left != 0 : in.pos < in.size));
}

static void to_gzip(struct vmp_pack *p, const void *data, size_t len, int flush)
{
	p->gzip.next_in = (Bytef *)data;
	p->gzip.avail_in = (uInt)len;
	do {
		p->gzip.next_out = (Bytef *)p->buffer;
		p->gzip.avail_out = sizeof(p->buffer);
		deflate(&p->gzip, flush);
		to_zstd(p, p->buffer, sizeof(p->buffer) - p->gzip.avail_out, ZSTD_e_continue);
	} while (!p->err && !p->gzip.avail_out);
}

static ssize_t on_write(void *cookie, const char *data, size_t len)
{
	struct vmp_pack *p = cookie;

	if (p->has_gzip)
		to_gzip(p, data, len, Z_NO_FLUSH);
	else
		to_zstd(p, data, len, ZSTD_e_continue);
	if (p->err)
		errno = -p->err;
	return p->err ? 0 : (ssize_t)len;
}

static int zstd_init(struct vmp_pack *p, enum vmp_packing packing)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t i;

	p->zstd = ZSTD_createCStream();
	if (!p->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1)))
		return -ENOMEM;
	for (i = 0; packing == VMP_PACK_XML && i < sizeof(zstd_xml) / sizeof(zstd_xml[0]); i++)
		if (ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, zstd_xml[i].parameter, zstd_xml[i].value)))
			return -ENOMEM;
	/* beside the writer; the bytes are the same for any number of them. A library without threads refuses. */
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_nbWorkers, cpus < 1 ? 1 : cpus < ZSTD_THREADS ? (int)cpus : ZSTD_THREADS);
	return 0;
}

static int pack_init(struct vmp_pack *p, int fd, enum vmp_packing packing, int zstd)
{
	int gzip = packing == VMP_PACK_GZIP, err;

	p->fd = fd;
	err = zstd ? zstd_init(p, packing) : 0;
	if (err)
		return err;
	if (gzip && deflateInit2(&p->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	p->has_gzip = gzip;
	return 0;
}

static void pack_free(struct vmp_pack *p)
{
	if (!p)
		return;
	ZSTD_freeCStream(p->zstd);
	if (p->has_gzip)
		deflateEnd(&p->gzip);
	free(p);
}

int vmp_out_packed(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	return len > 4 && !strcmp(path + len - 4, ".zst");
}

int vmp_out_open(struct vmp_out *o, const char *path, enum vmp_packing packing)
{
	static const cookie_io_functions_t io = { .write = on_write };
	int err;

	memset(o, 0, sizeof(*o));
	err = vmp_outfile_open(&o->file, path);
	if (err)
		return err;
	o->pack = calloc(1, sizeof(*o->pack));
	err = o->pack ? pack_init(o->pack, o->file.fd, packing, vmp_out_packed(path)) : -ENOMEM;
	if (!err) {
		o->stream = fopencookie(o->pack, "w", io);
		err = o->stream ? 0 : -ENOMEM;
	}
	if (err) {
		vmp_out_close(o, 1);
		return err;
	}
	setvbuf(o->stream, o->pack->stdio, _IOFBF, sizeof(o->pack->stdio));
	__fsetlocking(o->stream, FSETLOCKING_BYCALLER);
	return 0;
}

int vmp_out_close(struct vmp_out *o, int failed)
{
	int closed, err = o->stream && fclose(o->stream) ? -errno : 0;

	if (o->pack && !failed) {
		if (o->pack->has_gzip)
			to_gzip(o->pack, NULL, 0, Z_FINISH);
		if (o->pack->zstd)
			to_zstd(o->pack, NULL, 0, ZSTD_e_end);
		err = o->pack->err ? o->pack->err : err;
	}
	pack_free(o->pack);
	closed = vmp_outfile_close(&o->file, err || failed);
	return err ? err : closed;
}
