/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * outfile.h - where a command's result goes: a new file in the old one's place, or a stream.
 *
 * A file is written beside its place under a name that nobody can plant, and
 * takes the place only when it is whole and on the disk.  What is there and is
 * no regular file (a device, a FIFO, a link) is written to as the shell would.
 */
#ifndef VMP_OUTFILE_H
#define VMP_OUTFILE_H

struct vmp_outfile {
	int fd;			/* to be written to; the rest is private */
	char *path, *temp;	/* temp: NULL it is written to as it is */
};

/**
 * vmp_outfile_open() - Begin a result.
 * @path: Where; NULL standard output.  A new file has mode 0600 as captures
 *        have, one that takes the place of the caller's own has that one's mode.
 *
 * Return: 0, -ENOMEM, -errno of open.
 */
int vmp_outfile_open(struct vmp_outfile *o, const char *path);

/**
 * vmp_outfile_close() - End it.
 * @failed: Its writer failed: what was in its place stays.
 *
 * Return: 0 or -errno of bringing it to disk or into place; then too, that stays.
 */
int vmp_outfile_close(struct vmp_outfile *o, int failed);

#endif
