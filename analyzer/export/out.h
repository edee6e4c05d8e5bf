/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * out.h - where an export goes: a file or standard output, packed on the way.
 *
 * The stream is an ordinary FILE that is not locked.  A name that ends in
 * ".zst" is written as one zstd frame; gzip is for formats that ask for it.
 */
#ifndef VMP_OUT_H
#define VMP_OUT_H

#include <stdio.h>

#include "util/outfile.h"

/* How an output is packed, besides what its name asks for */
enum vmp_packing {
	VMP_PACK_NONE,
	VMP_PACK_GZIP,
	VMP_PACK_XML,		/* not by itself, but as zstd packs XML best */
};

struct vmp_out {
	FILE *stream;		/* to be written to; the rest is private */
	struct vmp_pack *pack;
	struct vmp_outfile file;
};

/**
 * vmp_out_open() - Begin an output.
 * @path:    As vmp_outfile_open() has it.
 * @packing: With VMP_PACK_GZIP and a name that asks for zstd it is packed by both.
 *
 * Return: 0, -ENOMEM, -errno of open.
 */
int vmp_out_open(struct vmp_out *o, const char *path, enum vmp_packing packing);

/**
 * vmp_out_close() - End an output.
 * @failed: The writer failed: what was in its place stays.
 *
 * Return: 0, or -errno of the first write that failed (what was in its place stays).
 */
int vmp_out_close(struct vmp_out *o, int failed);

/** vmp_out_packed() - 1 when a name asks for zstd. */
int vmp_out_packed(const char *path);

#endif
