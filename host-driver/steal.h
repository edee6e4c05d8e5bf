/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * steal.h - on which pCPU each chosen vCPU ran last, and whether it is runnable
 * there while something else runs.
 */
#ifndef VMPH_STEAL_H
#define VMPH_STEAL_H

#include <linux/types.h>

struct vmph_cpu;
struct vmph_guest;
struct vmph_session;
struct vmph_vcpu;

/** vmph_steal_available() - Does this kernel have the scheduler's tracepoints? */
bool vmph_steal_available(void);

/** vmph_steal_start() - Follow the scheduler for @session. Return: 0, negative errno. */
int vmph_steal_start(struct vmph_session *session);

/** vmph_steal_stop() - When it returns no hook runs any more. */
void vmph_steal_stop(struct vmph_session *session);

/** vmph_steal_ran() - @vcpu runs on pCPU @cpu now. Any context. */
void vmph_steal_ran(struct vmph_session *session, struct vmph_vcpu *vcpu, int cpu);

/** vmph_steal_waiter() - A chosen vCPU that is runnable on @cpu but does not run, or NULL. */
struct vmph_vcpu *vmph_steal_waiter(struct vmph_cpu *cpu);

/**
 * vmph_steal_left() - Where the guest of a waiting vCPU had been when it lost its pCPU.
 * @guest: ip, cr3, cpl and flags are set if that is known; untouched else.
 * Context: any, NMI included.
 */
void vmph_steal_left(const struct vmph_vcpu *vcpu, struct vmph_guest *guest);

#endif
