// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_branches.c - the host module's choice of last branches, compiled as it is: what AMD's
 * registers hold, where a record is cut, and its layout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "ring_shim.h"
#include <cmocka.h>
#include "../../host-driver/branches.c"

#define VALID	(1ULL << 63)
#define SPEC	(1ULL << 62)
#define UNUSED	16		/* 48 address bits */
#define ENTRIES	16U

static const struct vmph_text vendor = { 0xffffffffc0800000, 0xffffffffc0820000 };
static const struct vmph_text none;

static void test_sane(void **state)
{
	const u32 any = VMPROF_LBR_ALL;

	(void)state;
	assert_true(vmph_branches_sane(0, 0));
	assert_false(vmph_branches_sane(0, VMPROF_LBR_FROM));
	assert_true(vmph_branches_sane(any, VMPROF_LBR_FROM_TO));
	assert_true(vmph_branches_sane(VMPROF_LBR_USER | VMPROF_LBR_FAR, VMPROF_LBR_FROM_TO_CYCLES));
	assert_false(vmph_branches_sane(any, 0));
	assert_false(vmph_branches_sane(any, VMPROF_LBR_FROM_TO_CYCLES + 1));
	assert_false(vmph_branches_sane(any + 1, VMPROF_LBR_FROM_TO));
	assert_false(vmph_branches_sane(VMPROF_LBR_USER | VMPROF_LBR_KERNEL, VMPROF_LBR_FROM_TO));
	assert_false(vmph_branches_sane(VMPROF_LBR_RET, VMPROF_LBR_FROM_TO));
}

/* The host's last branch before VMRUN is a call or a return of the vendor module's */
static void test_tell_entry(void **state)
{
	(void)state;
	assert_true(vmph_branches_tell_entry(VMPROF_LBR_ALL));
	assert_true(vmph_branches_tell_entry(VMPROF_LBR_KERNEL | VMPROF_LBR_CALL_REL));
	assert_true(vmph_branches_tell_entry(VMPROF_LBR_KERNEL | VMPROF_LBR_RET | VMPROF_LBR_COND));
	assert_false(vmph_branches_tell_entry(VMPROF_LBR_KERNEL | VMPROF_LBR_CALL_IND));
	assert_false(vmph_branches_tell_entry(VMPROF_LBR_ALL & ~(VMPROF_LBR_CALL_REL | VMPROF_LBR_RET)));
	assert_true(vmph_branches_tell_entry(VMPROF_LBR_USER | VMPROF_LBR_COND));
}

/* Behind a VM exit: the host's branches, or its cycles, must not be taken for the guest's */
static void test_go_on(void **state)
{
	(void)state;
	assert_true(vmph_branches_go_on(VMPROF_LBR_USER | VMPROF_LBR_COND, VMPROF_LBR_FROM_TO));
	assert_true(vmph_branches_go_on(VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, VMPROF_LBR_TO));
	assert_false(vmph_branches_go_on(VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO));
	assert_false(vmph_branches_go_on(VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, VMPROF_LBR_FROM_TO_CYCLES));
}

static void test_same_space(void **state)
{
	(void)state;
	assert_true(vmph_same_space(0x12344000, 0x12344000));
	assert_true(vmph_same_space(0x8000000012344005, 0x12345805));	/* user half, PCIDs, no flush */
	assert_false(vmph_same_space(0x12344000, 0x12346000));
	assert_false(vmph_same_space(0x8000012344000, 0x12344000));
}

static void test_amd(void **state)
{
	struct vmph_branch b = { .from = 1, .cycles = 7 };

	(void)state;
	/* bits above the address bits are whatever they are */
	assert_int_equal(vmph_branch_amd(0x8000ffff81000010 & ~(1ULL << 62), VALID | 0xffffc0000020, UNUSED, &b),
			 VMPH_BRANCH_TAKEN);
	assert_int_equal(b.from, 0xffffffff81000010);
	assert_int_equal(b.to, 0xffffffffc0000020);
	assert_int_equal(b.cycles, 0);
	assert_true(b.mispredicted);
	assert_int_equal(vmph_branch_amd(0x401000, VALID | SPEC | 0x7fff00000000, UNUSED, &b), VMPH_BRANCH_TAKEN);
	assert_int_equal(b.from, 0x401000);
	assert_int_equal(b.to, 0x7fff00000000);
	assert_false(b.mispredicted);
	/* five levels of page tables */
	assert_int_equal(vmph_branch_amd(0x401000, VALID | 0x1ff000000000000, 7, &b), VMPH_BRANCH_TAKEN);
	assert_int_equal(b.to, 0xffff000000000000);
	b.from = 1;
	assert_int_equal(vmph_branch_amd(0x401000, SPEC | 0x402000, UNUSED, &b), VMPH_BRANCH_WRONG_PATH);
	assert_int_equal(vmph_branch_amd(0x401000, VALID | 1ULL << 61 | 0x402000, UNUSED, &b), VMPH_BRANCH_WRONG_PATH);
	assert_int_equal(vmph_branch_amd(0, 0, UNUSED, &b), VMPH_BRANCH_NONE);
	/* the mark is written over "from"; "to" is still there */
	assert_int_equal(vmph_branch_amd(VMPH_BRANCH_MARK, VALID | 0x402000, UNUSED, &b), VMPH_BRANCH_BOUNDARY);
	assert_int_equal(b.from, 1);
}

static bool add(struct vmph_branches *b, u64 from, u64 to, const struct vmph_text *host, bool wrong)
{
	struct vmph_branch branch = { .from = from, .to = to, .cycles = 5, .mispredicted = wrong };

	return vmph_branches_add(b, VMPH_BRANCH_TAKEN, &branch, ENTRIES - b->nr, host);
}

static void test_cut_at_text(void **state)
{
	struct vmph_branches b = { 0 };

	(void)state;
	assert_true(add(&b, 0x401010, 0x401000, &vendor, false));
	assert_true(add(&b, 0xffffffff81000000, 0x401008, &vendor, true));
	/* just outside of the module on both sides */
	assert_true(add(&b, vendor.start - 1, vendor.end, &vendor, false));
	assert_false(add(&b, vendor.end - 1, 0x401000, &vendor, false));
	assert_int_equal(b.nr, 3);
	assert_int_equal(b.cut, ENTRIES - 3);
	assert_int_equal(b.mispredicted, 1 << 1);
	b = (struct vmph_branches){ 0 };
	assert_false(add(&b, 0xffffffff81000000, vendor.start, &vendor, false));
	assert_int_equal(b.nr, 0);
	assert_int_equal(b.cut, ENTRIES);
	/* in a host's sample the module's branches are its own */
	b = (struct vmph_branches){ 0 };
	assert_true(add(&b, 0xffffffff81000000, vendor.start, &none, false));
	assert_true(add(&b, 0, 0, &none, false));
	assert_int_equal(b.nr, 2);
	assert_int_equal(b.cut, 0);
}

static void test_ends(void **state)
{
	struct vmph_branches b = { 0 };
	struct vmph_branch unset = { 0 };
	unsigned int i;

	(void)state;
	assert_true(add(&b, 0x401010, 0x401000, &vendor, false));
	assert_true(vmph_branches_add(&b, VMPH_BRANCH_WRONG_PATH, &unset, 15, &vendor));
	assert_true(add(&b, 0x401010, 0x401000, &vendor, false));
	assert_false(vmph_branches_add(&b, VMPH_BRANCH_BOUNDARY, &unset, 13, &vendor));
	assert_int_equal(b.nr, 2);
	assert_int_equal(b.cut, 13);
	b = (struct vmph_branches){ 0 };
	assert_false(vmph_branches_add(&b, VMPH_BRANCH_NONE, &unset, 16, &vendor));
	assert_int_equal(b.cut, 0);
	for (i = 0; i < VMPROF_LBR_MAX; i++)
		assert_true(add(&b, 0x401010, 0x401000, &vendor, true));
	assert_int_equal(b.mispredicted, 0xffffffff);
	assert_false(add(&b, 0x401010, 0x401000, &vendor, true));
	assert_int_equal(b.nr, VMPROF_LBR_MAX);
}

static void test_bytes(void **state)
{
	struct vmph_branches b = { 0 };

	(void)state;
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_FROM_TO), 0);
	b.cut = 16;
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_FROM_TO), 32);
	b.nr = 16;
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_FROM_TO), 288);
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_FROM), 160);
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_TO), 160);
	assert_int_equal(vmph_branches_bytes(&b, VMPROF_LBR_FROM_TO_CYCLES), 416);
}

static void test_write(void **state)
{
	static const u64 want[5][6] = {
		[VMPROF_LBR_FROM_TO] = { 0x11, 0x12, 0x21, 0x22 },
		[VMPROF_LBR_FROM] = { 0x11, 0x21 },
		[VMPROF_LBR_TO] = { 0x12, 0x22 },
		[VMPROF_LBR_FROM_TO_CYCLES] = { 0x11, 0x12, 5, 0x21, 0x22, 5 },
	};
	struct vmph_branches b = { .recorded = VMPROF_LBR_ALL, .flags = VMPROF_LBR_SWITCHED };
	union {
		struct vmprof_rec_lbr rec;
		u64 room[4 + 6 + 1];
	} u;
	unsigned int format, words, i;

	(void)state;
	add(&b, 0x11, 0x12, &none, false);
	add(&b, 0x21, 0x22, &none, true);
	b.cut = 3;
	for (format = VMPROF_LBR_FROM_TO; format <= VMPROF_LBR_FROM_TO_CYCLES; format++) {
		memset(&u, 0xee, sizeof(u));
		vmph_branches_write(&b, format, 99, &u.rec);
		assert_int_equal(u.rec.tsc, 99);
		assert_int_equal(u.rec.branches, VMPROF_LBR_ALL);
		assert_int_equal(u.rec.format, format);
		assert_int_equal(u.rec.nr, 2);
		assert_int_equal(u.rec.cut, 3);
		assert_int_equal(u.rec.mispredicted, 2);
		assert_int_equal(u.rec.flags, VMPROF_LBR_SWITCHED);
		assert_int_equal(u.rec.reserved1, 0);
		words = (vmph_branches_bytes(&b, format) - sizeof(u.rec)) / sizeof(u64);
		for (i = 0; i < words; i++)
			assert_int_equal(u.rec.word[i], want[format][i]);
		/* the header is the ring's, and nothing is written behind the record */
		assert_int_equal(u.room[0], 0xeeeeeeeeeeeeeeee);
		assert_int_equal(u.room[4 + words], 0xeeeeeeeeeeeeeeee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sane), cmocka_unit_test(test_tell_entry), cmocka_unit_test(test_go_on),
		cmocka_unit_test(test_same_space),
		cmocka_unit_test(test_amd), cmocka_unit_test(test_cut_at_text),
		cmocka_unit_test(test_ends), cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
