// SPDX-License-Identifier: GPL-2.0-only
/* source.c - libxml2's reader over pread(), zlib and libzstd. */
#include "import/source.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "util/text.h"
#include <vmprof/capture.h>

#define IN_BYTES	(64U << 10)
#define FIRST		16
#define AUTO_HEADER	(15 + 32)	/* zlib: gzip's or zlib's header */

struct vmp_source {
	int fd;
	uint64_t at, end;
	int io_err;
	int has_gzip, packed_end;
	z_stream gzip;
	ZSTD_DStream *zstd;
	ZSTD_inBuffer zin;
	uint8_t in[IN_BYTES];
	char first[FIRST + 1];	/* bytes, unpacked */
	int nr_first;		/* -1: none was read yet */
	xmlTextReaderPtr reader;
	char error[512];
};

static ssize_t raw(struct vmp_source *s, void *buf, size_t len)
{
	size_t n = s->end - s->at < len ? (size_t)(s->end - s->at) : len;
	ssize_t got = n ? pread(s->fd, buf, n, (off_t)s->at) : 0;

	if (got < 0)
		s->io_err = -errno;
	else
		s->at += (uint64_t)got;
	return got;
}

static int read_gzip(struct vmp_source *s, char *buf, int len)
{
	ssize_t n;
	int ret = Z_OK;

	s->gzip.next_out = (Bytef *)buf;
	s->gzip.avail_out = (uInt)len;
	while (s->gzip.avail_out == (uInt)len && ret != Z_STREAM_END) {
		if (!s->gzip.avail_in) {
			n = raw(s, s->in, sizeof(s->in));
			if (n <= 0)
				return -1;	/* it ends too early, too */
			s->gzip.next_in = s->in;
			s->gzip.avail_in = (uInt)n;
		}
		ret = inflate(&s->gzip, Z_NO_FLUSH);
		if (ret != Z_OK && ret != Z_STREAM_END)
			return -1;
	}
	s->packed_end = ret == Z_STREAM_END;
	return len - (int)s->gzip.avail_out;
}

static int read_zstd(struct vmp_source *s, char *buf, int len)
{
	ZSTD_outBuffer out = { buf, (size_t)len, 0 };
	size_t ret = 1;
	ssize_t n;

	while (!out.pos && ret) {
		if (s->zin.pos == s->zin.size) {
			n = raw(s, s->in, sizeof(s->in));
			if (n <= 0)
				return -1;
			s->zin = (ZSTD_inBuffer){ s->in, (size_t)n, 0 };
		}
		ret = ZSTD_decompressStream(s->zstd, &out, &s->zin);
		if (ZSTD_isError(ret))
			return -1;
	}
	s->packed_end = !ret;
	return (int)out.pos;
}

static int unpacked(struct vmp_source *s, char *buf, int len)
{
	if (s->packed_end)
		return 0;
	if (s->has_gzip)
		return read_gzip(s, buf, len);
	if (s->zstd)
		return read_zstd(s, buf, len);
	return (int)raw(s, buf, (size_t)len);
}

static int on_read(void *context, char *buf, int len)
{
	struct vmp_source *s = context;
	int n = unpacked(s, buf, len), more;

	if (n < 0)
		return n;
	if (s->nr_first < 0)
		s->nr_first = 0;
	more = n < FIRST - s->nr_first ? n : FIRST - s->nr_first;
	memcpy(s->first + s->nr_first, buf, (size_t)more);
	s->nr_first += more;
	return n;
}

static void on_error(void *arg, const char *msg, xmlParserSeverities severity,
		     xmlTextReaderLocatorPtr locator)
{
	struct vmp_source *s = arg;
	size_t len = strcspn(msg, "\n");
	char safe[400];

	if (severity == XML_PARSER_SEVERITY_VALIDITY_WARNING || severity == XML_PARSER_SEVERITY_WARNING)
		return;
	if (!*s->error)
		snprintf(s->error, sizeof(s->error), "line %d: %s", xmlTextReaderLocatorLineNumber(locator),
			 vmp_text(safe, sizeof(safe), msg, len));
}

static int start_unpacking(struct vmp_source *s)
{
	uint8_t magic[4] = { 0 };
	ssize_t n = pread(s->fd, magic, sizeof(magic), (off_t)s->at);

	if (n < 0)
		return -errno;
	if (n == 4 && !memcmp(magic, "\x28\xb5\x2f\xfd", 4)) {
		s->zstd = ZSTD_createDStream();
		return s->zstd ? 0 : -ENOMEM;
	}
	if (n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
		if (inflateInit2(&s->gzip, AUTO_HEADER) != Z_OK)
			return -ENOMEM;
		s->has_gzip = 1;
	}
	return 0;
}

int vmp_source_open(struct vmp_source **out, int fd, uint64_t offset, uint64_t len)
{
	struct vmp_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->fd = fd;
	s->nr_first = -1;
	s->at = offset;
	s->end = offset + len;
	err = start_unpacking(s);
	if (!err) {
		s->reader = xmlReaderForIO(on_read, NULL, s, NULL, NULL, XML_PARSE_NONET | XML_PARSE_BIG_LINES);
		err = s->reader ? 0 : -ENOMEM;
	}
	if (err) {
		vmp_source_close(s);
		return err;
	}
	xmlTextReaderSetErrorHandler(s->reader, on_error, s);
	*out = s;
	return 0;
}

void vmp_source_close(struct vmp_source *s)
{
	if (!s)
		return;
	xmlFreeTextReader(s->reader);
	if (s->has_gzip)
		inflateEnd(&s->gzip);
	ZSTD_freeDStream(s->zstd);
	free(s);
}

xmlTextReaderPtr vmp_source_reader(struct vmp_source *s)
{
	return s->reader;
}

int vmp_source_complain(struct vmp_source *s, const char *fmt, ...)
{
	xmlNodePtr at = xmlTextReaderCurrentNode(s->reader);
	long line = at ? xmlGetLineNo(at) : 0;
	va_list ap;
	int n;

	if (*s->error)
		return -EBADMSG;
	if (line <= 0)		/* the parser has read ahead */
		line = xmlTextReaderGetParserLineNumber(s->reader);
	n = snprintf(s->error, sizeof(s->error), "line %ld: ", line);
	va_start(ap, fmt);
	vsnprintf(s->error + n, sizeof(s->error) - (size_t)n, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int vmp_source_next(struct vmp_source *s)
{
	int ret = xmlTextReaderRead(s->reader);

	if (ret < 0)
		return s->io_err ? s->io_err : vmp_source_complain(s, "the document is damaged or ends too early");
	if (ret && xmlTextReaderNodeType(s->reader) == XML_READER_TYPE_DOCUMENT_TYPE)
		return vmp_source_complain(s, "a document type is not allowed");
	return ret;
}

const char *vmp_source_error(const struct vmp_source *s)
{
	return s->error;
}

const char *vmp_source_other(const struct vmp_source *s)
{
	const char *first = s->first + strspn(s->first, " \t\r\n");
	uint64_t magic;

	memcpy(&magic, s->first, sizeof(magic));
	if (!s->nr_first)
		return "is empty";
	if (magic == htole64(VMPROF_CAP_MAGIC))
		return "is a capture; vmprof export --format xml writes it as XML";
	if (*first == '{' || *first == '[')
		return "is JSON";
	if (s->nr_first < 0 || first == s->first + FIRST || memchr(s->first, '<', FIRST))
		return NULL;
	/* its first message: the type of a value, two small numbers */
	if (s->first[0] == 0x0a && s->first[2] == 0x08)
		return "is neither XML nor .cubex; it may be pprof's";
	return "is neither XML nor .cubex";
}

const char *vmp_source_attr(struct vmp_source *s, char *buf, size_t size, const char *name)
{
	xmlChar *value = xmlTextReaderGetAttribute(s->reader, (const xmlChar *)name);

	if (!value)
		return NULL;
	snprintf(buf, size, "%s", (const char *)value);
	xmlFree(value);
	return buf;
}
