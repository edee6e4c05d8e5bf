/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * agent_msg.h - payloads of the agent protocol, taken apart and checked.
 *
 * vmp_agent_msg_parse() turns the payload of one frame into a plain struct in
 * host byte order.  Every length inside is checked against the payload and
 * against the limits of include/vmprof/agent_proto.h; what breaks one gives
 * -EBADMSG and nothing else.  Strings and data are borrowed from the payload
 * and are not NUL-terminated; their bytes are hostile: vmp_text() of
 * analyzer/util/text.h before they are shown.
 */
#ifndef VMP_AGENT_MSG_H
#define VMP_AGENT_MSG_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/agent_proto.h>

#include "cursor.h"

/* Bytes inside the payload; may hold anything, NULs too */
struct vmp_span {
	const char *p;		/* never NULL */
	uint32_t len;
};

struct vmp_msg_host_hello {
	uint32_t version;
	uint32_t compat;
	uint64_t session;
	uint64_t credit;
};

/* START, STOP, SNAP_BEGIN, SNAP_END, DONE */
struct vmp_msg_token {
	uint64_t token;
	uint64_t tsc;
	uint64_t kept_bytes;		/* START: of kernel symbols that the host has; 0 none */
	uint32_t kept_crc;
};

struct vmp_msg_credit {
	uint64_t bytes;
};

struct vmp_msg_get_object {
	uint32_t file;
	uint32_t len;
	uint64_t offset;
};

struct vmp_msg_hello {
	uint32_t version;
	uint32_t compat;
	uint8_t boot_id[16];
	uint32_t flags;
	uint32_t nr_cpus;
	uint32_t tsc_khz;
	uint64_t tsc;
	uint64_t realtime_ns;
	struct vmp_span release;	/* <= VMPROF_RELEASE_MAX */
	uint32_t module_error;		/* errno; 0: there is a module, or it is not told */
};

struct vmp_msg_map {
	uint64_t tsc;
	uint64_t cr3;
	uint64_t start;			/* start < end */
	uint64_t end;
	uint64_t pgoff;
	uint64_t ino;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t ino_generation;
	uint32_t tgid;
	uint16_t prot;
	uint16_t flags;
	struct vmp_span path;		/* < VMPROF_PATH_BYTES_MAX */
};

/* PROC, FORK, EXEC, COMM, EXIT */
struct vmp_msg_proc {
	uint64_t tsc;
	uint64_t cr3;
	uint32_t pid;
	uint32_t tgid;
	uint32_t ppid;
	uint32_t flags;
	char comm[VMPROF_COMM_MAX];	/* NUL-terminated, NULs to its end */
	uint32_t nspid;			/* 0 not told */
	struct vmp_span cgroup;		/* < VMPROF_CGROUP_BYTES_MAX; empty: not told */
	uint32_t nr_maps;		/* of EXIT, else 0; all of them were checked */
	struct vmp_cursor maps;		/* for vmp_agent_msg_next_map() */
};

struct vmp_msg_file {
	uint32_t file;			/* >= 1 */
	uint32_t flags;
	uint64_t ino;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t ino_generation;
	uint64_t bytes;
	uint64_t mtime_ns;
	uint32_t build_id_len;		/* <= VMPROF_BUILD_ID_MAX */
	uint8_t build_id[VMPROF_BUILD_ID_MAX];
	struct vmp_span path;		/* < VMPROF_PATH_BYTES_MAX */
	uint64_t since_tsc;		/* 0 all mappings of it, or not told */
};

struct vmp_msg_lost {
	uint64_t tsc;
	uint64_t count[VMPROF_GLOST_NR];
};

struct vmp_msg_ksyms {
	uint64_t offset;		/* offset + text.len <= total */
	uint64_t total;			/* <= VMPROF_KSYMS_BYTES_MAX */
	struct vmp_span text;
};

struct vmp_msg_modules {
	uint64_t tsc;			/* >= since_tsc */
	uint64_t since_tsc;
};

struct vmp_msg_jitmap {
	uint64_t tsc;
	uint32_t tgid;
	uint32_t after;
	struct vmp_span text;		/* ends with a newline */
};

struct vmp_msg_object {
	uint32_t file;			/* >= 1 */
	uint32_t status;		/* 0, or errno of the guest: no data then */
	uint64_t offset;		/* offset + data.len <= total */
	uint64_t total;			/* <= VMPROF_OBJECT_BYTES_MAX */
	struct vmp_span data;
};

struct vmp_msg_task_cpu {
	uint32_t apic_id;
	uint64_t current_gpa;
};

struct vmp_msg_tasks {
	uint64_t tsc;
	uint64_t linear_base, linear_bytes;
	uint64_t init_task, init_task_gpa;
	uint32_t flags_offset, pid_offset, tgid_offset, comm_offset;
	uint32_t kthread_flag;
	uint32_t lack;			/* VMPROF_TASKS_LACK_*, or one of a later version */
	uint32_t nr_cpus;		/* <= VMPROF_TASKS_CPUS_MAX; all of them are there */
	struct vmp_cursor cpus;		/* for vmp_agent_msg_next_cpu() */
};

struct vmp_agent_msg {
	enum vmprof_msg type;		/* tells which one of the union is set */
	union {
		struct vmp_msg_host_hello host_hello;
		struct vmp_msg_token token;
		struct vmp_msg_credit credit;
		struct vmp_msg_get_object get_object;
		struct vmp_msg_hello hello;
		struct vmp_msg_proc proc;
		struct vmp_msg_map map;
		struct vmp_msg_file file;
		struct vmp_msg_lost lost;
		struct vmp_msg_ksyms ksyms;
		struct vmp_msg_modules modules;
		struct vmp_msg_jitmap jitmap;
		struct vmp_msg_tasks tasks;
		struct vmp_msg_object object;
	};
};

/**
 * vmp_agent_msg_parse() - Take one payload apart.
 * @type:    vmprof_frame.type.
 * @payload: @len bytes; strings and data in @msg are borrowed from it.
 * @msg:     Filled on success, undefined on error.
 *
 * Surplus bytes behind what the type knows are ignored (later versions).
 *
 * Return: 0; -ENOENT unknown type; -EBADMSG too short or a limit broken.
 */
int vmp_agent_msg_parse(unsigned int type, const void *payload, size_t len,
			struct vmp_agent_msg *msg);

/**
 * vmp_agent_msg_next_map() - Next map of an EXIT.
 * @proc: From vmp_agent_msg_parse(); remembers the place.
 * @map:  Filled when 1 is returned.
 *
 * Return: 1 a map, 0 no more.
 */
int vmp_agent_msg_next_map(struct vmp_msg_proc *proc, struct vmp_msg_map *map);

/** vmp_no_module_text() - Why an agent has no module, by its HELLO.  Return: @dst (128 bytes). */
const char *vmp_no_module_text(char *dst, uint32_t hello_flags, uint32_t module_error);

/** vmp_agent_msg_next_cpu() - Next CPU of a TASKS.  Return: 1 a CPU, 0 no more. */
int vmp_agent_msg_next_cpu(struct vmp_msg_tasks *tasks, struct vmp_msg_task_cpu *cpu);

#endif
