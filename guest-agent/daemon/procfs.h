/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * procfs.h - a snapshot of all processes from /proc, for a guest without the module.
 *
 * There is no CR3 in /proc, so the host cannot tell whose samples are whose,
 * but it can say who ran and what is missing.
 */
#ifndef VMP_PROCFS_H
#define VMP_PROCFS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <vmprof/agent_proto.h>

struct vmp_procfs {
	DIR *processes;		/* NULL: no snapshot is being made */
	FILE *maps;		/* of tgid; NULL none */
	uint32_t tgid;
	uint64_t token;
	int begun;
};

/* One message of it */
struct vmp_procfs_msg {
	uint16_t type;
	uint32_t len;
	uint8_t payload[sizeof(struct vmprof_map) + VMPROF_PATH_BYTES_MAX];
};

/** vmp_procfs_begin() - Return: 0, -EBUSY (one is being made), -errno. */
int vmp_procfs_begin(struct vmp_procfs *p, uint64_t token);

/** vmp_procfs_next() - Return: 1 a message from SNAP_BEGIN to SNAP_END, 0 no more. */
int vmp_procfs_next(struct vmp_procfs *p, struct vmp_procfs_msg *msg);

/** vmp_procfs_end() - Give up, or clean up after the last message. */
void vmp_procfs_end(struct vmp_procfs *p);

/**
 * vmp_procfs_parse_map() - One line of /proc/PID/maps.
 * @msg: Filled when the mapping is executable.
 *
 * Return: 1, or 0 (not executable, or no such line).
 */
int vmp_procfs_parse_map(const char *line, uint32_t tgid, struct vmp_procfs_msg *msg);

/** vmp_procfs_parse_stat() - /proc/PID/stat as PROC.  Return: 1, or 0 (no such text). */
int vmp_procfs_parse_stat(const char *text, struct vmprof_proc *proc);

#endif
