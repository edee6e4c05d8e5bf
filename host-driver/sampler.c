// SPDX-License-Identifier: GPL-2.0-only
/*
 * sampler.c - from a counter's overflow to a record in the ring.
 *
 * NMI rules.  Everything reachable from the two handlers runs in NMI context,
 * on any interrupted code: scheduler, KVM, page faults, other modules.  So:
 *   - no locks, no allocation, no printk, no sleeping, no RCU waiting;
 *   - memory that a user can unmap is only read by copy_from_user_nmi(), or by
 *     what task.h has in its place; memory that may not be there by
 *     copy_from_kernel_nofault();
 *   - what is shared with other contexts is one word, read and written whole;
 *     tables are bounded and claimed by cmpxchg;
 *   - the ring belongs to this pCPU; the reader is woken through irq_work;
 *   - what could not be recorded is counted by cause.
 * perf calls the handler from ordinary instrumentable code, after NMI entry is
 * done, so nothing here needs to be noinstr.  With the timer trigger it runs in
 * a hard interrupt; the same rules hold.
 */
#include <linux/kvm_host.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <asm/msr.h>
#include <asm/ptrace.h>
#include "compat/compat.h"
#include "guest.h"
#include "sampler.h"
#include "session.h"
#include "stack.h"
#include "steal.h"
#include "tasks.h"

/* What an overflow hit */
struct vmph_view {
	const struct perf_event_attr *attr;	/* of the event that overflowed */
	struct vmph_trigger *trigger;	/* that it is one of */
	struct kvm_vcpu *loaded;	/* on this pCPU, or NULL */
	struct kvm_vcpu *vcpu;	/* the same, if its state is in guest */
	struct vmph_guest guest;
	const struct vmph_task *task;	/* of the guest; NULL: not looked for */
	struct vmph_vcpu *known;	/* the current thread, if it is known to be a vCPU's */
	int slot;		/* of the chosen VM */
	u32 vm;
	u32 vcpu_tid;
	u32 flags;
	u8 mode;
};

/*
 * Whose overflow?  An event that counts one side only knows.  Where there is
 * one event for both, how the guest's run ended has to do.
 */
static bool vmph_hit_guest(const struct vmph_view *view)
{
	if (view->attr->exclude_host || view->attr->exclude_guest)
		return view->attr->exclude_host;
	return view->guest.in_guest;
}

/* Which of the guest's tasks ran, where that is told; of a nested guest nothing is. */
static void vmph_look_task(struct vmph_cpu *cpu, struct vmph_view *view)
{
	const struct vmph_tasks *tasks = vmph_tasks_find(cpu->session, view->slot);

	if (tasks && !(view->guest.flags & VMPROF_SF_NESTED))
		view->task = vmph_task_look(tasks, &cpu->tasks, view->vcpu->vcpu_id);
}

/*
 * Whose it is, and what it was left for.  KVM handles the exit that an NMI made: the guest's overflow did, or
 * what came before.  Else this one of the host's did itself: it was held back on the way into the guest.
 */
static void vmph_look_exit(struct vmph_cpu *cpu, struct vmph_view *view)
{
	struct vmph_counters *ctr = &cpu->counters;
	u64 exits = view->loaded->stat.exits;

	if (vmph_hit_guest(view)) {
		view->mode = VMPROF_MODE_GUEST;
		ctr->main.ended = ctr->second.ended = exits;
	} else if (view->guest.in_guest && view->trigger->ended != exits) {
		view->trigger->ended = exits;
		if (!vmph_counters_guest_due(ctr))
			view->guest.exit_reason = VMPROF_EXIT_ENTRY;
	}
}

/* A task of a chosen VM's QEMU. Return: false when it was lost. */
static __always_inline bool vmph_look_vmm(struct vmph_cpu *cpu, struct pt_regs *regs, struct vmph_view *view)
{
	struct vmph_vcpu *known = view->known;
	int err;

	view->vm = current->tgid;
	view->mode = user_mode(regs) ? VMPROF_MODE_VMM_USER : VMPROF_MODE_VMM_KERNEL;
	if (!view->loaded || user_mode(regs))
		return true;
	if (!known) {
		known = vmph_vcpu_learn(&cpu->session->vms, current->tgid, current->pid);
		if (!known)
			return false;		/* the table of vCPUs is full */
		WRITE_ONCE(cpu->sampled, known);
	}
	vmph_steal_ran(cpu->session, known, cpu->cpu);
	err = vmph_guest_read(view->loaded, &known->verified, view->flags & VMPROF_SF_IRQ_NMI,
			      &view->guest);
	if (err == -ENODATA) {
		view->guest = (struct vmph_guest){ 0 };
		return true;
	}
	if (err)
		return false;
	view->vcpu = view->loaded;
	view->vcpu_tid = current->pid;
	view->flags |= VMPROF_SF_VCPU | view->guest.flags;
	vmph_look_exit(cpu, view);
	vmph_look_task(cpu, view);
	return true;
}

/* It is steal to this vCPU. */
static void vmph_take_waiter(struct vmph_view *view, const struct vmph_vcpu *waiter)
{
	view->flags |= VMPROF_SF_STEAL;
	view->vm = READ_ONCE(waiter->vm);
	view->vcpu_tid = atomic_read(&waiter->tid);
	vmph_steal_left(waiter, &view->guest);
	view->flags |= view->guest.flags;
}

/* Any other task. Return: false when it is none of the session's business. */
static bool vmph_look_other(struct vmph_cpu *cpu, struct pt_regs *regs, struct vmph_view *view)
{
	struct vmph_vcpu *waiter;

	if (is_idle_task(current)) {
		view->mode = VMPROF_MODE_IDLE;
		/* a clock ticks in idle too: nothing happened */
		return !cpu->session->timer && atomic_read(&cpu->home) > 0;
	}
	view->mode = user_mode(regs) ? VMPROF_MODE_OTHER_USER : VMPROF_MODE_OTHER_KERNEL;
	waiter = vmph_steal_waiter(cpu);
	if (waiter)
		vmph_take_waiter(view, waiter);
	return waiter || atomic_read(&cpu->home) > 0;
}

static void vmph_fill_host(struct vmprof_sample *s, const struct vmph_view *view,
			   struct pt_regs *regs)
{
	s->host_ip = instruction_pointer(regs);
	s->host_return_ip[0] = 0;
	s->host_return_ip[1] = 0;
	s->host_pid = current->tgid;
	s->host_tid = current->pid;
	if (view->mode != VMPROF_MODE_GUEST && view->mode != VMPROF_MODE_IDLE)
		vmph_stack_callers(regs, s->host_return_ip);
}

/* All is 0 in the view of what runs no vCPU; with steal, some is of the one that waits */
static void vmph_fill_guest(struct vmprof_sample *s, const struct vmph_view *view)
{
	const struct vmph_guest *guest = &view->guest;
	const struct vmph_task *task = view->task;

	s->vm = view->vm;
	s->vcpu_tid = view->vcpu_tid;
	s->vcpu = view->vcpu ? view->vcpu->vcpu_id : 0;
	s->flags = view->flags;
	s->mode = view->mode;
	s->cpl = guest->cpl;
	s->vendor = view->vcpu ? vmph_guest_vendor() : 0;
	s->guest_task = task ? task->state : VMPROF_TASK_OFF;
	s->guest_tid = s->guest_task == VMPROF_TASK_KNOWN ? task->tid : 0;
	s->guest_ip = guest->ip;
	s->guest_cr3 = guest->cr3;
	s->exit_reason = guest->exit_reason;
	s->exit_intr_info = guest->exit_intr_info;
	s->exit_info1 = guest->exit_info1;
	s->exit_info2 = guest->exit_info2;
}

/* @branches: NULL for none; sample and branches get in together, or neither does */
static void vmph_record(struct vmph_cpu *cpu, u16 type, const struct vmph_view *view,
			struct pt_regs *regs, u64 tsc, u64 cycles, u64 instructions,
			const struct vmph_branches *branches)
{
	u8 format = cpu->session->lbr.format;
	u16 more = branches ? vmph_branches_bytes(branches, format) : 0;
	struct vmprof_sample *s;

	/* a sample whose clock or task did not fit would be of no time, or of nobody: one loss, not two */
	if ((view->vcpu && vmph_clock_note(&cpu->clocks, &cpu->ring, tsc, view->vm,
					   view->vcpu_tid, view->vcpu)) ||
	    (view->task && vmph_task_note(&cpu->tasks, &cpu->ring, tsc, view->vm, view->task)) ||
	    vmph_ring_reserve(&cpu->ring, type, sizeof(*s) + more, tsc, (void **)&s)) {
		vmph_session_wake(cpu);
		return;
	}
	if (more)
		vmph_branches_write(branches, format, tsc,
				    vmph_ring_split(&cpu->ring, s, sizeof(*s), VMPROF_REC_LBR));
	s->tsc = tsc;
	vmph_fill_host(s, view, regs);
	vmph_fill_guest(s, view);
	s->cycles = cycles;
	s->instructions = instructions;
	if (vmph_ring_commit(&cpu->ring))
		vmph_session_wake(cpu);
}

/*
 * A chosen VM ran, or its QEMU did, while another chosen VM's vCPU waited for
 * this pCPU: to that one it is steal, which takes a record of its own.
 */
static void vmph_record_neighbour(struct vmph_cpu *cpu, const struct vmph_vcpu *waiter,
				  struct pt_regs *regs, u64 tsc, u32 flags)
{
	struct vmph_view view = {
		.flags = flags & (VMPROF_SF_IRQ_NMI | VMPROF_SF_TIMER),
		.mode = user_mode(regs) ? VMPROF_MODE_OTHER_USER : VMPROF_MODE_OTHER_KERNEL,
	};

	if (READ_ONCE(waiter->vm) == current->tgid)
		return;
	vmph_take_waiter(&view, waiter);
	vmph_record(cpu, VMPROF_REC_SAMPLE, &view, regs, tsc, 0, 0, NULL);
}

/* The branches before it; NULL where none are wanted, or nothing happened */
static const struct vmph_branches *vmph_look_branches(struct vmph_cpu *cpu,
						      const struct perf_sample_data *data,
						      const struct vmph_view *view)
{
	bool guest = view->mode == VMPROF_MODE_GUEST;

	if (!cpu->session->lbr.branches || view->mode == VMPROF_MODE_IDLE)
		return NULL;
	/* an interrupt that came late, with another exit, froze branches of the host's */
	vmph_lbr_read(cpu, data, guest && view->guest.in_guest, !guest, view->guest.cr3);
	return &cpu->branches;
}

static void vmph_begin(struct vmph_cpu *cpu, struct vmph_trigger *trigger, struct perf_event *event,
		       struct vmph_view *view)
{
	struct vmprof_producer *page = cpu->ring.producer;

	WRITE_ONCE(page->interrupts, page->interrupts + 1);
	WRITE_ONCE(trigger->interrupts, trigger->interrupts + 1);
	vmph_counters_next(&cpu->counters, trigger, event, cpu->session->random);
	if (in_nmi())
		view->flags |= VMPROF_SF_IRQ_NMI;
}

static void vmph_filtered(struct vmph_cpu *cpu)
{
	struct vmprof_producer *page = cpu->ring.producer;

	WRITE_ONCE(page->filtered, page->filtered + 1);
}

/* Is the current task one of a chosen VM's QEMU?  Mostly it is the last sample's. */
static __always_inline bool vmph_is_vmm(struct vmph_cpu *cpu, struct vmph_view *view)
{
	struct vmph_vcpu *sampled = READ_ONCE(cpu->sampled);
	struct vmph_session *session = cpu->session;

	if (sampled && vmph_vcpu_is(sampled, current->tgid, current->pid)) {
		view->known = sampled;
		view->slot = READ_ONCE(sampled->slot);
		return true;
	}
	if (session->all && view->loaded)
		vmph_vms_add(&session->vms, current->tgid);
	view->slot = vmph_vms_slot(&session->vms, current->tgid);
	return view->slot >= 0;
}

/* Without SVM on, the guest's event counts the host: that one has its own */
static bool vmph_stray(const struct vmph_view *view)
{
	return view->attr->exclude_host && !view->loaded;
}

void vmph_on_overflow(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	struct vmph_cpu *cpu = event->overflow_handler_context;
	struct vmph_session *session = cpu->session;
	u64 cycles = 0, instructions = 0, tsc = rdtsc();
	struct vmph_view view = { .attr = &event->attr, .trigger = &cpu->counters.main, .loaded = vmph_running_vcpu() };
	struct vmph_vcpu *waiter;

	vmph_begin(cpu, &cpu->counters.main, event, &view);
	if (session->timer)
		view.flags |= VMPROF_SF_TIMER;
	if (vmph_counters_delta(&cpu->counters, event, &cycles, &instructions))
		view.flags |= VMPROF_SF_COUNTS;

	if (vmph_stray(&view)) {
		vmph_filtered(cpu);
		return;
	}
	if (vmph_is_vmm(cpu, &view)) {
		if (!vmph_look_vmm(cpu, regs, &view)) {
			vmph_ring_lose(&cpu->ring, VMPROF_LOST_STATE, 1);
			return;
		}
		waiter = vmph_steal_waiter(cpu);
		if (waiter)
			vmph_record_neighbour(cpu, waiter, regs, tsc, view.flags);
	} else if (!vmph_look_other(cpu, regs, &view)) {
		vmph_filtered(cpu);
		return;
	}
	vmph_record(cpu, VMPROF_REC_SAMPLE, &view, regs, tsc, cycles, instructions,
		    vmph_look_branches(cpu, data, &view));
}

void vmph_on_instructions(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	struct vmph_cpu *cpu = event->overflow_handler_context;
	struct vmph_view view = { .attr = &event->attr, .trigger = &cpu->counters.second, .loaded = vmph_running_vcpu() };
	u64 tsc = rdtsc();

	vmph_begin(cpu, &cpu->counters.second, event, &view);
	if (vmph_stray(&view) || !vmph_is_vmm(cpu, &view))
		vmph_filtered(cpu);
	else if (!vmph_look_vmm(cpu, regs, &view))
		vmph_ring_lose(&cpu->ring, VMPROF_LOST_STATE, 1);
	else
		vmph_record(cpu, VMPROF_REC_INSTRUCTIONS, &view, regs, tsc, 0, 0,
			    vmph_look_branches(cpu, data, &view));
}
