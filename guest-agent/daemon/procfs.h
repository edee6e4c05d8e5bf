/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * procfs.h - a snapshot of all processes from /proc, for a guest without the module.
 *
 * There is no CR3 in /proc: whose samples are whose the host infers from the mappings, as far as
 * they differ (analyzer/model/infer.h).
 */
#ifndef VMP_PROCFS_H
#define VMP_PROCFS_H

#include <dirent.h>
#include <stdint.h>
#include <vmprof/agent_proto.h>

#include "read.h"

enum vmp_procfs_maps { VMP_MAPS_NONE, VMP_MAPS_FIRST, VMP_MAPS_MORE };

struct vmp_procfs {
	DIR *processes;		/* NULL: no snapshot is being made */
	uint8_t *told;		/* a bit for each process number */
	unsigned int passes, new_ones;	/* over /proc; told in this one */
	uint32_t tgid;
	enum vmp_procfs_maps maps;	/* to be asked for, of tgid */
	uint64_t token;
	int begun;
	uint64_t unread;	/* processes whose maps could not be read, of all snapshots */
	size_t at, len;		/* in text */
	char text[VMP_READ_DATA];	/* lines of its maps */
};

/* One message of it */
struct vmp_procfs_msg {
	uint16_t type;
	uint32_t len;
	uint8_t payload[sizeof(struct vmprof_map) + VMPROF_PATH_BYTES_MAX];
};

/** vmp_procfs_begin() - Return: 0, -EBUSY (one is being made), -ENOMEM, -errno. */
int vmp_procfs_begin(struct vmp_procfs *p, uint64_t token);

/** vmp_procfs_next() - Return: 1 a message from SNAP_BEGIN to SNAP_END, 0 none now, or no more. */
int vmp_procfs_next(struct vmp_procfs *p, struct vmp_procfs_msg *msg);

/** vmp_procfs_ask() - The maps of a process come next.  Return: 1 the request is filled. */
int vmp_procfs_ask(struct vmp_procfs *p, struct vmp_read_request *r);

/** vmp_procfs_answer() - They were read, or some of them. */
void vmp_procfs_answer(struct vmp_procfs *p, const struct vmp_read_answer *a);

/** vmp_procfs_end() - Give up, or clean up after the last message. */
void vmp_procfs_end(struct vmp_procfs *p);

/**
 * vmp_procfs_parse_map() - One line of /proc/PID/maps.
 * @msg: Filled when the mapping is executable.
 *
 * Return: 1, or 0 (not executable, or no such line).
 */
int vmp_procfs_parse_map(const char *line, uint32_t tgid, struct vmp_procfs_msg *msg);

/**
 * vmp_procfs_path_flags() - VMPROF_MAP_* by the name that the kernel gives what is mapped.
 * @path: @len bytes; what is no part of the path is cut off.
 */
uint16_t vmp_procfs_path_flags(const char *path, size_t *len);

/** vmp_procfs_is_over() - Has a process no thread left that runs, but for what it does to exit? */
int vmp_procfs_is_over(uint32_t tgid);

/**
 * vmp_procfs_parse_place() - /proc/PID/status and /proc/PID/cgroup as struct vmprof_place and its path.
 * @dst: sizeof(struct vmprof_place) + VMPROF_CGROUP_BYTES_MAX.
 *
 * Return: bytes filled; what is in neither is told as such.
 */
uint32_t vmp_procfs_parse_place(const char *status, const char *cgroup, void *dst);

/**
 * vmp_procfs_read_place() - Where a process is now, seen from its container, as struct vmprof_place and its path.
 * @with_cgroup: Not 0: the path of its cgroup is told.
 * @dst: sizeof(struct vmprof_place) + VMPROF_CGROUP_BYTES_MAX.
 *
 * Return: bytes filled; of a process that has ended nothing is told.
 */
uint32_t vmp_procfs_read_place(uint32_t tgid, int with_cgroup, void *dst);

/** vmp_procfs_parse_stat() - /proc/PID/stat as PROC.  Return: 1, or 0 (no such text). */
int vmp_procfs_parse_stat(const char *text, struct vmprof_proc *proc);

#endif
