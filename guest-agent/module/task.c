// SPDX-License-Identifier: GPL-2.0-only
/* task.c - a task as struct vmprof_proc; pids are those of the initial namespace. */
#include "task.h"

#include <linux/rcupdate.h>
#include <linux/string.h>

#include "maps.h"

void vmpg_task_fill(struct vmprof_proc *proc, const struct task_struct *task,
		    const struct mm_struct *mm, u32 flags)
{
	u32 ppid;

	rcu_read_lock();
	ppid = rcu_dereference(task->real_parent)->tgid;
	rcu_read_unlock();

	memset(proc, 0, sizeof(*proc));
	proc->cr3 = cpu_to_le64(vmpg_mm_cr3(mm));
	proc->pid = cpu_to_le32(task->pid);
	proc->tgid = cpu_to_le32(task->tgid);
	proc->ppid = cpu_to_le32(ppid);
	if (task->flags & PF_KTHREAD)
		flags |= VMPROF_PROC_KTHREAD;
	proc->flags = cpu_to_le32(flags);
	/* another thread may be writing it: a torn name is still a bounded one */
	strscpy_pad((char *)proc->comm, task->comm, VMPROF_COMM_MAX);
}
