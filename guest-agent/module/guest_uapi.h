/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * guest_uapi.h - /dev/vmprof_guest: what vmprof_guest.ko and vmprof-agent say to each other.
 *
 * Both ends come from one package; the version is checked all the same.
 *
 * One process opens the device at a time.  read() gives whole records, as many
 * as fit, each a struct vmpg_record and a payload padded to 8 bytes; the
 * payload is that of include/vmprof/agent_proto.h, ready to be sent.  poll()
 * says when they are to be read: at once where the reader has something to look at
 * before it is gone, or a quarter of the ring is used; else VMPG_LATE_MS after the
 * first of them was written.  Records come in the order of their TSC, over all
 * CPUs: the TSC is read under the lock that gives the record its place.
 *
 *   QUERY     what the module is and what the machine is like
 *   START     events from now on go into the ring
 *   SNAPSHOT  begin to put SNAP_BEGIN, every process with its maps, and
 *             SNAP_END into the ring, between the events; returns at once.
 *             It waits for the reader where the ring is half full, so that it
 *             loses nothing and leaves room for events; only a process whose
 *             mappings stay locked goes without them (VMPROF_GLOST_MAPS).  -EBUSY: one is being
 *             made, -EINVAL: not started
 *   STOP      no more events; what is in the ring can still be read.  A
 *             snapshot that is not finished is given up
 *   LOST      loss by cause since the device was opened
 *   SYMBOL    how long the kernel's symbol is that begins at an address, which
 *             /proc/kallsyms does not tell; -ENOENT: none begins there.  Modules of
 *             earlier packages do not know it (-ENOTTY)
 *   MODULES   how often modules came, or were about to go, since this one is here; what
 *             /proc/modules tells follows within moments.  -ENOTTY as above
 *   MADE      how often the kernel made code or gave it up (BPF programs, trampolines) while something
 *             was started.  -EOPNOTSUPP: this kernel does not tell; -ENOTTY as above
 *
 * close() stops and frees everything; the module can then be unloaded.
 */
#ifndef VMPROF_GUEST_UAPI_H
#define VMPROF_GUEST_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <vmprof/agent_proto.h>

#define VMPG_DEVICE_NAME	"vmprof_guest"
#define VMPG_UAPI_VERSION	1

/* vmpg_query.flags */
#define VMPG_QUERY_PTI		(1U << 0)	/* page-table isolation is on */
#define VMPG_QUERY_LA57		(1U << 1)	/* 5-level paging is on */

struct vmpg_query {
	__u32 version;		/* VMPG_UAPI_VERSION of the module */
	__u32 flags;		/* VMPG_QUERY_* */
	__u32 nr_cpus;		/* online */
	__u32 tsc_khz;
	__u64 tsc;		/* read together with realtime_ns */
	__u64 realtime_ns;
	__u32 ring_bytes;
	__u32 reserved;
};

struct vmpg_lost {
	__u64 count[VMPROF_GLOST_NR];
};

struct vmpg_symbol {
	__u64 address;
	__u64 bytes;		/* filled */
};

/* One record of read(); the payload follows, padded to 8 bytes */
struct vmpg_record {
	__u32 len;		/* of the payload, without padding; <= VMPROF_FRAME_MAX */
	__u16 type;		/* enum vmprof_msg */
	__u16 flags;		/* VMPG_RECORD_* */
};

/* vmpg_record.flags */
#define VMPG_RECORD_TOLD	(1U << 0)	/* records before told of the files behind its mappings, which were not written since */
#define VMPG_RECORD_FRESH	(1U << 1)	/* ... of one of them none did, or it was */

#define VMPG_LATE_MS		500

#define VMPG_IOC_QUERY		_IOR('V', 0x40, struct vmpg_query)
#define VMPG_IOC_START		_IO('V', 0x41)
#define VMPG_IOC_STOP		_IO('V', 0x42)
#define VMPG_IOC_SNAPSHOT	_IOW('V', 0x43, __u64)	/* token of SNAP_BEGIN and SNAP_END */
#define VMPG_IOC_LOST		_IOR('V', 0x44, struct vmpg_lost)
#define VMPG_IOC_SYMBOL		_IOWR('V', 0x45, struct vmpg_symbol)
#define VMPG_IOC_MODULES	_IOR('V', 0x46, __u64)
#define VMPG_IOC_MADE		_IOR('V', 0x47, __u64)

_Static_assert(sizeof(struct vmpg_query) == 40, "uapi size");
_Static_assert(sizeof(struct vmpg_lost) == 64, "uapi size");
_Static_assert(sizeof(struct vmpg_symbol) == 16, "uapi size");
_Static_assert(sizeof(struct vmpg_record) == 8, "uapi size");
#endif /* VMPROF_GUEST_UAPI_H */
