// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_scan.c - reading by several threads gives what one after the other
 * gives: all samples once, whatever the blocks look like; tallies of a fixed
 * size lose nothing.
 */
#include "gen.h"

#include <errno.h>

#include "capture/block.h"
#include "crc32c.h"
#include "model/scan.h"
#include "model/tally.h"
#include "report/profile.h"

#define BLOCKS	200
#define EACH	500
#define CR3(i)	(0x5000000ULL + (uint64_t)(i) * 0x1000)

static char *dir, path[128];
static struct gen g;

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	setenv("VMPROF_OBJCACHE", dir, 1);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unsetenv("VMPROF_THREADS");
	gen_rmdir(dir);
	return 0;
}

/* A sum that says which samples there were, in no order */
struct seen {
	uint64_t nr, sum;
};

static void see(struct seen *seen, const struct vmprof_sample *s, uint32_t n)
{
	for (; n; n--, s++) {
		seen->nr++;
		seen->sum += vmp_hash_mix(s->guest_ip ^ s->tsc << 20);
	}
}

static int in_order(void *arg, const struct vmprof_sample *s)
{
	see(arg, s, 1);
	return 0;
}

static int in_thread(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s, uint32_t n)
{
	(void)scan;
	see(shard, s, n);
	return 0;
}

/* Blocks of samples; every third has another record among them, every fifth longer samples */
static void put_samples(void)
{
	struct {
		struct vmprof_sample s;
		uint64_t more;
	} longer = { .s = { .hdr = { VMPROF_REC_SAMPLE, sizeof(longer), 0 }, .tsc = 5, .vm = GEN_VM,
			    .guest_ip = 0x77, .mode = VMPROF_MODE_GUEST } };
	int b, i;

	for (b = 0; b < BLOCKS; b++) {
		for (i = 0; i < EACH; i++)
			gen_guest(&g, GEN_VM, 2000 + (uint64_t)b, CR3(i % 7), i % 2 ? 3 : 0,
				  0x400000 + (uint64_t)(b * EACH + i) * 4, 1);
		if (b % 3 == 0)
			gen_clock(&g, GEN_VM);
		if (b % 5 == 0)
			gen_record(&g, &longer, sizeof(longer));
		gen_records_flush(&g, 0, 0, 0);
	}
}

static void test_threads(void **state)
{
	struct seen one = { 0 }, shard[3] = { { 0 } }, all = { 0 };
	void *const shards[] = { &shard[0], &shard[1], &shard[2] };
	struct vmp_model *m;
	int i;

	(void)state;
	put_samples();
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_model_samples(m, in_order, &one), 0);
	assert_int_equal(one.nr, BLOCKS * EACH + BLOCKS / 5);
	assert_int_equal(vmp_scan_samples(m, shards, 3, in_thread), 0);
	for (i = 0; i < 3; i++) {
		all.nr += shard[i].nr;
		all.sum += shard[i].sum;
	}
	assert_int_equal(all.nr, one.nr);
	assert_true(all.sum == one.sum);
	vmp_model_close(m);
}

static int refuse(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s, uint32_t n)
{
	(void)shard, (void)scan, (void)s, (void)n;
	return -ECANCELED;
}

static void test_ended_by_caller(void **state)
{
	void *const shards[] = { NULL, NULL };
	struct vmp_model *m;

	(void)state;
	put_samples();
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_scan_samples(m, shards, 2, refuse), -ECANCELED);
	vmp_model_close(m);
}

/* Make block @n of records one that has good checksums but cannot be unpacked. */
static void spoil(int n)
{
	struct vmprof_cap_block b;
	uint8_t *data, *p;
	size_t len;

	data = gen_read(path, &len);
	for (p = data + sizeof(struct vmprof_cap_header); ; p += sizeof(b) + vmp_padded(b.stored_bytes)) {
		memcpy(&b, p, sizeof(b));
		assert_int_equal(vmp_block_check(&b), 0);
		if (b.type == VMPROF_CAP_RECORDS && b.flags & VMPROF_CAP_SAMPLES && !n--)
			break;
	}
	assert_true(b.flags & VMPROF_CAP_WORDS);
	memset(p + sizeof(b), 0x55, b.stored_bytes);
	b.payload_crc = vmp_crc32c(0, p + sizeof(b), b.stored_bytes);
	vmp_block_seal(&b);
	memcpy(p, &b, sizeof(b));
	gen_write(path, data, len);
	free(data);
}

static uint64_t profiled(const char *threads, uint64_t *unread)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	struct vmp_profile *p;
	struct vmp_model *m;
	uint64_t n;

	setenv("VMPROF_THREADS", threads, 1);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	n = p->samples;
	assert_int_equal(p->domains.v[0].side[VMP_SIDE_KERNEL] + p->domains.v[0].side[VMP_SIDE_USER], n);
	*unread = vmp_reader_end(m->reader).unread;
	vmp_profile_destroy(p);
	vmp_model_close(m);
	return n;
}

/* What lies behind a block that cannot be unpacked is not read, by one thread or by many. */
static void test_bad_block(void **state)
{
	uint64_t one, many, unread_one, unread_many;
	struct seen before = { 0 };
	struct vmp_model *m;

	(void)state;
	put_samples();
	gen_end(&g);
	spoil(20);
	one = profiled("1", &unread_one);
	many = profiled("4", &unread_many);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_model_samples(m, in_order, &before), 0);
	vmp_model_close(m);
	assert_true(one > 20 * EACH && one < 60 * EACH);
	assert_int_equal(one, before.nr);
	assert_int_equal(many, one);
	assert_true(unread_one > 0);
	assert_int_equal(unread_many, unread_one);
}

/* So many addresses that tables were emptied before the bad block: that is taken back. */
static void test_bad_block_late(void **state)
{
	uint64_t one, many, unread_one, unread_many, ip = 0x400000;
	int b, i;

	(void)state;
	for (b = 0; b < 120; b++) {
		for (i = 0; i < 7000; i++, ip += 4)
			gen_guest(&g, GEN_VM, 2000, CR3(0), 3, ip, 1);
		gen_records_flush(&g, 0, 0, 0);
	}
	gen_end(&g);
	spoil(115);
	one = profiled("1", &unread_one);
	many = profiled("8", &unread_many);
	assert_int_equal(one, 116 * 7000);	/* the first block has a clock, too, and is not counted by spoil() */
	assert_int_equal(many, one);
	assert_int_equal(unread_many, unread_one);
}

/* VMs that no block told of appear while several threads read. */
static void test_unknown_vms(void **state)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	struct vmp_profile *p;
	struct vmp_model *m;
	uint64_t n = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 100; i++) {
		gen_guest(&g, 2000 + i, 2000, CR3(0), 3, 0x400000, 50);
		gen_guest(&g, 2000 + (i + 1) % 100, 2000, CR3(0), 3, 0x400000, 50);
		gen_records_flush(&g, 0, 0, 0);
	}
	gen_end(&g);
	setenv("VMPROF_THREADS", "4", 1);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.nr, 101);
	for (i = 0; i < p->domains.nr; i++) {
		assert_true(p->domains.v[i].total == 100 || m->vms.v[p->domains.v[i].vm].vm == GEN_VM);
		n += p->domains.v[i].total;
	}
	assert_int_equal(n, 10000);
	vmp_profile_destroy(p);
	vmp_model_close(m);
}

/* ----------------------------------------------------------------- tally */

#define ADDRS	100000U

struct drained {
	uint32_t *n;		/* by address */
	uint64_t cycles, last;
	uint32_t group;
	int out_of_order;
};

static const uint32_t group_of[] = { 1, 0, 1 };

static int on_count(void *arg, const struct vmp_tally_slot *s, const struct vmp_weight *w)
{
	struct drained *d = arg;

	assert_int_equal(s->addr % 3, s->space);
	assert_int_equal(w->cycles, s->n * s->addr);
	d->n[s->addr] += s->n;
	d->cycles += w->cycles;
	d->out_of_order += group_of[s->space] < d->group || (group_of[s->space] == d->group && s->addr < d->last);
	d->group = group_of[s->space];
	d->last = s->addr;
	return 0;
}

/* Far more addresses than there is room for */
static void test_tally(void **state)
{
	struct drained d = { .n = calloc(ADDRS, sizeof(*d.n)) };
	uint32_t *expected = calloc(ADDRS, sizeof(*expected)), i, drains = 0;
	struct vmp_tally_order order = { 0 };
	struct vmp_tally t;
	uint64_t x = 1, cycles = 0;

	(void)state;
	assert_int_equal(vmp_tally_init(&t, 1 << 19, 1), 0);
	assert_null(t.weights);
	for (i = 0; i < 10 * ADDRS; i++) {
		uint32_t addr;
		struct vmp_weight w = { 0 };

		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		addr = (uint32_t)((x >> 33) % ADDRS);
		w.cycles = addr;
		expected[addr]++;
		cycles += addr;
		assert_int_equal(vmp_tally_add(&t, vmp_tally_hash(&t, addr % 3, addr), addr % 3, addr, &w), 0);
		if (!t.full)
			continue;
		d.group = 0;
		d.last = 0;
		assert_int_equal(vmp_tally_sort(&t, &order, group_of), 0);
		assert_int_equal(vmp_tally_drain(&t, &order, on_count, &d), 0);
		drains++;
	}
	assert_true(t.mask + 1 <= (1 << 19) / sizeof(*t.slots));
	assert_true(drains > 10);
	d.group = 0;
	d.last = 0;
	assert_int_equal(vmp_tally_sort(&t, &order, group_of), 0);
	assert_int_equal(vmp_tally_drain(&t, &order, on_count, &d), 0);
	assert_memory_equal(d.n, expected, ADDRS * sizeof(*expected));
	assert_int_equal(d.cycles, cycles);
	assert_int_equal(d.out_of_order, 0);
	vmp_tally_deinit(&t);
	free(order.items);
	free(expected);
	free(d.n);
}

/* --------------------------------------------------------------- strings */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void test_ranks(void **state)
{
	static const char *const words[] = {
		"b", "a", "exactly sixteen!", "exactly sixteen!a", "exactly sixteen", "exactly sixteen!A",
		"\xff\xfe", "same beginning, other end 2", "same beginning, other end 1", "ab",
	};
	const char *sorted[sizeof(words) / sizeof(words[0])];
	struct vmp_strings s;
	uint32_t *rank, i, id;
	int err = 0;

	(void)state;
	assert_int_equal(vmp_strings_init(&s), 0);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		sorted[i] = words[i];
		assert_int_equal(vmp_strings_add(&s, words[i], strlen(words[i]), &err), i + 1);
	}
	qsort(sorted, i, sizeof(*sorted), by_text);
	rank = vmp_strings_ranks(&s);
	assert_non_null(rank);
	assert_int_equal(rank[0], 0);	/* "" */
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		id = vmp_strings_add(&s, sorted[i], strlen(sorted[i]), &err);
		assert_int_equal(rank[id], i + 1);
	}
	free(rank);
	vmp_strings_deinit(&s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_threads), T(test_ended_by_caller), T(test_bad_block), T(test_bad_block_late),
		T(test_unknown_vms),
		cmocka_unit_test(test_tally), cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
