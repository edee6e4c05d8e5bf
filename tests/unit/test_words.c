// SPDX-License-Identifier: GPL-2.0-only
/* test_words.c - records packed as distances: what comes out is what went in, and lies are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <vmprof/uapi.h>

#include "capture/words.h"

#define RECORDS	500

static uint8_t data[RECORDS * 1024], out[sizeof(data)], packed[2 * sizeof(data)];

static uint64_t wild(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

/* Records of all sizes and kinds, most words near to those of one before. Return: bytes. */
static size_t some_records(unsigned int seed)
{
	size_t at = 0, i, k;

	srand(seed);
	for (i = 0; i < RECORDS; i++) {
		struct vmprof_record rec = { .type = (uint16_t)(rand() % 20), .pcpu = 3 };
		size_t words = (size_t)(1 + (i % 7 ? rec.type : rand() % 120));

		rec.size = (uint16_t)(8 * words);
		memcpy(data + at, &rec, sizeof(rec));
		for (k = 1; k < words; k++) {
			uint64_t v = rand() % 3 ? 0x7000 + k : rand() % 2 ? (uint64_t)rand() % 300 - 150 : wild();

			memcpy(data + at + 8 * k, &v, sizeof(v));
		}
		at += rec.size;
	}
	return at;
}

static void test_round_trip(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 50; seed++) {
		size_t len = some_records(seed), n = vmp_words_pack(packed, data, len);

		assert_in_range(n, 1, vmp_words_bound(len));
		memset(out, 0xa5, sizeof(out));
		assert_int_equal(vmp_words_unpack(out, len, packed, n), 0);
		assert_memory_equal(out, data, len);
	}
}

/* Every distance of a few bits, on both sides, and the largest */
static void test_distances(void **state)
{
	uint64_t words[2 * 129 + 2] = { 0 };
	unsigned int i, k;
	size_t n;

	(void)state;
	for (i = 0; i < 129; i++) {
		struct vmprof_record rec = { .type = 1, .size = 16 };
		uint64_t d = i == 128 ? UINT64_MAX : i < 64 ? 1ULL << i : -(1ULL << (i - 64));

		memcpy(&words[2 * i], &rec, sizeof(rec));
		words[2 * i + 1] = (i ? words[2 * i - 1] : 0) + d;
	}
	n = vmp_words_pack(packed, words, 2 * 129 * 8);
	assert_true(n);
	assert_int_equal(vmp_words_unpack(out, 2 * 129 * 8, packed, n), 0);
	assert_memory_equal(out, words, 2 * 129 * 8);
	/* as vmprof/capture.h has it: a header, then a mask, then 1 as 2 */
	assert_int_equal(packed[0], 0xff);
	assert_int_equal(packed[9], 1);
	assert_int_equal(packed[10], 2);
	for (k = 0; k < 8; k++)
		assert_int_equal(packed[1 + k], ((uint8_t *)words)[k]);
	assert_int_equal(packed[11], 1);	/* the same header: its kind */
}

/* Samples in a row that differ in clock, address and counts take a fifth of a record */
static void test_samples_are_small(void **state)
{
	struct vmprof_sample *s = (void *)data;
	size_t i, n;

	(void)state;
	srand(7);
	memset(data, 0, sizeof(data));
	for (i = 0; i < RECORDS; i++) {
		s[i].hdr.type = VMPROF_REC_SAMPLE;
		s[i].hdr.size = sizeof(*s);
		s[i].tsc = 1000000000000ULL + i * 2600000 + (uint64_t)rand() % 5000;
		s[i].host_ip = 0xffffffff81234567;
		s[i].host_pid = s[i].host_tid = s[i].vm = 4321;
		s[i].guest_ip = 0x555555554000 + (uint64_t)rand() % 40000;
		s[i].guest_cr3 = 0x12345000;
		s[i].exit_reason = 0x61;
		s[i].cycles = 2600000 + (uint64_t)rand() % 50;
		s[i].instructions = 1900000 + (uint64_t)rand() % 50000;
	}
	n = vmp_words_pack(packed, data, RECORDS * sizeof(*s));
	assert_in_range(n, 1, RECORDS * sizeof(*s) / 5);
	assert_int_equal(vmp_words_unpack(out, RECORDS * sizeof(*s), packed, n), 0);
	assert_memory_equal(out, data, RECORDS * sizeof(*s));
}

static void test_no_records(void **state)
{
	struct vmprof_record rec = { .type = 1, .size = 24 };

	(void)state;
	memset(data, 0, 64);
	assert_int_equal(vmp_words_pack(packed, data, 64), 0);		/* of no size */
	memcpy(data, &rec, sizeof(rec));
	assert_int_equal(vmp_words_pack(packed, data, 16), 0);		/* cut */
	assert_int_equal(vmp_words_pack(packed, data, 28), 0);		/* half a header behind it */
	assert_true(vmp_words_pack(packed, data, 24));
	rec.size = 20;
	memcpy(data, &rec, sizeof(rec));
	assert_int_equal(vmp_words_pack(packed, data, 20), 0);
}

/* What is not exactly the packed form of that many bytes */
static void test_lies(void **state)
{
	size_t len = some_records(3), n = vmp_words_pack(packed, data, len), i;
	uint8_t *copy = malloc(n), *room = malloc(len);
	unsigned int kept = 0;

	(void)state;
	assert_non_null(copy);
	assert_non_null(room);
	assert_int_equal(vmp_words_unpack(room, len - 8, packed, n), -EBADMSG);
	assert_int_equal(vmp_words_unpack(out, len + 8, packed, n), -EBADMSG);
	for (i = 0; i < n; i += 1 + i / 50) {
		/* a heap block of that size: a byte too far is seen */
		uint8_t *cut = malloc(i ? i : 1);

		assert_non_null(cut);
		memcpy(cut, packed, i);
		assert_int_equal(vmp_words_unpack(room, len, cut, i), -EBADMSG);
		free(cut);
	}
	srand(11);
	for (i = 0; i < 20000; i++) {
		memcpy(copy, packed, n);
		copy[(size_t)rand() % n] ^= (uint8_t)(1 + rand() % 255);
		kept += !vmp_words_unpack(room, len, copy, n);
	}
	assert_in_range(kept, 1, 19999);	/* other values are values; other lengths are not */
	free(copy);
	free(room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_samples_are_small),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
