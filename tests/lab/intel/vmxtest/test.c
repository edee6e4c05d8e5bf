// SPDX-License-Identifier: GPL-2.0-only
/*
 * test.c - vmxtest.ko: guest_vmx.c by itself, on a processor with VMX: what it says where there is
 * no VMCS, or another one, and what becomes of the VMCS's DEBUGCTL that it lends to a guest. What
 * it sees is counted in /sys/module/vmxtest/parameters.
 */
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <asm/vmx.h>
#include "compat/compat.h"
#include "guest.h"
#include "vmcs.h"

#define NO_FIELD	0x6ffe	/* the host's state, natural width, index 511 */

#define COUNTER(name) \
	static unsigned long name; \
	module_param(name, ulong, 0444)

COUNTER(unread);	/* reads that were refused before any guest ran, of 6 */
COUNTER(entries);
COUNTER(exits);
COUNTER(lent);		/* the field got our bits and kept what it had */
COUNTER(kept);		/* ... until the exit */
COUNTER(restored);	/* ... and has its own value again */
COUNTER(refused);	/* a VMCS that was not verified: no data */
COUNTER(switched);	/* the other vCPU's own VMCS, while this one's is current: no data */
COUNTER(missing);	/* a field that no VMCS has: not read, not written */
COUNTER(believed);	/* the one that was: state, and not the guest's sample */
COUNTER(bad);		/* anything else */

static u64 before;	/* one pCPU runs guests here: DEBUGCTL at the entry */
static bool holds;
static struct kvm_vcpu *last[2];	/* by the lowest bit of their number, of one VM */
static u64 last_vmcs[2];

static u64 field(unsigned long name)
{
	u64 v = ~0ULL;

	asm volatile("vmread %1, %0" : "=r" (v) : "r" (name) : "cc");
	return v;
}

static u64 current_vmcs(void)
{
	u64 pa;

	asm volatile("vmptrst %0" : "=m" (pa) : : "cc", "memory");
	return pa;
}

static void count(unsigned long *good, bool is)
{
	++*(is ? good : &bad);
}

static u64 bits(void)
{
	return DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
	       (boot_cpu_has(X86_FEATURE_ARCH_LBR) ? 0 : DEBUGCTLMSR_LBR);
}

static void on_entry(void *data, struct kvm_vcpu *vcpu)
{
	entries++;
	before = field(GUEST_IA32_DEBUGCTL);
	holds = vmph_vmx_lend_freeze(vcpu);
	count(&lent, holds && field(GUEST_IA32_DEBUGCTL) == (before | bits()) &&
	      !vmph_vmx_lend_freeze(vcpu));
}

/* Two vCPUs take turns on the pCPU: what is asked of one while the other's VMCS is current? */
static void ask_the_other(struct kvm_vcpu *vcpu, u64 vmcs)
{
	unsigned int nr = vcpu->vcpu_id & 1;
	u64 verified = last_vmcs[!nr];
	struct vmph_guest guest = {};

	last[nr] = vcpu;
	last_vmcs[nr] = vmcs;
	if (!last[!nr] || last[!nr]->kvm != vcpu->kvm)
		return;
	count(&switched, vmph_vmx_read(last[!nr], &verified, false, &guest) == -ENODATA && verified == last_vmcs[!nr] &&
	      !guest.in_guest && !guest.cr3);
}

static void on_exit(void *data, struct kvm_vcpu *vcpu)
{
	struct vmph_guest guest = {};
	u64 vmcs = current_vmcs(), other = vmcs + PAGE_SIZE, value = 42;

	exits++;
	if (holds) {
		count(&kept, field(GUEST_IA32_DEBUGCTL) == (before | bits()));
		count(&restored, vmph_vmx_take_freeze(vcpu) &&
		      field(GUEST_IA32_DEBUGCTL) == before && !vmph_vmx_take_freeze(vcpu));
	}
	holds = false;
	count(&missing, !vmph_vmread(NO_FIELD, &value) && value == 42 && !vmph_vmwrite(NO_FIELD, 42));
	/* KVM handles neither interrupt nor NMI yet */
	count(&refused, vmph_vmx_read(vcpu, &other, false, &guest) == -ENODATA &&
	      other == vmcs + PAGE_SIZE);
	ask_the_other(vcpu, vmcs);
	count(&believed, !vmph_vmx_read(vcpu, &vmcs, false, &guest) && !guest.in_guest &&
	      guest.cr3 == field(GUEST_CR3) && guest.exit_reason == field(VM_EXIT_REASON));
}

/* Where no guest ever ran on this pCPU: VMX is off, or there is no current VMCS */
static int read_nothing(void)
{
	struct kvm_vcpu *vcpu = vzalloc(sizeof(*vcpu) + sizeof(*vcpu->kvm));
	struct vmph_guest guest = {};
	u64 verified = 0;

	if (!vcpu)
		return -ENOMEM;
	vcpu->kvm = (struct kvm *)(vcpu + 1);	/* an ordinary one */
	count(&unread, vmph_vmx_read(vcpu, &verified, false, &guest) == -ENODATA);
	verified = ~0ULL;
	count(&unread, vmph_vmx_read(vcpu, &verified, true, &guest) == -ENODATA);
	vcpu->arch.handling_intr_from_guest = KVM_HANDLING_IRQ;
	count(&unread, vmph_vmx_read(vcpu, &verified, false, &guest) == -EIO && !guest.in_guest);
	vcpu->arch.handling_intr_from_guest = KVM_HANDLING_NMI;
	count(&unread, vmph_vmx_read(vcpu, &verified, true, &guest) == -EIO && !guest.in_guest);
	preempt_disable();
	count(&unread, !vmph_vmx_lend_freeze(vcpu) && !vmph_vmx_take_freeze(vcpu));
	preempt_enable();
	count(&unread, !vmph_vmx_cr3(vcpu));
	vfree(vcpu);
	return 0;
}

static int hooks_on(void)
{
	int err = vmph_kvm_trace_exit(on_exit, NULL, true);

	if (err)
		return err;
	err = vmph_kvm_trace_entry(on_entry, NULL, true);
	if (err)
		vmph_kvm_trace_exit(on_exit, NULL, false);
	return err;
}

static void hooks_off(void)
{
	vmph_kvm_trace_entry(on_entry, NULL, false);
	vmph_kvm_trace_exit(on_exit, NULL, false);
}

static int __init vmxtest_init(void)
{
	int err = read_nothing();

	if (err)
		return err;
	err = vmph_running_vcpu_get();
	if (err)
		return err;
	err = hooks_on();
	if (err)
		vmph_running_vcpu_put();
	return err;
}

static void __exit vmxtest_exit(void)
{
	hooks_off();
	vmph_running_vcpu_put();
}

module_init(vmxtest_init);
module_exit(vmxtest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("vmprof's VMX half, tested alone");
