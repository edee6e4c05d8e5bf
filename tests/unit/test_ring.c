// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ring.c - the host module's ring, compiled as it is: order, wrap, pads,
 * full, LOST records, nesting, tails that lie, and a reader in another thread.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include "ring_shim.h"
#include <cmocka.h>
#include "../../host-driver/ring.c"

#define RING_BYTES	4096U

struct fixture {
	struct vmprof_consumer consumer;
	struct vmprof_producer producer;
	struct vmph_ring ring;
	u64 guard_before;
	u8 data[RING_BYTES] __attribute__((aligned(8)));
	u64 guard_after;
};

#define GUARD	0x5afe5afe5afe5afeULL

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->guard_before = f->guard_after = GUARD;
	vmph_ring_init(&f->ring, &f->consumer, &f->producer, f->data, RING_BYTES,
		       RING_BYTES / 2, 3);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int bad = f->guard_before != GUARD || f->guard_after != GUARD;

	free(f);
	return bad ? -1 : 0;
}

/* Write a record of @size whose body holds @serial. Return: as reserve. */
static int put(struct fixture *f, u16 size, u64 serial)
{
	u64 *rec;
	int err = vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, size, serial, (void **)&rec);

	if (err)
		return err;
	rec[1] = serial;
	rec[size / 8 - 1] = serial;
	vmph_ring_commit(&f->ring);
	return 0;
}

/* The next record that is no pad, or NULL; the reader's tail moves behind pads */
static struct vmprof_record *peek(struct fixture *f)
{
	u64 head = smp_load_acquire(&f->producer.head);
	struct vmprof_record *rec;

	while (f->consumer.tail != head) {
		u64 at = f->consumer.tail & (RING_BYTES - 1);

		rec = (struct vmprof_record *)(f->data + at);
		assert_true(rec->size >= sizeof(*rec) && rec->size % 8 == 0);
		assert_true(at + rec->size <= RING_BYTES);
		assert_true(rec->size <= head - f->consumer.tail);
		assert_int_equal(rec->pcpu, 3);
		if (rec->type != VMPROF_REC_PAD)
			return rec;
		smp_store_release(&f->consumer.tail, f->consumer.tail + rec->size);
	}
	return NULL;
}

static void drop(struct fixture *f, const struct vmprof_record *rec)
{
	smp_store_release(&f->consumer.tail, f->consumer.tail + rec->size);
}

static void test_order_and_wrap(void **state)
{
	static const u16 sizes[] = { 16, 136, 48, 80, 24, 1024 };
	struct fixture *f = *state;
	u64 serial;

	for (serial = 1; serial <= 5000; serial++) {
		u16 size = sizes[serial % 6];
		struct vmprof_record *rec;

		assert_int_equal(put(f, size, serial), 0);
		rec = peek(f);
		assert_non_null(rec);
		assert_int_equal(rec->type, VMPROF_REC_SAMPLE);
		assert_int_equal(rec->size, size);
		assert_int_equal(((u64 *)rec)[1], serial);
		assert_int_equal(((u64 *)rec)[size / 8 - 1], serial);
		drop(f, rec);
		assert_null(peek(f));
	}
	assert_int_equal(f->producer.records, 5000);
	assert_true(f->producer.head > 100 * RING_BYTES);
	assert_int_equal(f->producer.ring_id, VMPROF_RING_ID);
}

static void test_pad_is_exact(void **state)
{
	struct fixture *f = *state;
	struct vmprof_record *pad;

	while (f->ring.head + 136 <= RING_BYTES)
		assert_int_equal(put(f, 136, 1), 0);
	smp_store_release(&f->consumer.tail, f->ring.head);
	pad = (struct vmprof_record *)(f->data + f->ring.head);
	assert_int_equal(RING_BYTES % 136, 16);
	assert_int_equal(put(f, 136, 2), 0);
	assert_int_equal(pad->type, VMPROF_REC_PAD);
	assert_int_equal(pad->size, 16);
	assert_int_equal(((u64 *)f->data)[1], 2);
	assert_int_equal(f->producer.head, RING_BYTES + 136);
	/* a record that ends with the data needs no pad */
	assert_int_equal(put(f, RING_BYTES - 136 - 1024, 3), 0);
	smp_store_release(&f->consumer.tail, f->ring.head);
	assert_int_equal(put(f, 1024, 4), 0);
	assert_int_equal(f->producer.head, 2 * RING_BYTES);
}

static void test_full_then_lost(void **state)
{
	struct fixture *f = *state;
	struct vmprof_rec_lost *lost;
	struct vmprof_record *rec;
	u64 n = 0;

	while (!put(f, 136, ++n))
		;
	assert_int_equal(n, RING_BYTES / 136 + 1);
	assert_int_equal(put(f, 136, n), -ENOSPC);
	assert_int_equal(put(f, 8, n), -ENOSPC);	/* its LOST record does not fit */
	vmph_ring_lose(&f->ring, VMPROF_LOST_STATE, 5);
	assert_int_equal(f->producer.lost[VMPROF_LOST_FULL], 3);

	while ((rec = peek(f)))
		drop(f, rec);
	assert_int_equal(put(f, 136, 77), 0);
	lost = (struct vmprof_rec_lost *)peek(f);
	assert_non_null(lost);
	assert_int_equal(lost->hdr.type, VMPROF_REC_LOST);
	assert_int_equal(lost->tsc, 77);
	assert_int_equal(lost->count[VMPROF_LOST_FULL], 3);
	assert_int_equal(lost->count[VMPROF_LOST_STATE], 5);
	drop(f, &lost->hdr);
	rec = peek(f);
	assert_non_null(rec);
	assert_int_equal(((u64 *)rec)[1], 77);
	drop(f, rec);
	/* what was said once is not said again */
	assert_int_equal(put(f, 136, 78), 0);
	assert_int_equal(peek(f)->type, VMPROF_REC_SAMPLE);
	assert_int_equal(f->producer.records, n - 1 + 3);
}

static void test_exactly_full(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < RING_BYTES / 256; i++)
		assert_int_equal(put(f, 256, i), 0);
	assert_int_equal(vmph_ring_used(&f->ring), RING_BYTES);
	assert_int_equal(put(f, 8, i), -ENOSPC);
	assert_int_equal(((u64 *)peek(f))[1], 0);
}

static void test_nested(void **state)
{
	struct fixture *f = *state;
	struct vmprof_rec_lost *lost;
	u64 *outer, *inner = NULL;

	assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 136, 1,
					   (void **)&outer), 0);
	assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 136, 2,
					   (void **)&inner), -EBUSY);
	assert_null(inner);
	outer[1] = 1;
	assert_int_equal(f->producer.head, 0);
	vmph_ring_commit(&f->ring);
	assert_int_equal(f->producer.head, 136);
	assert_int_equal(f->producer.lost[VMPROF_LOST_NESTED], 1);
	drop(f, peek(f));
	assert_int_equal(put(f, 136, 3), 0);
	lost = (struct vmprof_rec_lost *)peek(f);
	assert_int_equal(lost->hdr.type, VMPROF_REC_LOST);
	assert_int_equal(lost->count[VMPROF_LOST_NESTED], 1);
}

/* Records fit until the tail is looked at again, then no more. Return: how many did. */
static unsigned int put_until_full(struct fixture *f)
{
	unsigned int n;

	for (n = 0; !put(f, 136, n); n++)
		assert_true(n < RING_BYTES / 136);
	return n;
}

/* Whatever the reader writes to its page, nothing outside the data is touched */
static void test_hostile_tails(void **state)
{
	struct fixture *f = *state;
	u64 tails[] = { 0, 1, 7, RING_BYTES, ~0ULL, 1ULL << 63, RING_BYTES + 1, 12345678901ULL };
	u64 serial, full = 0;
	unsigned int i;

	for (serial = 0; serial < 4000; serial++) {
		u64 head = f->ring.head;

		i = serial % 9;
		f->consumer.tail = i == 8 ? head - serial % RING_BYTES : tails[i];
		if (put(f, 136, serial)) {
			full++;
			assert_int_equal(f->ring.head, head);
		}
		assert_true(vmph_ring_used(&f->ring) <= RING_BYTES);
	}
	assert_true(full > 0);
	/* past head, and more than the ring behind it: full at the next look */
	f->consumer.tail = f->ring.head + 8;
	put_until_full(f);
	f->consumer.tail = f->ring.head - RING_BYTES - 8;
	assert_int_equal(put_until_full(f), 0);
	f->consumer.tail = f->ring.head;
	assert_true(put_until_full(f) > 1);
}

static void test_wake_level(void **state)
{
	struct fixture *f = *state;
	void *rec;
	unsigned int i;

	for (i = 1; i <= 4; i++) {
		assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 512, i, &rec), 0);
		assert_int_equal(vmph_ring_commit(&f->ring), i * 512 >= RING_BYTES / 2);
	}
	f->consumer.tail = 512;
	assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 8, i, &rec), 0);
	assert_false(vmph_ring_commit(&f->ring));
}

/* ------------------------------------------------------- two threads */

#define STRESS_RECORDS	400000ULL

static void *stress_writer(void *arg)
{
	static const u16 sizes[] = { 16, 136, 48, 264 };
	struct fixture *f = arg;
	u64 serial;

	for (serial = 1; serial <= STRESS_RECORDS; serial++) {
		put(f, sizes[serial % 4], serial);
		if (!(serial % 64))
			sched_yield();
	}
	return NULL;
}

/* Every serial number arrives in order, or is counted as lost, and none twice */
static void test_two_threads(void **state)
{
	struct fixture *f = *state;
	u64 next = 1, lost_total = 0, records = 0;
	bool writing = true;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, stress_writer, f), 0);
	while (writing) {
		struct vmprof_record *rec;

		writing = next + READ_ONCE(f->producer.lost[VMPROF_LOST_FULL]) - lost_total <=
			STRESS_RECORDS;
		while ((rec = peek(f))) {
			u64 *body = (u64 *)rec;

			records++;
			if (rec->type == VMPROF_REC_LOST) {
				u64 n = ((struct vmprof_rec_lost *)rec)->count[VMPROF_LOST_FULL];

				next += n;
				lost_total += n;
			} else {
				assert_int_equal(body[1], next);
				assert_int_equal(body[rec->size / 8 - 1], next);
				next++;
			}
			drop(f, rec);
		}
	}
	pthread_join(writer, NULL);
	assert_int_equal(next - 1 + f->producer.lost[VMPROF_LOST_FULL] - lost_total,
			 STRESS_RECORDS);
	assert_int_equal(f->producer.records, records);
}

/* A sample and its branches: both, or one loss */
static void test_split(void **state)
{
	struct fixture *f = *state;
	struct vmprof_record *first, *second;
	void *rec;
	u64 records;

	while (!put(f, 512, 0))
		;
	drop(f, peek(f));	/* 512 bytes are free */
	records = f->producer.records;
	f->producer.lost[VMPROF_LOST_FULL] = 0;
	f->ring.lost_told = f->ring.lost_nr;
	assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 520, 1, &rec), -ENOSPC);
	assert_int_equal(f->producer.lost[VMPROF_LOST_FULL], 1);
	assert_int_equal(f->producer.records, records);
	f->ring.lost_told = f->ring.lost_nr;	/* no LOST record goes before it */
	assert_int_equal(vmph_ring_reserve(&f->ring, VMPROF_REC_SAMPLE, 136 + 96, 2, &rec), 0);
	first = rec;
	second = vmph_ring_split(&f->ring, rec, 136, VMPROF_REC_LBR);
	assert_ptr_equal(second, (u8 *)first + 136);
	assert_int_equal(first->type, VMPROF_REC_SAMPLE);
	assert_int_equal(first->size, 136);
	assert_int_equal(second->type, VMPROF_REC_LBR);
	assert_int_equal(second->size, 96);
	assert_int_equal(second->pcpu, 3);
	vmph_ring_commit(&f->ring);
	assert_int_equal(f->producer.records, records + 2);
	while (peek(f)->type == VMPROF_REC_SAMPLE && peek(f)->size == 512)
		drop(f, peek(f));
	assert_int_equal(peek(f)->size, 136);
	drop(f, peek(f));
	assert_int_equal(peek(f)->type, VMPROF_REC_LBR);
	drop(f, peek(f));
	assert_null(peek(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order_and_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pad_is_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_then_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exactly_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_split, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_tails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wake_level, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_threads, setup, teardown),
	};

	alarm(120);	/* a reader that waits for what never comes fails */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
