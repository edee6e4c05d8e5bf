// SPDX-License-Identifier: GPL-2.0-only
/* checks_module.c - what `vmprof doctor` looks at: the host module, and what it says of this host. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/driver.h"
#include "collect/lbr.h"

extern char **environ;

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
		vmp_check_line(c, param[i], line, sizeof(line));
		mediated |= line[0] == 'Y' || line[0] == '1';
	}
	/* cpu_core: a host with two kinds of cores */
	tell_pmu(c, vmp_check_is_there(c, "/sys/bus/event_source/devices/cpu") ||
		 vmp_check_is_there(c, "/sys/bus/event_source/devices/cpu_core"));
	tell_mediated(c, mediated);
}

static void check_trigger(struct vmp_checks *c, const struct vmprof_query *q)
{
	if (q->features & (VMPROF_FEAT_PMU | VMPROF_FEAT_TIMER))
		tell_pmu(c, !!(q->features & VMPROF_FEAT_PMU));
	else
		vmp_check_fault(c, "neither a counter nor a timer can trigger samples: dmesg | grep vmprof");
	if (vmp_driver_guest_lack(q))
		vmp_check_fault(c, "the module vmprof cannot read what guests do: %s",
				vmp_driver_guest_lack(q));
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

/* What makes the kernel refuse modules without a signature that it knows; NULL: nothing */
static const char *lockdown(const struct vmp_checks *c, char *dst, size_t size)
{
	char line[64], *word;

	/* none [integrity] confidentiality */
	vmp_check_line(c, "/sys/kernel/security/lockdown", line, sizeof(line));
	word = strchr(line, '[');
	if (word && strncmp(word, "[none]", 6)) {
		snprintf(dst, size, "%.*s", (int)strcspn(word + 1, "]"), word + 1);
		return dst;
	}
	vmp_check_line(c, "/sys/module/module/parameters/sig_enforce", line, sizeof(line));
	return line[0] == 'Y' ? "module.sig_enforce" : NULL;
}

void vmp_check_module(struct vmp_checks *c)
{
	struct vmprof_query q;
	char path[4096], mode[64];
	const char *signed_only = lockdown(c, mode, sizeof(mode));
	int fd;

	fd = open(vmp_check_path(c, path, VMPROF_DEVICE), O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (module_is_installed())
			vmp_check_remark(c, "the module vmprof is not loaded, vmprof start does it; now: modprobe vmprof");
		else
			vmp_check_fault(c, "the module vmprof is not installed for this kernel: %s",
					vmp_driver_how_to_install(c->root ? c->root : ""));
		if (signed_only)
			vmp_check_remark(c, "the kernel is locked down (%s), it loads signed modules only; where modprobe says 'Key was rejected' or 'not permitted', enrol the key that signed vmprof (\"Secure Boot\" in share/doc/vmprof/packages.md): mokutil --import /var/lib/dkms/mok.pub",
					 signed_only);
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
		if (signed_only)
			vmp_check_good(c, "the kernel is locked down (%s), and has taken the module",
				       signed_only);
		check_trigger(c, &q);
		check_lbr(c, &q);
	}
	close(fd);
}
