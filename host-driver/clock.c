// SPDX-License-Identifier: GPL-2.0-only
/*
 * clock.c - CLOCK records: how a vCPU's TSC follows from the host's.
 *
 * The offsets are those of the guest itself (L1 in KVM's words), also while it
 * runs a nested guest: its agent reads that clock.
 */
#include <linux/kvm_host.h>
#include "clock.h"
#include "guest.h"
#include "ring.h"

/* The entry of a vCPU, or the one to be replaced */
static struct vmph_clock *vmph_clock_find(struct vmph_clocks *clocks, u32 vcpu_tid)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks->seen); i++)
		if (clocks->seen[i].vcpu_tid == vcpu_tid)
			return &clocks->seen[i];
	return &clocks->seen[clocks->next];
}

int vmph_clock_tell(struct vmph_clocks *clocks, struct vmph_ring *ring, u64 tsc, u32 vm,
		    u32 vcpu_tid, const struct kvm_vcpu *vcpu)
{
	struct vmph_clock *clock = vmph_clock_find(clocks, vcpu_tid);
	struct vmprof_rec_clock *rec;
	struct vmph_clock now;
	int err;

	/* before it runs it has no clock: KVM sets it when the vCPU is there, what restores a guest once more */
	if (vcpu->arch.last_vmentry_cpu < 0)
		return 0;
	clocks->last = clock - clocks->seen;
	if (vmph_clock_is(clock, vcpu_tid, vcpu))
		return 0;
	err = vmph_ring_reserve(ring, VMPROF_REC_CLOCK, sizeof(*rec), tsc, (void **)&rec);
	if (err)
		return err;	/* the next sample tries again */
	now = (struct vmph_clock){ vcpu_tid, READ_ONCE(vcpu->arch.l1_tsc_offset),
				   READ_ONCE(vcpu->arch.l1_tsc_scaling_ratio) };
	rec->tsc = tsc;
	rec->vm = vm;
	rec->vcpu = vcpu->vcpu_id;
	rec->vcpu_tid = vcpu_tid;
	rec->frac_bits = vmph_guest_tsc_frac_bits();
	rec->tsc_offset = now.offset;
	rec->tsc_ratio = now.ratio;
	vmph_ring_commit(ring);	/* a sample follows, and wakes */

	if (clock == &clocks->seen[clocks->next])
		clocks->next = (clocks->next + 1) % ARRAY_SIZE(clocks->seen);
	*clock = now;
	return 0;
}
