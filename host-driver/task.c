// SPDX-License-Identifier: GPL-2.0-only
/* task.c - see task.h.  Built twice: into the host module and into tests/unit. */
#include "task.h"
#include "ring.h"

#define VMPH_OFFSET_MAX	(VMPROF_TASKS_SPAN_MAX - VMPROF_TASK_COMM)

static bool vmph_offset_sane(u32 offset)
{
	return !(offset % 4) && offset <= VMPH_OFFSET_MAX;
}

bool vmph_tasks_sane(const struct vmprof_tasks *t)
{
	static const u64 none[ARRAY_SIZE(t->reserved)];

	return t->size == sizeof(*t) && t->vm && !t->reserved0 &&
	       !memcmp(t->reserved, none, sizeof(none)) &&
	       t->nr_vcpus <= VMPROF_TASKS_VCPUS_MAX && t->nr_ram <= VMPROF_TASKS_RAM_MAX &&
	       !t->nr_vcpus == !t->nr_ram &&
	       vmph_offset_sane(t->flags_offset) && vmph_offset_sane(t->pid_offset) &&
	       vmph_offset_sane(t->tgid_offset) && vmph_offset_sane(t->comm_offset);
}

bool vmph_tasks_take(struct vmph_tasks *tasks)
{
	const struct vmprof_tasks *t = &tasks->told;
	u64 end = 0;
	u32 i;

	for (i = 0; i < t->nr_ram; i++) {
		const struct vmprof_tasks_ram *ram = &tasks->ram[i];

		if (ram->gpa < end || !ram->bytes || ram->gpa + ram->bytes < ram->gpa ||
		    ram->hva + ram->bytes < ram->hva)
			return false;
		end = ram->gpa + ram->bytes;
	}
	tasks->span = max(max(t->flags_offset, t->pid_offset), t->tgid_offset) + (u32)sizeof(u32);
	tasks->span = max(tasks->span, t->comm_offset + VMPROF_TASK_COMM);
	return true;
}

/* A task_struct's gpa.  Return: false when it lies where no task can be. */
static bool vmph_task_gpa(const struct vmprof_tasks *t, u64 gva, u64 *gpa)
{
	if (gva == t->init_task) {
		*gpa = t->init_task_gpa;
		return true;
	}
	*gpa = gva - t->linear_base;
	return gva >= t->linear_base && *gpa < t->linear_bytes;
}

/* Where the task_struct lies in QEMU.  Return: 0 when not all of it is in one piece of memory. */
static u64 vmph_task_hva(const struct vmph_tasks *tasks, u64 gpa)
{
	u32 low = 0, high = tasks->told.nr_ram;

	while (low < high) {
		u32 mid = low + (high - low) / 2;
		const struct vmprof_tasks_ram *ram = &tasks->ram[mid];

		if (gpa < ram->gpa)
			high = mid;
		else if (gpa - ram->gpa >= ram->bytes)
			low = mid + 1;
		else
			return ram->bytes - (gpa - ram->gpa) >= tasks->span ?
			       ram->hva + (gpa - ram->gpa) : 0;
	}
	return 0;
}

/* The same by its gva; mostly it is the task of the last look. */
static u64 vmph_task_place(const struct vmph_tasks *tasks, struct vmph_tasks_seen *seen, u64 gva)
{
	u64 gpa;

	if (seen->place.nr == tasks->nr && seen->place.gva == gva)
		return seen->place.hva;
	seen->place.nr = tasks->nr;
	seen->place.gva = gva;
	seen->place.hva = vmph_task_gpa(&tasks->told, gva, &gpa) ? vmph_task_hva(tasks, gpa) : 0;
	return seen->place.hva;
}

static bool vmph_task_read_ids(const struct vmprof_tasks *t, struct vmph_task *task)
{
	u64 ids;

	if (t->tgid_offset != t->pid_offset + sizeof(u32))
		return !vmph_task_copy(&task->tid, task->hva + t->pid_offset, sizeof(task->tid)) &&
		       !vmph_task_copy(&task->tgid, task->hva + t->tgid_offset, sizeof(task->tgid));
	if (!vmph_task_word(&ids, task->hva + t->pid_offset))
		return false;
	task->tid = (u32)ids;
	task->tgid = ids >> 32;
	return true;
}

/* Memory of a guest that was reset, say, is none: of idle tasks alone the number is 0 */
static bool vmph_task_likely(const struct vmph_task *task)
{
	return task->tid <= VMPROF_TASKS_TID_MAX && task->tgid <= VMPROF_TASKS_TID_MAX &&
	       !task->comm[VMPROF_TASK_COMM - 1] &&
	       (task->tid || task->flags & VMPROF_TASK_KTHREAD);
}

/* What is beside a task's numbers. Return: enum vmprof_guest_task. */
static noinline u8 vmph_task_read_rest(const struct vmprof_tasks *t, struct vmph_task *task)
{
	u32 flags;

	if (vmph_task_copy(&flags, task->hva + t->flags_offset, sizeof(flags)) ||
	    vmph_task_copy(task->comm, task->hva + t->comm_offset, sizeof(task->comm)))
		return VMPROF_TASK_NO_READ;
	task->flags = flags & t->kthread_flag ? VMPROF_TASK_KTHREAD : 0;
	return vmph_task_likely(task) ? VMPROF_TASK_KNOWN : VMPROF_TASK_NO_TASK;
}

/* Where a task of this number is kept */
static struct vmph_task_seen *vmph_task_slot(struct vmph_tasks_seen *seen, u32 vm, u32 tid)
{
	return &seen->seen[(tid + vm) & (VMPH_TASKS_SEEN - 1)];
}

/* The one that was seen last under its number, if this is it: then it has that one's name. */
static const struct vmph_task *vmph_task_again(struct vmph_tasks_seen *seen, u32 vm,
					       const struct vmph_task *task)
{
	struct vmph_task_seen *slot = vmph_task_slot(seen, vm, task->tid);

	if (slot->vm != vm || slot->task.hva != task->hva || slot->task.tid != task->tid ||
	    slot->task.tgid != task->tgid || !slot->trust)
		return NULL;
	slot->trust--;
	return &slot->task;
}

/* Between vmph_task_begin() and _end(); the other task's state is that it could not be read. */
static const struct vmph_task *vmph_task_find(const struct vmph_tasks *tasks,
					      struct vmph_tasks_seen *seen, u32 vcpu)
{
	struct vmph_task *task = &seen->other;
	const struct vmph_task *again;
	u64 gva;

	if (!vmph_task_word(&gva, tasks->current_hva[vcpu]))
		return task;
	task->hva = vmph_task_place(tasks, seen, gva);
	if (!task->hva) {
		task->state = VMPROF_TASK_OUTSIDE;
		return task;
	}
	if (!vmph_task_read_ids(&tasks->told, task))
		return task;
	again = vmph_task_again(seen, tasks->told.vm, task);
	if (again)
		return again;
	task->state = vmph_task_read_rest(&tasks->told, task);
	return task;
}

const struct vmph_task *vmph_task_look(const struct vmph_tasks *tasks, struct vmph_tasks_seen *seen,
				       u32 vcpu)
{
	const struct vmph_task *task = &seen->other;

	seen->other.state = VMPROF_TASK_NO_CPU;
	if (vcpu >= tasks->told.nr_vcpus || !tasks->current_hva[vcpu])
		return task;
	seen->other.state = VMPROF_TASK_NO_READ;
	if (!vmph_task_begin())
		return task;
	task = vmph_task_find(tasks, seen, vcpu);
	vmph_task_end();
	return task;
}

int vmph_task_tell(struct vmph_tasks_seen *seen, struct vmph_ring *ring, u64 tsc, u32 vm,
		   const struct vmph_task *task)
{
	struct vmph_task_seen *slot = vmph_task_slot(seen, vm, task->tid);
	struct vmprof_rec_task *rec;
	int err;

	if (slot->vm != vm || slot->task.tid != task->tid || slot->task.tgid != task->tgid ||
	    slot->task.flags != task->flags || memcmp(slot->task.comm, task->comm, sizeof(task->comm))) {
		err = vmph_ring_reserve(ring, VMPROF_REC_TASK, sizeof(*rec), tsc, (void **)&rec);
		if (err)
			return err;	/* the next sample tries again */
		rec->tsc = tsc;
		rec->vm = vm;
		rec->tid = task->tid;
		rec->tgid = task->tgid;
		rec->flags = task->flags;
		memcpy(rec->comm, task->comm, sizeof(rec->comm));
		vmph_ring_commit(ring);	/* a sample follows, and wakes */
	}
	slot->vm = vm;
	slot->task = *task;
	slot->task.noted = true;
	slot->trust = VMPH_TASK_TRUST;
	return 0;
}
