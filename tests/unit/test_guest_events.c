// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_events.c - the guest module's handlers of exec and exit, compiled as they are, where somebody else
 * holds the process's mappings: how long they wait at most, and that what was not had is told and counted.
 */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../guest-agent/module/events.c"

#define WAIT_MAX_US	100
#define NR_MAPS		3
#define FOR_EVER	(1U << 30)

struct mm_struct {
	unsigned int held_us;		/* its holder needs so long still */
	unsigned int tries;
	int locked;
	bool more;			/* mappings than find room, or than are looked at */
};

static struct mm_struct mm;
static struct task_struct task;
struct task_struct *current = &task;
static struct vmpg_ring ring;
static unsigned int waited_us;
static int preempt_off;
atomic64_t vmpg_lost_count[VMPROF_GLOST_NR];

static struct {
	u16 type;
	u32 len, flags, nr_maps;
	bool told, can_wait;
} told[16];
static unsigned int nr_told;
static bool known_files;		/* the files behind the maps were told before */
static int put_fails, forgotten;

/* --------------------------------------------------------- the kernel's part */

bool mmap_read_trylock(struct mm_struct *m)
{
	m->tries++;
	m->locked += !m->held_us;
	return !m->held_us;
}

void mmap_read_unlock(struct mm_struct *m)
{
	assert_int_equal(m->locked, 1);
	m->locked = 0;
}

/* Time passes for the holder, too; nobody else runs on this CPU meanwhile */
void udelay(unsigned long us)
{
	assert_true(preempt_off > 0);
	waited_us += (unsigned int)us;
	mm.held_us -= us < mm.held_us ? (unsigned int)us : mm.held_us;
}

void preempt_disable(void)
{
	preempt_off++;
}

void preempt_enable(void)
{
	preempt_off--;
}

/* ------------------------------------------------- the module's other files */

void vmpg_task_fill(struct vmprof_proc *proc, const struct task_struct *t, const struct mm_struct *m, u32 flags)
{
	(void)t;
	(void)m;
	*proc = (struct vmprof_proc){ .flags = flags };
}

u32 vmpg_task_place(void *dst, u32 room, struct task_struct *t)
{
	(void)t;
	assert_true(room >= sizeof(struct vmprof_place));
	memset(dst, 0, sizeof(struct vmprof_place));
	return sizeof(struct vmprof_place);
}

int vmpg_map_fill(const struct vmpg_view *view, struct vm_area_struct *vma, void *dst, u32 room, bool *told_before)
{
	(void)view;
	(void)vma;
	*told_before = known_files;
	assert_true(room >= sizeof(struct vmprof_map));
	memset(dst, 0, sizeof(struct vmprof_map));
	return sizeof(struct vmprof_map);
}

void vmpg_maps_walk(const struct vmpg_view *view, struct mm_struct *m, struct vmpg_walk *walk)
{
	int len;

	assert_int_equal(m->locked, 1);
	assert_in_range(walk->look_max, 1024, 65536);
	while (walk->nr < NR_MAPS) {
		len = vmpg_map_fill(view, NULL, walk->dst + walk->bytes, walk->room - walk->bytes, &walk->told);
		walk->bytes += ALIGN((u32)len, 8);
		walk->nr++;
	}
	walk->more = m->more;
}

int vmpg_ring_put(struct vmpg_ring *r, const struct vmpg_put *put)
{
	const struct vmprof_proc *proc = put->payload;

	assert_ptr_equal(r, &ring);
	assert_true(nr_told < ARRAY_SIZE(told));
	told[nr_told].type = put->type;
	told[nr_told].len = put->len;
	told[nr_told].told = put->flags & VMPG_RECORD_TOLD;
	told[nr_told].can_wait = put->can_wait;
	if (put->type != VMPROF_MSG_MAP) {
		told[nr_told].flags = proc->flags;
		told[nr_told].nr_maps = proc->nr_maps;
	}
	nr_told++;
	return put_fails;
}

void vmpg_known_forget(void)
{
	forgotten++;
}

/* ------------------------------------------------------------------- tests */

static void held_for(unsigned int us)
{
	memset(vmpg_lost_count, 0, sizeof(vmpg_lost_count));
	mm = (struct mm_struct){ .held_us = us };
	task = (struct task_struct){ .tgid = 7, .mm = &mm };
	waited_us = nr_told = 0;
	known_files = false;
	put_fails = forgotten = 0;
}

static int setup(void **state)
{
	(void)state;
	held_for(0);
	vmpg_events_switch(true);
	return vmpg_events_init(&ring);
}

/* Whatever happened: its memory is free for the next one, nothing stays locked */
static int teardown(void **state)
{
	int left = preempt_off || mm.locked || scratches->busy;

	(void)state;
	vmpg_events_exit();
	return left;
}

static s64 lost(void)
{
	s64 sum = 0;
	int i;

	for (i = 0; i < VMPROF_GLOST_NR; i++)
		sum += vmpg_lost_count[i].counter;
	assert_int_equal(sum, vmpg_lost_count[VMPROF_GLOST_MAPS].counter);
	return sum;
}

static void assert_exit(int maps)
{
	assert_int_equal(nr_told, 1);
	assert_int_equal(told[0].type, VMPROF_MSG_EXIT);
	assert_int_equal(told[0].flags, VMPROF_PROC_LAST | (maps && !mm.more ? 0 : VMPROF_PROC_NO_MAPS));
	assert_int_equal(told[0].nr_maps, maps);
	assert_int_equal(told[0].len, sizeof(struct vmprof_proc) + (size_t)maps * sizeof(struct vmprof_map));
}

/* A holder that is done in time: waited for no longer than it takes */
static void test_held_a_moment(void **state)
{
	static const unsigned int us[] = { 0, 1, 50, WAIT_MAX_US - 1, WAIT_MAX_US };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(us); i++) {
		held_for(us[i]);
		vmpg_event_exit(true);
		assert_int_equal(waited_us, us[i]);
		assert_exit(NR_MAPS);
		assert_int_equal(lost(), 0);
	}
}

/* One that is not: the exit is told without its maps, which are counted */
static void test_held_too_long(void **state)
{
	static const unsigned int us[] = { WAIT_MAX_US + 1, FOR_EVER };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(us); i++) {
		held_for(us[i]);
		vmpg_event_exit(true);
		assert_in_range(waited_us, 1, WAIT_MAX_US);
		assert_int_equal(mm.tries, WAIT_MAX_US + 1);
		assert_exit(0);
		assert_int_equal(lost(), 1);
		/* each of them */
		vmpg_event_exit(true);
		assert_in_range(waited_us, 1, 2 * WAIT_MAX_US);
		assert_int_equal(lost(), us[i] == FOR_EVER ? 2 : 1);
	}
}

/* A program is told, with its mappings behind it or without */
static void test_exec(void **state)
{
	unsigned int i;

	(void)state;
	vmpg_event_exec_done();
	assert_int_equal(nr_told, 1 + NR_MAPS);
	assert_int_equal(told[0].type, VMPROF_MSG_EXEC);
	for (i = 1; i < nr_told; i++)
		assert_int_equal(told[i].type, VMPROF_MSG_MAP);
	assert_int_equal(lost(), 0);
	held_for(FOR_EVER);
	vmpg_event_exec_done();
	assert_in_range(waited_us, 1, WAIT_MAX_US);
	assert_int_equal(nr_told, 1);
	assert_int_equal(told[0].type, VMPROF_MSG_EXEC);
	assert_int_equal(told[0].flags, VMPROF_PROC_EXEC_DONE);
	assert_int_equal(lost(), 1);
}

/* Where there are more mappings, this is said, and counted */
static void test_too_many(void **state)
{
	(void)state;
	mm.more = true;
	vmpg_event_exit(true);
	assert_exit(NR_MAPS);
	assert_int_equal(lost(), 1);
}

/* Whose maps are not read, and what nobody wants to know, waits for nobody */
static void test_not_asked(void **state)
{
	(void)state;
	held_for(FOR_EVER);
	vmpg_event_exit(false);
	task.mm = NULL;
	vmpg_event_exit(true);
	assert_int_equal(nr_told, 2);
	task.mm = &mm;
	vmpg_events_switch(false);
	vmpg_event_exit(true);
	vmpg_event_exec_done();
	assert_int_equal(nr_told, 2);
	assert_int_equal(mm.tries, 0);
	assert_int_equal(waited_us, 0);
	assert_int_equal(lost(), 0);
}

/* A handler that interrupts another one has no memory to build its record in: told, and counted as missed */
static void test_interrupts(void **state)
{
	(void)state;
	scratches->busy = true;
	vmpg_event_exit(true);
	assert_exit(0);
	assert_int_equal(mm.tries, 0);
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_MISSED].counter, 1);
	scratches->busy = false;
}

/* The reader is not to be woken for what has no files behind it that it has not seen */
static void test_what_can_wait(void **state)
{
	const struct linux_binprm bprm = { .mm = &mm };
	struct vm_area_struct vma = { .vm_flags = VM_EXEC };
	unsigned int i;

	(void)state;
	for (known_files = false; ; known_files = true) {
		nr_told = 0;
		vmpg_event_fork(&task);
		vmpg_event_exec(&bprm);
		vmpg_event_comm(&task, "name");
		vmpg_event_exit(false);
		assert_int_equal(nr_told, 4);
		vmpg_event_exec_done();
		vmpg_event_map(&vma);
		vmpg_event_exit(true);
		assert_int_equal(nr_told, 7 + NR_MAPS);
		for (i = 0; i < nr_told; i++) {
			assert_int_equal(told[i].can_wait, i <= 4 || known_files);
			assert_int_equal(told[i].told, told[i].can_wait);
		}
		if (known_files)
			break;
	}
	assert_int_equal(forgotten, 0);
	/* what the reader never heard of was not told */
	put_fails = -ENOSPC;
	nr_told = 0;
	vmpg_event_map(&vma);
	assert_int_equal(forgotten, 0);
	known_files = false;
	vmpg_event_map(&vma);
	assert_int_equal(forgotten, 1);
	assert_int_equal(vmpg_lost_count[VMPROF_GLOST_RING].counter, 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_held_a_moment), T(test_held_too_long), T(test_exec), T(test_too_many), T(test_not_asked),
		T(test_interrupts), T(test_what_can_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
