/* SPDX-License-Identifier: GPL-2.0-only */
/* tasks.h - what the session was told of where its guests keep their tasks. */
#ifndef VMPH_TASKS_H
#define VMPH_TASKS_H

#include <linux/rcupdate.h>
#include <linux/types.h>
#include "session.h"
#include "task.h"

/**
 * vmph_tasks_create() - VMPROF_IOC_TASKS's structure and tables, copied and checked.
 * Context: may sleep.  Return: 0 (*tasks NULL: look no more), -EINVAL, -EFAULT, -ENOMEM.
 */
int vmph_tasks_create(const struct vmprof_tasks *told, struct vmph_tasks **tasks);
void vmph_tasks_destroy(struct vmph_tasks *tasks);

/**
 * vmph_tasks_set() - From now on samples of the VM have their task; or none, with NULL.
 * @tasks: The session's from here on, if it returns 0.
 * Context: may sleep; session->lock is held.
 * Return: 0, -ESRCH, -ENOSPC.
 */
int vmph_tasks_set(struct vmph_session *session, u32 vm, struct vmph_tasks *tasks);

/** vmph_tasks_free() - Of all VMs; nothing samples any more. */
void vmph_tasks_free(struct vmph_session *session);

/** vmph_tasks_find() - Of the VM in a slot of vms, or NULL.  Context: NMI or interrupt. */
static inline const struct vmph_tasks *vmph_tasks_find(const struct vmph_session *session, int slot)
{
	return rcu_dereference_raw(session->tasks[slot]);
}

#endif
