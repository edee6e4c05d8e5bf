// SPDX-License-Identifier: GPL-2.0-only
/*
 * snapshot.c - every process with its executable maps, put between the events.
 *
 * A process is read into memory first and written to the ring afterwards:
 * while the reader is waited for, nothing of the process is held but its
 * task_struct, its mm_struct and its page-table root, so that its CR3 is not
 * given to another one.  A record is written only if the process still is what
 * was read, which is asked when the record's place among the events is certain;
 * otherwise the events tell of it.
 */
#include "snapshot.h"

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs_struct.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/path.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait.h>
#include <asm/msr.h>

#include "compat/compat.h"
#include "known.h"
#include "lost.h"
#include "maps.h"
#include "probes.h"
#include "task.h"

#define TRIES_MAX	8	/* of a process that executes programs without end */
#define LOCK_PATIENCE_MS	200	/* for an mm that somebody else has locked ... */
#define LOCKS_PATIENCE_MS	2000	/* ... and for all of them: one dead file system may have many users */

struct snapshot {
	struct vmpg_ring *ring;
	const bool *cancel;
	unsigned long patience;		/* that is left for locks, jiffies */
	u64 read_tsc;			/* when the maps were read */
	char path[VMPG_PATH_ROOM];
	char root[VMPG_PATH_ROOM];
	u8 proc[sizeof(struct vmprof_proc) + sizeof(struct vmprof_place) + VMPROF_CGROUP_BYTES_MAX] __aligned(8);
	u8 maps[VMPROF_FRAME_MAX] __aligned(8);
};

/* One process as it was found */
struct found {
	struct task_struct *task;	/* the thread whose mm it is, or the leader */
	struct mm_struct *mm;		/* NULL: kernel thread */
};

static bool still_true(const void *arg)
{
	const struct found *f = arg;

	/* live falls to 0 before EXIT is written; EXEC is written before mm changes. A kernel thread may borrow one */
	return atomic_read(&f->task->signal->live) > 0 &&
	       (f->mm ? READ_ONCE(f->task->mm) == f->mm : f->task->flags & PF_KTHREAD);
}

/* Write one record, waiting for room; half of the ring stays free for events */
static int put(struct snapshot *snap, u16 type, const void *payload, u32 len, __le64 *tsc,
	       const struct found *f)
{
	const struct vmpg_put rec = {
		.type = type, .len = len, .payload = payload, .tsc = tsc,
		.keep_free = snap->ring->size / 2,
		.still_true = f ? still_true : NULL, .arg = f,
	};
	int ret;

	while ((ret = vmpg_ring_put(snap->ring, &rec)) == -ENOSPC) {
		wait_event_idle(snap->ring->room, READ_ONCE(*snap->cancel) ||
				vmpg_ring_has_room(snap->ring, len, rec.keep_free));
		if (READ_ONCE(*snap->cancel))
			return -ECANCELED;
	}
	/* a process that is no longer what it was, with files that were told by nobody then */
	if (ret)
		vmpg_known_forget();
	return READ_ONCE(*snap->cancel) ? -ECANCELED : ret;
}

/*
 * What is mapped in one's place while room is waited for is an event of then: these are of when they were read, or
 * they would be the news.
 */
static int put_maps(struct snapshot *snap, const struct vmpg_walk *walk, const struct found *f)
{
	struct vmprof_map *map;
	u32 i, len, at = 0;
	int ret = 0;

	for (i = 0; i < walk->nr && !ret; i++) {
		map = (struct vmprof_map *)(snap->maps + at);
		len = sizeof(*map) + le32_to_cpu(map->path_len);
		map->tsc = cpu_to_le64(snap->read_tsc);
		ret = put(snap, VMPROF_MSG_MAP, map, len, NULL, f);
		at += ALIGN(len, 8);
	}
	return ret;
}

static int put_proc(struct snapshot *snap, const struct found *f)
{
	struct vmprof_proc *proc = (struct vmprof_proc *)snap->proc;
	u32 len;

	vmpg_task_fill(proc, f->task, f->mm, 0);
	proc->pid = proc->tgid;
	len = vmpg_task_place(proc + 1, sizeof(snap->proc) - sizeof(*proc), f->task);
	return put(snap, VMPROF_MSG_PROC, proc, sizeof(*proc) + len, &proc->tsc, f);
}

/* The root of the task's file system as we see it, to be taken off its paths */
static const char *root_path(struct snapshot *snap, struct task_struct *task)
{
	struct path root = {};
	const char *s = NULL;

	task_lock(task);
	if (task->fs)
		get_fs_root(task->fs, &root);
	task_unlock(task);
	if (!root.dentry)
		return NULL;
	s = d_path(&root, snap->root, sizeof(snap->root));
	path_put(&root);
	return IS_ERR(s) ? NULL : s;
}

/*
 * Who faults or maps on a file system that does not answer holds the lock for as long: for that, neither the
 * other processes nor the end of the session can wait.
 * Return: 0, -EBUSY, -ECANCELED.
 */
static int lock_maps(struct snapshot *snap, struct mm_struct *mm)
{
	const unsigned long begin = jiffies, patience = min(snap->patience, msecs_to_jiffies(LOCK_PATIENCE_MS));
	int ret = 0;

	while (!mmap_read_trylock(mm)) {
		if (READ_ONCE(*snap->cancel))
			ret = -ECANCELED;
		else if (jiffies - begin >= patience)
			ret = -EBUSY;
		if (ret)
			break;
		wait_event_idle_timeout(snap->ring->room, READ_ONCE(*snap->cancel), 1);
	}
	snap->patience -= min(jiffies - begin, snap->patience);
	return ret;
}

/* As many of the process's maps as fit into memory.  Return: 0, -ESTALE, -EBUSY, -ECANCELED. */
static int read_maps(struct snapshot *snap, const struct vmpg_view *view, const struct found *f,
		     struct vmpg_walk *walk)
{
	int ret;

	/* the caller has a reference to the mm itself, not to what it maps */
	if (!mmget_not_zero(f->mm))
		return -ESTALE;
	ret = lock_maps(snap, f->mm);
	if (!ret) {
		/* who maps tells of it with the lock held */
		snap->read_tsc = rdtsc_ordered();
		vmpg_maps_walk(view, f->mm, walk);
		mmap_read_unlock(f->mm);
	}
	vmpg_mmput(f->mm);
	return ret;
}

static int snap_mm(struct snapshot *snap, const struct found *f)
{
	const struct vmpg_view view = {
		.tgid = f->task->tgid, .path = snap->path, .root = root_path(snap, f->task),
	};
	struct vmpg_walk walk = {
		.dst = snap->maps, .room = sizeof(snap->maps), .nr_max = U32_MAX, .look_max = U32_MAX,
	};
	int ret = put_proc(snap, f);

	while (!ret) {
		ret = read_maps(snap, &view, f, &walk);
		if (ret)
			break;
		ret = put_maps(snap, &walk, f);
		if (!walk.more)
			break;
		cond_resched();
	}
	if (ret != -EBUSY)
		return ret;
	vmpg_lost(VMPROF_GLOST_MAPS);
	return 0;
}

/* The thread of a process that has the mm: the leader may have ended already. */
static void find_mm(struct task_struct *leader, struct found *f)
{
	struct task_struct *t;

	f->mm = NULL;
	f->task = leader;
	rcu_read_lock();
	for_each_thread(leader, t) {
		f->mm = get_task_mm(t);
		if (f->mm) {
			f->task = t;
			mmgrab(f->mm);
			break;
		}
	}
	get_task_struct(f->task);
	rcu_read_unlock();
	if (f->mm)
		vmpg_mmput(f->mm);
}

static void found_put(struct found *f)
{
	if (f->mm)
		mmdrop(f->mm);
	put_task_struct(f->task);
}

static int snap_process(struct snapshot *snap, struct task_struct *leader)
{
	int ret = -ESTALE, tries;
	struct found f;

	for (tries = 0; ret == -ESTALE && tries < TRIES_MAX; tries++) {
		find_mm(leader, &f);
		if (f.mm)
			ret = snap_mm(snap, &f);
		else if (leader->flags & PF_KTHREAD)
			ret = put_proc(snap, &f);
		else
			ret = 0;	/* it has ended */
		found_put(&f);
	}
	return ret == -ESTALE ? 0 : ret;
}

/* All processes that live now; those to come are told of by events. */
static struct task_struct **list_processes(size_t *nr)
{
	size_t room = 1024, n;
	struct task_struct **list, *p;

	for (;; room *= 2) {
		list = kvmalloc_array(room, sizeof(*list), GFP_KERNEL);
		if (!list)
			return NULL;
		n = 0;
		rcu_read_lock();
		for_each_process(p) {
			if (n == room)
				break;
			get_task_struct(p);
			list[n++] = p;
		}
		rcu_read_unlock();
		if (n < room)
			break;
		while (n--)
			put_task_struct(list[n]);
		kvfree(list);
	}
	*nr = n;
	return list;
}

static int snap_processes(struct snapshot *snap)
{
	struct task_struct **list;
	size_t nr, i;
	int ret = 0;

	list = list_processes(&nr);
	if (!list)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (!ret)
			ret = snap_process(snap, list[i]);
		put_task_struct(list[i]);
		cond_resched();
	}
	kvfree(list);
	return ret;
}

/* The idle tasks, as one */
static int snap_idle(struct snapshot *snap)
{
	struct vmprof_proc proc = {
		.cr3 = cpu_to_le64(vmpg_kernel_cr3()),
		.flags = cpu_to_le32(VMPROF_PROC_KTHREAD),
		.comm = "swapper",
	};

	return put(snap, VMPROF_MSG_PROC, &proc, sizeof(proc), &proc.tsc, NULL);
}

static int put_token(struct snapshot *snap, u16 type, u64 token)
{
	struct vmprof_token t = { .token = cpu_to_le64(token) };

	return put(snap, type, &t, sizeof(t), &t.tsc, NULL);
}

int vmpg_snapshot_take(struct vmpg_ring *ring, u64 token, const bool *cancel)
{
	struct snapshot *snap = kvzalloc(sizeof(*snap), GFP_KERNEL);
	int ret;

	if (!snap)
		return -ENOMEM;
	snap->ring = ring;
	snap->cancel = cancel;
	snap->patience = msecs_to_jiffies(LOCKS_PATIENCE_MS);
	ret = put_token(snap, VMPROF_MSG_SNAP_BEGIN, token);
	if (!ret)
		ret = snap_idle(snap);
	if (!ret)
		ret = snap_processes(snap);
	/* without memory: an empty one, which the events go on from */
	if (!ret || ret == -ENOMEM)
		ret = put_token(snap, VMPROF_MSG_SNAP_END, token) ?: ret;
	kvfree(snap);
	return ret;
}
