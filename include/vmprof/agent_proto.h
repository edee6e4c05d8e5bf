/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * agent_proto.h - messages between vmprof-agent (guest) and vmprof (host).
 *
 * Transport
 *   The virtio-serial port VMPROF_PORT_NAME, a byte stream in both directions.
 *   Everything is little-endian.  A stream is a sequence of frames:
 *
 *     struct vmprof_frame   24 bytes, checksummed
 *     payload               frame.len bytes (<= VMPROF_FRAME_MAX), whose layout
 *                           is given by frame.type
 *
 *   A reader that meets a wrong magic, length or checksum drops bytes up to
 *   the next magic and counts them.  seq counts the sender's frames from 0 at
 *   its HELLO; a gap means loss and is counted.  Unknown types are skipped and
 *   counted.  A payload longer than the fixed part and strings that the type
 *   knows is an extension of a later version: the surplus is ignored.
 *
 * Conversation
 *     agent                                     host
 *       waits until the port has a host
 *                                    <------    HOST_HELLO
 *       HELLO                        ------>
 *                                    <------    START(token)
 *       SNAP_BEGIN(token) PROC, MAP... SNAP_END(token)
 *       KSYMS...                     ------>    (bulk: within CREDIT; without what the host has kept)
 *       TASKS                        ------>    (to hosts of version 4 on)
 *       MODULES, then KSYMS anew     ------>    (whenever modules came or went; MODULES to
 *                                               hosts of version 7 on)
 *       FORK EXEC COMM MAP EXIT ...  ------>
 *       JITMAP...                    ------>    (bulk; to hosts of version 2 on)
 *       LOST                         ------>    (whenever something was lost)
 *                                    <------    CREDIT(bytes)
 *                                    <------    STOP(token)
 *       SNAP_BEGIN/END, then DONE(token)
 *                                    <------    GET_OBJECT(file id, offset, len)
 *       OBJECT...                    ------>    (bulk: within CREDIT)
 *
 *   A second HOST_HELLO at any time starts over (collector restarted).  An agent
 *   whose host is connected but has not greeted it for a second says HELLO on its
 *   own: it was restarted, or the guest was, or it is slow; the host starts over
 *   with HOST_HELLO.  To each HOST_HELLO that an agent reads it says HELLO; with one
 *   for an earlier greeting the START that is on its way to it still holds.
 *   Either side closes the port to end.  Without a host the guest module traces
 *   nothing.
 *
 * Flow control
 *   Events and snapshots are sent as they come; the port's own back pressure
 *   and the guest's bounded ring hold them, and what does not fit is counted
 *   in LOST.  Bulk (KSYMS, JITMAP, OBJECT) is sent only while the agent has credit,
 *   with lower priority than events; each payload byte of bulk uses one byte
 *   of credit.
 *
 * Trust
 *   The host treats every byte as hostile.  The limits below are checked on
 *   receipt; a frame that breaks one is counted and skipped.
 *
 * Time
 *   Every event carries the guest's TSC, read when it happened.  SNAP_BEGIN,
 *   SNAP_END, PROC, MAP, FORK, EXEC, COMM, EXIT and TASKS arrive in the order of it,
 *   over all CPUs; maps inside an EXIT are a moment older than the EXIT.
 *
 * Without the module (VMPROF_HELLO_NO_MODULE)
 *   cr3 is 0 everywhere, and events come from the kernel's perf, some milliseconds behind what
 *   the snapshot tells.  A FORK has no name (it is the parent's), an EXEC comes once, without
 *   EXEC_DONE, and an EXIT has no maps.  EXIT says LAST where the process had ended by the time
 *   that it was told: of several threads more than one may.  Where the kernel refuses perf, too
 *   (VMPROF_HELLO_NO_PERF), there are no events: only what the snapshots show.
 *   An agent whose module fails only at START says a HELLO that is UNASKED; to the greeting
 *   that follows, of the same session, it answers with NO_MODULE and REFUSED.
 */
#ifndef VMPROF_AGENT_PROTO_H
#define VMPROF_AGENT_PROTO_H

#include <linux/types.h>

#define VMPROF_PORT_NAME	"org.vmprof.agent.0"
#define VMPROF_PROTO_VERSION	7	/* 2: JITMAP; 3: VMPROF_HELLO_UNASKED; 4: TASKS; 5: why
					   there is no module, or no TASKS; 6: kernel symbols
					   that the host has kept; 7: MODULES, and
					   struct vmprof_place */
#define VMPROF_PROTO_COMPAT	1	/* oldest peer that this side talks to */

#define VMPROF_FRAME_MAGIC	0x41504d56U	/* "VMPA" */
#define VMPROF_FRAME_MAX	65536U		/* largest payload */

/* Limits on what payloads hold; longer values are cut by the sender, and
   refused by the receiver */
#define VMPROF_COMM_MAX		16U		/* with its NUL */
#define VMPROF_PATH_BYTES_MAX	4096U
#define VMPROF_RELEASE_MAX	128U
#define VMPROF_BUILD_ID_MAX	32U
#define VMPROF_CGROUP_BYTES_MAX	512U
#define VMPROF_EXIT_MAPS_MAX	512U		/* maps in one EXIT */
#define VMPROF_OBJECT_BYTES_MAX	(1ULL << 30)	/* of one object */
#define VMPROF_KSYMS_BYTES_MAX	(64U << 20)
#define VMPROF_JITMAP_BYTES_MAX	(32U << 20)	/* of one program, as the agent sends it */
#define VMPROF_JITMAPS_BYTES_MAX (256U << 20)	/* of all, in one conversation */
#define VMPROF_TASKS_CPUS_MAX	2048U		/* in one TASKS */

struct vmprof_frame {
	__le32 magic;		/* VMPROF_FRAME_MAGIC */
	__le16 type;		/* enum vmprof_msg */
	__le16 reserved0;
	__le32 len;		/* payload bytes that follow */
	__le32 seq;		/* of this sender since its HELLO */
	__le32 crc;		/* CRC-32C of this header with crc 0, then the payload */
	__le32 reserved1;
};

/*
 * The one table of messages: X(name, number, fixed payload size, bulk).
 * Variable data follows the fixed part; the fixed part says how much.
 */
#define VMPROF_MESSAGES(X) \
	/* host to agent */ \
	X(HOST_HELLO,	0x01, sizeof(struct vmprof_host_hello), 0) \
	X(START,	0x02, sizeof(struct vmprof_token), 0) \
	X(STOP,		0x03, sizeof(struct vmprof_token), 0) \
	X(CREDIT,	0x04, sizeof(struct vmprof_credit), 0) \
	X(GET_OBJECT,	0x05, sizeof(struct vmprof_get_object), 0) \
	/* agent to host */ \
	X(HELLO,	0x81, sizeof(struct vmprof_hello), 0) \
	X(SNAP_BEGIN,	0x82, sizeof(struct vmprof_token), 0) \
	X(SNAP_END,	0x83, sizeof(struct vmprof_token), 0) \
	X(PROC,		0x84, sizeof(struct vmprof_proc), 0) \
	X(MAP,		0x85, sizeof(struct vmprof_map), 0) \
	X(FORK,		0x86, sizeof(struct vmprof_proc), 0) \
	X(EXEC,		0x87, sizeof(struct vmprof_proc), 0) \
	X(COMM,		0x88, sizeof(struct vmprof_proc), 0) \
	X(EXIT,		0x89, sizeof(struct vmprof_proc), 0) \
	X(FILE,		0x8a, sizeof(struct vmprof_file), 0) \
	X(LOST,		0x8b, sizeof(struct vmprof_agent_lost), 0) \
	X(DONE,		0x8c, sizeof(struct vmprof_token), 0) \
	X(KSYMS,	0x8d, sizeof(struct vmprof_ksyms), 1) \
	X(OBJECT,	0x8e, sizeof(struct vmprof_object), 1) \
	X(JITMAP,	0x8f, sizeof(struct vmprof_jitmap), 1) \
	X(TASKS,	0x90, sizeof(struct vmprof_task_layout), 0) \
	X(MODULES,	0x91, sizeof(struct vmprof_modules), 0)

enum vmprof_msg {
#define X(name, number, size, bulk) VMPROF_MSG_##name = number,
	VMPROF_MESSAGES(X)
#undef X
};

/* ---------------------------------------------------------- host to agent */

struct vmprof_host_hello {
	__le32 version;		/* VMPROF_PROTO_VERSION of the host */
	__le32 compat;		/* oldest agent version that it accepts */
	__le64 session;		/* names this session in logs */
	__le64 credit;		/* first bulk credit, bytes */
};

struct vmprof_token {
	__le64 token;		/* chosen by the host, echoed by the agent */
	__le64 tsc;		/* sender's TSC when it was sent */
	/* struct vmprof_kept kept;  in START to agents of version 6 on, if there is something */
};

/*
 * The host has the kernel symbols of this boot, as its HELLO named it, from an earlier
 * conversation.  An agent whose text begins with the same bytes leaves these out, the
 * first time that it sends KSYMS.
 */
struct vmprof_kept {
	__le64 bytes;		/* from the text's beginning on, > 0 */
	__le32 crc;		/* CRC-32C of them */
	__le32 reserved;
};

struct vmprof_credit {
	__le64 bytes;		/* added to what is left */
};

/*
 * The debug file of a file (symbols that were stripped from it, as the guest's
 * distribution installs them below /usr/lib/debug/.build-id) is asked for with
 * this bit in @file, and its OBJECTs have the bit too.  An agent that has none,
 * or knows of none, answers with a status.  Its size is the answer's total.
 */
#define VMPROF_OBJECT_DEBUG	(1U << 31)

struct vmprof_get_object {
	__le32 file;		/* vmprof_file.file */
	__le32 len;		/* bytes wanted; the agent may send several OBJECTs */
	__le64 offset;
};

/* ---------------------------------------------------------- agent to host */

/* vmprof_hello.flags */
#define VMPROF_HELLO_PTI	(1U << 0)	/* CR3 bit 12 selects the user half */
#define VMPROF_HELLO_LA57	(1U << 1)	/* 5-level paging */
#define VMPROF_HELLO_NO_MODULE	(1U << 2)	/* degraded: no vmprof_guest.ko */
#define VMPROF_HELLO_UNASKED	(1U << 3)	/* answers no HOST_HELLO (agents of version 3 on) */
#define VMPROF_HELLO_REFUSED	(1U << 4)	/* NO_MODULE: it is there, but did not start */
#define VMPROF_HELLO_NO_PERF	(1U << 5)	/* NO_MODULE: nor may the agent listen to perf.  Agents
						   that are older than this bit do not tell */

struct vmprof_hello {
	__le32 version;
	__le32 compat;
	__u8   boot_id[16];
	__le32 flags;		/* VMPROF_HELLO_* */
	__le32 nr_cpus;
	__le32 tsc_khz;		/* as the guest sees it, 0 unknown */
	__le32 release_len;	/* bytes of kernel release that follow, no NUL */
	__le64 tsc;
	__le64 realtime_ns;	/* guest wall clock at tsc */
	/* char release[release_len]; */
	/* __le32 module_error;  with NO_MODULE, agents of version 5 on: the errno that tells why */
};

/*
 * A task event.  Meaning of the fields by message:
 *   PROC  a process that lives at the snapshot (tgid leader; maps follow as MAP, with the
 *         time at which they were read: younger events may have come before)
 *   FORK  a new task: tgid == pid a new process, else a thread; cr3 of the
 *         child's mm (equal to the parent's for CLONE_VM)
 *   EXEC  the process runs a new program: sent with the new cr3 before the
 *         first instruction on it, and again (flags EXEC_DONE) with the new
 *         comm when the program is loaded
 *   COMM  a task has a new name
 *   EXIT  a task ends; for the last thread of a process, maps holds all its
 *         executable mappings, taken before the mm is torn down
 */
#define VMPROF_PROC_EXEC_DONE	(1U << 0)
#define VMPROF_PROC_KTHREAD	(1U << 1)	/* kernel thread or idle task; cr3 0 or init's */
#define VMPROF_PROC_NO_MAPS	(1U << 2)	/* EXIT: maps could not be read, or not all of them */
#define VMPROF_PROC_LAST	(1U << 3)	/* EXIT: last thread of the process */

struct vmprof_proc {
	__le64 tsc;
	__le64 cr3;		/* physical address of the page-table root, no PCID or
				   PTI bits; 0 none */
	__le32 pid;		/* thread id, initial pid namespace */
	__le32 tgid;
	__le32 ppid;		/* tgid of the parent */
	__le32 flags;		/* VMPROF_PROC_* */
	__u8   comm[VMPROF_COMM_MAX];	/* NUL-padded */
	__le32 nr_maps;		/* EXIT: struct vmprof_map with path, one after the
				   other, each padded to 8 bytes */
	__le32 reserved;
	/* struct vmprof_place place;  may follow in others than EXIT, from agents of version 7 on */
};

/* Where a process is, seen from its container.  What is not told is as before, or as the parent's. */
struct vmprof_place {
	__le32 nspid;		/* tgid in the innermost of its pid namespaces; 0 not told */
	__le32 cgroup_len;	/* bytes of the cgroup's path that follow, no NUL; 0 not told */
	/* char cgroup[cgroup_len];  in the default hierarchy, as the initial cgroup namespace sees it */
};

/* vmprof_map.prot: PROT_* bits; flags: */
#define VMPROF_MAP_VDSO		(1U << 0)
#define VMPROF_MAP_ANON		(1U << 1)	/* no file behind it (JIT code) */
#define VMPROF_MAP_DELETED	(1U << 2)	/* file was unlinked */

/* An executable mapping: from tsc on, until another one covers it */
struct vmprof_map {
	__le64 tsc;
	__le64 cr3;
	__le64 start;		/* gva */
	__le64 end;
	__le64 pgoff;		/* file offset of start, bytes */
	__le64 ino;
	__le32 dev_major;
	__le32 dev_minor;
	__le32 tgid;
	__le16 prot;
	__le16 flags;		/* VMPROF_MAP_* */
	__le32 ino_generation;
	__le32 path_len;	/* bytes of path that follow, no NUL */
	/* char path[path_len]; from the process's own root, a container's in one; "[vdso]", "" anon */
};

/*
 * What the daemon found out about one mapped file; sent once per (device,
 * inode, generation, size, mtime) and session.  file is the handle for
 * GET_OBJECT.
 */
#define VMPROF_FILE_NO_ACCESS	(1U << 0)	/* could not be opened: no build-id but
						   what the guest's kernel told of it */
#define VMPROF_FILE_CHANGED	(1U << 1)	/* another file lies at the path now */
#define VMPROF_FILE_FLEETING	(1U << 2)	/* its path leads to it in no root but that of processes which have it
						   mapped: it can be had as long as one of them lives */

struct vmprof_file {
	__le32 file;		/* >= 1 */
	__le32 flags;
	__le64 ino;
	__le32 dev_major;
	__le32 dev_minor;
	__le32 ino_generation;
	__le32 build_id_len;	/* 0 none, <= VMPROF_BUILD_ID_MAX */
	__le64 bytes;		/* size of the file */
	__le64 mtime_ns;
	__u8   build_id[VMPROF_BUILD_ID_MAX];
	__le32 path_len;
	__le32 reserved;
	/* char path[path_len]; behind it, but for earlier packages, __le64 since_tsc: the first mapping of
	   which all this is told, where the file was another one before; 0 it is told of all */
};

/* Causes of loss in the guest; count since HELLO (not since the last LOST) */
enum {
	VMPROF_GLOST_RING	= 0,	/* module's ring was full */
	VMPROF_GLOST_MAPS	= 1,	/* an mm was busy, or had too many: list of maps of an exit or exec, or of a
					   process in a snapshot, not read, or not to its end; what was mapped after
					   START the module told as a MAP, too */
	VMPROF_GLOST_PATH	= 2,	/* a path was longer than the limit: cut */
	VMPROF_GLOST_PROTO	= 3,	/* frames from the host that made no sense */
	VMPROF_GLOST_MISSED	= 4,	/* a probe was hit where it could not run */
	VMPROF_GLOST_FILES	= 5,	/* table of files was full: no FILE sent */
	VMPROF_GLOST_JIT	= 6,	/* JIT maps that were not sent, or not to their end */
	VMPROF_GLOST_STUCK	= 7,	/* reads of files that were given up: they took too long */
	VMPROF_GLOST_NR		= 8,
};

struct vmprof_agent_lost {
	__le64 tsc;		/* when it was counted; without the module, as soon as events were
				   lost: up to when none was */
	__le64 count[VMPROF_GLOST_NR];
};

/*
 * A piece of the guest's kernel symbols: text as in /proc/kallsyms, text
 * symbols (t T w W) only, sorted by address, each line
 *   "address type name[\t[module][\tbytes]]\n"
 * with the symbol's length, hexadecimal, where the agent knows it: of code that the
 * kernel made (modules bpf and __builtin__*), beside which lies code without symbols.
 * Made code comes and goes; agents of version 6 on put it behind everything else.
 * A line may span two pieces.  total is the same in all of them.  Modules that
 * come or go while the session runs make the agent send all of it again.
 * A first piece whose offset is START's kept.bytes stands for what the host has kept, and
 * follows it; where nothing follows, it has no text and its offset is the total.  Any other first
 * piece begins at 0.
 */
struct vmprof_ksyms {
	__le64 offset;
	__le64 total;
	/* char text[frame.len - sizeof] */
};

/*
 * Kernel modules came or went: the KSYMS before this were true up to since_tsc for certain, those that
 * follow, from a first piece on, are from tsc on.
 */
struct vmprof_modules {
	__le64 tsc;
	__le64 since_tsc;
};

/*
 * Names of code that a program made while it runs, from /tmp/perf-PID.map as the
 * program's root and PID namespace have it: whole lines
 *   "start size name\n", both numbers hexadecimal;
 * or the same made of a jitdump file.  A later line holds where it overlaps
 * earlier ones.  tsc is that of a MAP of the program, of code that lies in no
 * file or of the jitdump file: with tgid it tells which program of which process.
 * The lines were not there yet at tsc + (after << VMPROF_JITMAP_AFTER_SHIFT): an
 * earlier line at the same address holds up to then.  0: they may have been there from the beginning on.
 * A host that says version 1 is sent none: it would give no credit for them.
 */
#define VMPROF_JITMAP_AFTER_SHIFT	20

struct vmprof_jitmap {
	__le64 tsc;
	__le32 tgid;
	__le32 after;
	/* char text[frame.len - sizeof] */
};

/* vmprof_task_layout.lack: why the host cannot look which task runs */
enum {
	VMPROF_TASKS_LACK_NONE	= 0,	/* it can */
	VMPROF_TASKS_LACK_ENCRYPTED = 1,	/* the guest's memory is encrypted */
	VMPROF_TASKS_LACK_LOST	= 2,	/* the module did not tell: no memory, or its ring was
					   full.  To hosts of version 5 on */
	VMPROF_TASKS_LACK_NR
};

/* A CPU of the guest */
struct vmprof_task_cpu {
	__le32 apic_id;		/* which is KVM's number of the vCPU */
	__le32 reserved;
	__le64 current_gpa;	/* of the pointer to the task_struct that runs on it */
};

/*
 * Where the guest's kernel keeps the task that runs on each CPU: for the host to
 * look there at a sample.  Sent when tracing starts, and again when a CPU has come
 * up that the last one did not hold.  With a lack, the rest is 0.
 */
struct vmprof_task_layout {
	__le64 tsc;
	__le64 linear_base;	/* gva of the kernel's map of all memory: gpa = gva - linear_base */
	__le64 linear_bytes;
	__le64 init_task;	/* gva of the one task_struct outside of it ... */
	__le64 init_task_gpa;	/* ... and its gpa */
	__le32 flags_offset;	/* in task_struct: flags, pid, tgid, comm */
	__le32 pid_offset;
	__le32 tgid_offset;
	__le32 comm_offset;
	__le32 kthread_flag;	/* bit of flags: a kernel thread */
	__le32 lack;		/* VMPROF_TASKS_LACK_* */
	__le32 nr_cpus;
	__le32 reserved;
	/* struct vmprof_task_cpu cpu[nr_cpus]; */
};

/* A piece of a file.  status 0, or a positive errno of the guest's open or
   read, then no data follow; ENOEXEC: it is no ELF file, or one of another build-id. */
struct vmprof_object {
	__le32 file;
	__le32 status;
	__le64 offset;
	__le64 total;		/* size of the file (of the debug file) */
	/* __u8 data[frame.len - sizeof] */
};

_Static_assert(sizeof(struct vmprof_frame) == 24, "proto size");
_Static_assert(sizeof(struct vmprof_host_hello) == 24, "proto size");
_Static_assert(sizeof(struct vmprof_token) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_kept) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_credit) == 8, "proto size");
_Static_assert(sizeof(struct vmprof_get_object) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_hello) == 56, "proto size");
_Static_assert(sizeof(struct vmprof_proc) == 56, "proto size");
_Static_assert(sizeof(struct vmprof_place) == 8, "proto size");
_Static_assert(sizeof(struct vmprof_map) == 72, "proto size");
_Static_assert(sizeof(struct vmprof_file) == 88, "proto size");
_Static_assert(sizeof(struct vmprof_agent_lost) == 72, "proto size");
_Static_assert(sizeof(struct vmprof_ksyms) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_modules) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_jitmap) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_task_cpu) == 16, "proto size");
_Static_assert(sizeof(struct vmprof_task_layout) == 72, "proto size");
_Static_assert(sizeof(struct vmprof_object) == 24, "proto size");
#endif /* VMPROF_AGENT_PROTO_H */
