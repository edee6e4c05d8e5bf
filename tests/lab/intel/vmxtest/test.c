// SPDX-License-Identifier: GPL-2.0-only
/*
 * test.c - vmxtest.ko: guest_vmx.c by itself, on a processor with VMX: what it says where there is
 * no VMCS, or another one, and what becomes of the VMCS's DEBUGCTL that it lends to a guest.
 *
 * With nmi=1 another pCPU sends NMIs to the first, which read the guest's state as those of a
 * counter do. What it sees is counted in /sys/module/vmxtest/parameters.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/kvm_host.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/vmx.h>
#include "compat/compat.h"
#include "guest.h"

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
COUNTER(believed);	/* the one that was: state, and not the guest's sample */
COUNTER(nmis);
COUNTER(nmi_guest);	/* found guest code */
COUNTER(nmi_user);	/* ... of the guest's user space */
COUNTER(nmi_loop);	/* ... between lo and hi */
COUNTER(nmi_vmm);	/* found KVM, and the right VMCS */
COUNTER(nmi_host);	/* found nothing that may be read */
COUNTER(bad);		/* anything else */

static bool nmi;
module_param(nmi, bool, 0444);
static ulong lo, hi;
module_param(lo, ulong, 0644);
module_param(hi, ulong, 0644);

static u64 before;	/* one pCPU runs guests here: DEBUGCTL at the entry */
static bool holds;

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

static void on_exit(void *data, struct kvm_vcpu *vcpu)
{
	struct vmph_guest guest = {};
	u64 vmcs = current_vmcs(), other = vmcs + PAGE_SIZE;

	exits++;
	if (holds) {
		count(&kept, field(GUEST_IA32_DEBUGCTL) == (before | bits()));
		count(&restored, vmph_vmx_take_freeze(vcpu) &&
		      field(GUEST_IA32_DEBUGCTL) == before && !vmph_vmx_take_freeze(vcpu));
	}
	holds = false;
	/* KVM handles neither interrupt nor NMI yet */
	count(&refused, vmph_vmx_read(vcpu, &other, false, &guest) == -ENODATA &&
	      other == vmcs + PAGE_SIZE);
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
	count(&unread, !vmph_vmx_cr3());
	vfree(vcpu);
	return 0;
}

static bool sent;
static u64 nmi_verified;
static struct task_struct *sender;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct vmph_guest guest = {};
	struct kvm_vcpu *vcpu;
	int err;

	if (smp_processor_id() || !xchg(&sent, false))
		return NMI_DONE;
	nmis++;
	vcpu = vmph_running_vcpu();
	if (!vcpu || user_mode(regs)) {
		nmi_host++;
		return NMI_HANDLED;
	}
	err = vmph_vmx_read(vcpu, &nmi_verified, true, &guest);
	if (err) {
		count(&nmi_host, err == -ENODATA);
		return NMI_HANDLED;
	}
	if (!guest.in_guest) {
		nmi_vmm++;
		return NMI_HANDLED;
	}
	count(&nmi_guest, !(guest.exit_reason & 0xffff) && guest.ip == field(GUEST_RIP) &&
	      (guest.exit_intr_info & INTR_INFO_INTR_TYPE_MASK) == INTR_TYPE_NMI_INTR);
	nmi_user += guest.cpl == 3;
	nmi_loop += guest.cpl == 3 && guest.ip >= lo && guest.ip < hi;
	return NMI_HANDLED;
}

static int send(void *unused)
{
	while (!kthread_should_stop()) {
		usleep_range(1000, 1100);
		WRITE_ONCE(sent, true);
		apic->send_IPI(0, NMI_VECTOR);
	}
	return 0;
}

static int nmi_start(void)
{
	int err;

	if (!nmi)
		return 0;
	if (num_online_cpus() < 2)
		return -ENODEV;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "vmxtest");
	if (err)
		return err;
	sender = kthread_create(send, NULL, "vmxtest");
	if (IS_ERR(sender)) {
		unregister_nmi_handler(NMI_LOCAL, "vmxtest");
		return PTR_ERR(sender);
	}
	kthread_bind(sender, 1);
	wake_up_process(sender);
	return 0;
}

static void nmi_stop(void)
{
	if (!sender)
		return;
	kthread_stop(sender);
	msleep(20);
	unregister_nmi_handler(NMI_LOCAL, "vmxtest");
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
	int err = nmi ? 0 : read_nothing();

	if (err)
		return err;
	err = vmph_running_vcpu_get();
	if (err)
		return err;
	/* the hooks keep what they see for one pCPU */
	err = nmi ? nmi_start() : hooks_on();
	if (err)
		vmph_running_vcpu_put();
	return err;
}

static void __exit vmxtest_exit(void)
{
	if (nmi)
		nmi_stop();
	else
		hooks_off();
	vmph_running_vcpu_put();
}

module_init(vmxtest_init);
module_exit(vmxtest_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("vmprof's VMX half, tested alone");
