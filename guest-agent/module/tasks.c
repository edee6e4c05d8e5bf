// SPDX-License-Identifier: GPL-2.0-only
/*
 * tasks.c - where this kernel keeps the task that runs on each CPU.
 *
 * Places do not change while the kernel runs, those of CPUs that are not there
 * included; but which APIC id such a CPU has may be known only when it comes up.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include "tasks.h"

#include <linux/cc_platform.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/pgtable.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "lost.h"

static struct vmpg_ring *tasks_ring;
static int hotplug_state;		/* <= 0: not followed */

/* Of static per-CPU data, wherever the kernel has put it */
static u64 to_gpa(const void *p)
{
	if (is_vmalloc_addr(p))
		return PFN_PHYS(vmalloc_to_pfn(p)) + offset_in_page(p);
	return __pa(p);
}

static u32 fill_cpus(struct vmprof_task_cpu *list, u32 nr_max)
{
	unsigned int cpu;
	u32 nr = 0;

	for_each_possible_cpu(cpu) {
		u32 apic_id = cpu_physical_id(cpu);

		if (apic_id == (u32)BAD_APICID || nr == nr_max)
			continue;
		list[nr++] = (struct vmprof_task_cpu){
			.apic_id = cpu_to_le32(apic_id),
			.current_gpa = cpu_to_le64(to_gpa(vmpg_current_of(cpu))),
		};
	}
	return nr;
}

static void fill(struct vmprof_task_layout *t, u32 nr_max)
{
	if (cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT)) {
		t->lack = cpu_to_le32(VMPROF_TASKS_LACK_ENCRYPTED);
		return;
	}
	t->linear_base = cpu_to_le64(PAGE_OFFSET);
	t->linear_bytes = cpu_to_le64(VMALLOC_START - PAGE_OFFSET);
	t->init_task = cpu_to_le64((u64)&init_task);
	t->init_task_gpa = cpu_to_le64(__pa(&init_task));
	t->flags_offset = cpu_to_le32(offsetof(struct task_struct, flags));
	t->pid_offset = cpu_to_le32(offsetof(struct task_struct, pid));
	t->tgid_offset = cpu_to_le32(offsetof(struct task_struct, tgid));
	t->comm_offset = cpu_to_le32(offsetof(struct task_struct, comm));
	t->kthread_flag = cpu_to_le32(PF_KTHREAD);
	t->nr_cpus = cpu_to_le32(fill_cpus((struct vmprof_task_cpu *)(t + 1), nr_max));
}

static void tell(void)
{
	u32 nr = min(num_possible_cpus(), VMPROF_TASKS_CPUS_MAX);
	struct vmprof_task_layout *t = kvzalloc(sizeof(*t) + nr * sizeof(struct vmprof_task_cpu),
						GFP_KERNEL);
	struct vmpg_put put = { .type = VMPROF_MSG_TASKS, .payload = t };

	if (t) {
		fill(t, nr);
		put.tsc = &t->tsc;
		put.len = sizeof(*t) + le32_to_cpu(t->nr_cpus) * sizeof(struct vmprof_task_cpu);
	}
	if (!t || vmpg_ring_put(tasks_ring, &put))
		vmpg_lost(VMPROF_GLOST_RING);
	kvfree(t);
}

static int on_online(unsigned int cpu)
{
	tell();
	return 0;
}

void vmpg_tasks_start(struct vmpg_ring *ring)
{
	tasks_ring = ring;
	tell();
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "vmprof_guest:online",
						  on_online, NULL);
	if (hotplug_state < 0)
		pr_warn("CPUs that come up are not told of: error %d\n", hotplug_state);
}

void vmpg_tasks_stop(void)
{
	if (hotplug_state > 0)
		cpuhp_remove_state_nocalls(hotplug_state);
	hotplug_state = 0;
}
