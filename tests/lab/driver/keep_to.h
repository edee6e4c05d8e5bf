/* SPDX-License-Identifier: GPL-2.0-only */
/* keep_to.h - the guest programs' way to stay on one vCPU. */
#ifndef KEEP_TO_H
#define KEEP_TO_H

#include <sched.h>

static void keep_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#endif
