/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vms.h - which VMs a session is about, and which threads are their vCPUs.
 *
 * Two fixed tables, filled without locks: NMIs and scheduler hooks look things
 * up in them and add to them.  A full table loses knowledge, never memory.
 */
#ifndef VMPH_VMS_H
#define VMPH_VMS_H

#include <linux/atomic.h>
#include <linux/types.h>

#define VMPH_VMS_NR	1024	/* powers of two */
#define VMPH_VCPUS_NR	2048

/* Where the guest was when its vCPU's thread last left a pCPU; cr3 0: not known */
struct vmph_left {
	u32 seq;		/* odd while the thread's pCPU writes; an NMI elsewhere may look */
	u32 flags;		/* VMPROF_SF_NESTED, VMPROF_SF_LONG_MODE */
	u64 ip;
	u64 cr3;
	u8 cpl;
};

struct vmph_vcpu {
	atomic_t tid;		/* 0 free, VMPH_TID_GONE exited */
	u32 vm;			/* its QEMU's tgid */
	int slot;		/* of that VM, as vmph_vms_slot() has it */
	atomic_t last_cpu;	/* pCPU on which it ran last, or -1 */
	atomic_t waits_on;	/* pCPU on which it is runnable but not running, or -1 */
	u64 verified;		/* guest.c: private state that has been checked */
	struct vmph_left left;
};

#define VMPH_TID_GONE	(-1)

struct vmph_vms {
	bool all;			/* take every VM that shows a vCPU */
	atomic_t tgid[VMPH_VMS_NR];	/* 0 free */
	struct vmph_vcpu vcpu[VMPH_VCPUS_NR];
};

void vmph_vms_init(struct vmph_vms *vms, bool all);

/** vmph_vms_add() - Choose a VM. Any context. Return: 0, -ENOSPC. */
int vmph_vms_add(struct vmph_vms *vms, u32 tgid);

/** vmph_vms_slot() - Number of a chosen VM's place in the table, or -1. Any context. */
int vmph_vms_slot(const struct vmph_vms *vms, u32 tgid);

/** vmph_vcpu_is() - Is it the vCPU whose thread this is? Any context. */
static inline bool vmph_vcpu_is(const struct vmph_vcpu *vcpu, u32 tgid, u32 tid)
{
	return atomic_read(&vcpu->tid) == (int)tid && READ_ONCE(vcpu->vm) == tgid;
}

/** vmph_vcpu_find() - The vCPU whose thread this is, or NULL. Any context. */
struct vmph_vcpu *vmph_vcpu_find(struct vmph_vms *vms, u32 tgid, u32 tid);

/**
 * vmph_vcpu_learn() - The same for the current thread, which has a vCPU loaded.
 * Return: NULL when its VM is not chosen, or the table is full.
 */
struct vmph_vcpu *vmph_vcpu_learn(struct vmph_vms *vms, u32 tgid, u32 tid);

#endif
