/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * task.h - which of a guest's tasks runs: read out of the guest's memory at a sample.
 *
 * The vCPU's thread is current, so that its QEMU's memory, which holds the
 * guest's, can be read as a user's: bounded, without waiting.  All that is found
 * there is the guest's word, and followed only within the guest's own memory.
 */
#ifndef VMPH_TASK_H
#define VMPH_TASK_H

#ifdef __KERNEL__
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <asm/processor.h>
#endif			/* the unit tests bring tests/unit/ring_shim.h instead */
#include <vmprof/uapi.h>

struct vmph_ring;

/* What struct vmprof_tasks said of one VM; never changed once it can be found */
struct vmph_tasks {
	struct vmprof_tasks told;
	u64 *current_hva;	/* told.nr_vcpus of them, by vCPU id */
	struct vmprof_tasks_ram *ram;	/* told.nr_ram */
	u64 nr;			/* no other tables have it, and none has 0 */
	u32 span;		/* bytes of a task_struct, up to the last that is read */
	struct rcu_head rcu;	/* it is freed when no NMI looks at it any more */
};

/* The task of a sample */
struct vmph_task {
	u8 state;		/* enum vmprof_guest_task; what follows with KNOWN */
	bool noted;		/* the reader knows it */
	u32 tid;
	u32 tgid;
	u32 flags;		/* VMPROF_TASK_KTHREAD */
	u8 comm[VMPROF_TASK_COMM];
	u64 hva;		/* of its task_struct */
};

#define VMPH_TASKS_SEEN	64	/* a power of two */
#define VMPH_TASK_TRUST	15	/* looks that believe a name before it is read again */

/* What this pCPU saw, and wrote, last */
struct vmph_tasks_seen {
	struct vmph_task_seen {
		u32 vm;		/* 0 free */
		u32 trust;	/* looks that are left */
		struct vmph_task task;
	} seen[VMPH_TASKS_SEEN];
	struct {
		u64 nr;		/* of the tables that say so; 0 none */
		u64 gva, hva;
	} place;		/* of the last task_struct */
	struct vmph_task other;	/* than those that are seen */
};

/** vmph_tasks_sane() - Are all fields possible?  Counts and reserved fields, too. */
bool vmph_tasks_sane(const struct vmprof_tasks *told);

/** vmph_tasks_take() - @tasks is whole: is its table of memory in order?  Sets @tasks->span. */
bool vmph_tasks_take(struct vmph_tasks *tasks);

/**
 * vmph_task_look() - The task that runs on a vCPU.
 * @seen: Of this pCPU; a task that is in it at the same place with the same numbers is that one.
 *	A name that was changed shows within VMPH_TASK_TRUST + 1 of these looks.
 * @vcpu: As in KVM; its thread is current.
 * Context: NMI or interrupt, on the pCPU.
 * Return: the task, or a state that tells why there is none; @seen's, until the next look or note.
 */
const struct vmph_task *vmph_task_look(const struct vmph_tasks *tasks, struct vmph_tasks_seen *seen,
				       u32 vcpu);

/** vmph_task_tell() - As vmph_task_note(), for a task that may be new to the reader. */
int vmph_task_tell(struct vmph_tasks_seen *seen, struct vmph_ring *ring, u64 tsc, u32 vm,
		   const struct vmph_task *task);

/**
 * vmph_task_note() - Write a TASK record if the reader does not know it yet.
 * Context: NMI or interrupt, on the ring's pCPU.
 * Return: 0; -ENOSPC, -EBUSY: the reader does not know, and one loss is counted.
 */
static inline int vmph_task_note(struct vmph_tasks_seen *seen, struct vmph_ring *ring, u64 tsc,
				 u32 vm, const struct vmph_task *task)
{
	if (task->state != VMPROF_TASK_KNOWN || task->noted)
		return 0;
	return vmph_task_tell(seen, ring, tsc, vm, task);
}

/** vmph_task_copy() - Read the current process's memory.  Return: bytes that were not read. */
#ifdef __KERNEL__
static inline unsigned long vmph_task_copy(void *to, u64 hva, unsigned long bytes)
{
	return copy_from_user_nmi(to, (const void __user *)(unsigned long)hva, bytes);
}

/**
 * vmph_task_begin() - Can what is read at each sample be read in line?  Then until vmph_task_end().
 *
 * An NMI may come while other memory than the process's is mapped; that CR3 is its own is all
 * that copy_from_user_nmi() asks, too, by a variable of the kernel's that modules do not see.
 */
static __always_inline bool vmph_task_begin(void)
{
	if (!current->mm || read_cr3_pa() != __pa(current->mm->pgd))
		return false;
	pagefault_disable();
	return true;
}

static __always_inline void vmph_task_end(void)
{
	pagefault_enable();
}

/** vmph_task_word() - Read 8 bytes between those two. */
static __always_inline bool vmph_task_word(u64 *to, u64 hva)
{
	const u64 __user *from = (const u64 __user *)(unsigned long)hva;
	u64 word;

	if (!user_access_begin(from, sizeof(*from)))
		return false;
	unsafe_get_user(word, from, not_mapped);
	user_access_end();
	*to = word;
	return true;
not_mapped:
	user_access_end();
	return false;
}
#else
unsigned long vmph_task_copy(void *to, u64 hva, unsigned long bytes);
static inline bool vmph_task_begin(void)
{
	return true;
}

static inline void vmph_task_end(void)
{
}

static inline bool vmph_task_word(u64 *to, u64 hva)
{
	return !vmph_task_copy(to, hva, sizeof(*to));
}
#endif

#endif
