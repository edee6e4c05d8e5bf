// SPDX-License-Identifier: GPL-2.0-only
/*
 * looks.c - what the driver is told of where guests keep their tasks.
 *
 * A guest may tell something else as often as it can write, and this process drains the rings
 * of all guests: the driver is told again only of what differs from what it has, and by a
 * guest's word not before the next tick, but at once where a conversation tells it first.
 */
#include <errno.h>

#include "collect/session.h"
#include "model/hash.h"

/* What the driver has once it was given this; 0: it does not look */
static uint64_t sum_of(const struct vmp_tasks_plan *plan)
{
	const uint64_t part[] = {
		vmp_hash_bytes(&plan->ioc, sizeof(plan->ioc)),
		vmp_hash_bytes(plan->vcpu, plan->ioc.nr_vcpus * sizeof(*plan->vcpu)),
		vmp_hash_bytes(plan->ram, plan->ioc.nr_ram * sizeof(*plan->ram)),
	};

	return plan->ioc.nr_vcpus ? vmp_hash_bytes(part, sizeof(part)) | 1 : 0;
}

void vmp_session_tasks(struct vmp_session *s, struct vmp_vm *vm)
{
	static struct vmp_tasks_plan plan;
	struct vmp_tasks *t = &vm->tasks;
	uint64_t sum;
	int err;

	t->due = 0;
	t->state = vmp_tasks_plan(t, vm->dom.pid, vm->ram, vm->nr_ram, &plan);
	if (t->state == VMP_TASKS_UNTOLD)
		t->state = vmp_tasks_untold(&vm->agent);
	sum = sum_of(&plan);
	if (sum == t->given)
		return;
	err = vmp_driver_tasks(&s->driver, &plan.ioc);
	if (!err)
		t->given = sum;
	else if (t->state == VMP_TASKS_ON)
		t->state = err == -EOPNOTSUPP ? VMP_TASKS_DRIVER : VMP_TASKS_REFUSED;
}

void vmp_session_told_tasks(struct vmp_session *s, struct vmp_vm *vm)
{
	if (vm->tasks.heard)
		vm->tasks.due = 1;
	else
		vmp_session_tasks(s, vm);
	vm->tasks.heard = 1;
}

void vmp_session_tick_tasks(struct vmp_session *s, struct vmp_vm *vm)
{
	if (vm->tasks.due)
		vmp_session_tasks(s, vm);
}
