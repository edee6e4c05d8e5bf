/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * below.h - open files below a folder by paths that a stranger chose.
 *
 * No path leads out of the folder: its links, absolute ones too, are followed
 * as if it were the root (openat2(), Linux 5.6).
 */
#ifndef VMP_BELOW_H
#define VMP_BELOW_H

#define VMP_BELOW_HOST	(-1)	/* no folder: the host's own paths */

/**
 * vmp_below_folder() - A folder to look below.
 * Return: its descriptor, to be closed; -ENOSYS this kernel has no openat2(); -errno.
 */
int vmp_below_folder(const char *path);

/**
 * vmp_below_open() - Open a regular file for reading; nothing else is touched.
 * @folder: Of vmp_below_folder(), or VMP_BELOW_HOST.
 * Return: descriptor; -ENOEXEC it is no regular file; -errno.
 */
int vmp_below_open(int folder, const char *path);

#endif
