/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steal.h - on which pCPU each chosen vCPU ran last, and whether it is runnable
 * there while something else runs.
 */
#ifndef VMPH_STEAL_H
#define VMPH_STEAL_H

#include <linux/types.h>
#include "session.h"

struct vmph_guest;

/** vmph_steal_available() - Does this kernel have the scheduler's tracepoints? */
bool vmph_steal_available(void);

/** vmph_steal_start() - Follow the scheduler for @session. Return: 0, negative errno. */
int vmph_steal_start(struct vmph_session *session);

/** vmph_steal_stop() - When it returns no hook runs any more. */
void vmph_steal_stop(struct vmph_session *session);

/** vmph_steal_home() - @vcpu's home is pCPU @to from now on, or none (-1). Any context. */
void vmph_steal_home(struct vmph_session *session, struct vmph_vcpu *vcpu, int to);

/** vmph_steal_ran() - @vcpu runs on pCPU @cpu now. Any context. */
static inline void vmph_steal_ran(struct vmph_session *session, struct vmph_vcpu *vcpu, int cpu)
{
	if (atomic_read(&vcpu->last_cpu) != cpu)
		vmph_steal_home(session, vcpu, cpu);
}

/** vmph_steal_search() - As vmph_steal_waiter(), where some vCPU waits. */
struct vmph_vcpu *vmph_steal_search(struct vmph_cpu *cpu);

/** vmph_steal_waiter() - A chosen vCPU that is runnable on @cpu but does not run, or NULL. Any context. */
static inline struct vmph_vcpu *vmph_steal_waiter(struct vmph_cpu *cpu)
{
	return atomic_read(&cpu->waiting) > 0 ? vmph_steal_search(cpu) : NULL;
}

/**
 * vmph_steal_left() - Where the guest of a waiting vCPU had been when it lost its pCPU.
 * @guest: ip, cr3, cpl and flags are set if that is known; untouched else.
 * Context: any, NMI included.
 */
void vmph_steal_left(const struct vmph_vcpu *vcpu, struct vmph_guest *guest);

#endif
