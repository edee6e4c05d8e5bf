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
#include "collect/driver.h"
#include "collect/hostinfo.h"
#include "collect/lbr.h"
#include "model/objcache.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/room.h"
#include "util/units.h"
#include "vmprof/uapi.h"

#define MUCH_ROOM_BYTES	(1ULL << 30)

extern char **environ;

/* A path on this host, or below the root that a test made up */
static const char *below(const struct vmp_checks *c, char path[4096], const char *name)
{
	snprintf(path, 4096, "%s%s", c->root ? c->root : "", name);
	return path;
}

static int is_there(const struct vmp_checks *c, const char *name)
{
	char path[4096];

	return !access(below(c, path, name), F_OK);
}

/* First line of a small file, "" when it cannot be read */
static void read_line(const struct vmp_checks *c, const char *name, char *dst, size_t size)
{
	char path[4096], *text;
	size_t len;

	dst[0] = 0;
	if (vmp_file_read(below(c, path, name), 4096, &text, &len))
		return;
	text[len] = 0;
	snprintf(dst, size, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

static long read_long(const struct vmp_checks *c, const char *path, long otherwise)
{
	char line[64];

	read_line(c, path, line, sizeof(line));
	return line[0] ? strtol(line, NULL, 10) : otherwise;
}

static void check_kvm(struct vmp_checks *c)
{
	const char *vendor = is_there(c, "/sys/module/kvm_amd") ? "kvm_amd" :
			     is_there(c, "/sys/module/kvm_intel") ? "kvm_intel" : NULL;

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

static void tell_pmu(struct vmp_checks *c, int there)
{
	if (there)
		vmp_check_good(c, "performance counters interrupt by NMI");
	else
		vmp_check_remark(c, "no usable performance counter: samples come by timer (cpu-clock): if this host is a virtual machine, give it <features><pmu state='on'/></features>: virsh edit THIS-HOST, on its own host");
}

static void tell_mediated(struct vmp_checks *c, int on)
{
	if (on)
		vmp_check_fault(c, "KVM's mediated vPMU is on, it keeps the counters: load KVM's module with enable_mediated_pmu=0, or vmprof start --event cpu-clock");
	else
		vmp_check_good(c, "no mediated vPMU");
}

/* Without the module to ask, sysfs says nearly as much. */
static void check_trigger_without_module(struct vmp_checks *c)
{
	static const char *const param[] = {
		"/sys/module/kvm/parameters/enable_mediated_pmu",
		"/sys/module/kvm_amd/parameters/enable_mediated_pmu",
		"/sys/module/kvm_intel/parameters/enable_mediated_pmu",
	};
	int mediated = 0;
	char line[64];
	size_t i;

	for (i = 0; i < sizeof(param) / sizeof(param[0]); i++) {
		read_line(c, param[i], line, sizeof(line));
		mediated |= line[0] == 'Y' || line[0] == '1';
	}
	/* cpu_core: a host with two kinds of cores */
	tell_pmu(c, is_there(c, "/sys/bus/event_source/devices/cpu") ||
		 is_there(c, "/sys/bus/event_source/devices/cpu_core"));
	tell_mediated(c, mediated);
}

static void check_trigger(struct vmp_checks *c, const struct vmprof_query *q)
{
	if (q->features & (VMPROF_FEAT_PMU | VMPROF_FEAT_TIMER))
		tell_pmu(c, !!(q->features & VMPROF_FEAT_PMU));
	else
		vmp_check_fault(c, "neither a counter nor a timer can trigger samples: dmesg | grep vmprof");
	if (q->vendor == VMPROF_VENDOR_NONE)
		vmp_check_fault(c, "the module vmprof found no KVM it can read: load kvm_amd or kvm_intel, then modprobe -r vmprof && modprobe vmprof");
	tell_mediated(c, !!(q->features & VMPROF_FEAT_MEDIATED));
	if (!(q->features & VMPROF_FEAT_STEAL))
		vmp_check_remark(c, "this kernel does not let steal be seen, [steal] will be empty: a kernel with CONFIG_TRACEPOINTS=y does: grep TRACEPOINTS /boot/config-$(uname -r)");
}

static void check_lbr(struct vmp_checks *c, const struct vmprof_query *q)
{
	const char *why = vmp_lbr_lack(q);

	if (why)
		vmp_check_remark(c, "no last branch records: %s: vmprof start works without --lbr", why);
	else
		vmp_check_good(c, "last branch records, %u branches%s", q->lbr_entries,
			       q->features & VMPROF_FEAT_LBR_CYCLES ? " with cycles" : "");
}

static void check_module(struct vmp_checks *c)
{
	struct vmprof_query q;
	char path[4096];
	int fd;

	fd = open(below(c, path, VMPROF_DEVICE), O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (module_is_installed())
			vmp_check_remark(c, "the module vmprof is not loaded, vmprof start does it; now: modprobe vmprof");
		else
			vmp_check_fault(c, "the module vmprof is not installed for this kernel: %s",
					vmp_driver_how_to_install(c->root ? c->root : ""));
		check_trigger_without_module(c);
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
		check_lbr(c, &q);
	}
	close(fd);
}

static void check_perf(struct vmp_checks *c)
{
	long rate = read_long(c, "/proc/sys/kernel/perf_event_max_sample_rate", 100000);
	long percent = read_long(c, "/proc/sys/kernel/perf_cpu_time_max_percent", 25);

	if (read_long(c, "/proc/sys/kernel/nmi_watchdog", 0))
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
		vmp_check_remark(c, "/proc/kallsyms cannot be read, host functions will have no names: %s: a kernel with CONFIG_KALLSYMS=y has them: grep KALLSYMS /boot/config-$(uname -r)",
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

	read_line(c, "/sys/devices/system/clocksource/clocksource0/available_clocksource", line,
		  sizeof(line));
	if (strstr(line, "tsc"))
		vmp_check_good(c, "the kernel trusts the TSC");
	else
		vmp_check_remark(c, "the kernel does not trust the TSC; guest events may be off on the time axis: dmesg | grep -i tsc tells why; if it is wrong, boot the host with tsc=reliable");
}

void vmp_check_room(struct vmp_checks *c, const char *dir, const char *instead, uint64_t bytes)
{
	char size[32];

	vmp_format_size(size, sizeof(size), bytes);
	if (bytes < VMP_ROOM_BYTES)
		vmp_check_remark(c, "only %s are free below %s, a profile may be cut short: make room, or %s",
				 size, dir, instead);
	else if (bytes < MUCH_ROOM_BYTES)
		vmp_check_remark(c, "%s are free below %s: enough for hours of one guest, not for days: make room, or %s",
				 size, dir, instead);
	else
		vmp_check_good(c, "%s free below %s", size, dir);
}

static void check_dir(struct vmp_checks *c, const char *dir, const char *instead)
{
	char path[4096], *slash;
	struct statvfs st;

	snprintf(path, sizeof(path), "%s", dir);
	while (statvfs(path, &st) && (slash = strrchr(path, '/')) && slash != path)
		*slash = 0;
	if (statvfs(path, &st))
		vmp_check_fault(c, "%s cannot be looked at: %m: mkdir -p %s", dir, dir);
	else if (access(path, W_OK))
		vmp_check_fault(c, "%s cannot be written: %m: %s", path, instead);
	else
		vmp_check_room(c, dir, instead, (uint64_t)st.f_bavail * st.f_frsize);
}

void vmp_check_host(struct vmp_checks *c)
{
	check_kvm(c);
	check_module(c);
	check_perf(c);
	check_names(c);
	check_tsc(c);
	check_dir(c, vmp_capture_dir(), "vmprof start --output FILE elsewhere");
	check_dir(c, vmp_objcache_dir(), "VMPROF_OBJCACHE=DIR elsewhere (binaries of guests, for their symbols)");
}
