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

int vmph_clock_note(struct vmph_clocks *clocks, struct vmph_ring *ring, u64 tsc, u32 vm,
		    u32 vcpu_tid, const struct kvm_vcpu *vcpu)
{
	s64 offset = READ_ONCE(vcpu->arch.l1_tsc_offset);
	u64 ratio = READ_ONCE(vcpu->arch.l1_tsc_scaling_ratio);
	struct vmprof_rec_clock *rec;
	struct vmph_clock *clock;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(clocks->seen); i++)
		if (clocks->seen[i].vcpu_tid == vcpu_tid)
			break;
	if (i == ARRAY_SIZE(clocks->seen))
		i = clocks->next;
	clock = &clocks->seen[i];
	if (clock->vcpu_tid == vcpu_tid && clock->offset == offset && clock->ratio == ratio)
		return 0;
	err = vmph_ring_reserve(ring, VMPROF_REC_CLOCK, sizeof(*rec), tsc, (void **)&rec);
	if (err)
		return err;	/* the next sample tries again */
	rec->tsc = tsc;
	rec->vm = vm;
	rec->vcpu = vcpu->vcpu_id;
	rec->vcpu_tid = vcpu_tid;
	rec->frac_bits = vmph_guest_tsc_frac_bits();
	rec->tsc_offset = offset;
	rec->tsc_ratio = ratio;
	vmph_ring_commit(ring);	/* a sample follows, and wakes */

	if (i == clocks->next)
		clocks->next = (i + 1) % ARRAY_SIZE(clocks->seen);
	*clock = (struct vmph_clock){ vcpu_tid, offset, ratio };
	return 0;
}
