/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * uapi.h - contract between vmprof.ko and its reader: /dev/vmprof.
 *
 * Model
 *   One open file is one session.  At most one session runs at a time on a
 *   host; opening is allowed to anyone who may open the device (root), START
 *   of a second session gives -EBUSY.
 *
 *     open -> QUERY -> CONFIG -> mmap rings -> START -> poll/drain -> STOP
 *          -> drain the rest -> close
 *
 *   Closing the file, or the death of its owner, stops sampling and frees
 *   everything.  The module cannot be unloaded while a file is open.
 *
 * Rings
 *   One ring per possible pCPU.  A ring is three things, mapped by offset:
 *
 *     VMPROF_MMAP_CONSUMER(cpu)  one page, read-write: struct vmprof_consumer
 *     VMPROF_MMAP_PRODUCER(cpu)  one page, read-only:  struct vmprof_producer
 *     VMPROF_MMAP_DATA(cpu)      ring_bytes, read-only: records
 *
 *   The three must be mapped one by one with exactly these lengths.  head and
 *   tail count bytes since START and never wrap; the place in the data is
 *   position & (ring_bytes - 1).  A record never crosses the end of the data:
 *   a VMPROF_REC_PAD fills what is left.
 *
 *     NMI (producer)                        reader (consumer)
 *       tail = load_acquire(tail)   <----     store_release(tail)
 *       write record                          read records
 *       store_release(head)         ---->     head = load_acquire(head)
 *
 *   A full ring drops the record and counts it in lost[VMPROF_LOST_FULL]; the
 *   next record that fits is preceded by a VMPROF_REC_LOST.  Sampling never
 *   stops for a store.
 *
 *   The producer page is the buffer management block of the papers (Buffer ID,
 *   CPUID, IntCount, Write_pointer, Start_Tsc, End_Tsc) with losses by cause.
 *
 * Versions
 *   VMPROF_UAPI_VERSION changes with every addition; a reader works with a
 *   driver when  reader.version >= driver.compat  and  driver.version >=
 *   reader's own VMPROF_UAPI_COMPAT.  Reserved fields are zero, and rejected
 *   with -EINVAL where they are not.  Readers skip record types unknown to
 *   them by their size.
 */
#ifndef VMPROF_UAPI_H
#define VMPROF_UAPI_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define VMPROF_UAPI_VERSION	1
#define VMPROF_UAPI_COMPAT	1
#define VMPROF_DEVICE		"/dev/vmprof"

/* ------------------------------------------------------------------ query */

/* vmprof_query.vendor: whose virtualisation KVM uses here */
enum {
	VMPROF_VENDOR_NONE	= 0,	/* neither kvm_amd nor kvm_intel */
	VMPROF_VENDOR_SVM	= 1,
	VMPROF_VENDOR_VMX	= 2,
};

/* vmprof_query.features */
#define VMPROF_FEAT_PMU		(1ULL << 0)	/* cycles counter overflows by NMI */
#define VMPROF_FEAT_TIMER	(1ULL << 1)	/* cpu-clock trigger */
#define VMPROF_FEAT_LBR		(1ULL << 2)	/* last branch records */
#define VMPROF_FEAT_STEAL	(1ULL << 3)	/* runnable vCPUs are tracked */
#define VMPROF_FEAT_MEDIATED	(1ULL << 4)	/* KVM's mediated vPMU is on */

struct vmprof_query {
	__u32 version;		/* VMPROF_UAPI_VERSION of the driver */
	__u32 compat;		/* oldest reader version that it serves */
	__u64 features;		/* VMPROF_FEAT_* */
	__u32 vendor;		/* VMPROF_VENDOR_* */
	__u32 nr_cpus;		/* possible pCPUs = number of rings */
	__u32 tsc_khz;
	__u32 page_size;	/* of the consumer and producer pages */
	__u64 reserved[4];
};

/* ----------------------------------------------------------------- config */

#define VMPROF_MAX_VMS		256
#define VMPROF_RING_MIN		(1U << 12)
#define VMPROF_RING_MAX		(1U << 28)
#define VMPROF_PERIOD_MIN	1000ULL		/* events, or ns for the timer */

/* vmprof_config.flags */
#define VMPROF_CFG_ALL		(1U << 0)	/* every VM; vms is ignored */
#define VMPROF_CFG_TIMER	(1U << 1)	/* cpu-clock; period in ns */

struct vmprof_config {
	__u32 size;		/* sizeof(struct vmprof_config) */
	__u32 flags;		/* VMPROF_CFG_* */
	__u32 event_type;	/* perf_event_attr.type; ignored for the timer */
	__u32 reserved0;
	__u64 event_config;	/* perf_event_attr.config */
	__u64 event_config1;
	__u64 event_config2;
	__u64 period;		/* events between samples, or ns for the timer */
	__u32 ring_bytes;	/* per pCPU, a power of two */
	__u32 wake_bytes;	/* poll() wakes when so much waits; 0: half a ring */
	__u32 nr_vms;		/* <= VMPROF_MAX_VMS */
	__u32 reserved1;
	__u64 vms;		/* user pointer to __u32[nr_vms]: QEMU tgids, in the
				   caller's pid namespace, which must be the initial one */
	__u64 reserved[8];
};

/* ------------------------------------------------------------------ stats */

/* Causes of loss; vmprof_producer.lost[] and vmprof_rec_lost.count[] */
enum {
	VMPROF_LOST_FULL	= 0,	/* ring full: the reader was too slow */
	VMPROF_LOST_NESTED	= 1,	/* overflow inside a record being written */
	VMPROF_LOST_STATE	= 2,	/* vCPU's guest state could not be read */
	VMPROF_LOST_THROTTLED	= 3,	/* perf throttled the event: count/period minus
					   overflows seen, known at STOP; the count is
					   that of a counter which goes on (cycles,
					   instructions), else the event's own */
	VMPROF_LOST_NR		= 8,
};

/* One pCPU's totals since START; valid after STOP too */
struct vmprof_cpu_stats {
	__u32 cpu;		/* in */
	__u32 online;		/* the counter is (was) armed on this pCPU */
	__u64 interrupts;	/* overflows that reached the sampler */
	__u64 filtered;		/* of them: not of a chosen VM's business */
	__u64 records;		/* records committed, pads not counted */
	__u64 event_count;	/* total of the sampling event */
	__u64 cycles;		/* total of the cycles counter, 0 if not counted */
	__u64 instructions;	/* total of the instructions counter, likewise */
	__u64 lost[VMPROF_LOST_NR];
	__u64 reserved[4];
};

/* ----------------------------------------------------------------- ioctls */

#define VMPROF_IOC_MAGIC	0xB7
/* Any time. */
#define VMPROF_IOC_QUERY	_IOR(VMPROF_IOC_MAGIC, 0, struct vmprof_query)
/* Once, before START.  -EINVAL bad field, -ENOMEM, -EOPNOTSUPP no such
   trigger here, -EBUSY configured before. */
#define VMPROF_IOC_CONFIG	_IOW(VMPROF_IOC_MAGIC, 1, struct vmprof_config)
/* -EBUSY: another session runs, or a counter is taken; -EOPNOTSUPP: mediated
   vPMU; -ENODEV: no KVM state can be read on this kernel. */
#define VMPROF_IOC_START	_IO(VMPROF_IOC_MAGIC, 2)
/* When it returns no record is being written.  May be repeated. */
#define VMPROF_IOC_STOP		_IO(VMPROF_IOC_MAGIC, 3)
#define VMPROF_IOC_STATS	_IOWR(VMPROF_IOC_MAGIC, 4, struct vmprof_cpu_stats)

/* ------------------------------------------------------------------- mmap */

#define VMPROF_MMAP_CPU_SHIFT	32
#define VMPROF_MMAP_CONSUMER(cpu)	(((__u64)(cpu) << VMPROF_MMAP_CPU_SHIFT) + 0x00000000ULL)
#define VMPROF_MMAP_PRODUCER(cpu)	(((__u64)(cpu) << VMPROF_MMAP_CPU_SHIFT) + 0x10000000ULL)
#define VMPROF_MMAP_DATA(cpu)		(((__u64)(cpu) << VMPROF_MMAP_CPU_SHIFT) + 0x20000000ULL)

struct vmprof_consumer {
	__u64 tail;		/* bytes consumed; a tail past head, or more than
				   ring_bytes behind it, counts as a full ring */
};

#define VMPROF_RING_ID		0x31474e4952504d56ULL	/* "VMPRING1" */

struct vmprof_producer {
	__u64 ring_id;		/* VMPROF_RING_ID       (Buffer ID) */
	__u64 cpu;		/* pCPU                 (CPUID) */
	__u64 interrupts;	/* overflows            (IntCount) */
	__u64 head;		/* bytes written        (Write_pointer) */
	__u64 start_tsc;	/* first START          (Start_Tsc) */
	__u64 end_tsc;		/* STOP; 0 while it runs (End_Tsc) */
	__u64 filtered;
	__u64 records;
	__u64 lost[VMPROF_LOST_NR];
};

/* ---------------------------------------------------------------- records */

enum vmprof_record_type {
	VMPROF_REC_PAD		= 0,	/* skip */
	VMPROF_REC_SAMPLE	= 1,	/* struct vmprof_sample */
	VMPROF_REC_LOST		= 2,	/* struct vmprof_rec_lost */
	VMPROF_REC_CLOCK	= 3,	/* struct vmprof_rec_clock */
};

struct vmprof_record {
	__u16 type;		/* enum vmprof_record_type */
	__u16 size;		/* whole record in bytes, multiple of 8 */
	__u32 pcpu;
};

/* vmprof_sample.mode: what the pCPU was doing, decided by the event that
   overflowed (there is one for each side), else by exit reason and interrupt
   info, never by "a vCPU is loaded" alone */
enum vmprof_mode {
	VMPROF_MODE_GUEST	= 0,	/* guest code of the VM ran */
	VMPROF_MODE_VMM_KERNEL	= 1,	/* a task of the VM's QEMU, in the host kernel (KVM) */
	VMPROF_MODE_VMM_USER	= 2,	/* a task of the VM's QEMU, in user space */
	VMPROF_MODE_OTHER_KERNEL = 3,	/* any other task, in the host kernel */
	VMPROF_MODE_OTHER_USER	= 4,	/* any other task, in user space */
	VMPROF_MODE_IDLE	= 5,	/* the pCPU's idle task */
};

/* vmprof_sample.flags */
#define VMPROF_SF_VCPU		(1U << 0)	/* a vCPU is loaded: vcpu, guest_*,
						   exit_* are of it */
#define VMPROF_SF_COUNTS	(1U << 1)	/* cycles, instructions are valid */
#define VMPROF_SF_STEAL		(1U << 2)	/* a chosen vCPU (vm, vcpu_tid) was
						   runnable on this pCPU while this
						   other task ran; if that was another
						   chosen VM, a second record of the
						   overflow holds that VM's sample */
#define VMPROF_SF_NESTED	(1U << 3)	/* the guest itself ran a nested guest:
						   guest_* are the nested guest's */
#define VMPROF_SF_LONG_MODE	(1U << 4)	/* guest in 64-bit long mode */
#define VMPROF_SF_TIMER		(1U << 5)	/* taken by the timer trigger */
#define VMPROF_SF_IRQ_NMI	(1U << 6)	/* the trigger arrived as an NMI */

/*
 * One sample: the papers' table 1 and more.  All addresses are as the CPU had
 * them.  Unknown values are 0.
 */
struct vmprof_sample {
	struct vmprof_record hdr;
	__u64 tsc;		/* host TSC at the overflow */
	__u64 host_ip;		/* Host_IP: interrupted host address */
	__u64 host_return_ip[2];/* Host_Return_IP1, 2: callers of host_ip */
	__u32 host_pid;		/* tgid of the host's current task */
	__u32 host_tid;		/* thread of it */
	__u32 vm;		/* the VM: its QEMU's tgid; 0 none.  With
				   VMPROF_SF_STEAL: the VM that waits */
	__u32 vcpu_tid;		/* vCPU's host thread, with VCPU or STEAL */
	__u32 vcpu;		/* vCPU id as in KVM, with VCPU (vPROCESSOR_ID) */
	__u32 flags;		/* VMPROF_SF_* */
	__u8  mode;		/* enum vmprof_mode */
	__u8  cpl;		/* guest CPL, with VCPU */
	__u8  vendor;		/* VMPROF_VENDOR_*: the encoding of exit_* */
	__u8  reserved0;
	__u32 reserved1;
	__u64 guest_ip;		/* linear address: CS base is added when it is not 0 */
	__u64 guest_cr3;	/* raw, with PCID bits */
	__u64 exit_reason;	/* SVM: EXITCODE; VMX: full exit reason field */
	__u64 exit_intr_info;	/* SVM: EXITINTINFO; VMX: VM-exit interruption info */
	__u64 exit_info1;	/* SVM: EXITINFO1; VMX: exit qualification */
	__u64 exit_info2;	/* SVM: EXITINFO2; VMX: guest-physical address */
	__u64 cycles;		/* since this pCPU's last overflow */
	__u64 instructions;	/* since this pCPU's last overflow */
};

/* Losses since the last LOST record of this ring */
struct vmprof_rec_lost {
	struct vmprof_record hdr;
	__u64 tsc;
	__u64 count[VMPROF_LOST_NR];
};

/*
 * A vCPU's clock, written when the sampler first sees the vCPU on a pCPU and
 * whenever offset or ratio differ from what it last wrote there:
 *   guest_tsc = ((host_tsc * ratio) >> frac_bits) + offset
 * ratio 0 means 1:1.
 */
struct vmprof_rec_clock {
	struct vmprof_record hdr;
	__u64 tsc;
	__u32 vm;
	__u32 vcpu;
	__u32 vcpu_tid;
	__u32 frac_bits;
	__s64 tsc_offset;
	__u64 tsc_ratio;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct vmprof_query) == 64, "uapi size");
_Static_assert(sizeof(struct vmprof_config) == 136, "uapi size");
_Static_assert(sizeof(struct vmprof_cpu_stats) == 152, "uapi size");
_Static_assert(sizeof(struct vmprof_producer) == 128, "uapi size");
_Static_assert(sizeof(struct vmprof_record) == 8, "uapi size");
_Static_assert(sizeof(struct vmprof_sample) == 136, "uapi size");
_Static_assert(sizeof(struct vmprof_rec_lost) == 80, "uapi size");
_Static_assert(sizeof(struct vmprof_rec_clock) == 48, "uapi size");
_Static_assert(__builtin_offsetof(struct vmprof_sample, guest_ip) == 72, "uapi offset");
_Static_assert(__builtin_offsetof(struct vmprof_producer, lost) == 64, "uapi offset");
#endif

#endif /* VMPROF_UAPI_H */
