// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_snapshot.c - the guest module's snapshot, compiled as it is, of processes whose mappings somebody else
 * holds: how long it waits, that it comes to its end, that what it goes without is counted, and that it can be stopped.
 */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../guest-agent/module/snapshot.c"

struct mm_struct {
	unsigned int held_ms;		/* by its holder */
	unsigned int tries;
	int locked, users, refs;
	unsigned int walks;		/* that are needed for all its mappings */
	unsigned int walked;
};

#define NR_MAX		1000
#define FOR_EVER	(1U << 30)
#define ONE_MS		200		/* for one process, at most */
#define ALL_MS		2000		/* ... and for all */
#define RING_BYTES	(1U << 20)

static struct mm_struct mm[NR_MAX];
static struct task_struct task[NR_MAX];
static struct signal_struct sig[NR_MAX];
static int task_refs;
static unsigned int nr_tasks, nr_begin, nr_end, nr_proc, nr_maps;
static unsigned int slept_ms, cancel_ms, full;
static u64 clock_now, locked_at, unlocked_at;	/* TSC; of the last walk */
static bool cancel;
static struct vmpg_ring ring = { .size = RING_BYTES };
unsigned long jiffies;
atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

/* --------------------------------------------------------- the kernel's part */

void kernel_sleep(void)
{
	unsigned int i;

	for (i = 0; i < nr_tasks; i++)
		assert_int_equal(mm[i].locked, 0);
	assert_true(slept_ms < 10 * ALL_MS);
	jiffies++;
	if (++slept_ms == cancel_ms)
		WRITE_ONCE(cancel, true);
}

bool mmap_read_trylock(struct mm_struct *m)
{
	assert_true(m->tries++ < 10 * ALL_MS);
	m->locked = slept_ms >= m->held_ms;
	locked_at = clock_now++;
	return m->locked;
}

void mmap_read_unlock(struct mm_struct *m)
{
	assert_int_equal(m->locked, 1);
	m->locked = 0;
	unlocked_at = clock_now++;
}

u64 rdtsc_ordered(void)
{
	return clock_now++;
}

struct task_struct *kernel_processes(void)
{
	return nr_tasks ? task : NULL;
}

void get_task_struct(struct task_struct *t)
{
	(void)t;
	task_refs++;
}

void put_task_struct(struct task_struct *t)
{
	(void)t;
	task_refs--;
}

struct mm_struct *get_task_mm(struct task_struct *t)
{
	/* what a kernel thread has is not its own */
	if (!t->mm || t->flags & PF_KTHREAD)
		return NULL;
	t->mm->users++;
	return t->mm;
}

bool mmget_not_zero(struct mm_struct *m)
{
	m->users++;
	return true;
}

void vmpg_mmput(struct mm_struct *m)
{
	assert_true(m->users > 0);
	m->users--;
}

void mmgrab(struct mm_struct *m)
{
	m->refs++;
}

void mmdrop(struct mm_struct *m)
{
	m->refs--;
}

void get_fs_root(struct fs_struct *fs, struct path *root)
{
	(void)fs;
	(void)root;
}

void path_put(const struct path *path)
{
	(void)path;
}

char *d_path(const struct path *path, char *buf, int room)
{
	(void)path;
	(void)room;
	return buf;
}

/* ------------------------------------------------- the module's other files */

void vmpg_task_fill(struct vmprof_proc *proc, const struct task_struct *t, const struct mm_struct *m, u32 flags)
{
	(void)m;
	*proc = (struct vmprof_proc){ .tgid = t->tgid, .flags = flags };
}

u32 vmpg_task_place(void *dst, u32 room, struct task_struct *t)
{
	(void)t;
	assert_true(room >= sizeof(struct vmprof_place));
	memset(dst, 0, sizeof(struct vmprof_place));
	return sizeof(struct vmprof_place);
}

/* One mapping a walk */
void vmpg_maps_walk(const struct vmpg_view *view, struct mm_struct *m, struct vmpg_walk *walk)
{
	assert_int_equal(m->locked, 1);
	memset(walk->dst, 0, sizeof(struct vmprof_map));
	((struct vmprof_map *)walk->dst)->tgid = view->tgid;
	walk->nr = 1;
	walk->more = ++m->walked < m->walks;
}

bool vmpg_ring_has_room(const struct vmpg_ring *r, u32 len, u32 keep_free)
{
	(void)len;
	assert_ptr_equal(r, &ring);
	assert_int_equal(keep_free, RING_BYTES / 2);
	return true;
}

int vmpg_ring_put(struct vmpg_ring *r, const struct vmpg_put *put)
{
	assert_ptr_equal(r, &ring);
	clock_now++;
	if (put->type == VMPROF_MSG_MAP && full) {
		full--;
		return -ENOSPC;
	}
	if (put->still_true && !put->still_true(put->arg))
		return -ESTALE;
	nr_begin += put->type == VMPROF_MSG_SNAP_BEGIN;
	nr_end += put->type == VMPROF_MSG_SNAP_END;
	nr_proc += put->type == VMPROF_MSG_PROC;
	nr_maps += put->type == VMPROF_MSG_MAP;
	if (put->type == VMPROF_MSG_MAP)
		assert_in_range(((const struct vmprof_map *)put->payload)->tsc, locked_at + 1, unlocked_at - 1);
	else
		assert_non_null(put->tsc);
	return 0;
}

void vmpg_known_forget(void)
{
}

u64 vmpg_kernel_cr3(void)
{
	return 0;
}

/* ------------------------------------------------------------------- tests */

/* So many processes, all of them with mappings that are free to be read */
static void processes(unsigned int nr)
{
	unsigned int i;

	nr_tasks = nr;
	nr_begin = nr_end = nr_proc = nr_maps = 0;
	slept_ms = cancel_ms = 0;
	cancel = false;
	jiffies = -50UL;		/* they come round while it waits */
	memset(vmpg_lost_count, 0, sizeof(vmpg_lost_count));
	for (i = 0; i < nr; i++) {
		mm[i] = (struct mm_struct){ .walks = 1 };
		sig[i].live.counter = 1;
		task[i] = (struct task_struct){
			.tgid = i + 1, .pid = i + 1, .mm = &mm[i], .signal = &sig[i],
			.next_process = i + 1 < nr ? &task[i + 1] : NULL,
		};
	}
}

static int take(void)
{
	int ret = vmpg_snapshot_take(&ring, 5, &cancel);
	unsigned int i;

	assert_int_equal(nr_begin, 1);
	assert_int_equal(task_refs, 0);
	for (i = 0; i < nr_tasks; i++) {
		assert_int_equal(mm[i].locked, 0);
		assert_int_equal(mm[i].users, 0);
		assert_int_equal(mm[i].refs, 0);
	}
	return ret;
}

/* What was told: the idle tasks, and so many processes with so many mappings */
static void assert_told(unsigned int procs, unsigned int maps, unsigned int lost)
{
	int i;

	assert_int_equal(nr_end, 1);
	assert_int_equal(nr_proc, 1 + procs);
	assert_int_equal(nr_maps, maps);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		assert_int_equal(vmpg_lost_count[i].counter, i == VMPROF_GLOST_MAPS ? lost : 0);
}

static void test_at_once(void **state)
{
	(void)state;
	processes(3);
	mm[1].walks = 10;
	assert_int_equal(take(), 0);
	assert_told(3, 1 + 10 + 1, 0);
	assert_int_equal(slept_ms, 0);
}

/* Mappings are of the time when they were read, however long room is waited for: what came in their place is younger */
static void test_full(void **state)
{
	(void)state;
	processes(2);
	full = 100;
	assert_int_equal(take(), 0);
	assert_told(2, 2, 0);
	assert_int_equal(full, 0);
}

/* A holder that is done in time is waited for no longer than it takes */
static void test_held_a_moment(void **state)
{
	(void)state;
	processes(3);
	mm[1].held_ms = 150;
	assert_int_equal(take(), 0);
	assert_told(3, 3, 0);
	assert_int_equal(slept_ms, 150);
}

/* One that is not costs its process the mappings, and the others nothing */
static void test_held_for_ever(void **state)
{
	(void)state;
	processes(3);
	mm[1].held_ms = FOR_EVER;
	assert_int_equal(take(), 0);
	assert_told(3, 2, 1);
	assert_in_range(slept_ms, 1, ONE_MS);
}

/* However many there are: then each is tried once, and what is free is told all the same */
static void test_many_held(void **state)
{
	unsigned int i;

	(void)state;
	processes(NR_MAX);
	for (i = 0; i < NR_MAX; i++)
		mm[i].held_ms = i % 10 ? FOR_EVER : 0;
	assert_int_equal(take(), 0);
	assert_told(NR_MAX, NR_MAX / 10, NR_MAX - NR_MAX / 10);
	assert_in_range(slept_ms, ONE_MS, ALL_MS);
	assert_int_equal(mm[NR_MAX - 1].tries, 1);
	/* the next snapshot waits again */
	nr_begin = nr_end = nr_proc = nr_maps = 0;
	slept_ms = 0;
	assert_int_equal(take(), 0);
	assert_in_range(slept_ms, ONE_MS, ALL_MS);
}

/* Who gives the snapshot up does not wait for that either */
static void test_cancel(void **state)
{
	(void)state;
	processes(3);
	mm[1].held_ms = FOR_EVER;
	cancel_ms = 5;
	assert_int_equal(take(), -ECANCELED);
	assert_int_equal(nr_end, 0);
	assert_int_equal(slept_ms, 5);
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_MAPS].counter, 0);
}

/* Who has ended is told by nobody any more, and kernel threads have no mappings, not even where they borrow them */
static void test_others(void **state)
{
	(void)state;
	processes(4);
	sig[0].live.counter = 0;
	task[1].mm = NULL;
	task[1].flags = PF_KTHREAD;
	task[2].mm = NULL;
	task[3].flags = PF_KTHREAD;
	assert_int_equal(take(), 0);
	assert_told(2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_once), cmocka_unit_test(test_full), cmocka_unit_test(test_held_a_moment), cmocka_unit_test(test_held_for_ever),
		cmocka_unit_test(test_many_held), cmocka_unit_test(test_cancel), cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
