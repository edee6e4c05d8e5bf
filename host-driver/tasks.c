// SPDX-License-Identifier: GPL-2.0-only
/*
 * tasks.c - see tasks.h.
 *
 * A VM's tables are found by its slot in the table of chosen VMs.  They are
 * replaced as a whole, and the old ones are freed when no NMI looks at them any
 * more, as RCU knows of all code that cannot be preempted.  Nobody waits for that:
 * the guest says when they are replaced.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "session.h"
#include "tasks.h"

static atomic64_t vmph_tasks_made;

void vmph_tasks_destroy(struct vmph_tasks *tasks)
{
	kvfree(tasks);
}

/* One piece of memory, so that the kernel can free it later without code of ours. */
static struct vmph_tasks *vmph_tasks_alloc(const struct vmprof_tasks *told)
{
	const size_t vcpus = told->nr_vcpus * sizeof(u64);
	struct vmph_tasks *tasks = kvzalloc(sizeof(*tasks) + vcpus + told->nr_ram * sizeof(*tasks->ram),
					    GFP_KERNEL_ACCOUNT);

	if (!tasks)
		return NULL;
	tasks->told = *told;
	tasks->current_hva = (u64 *)(tasks + 1);
	tasks->ram = (struct vmprof_tasks_ram *)(tasks->current_hva + told->nr_vcpus);
	tasks->nr = atomic64_inc_return(&vmph_tasks_made);
	return tasks;
}

int vmph_tasks_create(const struct vmprof_tasks *told, struct vmph_tasks **out)
{
	struct vmph_tasks *tasks;
	int err = -EFAULT;

	if (!vmph_tasks_sane(told))
		return -EINVAL;
	*out = NULL;
	if (!told->nr_vcpus)
		return 0;
	tasks = vmph_tasks_alloc(told);
	if (!tasks)
		return -ENOMEM;
	if (copy_from_user(tasks->current_hva, u64_to_user_ptr(told->vcpus),
			   told->nr_vcpus * sizeof(*tasks->current_hva)) ||
	    copy_from_user(tasks->ram, u64_to_user_ptr(told->ram), told->nr_ram * sizeof(*tasks->ram)))
		goto free_tasks;
	err = -EINVAL;
	if (!vmph_tasks_take(tasks))
		goto free_tasks;
	*out = tasks;
	return 0;

free_tasks:
	vmph_tasks_destroy(tasks);
	return err;
}

int vmph_tasks_set(struct vmph_session *session, u32 vm, struct vmph_tasks *tasks)
{
	struct vmph_tasks *old;
	int slot;

	if (session->all && vmph_vms_add(&session->vms, vm))
		return -ENOSPC;
	slot = vmph_vms_slot(&session->vms, vm);
	if (slot < 0)
		return -ESRCH;
	old = rcu_replace_pointer(session->tasks[slot], tasks,
				  lockdep_is_held(&session->lock));
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

void vmph_tasks_free(struct vmph_session *session)
{
	unsigned int i;

	for (i = 0; i < VMPH_VMS_NR; i++)
		vmph_tasks_destroy(rcu_dereference_protected(session->tasks[i], true));
}
