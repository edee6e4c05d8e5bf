/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * capture.h - the capture file, NAME.vmprof.
 *
 * Layout (little-endian)
 *
 *     struct vmprof_cap_header            64 bytes, once
 *     block, block, ...                   appended as they come
 *     INDEX block                         last; only in a file closed properly
 *
 *   A block is a struct vmprof_cap_block followed by stored_bytes of payload
 *   and padding to 8 bytes.  The payload is raw or packed, as flags say.  A reader
 *   goes from block to block; it stops at the end of the file, at a block
 *   whose header or payload checksum is wrong, or at one that the file is too
 *   short for, and says how many bytes it left.  The index only saves time:
 *   it can be rebuilt by walking.  So a file cut at any byte is readable up
 *   to the last whole block.
 *
 *   Unknown block types are skipped.  Every block names its source: what the
 *   payload is about (a pCPU, a VM, a host process).
 *
 * Limits
 *   raw_bytes <= VMPROF_CAP_RAW_MAX; a larger one is an error of the file.
 */
#ifndef VMPROF_CAPTURE_H
#define VMPROF_CAPTURE_H

#include <linux/types.h>

#define VMPROF_CAP_MAGIC	0x0a1a0d464f52504dULL	/* "MPROF\r\x1a\n" */
#define VMPROF_CAP_VERSION	3	/* 2: instructions sampled beside the event; 3: WORDS */
#define VMPROF_CAP_COMPAT	3	/* oldest reader that understands the file */
#define VMPROF_CAP_RAW_MAX	(64U << 20)
#define VMPROF_CAP_SUFFIX	".vmprof"

struct vmprof_cap_header {
	__le64 magic;
	__le32 version;
	__le32 compat;
	__u8   session[16];	/* random, names the session */
	__le64 realtime_ns;	/* host wall clock ... */
	__le64 tsc;		/* ... at this host TSC */
	__le32 tsc_khz;
	__le32 header_bytes;	/* sizeof(struct vmprof_cap_header) */
	__le32 crc;		/* CRC-32C of the header with crc 0 */
	__le32 reserved;
};

#define VMPROF_CAP_BLOCK_MAGIC	0x4b4c4256U	/* "VBLK" */

/* vmprof_cap_block.flags */
#define VMPROF_CAP_ZSTD		(1U << 0)	/* one zstd frame */
#define VMPROF_CAP_SAMPLES	(1U << 1)	/* RECORDS: whole struct vmprof_samples of
						   this version's size, their struct
						   vmprof_rec_lbrs, and nothing else, so a
						   search for others may skip the block */
/*
 * RECORDS, instead of ZSTD: each record as its distance from the last one before it in the block
 * whose type is the same modulo 8 (the "kind"), in words of 8 bytes.
 *   1 byte   the kind, where that one has the same header; else 0xff, and the header follows, and
 *            the distance is from zeros
 *   n bytes  a bit for each word behind the header, lowest first: does it differ?
 *   then, for each word that does: its distance d, as (d << 1) ^ -(d >> 63), in groups of 7 bits,
 *            lowest first, with bit 7 set in all bytes but the last
 */
#define VMPROF_CAP_WORDS	(1U << 2)

struct vmprof_cap_block {
	__le32 magic;
	__le16 type;		/* enum vmprof_cap_type */
	__le16 flags;
	__le32 source;		/* by type, see below */
	__le32 raw_bytes;	/* payload once unpacked */
	__le32 stored_bytes;	/* payload as stored, padding not counted */
	__le32 payload_crc;	/* CRC-32C of the stored payload */
	__le64 tsc_first;	/* host TSC range of what is inside, 0 unknown */
	__le64 tsc_last;
	__le32 reserved;
	__le32 crc;		/* CRC-32C of this header with crc 0 */
};

enum vmprof_cap_type {
	/*
	 * JSON object, source 0, first block.  Keys: "host", "release", "vendor",
	 * "event", "period", "trigger" ("pmc" or "timer"), "command", "version",
	 * "cpus"; "random": true where periods were drawn with the mean "period";
	 * "instruction_period" where instructions were sampled beside cycles;
	 * "lbr" where branches were recorded: {"branches": [...], "format": ...}, with
	 * the words "kernel", "user", "cond", "call-rel", "call-ind", "ret", "jump-ind",
	 * "jump-rel", "far", and "from-to", "from", "to" or "from-to-cycles".
	 */
	VMPROF_CAP_META		= 1,
	/* JSON object about one VM, source = VM id (QEMU's tgid).  Keys: "name",
	   "uuid", "pid", "vcpus": [{"id","tid"}], "ram": [{"gpa","size","hva"}],
	   "clock_source" ("qmp", "debugfs", "driver"), "agent" (bool), "tasks": whether the
	   driver looks which of the guest's tasks runs ("on"), or why not ("not-told",
	   "old-agent", "no-module", "lost-in-guest", "not-kept", "old-module",
	   "no-query-vmprof", "encrypted", "no-sense"). */
	VMPROF_CAP_VM		= 2,
	/* struct vmprof_record stream of uapi.h, pads removed; source = pCPU.  A sample
	   and its branches (REC_LBR) are in the same block */
	VMPROF_CAP_RECORDS	= 3,
	/* struct vmprof_frame + payload, one after the other, checked by the
	   collector, in order of arrival; source = VM id.  OBJECT frames are not
	   kept here (objects go to the cache). */
	VMPROF_CAP_AGENT	= 4,
	/* struct vmprof_cap_clock array; source = VM id */
	VMPROF_CAP_CLOCK	= 5,
	/* text as /proc/PID/maps of a host process; source = its tgid */
	VMPROF_CAP_HOST_MAPS	= 6,
	/* text as /proc/kallsyms of the host (text symbols); source 0 */
	VMPROF_CAP_HOST_KSYMS	= 7,
	/* text, a line for each host task seen: "tgid tid comm\n"; source 0 */
	VMPROF_CAP_HOST_COMMS	= 8,
	/* struct vmprof_cap_totals; source = pCPU */
	VMPROF_CAP_TOTALS	= 9,
	/* JSON object, at stop: counts of what the collector itself saw or lost:
	   per VM "agent_frames", "agent_bad_bytes", "agent_bad_frames",
	   "agent_seq_gaps", "agent_lost": [...]; "collector": {...}; source 0 */
	VMPROF_CAP_SUMMARY	= 10,
	/* struct vmprof_cap_index_entry array; last block; source 0 */
	VMPROF_CAP_INDEX	= 11,
	/* JSON object {"objects": [{"build_id","path","bytes","vm"}], "kernel": ...}: what is
	   in the object cache for this capture; source = VM id, 0 the host.  "kernel", where
	   the kernel's branches were recorded: the copy of its code, as it was in memory when
	   sampling had ended, {"path","boot_id","bytes","missing_bytes"}, or {"why"} there is none.
	   The copy is an ELF core file: PT_LOAD segments at the kernel's addresses, without
	   symbols; its name is the hash of its content.  boot_id (the guest's, as its agent says
	   HELLO with; zeros for the host's) is in hexadecimal digits; missing_bytes are of
	   modules, and not in it */
	VMPROF_CAP_OBJECTS	= 12,
	/* text, a line for each file that a host process had mapped executable, as HOST_MAPS
	   has its path: "build-id path\n", the build-id in hexadecimal digits; source = its tgid.
	   The file may be another one when the capture is read */
	VMPROF_CAP_HOST_BUILD_IDS = 13,
};

/*
 * Guest clock of one vCPU, measured at one moment:
 *   guest_tsc = ((host_tsc * ratio) >> frac_bits) + offset
 * ratio 0 means 1:1.  error_tsc bounds |true - computed| in host ticks.
 */
struct vmprof_cap_clock {
	__le64 host_tsc;
	__le64 offset;		/* two's complement */
	__le64 ratio;
	__le32 vcpu;
	__le32 frac_bits;
	__le64 error_tsc;
};

/* One pCPU's totals at stop; the fields of struct vmprof_cpu_stats */
struct vmprof_cap_totals {
	__le32 cpu;
	__le32 online;
	__le64 interrupts;
	__le64 filtered;
	__le64 records;
	__le64 event_count;
	__le64 cycles;
	__le64 instructions;
	__le64 lost[8];		/* VMPROF_LOST_* */
	__le64 start_tsc;
	__le64 end_tsc;
	/* since version 2; a shorter block has 0 */
	__le64 instruction_interrupts;
	__le64 instruction_count;
};

struct vmprof_cap_index_entry {
	__le64 offset;		/* of the block header in the file */
	__le16 type;
	__le16 flags;
	__le32 source;
	__le64 tsc_first;
	__le64 tsc_last;
};

_Static_assert(sizeof(struct vmprof_cap_header) == 64, "capture size");
_Static_assert(sizeof(struct vmprof_cap_block) == 48, "capture size");
_Static_assert(sizeof(struct vmprof_cap_clock) == 40, "capture size");
_Static_assert(sizeof(struct vmprof_cap_totals) == 152, "capture size");
_Static_assert(sizeof(struct vmprof_cap_index_entry) == 32, "capture size");
#endif /* VMPROF_CAPTURE_H */
