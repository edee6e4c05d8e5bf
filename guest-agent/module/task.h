/* SPDX-License-Identifier: GPL-2.0-only */
/* task.h - a task as struct vmprof_proc. */
#ifndef VMPG_TASK_H
#define VMPG_TASK_H

#include <linux/sched.h>

#include "guest_uapi.h"

/**
 * vmpg_task_fill() - Describe a task.
 * @proc:  Filled; tsc stays 0 for the ring to set.
 * @task:  The task; the caller keeps it from going away.
 * @mm:    Its address space, or NULL.
 * @flags: VMPROF_PROC_*; KTHREAD is added for kernel threads.
 *
 * Context: any.
 */
void vmpg_task_fill(struct vmprof_proc *proc, const struct task_struct *task,
		    const struct mm_struct *mm, u32 flags);

/**
 * vmpg_task_place() - Describe where a task's process is, seen from its container.
 * @dst:  Filled with a struct vmprof_place; @room bytes, at least so many.
 * @room: More than that: the path of its cgroup follows, as much as fits.
 * @task: As above.
 *
 * Costs no more than the path is deep.
 *
 * Context: any but NMI.
 * Return: bytes filled.
 */
u32 vmpg_task_place(void *dst, u32 room, struct task_struct *task);

#endif
