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

struct vmp_out {
	FILE *stream;		/* to be written to; the rest is private */
	struct vmp_pack *pack;
	char *name;		/* NULL: standard output */
	int regular;
	int fd;
};

/**
 * vmp_out_open() - Begin an output.
 * @path: File to be replaced; NULL standard output.
 * @gzip: Pack with gzip (unless the name asks for zstd, then both).
 *
 * Return: 0, -ENOMEM, -errno of open.
 */
int vmp_out_open(struct vmp_out *o, const char *path, int gzip);

/**
 * vmp_out_close() - End an output.
 * @failed: The writer failed: what was written so far is removed.
 *
 * Return: 0, or -errno of the first write that failed (the file is removed).
 */
int vmp_out_close(struct vmp_out *o, int failed);

/** vmp_out_packed() - 1 when a name asks for zstd. */
int vmp_out_packed(const char *path);

#endif
