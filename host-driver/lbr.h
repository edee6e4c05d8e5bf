/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lbr.h - last branch records, whoever made the CPU.
 *
 *   AMD (LbrExtV2): perf decodes the code at each branch that it reads, as the host's.  It drops
 *     a guest's branches by that, and where the address is near the end of a module's text of
 *     the host's it runs into a page that is not there.  So perf must not know of the record:
 *     it is switched on here, and the overflow handler reads its MSRs, which stay frozen until
 *     perf has called all handlers.  Where perf uses it already, there is none for us; a user of
 *     perf's that comes later is seen by the filter, and what it switched off is switched on again.
 *   Intel (perfmon version 4 and later, legacy and architectural LBR): perf owns the hardware, and
 *     the sampling events are events with branches.  It reads the record before it lets it go on
 *     and hands it over as it is, since it is asked for all branches; what the hardware leaves
 *     out is set beside that.  With the architectural LBR it would keep each branch's type, and for
 *     those of no type that it knows decode the code there, in the host's memory, as AMD's half
 *     does: that is switched off, too.
 * Both freeze at a counter's interrupt only while DEBUGCTL says so, and a guest runs with its
 * own: the hooks at VM entry and exit lend it that bit (Intel: the LBR bit, too) for the time
 * in which the guest runs, so that it never sees it.  They also write the mark (branches.h); but
 * where a counter's NMI ended the run and KVM hands it on only behind the hook at VM exit (Intel,
 * Linux 6.1), the mark is written when the NMI has read the branches, or else at the next entry.  Where
 * user code alone is recorded, nothing is between an exit and the next entry unless the vCPU was
 * put away meanwhile: then the entry takes the exit's mark back, and writes none, so that rare
 * branches are seen across many runs of the guest.
 */
#ifndef VMPH_LBR_H
#define VMPH_LBR_H

#include <linux/types.h>
#include "branches.h"

struct perf_event;
struct perf_event_attr;
struct perf_sample_data;
struct kvm_vcpu;
struct vmph_cpu;
struct vmph_session;

/* What the mark of a VM exit has overwritten */
struct vmph_lbr_kept {
	const struct kvm_vcpu *vcpu;	/* NULL: nothing */
	u64 put_tsc;		/* when KVM put the vCPU away before */
	u64 from;
};

/* A run of the guest whose exit has no mark: its branches are frozen, and the NMI that froze them is to come */
struct vmph_lbr_nmi {
	struct kvm_vcpu *waits;		/* the vCPU; NULL: it came, or there is none */
	bool came;
};

/* Of a session; branches 0: none wanted */
struct vmph_lbr {
	u32 branches;		/* VMPROF_LBR_* */
	u8 format;		/* VMPROF_LBR_FROM_TO... */
	u8 entries;		/* of the hardware */
	struct vmph_text host;	/* KVM's vendor module */
	atomic_t lent;		/* vCPUs whose DEBUGCTL has our bits */
};

/**
 * vmph_lbr_lack() - Why there are no last branch records here. Sleeps.
 * @entries: How many branches the hardware holds, 0 where there are none to be had.
 * @cycles:  Whether it counts cycles between them.
 * Return: VMPROF_LBR_LACK_*.
 */
u32 vmph_lbr_lack(u8 *entries, bool *cycles);

/** vmph_lbr_by_perf() - Are sampling events with branches wanted, of vmph_lbr_attr()? */
bool vmph_lbr_by_perf(const struct vmph_lbr *lbr);
void vmph_lbr_attr(struct perf_event_attr *attr);

/**
 * vmph_lbr_arm() - Switch the record on here, where that is not perf's to do. Runs on @cpu.
 * Return: 0, -EBUSY perf uses it.
 */
int vmph_lbr_arm(struct vmph_cpu *cpu);
void vmph_lbr_disarm(struct vmph_cpu *cpu);

/** vmph_lbr_switched() - Another task comes here; branches so far are not its own. Any context. */
void vmph_lbr_switched(struct vmph_cpu *cpu);

/**
 * vmph_lbr_filter() - Set the hardware's filter, which perf has no words for.
 * @event: With branches, never enabled yet.
 */
void vmph_lbr_filter(struct perf_event *event, u32 branches);

/** vmph_lbr_start() - Follow VM entries and exits, where branches are wanted. Sleeps. Return: 0, negative errno. */
int vmph_lbr_start(struct vmph_session *session);

/** vmph_lbr_stop() - When it returns no hook runs, and every guest has its own DEBUGCTL. Sleeps. */
void vmph_lbr_stop(struct vmph_session *session);

/**
 * vmph_lbr_read() - Read the branches before this overflow into cpu->branches.
 * @guest: It hit guest code, and ended the guest's run.
 * @cr3:   The guest's, then.
 * @host:  It hit the host.  Neither: whose the branches are is not known.
 * Context: the overflow handler.
 */
void vmph_lbr_read(struct vmph_cpu *cpu, const struct perf_sample_data *data, bool guest,
		   bool host, u64 cr3);

/* The vendors' halves: what is there (as above), the value of the filter, another
   "from" for the youngest entry (what it was comes back), and reading.  AMD's filter is
   what it was before (@select) when ours ends, unless a user of perf's has the record then. */
u32 vmph_lbr_amd_lack(u8 *entries, bool *cycles);
int vmph_lbr_amd_arm(u32 branches, u64 *select);
void vmph_lbr_amd_disarm(u32 branches, u64 select);
u64 vmph_lbr_amd_exchange(u64 from);
void vmph_lbr_amd_read(const struct vmph_text *host, unsigned int entries,
		       struct vmph_branches *b);
u32 vmph_lbr_intel_lack(u8 *entries, bool *cycles);
void vmph_lbr_intel_filter(struct perf_event *event, u32 branches);
u64 vmph_lbr_intel_exchange(u64 from);
void vmph_lbr_intel_read(const struct perf_sample_data *data, const struct vmph_text *host,
			 struct vmph_branches *b);

#endif
