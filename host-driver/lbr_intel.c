// SPDX-License-Identifier: GPL-2.0-only
/*
 * lbr_intel.c - Intel's last branch records, legacy (MSRs around a top of stack) and
 * architectural (entry 0 the youngest), where a freeze outlives a VM exit: perfmon version 4.
 * Before that the freeze was the LBR bit of DEBUGCTL itself, which KVM sets again after the exit.
 */
#include <linux/perf_event.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include "compat/compat.h"
#include "lbr.h"

#define VMPH_CPUID_PERFMON	0x0a
#define VMPH_PERFMON_VERSION(eax)	((eax) & 0xff)
#define VMPH_CAP_LBR_FORMAT	0x3f		/* of IA32_PERF_CAPABILITIES */
#define VMPH_LBR_FORMAT_CYCLES	5		/* the first format with them */
#define VMPH_CPUID_ARCH_LBR	0x1c
#define VMPH_CYCLES_MAX		0xffff		/* that many, or more */
#define VMPH_PERF_TYPE_SAVE	(1U << 18)	/* perf's X86_BR_TYPE_SAVE, of arch/x86/events/perf_event.h */
#define VMPH_LEGACY_ENTRIES	32		/* since Skylake and Goldmont */

u32 vmph_lbr_intel_lack(u8 *entries, bool *cycles)
{
	u64 caps = 0;

	if (cpuid_eax(0) < VMPH_CPUID_PERFMON || !boot_cpu_has(X86_FEATURE_PDCM))
		return VMPROF_LBR_LACK_CPU;
	if (VMPH_PERFMON_VERSION(cpuid_eax(VMPH_CPUID_PERFMON)) < 4)
		return VMPROF_LBR_LACK_FREEZE;
	if (boot_cpu_has(X86_FEATURE_ARCH_LBR)) {
		/* EAX: bit n - 1 says that a depth of 8 * n can be had */
		*entries = min(fls(cpuid_eax(VMPH_CPUID_ARCH_LBR) & 0xff) * 8, VMPROF_LBR_MAX);
		*cycles = cpuid_ecx(VMPH_CPUID_ARCH_LBR) & (1U << 1);
		return *entries ? VMPROF_LBR_LACK_NONE : VMPROF_LBR_LACK_CPU;
	}
	rdmsrq(MSR_IA32_PERF_CAPABILITIES, caps);
	if (!(caps & VMPH_CAP_LBR_FORMAT))
		return VMPROF_LBR_LACK_CPU;
	*entries = VMPH_LEGACY_ENTRIES;
	*cycles = (caps & VMPH_CAP_LBR_FORMAT) >= VMPH_LBR_FORMAT_CYCLES;
	return VMPROF_LBR_LACK_NONE;
}

/* The architectural LBR's filter takes in what the legacy one's leaves out, elsewhere */
static u64 vmph_lbr_intel_select(u32 branches)
{
	static const struct {
		u32 branch;
		u64 control;
	} bit[] = {
		{ VMPROF_LBR_KERNEL, 1U << 1 }, { VMPROF_LBR_USER, 1U << 2 },
		{ VMPROF_LBR_COND, 1U << 16 }, { VMPROF_LBR_JUMP_REL, 1U << 17 },
		{ VMPROF_LBR_JUMP_IND, 1U << 18 }, { VMPROF_LBR_CALL_REL, 1U << 19 },
		{ VMPROF_LBR_CALL_IND, 1U << 20 }, { VMPROF_LBR_RET, 1U << 21 },
		{ VMPROF_LBR_FAR, 1U << 22 },
	};
	u64 control = 0;
	unsigned int i;

	if (!boot_cpu_has(X86_FEATURE_ARCH_LBR))
		return ~branches & VMPROF_LBR_ALL;
	for (i = 0; i < ARRAY_SIZE(bit); i++)
		if (branches & bit[i].branch)
			control |= bit[i].control;
	return control;
}

void vmph_lbr_intel_filter(struct perf_event *event, u32 branches)
{
	event->hw.branch_reg.config = vmph_lbr_intel_select(branches);
	event->hw.branch_reg.reg &= ~VMPH_PERF_TYPE_SAVE;
}

u64 vmph_lbr_intel_exchange(u64 from)
{
	u32 msr = MSR_ARCH_LBR_FROM_0;
	u64 top, old;

	if (!boot_cpu_has(X86_FEATURE_ARCH_LBR)) {
		rdmsrq(MSR_LBR_TOS, top);
		msr = MSR_LBR_NHM_FROM + (top & (VMPH_LEGACY_ENTRIES - 1));
	}
	rdmsrq(msr, old);
	wrmsrq(msr, from);
	return old;
}

static enum vmph_branch_kind vmph_branch_intel(const struct perf_branch_entry *entry,
					       struct vmph_branch *branch)
{
	if (entry->from == VMPH_BRANCH_MARK)
		return VMPH_BRANCH_BOUNDARY;
	if (!entry->from)
		return VMPH_BRANCH_NONE;
	branch->from = entry->from;
	branch->to = entry->to;
	branch->cycles = entry->cycles < VMPH_CYCLES_MAX ? entry->cycles : 0;
	branch->mispredicted = entry->mispred;
	return VMPH_BRANCH_TAKEN;
}

void vmph_lbr_intel_read(const struct perf_sample_data *data, const struct vmph_text *host,
			 struct vmph_branches *b)
{
	const struct perf_branch_stack *stack = data->br_stack;
	struct vmph_branch branch;
	u64 i;

	if (!(data->sample_flags & PERF_SAMPLE_BRANCH_STACK) || !stack)
		return;
	for (i = 0; i < stack->nr && i < VMPROF_LBR_MAX; i++)
		if (!vmph_branches_add(b, vmph_branch_intel(&stack->entries[i], &branch), &branch,
				       min_t(u64, stack->nr, VMPROF_LBR_MAX) - i, host))
			return;
}
