// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_lbr_amd.c - the host module's half of AMD's branch record, compiled as it is, before
 * made-up registers: CPUID, what is switched on and off and left as it was, the record.
 *
 * Registers are laid out as in the APM, volume 2, "Last Branch Stack Registers", and volume 3,
 * "Extended Performance Monitoring and Debug" (CPUID 80000022h); none was recorded on a processor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>
#include "../../host-driver/branches.c"
#include "../../host-driver/lbr_amd.c"

#define DEBUGCTL_BTF	(1ULL << 1)	/* another one's bit */
#define FREEZE		(1ULL << 11)
#define ENTRIES		16
#define OLD_FILTER	0x1fcULL
#define CALLS		(VMPROF_LBR_USER | VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND)
#define CALLS_FILTER	0x1e5ULL	/* what is left out: bits as in VMPROF_LBR_* */

/* ----------------------------------------------------- a made-up processor */

static struct {
	u32 max_leaf, eax, ebx;
	u64 debugctl, extn_cfg, select, status;
	u64 stack[2 * ENTRIES];
} cpu;

struct cpuinfo_x86 boot_cpu_data = { X86_VENDOR_AMD, 48 };

static u64 *msr_of(u32 msr)
{
	switch (msr) {
	case 0x1d9:
		return &cpu.debugctl;
	case 0xc000010e:
		return &cpu.select;
	case 0xc000010f:
		return &cpu.extn_cfg;
	case 0xc0000300:
		return &cpu.status;
	}
	assert_in_range(msr, 0xc0010300, 0xc0010300 + 2 * ENTRIES - 1);
	return &cpu.stack[msr - 0xc0010300];
}

u64 kernel_rdmsr(u32 msr)
{
	return *msr_of(msr);
}

void kernel_wrmsr(u32 msr, u64 value)
{
	*msr_of(msr) = value;
}

u32 cpuid_eax(u32 leaf)
{
	return leaf == 0x80000000 ? cpu.max_leaf : leaf == 0x80000022 ? cpu.eax : 0;
}

u32 cpuid_ebx(u32 leaf)
{
	return leaf == 0x80000022 ? cpu.ebx : 0;
}

/* 80000022h: PerfMonV2, LbrExtV2, freeze; 6 counters, 16 entries.  Before a session: off, with a filter. */
static int zen4(void **state)
{
	(void)state;
	memset(&cpu, 0, sizeof(cpu));
	cpu.max_leaf = 0x80000028;
	cpu.eax = 7;
	cpu.ebx = ENTRIES << 4 | 6;
	cpu.debugctl = DEBUGCTL_BTF;
	cpu.select = OLD_FILTER;
	return 0;
}

static void assert_off(u64 select)
{
	assert_true(cpu.debugctl == DEBUGCTL_BTF);
	assert_true(cpu.extn_cfg == 0);
	assert_true(cpu.select == select);
}

static void assert_ours(void)
{
	assert_true(cpu.debugctl == (DEBUGCTL_BTF | FREEZE));
	assert_true(cpu.extn_cfg == 1 << 6);
	assert_true(cpu.select == CALLS_FILTER);
}

/* --------------------------------------------------------------- tests */

static void assert_lack(u32 want, unsigned int want_entries)
{
	bool cycles = true;
	u8 entries = 0;

	assert_int_equal(vmph_lbr_amd_lack(&entries, &cycles), want);
	assert_int_equal(entries, want_entries);
	assert_int_equal(cycles, want != VMPROF_LBR_LACK_NONE);
}

static void test_lack(void **state)
{
	(void)state;
	assert_lack(VMPROF_LBR_LACK_NONE, 16);
	cpu.ebx = 63 << 4 | 6;		/* more than a record holds */
	assert_lack(VMPROF_LBR_LACK_NONE, VMPROF_LBR_MAX);
	cpu.eax = 3;
	assert_lack(VMPROF_LBR_LACK_FREEZE, 0);
	cpu.eax = 5;
	assert_lack(VMPROF_LBR_LACK_CPU, 0);
	zen4(NULL);
	cpu.max_leaf = 0x80000021;
	assert_lack(VMPROF_LBR_LACK_CPU, 0);
}

/* A session leaves what it found, its filter included */
static void test_given_back(void **state)
{
	static const u64 filters[] = { OLD_FILTER, 0, CALLS_FILTER };
	u64 select;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		cpu.select = filters[i];
		assert_int_equal(vmph_lbr_amd_arm(CALLS, &select), 0);
		assert_ours();
		assert_true(cpu.stack[0] == VMPH_BRANCH_MARK);
		vmph_lbr_amd_disarm(CALLS, select);
		assert_off(filters[i]);
	}
}

/* Where perf has it, nothing is touched */
static void test_perf_had_it(void **state)
{
	u64 select = 77;

	(void)state;
	cpu.extn_cfg = 1 << 6;
	cpu.debugctl |= FREEZE;
	assert_int_equal(vmph_lbr_amd_arm(CALLS, &select), -EBUSY);
	assert_true(select == 77);
	assert_true(cpu.select == OLD_FILTER);
	assert_true(cpu.stack[0] == 0);
}

/* A user of perf's that came in a session keeps it at the end; one that has gone, too, leaves what was before both */
static void test_perf_came(void **state)
{
	u64 select;

	(void)state;
	assert_int_equal(vmph_lbr_amd_arm(CALLS, &select), 0);
	cpu.select = 0x1fd;
	vmph_lbr_amd_disarm(CALLS, select);
	assert_true(cpu.select == 0x1fd);
	assert_true(cpu.extn_cfg == 1 << 6);
	assert_true(cpu.debugctl == (DEBUGCTL_BTF | FREEZE));
	cpu.extn_cfg = 0;
	cpu.debugctl = DEBUGCTL_BTF;
	vmph_lbr_amd_disarm(CALLS, select);
	assert_off(OLD_FILTER);
}

static const struct vmph_text none;

static void test_read(void **state)
{
	struct vmph_branches b = { .recorded = CALLS };
	u64 select;

	(void)state;
	assert_int_equal(vmph_lbr_amd_arm(CALLS, &select), 0);
	cpu.status = 1ULL << 58;
	cpu.stack[0] = 1ULL << 63 | 0x401000;
	cpu.stack[1] = 1ULL << 63 | 0x402000;
	cpu.stack[2] = 0x7fff00001000;
	cpu.stack[3] = 1ULL << 62 | 0x403000;		/* of a wrong path */
	cpu.stack[4] = 0xffff81000010;
	cpu.stack[5] = 1ULL << 63 | 0x403000;
	cpu.stack[6] = VMPH_BRANCH_MARK;
	vmph_lbr_amd_read(&none, ENTRIES, &b);
	assert_int_equal(b.nr, 2);
	assert_int_equal(b.cut, ENTRIES - 3);
	assert_int_equal(b.mispredicted, 1);
	assert_true(b.entry[0].from == 0x401000 && b.entry[0].to == 0x402000);
	assert_true(b.entry[1].from == 0xffffffff81000010 && b.entry[1].to == 0x403000);
}

/* Not frozen, or another one's: all of it is left out; ours again where nobody has it */
static void test_not_ours(void **state)
{
	struct vmph_branches b = { .recorded = CALLS };
	u64 select;

	(void)state;
	assert_int_equal(vmph_lbr_amd_arm(CALLS, &select), 0);
	cpu.stack[0] = 0x401000;
	cpu.stack[1] = 1ULL << 63 | 0x402000;
	vmph_lbr_amd_read(&none, ENTRIES, &b);
	assert_int_equal(b.nr, 0);
	assert_int_equal(b.cut, ENTRIES);
	assert_true(cpu.stack[0] == VMPH_BRANCH_MARK);
	/* perf's user */
	cpu.status = 1ULL << 58;
	cpu.select = 0x1fd;
	cpu.stack[0] = 0x401000;
	vmph_lbr_amd_read(&none, ENTRIES, &b);
	assert_int_equal(b.nr, 0);
	assert_true(cpu.select == 0x1fd);
	assert_true(cpu.stack[0] == 0x401000);
	/* which goes */
	cpu.extn_cfg = 0;
	cpu.debugctl = DEBUGCTL_BTF;
	vmph_lbr_amd_read(&none, ENTRIES, &b);
	assert_int_equal(b.nr, 0);
	assert_ours();
	assert_true(cpu.stack[0] == VMPH_BRANCH_MARK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_lack, zen4),
		cmocka_unit_test_setup(test_given_back, zen4),
		cmocka_unit_test_setup(test_perf_had_it, zen4),
		cmocka_unit_test_setup(test_perf_came, zen4),
		cmocka_unit_test_setup(test_read, zen4),
		cmocka_unit_test_setup(test_not_ours, zen4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
