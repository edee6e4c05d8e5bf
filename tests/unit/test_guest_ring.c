// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_guest_ring.c - the guest module's ring, compiled as it is: order of the TSC, wrap, full, what is kept
 * free, what is not true any more, small and failing reads, when the reader is woken, and writers beside a reader.
 */
#include "kernel_shim.h"	/* first: headers of the system take what it makes of the kernel's, too */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../guest-agent/module/ring.c"

#define RING_BYTES	4096U
#define PAYLOAD_MAX	256U

static struct vmpg_ring ring;
static u64 tsc;
static int user_faults;
static int writing;

/* While several write, others run in between */
u64 rdtsc_ordered(void)
{
	u64 now = __atomic_add_fetch(&tsc, 1, __ATOMIC_SEQ_CST);

	if (writing && now % 16 == 0)
		sched_yield();
	return now;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long n)
{
	if (user_faults)
		return n;
	memcpy(to, from, n);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	user_faults = 0;
	tsc = 0;
	return vmpg_ring_init(&ring, RING_BYTES - 7);
}

static int teardown(void **state)
{
	(void)state;
	vmpg_ring_free(&ring);
	return ring.data != NULL;
}

/* A payload: its place in time, who wrote it, which one it is, and bytes that follow from that */
struct payload {
	__le64 tsc;
	u32 writer, serial;
	u8 more[PAYLOAD_MAX - 16];
};

static u32 length_of(u32 serial)
{
	return 16 + serial * 13 % (PAYLOAD_MAX - 16);
}

static int put_as(u32 writer, u32 serial, struct vmpg_put *put)
{
	struct payload p = { .writer = writer, .serial = serial };
	u32 i;

	for (i = 0; i < sizeof(p.more); i++)
		p.more[i] = (u8)(serial + i);
	put->type = (u16)(0x80 + serial % 16);
	put->len = length_of(serial);
	put->payload = &p;
	put->tsc = &p.tsc;
	return vmpg_ring_put(&ring, put);
}

static int put(u32 serial)
{
	struct vmpg_put put = { 0 };

	return put_as(0, serial, &put);
}

/* Take the record at @at of what was read apart.  Return: its bytes */
static size_t check(const u8 *at, struct payload *p)
{
	struct vmpg_record rec;
	u32 i;

	memcpy(&rec, at, sizeof(rec));
	assert_true(rec.len >= 16 && rec.len <= PAYLOAD_MAX);
	memcpy(p, at + sizeof(rec), rec.len);
	assert_int_equal(rec.len, length_of(p->serial));
	assert_int_equal(rec.type, 0x80 + p->serial % 16);
	for (i = 0; i < rec.len - 16; i++)
		assert_int_equal(p->more[i], (u8)(p->serial + i));
	return sizeof(rec) + ALIGN(rec.len, 8);
}

/* Read all: serials from @next on, the TSC growing.  Return: the one after the last */
static u32 read_from(u32 next)
{
	u8 buf[600];
	struct payload p;
	u64 last = 0;
	ssize_t n, at;

	while ((n = vmpg_ring_read(&ring, (char *)buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; next++) {
			at += (ssize_t)check(buf + at, &p);
			assert_int_equal(p.serial, next);
			assert_true(p.tsc > last);
			last = p.tsc;
		}
		assert_int_equal(at, n);
	}
	assert_int_equal(n, 0);
	return next;
}

/* Records of all lengths, at all places of the ring */
static void test_wrap(void **state)
{
	u32 i, next = 0;

	(void)state;
	assert_int_equal(ring.size, RING_BYTES);
	assert_true(vmpg_ring_empty(&ring));
	for (i = 0; i < 20000; i++) {
		assert_int_equal(put(i), 0);
		assert_false(vmpg_ring_empty(&ring));
		if (i % 7 == 6)
			next = read_from(next);
	}
	assert_int_equal(read_from(next), i);
	assert_true(vmpg_ring_empty(&ring));
	assert_true(ring.head > 100 * RING_BYTES);
}

/* What finds no room is refused whole: what is there stays, and there is room again behind a read */
static void test_full(void **state)
{
	u32 round, i, put_nr = 0, next = 0, lost = 0;
	u64 head;

	(void)state;
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 100; i++) {
			head = ring.head;
			if (!put(put_nr)) {
				put_nr++;
				continue;
			}
			assert_int_equal(ring.head, head);
			assert_true(ring.head - ring.tail + record_bytes(length_of(put_nr)) > RING_BYTES);
			lost++;
		}
		assert_true(ring.head - ring.tail <= RING_BYTES);
		next = read_from(next);
		assert_int_equal(next, put_nr);
	}
	assert_int_equal(put_nr + lost, 50 * 100);
	assert_true(lost > 50);
	assert_true(put_nr > 50 * 10);
}

/* To its last byte */
static void test_brim(void **state)
{
	const u32 len = 120, nr = RING_BYTES / (sizeof(struct vmpg_record) + 120);
	__le64 at;
	u8 bytes[120] = { 0 };
	struct vmpg_put put = { .type = 1, .len = len, .payload = bytes, .tsc = &at };
	u32 i;

	(void)state;
	for (i = 0; i < nr; i++)
		assert_int_equal(vmpg_ring_put(&ring, &put), 0);
	assert_int_equal(ring.head, RING_BYTES);
	assert_false(vmpg_ring_has_room(&ring, 0, 0));
	assert_int_equal(vmpg_ring_put(&ring, &put), -ENOSPC);
}

static bool is_true(const void *arg)
{
	return *(const bool *)arg;
}

/* A snapshot leaves room for events, and does not tell of what is not so any more */
static void test_snapshot(void **state)
{
	bool truth = false;
	struct vmpg_put half = { .keep_free = RING_BYTES / 2 }, asked = { .still_true = is_true, .arg = &truth };
	u32 i = 0;

	(void)state;
	assert_int_equal(put_as(0, 0, &asked), -ESTALE);
	assert_true(vmpg_ring_empty(&ring));
	assert_int_equal(tsc, 0);
	truth = true;
	assert_int_equal(put_as(0, i++, &asked), 0);
	while (!put_as(0, i, &half))
		i++;
	assert_in_range(ring.head - ring.tail, RING_BYTES / 2 - PAYLOAD_MAX - 8, RING_BYTES / 2);
	assert_false(vmpg_ring_has_room(&ring, length_of(i), RING_BYTES / 2));
	assert_int_equal(put(i++), 0);
	assert_int_equal(ring.room.woken, 0);
	assert_int_equal(read_from(0), i);
	assert_true(ring.room.woken > 0);
	assert_true(ring.readable.woken > 0);
}

/* A buffer that is too small, and one that is not there: nothing is taken */
static void test_reads_that_fail(void **state)
{
	char buf[PAYLOAD_MAX];

	(void)state;
	assert_int_equal(vmpg_ring_read(&ring, buf, sizeof(buf)), 0);
	assert_int_equal(put(0), 0);
	assert_int_equal(put(1), 0);
	assert_int_equal(vmpg_ring_read(&ring, buf, 16), -EMSGSIZE);
	user_faults = 1;
	assert_int_equal(vmpg_ring_read(&ring, buf, sizeof(buf)), -EFAULT);
	user_faults = 0;
	assert_int_equal(read_from(0), 2);
}

/* What can wait wakes the reader a while later, once; what cannot, and much, at once */
static void test_wakes(void **state)
{
	struct vmpg_put later = { .can_wait = true };
	u32 i = 0, n;

	(void)state;
	assert_false(vmpg_ring_is_due(&ring));
	assert_false(ring.late.pending);
	for (n = 0; n < 3; n++) {
		assert_int_equal(put_as(0, i++, &later), 0);
		assert_true(ring.late.pending);
		assert_false(vmpg_ring_is_due(&ring));
	}
	assert_int_equal(ring.readable.woken, 0);
	ring.late.pending = 0;
	ring.late.work.func(&ring.late.work);
	assert_int_equal(ring.readable.woken, 1);
	assert_true(vmpg_ring_is_due(&ring));
	/* it is, until all of that is read */
	assert_int_equal(put_as(0, i++, &later), 0);
	assert_true(vmpg_ring_is_due(&ring));
	assert_int_equal(read_from(0), i);
	assert_false(vmpg_ring_is_due(&ring));
	/* nothing is there: nobody is woken */
	ring.readable.woken = ring.late.pending = 0;
	ring.late.work.func(&ring.late.work);
	assert_int_equal(ring.readable.woken, 0);
	/* a reader that comes when something waits already is woken, too */
	put_as(0, i, &later);
	ring.late.pending = 0;
	assert_false(vmpg_ring_is_due(&ring));
	assert_true(ring.late.pending);
	/* what cannot wait takes along what can */
	put_as(0, i + 1, &(struct vmpg_put){ 0 });
	assert_true(vmpg_ring_is_due(&ring));
	assert_true(ring.readable.woken > 0);
	assert_int_equal(read_from(i), i + 2);
	i += 2;
	/* much */
	ring.readable.woken = 0;
	while (ring.head - ring.tail <= RING_BYTES / 4) {
		assert_false(vmpg_ring_is_due(&ring));
		assert_int_equal(ring.readable.woken, 0);
		assert_int_equal(put_as(0, i++, &later), 0);
	}
	assert_true(vmpg_ring_is_due(&ring));
	assert_int_equal(ring.readable.woken, 1);
}

/* ------------------------------------------------- writers beside a reader */

#define WRITERS		3
#define EACH		20000

static u32 lost[WRITERS];

static void *write_many(void *arg)
{
	u32 writer = (u32)(uintptr_t)arg, serial;

	for (serial = 0; serial < EACH; serial++) {
		while (put_as(writer, serial, &(struct vmpg_put){ 0 })) {
			sched_yield();
			if (serial + 1 == EACH)
				continue;	/* the last one waits for its room */
			lost[writer]++;
			break;
		}
	}
	__atomic_sub_fetch(&writing, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Over all writers in the order of the TSC, of each in its own; what is not there was refused */
static void test_writers(void **state)
{
	u32 seen[WRITERS] = { 0 }, next[WRITERS] = { 0 }, i;
	pthread_t thread[WRITERS];
	struct payload p;
	u8 buf[2048];
	u64 last = 0;
	ssize_t n, at;
	int more;

	(void)state;
	memset(lost, 0, sizeof(lost));
	writing = WRITERS;
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_many, (void *)(uintptr_t)i), 0);
	do {
		more = __atomic_load_n(&writing, __ATOMIC_SEQ_CST);
		n = vmpg_ring_read(&ring, (char *)buf, sizeof(buf));
		assert_true(n >= 0);
		for (at = 0; at < n; ) {
			at += (ssize_t)check(buf + at, &p);
			assert_true(p.writer < WRITERS);
			assert_true(p.tsc > last);
			assert_true(p.serial >= next[p.writer]);
			last = p.tsc;
			next[p.writer] = p.serial + 1;
			seen[p.writer]++;
		}
		if (!n)
			sched_yield();
	} while (more || n);
	for (i = 0; i < WRITERS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(seen[i] + lost[i], EACH);
		assert_true(seen[i] > 0);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_wrap), T(test_full), T(test_brim), T(test_snapshot), T(test_reads_that_fail), T(test_wakes), T(test_writers),
	};

	alarm(120);	/* a writer whose room never comes fails */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
