/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.h - open the file behind a mapping of some process.
 *
 * The name is a hint, the inode is the truth: a file is taken only if its
 * device and inode are those of the map; on Btrfs and overlayfs, where stat()
 * and maps tell other devices, if its inode is.  Only regular files are opened,
 * so that no device is woken.  On a dead file system all of this may block: it
 * is for the child that reads (worker.h) alone.
 */
#ifndef VMP_MAPPED_H
#define VMP_MAPPED_H

#include <stdint.h>
#include <sys/stat.h>
#include <vmprof/agent_proto.h>

/* What is known of a mapped file */
struct vmp_mapped {
	uint64_t start, end;	/* of one mapping of it */
	uint64_t ino;
	uint32_t dev_major, dev_minor;
	uint32_t tgid;		/* a process that mapped it; may be gone */
	const char *path;	/* as that process's root sees it, NUL-terminated */
};

/* Asked before a file is touched; its result, if not 0, is that of the opening.  NULL: none */
extern int (*vmp_mapped_guard)(uint32_t major, uint32_t minor);

/** vmp_mapped_may_touch() - Ask it of an open file, or a handle.  Return: 0 or what it gave. */
int vmp_mapped_may_touch(int handle);

/**
 * vmp_mapped_open() - Open it for reading.
 * @st: Set on success.
 *
 * Tried in this order: the mapping itself (/proc/TGID/map_files), the path
 * under the process's root, the path under the guest's root.
 *
 * Return: file descriptor, -ESTALE (another file lies at the path),
 * or -errno of the last try.
 */
int vmp_mapped_open(const struct vmp_mapped *m, struct stat *st);

/**
 * vmp_mapped_is_fleeting() - Does no path of the guest's own root lead to it? It can be had then only as long as it is mapped:
 * it was removed, or replaced, was never in a file system, or lies in a container's.
 * Return: 1, or 0 (one does, or nobody knows).
 */
int vmp_mapped_is_fleeting(const struct vmp_mapped *m);

/**
 * vmp_mapped_open_beside() - Open another regular file of a process's file system.
 * @tgid: A process; where it is gone, or has no such file, the guest's root is looked in.
 * @path: From that root on.  The caller checks that the content is what it wants.
 * @st:   Set on success.
 *
 * Return: file descriptor, or -errno.
 */
int vmp_mapped_open_beside(uint32_t tgid, const char *path, struct stat *st);

/** vmp_mapped_root() - Handle of a process's root, or -errno. */
int vmp_mapped_root(uint32_t tgid);

/**
 * vmp_mapped_open_below() - Open a file that lies below a root under this name itself.
 * @root: From vmp_mapped_root().
 * @path: From there; its last part may be no link, and the file may have no other name:
 *        where anybody may put files, nobody makes us read another one.
 * @st:   Set on success.
 *
 * Return: file descriptor, -EMLINK (it has other names), or -errno.
 */
int vmp_mapped_open_below(int root, const char *path, struct stat *st);

#endif
