/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest.h - what the sampler wants to know of a loaded vCPU, whoever made the CPU.
 *
 * Everything that knows KVM's or a CPU vendor's private state is behind this:
 * guest_svm.c and guest_vmx.c.
 */
#ifndef VMPH_GUEST_H
#define VMPH_GUEST_H

#include <linux/types.h>

struct kvm_vcpu;

struct vmph_guest {
	bool in_guest;		/* the trigger hit guest code, not KVM */
	u8 cpl;
	u32 flags;		/* VMPROF_SF_NESTED, VMPROF_SF_LONG_MODE */
	u64 ip;			/* linear */
	u64 cr3;
	u64 exit_reason;
	u64 exit_intr_info;
	u64 exit_info1;
	u64 exit_info2;
};

/**
 * vmph_guest_get() - Find KVM's vendor module and check what we know of it.
 * Context: process, no session runs; balanced by vmph_guest_put() when nothing samples any more.
 * Return: VMPROF_GUEST_LACK_NONE, or what is missing; nothing is to be put back then. A symbol and
 * a layout are logged.
 */
u32 vmph_guest_get(void);
void vmph_guest_put(void);

/** vmph_guest_vendor() - VMPROF_VENDOR_*, as the last vmph_guest_get() found it. */
u8 vmph_guest_vendor(void);

/** vmph_guest_tsc_frac_bits() - Fraction bits of KVM's TSC scaling ratios. */
u32 vmph_guest_tsc_frac_bits(void);

/**
 * vmph_guest_read() - Read the state of the vCPU that is loaded on this pCPU.
 * @verified: The vCPU's private state that was checked before; kept by the caller.
 * @nmi:      The trigger is an NMI, not an interrupt.
 *
 * Context: NMI or interrupt.
 * Return: 0; -ENODATA (a host sample, nothing to be had); -EIO (in guest code,
 * but its state cannot be read: a loss).
 */
int vmph_guest_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest);

/**
 * vmph_guest_lend_freeze() - Let the guest's next run end with its branches frozen.
 * vmph_guest_take_freeze() - Its DEBUGCTL is its own again, before KVM or the guest looks at it.
 * Left alone where it is not KVM's to load: LBR virtualisation, encrypted registers, or (Intel)
 * a guest that uses the record itself.
 * Context: the hooks at VM entry and exit. Return: whether anything was changed.
 */
bool vmph_guest_lend_freeze(struct kvm_vcpu *vcpu);
bool vmph_guest_take_freeze(struct kvm_vcpu *vcpu);

/** vmph_guest_cr3() - The guest's CR3. Context: the hook at VM entry. */
u64 vmph_guest_cr3(struct kvm_vcpu *vcpu);

/* The vendors' halves */
int vmph_svm_check(void);
int vmph_svm_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest);
u64 vmph_svm_cr3(struct kvm_vcpu *vcpu);
u64 vmph_vmx_cr3(const struct kvm_vcpu *vcpu);
bool vmph_svm_freeze(struct kvm_vcpu *vcpu, bool lend);
bool vmph_vmx_lend_freeze(struct kvm_vcpu *vcpu);
bool vmph_vmx_take_freeze(struct kvm_vcpu *vcpu);
/** vmph_vmx_is_lent() - Has the vCPU that is loaded here our bits in its DEBUGCTL? Context: as vmph_guest_read(). */
bool vmph_vmx_is_lent(void);
/**
 * vmph_vmx_nmi_waits() - Has a counter's NMI ended the run and frozen its branches, and perf not seen them yet?
 * Then KVM hands the NMI on behind its tracepoint kvm_exit; other kernels' does before.
 * Context: the hook at VM exit, before vmph_guest_take_freeze().
 */
bool vmph_vmx_nmi_waits(void);
int vmph_vmx_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest);

#endif
