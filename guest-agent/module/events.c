// SPDX-License-Identifier: GPL-2.0-only
/* events.c - what the probes write into the ring; rules: see events.h. */
#include "events.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "known.h"
#include "lost.h"
#include "maps.h"
#include "task.h"

#define LOCK_PATIENCE_US	100	/* for an mm that somebody else has locked */
/* A process may have a million mappings; one of them takes some 100 ns, with preemption off */
#define LOOKS_MAX		16384

/* Memory to build one record in: one per CPU, used with preemption off */
struct scratch {
	bool busy;
	char path[VMPG_PATH_ROOM];
	u8 payload[VMPROF_FRAME_MAX] __aligned(8);
};

static DEFINE_PER_CPU(struct scratch *, scratches);
static struct vmpg_ring *events_ring;
static bool events_on;

int vmpg_events_init(struct vmpg_ring *ring)
{
	struct scratch *s;
	int cpu;

	events_ring = ring;
	for_each_possible_cpu(cpu) {
		s = kvzalloc_node(sizeof(*s), GFP_KERNEL, cpu_to_node(cpu));
		if (!s) {
			vmpg_events_exit();
			return -ENOMEM;
		}
		per_cpu(scratches, cpu) = s;
	}
	return 0;
}

void vmpg_events_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		kvfree(per_cpu(scratches, cpu));
		per_cpu(scratches, cpu) = NULL;
	}
}

void vmpg_events_switch(bool on)
{
	WRITE_ONCE(events_on, on);
}

/* This CPU's scratch, or NULL where an interrupted handler is using it */
static struct scratch *scratch_get(void)
{
	struct scratch *s;

	preempt_disable();
	s = this_cpu_read(scratches);
	if (s->busy) {
		preempt_enable();
		vmpg_lost(VMPROF_GLOST_MISSED);
		return NULL;
	}
	s->busy = true;
	barrier();
	return s;
}

static void scratch_put(struct scratch *s)
{
	barrier();
	s->busy = false;
	preempt_enable();
}

/*
 * @told: Of the files behind it, if there are any.
 * @anon: A process may make code there, of whose names the reader has to get hold while it lives.
 */
static void put_mapped(u16 type, void *payload, u32 len, __le64 *tsc, bool told, bool anon)
{
	struct vmpg_put put = {
		.type = type, .flags = told ? VMPG_RECORD_TOLD : VMPG_RECORD_FRESH, .can_wait = told && !anon,
		.len = len, .payload = payload, .tsc = tsc,
	};

	if (!vmpg_ring_put(events_ring, &put))
		return;
	vmpg_lost(VMPROF_GLOST_RING);
	if (!told)
		vmpg_known_forget();
}

static void put(u16 type, void *payload, u32 len, __le64 *tsc)
{
	put_mapped(type, payload, len, tsc, true, false);
}

static void put_task(u16 type, const struct task_struct *task, const struct mm_struct *mm,
		     u32 flags)
{
	struct vmprof_proc proc;

	vmpg_task_fill(&proc, task, mm, flags);
	put(type, &proc, sizeof(proc), &proc.tsc);
}

/* The cgroup is told with the program: a child is where its parent was, until it is moved, and mostly runs another one then */
void vmpg_event_fork(struct task_struct *child)
{
	struct {
		struct vmprof_proc proc;
		struct vmprof_place place;
	} rec;

	if (!READ_ONCE(events_on))
		return;
	vmpg_task_fill(&rec.proc, child, child->mm, 0);
	vmpg_task_place(&rec.place, sizeof(rec.place), child);
	put(VMPROF_MSG_FORK, &rec, sizeof(rec), &rec.proc.tsc);
}

void vmpg_event_exec(const struct linux_binprm *bprm)
{
	if (READ_ONCE(events_on))
		put_task(VMPROF_MSG_EXEC, current, bprm->mm, 0);
}

void vmpg_event_comm(const struct task_struct *task, const char *comm)
{
	/* a task may name another thread of its process, and kthreadd its children */
	const struct mm_struct *mm = same_thread_group((struct task_struct *)task, current) ?
				     current->mm : NULL;
	struct vmprof_proc proc;

	if (!READ_ONCE(events_on))
		return;
	vmpg_task_fill(&proc, task, mm, 0);
	strscpy_pad((char *)proc.comm, comm, VMPROF_COMM_MAX);
	put(VMPROF_MSG_COMM, &proc, sizeof(proc), &proc.tsc);
}

void vmpg_event_map(struct vm_area_struct *vma)
{
	struct vmprof_map *map;
	struct vmpg_view view;
	struct scratch *s;
	bool told;
	int len;

	if (!(vma->vm_flags & VM_EXEC) || !READ_ONCE(events_on))
		return;
	s = scratch_get();
	if (!s)
		return;
	view = (struct vmpg_view){ .tgid = current->tgid, .path = s->path };
	map = (struct vmprof_map *)s->payload;
	len = vmpg_map_fill(&view, vma, map, sizeof(s->payload), &told);
	put_mapped(VMPROF_MSG_MAP, map, len, &map->tsc, told, le16_to_cpu(map->flags) & VMPROF_MAP_ANON);
	scratch_put(s);
}

/* Most holders (khugepaged, a thread's mmap) are done in a moment; this must not sleep. */
static bool lock_own_maps(struct mm_struct *mm)
{
	unsigned int us;

	for (us = 0; us < LOCK_PATIENCE_US; us++) {
		if (mmap_read_trylock(mm))
			return true;
		udelay(1);
	}
	return mmap_read_trylock(mm);
}

/* Maps of current's mm into @walk, unless somebody else is changing it */
static bool walk_own_maps(struct scratch *s, struct vmpg_walk *walk)
{
	const struct vmpg_view view = { .tgid = current->tgid, .path = s->path };
	struct mm_struct *mm = current->mm;

	if (!lock_own_maps(mm)) {
		vmpg_lost(VMPROF_GLOST_MAPS);
		return false;
	}
	vmpg_maps_walk(&view, mm, walk);
	mmap_read_unlock(mm);
	if (walk->more)
		vmpg_lost(VMPROF_GLOST_MAPS);
	return true;
}

void vmpg_event_exec_done(void)
{
	struct vmpg_walk walk = { .nr_max = VMPROF_EXIT_MAPS_MAX, .look_max = LOOKS_MAX };
	struct vmprof_proc *proc;
	struct vmprof_map *map;
	struct scratch *s;
	u32 at = 0, len;

	if (!READ_ONCE(events_on))
		return;
	s = scratch_get();
	if (!s) {
		put_task(VMPROF_MSG_EXEC, current, current->mm, VMPROF_PROC_EXEC_DONE);
		return;
	}
	proc = (struct vmprof_proc *)s->payload;
	vmpg_task_fill(proc, current, current->mm, VMPROF_PROC_EXEC_DONE);
	len = vmpg_task_place(proc + 1, sizeof(s->payload) - sizeof(*proc), current);
	put(VMPROF_MSG_EXEC, proc, sizeof(*proc) + len, &proc->tsc);
	walk.dst = s->payload;
	walk.room = sizeof(s->payload);
	if (walk_own_maps(s, &walk)) {
		for (; walk.nr; walk.nr--) {
			map = (struct vmprof_map *)(s->payload + at);
			len = sizeof(*map) + le32_to_cpu(map->path_len);
			put_mapped(VMPROF_MSG_MAP, map, len, &map->tsc, walk.told, walk.anon);
			at += ALIGN(len, 8);
		}
	}
	scratch_put(s);
}

void vmpg_event_exit(bool last)
{
	u32 flags = last ? VMPROF_PROC_LAST : 0;
	struct vmpg_walk walk = { .nr_max = VMPROF_EXIT_MAPS_MAX, .look_max = LOOKS_MAX };
	struct vmprof_proc *proc;
	struct scratch *s;

	if (!READ_ONCE(events_on))
		return;
	if (!last || !current->mm) {
		put_task(VMPROF_MSG_EXIT, current, current->mm, flags);
		return;
	}
	s = scratch_get();
	if (!s) {
		put_task(VMPROF_MSG_EXIT, current, current->mm, flags | VMPROF_PROC_NO_MAPS);
		return;
	}
	proc = (struct vmprof_proc *)s->payload;
	walk.dst = s->payload + sizeof(*proc);
	walk.room = sizeof(s->payload) - sizeof(*proc);
	if (!walk_own_maps(s, &walk) || walk.more)
		flags |= VMPROF_PROC_NO_MAPS;
	vmpg_task_fill(proc, current, current->mm, flags);
	proc->nr_maps = cpu_to_le32(walk.nr);
	put_mapped(VMPROF_MSG_EXIT, proc, sizeof(*proc) + walk.bytes, &proc->tsc, !walk.nr || walk.told, walk.anon);
	scratch_put(s);
}
