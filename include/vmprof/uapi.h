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
 *   The producer page is the buffer management block of the paper that vmprof
 *   began with ([1] of DESIGN.md, "Sources"; its names in brackets: Buffer ID,
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

#define VMPROF_UAPI_VERSION	8	/* 2: instruction_period, REC_INSTRUCTIONS,
					   guest_* with SF_STEAL; 3: lbr_*, REC_LBR;
					   4: TASKS, guest_task, guest_tid, REC_TASK;
					   5: guest_lack; 6: CFG_RANDOM;
					   7: EXIT_ENTRY; 8: ADD_VM */
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
#define VMPROF_FEAT_LBR		(1ULL << 2)	/* last branch records can be had */
#define VMPROF_FEAT_STEAL	(1ULL << 3)	/* runnable vCPUs are tracked */
#define VMPROF_FEAT_MEDIATED	(1ULL << 4)	/* KVM's mediated vPMU is on */
#define VMPROF_FEAT_LBR_CYCLES	(1ULL << 5)	/* they carry cycles */

/* vmprof_query.lbr_lack: why last branch records cannot be had */
enum {
	VMPROF_LBR_LACK_NONE	= 0,	/* they can: VMPROF_FEAT_LBR */
	VMPROF_LBR_LACK_CPU	= 1,	/* the processor records no branches, or in a way that
					   vmprof does not know (AMD: LbrExtV2; Intel: perfmon
					   version 4) */
	VMPROF_LBR_LACK_FREEZE	= 2,	/* ... or does not stop at a counter's interrupt */
	VMPROF_LBR_LACK_KVM	= 3,	/* no KVM, or its entries and exits cannot be followed */
	VMPROF_LBR_LACK_PERF	= 4,	/* this kernel's perf gives no such event */
};

/* vmprof_query.guest_lack: why no guest's state can be read, and START says -ENODEV */
enum {
	VMPROF_GUEST_LACK_NONE	= 0,	/* it can, or (before version 5) that is not told */
	VMPROF_GUEST_LACK_KVM	= 1,	/* neither kvm_amd nor kvm_intel is loaded */
	VMPROF_GUEST_LACK_SYMBOL = 2,	/* the kernel does not say which vCPU runs */
	VMPROF_GUEST_LACK_LAYOUT = 3,	/* KVM's state is not where this module was built to find it */
};

struct vmprof_query {
	__u32 version;		/* VMPROF_UAPI_VERSION of the driver */
	__u32 compat;		/* oldest reader version that it serves */
	__u64 features;		/* VMPROF_FEAT_* */
	__u32 vendor;		/* VMPROF_VENDOR_* */
	__u32 nr_cpus;		/* one more than the highest number of a possible
				   pCPU; of a number below it that no pCPU can have,
				   STATS and mmap say -EINVAL */
	__u32 tsc_khz;
	__u32 page_size;	/* of the consumer and producer pages */
	__u32 lbr_lack;		/* VMPROF_LBR_LACK_* */
	__u32 lbr_entries;	/* branches that the processor holds; 0: none can be had */
	__u32 guest_lack;	/* VMPROF_GUEST_LACK_* */
	__u32 reserved0;
	__u64 reserved[2];
};

/* ----------------------------------------------------------------- config */

#define VMPROF_MAX_VMS		256
#define VMPROF_RING_MIN		(1U << 12)
#define VMPROF_RING_MAX		(1U << 28)
#define VMPROF_PERIOD_MIN	1000ULL		/* events, or ns for the timer */
#define VMPROF_PERIOD_RANDOM_MAX	(1ULL << 56)	/* with VMPROF_CFG_RANDOM */

/* vmprof_config.flags */
#define VMPROF_CFG_ALL		(1U << 0)	/* every VM; vms is ignored */
#define VMPROF_CFG_TIMER	(1U << 1)	/* cpu-clock; period in ns */
#define VMPROF_CFG_RANDOM	(1U << 2)	/* each period is drawn from an exponential
						   distribution with the mean period (or
						   instruction_period), from the third on: an
						   overflow is as likely at each event.  Not
						   with the timer */

/* vmprof_config.lbr_branches and vmprof_rec_lbr.branches: what the processor's last
   branch record takes in.  The bits are those of LBR_SELECT, inverted (AMD64 APM
   volume 2, 13.2.2 "Last Branch Stack"; Intel SDM volume 3, 18.9.2) */
#define VMPROF_LBR_KERNEL	(1U << 0)	/* branches that end at CPL 0 */
#define VMPROF_LBR_USER		(1U << 1)	/* branches that end at CPL 3 */
#define VMPROF_LBR_COND		(1U << 2)	/* conditional, taken */
#define VMPROF_LBR_CALL_REL	(1U << 3)
#define VMPROF_LBR_CALL_IND	(1U << 4)
#define VMPROF_LBR_RET		(1U << 5)
#define VMPROF_LBR_JUMP_IND	(1U << 6)
#define VMPROF_LBR_JUMP_REL	(1U << 7)
#define VMPROF_LBR_FAR		(1U << 8)	/* far branches, interrupts, exceptions,
						   system calls */
#define VMPROF_LBR_ALL		0x1ffU

/* vmprof_config.lbr_format and vmprof_rec_lbr.format: words for each branch */
enum {
	VMPROF_LBR_FROM_TO	= 1,	/* from, to */
	VMPROF_LBR_FROM		= 2,	/* from */
	VMPROF_LBR_TO		= 3,	/* to */
	VMPROF_LBR_FROM_TO_CYCLES = 4,	/* from, to, cycles since the branch before it
					   (0 unknown): CPUs that count them only */
};

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
	__u64 instruction_period;	/* 0: no second event; else instructions are
				   sampled too, so many between two samples; not
				   with the timer */
	__u32 lbr_branches;	/* VMPROF_LBR_*: some of KERNEL and USER, and some of
				   the others; 0: no last branch records.  Not with
				   the timer; KERNEL not without CALL_REL or RET, for
				   a VM entry shows in no other branch */
	__u32 lbr_format;	/* VMPROF_LBR_FROM_TO...; 0 without lbr_branches */
	__u64 reserved[6];
};

/* ------------------------------------------------------------------ tasks */

#define VMPROF_TASKS_VCPUS_MAX	4096
#define VMPROF_TASKS_RAM_MAX	256
#define VMPROF_TASKS_SPAN_MAX	65536U	/* of a task_struct, as far as it is read */
#define VMPROF_TASKS_TID_MAX	(1U << 22)	/* no Linux has a thread beyond it */
#define VMPROF_TASK_COMM	16

/* A piece of a guest's memory: contiguous on both sides */
struct vmprof_tasks_ram {
	__u64 gpa;
	__u64 bytes;
	__u64 hva;		/* in the VM's QEMU */
};

/*
 * Where one VM's guest kernel keeps the task that runs on each vCPU.  From then on a
 * sample with VMPROF_SF_VCPU of that VM has guest_task and guest_tid.
 *
 * Only memory of the VM's own QEMU is read, by its own thread, without waiting: wrong
 * numbers give wrong names, and nothing else.
 */
struct vmprof_tasks {
	__u32 size;		/* sizeof(struct vmprof_tasks) */
	__u32 vm;		/* the VM: its QEMU's tgid */
	__u32 nr_vcpus;		/* 0: look no more; the pointers are not followed */
	__u32 nr_ram;		/* 0 with nr_vcpus 0, and only then */
	__u64 vcpus;		/* user pointer to __u64[nr_vcpus], by vCPU id as in KVM: hva of
				   the pointer to the task_struct that runs; 0 not known */
	__u64 ram;		/* user pointer to struct vmprof_tasks_ram[nr_ram], ascending by
				   gpa, without overlaps */
	__u64 linear_base;	/* gva of the kernel's map of all memory: gpa = gva - linear_base */
	__u64 linear_bytes;
	__u64 init_task;	/* gva of the one task that lies in the kernel's image ... */
	__u64 init_task_gpa;	/* ... and its gpa */
	__u32 flags_offset;	/* in task_struct; multiples of 4 */
	__u32 pid_offset;
	__u32 tgid_offset;
	__u32 comm_offset;
	__u32 kthread_flag;	/* bit of task_struct.flags: a kernel thread */
	__u32 reserved0;
	__u64 reserved[4];
};

/* ------------------------------------------------------------------ stats */

/* Causes of loss; vmprof_producer.lost[] and vmprof_rec_lost.count[] */
enum {
	VMPROF_LOST_FULL	= 0,	/* ring full: the reader was too slow */
	VMPROF_LOST_NESTED	= 1,	/* overflow inside a record being written */
	VMPROF_LOST_STATE	= 2,	/* vCPU's guest state could not be read */
	VMPROF_LOST_THROTTLED	= 3,	/* perf throttled the event: what is counted beyond
					   the periods that were begun, by the period,
					   known at STOP; the count is
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
	__u64 instruction_interrupts;	/* of interrupts: the second event's */
	__u64 instruction_count;	/* total of the second event */
	__u64 reserved[2];
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
/* After CONFIG, any time; replaces what was told of the VM before.  -EINVAL bad field,
   -ESRCH the VM is none of the session's, -ENOSPC too many VMs, -ENOMEM. */
#define VMPROF_IOC_TASKS	_IOW(VMPROF_IOC_MAGIC, 5, struct vmprof_tasks)
/* After CONFIG, any time: one VM more, by its QEMU's tgid, as in vmprof_config.vms.  -EINVAL no
   such number, not configured, or called in a PID namespace; -ENOSPC too many VMs. */
#define VMPROF_IOC_ADD_VM	_IOW(VMPROF_IOC_MAGIC, 6, __u32)

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
	VMPROF_REC_INSTRUCTIONS	= 4,	/* struct vmprof_sample: the second event overflowed.
					   Of chosen VMs' own tasks only, without steal;
					   cycles and instructions are 0 */
	VMPROF_REC_LBR		= 5,	/* struct vmprof_rec_lbr: branches before the
					   sample, of either event, that is the record
					   before it */
	VMPROF_REC_TASK		= 6,	/* struct vmprof_rec_task */
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
						   overflow holds that VM's sample.
						   guest_ip, guest_cr3, cpl, NESTED
						   and LONG_MODE tell where its guest
						   was when it lost its pCPU; cr3 0:
						   not known */
#define VMPROF_SF_NESTED	(1U << 3)	/* the guest itself ran a nested guest:
						   guest_* are the nested guest's */
#define VMPROF_SF_LONG_MODE	(1U << 4)	/* guest in 64-bit long mode */
#define VMPROF_SF_TIMER		(1U << 5)	/* taken by the timer trigger */
#define VMPROF_SF_IRQ_NMI	(1U << 6)	/* the trigger arrived as an NMI */

/*
 * vmprof_sample.exit_reason of the host's code around VM entry, where NMIs are held back (SVM: GIF is
 * clear): this sample's own NMI was the next exit, and why the guest had been left before is not known.
 * No code of either vendor.
 */
#define VMPROF_EXIT_ENTRY	0xfffeU

/* vmprof_sample.guest_task: which of the guest's tasks ran.  What its kernel calls
   current changes a moment after CR3 in a task switch: see DESIGN.md */
enum vmprof_guest_task {
	VMPROF_TASK_OFF		= 0,	/* not looked for: no TASKS of the VM, no vCPU, nested */
	VMPROF_TASK_KNOWN	= 1,	/* guest_tid is valid; the last REC_TASK of this ring
					   with its vm and tid has the rest */
	VMPROF_TASK_NO_CPU	= 2,	/* nothing was told of this vCPU */
	VMPROF_TASK_NO_READ	= 3,	/* the memory was not there at once (swapped out) */
	VMPROF_TASK_OUTSIDE	= 4,	/* the pointer leads out of the guest's memory */
	VMPROF_TASK_NO_TASK	= 5,	/* what lies there is no task */
	VMPROF_TASK_NR
};

/*
 * One sample: table 1 of that paper ([1], see above) and more.  All addresses are as the CPU had
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
	__u8  cpl;		/* guest CPL, with VCPU or STEAL */
	__u8  vendor;		/* VMPROF_VENDOR_*: the encoding of exit_* */
	__u8  guest_task;	/* enum vmprof_guest_task */
	__u32 guest_tid;	/* thread of the guest that ran, with VMPROF_TASK_KNOWN */
	__u64 guest_ip;		/* linear address: CS base is added when it is not 0 */
	__u64 guest_cr3;	/* raw, with PCID bits */
	__u64 exit_reason;	/* SVM: EXITCODE; VMX: full exit reason field; or
				   VMPROF_EXIT_ENTRY */
	__u64 exit_intr_info;	/* SVM: EXITINTINFO; VMX: VM-exit interruption info */
	__u64 exit_info1;	/* SVM: EXITINFO1; VMX: exit qualification */
	__u64 exit_info2;	/* SVM: EXITINFO2; VMX: guest-physical address */
	__u64 cycles;		/* since this pCPU's last overflow of the sampling event: in the
				   guest or in the host, whichever is sampled here, if cycles
				   are sampled by NMI and nothing else is; otherwise in both */
	__u64 instructions;	/* likewise */
};

/* Losses since the last LOST record of this ring */
struct vmprof_rec_lost {
	struct vmprof_record hdr;
	__u64 tsc;
	__u64 count[VMPROF_LOST_NR];
};

/*
 * A vCPU's clock, written when the sampler first sees the vCPU, which has run, on a pCPU and
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

/* vmprof_rec_task.flags */
#define VMPROF_TASK_KTHREAD	(1U << 0)	/* of the guest's kernel, idle tasks too */

/*
 * One of a guest's tasks, written before the first sample of it on a pCPU and whenever
 * it is not what was last written there: for samples that follow in the same ring.  A
 * task's name is read again at every 16th sample of it there.
 */
struct vmprof_rec_task {
	struct vmprof_record hdr;
	__u64 tsc;
	__u32 vm;
	__u32 tid;
	__u32 tgid;
	__u32 flags;		/* VMPROF_TASK_KTHREAD */
	__u8  comm[VMPROF_TASK_COMM];	/* ends with a NUL; may have been torn by a rename */
};

#define VMPROF_LBR_MAX		32	/* entries */

/* vmprof_rec_lbr.flags */
#define VMPROF_LBR_SWITCHED	(1U << 0)	/* the guest's CR3 is another one than when
						   its vCPU was entered last: older branches of user
						   code may be of another process, if no kernel
						   branches show the way between them */

/*
 * The last branches before a sample, youngest first.  They are all of the side on
 * which the sample was taken, guest or host: at the first that is not, counted from
 * the youngest, the record ends.  Between entry i's "from" and the "to" of entry
 * i + 1 code ran without a taken branch; so it did from entry 0's "to" to the
 * sample's address, if lbr_branches were all.
 */
struct vmprof_rec_lbr {
	struct vmprof_record hdr;
	__u64 tsc;		/* the sample's */
	__u32 branches;		/* VMPROF_LBR_* that were recorded */
	__u8  format;		/* VMPROF_LBR_FROM_TO... */
	__u8  nr;		/* entries: <= VMPROF_LBR_MAX */
	__u8  cut;		/* entries not looked at: beyond a VM entry or exit,
				   or all, where it is not known whose they are */
	__u8  flags;		/* VMPROF_LBR_SWITCHED */
	__u32 mispredicted;	/* bit i: the processor had guessed entry i wrong */
	__u32 reserved1;
	__u64 word[];		/* nr times the format's words; canonical addresses */
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
_Static_assert(sizeof(struct vmprof_rec_lbr) == 32, "uapi size");
_Static_assert(sizeof(struct vmprof_tasks_ram) == 24, "uapi size");
_Static_assert(sizeof(struct vmprof_tasks) == 120, "uapi size");
_Static_assert(sizeof(struct vmprof_rec_task) == 48, "uapi size");
_Static_assert(__builtin_offsetof(struct vmprof_sample, guest_ip) == 72, "uapi offset");
_Static_assert(__builtin_offsetof(struct vmprof_producer, lost) == 64, "uapi offset");
#endif

#endif /* VMPROF_UAPI_H */
