/* SPDX-License-Identifier: GPL-2.0-only */
/* clock.h - emits a CLOCK record whenever a pCPU sees a vCPU's clock for the first time, or changed. */
#ifndef VMPH_CLOCK_H
#define VMPH_CLOCK_H

#include <linux/types.h>

struct kvm_vcpu;
struct vmph_ring;

/* What this pCPU wrote last of a handful of vCPUs */
struct vmph_clocks {
	struct vmph_clock {
		u32 vcpu_tid;	/* 0 free */
		s64 offset;
		u64 ratio;
	} seen[8];
	unsigned int next;	/* to be replaced, round robin */
};

/**
 * vmph_clock_note() - Write a CLOCK record if the reader does not know it yet.
 * Context: NMI or interrupt, on the ring's pCPU.
 * Return: 0; -ENOSPC, -EBUSY: the reader does not know, and one loss is counted.
 */
int vmph_clock_note(struct vmph_clocks *clocks, struct vmph_ring *ring, u64 tsc, u32 vm,
		    u32 vcpu_tid, const struct kvm_vcpu *vcpu);

#endif
