// SPDX-License-Identifier: GPL-2.0-only
/* Must always compile: if not, the probes themselves do not work here. */
#include <linux/kvm_host.h>
#include <linux/module.h>

int vmph_probe(struct kvm_vcpu *vcpu);
int vmph_probe(struct kvm_vcpu *vcpu)
{
	return vcpu->vcpu_id;
}
