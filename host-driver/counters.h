/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * counters.h - the perf events of one pCPU: those that sample, and cycles and
 * instructions that only count beside them: a side's own where that can be had,
 * for a guest's CPI is not that of what ran between two of its samples.
 *
 * Guest and host have a sampling event each wherever the PMU can tell them
 * apart: which one overflowed says whose overflow it was.  What the NMI finds
 * does not: an overflow on the way into the guest, while GIF is clear, ends
 * the guest's run before its first instruction and looks like the guest's.
 */
#ifndef VMPH_COUNTERS_H
#define VMPH_COUNTERS_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include "draw.h"

#define VMPH_SAMPLE_NR	2	/* guest's, host's; or one for both */

/* What makes samples: one event in so many counters */
struct vmph_trigger {
	struct perf_event *event[VMPH_SAMPLE_NR];	/* the first is NULL: not armed */
	u64 interrupts;				/* overflows since the first START */
	u64 begun[VMPH_SAMPLE_NR];		/* by event: count at which the period that runs ends */
	u64 sum;				/* counted in the times before this one */
	u64 ended;				/* by sampler.c: exits of the vCPU before the one that an NMI of its made */
};

struct vmph_counters {
	struct vmph_trigger main;		/* the session's event */
	struct vmph_trigger second;		/* instructions, if wanted */
	struct vmph_draw draw;			/* of random periods */
	struct perf_event *cycles;		/* of both sides; NULL: not counted */
	struct perf_event *instructions[VMPH_SAMPLE_NR];	/* guest's, host's; or one for both */
	u64 mask;				/* bits of a counter */
	u64 last_cycles[VMPH_SAMPLE_NR];	/* at the main event's last overflow here, by side */
	u64 last_instructions[VMPH_SAMPLE_NR];

	/* totals of the times before this one */
	bool was_armed;
	u64 sum_cycles;
	u64 sum_instructions;
};

struct vmph_cpu;
struct vmprof_cpu_stats;

/** vmph_counters_attr() - A pinned event that samples host and guest, user and kernel. */
void vmph_counters_attr(struct perf_event_attr *attr, u32 type, u64 config, u64 period);

/**
 * vmph_counters_side() - The attributes of one of the sampling events.
 * @nr:    Which of the VMPH_SAMPLE_NR: 0 the guest's, 1 the host's.
 * @split: Otherwise number 0 is of both sides and there is no other.
 * Return: false when there is none of that number.
 */
bool vmph_counters_side(struct perf_event_attr *attr, unsigned int nr, bool split);

/** vmph_counters_try() - Can such an event be had here? It is made and dropped. Sleeps. */
int vmph_counters_try(const struct perf_event_attr *attr);

/**
 * vmph_counters_arm() - Make and start the events of @cpu. Sleeps; runs on @cpu.
 * Return: 0, what perf said, or -EBUSY when no counter was free.
 */
int vmph_counters_arm(struct vmph_cpu *cpu);

/**
 * vmph_counters_disarm() - Stop them; adds totals, and losses by throttling.
 * When it returns the overflow handler neither runs nor will run on @cpu.
 */
void vmph_counters_disarm(struct vmph_cpu *cpu);

/** vmph_counters_total() - Totals since the first START, of the counters only. Sleeps. */
void vmph_counters_total(struct vmph_counters *ctr, struct vmprof_cpu_stats *stats);

/**
 * vmph_counters_next() - Note the period that perf has just begun; where they are random, draw the one behind it.
 * A random one may be over before perf begins it: then perf begins it anew, and forgets what was counted beyond
 * the last; so what perf says is left of it is taken.
 * @event: The one of @trigger that overflowed.
 * Context: the overflow handler.
 */
static inline void vmph_counters_next(struct vmph_counters *ctr, struct vmph_trigger *trigger,
				      struct perf_event *event, bool random)
{
	u64 *begun = &trigger->begun[event->attr.exclude_guest];

	if (!random) {
		*begun += event->hw.sample_period;
		return;
	}
	*begun = local64_read(&event->count) + local64_read(&event->hw.period_left);
	event->hw.sample_period = vmph_draw(&ctr->draw, event->attr.sample_period);
}

/**
 * vmph_counters_delta() - Cycles and instructions since this pCPU's last overflow
 * of @event, in what @event counts; of both sides where instructions have one counter.
 * Context: the overflow handler. Return: false when they are not counted.
 */
bool vmph_counters_delta(struct vmph_counters *ctr, struct perf_event *event,
			 u64 *cycles, u64 *instructions);

/**
 * vmph_counters_guest_due() - Has an event of the guest's overflowed whose handler was not called yet?
 * Context: the overflow handler.
 */
bool vmph_counters_guest_due(const struct vmph_counters *ctr);

#endif
