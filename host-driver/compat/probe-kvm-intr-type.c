// SPDX-License-Identifier: GPL-2.0-only
/* Is enum kvm_intr_type in a header that modules can see? */
#include <linux/kvm_host.h>

int vmph_probe(void);
int vmph_probe(void)
{
	return KVM_HANDLING_IRQ + KVM_HANDLING_NMI;
}
