/* SPDX-License-Identifier: GPL-2.0-only */
/* file.h - whole files at once: text of /proc, small state files. */
#ifndef VMP_FILE_H
#define VMP_FILE_H

#include <stddef.h>

/**
 * vmp_file_read() - Read a file, of /proc too, to its end.
 * @max:  More bytes than that are an error.
 * @data: Allocated on success, the caller's to free; a NUL follows the bytes.
 * Return: 0, -EFBIG, -ENOMEM, -errno.
 */
int vmp_file_read(const char *path, size_t max, char **data, size_t *len);

/** vmp_file_write() - Replace a file by a new one, mode 0600, at once. Return: 0 or -errno. */
int vmp_file_write(const char *path, const void *data, size_t len);

/** vmp_write_all() - write() until all is written. Return: 0 or -errno. */
int vmp_write_all(int fd, const void *data, size_t len);

#endif
