/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * compat.h - differences between kernels, found by the compile probes next to it.
 *
 * ../Kbuild compiles probe_NAME.c and defines VMPG_HAVE_NAME when it compiles, or when modules may call it.
 */
#ifndef VMPG_COMPAT_H
#define VMPG_COMPAT_H

#include <linux/cgroup.h>
#include <linux/fs.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#ifdef CONFIG_PREEMPT_RT
#error "vmprof_guest takes mmap locks in probes, which PREEMPT_RT does not permit"
#endif

/* The file as user space knows it: stacked file systems map a file below. */
#ifdef VMPG_HAVE_FILE_USER_PATH
static inline const struct path *vmpg_file_path(const struct file *file)
{
	return file_user_path(file);
}
#else
static inline const struct path *vmpg_file_path(const struct file *file)
{
	return &file->f_path;
}
#endif

#ifdef VMPG_HAVE_INODE_MTIME
static inline struct timespec64 vmpg_mtime(const struct inode *inode)
{
	return inode_get_mtime(inode);
}
#else
static inline struct timespec64 vmpg_mtime(const struct inode *inode)
{
	return inode->i_mtime;
}
#endif

/* Where a process has ended meanwhile all that it mapped goes, and its AIO is waited for: by somebody else, if we may ask for that */
static inline void vmpg_mmput(struct mm_struct *mm)
{
#ifdef VMPG_HAVE_MMPUT_ASYNC
	mmput_async(mm);
#else
	mmput(mm);
#endif
}

/* The path in the default hierarchy, under RCU.  Return: its length, or more than fits, or -errno; 0 there is none */
static inline int vmpg_cgroup_path(struct task_struct *task, char *buf, size_t room)
{
#ifdef CONFIG_CGROUPS
	return cgroup_path(task_dfl_cgroup(task), buf, room);
#else
	return 0;
#endif
}

/* Where a CPU keeps the pointer to the task that runs on it */
#ifdef VMPG_HAVE_PCPU_HOT
static inline const void *vmpg_current_of(unsigned int cpu)
{
	return &per_cpu(pcpu_hot, cpu).current_task;
}
#else
static inline const void *vmpg_current_of(unsigned int cpu)
{
	return &per_cpu(current_task, cpu);
}
#endif

static inline const struct inode *vmpg_file_inode(const struct file *file)
{
	return d_inode(vmpg_file_path(file)->dentry);
}

#endif
