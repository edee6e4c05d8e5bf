// SPDX-License-Identifier: GPL-2.0-only
/* test_lbr.c - last branch records as people ask for them, refusals with their reasons, and what the collector counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/lbr.h"
#include "collect/session.h"
#include "util/log.h"

#define LEVELS	(VMPROF_LBR_KERNEL | VMPROF_LBR_USER)
#define CALLS	(VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND)

static char told[4096];

static void hear(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(told, sizeof(told), "%s", text);
}

static void parses(const char *filter, const char *format, uint32_t branches, uint32_t want)
{
	struct vmp_lbr lbr = { 0 };

	assert_int_equal(vmp_lbr_parse(filter, format, &lbr), 0);
	assert_int_equal(lbr.branches, branches);
	assert_int_equal(lbr.format, want);
}

static void test_filters(void **state)
{
	(void)state;
	parses(NULL, NULL, 0, 0);
	parses("any", NULL, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO);
	parses("user", NULL, VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, VMPROF_LBR_FROM_TO);
	parses("kernel", "to", VMPROF_LBR_ALL & ~VMPROF_LBR_USER, VMPROF_LBR_TO);
	parses("call", NULL, LEVELS | CALLS, VMPROF_LBR_FROM_TO);
	parses("ret,cond", "from", LEVELS | VMPROF_LBR_RET | VMPROF_LBR_COND, VMPROF_LBR_FROM);
	parses("cond,user", NULL, VMPROF_LBR_USER | VMPROF_LBR_COND, VMPROF_LBR_FROM_TO);
	parses("user,ind", NULL, VMPROF_LBR_USER | VMPROF_LBR_CALL_IND | VMPROF_LBR_JUMP_IND, VMPROF_LBR_FROM_TO);
	parses("jump,user", NULL, VMPROF_LBR_USER | VMPROF_LBR_JUMP_REL | VMPROF_LBR_JUMP_IND, VMPROF_LBR_FROM_TO);
	parses("far,ret,user,kernel", "from-to-cycles", LEVELS | VMPROF_LBR_FAR | VMPROF_LBR_RET,
	       VMPROF_LBR_FROM_TO_CYCLES);
}

/* The acquisition types of the paper's table 8: what is recorded, and the size that start --help and its man page tell */
static void test_presets(void **state)
{
	static const struct {
		const char *name;
		uint32_t branches, format;
		unsigned int bytes[2];	/* of 16 and of 32 branches */
	} type[] = {
		{ "calls", CALLS, VMPROF_LBR_FROM_TO, { 288, 544 } },
		{ "flow-from", CALLS | VMPROF_LBR_RET, VMPROF_LBR_FROM, { 160, 288 } },
		{ "flow-to", CALLS | VMPROF_LBR_RET, VMPROF_LBR_TO, { 160, 288 } },
		{ "flow", CALLS | VMPROF_LBR_RET, VMPROF_LBR_FROM_TO, { 288, 544 } },
	};
	struct vmp_lbr lbr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(type) / sizeof(type[0]); i++) {
		parses(type[i].name, NULL, LEVELS | type[i].branches, type[i].format);
		assert_int_equal(vmp_lbr_parse(type[i].name, NULL, &lbr), 0);
		assert_int_equal(vmp_lbr_bytes(&lbr, 16), type[i].bytes[0]);
		assert_int_equal(vmp_lbr_bytes(&lbr, 32), type[i].bytes[1]);
	}
	parses("calls,user", NULL, VMPROF_LBR_USER | CALLS, VMPROF_LBR_FROM_TO);
	parses("user,flow-from", NULL, VMPROF_LBR_USER | CALLS | VMPROF_LBR_RET, VMPROF_LBR_FROM);
}

static void refuses(const char *filter, const char *format, const char *why)
{
	struct vmp_lbr lbr = { 7, 7, 0 };

	told[0] = 0;
	assert_int_equal(vmp_lbr_parse(filter, format, &lbr), -EINVAL);
	if (!strstr(told, why))
		fail_msg("'%s' is not in '%s'", why, told);
	assert_int_equal(lbr.branches, 7);
	assert_int_equal(lbr.format, 7);
}

static void test_wrong_words(void **state)
{
	(void)state;
	refuses("", NULL, "no branches ''");
	refuses("any,", NULL, "no branches ''");
	refuses("calling", NULL, "no branches 'calling'");
	refuses("cal", NULL, "no branches 'cal'");
	refuses("\033[2J", NULL, "no branches '\\x1b[2J'");
	refuses("flow,cond", NULL, "not cond");
	refuses("cond,flow", NULL, "flow says already");
	refuses("flow,calls", NULL, "calls says already");
	refuses("flow", "to", "a format of their own");
	refuses("any", "pairs", "give from-to, from, to or from-to-cycles");
	refuses(NULL, "to", "goes with --lbr");
	/* what the module cannot tell apart */
	refuses("cond", NULL, "take user code alone");
	refuses("far,kernel", NULL, "take user code alone");
}

/* Blocks are known from all near branches alone, and from both ends of each */
static void test_blocks(void **state)
{
	static const struct { const char *filter, *format; int tells; } cases[] = {
		{ "any", NULL, 1 }, { "any,user", NULL, 1 }, { "kernel,any", NULL, 1 }, { "user", NULL, 1 },
		{ "any", "from-to-cycles", 1 }, { "cond,call,ret,ind,jump,user", NULL, 1 },
		{ "any", "from", 0 }, { "any", "to", 0 }, { "call,ret,ind,jump", NULL, 0 }, { "cond,call,ret,ind,user", NULL, 0 },
		{ "calls", NULL, 0 }, { "flow", NULL, 0 }, { "flow-from", NULL, 0 }, { "flow-to", NULL, 0 }, { NULL, NULL, 0 },
	};
	struct vmp_lbr lbr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(vmp_lbr_parse(cases[i].filter, cases[i].format, &lbr), 0);
		assert_int_equal(vmp_lbr_tells_blocks(&lbr), cases[i].tells);
	}
}

static void lacks(const struct vmprof_query *q, int want, const char *why)
{
	struct vmp_lbr lbr = { VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, 0 };

	told[0] = 0;
	assert_int_equal(vmp_lbr_check(&lbr, q), want);
	if (!strstr(told, why))
		fail_msg("'%s' is not in '%s'", why, told);
}

static void test_refusals(void **state)
{
	struct vmprof_query q = { .version = 3, .lbr_lack = VMPROF_LBR_LACK_CPU };
	struct vmp_lbr lbr = { VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO_CYCLES, 0 }, none = { 0 };

	(void)state;
	lacks(&q, -EOPNOTSUPP, "AMD: Zen 4");
	q.lbr_lack = VMPROF_LBR_LACK_FREEZE;
	lacks(&q, -EOPNOTSUPP, "counter's interrupt");
	q.lbr_lack = VMPROF_LBR_LACK_KVM;
	lacks(&q, -EOPNOTSUPP, "KVM is not loaded");
	q.lbr_lack = VMPROF_LBR_LACK_PERF;
	lacks(&q, -EOPNOTSUPP, "this kernel's perf");
	q.lbr_lack = 0;
	lacks(&q, -EOPNOTSUPP, "does not say why");
	q.lbr_lack = 99;
	lacks(&q, -EOPNOTSUPP, "does not say why");
	q.version = 2;
	lacks(&q, -EPROTO, "too old");
	assert_int_equal(vmp_lbr_check(&none, &q), 0);
	q = (struct vmprof_query){ .version = 3, .features = VMPROF_FEAT_LBR };
	lacks(&q, 0, "");
	assert_int_equal(vmp_lbr_check(&lbr, &q), -EOPNOTSUPP);
	assert_non_null(strstr(told, "does not count cycles"));
	q.features |= VMPROF_FEAT_LBR_CYCLES;
	assert_int_equal(vmp_lbr_check(&lbr, &q), 0);
}

/* The cycles that a processor counts itself are taken where they help, and nobody said otherwise */
static void test_cycles(void **state)
{
	static const struct { const char *filter, *format; uint32_t without, with; } cases[] = {
		{ "any", NULL, VMPROF_LBR_FROM_TO, VMPROF_LBR_FROM_TO_CYCLES },
		{ "any,user", NULL, VMPROF_LBR_FROM_TO, VMPROF_LBR_FROM_TO_CYCLES },
		{ "any", "from-to", VMPROF_LBR_FROM_TO, VMPROF_LBR_FROM_TO },
		{ "any", "from", VMPROF_LBR_FROM, VMPROF_LBR_FROM },
		{ "call", NULL, VMPROF_LBR_FROM_TO, VMPROF_LBR_FROM_TO },
		{ "calls", NULL, VMPROF_LBR_FROM_TO, VMPROF_LBR_FROM_TO },
		{ "flow-to", NULL, VMPROF_LBR_TO, VMPROF_LBR_TO },
		{ NULL, NULL, 0, 0 },
	};
	const struct vmprof_query without = { .version = 3, .features = VMPROF_FEAT_LBR };
	const struct vmprof_query with = { .version = 3, .features = VMPROF_FEAT_LBR | VMPROF_FEAT_LBR_CYCLES };
	struct vmp_lbr lbr;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(vmp_lbr_parse(cases[i].filter, cases[i].format, &lbr), 0);
		assert_int_equal(vmp_lbr_on(&lbr, &without).format, cases[i].without);
		assert_int_equal(vmp_lbr_on(&lbr, &with).format, cases[i].with);
		assert_int_equal(vmp_lbr_on(&lbr, &with).branches, lbr.branches);
	}
}

static void test_texts(void **state)
{
	struct vmp_lbr lbr = { VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO_CYCLES, 0 };
	char text[128], *json;
	size_t len;
	FILE *f;

	(void)state;
	assert_string_equal(vmp_lbr_text(text, &lbr),
			    "kernel, user, cond, call-rel, call-ind, ret, jump-ind, jump-rel, far; from-to-cycles");
	assert_int_equal(vmp_lbr_bytes(&lbr, 32), 800);
	lbr = (struct vmp_lbr){ VMPROF_LBR_USER | VMPROF_LBR_RET, VMPROF_LBR_TO, 0 };
	assert_int_equal(vmp_lbr_bytes(&lbr, 16), 160);
	f = open_memstream(&json, &len);
	vmp_lbr_json(&lbr, f);
	lbr.branches = 0;
	vmp_lbr_json(&lbr, f);
	fclose(f);
	assert_string_equal(json, "{\"branches\":[\"user\",\"ret\"],\"format\":\"to\"}null");
	free(json);
}

/* ----------------------------------------------------------- collector */

#define RING	4096U

static struct {
	struct vmprof_producer producer;
	struct vmprof_consumer consumer;
	uint8_t data[RING];
} mem;

static void put(const void *record, uint16_t size)
{
	memcpy(mem.data + mem.producer.head, record, size);
	mem.producer.head += size;
}

static void put_pair(uint16_t type, uint8_t nr, uint8_t cut)
{
	struct vmprof_sample s = { .hdr = { type, sizeof(s), 0 }, .tsc = 5 };
	union {
		struct vmprof_rec_lbr rec;
		uint8_t bytes[sizeof(struct vmprof_rec_lbr) + 256 * 16];
	} u = { .rec = { .hdr = { VMPROF_REC_LBR, (uint16_t)(sizeof(u.rec) + nr * 16), 0 }, .tsc = 5, .nr = nr, .cut = cut } };

	put(&s, sizeof(s));
	put(&u, u.rec.hdr.size);
}

static void test_counts(void **state)
{
	static struct vmp_session s;
	struct vmprof_cap_header proto = { .tsc_khz = 1000000 };
	struct vmp_ring ring;
	char path[] = "/tmp/vmprof-lbr-XXXXXX", *json;
	int fd = mkstemp(path);
	static struct vmp_session_opts opts = { .lbr = { VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO } };

	(void)state;
	close(fd);
	s.opts = &opts;
	s.driver.rings = &ring;
	s.driver.query.nr_cpus = 1;
	s.scratch = malloc(VMP_SCRATCH_BYTES);
	memset(&mem, 0, sizeof(mem));
	vmp_ring_init(&ring, &mem.producer, &mem.consumer, mem.data, RING);
	assert_int_equal(vmp_writer_create(&s.writer, path, &proto), 0);
	put_pair(VMPROF_REC_SAMPLE, 16, 0);
	put_pair(VMPROF_REC_SAMPLE, 3, 13);
	put_pair(VMPROF_REC_SAMPLE, 0, 16);
	/* those of the second event are not counted among the samples' */
	put_pair(VMPROF_REC_INSTRUCTIONS, 5, 0);
	vmp_store_rings(&s);
	assert_int_equal(s.samples, 3);
	assert_int_equal(s.branches.samples, 2);
	assert_int_equal(s.branches.branches, 19);
	assert_int_equal(s.branches.cut, 29);
	s.driver.fd = -1;
	json = vmp_session_status(&s);
	assert_non_null(strstr(json, "\"format\":\"from-to\"},\"branches\":{\"samples\":2,\"branches\":19,\"cut\":29}"));
	free(json);
	vmp_writer_discard(s.writer);
	free(s.scratch);
	unlink(path);
}

/* A reader with little room leaves a sample whose branches have no place beside it */
static void test_pairs_stay_together(void **state)
{
	struct vmp_ring ring;
	static uint8_t out[RING];
	size_t pair = sizeof(struct vmprof_sample) + sizeof(struct vmprof_rec_lbr) + 32;

	(void)state;
	memset(&mem, 0, sizeof(mem));
	vmp_ring_init(&ring, &mem.producer, &mem.consumer, mem.data, RING);
	put_pair(VMPROF_REC_SAMPLE, 2, 0);
	put_pair(VMPROF_REC_SAMPLE, 2, 0);
	put_pair(VMPROF_REC_INSTRUCTIONS, 2, 0);
	assert_int_equal(vmp_ring_read(&ring, out, 2 * pair + sizeof(struct vmprof_sample)), 2 * pair);
	assert_int_equal(vmp_ring_read(&ring, out, pair - 8), 0);
	assert_int_equal(vmp_ring_read(&ring, out, pair), pair);
	assert_int_equal(ring.resyncs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters), cmocka_unit_test(test_presets),
		cmocka_unit_test(test_wrong_words), cmocka_unit_test(test_blocks), cmocka_unit_test(test_refusals), cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_texts), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_pairs_stay_together),
	};

	vmp_log_set(hear, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
