// SPDX-License-Identifier: GPL-2.0-only
/*
 * counters.c - perf events by the kernel's counter API: the PMU is shared with
 * perf and the NMI watchdog, and CPU vendors are perf's business.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/smp.h>
#include <asm/processor.h>
#include "compat/compat.h"
#include "counters.h"
#include "sampler.h"
#include "session.h"

void vmph_counters_attr(struct perf_event_attr *attr, u32 type, u64 config, u64 period)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = type,
		.config = config,
		.sample_period = period,
		.pinned = 1,
	};
}

bool vmph_counters_side(struct perf_event_attr *attr, unsigned int nr, bool split)
{
	attr->exclude_host = split && nr == 0;
	attr->exclude_guest = split && nr == 1;
	return nr == 0 || split;
}

int vmph_counters_try(const struct perf_event_attr *attr)
{
	struct perf_event_attr off = *attr;
	struct perf_event *event;

	off.disabled = 1;
	event = perf_event_create_kernel_counter(&off, cpumask_first(cpu_online_mask), NULL,
						 vmph_on_overflow, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	perf_event_release_kernel(event);
	return 0;
}

/* An event that only counts; NULL where it cannot be had */
static struct perf_event *vmph_counting(struct vmph_cpu *cpu, u64 config, unsigned int nr, bool split)
{
	struct perf_event_attr attr;
	struct perf_event *event;

	vmph_counters_attr(&attr, PERF_TYPE_HARDWARE, config, 0);
	vmph_counters_side(&attr, nr, split);
	event = perf_event_create_kernel_counter(&attr, cpu->cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return NULL;
	if (READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
		return event;
	perf_event_release_kernel(event);
	return NULL;
}

static u64 vmph_counter_now(struct perf_event *event)
{
	u64 enabled, running;

	return event ? perf_event_read_value(event, &enabled, &running) : 0;
}

/* Release one event and hand out what it counted */
static u64 vmph_counter_end(struct perf_event **event)
{
	struct perf_event *ended = *event;
	u64 enabled, running, total = 0;

	if (ended) {
		perf_event_disable(ended);
		total = perf_event_read_value(ended, &enabled, &running);
		/* the handler of another one may look at it */
		WRITE_ONCE(*event, NULL);
		perf_event_release_kernel(ended);
	}
	return total;
}

static bool vmph_is_cycles(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES;
}

/* Intel SDM, CPUID leaf 0AH; AMD's all have 48 */
static unsigned int vmph_counter_bits(void)
{
	unsigned int bits = 48;

	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL)
		bits = cpuid_eax(0xa) >> 16 & 0xff;
	return clamp(bits, 32U, 64U);
}

/*
 * Each side's instructions have a counter of their own where its cycles have: those that sample
 * them. Not beside instructions that are sampled, which tell CPI better and take the counters.
 */
static void vmph_counting_arm(struct vmph_cpu *cpu)
{
	struct vmph_session *session = cpu->session;
	struct vmph_counters *ctr = &cpu->counters;
	struct perf_event *guest = NULL, *host = NULL, *cycles;
	unsigned int i;

	cycles = vmph_counting(cpu, PERF_COUNT_HW_CPU_CYCLES, 0, false);
	if (session->split && vmph_is_cycles(&session->attr) && !session->second.sample_period) {
		guest = vmph_counting(cpu, PERF_COUNT_HW_INSTRUCTIONS, 0, true);
		host = vmph_counting(cpu, PERF_COUNT_HW_INSTRUCTIONS, 1, true);
	}
	if (!guest || !host) {
		vmph_counter_end(&guest);
		vmph_counter_end(&host);
		guest = vmph_counting(cpu, PERF_COUNT_HW_INSTRUCTIONS, 0, false);
	}
	for (i = 0; host && i < VMPH_SAMPLE_NR; i++)
		ctr->last_cycles[i] = vmph_counter_now(ctr->main.event[i]);
	ctr->mask = GENMASK_ULL(vmph_counter_bits() - 1, 0);
	WRITE_ONCE(ctr->instructions[1], host);
	WRITE_ONCE(ctr->instructions[0], guest);
	WRITE_ONCE(ctr->cycles, cycles);
}

static struct perf_event *vmph_sampling(struct vmph_cpu *cpu, const struct perf_event_attr *attr,
					perf_overflow_handler_t handler)
{
	bool has_branches = attr->sample_type & PERF_SAMPLE_BRANCH_STACK;
	struct perf_event *event;
	struct perf_event_attr copy = *attr;

	/* the filter of branches must be there before it is on its counter */
	copy.disabled = has_branches;
	event = perf_event_create_kernel_counter(&copy, cpu->cpu, NULL, handler, cpu);
	if (!IS_ERR(event) && has_branches) {
		vmph_lbr_filter(event, cpu->session->lbr.branches);
		perf_event_enable(event);
	}
	/* a pinned event that got no counter is in error, not active */
	if (!IS_ERR(event) && READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE) {
		perf_event_release_kernel(event);
		return ERR_PTR(-EBUSY);
	}
	return event;
}

/* Take a trigger's counters away. Return: what they counted. */
static u64 vmph_trigger_end(struct vmph_trigger *trigger)
{
	u64 count = 0;
	unsigned int i;

	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		count += vmph_counter_end(&trigger->event[i]);
	return count;
}

static int vmph_trigger_arm(struct vmph_cpu *cpu, struct vmph_trigger *trigger,
			    const struct perf_event_attr *event_attr, perf_overflow_handler_t handler)
{
	struct perf_event_attr attr = *event_attr;
	bool split = cpu->session->split;
	struct perf_event *event;
	unsigned int i;

	memset(trigger->begun, 0, sizeof(trigger->begun));
	for (i = 0; i < VMPH_SAMPLE_NR && vmph_counters_side(&attr, i, split); i++) {
		trigger->begun[i] = attr.sample_period;
		event = vmph_sampling(cpu, &attr, handler);
		if (IS_ERR(event)) {
			vmph_trigger_end(trigger);
			return PTR_ERR(event);
		}
		trigger->event[i] = event;
	}
	return 0;
}

int vmph_counters_arm(struct vmph_cpu *cpu)
{
	struct vmph_session *session = cpu->session;
	struct vmph_counters *ctr = &cpu->counters;
	int err;

	memset(ctr->last_cycles, 0, sizeof(ctr->last_cycles));
	memset(ctr->last_instructions, 0, sizeof(ctr->last_instructions));
	if (session->random)
		vmph_draw_init(&ctr->draw);

	err = vmph_lbr_arm(cpu);
	if (err)
		return err;
	/* the sampling events first: they must not fail for the sake of the others */
	err = vmph_trigger_arm(cpu, &ctr->main, &session->attr, vmph_on_overflow);
	if (!err && session->second.sample_period)
		err = vmph_trigger_arm(cpu, &ctr->second, &session->second, vmph_on_instructions);
	if (err) {
		vmph_trigger_end(&ctr->main);
		vmph_lbr_disarm(cpu);
		return err;
	}
	if (session->want_counts)
		vmph_counting_arm(cpu);
	ctr->was_armed = true;
	return 0;
}

/*
 * What a sampling event should have counted.  perf stops an event that it
 * throttles, so its own count does not tell; the counters beside it go on.
 */
static u64 vmph_true_count(const struct perf_event_attr *attr, u64 count, u64 cycles,
			   u64 instructions)
{
	if (vmph_is_cycles(attr))
		return max(count, cycles);
	if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_INSTRUCTIONS)
		return max(count, instructions);
	return count;
}

/*
 * Overflows that the count asks for and that never came: where it goes beyond the periods that
 * were begun, those that the counters were in have ended, too.
 */
static void vmph_count_throttled(struct vmph_cpu *cpu, const struct vmph_trigger *trigger,
				 u64 period, u64 count)
{
	unsigned int counters = cpu->session->split ? VMPH_SAMPLE_NR : 1;
	u64 begun = trigger->begun[0] + trigger->begun[1];

	if (count >= begun + period)
		vmph_ring_lose(&cpu->ring, VMPROF_LOST_THROTTLED,
			       (count - begun) / period + counters);
}

/* Of this time, both sides */
static u64 vmph_counters_instructions(const struct vmph_counters *ctr)
{
	u64 total = 0;
	unsigned int i;

	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		total += vmph_counter_now(ctr->instructions[i]);
	return total;
}

void vmph_counters_disarm(struct vmph_cpu *cpu)
{
	const struct vmph_session *session = cpu->session;
	struct vmph_counters *ctr = &cpu->counters;
	u64 count, second, cycles, instructions;
	unsigned int i;

	if (!ctr->main.event[0])
		return;
	/* they go on while the events are taken down, which may take some periods: look before */
	cycles = vmph_counter_now(ctr->cycles);
	instructions = vmph_counters_instructions(ctr);
	count = vmph_trigger_end(&ctr->main);
	second = vmph_trigger_end(&ctr->second);
	vmph_count_throttled(cpu, &ctr->main, session->attr.sample_period,
			     vmph_true_count(&session->attr, count, cycles, instructions));
	if (session->second.sample_period)
		vmph_count_throttled(cpu, &ctr->second, session->second.sample_period,
				     max(second, instructions));
	vmph_lbr_disarm(cpu);
	ctr->sum_cycles += vmph_counter_end(&ctr->cycles);
	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		ctr->sum_instructions += vmph_counter_end(&ctr->instructions[i]);
	ctr->main.sum += count;
	ctr->second.sum += second;
}

static u64 vmph_trigger_total(const struct vmph_trigger *trigger)
{
	u64 total = trigger->sum;
	unsigned int i;

	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		total += vmph_counter_now(trigger->event[i]);
	return total;
}

void vmph_counters_total(struct vmph_counters *ctr, struct vmprof_cpu_stats *stats)
{
	stats->online = ctr->was_armed;
	stats->event_count = vmph_trigger_total(&ctr->main);
	stats->instruction_count = vmph_trigger_total(&ctr->second);
	stats->instruction_interrupts = READ_ONCE(ctr->second.interrupts);
	stats->cycles = ctr->sum_cycles + vmph_counter_now(ctr->cycles);
	stats->instructions = ctr->sum_instructions + vmph_counters_instructions(ctr);
}

/*
 * perf_event_read_local() would do, but is not exported; this is what it does for an event of a
 * CPU, but that the count is left to perf: what it has read, and what the counter did since.
 */
static bool vmph_read_here(const struct vmph_counters *ctr, struct perf_event *event, u64 *value)
{
	u64 before, now;

	if (!event || READ_ONCE(event->oncpu) != smp_processor_id())
		return false;
	before = local64_read(&event->hw.prev_count);
	rdpmcl(event->hw.event_base_rdpmc, now);
	*value = local64_read(&event->count) + ((now - before) & ctr->mask);
	return true;
}

/* perf's counters begin below zero and overflow there */
static bool vmph_is_due(const struct vmph_counters *ctr, const struct vmph_trigger *trigger)
{
	struct perf_event *event = READ_ONCE(trigger->event[0]);
	u64 now;

	if (!event || !event->attr.exclude_host || READ_ONCE(event->oncpu) != smp_processor_id())
		return false;
	rdpmcl(event->hw.event_base_rdpmc, now);
	return !(now & (ctr->mask ^ ctr->mask >> 1));
}

bool vmph_counters_guest_due(const struct vmph_counters *ctr)
{
	return vmph_is_due(ctr, &ctr->main) || vmph_is_due(ctr, &ctr->second);
}

bool vmph_counters_delta(struct vmph_counters *ctr, struct perf_event *event,
			 u64 *cycles, u64 *instructions)
{
	/* arming sets it last */
	struct perf_event *all = READ_ONCE(ctr->cycles);
	unsigned int side = 0;
	u64 c, i;

	if (!all)
		return false;
	if (ctr->instructions[1]) {
		side = event->attr.exclude_guest;
		/* perf has just updated the event that overflowed */
		c = local64_read(&event->count);
	} else if (!vmph_read_here(ctr, all, &c)) {
		return false;
	}
	if (!vmph_read_here(ctr, ctr->instructions[side], &i))
		return false;
	/* this came amid an update of perf's: the next will tell */
	if ((s64)(c - ctr->last_cycles[side]) < 0 || (s64)(i - ctr->last_instructions[side]) < 0)
		return false;
	*cycles = c - ctr->last_cycles[side];
	*instructions = i - ctr->last_instructions[side];
	ctr->last_cycles[side] = c;
	ctr->last_instructions[side] = i;
	return true;
}
