// SPDX-License-Identifier: GPL-2.0-only
/* task.c - a task as struct vmprof_proc; pids are those of the initial namespace. */
#include "task.h"

#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat/compat.h"
#include "lost.h"
#include "maps.h"

void vmpg_task_fill(struct vmprof_proc *proc, const struct task_struct *task,
		    const struct mm_struct *mm, u32 flags)
{
	u32 ppid = 0;

	rcu_read_lock();
	/* one that was waited for has no parent any more, whose memory may be another's */
	if (pid_alive(task))
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

/* Number of the process in the namespace that it was made in, which is its innermost one */
static u32 innermost_tgid(struct task_struct *task)
{
	const struct pid *pid = task_tgid(task);

	return pid ? pid->numbers[pid->level].nr : 0;
}

u32 vmpg_task_place(void *dst, u32 room, struct task_struct *task)
{
	struct vmprof_place *place = dst;
	char *path = (char *)(place + 1);
	size_t len = 0;
	int ret = 0;

	room = min_t(u32, room - sizeof(*place), VMPROF_CGROUP_BYTES_MAX);
	rcu_read_lock();
	place->nspid = cpu_to_le32(innermost_tgid(task));
	if (room)
		ret = vmpg_cgroup_path(task, path, room);
	rcu_read_unlock();
	if (ret > 0)
		len = min_t(size_t, ret, room - 1);
	/* a part of it would be another one's name */
	if (ret < 0 || (room && (u32)ret >= room)) {
		vmpg_lost(VMPROF_GLOST_PATH);
		len = 0;
	}
	place->cgroup_len = cpu_to_le32(len);
	return sizeof(*place) + len;
}
