/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.h - open the file behind a mapping of some process.
 *
 * The name is a hint, the inode is the truth: a file is taken only if its
 * device and inode are those of the map.  Only regular files are opened, so
 * that nothing blocks and no device is woken.
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

/**
 * vmp_mapped_open() - Open it for reading.
 * @st: Set on success.
 *
 * Tried in this order: the mapping itself (/proc/TGID/map_files), the path
 * under the process's root, the path under our own root.
 *
 * Return: file descriptor, -ESTALE (another file lies at the path),
 * or -errno of the last try.
 */
int vmp_mapped_open(const struct vmp_mapped *m, struct stat *st);

#endif
