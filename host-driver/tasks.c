// SPDX-License-Identifier: GPL-2.0-only
/*
 * tasks.c - see tasks.h.
 *
 * A VM's tables are found by its slot in the table of chosen VMs.  They are
 * replaced as a whole; NMIs that still look at the old ones are waited for, as
 * RCU does for all code that cannot be preempted.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "session.h"
#include "tasks.h"

static atomic64_t vmph_tasks_made;

void vmph_tasks_destroy(struct vmph_tasks *tasks)
{
	if (!tasks)
		return;
	kvfree(tasks->current_hva);
	kvfree(tasks->ram);
	kfree(tasks);
}

int vmph_tasks_create(const struct vmprof_tasks *told, struct vmph_tasks **out)
{
	struct vmph_tasks *tasks;
	int err;

	if (!vmph_tasks_sane(told))
		return -EINVAL;
	*out = NULL;
	if (!told->nr_vcpus)
		return 0;
	tasks = kzalloc(sizeof(*tasks), GFP_KERNEL_ACCOUNT);
	if (!tasks)
		return -ENOMEM;
	tasks->told = *told;
	tasks->nr = atomic64_inc_return(&vmph_tasks_made);
	tasks->current_hva = vmemdup_user(u64_to_user_ptr(told->vcpus),
					  told->nr_vcpus * sizeof(*tasks->current_hva));
	if (IS_ERR(tasks->current_hva)) {
		err = PTR_ERR(tasks->current_hva);
		goto free_tasks;
	}
	tasks->ram = vmemdup_user(u64_to_user_ptr(told->ram), told->nr_ram * sizeof(*tasks->ram));
	if (IS_ERR(tasks->ram)) {
		err = PTR_ERR(tasks->ram);
		goto free_current;
	}
	err = -EINVAL;
	if (!vmph_tasks_take(tasks))
		goto free_ram;
	*out = tasks;
	return 0;

free_ram:
	kvfree(tasks->ram);
free_current:
	kvfree(tasks->current_hva);
free_tasks:
	kfree(tasks);
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
		synchronize_rcu();
	vmph_tasks_destroy(old);
	return 0;
}

void vmph_tasks_free(struct vmph_session *session)
{
	unsigned int i;

	for (i = 0; i < VMPH_VMS_NR; i++)
		vmph_tasks_destroy(rcu_dereference_protected(session->tasks[i], true));
}
