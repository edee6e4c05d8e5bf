// SPDX-License-Identifier: GPL-2.0-only
/*
 * running_vcpu.c - kvm_get_running_vcpu() on kernels that keep it to KVM.
 *
 * Its address is asked of kprobes, which know every symbol, when a session
 * starts.  KVM's module is held until the session ends: NMIs call the address.
 * One session runs at a time, so one pointer will do.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include "compat.h"

static struct kvm_vcpu *(*vmph_get_running_vcpu)(void);
static struct module *vmph_kvm;

#define VMPH_ENDBR64	0xfa1e0ff3U

/* Where kprobes stepped over the landing pad of indirect calls, step back onto it */
static unsigned long vmph_function_start(unsigned long addr)
{
	return *(u32 *)(addr - 4) == VMPH_ENDBR64 ? addr - 4 : addr;
}

int vmph_running_vcpu_get(void)
{
	struct kprobe probe = { .symbol_name = "kvm_get_running_vcpu" };
	struct module *kvm = vmph_module_get("kvm");
	int err = register_kprobe(&probe);

	if (err) {
		pr_warn_once("vmprof: this kernel does not say which vCPU runs (kvm_get_running_vcpu: error %d)\n",
			     err);
		module_put(kvm);
		return -ENODEV;
	}
	vmph_kvm = kvm;		/* NULL where KVM is built in */
	WRITE_ONCE(vmph_get_running_vcpu,
		   (void *)vmph_function_start((unsigned long)probe.addr));
	unregister_kprobe(&probe);
	return 0;
}

void vmph_running_vcpu_put(void)
{
	module_put(vmph_kvm);
	vmph_kvm = NULL;
}

struct kvm_vcpu *vmph_running_vcpu(void)
{
	return vmph_get_running_vcpu();
}
