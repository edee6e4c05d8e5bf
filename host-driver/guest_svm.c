// SPDX-License-Identifier: GPL-2.0-only
/*
 * guest_svm.c - AMD: the guest's state is in the VMCB, which #VMEXIT has filled.
 *
 * In the guest or not, where one event samples both sides: KVM sets handling_intr_from_guest around the STGI that
 * lets the NMI in which ended the guest's run, and around the interrupt window
 * that follows every exit.  Only together with the exit code does it say that
 * this trigger is what ended the guest's run.  An overflow between #VMEXIT and
 * STGI is held back until then; it is a host sample that shows the exit code.
 */
#include <linux/kvm_host.h>
#include <linux/mem_encrypt.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <asm/svm.h>
#include <vmprof/uapi.h>
#include "compat/compat.h"
#include "guest.h"

/* The head of KVM's struct vcpu_svm, the same in every kernel from 5.12 on */
struct vmph_svm_info {
	struct vmcb *ptr;
	unsigned long pa;
};

struct vmph_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;		/* shorthand for current_vmcb->ptr */
	struct {
		struct vmph_svm_info info;
		int cpu;
		u64 asid_generation;
	} vmcb01;
	struct vmph_svm_info *current_vmcb;
};

#define VMPH_SVM_CS_LONG	(1U << 9)	/* L bit in the packed attributes */

int vmph_svm_check(void)
{
	return vmph_btf_check("kvm_amd", "vcpu_svm", "current_vmcb",
			      offsetof(struct vmph_svm, current_vmcb));
}

/* Is this a VMCB, and the one in use?  Nothing is believed before that. */
static bool vmph_svm_verify(struct vmph_svm *svm, struct vmcb *vmcb)
{
	struct vmph_svm_info *current_vmcb, info;

	if (!vmcb || !PAGE_ALIGNED(vmcb) || !virt_addr_valid(vmcb))
		return false;
	if (copy_from_kernel_nofault(&current_vmcb, &svm->current_vmcb, sizeof(current_vmcb)) ||
	    copy_from_kernel_nofault(&info, current_vmcb, sizeof(info)))
		return false;
	return info.ptr == vmcb && __sme_clr(info.pa) == __pa(vmcb);
}

/* For KVM's hooks at entry and exit, which come often: what was verified last on this pCPU */
static DEFINE_PER_CPU(struct vmcb *, vmph_svm_known);

static bool vmph_svm_knows(struct vmph_svm *svm, struct vmcb *vmcb)
{
	if (vmcb && __this_cpu_read(vmph_svm_known) == vmcb)
		return true;
	if (!vmph_svm_verify(svm, vmcb))
		return false;
	__this_cpu_write(vmph_svm_known, vmcb);
	return true;
}

static bool vmph_svm_in_guest(const struct kvm_vcpu *vcpu, u64 exit_code, bool nmi)
{
	u8 handling = READ_ONCE(vcpu->arch.handling_intr_from_guest);

	if (nmi)
		return handling == KVM_HANDLING_NMI && exit_code == SVM_EXIT_NMI;
	return handling == KVM_HANDLING_IRQ && exit_code == SVM_EXIT_INTR;
}

/* Without nested paging the VMCB has KVM's shadow of CR3 */
static u64 vmph_vmcb_cr3(const struct kvm_vcpu *vcpu, const struct vmcb *vmcb)
{
	return vmcb->control.nested_ctl & SVM_NESTED_CTL_NP_ENABLE ?
		vmcb->save.cr3 : READ_ONCE(vcpu->arch.cr3);
}

int vmph_svm_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest)
{
	struct vmph_svm *svm = (struct vmph_svm *)vcpu;
	struct vmcb *vmcb = READ_ONCE(svm->vmcb);
	u64 nested_ctl;

	if (*verified != (u64)vmcb || !vmcb) {
		/* between two instructions of a switch to or from a nested guest it may fail */
		if (!vmph_svm_verify(svm, vmcb))
			return READ_ONCE(vcpu->arch.handling_intr_from_guest) ? -EIO : -ENODATA;
		*verified = (u64)vmcb;
	}
	guest->exit_reason = vmcb->control.exit_code;
	guest->exit_intr_info = vmcb->control.exit_int_info;
	guest->exit_info1 = vmcb->control.exit_info_1;
	guest->exit_info2 = vmcb->control.exit_info_2;
	guest->in_guest = vmph_svm_in_guest(vcpu, guest->exit_reason, nmi);
	if (vmph_is_nested(vcpu))
		guest->flags |= VMPROF_SF_NESTED;

	nested_ctl = vmcb->control.nested_ctl;
	if (nested_ctl & SVM_NESTED_CTL_SEV_ES_ENABLE)
		return guest->in_guest ? -EIO : -ENODATA;	/* registers are encrypted */
	guest->cpl = vmcb->save.cpl;
	guest->ip = vmcb->save.rip;
	guest->cr3 = vmph_vmcb_cr3(vcpu, vmcb);
	if ((vmcb->save.efer & EFER_LMA) && (vmcb->save.cs.attrib & VMPH_SVM_CS_LONG))
		guest->flags |= VMPROF_SF_LONG_MODE;
	else
		guest->ip += vmcb->save.cs.base;
	return 0;
}

/*
 * KVM loads the VMCB's DEBUGCTL before VMRUN and the host's after it.  A guest cannot set this
 * bit, so that it is ours where it is set.  On kernels that leave the host's in place it does
 * nothing.
 */
bool vmph_svm_freeze(struct kvm_vcpu *vcpu, bool lend)
{
	struct vmph_svm *svm = (struct vmph_svm *)vcpu;
	struct vmcb *vmcb = READ_ONCE(svm->vmcb);

	if (!vmph_svm_knows(svm, vmcb) || (vmcb->control.virt_ext & LBR_CTL_ENABLE_MASK) ||
	    (vmcb->control.nested_ctl & SVM_NESTED_CTL_SEV_ES_ENABLE) ||
	    lend == !!(vmcb->save.dbgctl & DEBUGCTLMSR_FREEZE_LBRS_ON_PMI))
		return false;
	vmcb->save.dbgctl ^= DEBUGCTLMSR_FREEZE_LBRS_ON_PMI;
	return true;
}

u64 vmph_svm_cr3(struct kvm_vcpu *vcpu)
{
	struct vmph_svm *svm = (struct vmph_svm *)vcpu;
	struct vmcb *vmcb = READ_ONCE(svm->vmcb);

	return vmph_svm_knows(svm, vmcb) ? vmph_vmcb_cr3(vcpu, vmcb) : 0;
}
