// SPDX-License-Identifier: GPL-2.0-only
/* out.c - packers as cookies of stdio: one below the other, the file at the bottom. */
#include "export/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "util/file.h"

#define BUFFER_BYTES	(256U << 10)
#define GZIP_LEVEL	1	/* more costs far more time than it saves room */
#define ZSTD_LEVEL	9
#define GZIP_WINDOW	(15 + 16)	/* zlib: 32 KiB, with gzip's header */

struct vmp_pack {
	int fd;
	int err;
	ZSTD_CStream *zstd;	/* NULL: not packed so */
	z_stream gzip;
	int has_gzip;
	char buffer[BUFFER_BYTES], stdio[BUFFER_BYTES];
};

static void to_file(struct vmp_pack *p, const void *data, size_t len)
{
	if (!p->err && len)
		p->err = vmp_write_all(p->fd, data, len);
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

static int pack_init(struct vmp_pack *p, int fd, int gzip, int zstd)
{
	p->fd = fd;
	if (zstd) {
		p->zstd = ZSTD_createCStream();
		if (!p->zstd ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1)))
			return -ENOMEM;
	}
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

int vmp_out_open(struct vmp_out *o, const char *path, int gzip)
{
	static const cookie_io_functions_t io = { .write = on_write };
	struct stat st;
	int err;

	memset(o, 0, sizeof(*o));
	o->fd = STDOUT_FILENO;
	if (path) {
		o->name = strdup(path);
		o->fd = o->name ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
		if (o->fd < 0) {
			err = o->name ? -errno : -ENOMEM;
			free(o->name);
			return err;
		}
		o->regular = !fstat(o->fd, &st) && S_ISREG(st.st_mode);
	}
	o->pack = calloc(1, sizeof(*o->pack));
	err = o->pack ? pack_init(o->pack, o->fd, gzip, vmp_out_packed(path)) : -ENOMEM;
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
	int err = o->stream && fclose(o->stream) ? -errno : 0;

	if (o->pack && !failed) {
		if (o->pack->has_gzip)
			to_gzip(o->pack, NULL, 0, Z_FINISH);
		if (o->pack->zstd)
			to_zstd(o->pack, NULL, 0, ZSTD_e_end);
		err = o->pack->err ? o->pack->err : err;
	}
	pack_free(o->pack);
	if (o->name && close(o->fd) && !err)
		err = -errno;
	if ((err || failed) && o->regular)
		unlink(o->name);
	free(o->name);
	return err;
}
