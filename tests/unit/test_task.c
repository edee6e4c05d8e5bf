// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_task.c - the host module's look for the guest's task, compiled as it is, over a
 * "guest" whose memory is two arrays: right answers, each cause of none, lies of the guest
 * (reads outside of its memory end the test), and TASK records in a ring.  And what the
 * collector makes of a guest's word: the module has to take it, whatever it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "ring_shim.h"
#include <cmocka.h>
#include "../../host-driver/ring.c"
#include "../../host-driver/task.c"
#include "collect/tasks.h"

#define LOW_BYTES	8192U
#define HIGH_GPA	0x100000000ULL
#define HIGH_BYTES	16384U
#define LINEAR		0xffff888000000000ULL
#define INIT_TASK	0xffffffff82a0c940ULL
#define INIT_GPA	0x800ULL
#define CURRENT_GPA	0x100ULL	/* of vCPU 0; vCPU 2's is behind it */
#define KTHREAD		0x00200000U

static u8 low[LOW_BYTES], high[HIGH_BYTES];
static int swapped_out;		/* the next read but so many fails; 0 none */

static bool within(u64 hva, unsigned long bytes, const u8 *piece, u64 size)
{
	return hva >= (u64)piece && hva - (u64)piece <= size && size - (hva - (u64)piece) >= bytes;
}

unsigned long vmph_task_copy(void *to, u64 hva, unsigned long bytes)
{
	assert_true(within(hva, bytes, low, LOW_BYTES) || within(hva, bytes, high, HIGH_BYTES));
	if (swapped_out && !--swapped_out)
		return bytes;
	memcpy(to, (const void *)hva, bytes);
	return 0;
}

static u64 currents[3];
static struct vmprof_tasks_ram ram[2];

static struct vmprof_tasks layout(void)
{
	return (struct vmprof_tasks){
		.size = sizeof(struct vmprof_tasks), .vm = 77, .nr_vcpus = 3, .nr_ram = 2,
		.linear_base = LINEAR, .linear_bytes = 1ULL << 40,
		.init_task = INIT_TASK, .init_task_gpa = INIT_GPA,
		.flags_offset = 44, .pid_offset = 2400, .tgid_offset = 2404, .comm_offset = 3000,
		.kthread_flag = KTHREAD,
	};
}

static struct vmph_tasks guest(void)
{
	static u64 made;
	struct vmph_tasks t = { .told = layout(), .current_hva = currents, .ram = ram, .nr = ++made };

	memset(low, 0, sizeof(low));
	memset(high, 0, sizeof(high));
	swapped_out = 0;
	ram[0] = (struct vmprof_tasks_ram){ 0, LOW_BYTES, (u64)low };
	ram[1] = (struct vmprof_tasks_ram){ HIGH_GPA, HIGH_BYTES, (u64)high };
	currents[0] = (u64)low + CURRENT_GPA;
	currents[1] = 0;
	currents[2] = (u64)low + CURRENT_GPA + 8;
	assert_true(vmph_tasks_sane(&t.told));
	assert_true(vmph_tasks_take(&t));
	return t;
}

static void put_task(u8 *at, u32 flags, u32 pid, u32 tgid, const char *comm)
{
	memcpy(at + 44, &flags, 4);
	memcpy(at + 2400, &pid, 4);
	memcpy(at + 2404, &tgid, 4);
	memset(at + 3000, 0, VMPROF_TASK_COMM);
	memcpy(at + 3000, comm, strnlen(comm, VMPROF_TASK_COMM));
}

static void runs(unsigned int vcpu, u64 gva)
{
	memcpy(low + CURRENT_GPA + 4 * vcpu, &gva, sizeof(gva));
}

static struct vmph_tasks_seen seen;

static u8 look(const struct vmph_tasks *t, u32 vcpu, struct vmph_task *task)
{
	*task = *vmph_task_look(t, &seen, vcpu);
	return task->state;
}

static void test_found(void **state)
{
	struct vmph_tasks t = guest();
	struct vmph_task task;

	(void)state;
	put_task(high + 4096, 0x400140, 1234, 1200, "worker-a");
	put_task(low + INIT_GPA, KTHREAD | 2, 0, 0, "swapper/0");
	runs(0, LINEAR + HIGH_GPA + 4096);
	runs(2, INIT_TASK);
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_KNOWN);
	assert_int_equal(task.tid, 1234);
	assert_int_equal(task.tgid, 1200);
	assert_int_equal(task.flags, 0);
	assert_string_equal((char *)task.comm, "worker-a");
	assert_int_equal(look(&t, 2, &task), VMPROF_TASK_KNOWN);
	assert_int_equal(task.tid, 0);
	assert_int_equal(task.flags, VMPROF_TASK_KTHREAD);
	assert_string_equal((char *)task.comm, "swapper/0");
}

static void test_no_cpu(void **state)
{
	struct vmph_tasks t = guest();
	struct vmph_task task;

	(void)state;
	assert_int_equal(look(&t, 1, &task), VMPROF_TASK_NO_CPU);
	assert_int_equal(look(&t, 3, &task), VMPROF_TASK_NO_CPU);
	assert_int_equal(look(&t, UINT32_MAX, &task), VMPROF_TASK_NO_CPU);
}

/* Each of the four reads fails once; or of the five, where the numbers are apart */
static void test_swapped_out(void **state)
{
	struct vmph_tasks t = guest();
	struct vmph_task task;
	int i, apart;

	(void)state;
	put_task(low + 4096, 0, 5, 5, "sh");
	put_task(low + 4096 + 8, 0, 5, 5, "sh");
	runs(0, LINEAR + 4096);
	for (apart = 0; apart < 2; apart++) {
		t.told.tgid_offset = apart ? 2408 : 2404;
		for (i = 1; i <= 4 + apart; i++) {
			swapped_out = i;
			assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_READ);
			assert_int_equal(swapped_out, 0);
		}
		assert_int_equal(look(&t, 0, &task), VMPROF_TASK_KNOWN);
		assert_int_equal(task.tgid, 5);
	}
}

/* Wherever a hostile guest points to, nothing but its memory is read: vmph_task_copy() checks */
static void test_outside(void **state)
{
	static const u64 wild[] = {
		0, 8, LINEAR - 1, LINEAR + LOW_BYTES, LINEAR + LOW_BYTES - 1, LINEAR + LOW_BYTES - 3000,
		LINEAR + HIGH_GPA - 1, LINEAR + HIGH_GPA + HIGH_BYTES - 3015, LINEAR + HIGH_GPA + HIGH_BYTES,
		LINEAR + (1ULL << 40), UINT64_MAX, UINT64_MAX - 4096, INIT_TASK + 8, 0xffffc90000000000ULL,
	};
	struct vmph_tasks t = guest();
	struct vmph_task task;
	u64 gva;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		runs(0, wild[i]);
		assert_int_equal(look(&t, 0, &task), VMPROF_TASK_OUTSIDE);
	}
	for (i = 0; i < 100000; i++) {
		gva = (u64)rand() << 33 ^ (u64)rand() << 11 ^ (u64)rand();
		runs(0, i & 1 ? gva : LINEAR + (gva & 0x1ffffffffULL));
		look(&t, 0, &task);
	}
	t.told.init_task_gpa = UINT64_MAX - 100;
	runs(0, INIT_TASK);
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_OUTSIDE);
	/* the last place where a task fits */
	runs(0, LINEAR + HIGH_GPA + HIGH_BYTES - t.span);
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_TASK);
}

static void test_no_task(void **state)
{
	struct vmph_tasks t = guest();
	struct vmph_task task;

	(void)state;
	runs(0, LINEAR + 4096);
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_TASK);	/* all 0 */
	put_task(low + 4096, 0, VMPROF_TASKS_TID_MAX + 1, 5, "sh");
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_TASK);
	put_task(low + 4096, 0, 5, UINT32_MAX, "sh");
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_TASK);
	put_task(low + 4096, 0, 5, 5, "0123456789abcdef");
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_NO_TASK);
	put_task(low + 4096, 0, 5, 5, "0123456789abcde");
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_KNOWN);
}

static bool sane_with(void (*change)(struct vmprof_tasks *t))
{
	struct vmprof_tasks t = layout();

	change(&t);
	return vmph_tasks_sane(&t);
}

static void too_short(struct vmprof_tasks *t) { t->size--; }
static void no_vm(struct vmprof_tasks *t) { t->vm = 0; }
static void many_vcpus(struct vmprof_tasks *t) { t->nr_vcpus = VMPROF_TASKS_VCPUS_MAX + 1; }
static void many_ram(struct vmprof_tasks *t) { t->nr_ram = VMPROF_TASKS_RAM_MAX + 1; }
static void no_ram(struct vmprof_tasks *t) { t->nr_ram = 0; }
static void odd_pid(struct vmprof_tasks *t) { t->pid_offset++; }
static void far_flags(struct vmprof_tasks *t) { t->flags_offset = UINT32_MAX - 3; }
static void far_tgid(struct vmprof_tasks *t) { t->tgid_offset = VMPROF_TASKS_SPAN_MAX; }
static void far_comm(struct vmprof_tasks *t) { t->comm_offset = VMPROF_TASKS_SPAN_MAX - 12; }
static void reserved(struct vmprof_tasks *t) { t->reserved0 = 1; }
static void more_reserved(struct vmprof_tasks *t) { t->reserved[3] = 1; }

static void test_sane(void **state)
{
	static void (*const bad[])(struct vmprof_tasks *t) = {
		too_short, no_vm, many_vcpus, many_ram, no_ram, odd_pid, far_flags, far_tgid,
		far_comm, reserved, more_reserved,
	};
	struct vmprof_tasks none = { .size = sizeof(none), .vm = 77 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(sane_with(bad[i]));
	assert_true(vmph_tasks_sane(&none));
}

static void test_ram(void **state)
{
	struct vmph_tasks t = guest();

	(void)state;
	ram[1].gpa = LOW_BYTES - 1;	/* overlap */
	assert_false(vmph_tasks_take(&t));
	ram[1].gpa = LOW_BYTES;
	assert_true(vmph_tasks_take(&t));
	ram[1].bytes = 0;
	assert_false(vmph_tasks_take(&t));
	ram[1].bytes = UINT64_MAX - 4096;	/* both ends wrap */
	assert_false(vmph_tasks_take(&t));
	ram[1] = (struct vmprof_tasks_ram){ HIGH_GPA, HIGH_BYTES, UINT64_MAX - 4096 };
	assert_false(vmph_tasks_take(&t));
}

static struct vmprof_consumer consumer;
static struct vmprof_producer producer;
static u8 data[VMPROF_RING_MIN] __attribute__((aligned(8)));

static void test_records(void **state)
{
	struct vmph_task task = { .state = VMPROF_TASK_KNOWN, .tid = 9, .tgid = 8, .comm = "a" };
	const struct vmprof_rec_task *rec = (void *)data;
	struct vmph_ring ring;

	(void)state;
	vmph_ring_init(&ring, &consumer, &producer, data, sizeof(data), sizeof(data), 3);
	assert_int_equal(vmph_task_note(&seen, &ring, 5, 77, &task), 0);
	assert_int_equal(ring.head, sizeof(*rec));
	assert_int_equal(rec->hdr.type, VMPROF_REC_TASK);
	assert_int_equal(rec->tsc, 5);
	assert_int_equal(rec->vm, 77);
	assert_int_equal(rec->tid, 9);
	assert_int_equal(rec->tgid, 8);
	assert_string_equal((const char *)rec->comm, "a");
	/* known already; not known; renamed; another VM's thread of that number */
	vmph_task_note(&seen, &ring, 6, 77, &task);
	assert_int_equal(ring.head, sizeof(*rec));
	task.state = VMPROF_TASK_OUTSIDE;
	vmph_task_note(&seen, &ring, 6, 77, &task);
	assert_int_equal(ring.head, sizeof(*rec));
	task.state = VMPROF_TASK_KNOWN;
	task.comm[0] = 'b';
	vmph_task_note(&seen, &ring, 7, 77, &task);
	assert_int_equal(ring.head, 2 * sizeof(*rec));
	vmph_task_note(&seen, &ring, 8, 77 + VMPH_TASKS_SEEN, &task);
	vmph_task_note(&seen, &ring, 9, 77, &task);
	assert_int_equal(ring.head, 4 * sizeof(*rec));
	/* a full ring: one loss, told, and written once there is room */
	ring.head = sizeof(data) - 8;
	task.tid++;
	assert_int_equal(vmph_task_note(&seen, &ring, 10, 77, &task), -ENOSPC);
	assert_int_equal(producer.lost[VMPROF_LOST_FULL], 1);
	consumer.tail = ring.head;
	assert_int_equal(vmph_task_note(&seen, &ring, 11, 77, &task), 0);
}

static int reads_left(const struct vmph_tasks *t, struct vmph_task *task)
{
	swapped_out = 100;
	assert_int_equal(look(t, 0, task), VMPROF_TASK_KNOWN);
	return 100 - swapped_out;
}

/* A task that was told is known by its place and numbers, and its name is looked at again in time */
static void test_again(void **state)
{
	struct vmph_tasks t = guest();
	struct vmph_ring ring;
	struct vmph_task task;
	int i;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	memset(&consumer, 0, sizeof(consumer));
	vmph_ring_init(&ring, &consumer, &producer, data, sizeof(data), sizeof(data), 3);
	put_task(low + 4096, 0, 500, 500, "before");
	runs(0, LINEAR + 4096);
	assert_int_equal(reads_left(&t, &task), 4);
	assert_int_equal(reads_left(&t, &task), 4);	/* not told yet */
	assert_int_equal(vmph_task_note(&seen, &ring, 5, 77, &task), 0);
	put_task(low + 4096, 0, 500, 500, "after");
	for (i = 0; i < VMPH_TASK_TRUST; i++) {
		assert_int_equal(reads_left(&t, &task), 2);
		assert_string_equal((char *)task.comm, "before");
		assert_int_equal(task.tid, 500);
		assert_int_equal(vmph_task_note(&seen, &ring, 6, 77, &task), 0);
	}
	assert_int_equal(ring.head, sizeof(struct vmprof_rec_task));
	assert_int_equal(reads_left(&t, &task), 4);
	assert_string_equal((char *)task.comm, "after");
	assert_int_equal(vmph_task_note(&seen, &ring, 7, 77, &task), 0);
	assert_int_equal(ring.head, 2 * sizeof(struct vmprof_rec_task));
	assert_int_equal(reads_left(&t, &task), 2);
	/* other numbers there, and the same ones elsewhere, are another task */
	put_task(low + 4096, 0, 500, 499, "thread");
	assert_int_equal(reads_left(&t, &task), 4);
	put_task(low + 4096, 0, 501, 500, "next");
	assert_int_equal(reads_left(&t, &task), 4);
	assert_string_equal((char *)task.comm, "next");
	put_task(high + 4096, 0, 500, 500, "moved");
	runs(0, LINEAR + HIGH_GPA + 4096);
	assert_int_equal(reads_left(&t, &task), 4);
	assert_string_equal((char *)task.comm, "moved");
	swapped_out = 0;
}

/* Where the last task lay is known of these tables alone: a guest may have its memory elsewhere since. */
static void test_other_tables(void **state)
{
	struct vmph_tasks t = guest(), moved;
	struct vmph_task task;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	put_task(low + 4096, 0, 600, 600, "here");
	put_task(high + 4096, 0, 601, 601, "there");
	runs(0, LINEAR + 4096);
	assert_int_equal(look(&t, 0, &task), VMPROF_TASK_KNOWN);
	assert_int_equal(task.tid, 600);
	moved = t;
	moved.nr++;
	ram[0].hva = (u64)high;
	assert_int_equal(look(&moved, 0, &task), VMPROF_TASK_KNOWN);
	assert_int_equal(task.tid, 601);
	/* a pointer that led nowhere is looked at anew, too */
	runs(0, LINEAR + HIGH_GPA - 8);
	assert_int_equal(look(&moved, 0, &task), VMPROF_TASK_OUTSIDE);
	assert_int_equal(look(&moved, 0, &task), VMPROF_TASK_OUTSIDE);
	runs(0, LINEAR + 4096);
	assert_int_equal(look(&moved, 0, &task), VMPROF_TASK_KNOWN);
}

/* ------------------------------------------------------ the collector's half */

static const struct vmp_qmp_ram qmp[] = {
	{ HIGH_GPA, HIGH_BYTES, 0x7f0000100000 }, { 0, LOW_BYTES, 0x7f0000000000 },
};
static struct vmp_tasks_plan plan;

/* A TASKS of @nr CPUs, the last ones as in @apic_id and @gpa */
static enum vmp_tasks_state plan_of(struct vmprof_task_layout t, const struct vmprof_task_cpu *cpu, u32 nr,
				    const struct vmp_qmp_ram *memory, int nr_ram)
{
	struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu[4]; } wire = { .t = t };
	struct vmp_tasks tasks = { 0 };
	enum vmp_tasks_state state;
	struct vmp_agent_msg m;

	wire.t.nr_cpus = nr;
	memcpy(wire.cpu, cpu, nr * sizeof(*cpu));
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &wire, sizeof(wire), &m), 0);
	vmp_tasks_take(&tasks, &m.tasks);
	state = vmp_tasks_plan(&tasks, 77, memory, nr_ram, &plan);
	vmp_tasks_forget(&tasks);
	return state;
}

static const struct vmprof_task_layout good = {
	.linear_base = LINEAR, .linear_bytes = 1ULL << 40, .flags_offset = 44, .pid_offset = 2400,
	.tgid_offset = 2404, .comm_offset = 3000, .kthread_flag = KTHREAD,
};
static const struct vmprof_task_cpu two[] = { { .apic_id = 0, .current_gpa = 256 },
					      { .apic_id = 5, .current_gpa = HIGH_GPA + HIGH_BYTES - 8 } };

static void test_plan(void **state)
{
	(void)state;
	assert_int_equal(plan_of(good, two, 2, qmp, 2), VMP_TASKS_ON);
	assert_true(vmph_tasks_sane(&plan.ioc));
	assert_int_equal(plan.ioc.nr_vcpus, 6);
	assert_int_equal(plan.vcpu[0], 0x7f0000000000 + 256);
	assert_int_equal(plan.vcpu[1], 0);
	assert_int_equal(plan.vcpu[5], 0x7f0000100000 + HIGH_BYTES - 8);
	assert_int_equal(plan.ioc.nr_ram, 2);
	assert_int_equal(plan.ram[0].gpa, 0);		/* ascending */
	assert_int_equal(plan.ioc.linear_base, LINEAR);
	assert_int_equal(plan.ioc.comm_offset, 3000);
	assert_int_equal(plan.outside, 0);
}

static void assert_off(struct vmprof_task_layout t, const struct vmprof_task_cpu *cpu, u32 nr,
		       const struct vmp_qmp_ram *memory, int nr_ram, enum vmp_tasks_state want)
{
	assert_int_equal(plan_of(t, cpu, nr, memory, nr_ram), want);
	assert_int_equal(plan.ioc.nr_vcpus, 0);
	assert_true(vmph_tasks_sane(&plan.ioc));	/* it makes the driver look no more */
}

static void test_plan_off(void **state)
{
	static const struct vmprof_task_cpu wild[] = {
		{ .apic_id = 0, .current_gpa = HIGH_GPA + HIGH_BYTES - 7 },
		{ .apic_id = 1, .current_gpa = UINT64_MAX },
		{ .apic_id = VMPROF_TASKS_VCPUS_MAX, .current_gpa = 256 },
		{ .apic_id = UINT32_MAX, .current_gpa = 256 },
	};
	static const struct vmp_qmp_ram overlap[] = { { 0, 8192, 4096 }, { 4096, 8192, 65536 } };
	static const struct vmp_qmp_ram endless[] = { { 4096, UINT64_MAX, 4096 } };
	struct vmprof_task_layout t = good;
	struct vmp_tasks none = { 0 };

	(void)state;
	assert_int_equal(vmp_tasks_plan(&none, 77, qmp, 2, &plan), VMP_TASKS_UNTOLD);
	assert_off(good, two, 2, NULL, 0, VMP_TASKS_NO_RAM);
	assert_off(good, two, 0, qmp, 2, VMP_TASKS_REFUSED);
	assert_off(good, wild, 4, qmp, 2, VMP_TASKS_REFUSED);
	assert_off(good, two, 2, overlap, 2, VMP_TASKS_REFUSED);
	assert_off(good, two, 2, endless, 1, VMP_TASKS_REFUSED);
	t.lack = VMPROF_TASKS_LACK_ENCRYPTED;
	assert_off(t, two, 0, qmp, 2, VMP_TASKS_ENCRYPTED);
	t.lack = VMPROF_TASKS_LACK_LOST;
	assert_off(t, two, 0, qmp, 2, VMP_TASKS_LOST);
	t.lack = 99;
	assert_off(t, two, 0, qmp, 2, VMP_TASKS_REFUSED);
	t = good;
	t.comm_offset = VMPROF_TASKS_SPAN_MAX;
	assert_off(t, two, 2, qmp, 2, VMP_TASKS_REFUSED);
	t = good;
	t.tgid_offset = 2;
	assert_off(t, two, 2, qmp, 2, VMP_TASKS_REFUSED);
}

static u64 any(void)
{
	u64 wide = (u64)rand() << 33 ^ (u64)rand() << 11 ^ (u64)rand();

	return wide >> rand() % 64;
}

/* Any bytes: what comes of them the driver takes, and every place lies in the guest's memory */
static void test_plan_lies(void **state)
{
	struct vmprof_task_cpu cpu[4];
	struct vmprof_task_layout t;
	struct vmph_tasks tasks;
	u32 i, k, on = 0;

	(void)state;
	for (i = 0; i < 20000; i++) {
		t = (struct vmprof_task_layout){
			.linear_base = any(), .linear_bytes = any(), .init_task = any(), .init_task_gpa = any(),
			.flags_offset = (u32)any() & ~3U, .pid_offset = (u32)any() & 0xfffcU,
			.tgid_offset = (u32)any() & 0xfffcU, .comm_offset = (u32)any() & 0xfffcU,
			.kthread_flag = (u32)any(),
		};
		for (k = 0; k < 4; k++)
			cpu[k] = (struct vmprof_task_cpu){ .apic_id = (u32)any() & 0x1fff,
							   .current_gpa = any() & 0x1ffffffff };
		on += plan_of(t, cpu, 4, qmp, 2) == VMP_TASKS_ON;
		assert_true(vmph_tasks_sane(&plan.ioc));
		tasks = (struct vmph_tasks){ .told = plan.ioc, .ram = plan.ram };
		assert_true(vmph_tasks_take(&tasks));
		for (k = 0; k < plan.ioc.nr_vcpus; k++)
			assert_true(!plan.vcpu[k] ||
				    within(plan.vcpu[k], 8, (u8 *)0x7f0000000000, LOW_BYTES) ||
				    within(plan.vcpu[k], 8, (u8 *)0x7f0000100000, HIGH_BYTES));
	}
	assert_true(on > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found), cmocka_unit_test(test_no_cpu),
		cmocka_unit_test(test_swapped_out), cmocka_unit_test(test_outside),
		cmocka_unit_test(test_no_task), cmocka_unit_test(test_sane),
		cmocka_unit_test(test_ram), cmocka_unit_test(test_records),
		cmocka_unit_test(test_again), cmocka_unit_test(test_other_tables),
		cmocka_unit_test(test_plan), cmocka_unit_test(test_plan_off),
		cmocka_unit_test(test_plan_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
