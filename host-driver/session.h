/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - one open /dev/vmprof: its configuration, its pCPUs, its state.
 *
 * session->lock guards state and config; the counters of one pCPU are guarded
 * by its own lock, since CPU hotplug comes and goes on its own.  What the NMI
 * path uses is set up before the counters are armed and freed after they are
 * gone, and needs no lock.
 */
#ifndef VMPH_SESSION_H
#define VMPH_SESSION_H

#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/wait.h>
#include "clock.h"
#include "counters.h"
#include "lbr.h"
#include "ring.h"
#include "ringmem.h"
#include "task.h"
#include "vms.h"

struct vmph_session;

/* One pCPU in a session */
struct vmph_cpu {
	struct vmph_session *session;
	unsigned int cpu;

	/* written on this pCPU by the sampler */
	struct vmph_ring ring;
	struct vmph_clocks clocks;
	struct vmph_vcpu *sampled;	/* the last sample's: a hint */
	struct vmph_tasks_seen tasks;
	struct irq_work wake;
	struct vmph_branches branches;	/* before the overflow being recorded */
	const struct task_struct *inside;	/* between VM entry and exit, by lbr.c's hooks */
	struct vmph_lbr_nmi nmi;		/* what ended the run before, where KVM is late with it */
	u64 entered_cr3;		/* the guest's at the last entry */
	bool lbr_armed;			/* the record is on, by us */
	u64 lbr_select;			/* then: its filter before that */
	struct vmph_lbr_kept kept;	/* from VM exit to entry */

	/* written by the scheduler's hooks, any pCPU */
	atomic_t home;			/* chosen vCPUs that ran here last */
	atomic_t waiting;		/* chosen vCPUs that are runnable here */
	struct vmph_vcpu *waiter;	/* one of them, maybe: a hint */

	struct mutex lock;		/* guards counters */
	struct vmph_counters counters;
	struct vmph_ringmem mem;
};

enum vmph_state {
	VMPH_OPEN = 0,		/* no configuration yet */
	VMPH_READY,		/* configured; never started, or stopped */
	VMPH_RUNNING,
};

struct vmph_session {
	struct mutex lock;
	enum vmph_state state;
	bool all;			/* every VM */
	bool started;			/* START has succeeded once */
	struct perf_event_attr attr;	/* of the sampling events */
	struct perf_event_attr second;	/* instructions; sample_period 0: not sampled */
	bool random;			/* periods are drawn; sample_period is their mean */
	bool split;			/* guest and host have one each */
	bool timer;			/* attr is the cpu-clock */
	bool want_counts;		/* cycles and instructions beside it */
	bool steal;			/* the scheduler's hooks are in place */
	struct vmph_lbr lbr;
	u32 ring_bytes;
	u32 wake_bytes;
	struct vmph_vms vms;
	struct vmph_tasks __rcu *tasks[VMPH_VMS_NR];	/* by slot in vms */
	struct vmph_cpu **cpus;		/* nr_cpu_ids; NULL where not possible */

	wait_queue_head_t wait;
	u32 sleeping;			/* a reader may sleep in poll() */
};

/** vmph_session_create() - A session without configuration. Return: 0, -ENOMEM. */
int vmph_session_create(struct vmph_session **session);

/** vmph_session_destroy() - Stop it if it runs, and free it. */
void vmph_session_destroy(struct vmph_session *session);

/**
 * vmph_session_config() - Check and take a configuration, allocate the rings.
 * @config: In kernel memory; vms has been copied to @vms.
 * Return: as VMPROF_IOC_CONFIG.
 */
int vmph_session_config(struct vmph_session *session, const struct vmprof_config *config,
			const u32 *vms);

/** vmph_session_start() - Arm the counters. Return: as VMPROF_IOC_START. */
int vmph_session_start(struct vmph_session *session);

/** vmph_session_stop() - When it returns no record is being written. */
void vmph_session_stop(struct vmph_session *session);

/** vmph_session_stats() - Fill @stats for stats->cpu. Return: 0, -EINVAL. */
int vmph_session_stats(struct vmph_session *session, struct vmprof_cpu_stats *stats);

/** vmph_session_guest_lack() - As vmprof_query.guest_lack. Sleeps. */
u32 vmph_session_guest_lack(void);

/** vmph_session_tasks() - Take @told. Return: as VMPROF_IOC_TASKS. */
int vmph_session_tasks(struct vmph_session *session, const struct vmprof_tasks *told);

/** vmph_session_add_vm() - Choose a VM more. Return: as VMPROF_IOC_ADD_VM. */
int vmph_session_add_vm(struct vmph_session *session, u32 vm);

/** vmph_session_has_rings() - CONFIG has succeeded; from then on cpus stays until the end. */
static inline bool vmph_session_has_rings(struct vmph_session *session)
{
	return smp_load_acquire(&session->state) != VMPH_OPEN;	/* pairs with CONFIG's release */
}

/** vmph_session_readable() - Has a reader that will sleep otherwise something to do? */
bool vmph_session_readable(struct vmph_session *session);

/** vmph_session_wake() - Wake the reader where it may sleep. Any context. */
void vmph_session_wake(struct vmph_cpu *cpu);

#endif
