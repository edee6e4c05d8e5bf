// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_counters.c - the host module's counters and its way to the vCPU that runs, compiled as they
 * are, before a made-up perf and made-up kprobes: a PMU whose counters others hold, events for
 * guest and host, random periods, losses by throttling, a kernel without the symbol.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "kernel_shim.h"
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include "../../host-driver/ring.c"
#include "../../host-driver/counters.c"
#include "../../host-driver/draw.c"
#include "../../host-driver/compat/running_vcpu.c"

/* --------------------------------------------------------- a made-up perf */

#define EVENTS	16

static struct {
	int counters;		/* that nobody else holds */
	int create_error;
	int used, made, left;	/* on a counter; made at all; not released */
	u64 counts[EVENTS];	/* what the event made as number n has counted in the end */
	struct perf_event *event[EVENTS];
	u64 hardware[EVENTS];	/* what the counter of that event has */
} perf;

struct cpuinfo_x86 boot_cpu_data = { X86_VENDOR_AMD };

u32 cpuid_eax(u32 leaf)
{
	return leaf == 0xa ? 40 << 16 | 4 : 0;
}

u64 kernel_rdpmc(u32 counter)
{
	return perf.hardware[counter];
}

static char logged[256];

void kernel_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(logged, sizeof(logged), fmt, ap);
	va_end(ap);
}

static void read_count(struct perf_event *event)
{
	(void)event;
}

static const struct { void (*read)(struct perf_event *event); } pmu = { read_count };

static void get_counter(struct perf_event *event)
{
	bool fits = perf.used < perf.counters;

	perf.used += fits;
	event->state = fits ? PERF_EVENT_STATE_ACTIVE : PERF_EVENT_STATE_ERROR;
}

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu,
						    struct task_struct *task,
						    perf_overflow_handler_t handler, void *context)
{
	struct perf_event *event;

	(void)task;
	(void)handler;
	(void)context;
	assert_true(attr->pinned);
	if (perf.create_error)
		return ERR_PTR(perf.create_error);
	assert_true(perf.made < EVENTS);
	event = calloc(1, sizeof(*event));
	event->attr = *attr;
	event->cpu = cpu;
	event->pmu = (void *)&pmu;
	event->count = perf.counts[perf.made];
	event->hw.event_base_rdpmc = perf.made;
	event->hw.sample_period = event->hw.period_left = attr->sample_period;
	perf.event[perf.made++] = event;
	perf.left++;
	if (!attr->disabled)
		get_counter(event);
	return event;
}

void perf_event_enable(struct perf_event *event)
{
	get_counter(event);
}

void perf_event_disable(struct perf_event *event)
{
	(void)event;
}

u64 perf_event_read_value(struct perf_event *event, u64 *enabled, u64 *running)
{
	*enabled = *running = 1;
	return event->count;
}

int perf_event_release_kernel(struct perf_event *event)
{
	perf.used -= event->state == PERF_EVENT_STATE_ACTIVE;
	perf.left--;
	free(event);
	return 0;
}

void vmph_on_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	(void)event;
	(void)data;
	(void)regs;
}

void vmph_on_instructions(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	vmph_on_overflow(event, data, regs);
}

static bool armed;

int vmph_lbr_arm(struct vmph_cpu *cpu)
{
	(void)cpu;
	armed = true;
	return 0;
}

void vmph_lbr_disarm(struct vmph_cpu *cpu)
{
	(void)cpu;
	armed = false;
}

void vmph_lbr_filter(struct perf_event *event, u32 branches)
{
	assert_int_equal(event->state, 0);	/* never enabled yet */
	event->hw.branch_reg.config = branches;
}

/* ----------------------------------------------------------- the session */

static struct vmph_session session;
static struct vmph_cpu cpu;
static struct vmprof_producer producer;
static struct vmprof_consumer consumer;
static u8 data[4096];

static int setup(void **state)
{
	(void)state;
	memset(&perf, 0, sizeof(perf));
	memset(&session, 0, sizeof(session));
	memset(&cpu, 0, sizeof(cpu));
	memset(&producer, 0, sizeof(producer));
	cpu.session = &session;
	vmph_ring_init(&cpu.ring, &consumer, &producer, data, sizeof(data), sizeof(data) / 2, 0);
	vmph_counters_attr(&session.attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000);
	session.split = true;
	armed = false;
	return 0;
}

/* ------------------------------------------------------------------ tests */

static void assert_sides(unsigned int nr, u64 config, bool guest, bool host)
{
	const struct perf_event_attr *attr = &perf.event[nr]->attr;

	assert_int_equal(attr->config, config);
	assert_int_equal(!attr->exclude_guest, guest);
	assert_int_equal(!attr->exclude_host, host);
}

static void test_sides(void **state)
{
	(void)state;
	perf.counters = 5;
	session.want_counts = true;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_int_equal(perf.made, 5);
	assert_sides(0, PERF_COUNT_HW_CPU_CYCLES, true, false);
	assert_sides(1, PERF_COUNT_HW_CPU_CYCLES, false, true);
	assert_sides(2, PERF_COUNT_HW_CPU_CYCLES, true, true);
	assert_sides(3, PERF_COUNT_HW_INSTRUCTIONS, true, false);
	assert_sides(4, PERF_COUNT_HW_INSTRUCTIONS, false, true);
	assert_int_equal(perf.event[1]->attr.sample_period, 1000000);
	assert_int_equal(perf.event[2]->attr.sample_period, 0);
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
	assert_false(armed);
	/* a counter less: instructions of both sides together */
	perf.counters = 4;
	perf.made = 0;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_int_equal(perf.left, 4);
	assert_sides(5, PERF_COUNT_HW_INSTRUCTIONS, true, true);
	assert_null(cpu.counters.instructions[1]);
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
	/* a PMU that cannot tell them apart, and the timer, have one for both */
	session.split = false;
	session.want_counts = false;
	perf.made = 0;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_int_equal(perf.made, 1);
	assert_sides(0, PERF_COUNT_HW_CPU_CYCLES, true, true);
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
}

/* Since the last sample of the same side, in what that side's counters count */
static void assert_delta(unsigned int nr, u64 want_cycles, u64 want_instructions)
{
	u64 cycles, instructions;

	assert_true(vmph_counters_delta(&cpu.counters, perf.event[nr], &cycles, &instructions));
	assert_int_equal(cycles, want_cycles);
	assert_int_equal(instructions, want_instructions);
}

static void test_delta(void **state)
{
	u64 unused;

	(void)state;
	perf.counters = 5;
	session.want_counts = true;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	perf.event[0]->count = 1000;		/* guest: 1000 cycles, 2000 instructions */
	perf.event[3]->count = 2000;
	perf.event[1]->count = 400;		/* host: 400 and 100 */
	perf.event[4]->count = 100;
	perf.event[2]->count = 1400;
	assert_delta(0, 1000, 2000);
	assert_delta(1, 400, 100);
	/* the counter has gone on since perf looked at it, and has wrapped */
	perf.event[0]->count += 10;
	perf.event[3]->hw.prev_count = (1ULL << 48) - 10;
	perf.hardware[3] = 20;
	assert_delta(1, 0, 0);
	assert_delta(0, 10, 30);
	/* amid an update: perf has taken what the counter had, and not added it yet */
	perf.event[3]->hw.prev_count = 20;
	unused = 0;
	assert_false(vmph_counters_delta(&cpu.counters, perf.event[0], &unused, &unused));
	assert_int_equal(unused, 0);
	perf.event[3]->count += 30;
	perf.hardware[3] = 25;
	perf.event[0]->count += 7;
	assert_delta(0, 7, 5);
	/* not while they count elsewhere */
	perf.event[3]->oncpu = 1;
	assert_false(vmph_counters_delta(&cpu.counters, perf.event[0], &unused, &unused));
	vmph_counters_disarm(&cpu);
	/* instructions of both sides: then the cycles are, too; an Intel processor tells how wide they are */
	boot_cpu_data.x86_vendor = X86_VENDOR_INTEL;
	perf.counters = 4;
	perf.made = 0;
	memset(perf.hardware, 0, sizeof(perf.hardware));
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	perf.event[0]->count = 1000;
	perf.event[2]->count = 1400;
	perf.event[5]->count = 2100;
	assert_delta(0, 1400, 2100);
	assert_delta(1, 0, 0);
	perf.event[5]->hw.prev_count = (1ULL << 40) - 1;
	perf.hardware[5] = 8;
	assert_delta(0, 0, 9);
	boot_cpu_data.x86_vendor = X86_VENDOR_AMD;
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
}

/* An overflow of the guest's whose handler comes later in the same NMI: of cycles, of instructions */
static void test_guest_due(void **state)
{
	const u64 begun = (1ULL << 48) - 1000;

	(void)state;
	perf.counters = 8;
	session.want_counts = true;
	vmph_counters_attr(&session.second, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000);
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	perf.hardware[0] = perf.hardware[2] = begun;
	assert_false(vmph_counters_guest_due(&cpu.counters));
	perf.hardware[1] = perf.hardware[3] = 5;	/* the host's */
	assert_false(vmph_counters_guest_due(&cpu.counters));
	perf.hardware[0] = 5;
	assert_true(vmph_counters_guest_due(&cpu.counters));
	perf.event[0]->oncpu = -1;
	assert_false(vmph_counters_guest_due(&cpu.counters));
	perf.hardware[2] = 0;
	assert_true(vmph_counters_guest_due(&cpu.counters));
	vmph_counters_disarm(&cpu);
	assert_false(vmph_counters_guest_due(&cpu.counters));
	/* one event for both sides is not the guest's */
	session.split = false;
	session.second.sample_period = 0;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_false(vmph_counters_guest_due(&cpu.counters));
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
}

/* Others hold the counters: START fails, and what it took it gives back */
static void test_taken(void **state)
{
	int free;

	(void)state;
	for (free = 0; free < 2; free++) {
		perf.counters = free;
		assert_int_equal(vmph_counters_arm(&cpu), -EBUSY);
		assert_int_equal(perf.left, 0);
		assert_false(armed);
		assert_null(cpu.counters.main.event[0]);
	}
	/* nothing left for the second event */
	vmph_counters_attr(&session.second, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000);
	perf.counters = 3;
	assert_int_equal(vmph_counters_arm(&cpu), -EBUSY);
	assert_int_equal(perf.left, 0);
	/* those that only count are done without */
	session.second.sample_period = 0;
	session.want_counts = true;
	perf.counters = 2;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_null(cpu.counters.cycles);
	assert_null(cpu.counters.instructions[0]);
	assert_null(cpu.counters.instructions[1]);
	vmph_counters_disarm(&cpu);
	assert_int_equal(perf.left, 0);
	/* perf refuses: what it says is what START says */
	perf.create_error = -EOPNOTSUPP;
	assert_int_equal(vmph_counters_arm(&cpu), -EOPNOTSUPP);
	assert_int_equal(vmph_counters_try(&session.attr), -EOPNOTSUPP);
	assert_int_equal(perf.left, 0);
}

/* With branches the filter is in the event before it is on its counter */
static void test_branches(void **state)
{
	(void)state;
	perf.counters = 2;
	session.attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	session.lbr.branches = VMPROF_LBR_USER | VMPROF_LBR_RET;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	assert_int_equal(perf.event[0]->hw.branch_reg.config, VMPROF_LBR_USER | VMPROF_LBR_RET);
	assert_int_equal(perf.event[1]->hw.branch_reg.config, VMPROF_LBR_USER | VMPROF_LBR_RET);
	assert_int_equal(perf.used, 2);
	vmph_counters_disarm(&cpu);
	perf.counters = 1;
	assert_int_equal(vmph_counters_arm(&cpu), -EBUSY);
	assert_int_equal(perf.left, 0);
}

/* How many of so many periods should be longer than @means times their mean, and how far off that may be: five standard errors */
static void assert_longer(const u64 *period, u64 nr, u64 mean, double means)
{
	double p = exp(-means), n = 0;
	u64 i;

	for (i = 0; i < nr; i++)
		n += period[i] > means * mean;
	assert_true(fabs(n - nr * p) < 5 * sqrt(nr * p * (1 - p)));
}

static void test_draw(void **state)
{
	enum { NR = 1000000 };
	static const double means[] = { 0.001, 0.01, 0.1, 0.5, 1, 1.5, 2, 3, 5, 8, 11 };
	u64 *period = calloc(NR, sizeof(*period)), mean = 1000003, i;
	double sum = 0, squares = 0, after = 0;
	struct vmph_draw draw;

	(void)state;
	vmph_draw_init(&draw);
	for (i = 0; i < NR; i++) {
		period[i] = vmph_draw(&draw, mean);
		assert_true(period[i] >= VMPH_PERIOD_LEAST);
		sum += period[i];
		squares += (double)period[i] * period[i];
		after += i ? (double)period[i] * period[i - 1] : 0;
	}
	assert_true(fabs(sum / NR / mean - 1) < 5 / sqrt(NR));
	/* the second moment is 2, the fourth 24; neighbours are independent: 1, and 3 of their product */
	assert_true(fabs(squares / NR / mean / mean - 2) < 5 * sqrt(20. / NR));
	assert_true(fabs(after / NR / mean / mean - 1) < 5 * sqrt(3. / NR) + 1. / NR);
	for (i = 0; i < sizeof(means) / sizeof(means[0]); i++)
		assert_longer(period, NR, mean, means[i]);
	/* the ends of what a user may ask for */
	for (i = 0; i < 1000; i++) {
		assert_in_range(vmph_draw(&draw, VMPROF_PERIOD_MIN), VMPH_PERIOD_LEAST, 64 * VMPROF_PERIOD_MIN);
		assert_true(vmph_draw(&draw, VMPROF_PERIOD_RANDOM_MAX) < 64 * VMPROF_PERIOD_RANDOM_MAX);
	}
	assert_int_equal(vmph_draw(&draw, 0), VMPH_PERIOD_LEAST);
	free(period);
}

/* One overflow of the guest's event, of which so much more was counted: perf has begun the next period before anyone hears of it */
static void overflow_late(u64 more)
{
	struct perf_event *event = perf.event[0];
	u64 period = event->hw.sample_period;

	event->count += event->hw.period_left + more;
	event->hw.period_left = more < period ? period - more : period;
	vmph_counters_next(&cpu.counters, &cpu.counters.main, perf.event[0], session.random);
}

static void overflow(void)
{
	overflow_late(0);
}

static void test_random(void **state)
{
	u64 counted = 0, i;

	(void)state;
	perf.counters = 4;
	session.want_counts = true;
	session.random = true;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	for (i = 0; i < 1000; i++) {
		overflow_late(i % 3 * 400000);		/* longer than many a period */
		assert_int_not_equal(perf.event[0]->hw.sample_period, 1000000);
		assert_int_equal(cpu.counters.main.begun[0], perf.event[0]->count + perf.event[0]->hw.period_left);
	}
	assert_int_equal(perf.event[0]->attr.sample_period, 1000000);
	counted = perf.event[0]->count + perf.event[0]->hw.period_left;
	assert_int_equal(cpu.counters.main.begun[0], counted);
	assert_int_equal(cpu.counters.main.begun[1], 1000000);
	/* the host's event is in its first period; one mean beyond both is a loss of these two and one more */
	perf.event[0]->count = counted + 1999999;
	vmph_counters_disarm(&cpu);
	assert_int_equal(producer.lost[VMPROF_LOST_THROTTLED], 0);
	setup(NULL);
	perf.counters = 4;
	session.random = true;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	overflow();
	perf.event[0]->count = cpu.counters.main.begun[0] + 2000000;
	vmph_counters_disarm(&cpu);
	assert_int_equal(producer.lost[VMPROF_LOST_THROTTLED], 3);
}

/* Overflows that the counters ask for and that did not come are lost by throttling */
static void throttled(u64 guest, u64 host, u64 cycles, u64 came, u64 want)
{
	setup(NULL);
	perf.counters = 4;
	session.want_counts = true;
	perf.counts[0] = guest;
	perf.counts[1] = host;
	perf.counts[2] = cycles;
	assert_int_equal(vmph_counters_arm(&cpu), 0);
	while (came--)
		vmph_counters_next(&cpu.counters, &cpu.counters.main, perf.event[0], false);
	vmph_counters_disarm(&cpu);
	assert_int_equal(producer.lost[VMPROF_LOST_THROTTLED], want);
}

static void test_throttled(void **state)
{
	struct vmprof_cpu_stats stats = { 0 };

	(void)state;
	throttled(40000000, 60000000, 100000000, 100, 0);
	/* each event keeps a part of a period */
	throttled(40900000, 59900000, 100800000, 98, 0);
	throttled(40000000, 60000000, 100000000, 97, 3);
	/* stopped events count no more; the counter beside them does */
	throttled(10000000, 20000000, 100000000, 30, 70);
	vmph_counters_total(&cpu.counters, &stats);
	assert_int_equal(stats.event_count, 30000000);
	assert_int_equal(stats.cycles, 100000000);
	assert_int_equal(stats.online, 1);
}

/* ----------------------------------------- a kernel without the symbol */

static int kprobe_error, held;
static u32 code[4] = { 0, VMPH_ENDBR64, 0x90909090, 0xc3 };

int register_kprobe(struct kprobe *probe)
{
	assert_string_equal(probe->symbol_name, "kvm_get_running_vcpu");
	probe->addr = &code[2];
	return kprobe_error;
}

void unregister_kprobe(struct kprobe *probe)
{
	(void)probe;
}

struct module *vmph_module_get(const char *name)
{
	assert_string_equal(name, "kvm");
	held++;
	return (struct module *)&held;
}

void module_put(struct module *module)
{
	held -= !!module;
}

static void test_symbol(void **state)
{
	(void)state;
	kprobe_error = -ENOENT;		/* no such symbol, or no kallsyms */
	assert_int_equal(vmph_running_vcpu_get(), -ENODEV);
	assert_non_null(strstr(logged, "does not say which vCPU runs (kvm_get_running_vcpu: error -2)"));
	assert_int_equal(held, 0);
	kprobe_error = -EOPNOTSUPP;	/* no kprobes */
	assert_int_equal(vmph_running_vcpu_get(), -ENODEV);
	assert_int_equal(held, 0);
	kprobe_error = 0;
	assert_int_equal(vmph_running_vcpu_get(), 0);
	assert_int_equal(held, 1);
	assert_ptr_equal(vmph_get_running_vcpu, &code[1]);	/* its landing pad */
	vmph_running_vcpu_put();
	assert_int_equal(held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sides, setup), cmocka_unit_test_setup(test_delta, setup),
		cmocka_unit_test_setup(test_guest_due, setup), cmocka_unit_test_setup(test_taken, setup),
		cmocka_unit_test_setup(test_branches, setup), cmocka_unit_test_setup(test_throttled, setup),
		cmocka_unit_test(test_draw), cmocka_unit_test_setup(test_random, setup),
		cmocka_unit_test_setup(test_symbol, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
