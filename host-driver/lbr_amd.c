// SPDX-License-Identifier: GPL-2.0-only
/* lbr_amd.c - AMD's last branch record, LbrExtV2: MSRs, entry 0 the youngest. */
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include "compat/compat.h"
#include "lbr.h"

#define VMPH_CPUID_PERFMON	0x80000022
#define VMPH_CPUID_LBR		(1U << 1)	/* EAX: LbrExtV2 */
#define VMPH_CPUID_FREEZE	(1U << 2)	/* EAX: it freezes at a counter's interrupt */

#define VMPH_MSR_GLOBAL_STATUS	0xc0000300
#define VMPH_STATUS_FROZEN	(1ULL << 58)
#define VMPH_MSR_LBR_SELECT	0xc000010e
#define VMPH_MSR_DBG_EXTN_CFG	0xc000010f
#define VMPH_DBG_LBR_ON		(1ULL << 6)
#define VMPH_MSR_LBR_FROM	0xc0010300	/* and to, from, to, ... */

u32 vmph_lbr_amd_lack(u8 *entries, bool *cycles)
{
	u32 eax;

	if (cpuid_eax(0x80000000) < VMPH_CPUID_PERFMON)
		return VMPROF_LBR_LACK_CPU;
	eax = cpuid_eax(VMPH_CPUID_PERFMON);
	if (!(eax & VMPH_CPUID_LBR))
		return VMPROF_LBR_LACK_CPU;
	if (!(eax & VMPH_CPUID_FREEZE))
		return VMPROF_LBR_LACK_FREEZE;
	*entries = min_t(u32, (cpuid_ebx(VMPH_CPUID_PERFMON) >> 4) & 0x3f, VMPROF_LBR_MAX);
	*cycles = false;
	return VMPROF_LBR_LACK_NONE;
}

static u64 vmph_lbr_amd_filter(u32 branches)
{
	return ~branches & VMPROF_LBR_ALL;
}

u64 vmph_lbr_amd_exchange(u64 from)
{
	u64 old;

	rdmsrq(VMPH_MSR_LBR_FROM, old);
	wrmsrq(VMPH_MSR_LBR_FROM, from);
	return old;
}

static bool vmph_lbr_amd_is_on(void)
{
	u64 config;

	rdmsrq(VMPH_MSR_DBG_EXTN_CFG, config);
	return config & VMPH_DBG_LBR_ON;
}

static void vmph_lbr_amd_switch(bool on)
{
	u64 config, debugctl;

	rdmsrq(MSR_IA32_DEBUGCTLMSR, debugctl);
	rdmsrq(VMPH_MSR_DBG_EXTN_CFG, config);
	debugctl &= ~DEBUGCTLMSR_FREEZE_LBRS_ON_PMI;
	config &= ~VMPH_DBG_LBR_ON;
	wrmsrq(MSR_IA32_DEBUGCTLMSR, debugctl | (on ? DEBUGCTLMSR_FREEZE_LBRS_ON_PMI : 0));
	wrmsrq(VMPH_MSR_DBG_EXTN_CFG, config | (on ? VMPH_DBG_LBR_ON : 0));
}

static void vmph_lbr_amd_begin(u32 branches)
{
	wrmsrq(VMPH_MSR_LBR_SELECT, vmph_lbr_amd_filter(branches));
	vmph_lbr_amd_exchange(VMPH_BRANCH_MARK);
	vmph_lbr_amd_switch(true);
}

int vmph_lbr_amd_arm(u32 branches, u64 *select)
{
	unsigned long flags;
	int err = 0;

	local_irq_save(flags);
	if (vmph_lbr_amd_is_on()) {
		err = -EBUSY;
	} else {
		rdmsrq(VMPH_MSR_LBR_SELECT, *select);
		vmph_lbr_amd_begin(branches);
	}
	local_irq_restore(flags);
	return err;
}

/* No user of perf's has it, as far as the filter tells */
static bool vmph_lbr_amd_is_ours(u32 branches)
{
	u64 select;

	rdmsrq(VMPH_MSR_LBR_SELECT, select);
	return select == vmph_lbr_amd_filter(branches) || !vmph_lbr_amd_is_on();
}

void vmph_lbr_amd_disarm(u32 branches, u64 select)
{
	unsigned long flags;

	local_irq_save(flags);
	if (vmph_lbr_amd_is_ours(branches)) {
		vmph_lbr_amd_switch(false);
		wrmsrq(VMPH_MSR_LBR_SELECT, select);
	}
	local_irq_restore(flags);
}

void vmph_lbr_amd_read(const struct vmph_text *host, unsigned int entries, struct vmph_branches *b)
{
	unsigned int i, unused = 64 - boot_cpu_data.x86_virt_bits;
	u64 status, select, from, to;
	struct vmph_branch branch;

	rdmsrq(VMPH_MSR_GLOBAL_STATUS, status);
	rdmsrq(VMPH_MSR_LBR_SELECT, select);
	/* it went on, with the host's way here; or a user of perf's came, and maybe went */
	if (!(status & VMPH_STATUS_FROZEN) || select != vmph_lbr_amd_filter(b->recorded)) {
		if (vmph_lbr_amd_is_ours(b->recorded))
			vmph_lbr_amd_begin(b->recorded);
		b->cut = entries;
		return;
	}
	for (i = 0; i < entries; i++) {
		from = __rdmsr(VMPH_MSR_LBR_FROM + 2 * i);
		to = __rdmsr(VMPH_MSR_LBR_FROM + 2 * i + 1);
		if (!vmph_branches_add(b, vmph_branch_amd(from, to, unused, &branch), &branch,
				       entries - i, host))
			return;
	}
}
