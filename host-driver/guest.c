// SPDX-License-Identifier: GPL-2.0-only
/* guest.c - picks the vendor's half of guest.h. */
#include <vmprof/uapi.h>
#include "compat/compat.h"
#include "guest.h"

static u8 vmph_vendor;

u32 vmph_guest_get(void)
{
	vmph_vendor = vmph_kvm_vendor();
	if (vmph_vendor == VMPROF_VENDOR_NONE)
		return VMPROF_GUEST_LACK_KVM;
	if (vmph_vendor == VMPROF_VENDOR_SVM && vmph_svm_check())
		return VMPROF_GUEST_LACK_LAYOUT;
	return vmph_running_vcpu_get() ? VMPROF_GUEST_LACK_SYMBOL : VMPROF_GUEST_LACK_NONE;
}

void vmph_guest_put(void)
{
	vmph_running_vcpu_put();
}

u8 vmph_guest_vendor(void)
{
	return vmph_vendor;
}

u32 vmph_guest_tsc_frac_bits(void)
{
	return vmph_vendor == VMPROF_VENDOR_SVM ? 32 : 48;	/* MSR TSC_RATIO; TSC multiplier */
}

int vmph_guest_read(struct kvm_vcpu *vcpu, u64 *verified, bool nmi, struct vmph_guest *guest)
{
	if (vmph_vendor == VMPROF_VENDOR_SVM)
		return vmph_svm_read(vcpu, verified, nmi, guest);
	return vmph_vmx_read(vcpu, verified, nmi, guest);
}

bool vmph_guest_lend_freeze(struct kvm_vcpu *vcpu)
{
	if (vmph_vendor == VMPROF_VENDOR_SVM)
		return vmph_svm_freeze(vcpu, true);
	return vmph_vmx_lend_freeze(vcpu);
}

bool vmph_guest_take_freeze(struct kvm_vcpu *vcpu)
{
	if (vmph_vendor == VMPROF_VENDOR_SVM)
		return vmph_svm_freeze(vcpu, false);
	return vmph_vmx_take_freeze(vcpu);
}

u64 vmph_guest_cr3(struct kvm_vcpu *vcpu)
{
	return vmph_vendor == VMPROF_VENDOR_SVM ? vmph_svm_cr3(vcpu) : vmph_vmx_cr3(vcpu);
}
