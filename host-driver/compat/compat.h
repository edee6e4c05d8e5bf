/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.h - what differs between kernels, and how to reach what KVM does not
 * hand out.  Found by compile probes (Kbuild), never by version numbers.
 */
#ifndef VMPH_COMPAT_H
#define VMPH_COMPAT_H

#include <linux/kvm_host.h>
#include <linux/mm.h>
#include <linux/ptrace.h>
#include <linux/types.h>
#include <asm/msr.h>

/* Once named after a long */
#ifndef rdmsrq
#define rdmsrq(msr, value)	rdmsrl(msr, value)
#define wrmsrq(msr, value)	wrmsrl(msr, value)
#endif

#ifndef rdpmcl
#define rdpmcl(counter, value)	((value) = rdpmc(counter))
#endif

/* Kernels before these accessors had writable flags */
#ifndef VMPH_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Once private to KVM, with the same values */
#ifndef VMPH_HAVE_KVM_INTR_TYPE
enum {
	KVM_HANDLING_IRQ = 1,
	KVM_HANDLING_NMI,
};
#endif

/* A nested guest runs: KVM's is_guest_mode() */
static inline bool vmph_is_nested(const struct kvm_vcpu *vcpu)
{
	return READ_ONCE(vcpu->arch.hflags) & HF_GUEST_MASK;
}

/* Is it a TD's (TDX), debugged or not?  Kernels before this type have none. */
static inline bool vmph_is_td(const struct kvm_vcpu *vcpu)
{
#ifdef KVM_X86_TDX_VM
	return vcpu->kvm->arch.vm_type == KVM_X86_TDX_VM;
#else
	return false;
#endif
}

/*
 * vmph_running_vcpu(): the vCPU that is loaded on this pCPU, or NULL; any
 * context, between _get() and _put() of it.
 */
#ifdef VMPH_HAVE_RUNNING_VCPU
static inline int vmph_running_vcpu_get(void)
{
	return 0;
}

static inline void vmph_running_vcpu_put(void)
{
}

static inline struct kvm_vcpu *vmph_running_vcpu(void)
{
	return kvm_get_running_vcpu();
}
#else
int vmph_running_vcpu_get(void);	/* sleeps; 0 or -ENODEV, which is logged */
void vmph_running_vcpu_put(void);
struct kvm_vcpu *vmph_running_vcpu(void);
#endif

#ifdef VMPH_HAVE_UNWINDER
void vmph_kernel_callers(struct pt_regs *regs, u64 callers[2]);
#else
static inline void vmph_kernel_callers(struct pt_regs *regs, u64 callers[2])
{
}
#endif

struct module;

/** vmph_module_get() - A loaded module by name, held; or NULL. Put by module_put(). Sleeps. */
struct module *vmph_module_get(const char *name);

struct vmph_text;

/** vmph_module_text() - Where the code of a module is that is held. */
void vmph_module_text(const struct module *mod, struct vmph_text *text);

/*
 * Hooks at VM entry and exit, with preemption off: @on registers one, else it is taken away, and
 * when that returns it runs no more.  Sleep.  Return: 0, negative errno.
 */
typedef void vmph_kvm_hook(void *data, struct kvm_vcpu *vcpu);

#ifdef VMPH_HAVE_KVM_TRACE
static inline bool vmph_kvm_trace_available(void)
{
	return true;
}

int vmph_kvm_trace_entry(vmph_kvm_hook *hook, void *data, bool on);
int vmph_kvm_trace_exit(vmph_kvm_hook *hook, void *data, bool on);
#else
static inline bool vmph_kvm_trace_available(void)
{
	return false;
}

static inline int vmph_kvm_trace_entry(vmph_kvm_hook *hook, void *data, bool on)
{
	return -EOPNOTSUPP;
}

static inline int vmph_kvm_trace_exit(vmph_kvm_hook *hook, void *data, bool on)
{
	return -EOPNOTSUPP;
}
#endif

/** vmph_kvm_vendor() - VMPROF_VENDOR_* of the vendor module that is loaded. Sleeps. */
u8 vmph_kvm_vendor(void);

/** vmph_kvm_mediated_pmu() - Does KVM hand the PMU over to its guests? Sleeps. */
bool vmph_kvm_mediated_pmu(void);

/**
 * vmph_btf_check() - Is a member where we think it is, by the module's own types?
 * @module: whose BTF is asked; @type, @member: a struct and its member;
 * @offset: where it should be, in bytes.
 *
 * Return: 0, also where the kernel has no BTF to ask; -ENODEV if it is
 * elsewhere or missing, which is logged.
 */
int vmph_btf_check(const char *module, const char *type, const char *member, u32 offset);

#endif
