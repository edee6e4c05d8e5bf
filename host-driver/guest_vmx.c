// SPDX-License-Identifier: GPL-2.0-only
/*
 * guest_vmx.c - Intel: the guest's state is in the current VMCS, read by VMREAD.
 *
 * The VMCS that is current need not be this vCPU's: KVM sets the running vCPU
 * before it loads the VMCS, and loads a shadow VMCS now and then for nested
 * guests.  While KVM handles the NMI or interrupt that ended a guest's run it
 * is the right one; its address is remembered then, and at other times only
 * that VMCS is believed.  A TD (TDX) has none that the host can read; what is
 * current then is another guest's.
 */
#include <linux/kvm_host.h>
#include <linux/percpu.h>
#include <asm/msr.h>
#include <asm/perf_event.h>
#include <asm/vmx.h>
#include <vmprof/uapi.h>
#include "compat/compat.h"
#include "guest.h"
#include "vmcs.h"

#define VMPH_VMX_AR_CS_LONG	(1U << 13)
#define VMPH_VMX_REASON(full)	((u16)(full))

/* Did this trigger end the guest's run? */
static bool vmph_vmx_in_guest(u64 reason, u64 intr_info, bool nmi)
{
	if (nmi)
		return VMPH_VMX_REASON(reason) == EXIT_REASON_EXCEPTION_NMI &&
		       (intr_info & INTR_INFO_VALID_MASK) &&
		       (intr_info & INTR_INFO_INTR_TYPE_MASK) == INTR_TYPE_NMI_INTR;
	return VMPH_VMX_REASON(reason) == EXIT_REASON_EXTERNAL_INTERRUPT;
}

/* Without EPT the VMCS has KVM's shadow of CR3. */
static bool vmph_vmx_guest_cr3(const struct kvm_vcpu *vcpu, u64 *cr3)
{
	u64 controls;

	if (!vmph_vmread(GUEST_CR3, cr3))
		return false;
	/* a processor without this field has no EPT */
	if (!vmph_vmread(SECONDARY_VM_EXEC_CONTROL, &controls) || !(controls & SECONDARY_EXEC_ENABLE_EPT))
		*cr3 = READ_ONCE(vcpu->arch.cr3);
	return true;
}

static bool vmph_vmx_read_state(struct kvm_vcpu *vcpu, struct vmph_guest *guest)
{
	u64 ss_ar, cs_ar, cs_base = 0;

	if (!vmph_vmread(GUEST_RIP, &guest->ip) || !vmph_vmx_guest_cr3(vcpu, &guest->cr3) ||
	    !vmph_vmread(GUEST_SS_AR_BYTES, &ss_ar) || !vmph_vmread(GUEST_CS_AR_BYTES, &cs_ar))
		return false;
	guest->cpl = (ss_ar >> 5) & 3;
	if (cs_ar & VMPH_VMX_AR_CS_LONG)
		guest->flags |= VMPROF_SF_LONG_MODE;
	else if (!vmph_vmread(GUEST_CS_BASE, &cs_base))
		return false;
	guest->ip += cs_base;
	if (vmph_is_nested(vcpu))
		guest->flags |= VMPROF_SF_NESTED;
	/* these may be missing: they stay 0 */
	vmph_vmread(EXIT_QUALIFICATION, &guest->exit_info1);
	vmph_vmread(GUEST_PHYSICAL_ADDRESS, &guest->exit_info2);
	return true;
}

int vmph_vmx_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest)
{
	u8 handling = READ_ONCE(vcpu->arch.handling_intr_from_guest);
	bool ours = handling == (nmi ? KVM_HANDLING_NMI : KVM_HANDLING_IRQ);
	u64 vmcs = vmph_is_td(vcpu) ? VMPH_VMX_NO_VMCS : vmph_vmptrst();

	if (vmcs == VMPH_VMX_NO_VMCS || (!ours && vmcs != *verified) ||
	    !vmph_vmread(VM_EXIT_REASON, &guest->exit_reason) ||
	    !vmph_vmread(VM_EXIT_INTR_INFO, &guest->exit_intr_info) ||
	    !vmph_vmx_read_state(vcpu, guest))
		return ours ? -EIO : -ENODATA;
	guest->in_guest = ours && vmph_vmx_in_guest(guest->exit_reason, guest->exit_intr_info, nmi);
	*verified = vmcs;
	return 0;
}

/* What the legacy record needs to go on in the guest; the architectural one has an MSR of its own */
static u64 vmph_vmx_freeze_bits(void)
{
	return DEBUGCTLMSR_FREEZE_LBRS_ON_PMI |
	       (boot_cpu_has(X86_FEATURE_ARCH_LBR) ? 0 : DEBUGCTLMSR_LBR);
}

/* Whose DEBUGCTL has our bits: KVM's hooks at entry and exit come on one pCPU */
static DEFINE_PER_CPU(struct kvm_vcpu *, vmph_vmx_lent);

bool vmph_vmx_lend_freeze(struct kvm_vcpu *vcpu)
{
	u64 bits = vmph_vmx_freeze_bits(), debugctl;

	if (__this_cpu_read(vmph_vmx_lent) == vcpu || vmph_is_td(vcpu) ||
	    !vmph_vmread(GUEST_IA32_DEBUGCTL, &debugctl) ||
	    (debugctl & (DEBUGCTLMSR_LBR | DEBUGCTLMSR_FREEZE_LBRS_ON_PMI)) ||
	    !vmph_vmwrite(GUEST_IA32_DEBUGCTL, debugctl | bits))
		return false;
	__this_cpu_write(vmph_vmx_lent, vcpu);
	return true;
}

bool vmph_vmx_is_lent(void)
{
	return __this_cpu_read(vmph_vmx_lent);
}

bool vmph_vmx_nmi_waits(void)
{
	u64 reason, intr_info, status;

	if (!vmph_vmx_is_lent() || !vmph_vmread(VM_EXIT_REASON, &reason) ||
	    !vmph_vmread(VM_EXIT_INTR_INFO, &intr_info) || !vmph_vmx_in_guest(reason, intr_info, true))
		return false;
	rdmsrq(MSR_CORE_PERF_GLOBAL_STATUS, status);
	return status & GLOBAL_STATUS_LBRS_FROZEN;
}

bool vmph_vmx_take_freeze(struct kvm_vcpu *vcpu)
{
	u64 debugctl;

	if (__this_cpu_read(vmph_vmx_lent) != vcpu)
		return false;
	__this_cpu_write(vmph_vmx_lent, NULL);
	if (vmph_vmread(GUEST_IA32_DEBUGCTL, &debugctl))
		vmph_vmwrite(GUEST_IA32_DEBUGCTL, debugctl & ~vmph_vmx_freeze_bits());
	return true;
}

u64 vmph_vmx_cr3(const struct kvm_vcpu *vcpu)
{
	u64 cr3;

	return vmph_vmx_guest_cr3(vcpu, &cr3) ? cr3 : 0;
}
