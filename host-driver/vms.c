// SPDX-License-Identifier: GPL-2.0-only
/*
 * vms.c - chosen VMs and their vCPU threads, found by hash with bounded probing.
 *
 * A slot is claimed by cmpxchg on its id.  A thread runs on one pCPU at a time,
 * so the only rival for the same id is an NMI in the middle of an insertion; it
 * takes the slot that the insertion was about to take, which then finds its
 * id there.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include "vms.h"

#define VMPH_PROBES	16

void vmph_vms_init(struct vmph_vms *vms, bool all)
{
	unsigned int i;

	vms->all = all;
	for (i = 0; i < VMPH_VCPUS_NR; i++) {
		atomic_set(&vms->vcpu[i].last_cpu, -1);
		atomic_set(&vms->vcpu[i].waits_on, -1);
	}
}

static unsigned int vmph_slot(u32 id, unsigned int probe, unsigned int nr)
{
	return (hash_32(id, ilog2(VMPH_VCPUS_NR)) + probe) & (nr - 1);
}

int vmph_vms_add(struct vmph_vms *vms, u32 tgid)
{
	unsigned int i;

	for (i = 0; i < VMPH_PROBES; i++) {
		int seen = atomic_cmpxchg(&vms->tgid[vmph_slot(tgid, i, VMPH_VMS_NR)], 0, tgid);

		if (!seen || seen == (int)tgid)
			return 0;
	}
	return -ENOSPC;
}

int vmph_vms_slot(const struct vmph_vms *vms, u32 tgid)
{
	unsigned int i;

	for (i = 0; i < VMPH_PROBES; i++) {
		unsigned int slot = vmph_slot(tgid, i, VMPH_VMS_NR);
		int seen = atomic_read(&vms->tgid[slot]);

		if (!seen)
			return -1;
		if (seen == (int)tgid)
			return slot;
	}
	return -1;
}

struct vmph_vcpu *vmph_vcpu_find(struct vmph_vms *vms, u32 tgid, u32 tid)
{
	unsigned int i;

	for (i = 0; i < VMPH_PROBES; i++) {
		struct vmph_vcpu *vcpu = &vms->vcpu[vmph_slot(tid, i, VMPH_VCPUS_NR)];
		int seen = atomic_read(&vcpu->tid);

		if (!seen)
			return NULL;
		if (seen == (int)tid)
			return READ_ONCE(vcpu->vm) == tgid ? vcpu : NULL;
	}
	return NULL;
}

static struct vmph_vcpu *vmph_vcpu_claim(struct vmph_vms *vms, u32 tid)
{
	unsigned int i;

	for (i = 0; i < VMPH_PROBES; i++) {
		struct vmph_vcpu *vcpu = &vms->vcpu[vmph_slot(tid, i, VMPH_VCPUS_NR)];
		int seen = atomic_read(&vcpu->tid);

		if (!seen || seen == VMPH_TID_GONE)
			seen = atomic_cmpxchg(&vcpu->tid, seen, tid) == seen ?
				(int)tid : atomic_read(&vcpu->tid);
		if (seen == (int)tid)
			return vcpu;
	}
	return NULL;
}

struct vmph_vcpu *vmph_vcpu_learn(struct vmph_vms *vms, u32 tgid, u32 tid)
{
	struct vmph_vcpu *vcpu = vmph_vcpu_find(vms, tgid, tid);
	int slot;

	if (vcpu)
		return vcpu;
	if (vms->all)
		vmph_vms_add(vms, tgid);
	slot = vmph_vms_slot(vms, tgid);
	if (slot < 0)
		return NULL;
	vcpu = vmph_vcpu_claim(vms, tid);
	if (!vcpu)
		return NULL;
	WRITE_ONCE(vcpu->verified, 0);
	WRITE_ONCE(vcpu->left.cr3, 0);
	WRITE_ONCE(vcpu->slot, slot);
	WRITE_ONCE(vcpu->vm, tgid);
	return vcpu;
}
