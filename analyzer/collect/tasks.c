// SPDX-License-Identifier: GPL-2.0-only
/* tasks.c - see tasks.h. */
#include "collect/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void vmp_tasks_take(struct vmp_tasks *t, const struct vmp_msg_tasks *told)
{
	struct vmp_msg_tasks m;
	struct vmp_msg_task_cpu *cpu = told ? calloc(told->nr_cpus + 1, sizeof(*cpu)) : NULL;
	uint32_t nr = 0;

	/* what was told before still holds, but for CPUs that came since */
	if (!cpu) {
		t->unkept = 1;
		return;
	}
	m = *told;
	while (vmp_agent_msg_next_cpu(&m, &cpu[nr]))
		nr++;
	free(t->cpu);
	t->unkept = 0;
	t->told = m;
	t->cpu = cpu;
	t->nr_cpus = nr;
}

void vmp_tasks_forget(struct vmp_tasks *t)
{
	free(t->cpu);
	t->cpu = NULL;
	t->nr_cpus = 0;
	t->unkept = 0;
	t->heard = t->due = 0;
}

static int by_gpa(const void *pa, const void *pb)
{
	const struct vmprof_tasks_ram *a = pa, *b = pb;

	return a->gpa < b->gpa ? -1 : a->gpa > b->gpa;
}

/* Ascending.  Return: 0 when pieces overlap, or end nowhere. */
static int take_ram(struct vmp_tasks_plan *plan, const struct vmp_qmp_ram *ram, int nr)
{
	uint64_t end = 0;
	int i;

	for (i = 0; i < nr; i++)
		plan->ram[i] = (struct vmprof_tasks_ram){ ram[i].gpa, ram[i].bytes, ram[i].hva };
	qsort(plan->ram, nr, sizeof(*plan->ram), by_gpa);
	for (i = 0; i < nr; i++) {
		const struct vmprof_tasks_ram *r = &plan->ram[i];

		if (r->gpa < end || r->gpa + r->bytes < r->gpa || r->hva + r->bytes < r->hva)
			return 0;
		end = r->gpa + r->bytes;
	}
	plan->ioc.nr_ram = (uint32_t)nr;
	return 1;
}

/* Where @bytes of the guest's memory lie in QEMU; 0 when they do not lie in one piece */
static uint64_t hva_of(const struct vmp_tasks_plan *plan, uint64_t gpa, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < plan->ioc.nr_ram; i++) {
		const struct vmprof_tasks_ram *r = &plan->ram[i];

		if (gpa >= r->gpa && gpa - r->gpa < r->bytes)
			return r->bytes - (gpa - r->gpa) >= bytes ? r->hva + (gpa - r->gpa) : 0;
	}
	return 0;
}

static void take_cpus(struct vmp_tasks_plan *plan, const struct vmp_tasks *t)
{
	uint32_t i;

	for (i = 0; i < t->nr_cpus; i++) {
		const struct vmp_msg_task_cpu *c = &t->cpu[i];
		uint64_t hva = hva_of(plan, c->current_gpa, sizeof(uint64_t));

		if (!hva || c->apic_id >= VMPROF_TASKS_VCPUS_MAX) {
			plan->outside++;
			continue;
		}
		plan->vcpu[c->apic_id] = hva;
		if (c->apic_id >= plan->ioc.nr_vcpus)
			plan->ioc.nr_vcpus = c->apic_id + 1;
	}
}

static void take_places(struct vmprof_tasks *ioc, const struct vmp_msg_tasks *m)
{
	ioc->linear_base = m->linear_base;
	ioc->linear_bytes = m->linear_bytes;
	ioc->init_task = m->init_task;
	ioc->init_task_gpa = m->init_task_gpa;
	ioc->flags_offset = m->flags_offset;
	ioc->pid_offset = m->pid_offset;
	ioc->tgid_offset = m->tgid_offset;
	ioc->comm_offset = m->comm_offset;
	ioc->kthread_flag = m->kthread_flag;
}

static int offset_is_sane(uint32_t offset)
{
	return !(offset % 4) && offset <= VMPROF_TASKS_SPAN_MAX - VMPROF_TASK_COMM;
}

static enum vmp_tasks_state plan_on(const struct vmp_tasks *t, const struct vmp_qmp_ram *ram, int nr_ram,
				    struct vmp_tasks_plan *plan)
{
	const struct vmp_msg_tasks *m = &t->told;

	if (!t->cpu)
		return t->unkept ? VMP_TASKS_UNKEPT : VMP_TASKS_UNTOLD;
	if (m->lack == VMPROF_TASKS_LACK_ENCRYPTED)
		return VMP_TASKS_ENCRYPTED;
	if (m->lack == VMPROF_TASKS_LACK_LOST)
		return VMP_TASKS_LOST;
	if (!nr_ram)
		return VMP_TASKS_NO_RAM;
	if (m->lack || nr_ram > (int)VMPROF_TASKS_RAM_MAX || !take_ram(plan, ram, nr_ram) ||
	    !offset_is_sane(m->flags_offset) || !offset_is_sane(m->pid_offset) ||
	    !offset_is_sane(m->tgid_offset) || !offset_is_sane(m->comm_offset))
		return VMP_TASKS_REFUSED;
	take_cpus(plan, t);
	take_places(&plan->ioc, m);
	return plan->ioc.nr_vcpus ? VMP_TASKS_ON : VMP_TASKS_REFUSED;
}

enum vmp_tasks_state vmp_tasks_plan(const struct vmp_tasks *t, uint32_t vm, const struct vmp_qmp_ram *ram,
				    int nr_ram, struct vmp_tasks_plan *plan)
{
	enum vmp_tasks_state state;

	memset(plan, 0, sizeof(*plan));
	state = plan_on(t, ram, nr_ram, plan);
	if (state != VMP_TASKS_ON)
		memset(&plan->ioc, 0, sizeof(plan->ioc));
	plan->ioc.size = sizeof(plan->ioc);
	plan->ioc.vm = vm;
	plan->ioc.vcpus = (uintptr_t)plan->vcpu;
	plan->ioc.ram = (uintptr_t)plan->ram;
	return state;
}

enum vmp_tasks_state vmp_tasks_untold(const struct vmp_agent *a)
{
	if (!vmp_agent_is_there(a))
		return VMP_TASKS_UNTOLD;
	if (a->version < VMP_TASKS_VERSION)
		return VMP_TASKS_OLD_AGENT;
	return a->flags & VMPROF_HELLO_NO_MODULE ? VMP_TASKS_NO_MODULE : VMP_TASKS_UNTOLD;
}

const char *vmp_tasks_state_name(enum vmp_tasks_state state)
{
	static const char *const name[] = {
		[VMP_TASKS_UNTOLD] = "not-told", [VMP_TASKS_ON] = "on", [VMP_TASKS_DRIVER] = "old-module",
		[VMP_TASKS_NO_RAM] = "no-query-vmprof", [VMP_TASKS_ENCRYPTED] = "encrypted",
		[VMP_TASKS_REFUSED] = "no-sense", [VMP_TASKS_OLD_AGENT] = "old-agent",
		[VMP_TASKS_NO_MODULE] = "no-module", [VMP_TASKS_LOST] = "lost-in-guest",
		[VMP_TASKS_UNKEPT] = "not-kept",
	};

	return name[state];
}
