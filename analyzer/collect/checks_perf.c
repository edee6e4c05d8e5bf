// SPDX-License-Identifier: GPL-2.0-only
/* checks_perf.c - what `vmprof doctor` looks at: perf's limits, and whether counters are free. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/checks.h"

static void check_limits(struct vmp_checks *c)
{
	long rate = vmp_check_long(c, "/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	long percent = vmp_check_long(c, "/proc/sys/kernel/perf_cpu_time_max_percent", 25);

	if (vmp_check_long(c, "/proc/sys/kernel/nmi_watchdog", 0))
		vmp_check_remark(c, "the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0");
	else
		vmp_check_good(c, "the NMI watchdog holds no counter");
	if (rate < 2000)
		vmp_check_remark(c, "perf allows %ld samples a second and will throttle: sysctl kernel.perf_event_max_sample_rate=100000",
				 rate);
	else if (percent)
		vmp_check_remark(c, "perf may throttle the counter when sampling takes more than %ld %% of a CPU (counted as lost): sysctl kernel.perf_cpu_time_max_percent=0",
				 percent);
	else
		vmp_check_good(c, "perf does not throttle");
}

/* Their own events are what it keeps users from; root and the kernel have theirs at any level. */
static void check_paranoid(struct vmp_checks *c)
{
	long level = vmp_check_long(c, "/proc/sys/kernel/perf_event_paranoid", -2);

	if (level > -2)
		vmp_check_good(c, "kernel.perf_event_paranoid=%ld is no hindrance, the module counts in the kernel",
			       level);
}

/* ------------------------------------------------------- are counters free? */

static int open_event(const struct vmp_checks *c, struct perf_event_attr *attr, int cpu)
{
	int fd = c->perf_event_open ? c->perf_event_open(attr, cpu) :
		 (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A pinned event that got no counter reads as the end of a file. */
static int has_counter(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count);
}

/* Two counters on one CPU at a time, as a session has them. Return: 0, -EBUSY, what perf said. */
static int try_cpu(const struct vmp_checks *c, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
					.config = PERF_COUNT_HW_CPU_CYCLES, .pinned = 1 };
	int fd[2], i, nr, err = 0;

	for (nr = 0; nr < 2 && !err; nr += !err) {
		attr.exclude_host = nr == 0;
		attr.exclude_guest = nr == 1;
		fd[nr] = open_event(c, &attr, cpu);
		err = fd[nr] < 0 ? fd[nr] : 0;
	}
	for (i = 0; i < nr; i++) {
		if (!err && !has_counter(fd[i]))
			err = -EBUSY;
		close(fd[i]);
	}
	return err;
}

/* CPUs that are online, as in "0-3,5": one after the other; -1 after the last */
static int next_cpu(const char **list, int last)
{
	char *end;
	long from = strtol(*list, &end, 10), to = from;

	if (end == *list)
		return -1;
	if (*end == '-')
		to = strtol(end + 1, &end, 10);
	if (last < from)
		return (int)from;
	if (last < to)
		return last + 1;
	*list = *end == ',' ? end + 1 : end;
	return next_cpu(list, -1);
}

static void check_counters(struct vmp_checks *c)
{
	char online[4096];
	const char *list = online;
	int cpu = -1, err = 0, nr = 0;

	vmp_check_line(c, "/sys/devices/system/cpu/online", online, sizeof(online));
	while (!err && (cpu = next_cpu(&list, cpu)) >= 0) {
		err = try_cpu(c, cpu);
		nr++;
	}
	if (err == -EBUSY)
		vmp_check_fault(c, "CPU %d has not two counters free, others hold them: sysctl kernel.nmi_watchdog=0, and end what uses perf (pgrep -a perf); or vmprof start --event cpu-clock",
				cpu);
	else if (err == -EACCES || err == -EPERM)
		vmp_check_remark(c, "perf refuses even root's counters (%s), so others may hold them unseen: run vmprof outside of containers: vmprof doctor",
				 strerror(-err));
	else if (!err && nr)
		vmp_check_good(c, "two counters are free on each CPU");
}

void vmp_check_perf(struct vmp_checks *c)
{
	check_limits(c);
	check_paranoid(c);
	if (!c->busy)
		check_counters(c);
}
