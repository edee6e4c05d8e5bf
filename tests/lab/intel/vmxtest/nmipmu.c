// SPDX-License-Identifier: GPL-2.0-only
/*
 * nmipmu.c - nmipmu.ko: for perf, on a processor without counters, a PMU whose cycles overflow on
 * the first pCPU by NMIs that the second one sends, each a period of the TSC after the last.
 *
 * What follows is as with a counter: KVM hands the NMI that ended a guest's run to the kernel, the
 * PMU's handler finds its event, and calls what perf's user gave perf (perf's own function for that
 * is not for modules). This PMU cannot leave out guest or host, as early ones could not: whose an
 * overflow was, its user has to find out.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/tsc.h>

#define SAMPLED		0	/* pCPUs */
#define SENDER		1

static unsigned long overflows;	/* told to an event's user */
module_param(overflows, ulong, 0444);

static struct perf_event *counter;	/* the first pCPU's, while it counts */
static u32 interval_us = 1000;
static bool due;			/* an NMI is on its way: the next one waits for it */
static struct task_struct *sender;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct perf_event *event = READ_ONCE(counter);
	struct perf_sample_data data;

	if (smp_processor_id() != SAMPLED || !xchg(&due, false))
		return NMI_DONE;
	if (!event)
		return NMI_HANDLED;	/* taken down meanwhile */
	overflows++;
	local64_add(event->hw.sample_period, &event->count);
	perf_sample_data_init(&data, 0, event->hw.sample_period);
	event->overflow_handler(event, &data, regs);
	return NMI_HANDLED;
}

static int send(void *unused)
{
	while (!kthread_should_stop()) {
		u32 us = READ_ONCE(interval_us);

		usleep_range(us, us + us / 10);
		if (!READ_ONCE(counter) || READ_ONCE(due))
			continue;
		WRITE_ONCE(due, true);
		apic->send_IPI(SAMPLED, NMI_VECTOR);
	}
	while (READ_ONCE(due))
		usleep_range(100, 200);
	return 0;
}

static int nmipmu_event_init(struct perf_event *event)
{
	if (event->attr.type != PERF_TYPE_HARDWARE ||
	    event->attr.config != PERF_COUNT_HW_CPU_CYCLES)
		return -ENOENT;
	return is_sampling_event(event) && event->cpu >= 0 ? 0 : -EOPNOTSUPP;
}

/* Other pCPUs' counters stand still */
static int nmipmu_add(struct perf_event *event, int flags)
{
	if (event->cpu != SAMPLED)
		return 0;
	if (counter)
		return -EBUSY;
	WRITE_ONCE(interval_us, div_u64(event->hw.sample_period * 1000, tsc_khz));
	WRITE_ONCE(counter, event);
	return 0;
}

static void nmipmu_del(struct perf_event *event, int flags)
{
	if (counter == event)
		WRITE_ONCE(counter, NULL);
}

/* perf stops events for throttling, which is no part of this */
static void nmipmu_start(struct perf_event *event, int flags)
{
}

static void nmipmu_stop(struct perf_event *event, int flags)
{
}

static void nmipmu_read(struct perf_event *event)
{
}

static struct pmu nmipmu = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
	.task_ctx_nr = perf_invalid_context,
	.event_init = nmipmu_event_init,
	.add = nmipmu_add,
	.del = nmipmu_del,
	.start = nmipmu_start,
	.stop = nmipmu_stop,
	.read = nmipmu_read,
};

static int __init nmipmu_init(void)
{
	int err;

	if (!cpu_online(SENDER))
		return -ENODEV;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "nmipmu");
	if (err)
		return err;
	sender = kthread_create(send, NULL, "nmipmu");
	if (IS_ERR(sender)) {
		err = PTR_ERR(sender);
		goto unregister;
	}
	kthread_bind(sender, SENDER);
	/* where perf looks for cycles */
	err = perf_pmu_register(&nmipmu, "cpu", PERF_TYPE_RAW);
	if (err)
		goto stop;
	wake_up_process(sender);
	return 0;

stop:
	kthread_stop(sender);
unregister:
	unregister_nmi_handler(NMI_LOCAL, "nmipmu");
	return err;
}

static void __exit nmipmu_exit(void)
{
	perf_pmu_unregister(&nmipmu);
	kthread_stop(sender);
	unregister_nmi_handler(NMI_LOCAL, "nmipmu");
}

module_init(nmipmu_init);
module_exit(nmipmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("NMIs of another pCPU as a counter's overflows");
