// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_host_clock.c - the host module's CLOCK records, compiled as they are: of a vCPU that is seen first, whose clock
 * moved, that has not run yet; more vCPUs than are remembered; a full ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>
#include "../../host-driver/ring.c"
#include "../../host-driver/clock.c"

u32 vmph_guest_tsc_frac_bits(void)
{
	return 32;
}

static struct vmprof_consumer consumer;
static struct vmprof_producer producer;
static u8 data[VMPROF_RING_MIN] __attribute__((aligned(8)));
static struct vmph_ring ring;
static struct vmph_clocks clocks;

static int setup(void **state)
{
	(void)state;
	memset(&consumer, 0, sizeof(consumer));
	memset(&producer, 0, sizeof(producer));
	memset(&clocks, 0, sizeof(clocks));
	vmph_ring_init(&ring, &consumer, &producer, data, sizeof(data), sizeof(data), 0);
	return 0;
}

static struct kvm_vcpu vcpu_of(int id, s64 offset)
{
	return (struct kvm_vcpu){
		.vcpu_id = id, .arch = { .l1_tsc_offset = offset, .l1_tsc_scaling_ratio = 1ULL << 32 },
	};
}

/* Records so far */
static u64 told(void)
{
	return ring.head / sizeof(struct vmprof_rec_clock);
}

static void note(u64 tsc, const struct kvm_vcpu *vcpu)
{
	assert_int_equal(vmph_clock_note(&clocks, &ring, tsc, 77, 100 + (u32)vcpu->vcpu_id, vcpu), 0);
}

static void test_seen_and_moved(void **state)
{
	const struct vmprof_rec_clock *rec = (const void *)data;
	struct kvm_vcpu a = vcpu_of(0, 500), b = vcpu_of(1, 500);

	(void)state;
	note(1000, &a);
	assert_int_equal(told(), 1);
	assert_int_equal(rec->hdr.type, VMPROF_REC_CLOCK);
	assert_int_equal(rec->tsc, 1000);
	assert_int_equal(rec->vm, 77);
	assert_int_equal(rec->vcpu, 0);
	assert_int_equal(rec->vcpu_tid, 100);
	assert_int_equal(rec->tsc_offset, 500);
	assert_int_equal(rec->tsc_ratio, 1ULL << 32);
	assert_int_equal(rec->frac_bits, 32);
	note(1001, &a);
	note(1002, &b);
	note(1003, &a);
	note(1004, &b);
	assert_int_equal(told(), 2);
	b.arch.l1_tsc_offset = 700;
	note(1005, &a);
	note(1006, &b);
	note(1007, &b);
	assert_int_equal(told(), 3);
	assert_int_equal(rec[2].vcpu, 1);
	assert_int_equal(rec[2].tsc_offset, 700);
	b.arch.l1_tsc_scaling_ratio++;
	note(1008, &b);
	assert_int_equal(told(), 4);
}

/* KVM makes a vCPU without a clock and sets it later: nothing ran by what it had before */
static void test_not_run(void **state)
{
	const struct vmprof_rec_clock *rec = (const void *)data;
	struct kvm_vcpu a = vcpu_of(0, 0);

	(void)state;
	a.arch.last_vmentry_cpu = -1;
	note(1000, &a);
	a.arch.l1_tsc_offset = 300;
	note(1001, &a);
	assert_int_equal(told(), 0);
	a.arch.l1_tsc_offset = 500;
	a.arch.last_vmentry_cpu = 1;
	note(1002, &a);
	assert_int_equal(told(), 1);
	assert_int_equal(rec->tsc_offset, 500);
}

/* The one that was told longest ago is told again */
static void test_many(void **state)
{
	struct kvm_vcpu vcpu[ARRAY_SIZE(clocks.seen) + 1];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(vcpu); i++) {
		vcpu[i] = vcpu_of((int)i, 500);
		note(1000 + i, &vcpu[i]);
	}
	assert_int_equal(told(), ARRAY_SIZE(vcpu));
	for (i = 1; i < ARRAY_SIZE(vcpu); i++)
		note(2000 + i, &vcpu[i]);
	assert_int_equal(told(), ARRAY_SIZE(vcpu));
	note(3000, &vcpu[0]);
	assert_int_equal(told(), ARRAY_SIZE(vcpu) + 1);
}

/* One loss, and told once there is room */
static void test_full(void **state)
{
	struct kvm_vcpu a = vcpu_of(0, 500);
	const struct vmprof_rec_clock *rec;

	(void)state;
	ring.head = sizeof(data) - 8;
	assert_int_equal(vmph_clock_note(&clocks, &ring, 1000, 77, 100, &a), -ENOSPC);
	assert_int_equal(producer.lost[VMPROF_LOST_FULL], 1);
	consumer.tail = ring.head;
	note(1001, &a);
	/* behind what fills the end, and tells of the loss */
	rec = (const void *)(data + ring.head % sizeof(data) - sizeof(*rec));
	assert_int_equal(rec->hdr.type, VMPROF_REC_CLOCK);
	assert_int_equal(rec->tsc_offset, 500);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_seen_and_moved), T(test_not_run), T(test_many), T(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
