// SPDX-License-Identifier: GPL-2.0-only
/*
 * counters.c - perf events by the kernel's counter API: the PMU is shared with
 * perf and the NMI watchdog, and CPU vendors are perf's business.
 */
#include <linux/err.h>
#include <linux/smp.h>
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
static struct perf_event *vmph_counting(struct vmph_cpu *cpu, u64 config)
{
	struct perf_event_attr attr;
	struct perf_event *event;

	vmph_counters_attr(&attr, PERF_TYPE_HARDWARE, config, 0);
	event = perf_event_create_kernel_counter(&attr, cpu->cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return NULL;
	if (READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
		return event;
	perf_event_release_kernel(event);
	return NULL;
}

/* Release one event and hand out what it counted */
static u64 vmph_counter_end(struct perf_event **event)
{
	u64 enabled, running, total = 0;

	if (*event) {
		perf_event_disable(*event);
		total = perf_event_read_value(*event, &enabled, &running);
		perf_event_release_kernel(*event);
		*event = NULL;
	}
	return total;
}

static struct perf_event *vmph_sampling(struct vmph_cpu *cpu, const struct perf_event_attr *attr)
{
	struct perf_event *event;
	struct perf_event_attr copy = *attr;

	event = perf_event_create_kernel_counter(&copy, cpu->cpu, NULL, vmph_on_overflow, cpu);
	/* a pinned event that got no counter is in error, not active */
	if (!IS_ERR(event) && READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE) {
		perf_event_release_kernel(event);
		return ERR_PTR(-EBUSY);
	}
	return event;
}

int vmph_counters_arm(struct vmph_cpu *cpu)
{
	struct vmph_session *session = cpu->session;
	struct perf_event_attr attr = session->attr;
	struct vmph_counters *ctr = &cpu->counters;
	struct perf_event *event;
	unsigned int i;

	ctr->last_cycles = 0;
	ctr->last_instructions = 0;
	ctr->armed_interrupts = cpu->ring.producer->interrupts;

	/* the sampling events first: they must not fail for the sake of the others */
	for (i = 0; i < VMPH_SAMPLE_NR && vmph_counters_side(&attr, i, session->split); i++) {
		event = vmph_sampling(cpu, &attr);
		if (IS_ERR(event))
			goto release_samples;
		ctr->sample[i] = event;
	}
	if (session->want_counts) {
		struct perf_event *cycles = vmph_counting(cpu, PERF_COUNT_HW_CPU_CYCLES);

		WRITE_ONCE(ctr->instructions, vmph_counting(cpu, PERF_COUNT_HW_INSTRUCTIONS));
		WRITE_ONCE(ctr->cycles, cycles);
	}
	ctr->was_armed = true;
	return 0;

release_samples:
	while (i--) {
		perf_event_release_kernel(ctr->sample[i]);
		ctr->sample[i] = NULL;
	}
	return PTR_ERR(event);
}

/*
 * What the sampling events should have counted.  perf stops an event that it
 * throttles, so its own count does not tell; the counters beside it go on.
 */
static u64 vmph_true_count(const struct perf_event_attr *attr, u64 count, u64 cycles,
			   u64 instructions)
{
	if (attr->type != PERF_TYPE_HARDWARE)
		return count;
	if (attr->config == PERF_COUNT_HW_CPU_CYCLES)
		return max(count, cycles);
	if (attr->config == PERF_COUNT_HW_INSTRUCTIONS)
		return max(count, instructions);
	return count;
}

/* Overflows that the count asks for and that never came; each event keeps a part of a period */
static void vmph_count_throttled(struct vmph_cpu *cpu, u64 count)
{
	u64 due = count / cpu->session->attr.sample_period;
	u64 came = cpu->ring.producer->interrupts - cpu->counters.armed_interrupts;

	if (due > came + VMPH_SAMPLE_NR)
		vmph_ring_lose(&cpu->ring, VMPROF_LOST_THROTTLED, due - came);
}

void vmph_counters_disarm(struct vmph_cpu *cpu)
{
	struct vmph_counters *ctr = &cpu->counters;
	u64 count = 0, cycles, instructions;
	unsigned int i;

	if (!ctr->sample[0])
		return;
	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		count += vmph_counter_end(&ctr->sample[i]);
	cycles = vmph_counter_end(&ctr->cycles);
	instructions = vmph_counter_end(&ctr->instructions);
	vmph_count_throttled(cpu, vmph_true_count(&cpu->session->attr, count, cycles, instructions));
	ctr->sum_sample += count;
	ctr->sum_cycles += cycles;
	ctr->sum_instructions += instructions;
}

void vmph_counters_total(struct vmph_counters *ctr, u64 *sample, u64 *cycles, u64 *instructions)
{
	u64 enabled, running;
	unsigned int i;

	*sample = ctr->sum_sample;
	*cycles = ctr->sum_cycles;
	*instructions = ctr->sum_instructions;
	for (i = 0; i < VMPH_SAMPLE_NR; i++)
		if (ctr->sample[i])
			*sample += perf_event_read_value(ctr->sample[i], &enabled, &running);
	if (ctr->cycles)
		*cycles += perf_event_read_value(ctr->cycles, &enabled, &running);
	if (ctr->instructions)
		*instructions += perf_event_read_value(ctr->instructions, &enabled, &running);
}

/*
 * perf_event_read_local() would do, but is not exported; this is what it does
 * for an event of a CPU: update the count from the PMU that counts right here.
 */
static bool vmph_read_here(struct perf_event *event, u64 *value)
{
	if (!event || READ_ONCE(event->oncpu) != smp_processor_id())
		return false;
	event->pmu->read(event);
	*value = local64_read(&event->count);
	return true;
}

bool vmph_counters_delta(struct vmph_counters *ctr, u64 *cycles, u64 *instructions)
{
	u64 c, i;

	if (!vmph_read_here(READ_ONCE(ctr->cycles), &c) ||
	    !vmph_read_here(READ_ONCE(ctr->instructions), &i))
		return false;
	*cycles = c - ctr->last_cycles;
	*instructions = i - ctr->last_instructions;
	ctr->last_cycles = c;
	ctr->last_instructions = i;
	return true;
}
