// SPDX-License-Identifier: GPL-2.0-only
/* checks_host.c - what `vmprof doctor` looks at on the host. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/debugfs.h"
#include "collect/hostinfo.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/units.h"
#include "vmprof/uapi.h"

#define ROOM_BYTES	(100ULL << 20)
#define MUCH_ROOM_BYTES	(1ULL << 30)

extern char **environ;

/* First line of a small file, "" when it cannot be read */
static void read_line(const char *path, char *dst, size_t size)
{
	char *text;
	size_t len;

	dst[0] = 0;
	if (vmp_file_read(path, 4096, &text, &len))
		return;
	snprintf(dst, size, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

static long read_long(const char *path, long otherwise)
{
	char line[64];

	read_line(path, line, sizeof(line));
	return line[0] ? strtol(line, NULL, 10) : otherwise;
}

static void check_kvm(struct vmp_checks *c)
{
	const char *vendor = !access("/sys/module/kvm_amd", F_OK) ? "kvm_amd" :
			     !access("/sys/module/kvm_intel", F_OK) ? "kvm_intel" : NULL;

	if (!vendor)
		vmp_check_fault(c, "neither kvm_amd nor kvm_intel is loaded: modprobe kvm_amd (or kvm_intel)");
	else if (access("/dev/kvm", R_OK | W_OK))
		vmp_check_fault(c, "/dev/kvm cannot be used: %m: modprobe %s", vendor);
	else
		vmp_check_good(c, "KVM by %s", vendor);
}

static int module_is_installed(void)
{
	char *argv[] = { "modprobe", "-n", "-q", "vmprof", NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, "modprobe", NULL, NULL, argv, environ))
		return 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void check_trigger(struct vmp_checks *c, const struct vmprof_query *q)
{
	if (q->features & VMPROF_FEAT_PMU)
		vmp_check_good(c, "performance counters interrupt by NMI");
	else if (q->features & VMPROF_FEAT_TIMER)
		vmp_check_remark(c, "no usable performance counter: samples come by timer (cpu-clock): on a virtual host, give it a PMU");
	else
		vmp_check_fault(c, "neither a counter nor a timer can trigger samples: dmesg | grep vmprof");
	if (q->vendor == VMPROF_VENDOR_NONE)
		vmp_check_fault(c, "the module vmprof found no KVM it can read: load kvm_amd or kvm_intel, then modprobe -r vmprof && modprobe vmprof");
	if (q->features & VMPROF_FEAT_MEDIATED)
		vmp_check_fault(c, "KVM's mediated vPMU is on, it keeps the counters: load KVM's module with enable_mediated_pmu=0, or vmprof start --event cpu-clock");
	else
		vmp_check_good(c, "no mediated vPMU");
	if (!(q->features & VMPROF_FEAT_STEAL))
		vmp_check_remark(c, "this kernel does not let steal be seen: [steal] will be empty");
}

static void check_module(struct vmp_checks *c)
{
	struct vmprof_query q;
	int fd;

	fd = open(VMPROF_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (module_is_installed())
			vmp_check_remark(c, "the module vmprof is not loaded, vmprof start does it; now: modprobe vmprof");
		else
			vmp_check_fault(c, "the module vmprof is not installed for this kernel: make -C host-driver dkms-install");
		return;
	}
	if (fd < 0) {
		vmp_check_fault(c, VMPROF_DEVICE " cannot be opened: %m: run vmprof as root");
		return;
	}
	if (ioctl(fd, VMPROF_IOC_QUERY, &q) || q.compat > VMPROF_UAPI_VERSION ||
	    q.version < VMPROF_UAPI_COMPAT) {
		vmp_check_fault(c, "the loaded module vmprof is of another version: install this version's, then modprobe -r vmprof && modprobe vmprof");
	} else {
		vmp_check_good(c, "module vmprof, interface %u, %u CPUs", q.version, q.nr_cpus);
		check_trigger(c, &q);
	}
	close(fd);
}

static void check_perf(struct vmp_checks *c)
{
	long rate = read_long("/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	long percent = read_long("/proc/sys/kernel/perf_cpu_time_max_percent", 25);

	if (read_long("/proc/sys/kernel/nmi_watchdog", 0))
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

static void check_names(struct vmp_checks *c)
{
	char *text = NULL;
	size_t len;
	int err = vmp_read_ksyms(&text, &len);

	if (err == -EPERM)
		vmp_check_remark(c, "the kernel hides its symbols, host functions will have no names: sysctl kernel.kptr_restrict=1");
	else if (err)
		vmp_check_remark(c, "/proc/kallsyms cannot be read, host functions will have no names: %s",
				 strerror(-err));
	else
		vmp_check_good(c, "host kernel symbols");
	free(text);
	if (access(VMP_DEBUGFS_KVM, R_OK | X_OK))
		vmp_check_remark(c, "KVM's debugfs is not there, clocks depend on QEMU's query-vmprof: mount -t debugfs none /sys/kernel/debug");
	else
		vmp_check_good(c, "KVM's debugfs");
}

static void check_tsc(struct vmp_checks *c)
{
	char line[64];

	read_line("/sys/devices/system/clocksource/clocksource0/available_clocksource", line,
		  sizeof(line));
	if (strstr(line, "tsc"))
		vmp_check_good(c, "the kernel trusts the TSC");
	else
		vmp_check_remark(c, "the kernel does not trust the TSC; guest events may be off on the time axis: dmesg | grep -i tsc");
}

static void check_room(struct vmp_checks *c)
{
	char path[4096], size[32], *slash;
	struct statvfs st;
	uint64_t bytes;

	snprintf(path, sizeof(path), "%s", vmp_capture_dir());
	while (statvfs(path, &st) && (slash = strrchr(path, '/')) && slash != path)
		*slash = 0;
	if (statvfs(path, &st)) {
		vmp_check_fault(c, "%s cannot be looked at: %m: mkdir -p %s", vmp_capture_dir(),
				vmp_capture_dir());
		return;
	}
	bytes = (uint64_t)st.f_bavail * st.f_frsize;
	vmp_format_size(size, sizeof(size), bytes);
	if (access(path, W_OK))
		vmp_check_fault(c, "%s cannot be written: %m: vmprof start --output FILE elsewhere", path);
	else if (bytes < ROOM_BYTES)
		vmp_check_fault(c, "only %s are free below %s: make room, or vmprof start --output FILE elsewhere",
				size, vmp_capture_dir());
	else if (bytes < MUCH_ROOM_BYTES)
		vmp_check_remark(c, "%s are free below %s: enough for hours of one guest, not for days: df -h %s",
				 size, vmp_capture_dir(), path);
	else
		vmp_check_good(c, "%s free below %s", size, vmp_capture_dir());
}

void vmp_check_host(struct vmp_checks *c)
{
	check_kvm(c);
	check_module(c);
	check_perf(c);
	check_names(c);
	check_tsc(c);
	check_room(c);
}
