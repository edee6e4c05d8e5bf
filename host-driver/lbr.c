// SPDX-License-Identifier: GPL-2.0-only
/*
 * lbr.c - last branch records: what is there, the hooks at VM entry and exit, the reading.
 *
 * The hooks come before the counters and go after them.  They run with preemption off, each on
 * the pCPU that enters or has left the guest.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kvm_host.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "compat/compat.h"
#include "counters.h"
#include "guest.h"
#include "lbr.h"
#include "session.h"
#include "steal.h"

#define VMPH_GIVE_BACK_MS	2000	/* patience with vCPUs that are on their way out */

/* ------------------------------------------------------- what is there */

void vmph_lbr_attr(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	attr->branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER |
				   PERF_SAMPLE_BRANCH_KERNEL;
}

void vmph_lbr_filter(struct perf_event *event, u32 branches)
{
	vmph_lbr_intel_filter(event, branches);
}

bool vmph_lbr_by_perf(const struct vmph_lbr *lbr)
{
	return lbr->branches && vmph_kvm_vendor() != VMPROF_VENDOR_SVM;
}

int vmph_lbr_arm(struct vmph_cpu *cpu)
{
	const struct vmph_lbr *lbr = &cpu->session->lbr;

	if (!lbr->branches || vmph_guest_vendor() != VMPROF_VENDOR_SVM)
		return 0;
	cpu->lbr_armed = !vmph_lbr_amd_arm(lbr->branches, &cpu->lbr_select);
	return cpu->lbr_armed ? 0 : -EBUSY;
}

void vmph_lbr_disarm(struct vmph_cpu *cpu)
{
	if (cpu->lbr_armed)
		vmph_lbr_amd_disarm(cpu->session->lbr.branches, cpu->lbr_select);
	cpu->lbr_armed = false;
}

static u32 vmph_lbr_lack_here(u8 *entries, bool *cycles)
{
	u8 vendor = vmph_kvm_vendor();
	struct perf_event_attr attr;
	u32 lack;

	if (vendor == VMPROF_VENDOR_NONE || !vmph_kvm_trace_available() || !vmph_steal_available())
		return VMPROF_LBR_LACK_KVM;
	lack = vendor == VMPROF_VENDOR_SVM ? vmph_lbr_amd_lack(entries, cycles) :
					     vmph_lbr_intel_lack(entries, cycles);
	if (lack)
		return lack;
	vmph_counters_attr(&attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000);
	vmph_lbr_attr(&attr);
	return vmph_counters_try(&attr) ? VMPROF_LBR_LACK_PERF : VMPROF_LBR_LACK_NONE;
}

u32 vmph_lbr_lack(u8 *entries, bool *cycles)
{
	u32 lack = vmph_lbr_lack_here(entries, cycles);

	if (lack) {
		*entries = 0;
		*cycles = false;
	}
	return lack;
}

/* ----------------------------------------------------------- the hooks */

static u64 vmph_lbr_exchange(u64 from)
{
	return vmph_guest_vendor() == VMPROF_VENDOR_SVM ? vmph_lbr_amd_exchange(from) :
							  vmph_lbr_intel_exchange(from);
}

void vmph_lbr_switched(struct vmph_cpu *cpu)
{
	if (cpu->session->lbr.branches)
		vmph_lbr_exchange(VMPH_BRANCH_MARK);
}

/* Go on where the vCPU's last run ended, if nothing can be between; else mark the boundary */
static void vmph_lbr_enter(struct vmph_cpu *cpu, struct kvm_vcpu *vcpu)
{
	u64 cr3 = vmph_guest_cr3(vcpu);
	bool same = cpu->kept.vcpu == vcpu && cpu->kept.put_tsc == vcpu->arch.last_host_tsc &&
		    vmph_same_space(cpu->entered_cr3, cr3);

	vmph_lbr_exchange(same ? cpu->kept.from : VMPH_BRANCH_MARK);
	cpu->kept.vcpu = NULL;
	cpu->nmi = (struct vmph_lbr_nmi){ NULL };
	cpu->entered_cr3 = cr3;
}

static void vmph_lbr_leave(struct vmph_cpu *cpu, struct kvm_vcpu *vcpu)
{
	u64 from = vmph_lbr_exchange(VMPH_BRANCH_MARK);

	if (!vmph_branches_go_on(cpu->session->lbr.branches, cpu->session->lbr.format))
		return;
	cpu->kept.vcpu = vcpu;
	cpu->kept.put_tsc = vcpu->arch.last_host_tsc;
	cpu->kept.from = from;
}

/* The NMI for which the run's end was left without a mark has read its branches */
static void vmph_lbr_nmi_came(struct vmph_cpu *cpu)
{
	struct kvm_vcpu *vcpu = cpu->nmi.waits;

	if (!vcpu)
		return;
	vmph_lbr_leave(cpu, vcpu);
	WRITE_ONCE(cpu->inside, NULL);
	cpu->nmi = (struct vmph_lbr_nmi){ .came = true };
}

static void vmph_on_kvm_entry(void *data, struct kvm_vcpu *vcpu)
{
	struct vmph_session *session = data;
	struct vmph_cpu *cpu = session->cpus[smp_processor_id()];

	if (vmph_guest_lend_freeze(vcpu))
		atomic_inc(&session->lbr.lent);
	WRITE_ONCE(cpu->inside, current);
	vmph_lbr_enter(cpu, vcpu);
}

static void vmph_on_kvm_exit(void *data, struct kvm_vcpu *vcpu)
{
	struct vmph_session *session = data;
	struct vmph_cpu *cpu = session->cpus[smp_processor_id()];

	if (vmph_guest_vendor() == VMPROF_VENDOR_VMX && vmph_vmx_nmi_waits()) {
		cpu->nmi.waits = vcpu;
	} else {
		vmph_lbr_leave(cpu, vcpu);
		WRITE_ONCE(cpu->inside, NULL);
	}
	if (vmph_guest_take_freeze(vcpu))
		atomic_dec(&session->lbr.lent);
}

int vmph_lbr_start(struct vmph_session *session)
{
	struct module *vendor;
	int err;

	if (!session->lbr.branches)
		return 0;
	if (!session->steal)
		return -EOPNOTSUPP;	/* nothing would tell of switches between tasks */
	atomic_set(&session->lbr.lent, 0);
	vendor = vmph_module_get(vmph_guest_vendor() == VMPROF_VENDOR_SVM ? "kvm_amd" : "kvm_intel");
	if (!vendor)
		return -ENODEV;
	vmph_module_text(vendor, &session->lbr.host);
	module_put(vendor);
	err = vmph_kvm_trace_exit(vmph_on_kvm_exit, session, true);
	if (err)
		return err;
	err = vmph_kvm_trace_entry(vmph_on_kvm_entry, session, true);
	if (err)
		vmph_kvm_trace_exit(vmph_on_kvm_exit, session, false);
	return err;
}

static void vmph_lbr_forget(struct vmph_cpu *cpu)
{
	cpu->inside = NULL;
	cpu->kept.vcpu = NULL;
	cpu->nmi = (struct vmph_lbr_nmi){ NULL };
}

static void vmph_nothing(void *unused)
{
}

void vmph_lbr_stop(struct vmph_session *session)
{
	unsigned int ms;
	int cpu;

	if (!session->lbr.branches)
		return;
	vmph_kvm_trace_entry(vmph_on_kvm_entry, session, false);
	/* an interrupt makes a guest that runs leave; its exit gives the bits back */
	for (ms = 0; atomic_read(&session->lbr.lent) > 0 && ms < VMPH_GIVE_BACK_MS; ms++) {
		on_each_cpu(vmph_nothing, NULL, true);
		msleep(1);
	}
	vmph_kvm_trace_exit(vmph_on_kvm_exit, session, false);
	if (atomic_read(&session->lbr.lent) > 0)
		pr_warn("vmprof: %d vCPUs did not come back in time and may see a bit of ours in DEBUGCTL\n",
			atomic_read(&session->lbr.lent));
	for_each_possible_cpu(cpu)
		vmph_lbr_forget(session->cpus[cpu]);
}

/* ------------------------------------------------------------- reading */

void vmph_lbr_read(struct vmph_cpu *cpu, const struct perf_sample_data *data, bool guest,
		   bool host, u64 cr3)
{
	static const struct vmph_text none;
	const struct vmph_lbr *lbr = &cpu->session->lbr;
	struct vmph_branches *b = &cpu->branches;
	/* between the hooks: what of it ran after VMRUN, and what before, nothing tells */
	bool inside = READ_ONCE(cpu->inside) == current;
	/* behind them: KVM hands on the NMI that ended the guest's run */
	bool late = guest && (cpu->nmi.waits || cpu->nmi.came);

	b->recorded = lbr->branches;
	b->mispredicted = 0;
	b->nr = 0;
	b->cut = 0;
	b->flags = guest && !vmph_same_space(cpu->entered_cr3, cr3) ? VMPROF_LBR_SWITCHED : 0;
	if (inside || late ? !guest : !host)
		b->cut = lbr->entries;
	else if (guest && !late && vmph_guest_vendor() == VMPROF_VENDOR_VMX && !vmph_vmx_is_lent())
		b->cut = lbr->entries;	/* nothing froze it: it went on, with the host's way here */
	else if (vmph_guest_vendor() == VMPROF_VENDOR_SVM)
		vmph_lbr_amd_read(guest ? &lbr->host : &none, lbr->entries, b);
	else
		vmph_lbr_intel_read(data, guest ? &lbr->host : &none, b);
	if (late)
		vmph_lbr_nmi_came(cpu);
}
