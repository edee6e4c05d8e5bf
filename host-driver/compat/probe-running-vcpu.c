// SPDX-License-Identifier: GPL-2.0-only
/* Is kvm_get_running_vcpu() declared? (Kbuild also asks whether it is exported.) */
#include <linux/kvm_host.h>

struct kvm_vcpu *vmph_probe(void);
struct kvm_vcpu *vmph_probe(void)
{
	return kvm_get_running_vcpu();
}
