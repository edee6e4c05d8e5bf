// SPDX-License-Identifier: GPL-2.0-only
/*
 * steal.c - follows the scheduler while a session runs.
 *
 * The hooks run under the run queue's lock with interrupts off; an NMI may come
 * in between.  So every change of a vCPU's place is one exchange, and counts
 * follow what the exchange returned.
 */
#include <linux/errno.h>
#include <linux/kvm_host.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>
#include "compat/compat.h"
#include "guest.h"
#include "session.h"
#include "steal.h"

/* @vcpu waits on pCPU @to, or nowhere (-1) */
static void vmph_steal_waits(struct vmph_session *session, struct vmph_vcpu *vcpu, int to)
{
	int from = atomic_xchg(&vcpu->waits_on, to);

	if (from == to)
		return;
	if (from >= 0)
		atomic_dec(&session->cpus[from]->waiting);
	if (to >= 0) {
		WRITE_ONCE(session->cpus[to]->waiter, vcpu);
		atomic_inc(&session->cpus[to]->waiting);
	}
}

void vmph_steal_home(struct vmph_session *session, struct vmph_vcpu *vcpu, int to)
{
	int from = atomic_xchg(&vcpu->last_cpu, to);

	if (from == to)
		return;
	if (from >= 0)
		atomic_dec(&session->cpus[from]->home);
	if (to >= 0)
		atomic_inc(&session->cpus[to]->home);
}

struct vmph_vcpu *vmph_steal_search(struct vmph_cpu *cpu)
{
	struct vmph_vms *vms = &cpu->session->vms;
	struct vmph_vcpu *vcpu = READ_ONCE(cpu->waiter);
	unsigned int i;

	if (vcpu && atomic_read(&vcpu->waits_on) == cpu->cpu)
		return vcpu;
	/* the one that came last has gone, an earlier one has not */
	for (i = 0; i < VMPH_VCPUS_NR; i++) {
		vcpu = &vms->vcpu[i];
		if (atomic_read(&vcpu->waits_on) == cpu->cpu) {
			WRITE_ONCE(cpu->waiter, vcpu);
			return vcpu;
		}
	}
	return NULL;
}

/* The vCPU's thread leaves this pCPU; @loaded is NULL while it is in QEMU */
static void vmph_steal_leave(struct vmph_vcpu *vcpu, struct kvm_vcpu *loaded)
{
	struct vmph_left *left = &vcpu->left;
	struct vmph_guest guest = { 0 };

	if (!loaded || vmph_guest_read(loaded, &vcpu->verified, false, &guest))
		guest = (struct vmph_guest){ 0 };
	WRITE_ONCE(left->seq, left->seq + 1);
	smp_wmb();	/* odd before anything else is seen */
	WRITE_ONCE(left->ip, guest.ip);
	WRITE_ONCE(left->cr3, guest.cr3);
	WRITE_ONCE(left->cpl, guest.cpl);
	WRITE_ONCE(left->flags, guest.flags);
	smp_wmb();	/* even after everything else */
	WRITE_ONCE(left->seq, left->seq + 1);
}

void vmph_steal_left(const struct vmph_vcpu *vcpu, struct vmph_guest *guest)
{
	const struct vmph_left *left = &vcpu->left;
	u32 seq = READ_ONCE(left->seq);
	struct vmph_left copy;

	smp_rmb();	/* pairs with those of vmph_steal_leave() */
	copy.ip = READ_ONCE(left->ip);
	copy.cr3 = READ_ONCE(left->cr3);
	copy.cpl = READ_ONCE(left->cpl);
	copy.flags = READ_ONCE(left->flags);
	smp_rmb();
	/* being written: the vCPU has run since, and this is not where it waits */
	if ((seq & 1) || READ_ONCE(left->seq) != seq)
		return;
	guest->ip = copy.ip;
	guest->cr3 = copy.cr3;
	guest->cpl = copy.cpl;
	guest->flags = copy.flags;
}

static struct vmph_vcpu *vmph_steal_find(struct vmph_session *session, struct task_struct *task)
{
	return vmph_vcpu_find(&session->vms, task->tgid, task->pid);
}

static void vmph_on_sched_switch(void *data, bool preempt, struct task_struct *prev,
				 struct task_struct *next, unsigned int prev_state)
{
	struct vmph_session *session = data;
	int cpu = raw_smp_processor_id();
	/* KVM puts the vCPU of a preempted thread away only after this */
	struct kvm_vcpu *loaded = vmph_running_vcpu();
	struct vmph_vcpu *vcpu;

	vmph_lbr_switched(session->cpus[cpu]);
	if (loaded)
		vcpu = vmph_vcpu_learn(&session->vms, prev->tgid, prev->pid);
	else
		vcpu = vmph_steal_find(session, prev);
	if (vcpu && (prev_state & TASK_DEAD)) {
		vmph_steal_waits(session, vcpu, -1);
		vmph_steal_home(session, vcpu, -1);
		atomic_set(&vcpu->tid, VMPH_TID_GONE);
	} else if (vcpu) {
		vmph_steal_ran(session, vcpu, cpu);
		vmph_steal_leave(vcpu, loaded);
		if (preempt || prev_state == TASK_RUNNING)
			vmph_steal_waits(session, vcpu, cpu);
	}
	vcpu = vmph_steal_find(session, next);
	if (vcpu) {
		vmph_steal_waits(session, vcpu, -1);
		vmph_steal_ran(session, vcpu, cpu);
	}
}

static void vmph_on_sched_wakeup(void *data, struct task_struct *task)
{
	struct vmph_vcpu *vcpu = vmph_steal_find(data, task);

	/* one that had not gone to sleep yet still runs */
	if (vcpu && !READ_ONCE(task->on_cpu))
		vmph_steal_waits(data, vcpu, task_cpu(task));
}

static void vmph_on_sched_migrate_task(void *data, struct task_struct *task, int dest_cpu)
{
	struct vmph_vcpu *vcpu = vmph_steal_find(data, task);

	if (vcpu && atomic_read(&vcpu->waits_on) >= 0)
		vmph_steal_waits(data, vcpu, dest_cpu);
}

static struct vmph_hook {
	const char *name;
	void *probe;
	struct tracepoint *tp;
} vmph_hooks[] = {
	{ .name = "sched_switch", .probe = vmph_on_sched_switch },
	{ .name = "sched_wakeup", .probe = vmph_on_sched_wakeup },
	{ .name = "sched_migrate_task", .probe = vmph_on_sched_migrate_task },
};

/* The tracepoints are not exported by name; this fails to compile when a prototype changes */
static inline void vmph_check_prototypes(void)
{
	check_trace_callback_type_sched_switch(vmph_on_sched_switch);
	check_trace_callback_type_sched_wakeup(vmph_on_sched_wakeup);
	check_trace_callback_type_sched_migrate_task(vmph_on_sched_migrate_task);
}

static void vmph_match_hook(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmph_hooks); i++)
		if (!strcmp(tp->name, vmph_hooks[i].name))
			vmph_hooks[i].tp = tp;
}

bool vmph_steal_available(void)
{
	unsigned int i;

	vmph_check_prototypes();
	for_each_kernel_tracepoint(vmph_match_hook, NULL);
	for (i = 0; i < ARRAY_SIZE(vmph_hooks); i++)
		if (!vmph_hooks[i].tp)
			return false;
	return true;
}

int vmph_steal_start(struct vmph_session *session)
{
	unsigned int i;
	int err;

	if (!vmph_steal_available())
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(vmph_hooks); i++) {
		err = tracepoint_probe_register(vmph_hooks[i].tp, vmph_hooks[i].probe, session);
		if (err)
			goto unregister;
	}
	return 0;

unregister:
	while (i--)
		tracepoint_probe_unregister(vmph_hooks[i].tp, vmph_hooks[i].probe, session);
	tracepoint_synchronize_unregister();
	return err;
}

void vmph_steal_stop(struct vmph_session *session)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmph_hooks); i++)
		tracepoint_probe_unregister(vmph_hooks[i].tp, vmph_hooks[i].probe, session);
	tracepoint_synchronize_unregister();
}
