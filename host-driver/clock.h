/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - emits a CLOCK record whenever a pCPU sees the clock of a vCPU that has run for the first time, or changed. */
#ifndef VMPH_CLOCK_H
#define VMPH_CLOCK_H

#include <linux/kvm_host.h>
#include <linux/types.h>

struct vmph_ring;

/* What this pCPU wrote last of a handful of vCPUs */
struct vmph_clocks {
	struct vmph_clock {
		u32 vcpu_tid;	/* 0 free */
		s64 offset;
		u64 ratio;
	} seen[8];
	unsigned int last;	/* that was asked for */
	unsigned int next;	/* to be replaced, round robin */
};

static inline bool vmph_clock_is(const struct vmph_clock *clock, u32 vcpu_tid,
				 const struct kvm_vcpu *vcpu)
{
	return clock->vcpu_tid == vcpu_tid && clock->offset == READ_ONCE(vcpu->arch.l1_tsc_offset) &&
	       clock->ratio == READ_ONCE(vcpu->arch.l1_tsc_scaling_ratio);
}

/** vmph_clock_tell() - As vmph_clock_note(), for another vCPU than the last, or a changed clock. */
int vmph_clock_tell(struct vmph_clocks *clocks, struct vmph_ring *ring, u64 tsc, u32 vm,
		    u32 vcpu_tid, const struct kvm_vcpu *vcpu);

/**
 * vmph_clock_note() - Write a CLOCK record if the reader does not know it yet.
 * Context: NMI or interrupt, on the ring's pCPU.
 * Return: 0; -ENOSPC, -EBUSY: the reader does not know, and one loss is counted.
 */
static inline int vmph_clock_note(struct vmph_clocks *clocks, struct vmph_ring *ring, u64 tsc,
				  u32 vm, u32 vcpu_tid, const struct kvm_vcpu *vcpu)
{
	if (vmph_clock_is(&clocks->seen[clocks->last], vcpu_tid, vcpu))
		return 0;
	return vmph_clock_tell(clocks, ring, tsc, vm, vcpu_tid, vcpu);
}

#endif
