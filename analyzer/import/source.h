/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * source.h - XML read as a stream: from a file or a part of one, packed by gzip or zstd or not.
 *
 * The bytes are foreign: documents with a DTD (and so entities) are refused,
 * nothing is fetched, and libxml2's limits hold: 256 levels, 10 MB of one text.
 */
#ifndef VMP_SOURCE_H
#define VMP_SOURCE_H

#include <libxml/xmlreader.h>
#include <stdint.h>

struct vmp_source;

/**
 * vmp_source_open() - Begin to read.
 * @fd:     Borrowed; read with pread().
 * @offset: Where the document begins, @len bytes.
 *
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_source_open(struct vmp_source **s, int fd, uint64_t offset, uint64_t len);
void vmp_source_close(struct vmp_source *s);

/** vmp_source_reader() - The reader, for what it stands on; moved by vmp_source_next() only. */
xmlTextReaderPtr vmp_source_reader(struct vmp_source *s);

/**
 * vmp_source_next() - Go to the next node.
 * Return: 1, 0 at the end, -EBADMSG (what is wrong: vmp_source_error()), -errno of reading.
 */
int vmp_source_next(struct vmp_source *s);

/** vmp_source_error() - "line 12: ..." of a -EBADMSG, made safe for a terminal. */
const char *vmp_source_error(const struct vmp_source *s);

/** vmp_source_other() - "is empty", "is JSON": what a file is that is no XML, by its first bytes; NULL not known. */
const char *vmp_source_other(const struct vmp_source *s);

/** vmp_source_complain() - Say what is wrong at the node; %s only with safe text.  Return: -EBADMSG. */
int vmp_source_complain(struct vmp_source *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** vmp_source_attr() - An attribute of the element in @buf.  Return: @buf, NULL none. */
const char *vmp_source_attr(struct vmp_source *s, char *buf, size_t size, const char *name);

#endif
