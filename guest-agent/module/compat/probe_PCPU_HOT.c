// SPDX-License-Identifier: GPL-2.0-only
/* probe_PCPU_HOT.c - current is in a struct of what each CPU uses most (6.2 to 6.14). */
#include <linux/percpu.h>
#include <linux/sched.h>

const void *vmpg_probe(unsigned int cpu);
const void *vmpg_probe(unsigned int cpu)
{
	return &per_cpu(pcpu_hot, cpu).current_task;
}
