// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_lbr_intel.c - the host module's half of Intel's branch records, compiled as it is, before
 * made-up registers: CPUID and IA32_PERF_CAPABILITIES, the filters, the mark in the youngest
 * entry, and what perf hands over.
 *
 * Registers are laid out as the Intel SDM has them, in volume 3 "Debug, Branch Profile, TSC ...
 * Features" (LBR stack, MSR_LBR_SELECT, MSR_LBR_INFO_x) and "Last Branch Records" (the architectural
 * ones), and in volume 2 "CPUID"; none was recorded on a processor. Of what is in an entry the module reads
 * nothing itself: perf turns FROM, TO and INFO into addresses, a misprediction and cycles. Here
 * that is done by perf_reads(), from the same pages of the manual.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>
#include "../../host-driver/branches.c"
#include "../../host-driver/lbr_intel.c"

/* ----------------------------------------------------- a made-up processor */

static struct {
	u32 max_leaf, perfmon, lbr_eax, lbr_ecx;
	bool pdcm, arch_lbr;
	u64 msr[0x2000];
	unsigned int writes;
} cpu;

u64 kernel_rdmsr(u32 msr)
{
	assert_true(msr < ARRAY_SIZE(cpu.msr));
	return cpu.msr[msr];
}

void kernel_wrmsr(u32 msr, u64 value)
{
	assert_true(msr < ARRAY_SIZE(cpu.msr));
	cpu.msr[msr] = value;
	cpu.writes++;
}

u32 cpuid_eax(u32 leaf)
{
	return leaf == 0 ? cpu.max_leaf : leaf == 0x0a ? cpu.perfmon : leaf == 0x1c ? cpu.lbr_eax : 0;
}

u32 cpuid_ecx(u32 leaf)
{
	return leaf == 0x1c ? cpu.lbr_ecx : 0;
}

bool boot_cpu_has(int feature)
{
	return feature == X86_FEATURE_PDCM ? cpu.pdcm : feature == X86_FEATURE_ARCH_LBR && cpu.arch_lbr;
}

/* CPUID.0AH:EAX: version 4, 4 counters of 48 bits; IA32_PERF_CAPABILITIES[5:0]: format 5, with MSR_LBR_INFO_x */
static int skylake(void **state)
{
	(void)state;
	memset(&cpu, 0, sizeof(cpu));
	cpu.max_leaf = 0x16;
	cpu.perfmon = 0x07300404;
	cpu.pdcm = true;
	cpu.msr[MSR_IA32_PERF_CAPABILITIES] = 0x33c5;
	return 0;
}

/* CPUID.1CH: depths of 8, 16 and 32; mispredictions, cycles and kinds of branches */
static int sapphire_rapids(void **state)
{
	skylake(state);
	cpu.max_leaf = 0x20;
	cpu.perfmon = 0x07300805;
	cpu.arch_lbr = true;
	cpu.lbr_eax = 0x4000000b;
	cpu.lbr_ecx = 0x7;
	cpu.msr[MSR_IA32_PERF_CAPABILITIES] = 0x3fff;
	return 0;
}

/* ------------------------------------------------------- what there is */

static void assert_lack(u32 want, unsigned int want_entries, bool want_cycles)
{
	bool cycles = false;
	u8 entries = 0;

	assert_int_equal(vmph_lbr_intel_lack(&entries, &cycles), want);
	assert_int_equal(entries, want_entries);
	assert_int_equal(cycles, want_cycles);
}

static void test_legacy(void **state)
{
	u64 *caps = &cpu.msr[MSR_IA32_PERF_CAPABILITIES];

	(void)state;
	assert_lack(VMPROF_LBR_LACK_NONE, 32, true);
	*caps = 0x2fc4;		/* format 4: flags in FROM, no cycles */
	assert_lack(VMPROF_LBR_LACK_NONE, 32, false);
	*caps = 0x33c6;		/* 6: cycles in TO; 7: INFO without TSX */
	assert_lack(VMPROF_LBR_LACK_NONE, 32, true);
	*caps = 0x33c7;
	assert_lack(VMPROF_LBR_LACK_NONE, 32, true);
	*caps = 0x33c0;		/* format 0: 32-bit addresses; what a guest without LBR sees */
	assert_lack(VMPROF_LBR_LACK_CPU, 0, false);
	*caps = 0x33c5;
	cpu.perfmon = 0x07300403;	/* Haswell: its freeze ends with the VM's exit */
	assert_lack(VMPROF_LBR_LACK_FREEZE, 0, false);
	cpu.perfmon = 0;		/* a virtual machine without PMU */
	assert_lack(VMPROF_LBR_LACK_FREEZE, 0, false);
	cpu.max_leaf = 9;
	assert_lack(VMPROF_LBR_LACK_CPU, 0, false);
	skylake(NULL);
	cpu.pdcm = false;
	assert_lack(VMPROF_LBR_LACK_CPU, 0, false);
}

static void test_architectural(void **state)
{
	(void)state;
	assert_lack(VMPROF_LBR_LACK_NONE, 32, true);
	cpu.lbr_eax = 0x1;		/* 8 deep, nothing but addresses */
	cpu.lbr_ecx = 0x5;
	assert_lack(VMPROF_LBR_LACK_NONE, 8, false);
	cpu.lbr_eax = 0x8b;		/* 64 deep: more than a record holds */
	assert_lack(VMPROF_LBR_LACK_NONE, VMPROF_LBR_MAX, false);
	cpu.lbr_eax = 0x40000000;
	assert_lack(VMPROF_LBR_LACK_CPU, 0, false);
}

/* ---------------------------------------------------------- the filters */

/* MSR_LBR_SELECT leaves out what is set, IA32_LBR_CTL takes in what is set */
static const struct {
	u32 branch;
	unsigned int select, ctl;
} filters[] = {
	{ VMPROF_LBR_KERNEL, 0, 1 },	/* CPL_EQ_0;	  OS */
	{ VMPROF_LBR_USER, 1, 2 },	/* CPL_NEQ_0;	  USR */
	{ VMPROF_LBR_COND, 2, 16 },	/* JCC */
	{ VMPROF_LBR_CALL_REL, 3, 19 },	/* NEAR_REL_CALL */
	{ VMPROF_LBR_CALL_IND, 4, 20 },	/* NEAR_IND_CALL */
	{ VMPROF_LBR_RET, 5, 21 },	/* NEAR_RET */
	{ VMPROF_LBR_JUMP_IND, 6, 18 },	/* NEAR_IND_JMP */
	{ VMPROF_LBR_JUMP_REL, 7, 17 },	/* NEAR_REL_JMP */
	{ VMPROF_LBR_FAR, 8, 22 },	/* FAR_BRANCH;	  OTHER_BRANCH */
};

/* perf's words for what software would filter: X86_BR_ALL, and to keep types */
#define PERF_ALL	0x3fff
#define PERF_TYPES	(1U << 18)

static u64 filter(u32 branches)
{
	/* perf has set the second with the architectural LBR, unasked */
	struct perf_event event = { .hw.branch_reg.reg = PERF_ALL | (cpu.arch_lbr ? PERF_TYPES : 0) };

	vmph_lbr_intel_filter(&event, branches);
	/* so perf decodes nothing, and drops nothing */
	assert_int_equal(event.hw.branch_reg.reg, PERF_ALL);
	return event.hw.branch_reg.config;
}

static void test_select(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(filters); i++)
		assert_int_equal(filter(filters[i].branch), 0x1ff & ~(1U << filters[i].select));
	assert_int_equal(filter(VMPROF_LBR_ALL), 0);
	assert_int_equal(filter(VMPROF_LBR_USER | VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND), 0x1e5);
}

/* LBREn (bit 0) is perf's to set, the call stack (bit 3) nobody's */
static void test_ctl(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(filters); i++)
		assert_int_equal(filter(filters[i].branch), 1U << filters[i].ctl);
	assert_int_equal(filter(VMPROF_LBR_ALL), 0x7f0006);
	assert_int_equal(filter(VMPROF_LBR_USER | VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND), 0x180004);
}

/* -------------------------------------------------------------- the mark */

/* The youngest of the legacy entries is where MSR_LASTBRANCH_TOS says */
static void test_youngest_legacy(void **state)
{
	static const u64 tos[] = { 0, 5, 31 };
	unsigned int i, msr;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tos); i++) {
		for (msr = 0x680; msr < 0x6a0; msr++)
			cpu.msr[msr] = 0x400000 + msr;
		cpu.msr[0x1c9] = tos[i];
		cpu.writes = 0;
		assert_int_equal(vmph_lbr_intel_exchange(VMPH_BRANCH_MARK), 0x400680 + tos[i]);
		assert_int_equal(cpu.msr[0x680 + tos[i]], VMPH_BRANCH_MARK);
		assert_int_equal(cpu.writes, 1);
		assert_int_equal(vmph_lbr_intel_exchange(0x400680 + tos[i]), VMPH_BRANCH_MARK);
		assert_int_equal(cpu.msr[0x680 + tos[i]], 0x400680 + tos[i]);
	}
}

/* Of the architectural ones it is IA32_LBR_0 */
static void test_youngest_architectural(void **state)
{
	(void)state;
	cpu.msr[0x1c9] = 5;
	cpu.msr[0x1500] = 0x401000;
	assert_int_equal(vmph_lbr_intel_exchange(VMPH_BRANCH_MARK), 0x401000);
	assert_int_equal(cpu.msr[0x1500], VMPH_BRANCH_MARK);
	assert_int_equal(cpu.writes, 1);
}

/* --------------------------------------------------------------- reading */

#define MISPRED		(1ULL << 63)	/* INFO; FROM in formats 3 and 4 */
#define IN_TSX		(1ULL << 62)
#define TSX_ABORT	(1ULL << 61)
#define CYCLES_VALID	(1ULL << 60)	/* the architectural INFO */

struct raw {
	u64 from, to, info;
};

static u64 extend(u64 address, unsigned int flags)
{
	return (u64)((s64)(address << flags) >> flags);
}

/* What perf makes of an entry: formats as in IA32_PERF_CAPABILITIES[5:0], 63 the architectural one */
static struct perf_branch_entry perf_reads(const struct raw *r, unsigned int format)
{
	struct perf_branch_entry e = { .from = r->from, .to = r->to };

	switch (format) {
	case 4:				/* bits 63:61 of FROM, copies of its bit 47 below */
		e.mispred = !!(r->from & MISPRED);
		e.from = extend(r->from, 3);
		break;
	case 6:				/* bit 63 of FROM, the upper 16 of TO */
		e.mispred = !!(r->from & MISPRED);
		e.from = extend(r->from, 1);
		e.cycles = r->to >> 48;
		e.to = extend(r->to, 16);
		break;
	case 63:
		e.mispred = !!(r->info & MISPRED);
		e.cycles = r->info & CYCLES_VALID ? r->info & 0xffff : 0;
		break;
	default:			/* 5, 7 */
		e.mispred = !!(r->info & MISPRED);
		e.cycles = r->info & 0xffff;
	}
	e.predicted = !e.mispred;
	return e;
}

static const struct vmph_text none;

/* Branches of @nr raw entries, youngest first */
static struct vmph_branches read_raw(const struct raw *raw, unsigned int nr, unsigned int format,
				     const struct vmph_text *host)
{
	struct perf_branch_stack *stack = calloc(1, sizeof(*stack) + nr * sizeof(stack->entries[0]));
	struct perf_sample_data data = { .sample_flags = PERF_SAMPLE_BRANCH_STACK, .br_stack = stack };
	struct vmph_branches b = { .recorded = VMPROF_LBR_ALL };

	for (stack->nr = 0; stack->nr < nr; stack->nr++)
		stack->entries[stack->nr] = perf_reads(&raw[stack->nr], format);
	vmph_lbr_intel_read(&data, host, &b);
	free(stack);
	return b;
}

static void assert_entry(const struct vmph_branches *b, unsigned int i, u64 from, u64 to, u32 cycles, bool wrong)
{
	assert_true(i < b->nr);
	assert_true(b->entry[i].from == from);
	assert_true(b->entry[i].to == to);
	assert_int_equal(b->entry[i].cycles, cycles);
	assert_int_equal(b->entry[i].mispredicted, wrong);
	assert_int_equal(b->mispredicted >> i & 1, wrong);
}

/* A user's and a kernel's address, the same in each format that perf knows here; a count that is full says nothing */
static void test_formats(void **state)
{
	static const struct raw info[] = {
		{ 0x401000, 0x401020, 17 }, { 0xffffffff81000010, 0x402000, MISPRED | IN_TSX | 0xffff },
	};
	static const struct raw architectural[] = {
		{ 0x401000, 0x401020, CYCLES_VALID | 17 }, { 0xffffffff81000010, 0x402000, MISPRED | CYCLES_VALID | 0xfffe },
		{ 0x401040, 0x401000, 12 },		/* a count, but not valid */
	};
	static const struct raw flags[] = {
		{ 0x401000, 0x401020, 0 }, { (0xffffffff81000010 & ~(IN_TSX | TSX_ABORT)) | MISPRED, 0x402000, 0 },
	};
	static const struct raw time[] = {
		{ 0x401000, 17ULL << 48 | 0x401020, 0 }, { 0xffffffff81000010, 0xffffULL << 48 | 0x402000, 0 },
		{ 0x401000, 3ULL << 48 | (0xffffffff81000010 & ((1ULL << 48) - 1)), 0 },
	};
	struct vmph_branches b;
	unsigned int format;

	(void)state;
	for (format = 5; format <= 7; format += 2) {
		b = read_raw(info, 2, format, &none);
		assert_int_equal(b.nr, 2);
		assert_entry(&b, 0, 0x401000, 0x401020, 17, false);
		assert_entry(&b, 1, 0xffffffff81000010, 0x402000, 0, true);
	}
	b = read_raw(architectural, 3, 63, &none);
	assert_int_equal(b.nr, 3);
	assert_entry(&b, 0, 0x401000, 0x401020, 17, false);
	assert_entry(&b, 1, 0xffffffff81000010, 0x402000, 0xfffe, true);
	assert_entry(&b, 2, 0x401040, 0x401000, 0, false);
	b = read_raw(flags, 2, 4, &none);
	assert_entry(&b, 0, 0x401000, 0x401020, 0, false);
	assert_entry(&b, 1, 0xffffffff81000010, 0x402000, 0, true);
	b = read_raw(time, 3, 6, &none);
	assert_entry(&b, 0, 0x401000, 0x401020, 17, false);
	assert_entry(&b, 1, 0xffffffff81000010, 0x402000, 0, true);
	assert_entry(&b, 2, 0x401000, 0xffffffff81000010, 3, false);
}

/* It is known again behind each of perf's ways to read, and ends the record */
static void test_mark(void **state)
{
	static const struct raw raw[] = {
		{ 0x401000, 0x401020, 5 }, { VMPH_BRANCH_MARK, 0xffffffff81000010, 5 }, { 0xffffffff81000000, 0xffffffff81000020, 5 },
	};
	static const unsigned int formats[] = { 4, 5, 6, 7, 63 };
	struct vmph_branches b;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		b = read_raw(raw, 3, formats[i], &none);
		assert_int_equal(b.nr, 1);
		assert_true(b.entry[0].from == 0x401000);
		assert_int_equal(b.cut, 2);
	}
}

static void test_ends(void **state)
{
	static const struct vmph_text kvm_intel = { 0xffffffffc0800000, 0xffffffffc0820000 };
	struct perf_sample_data data = { .sample_flags = PERF_SAMPLE_BRANCH_STACK };
	struct raw raw[40];
	struct vmph_branches b;
	unsigned int i;

	(void)state;
	/* never written since it was switched on: zero, and the record ends without a cut */
	memset(raw, 0, sizeof(raw));
	raw[0] = (struct raw){ 0x401000, 0x401020, 1 };
	b = read_raw(raw, 32, 5, &none);
	assert_int_equal(b.nr, 1);
	assert_int_equal(b.cut, 0);
	/* into the vendor module: the host's */
	for (i = 0; i < ARRAY_SIZE(raw); i++)
		raw[i] = (struct raw){ 0x401000 + i, 0x402000, 1 };
	raw[3].to = kvm_intel.start + 8;
	b = read_raw(raw, 32, 5, &kvm_intel);
	assert_int_equal(b.nr, 3);
	assert_int_equal(b.cut, 29);
	/* more than a record holds */
	b = read_raw(raw, 40, 63, &none);
	assert_int_equal(b.nr, 32);
	assert_int_equal(b.cut, 0);
	raw[31].from = VMPH_BRANCH_MARK;
	b = read_raw(raw, 40, 63, &none);
	assert_int_equal(b.nr, 31);
	assert_int_equal(b.cut, 1);
	/* perf had none for this overflow: nothing, or what is left of another one */
	memset(&b, 0, sizeof(b));
	vmph_lbr_intel_read(&data, &none, &b);
	data.br_stack = calloc(1, sizeof(*data.br_stack) + sizeof(data.br_stack->entries[0]));
	data.br_stack->nr = 1;
	data.br_stack->entries[0].from = 0x401000;
	data.sample_flags = 0;
	vmph_lbr_intel_read(&data, &none, &b);
	assert_int_equal(b.nr, 0);
	free(data.br_stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_legacy, skylake),
		cmocka_unit_test_setup(test_architectural, sapphire_rapids),
		cmocka_unit_test_setup(test_select, skylake),
		cmocka_unit_test_setup(test_ctl, sapphire_rapids),
		cmocka_unit_test_setup(test_youngest_legacy, skylake),
		cmocka_unit_test_setup(test_youngest_architectural, sapphire_rapids),
		cmocka_unit_test_setup(test_formats, skylake),
		cmocka_unit_test_setup(test_mark, skylake),
		cmocka_unit_test_setup(test_ends, skylake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
