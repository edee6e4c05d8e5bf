// SPDX-License-Identifier: GPL-2.0-only
/* checks_host.c - what `vmprof doctor` looks at on the host. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/debugfs.h"
#include "collect/hostinfo.h"
#include "model/objcache.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/room.h"
#include "util/units.h"

#define MUCH_ROOM_BYTES	(1ULL << 30)

const char *vmp_check_path(const struct vmp_checks *c, char path[4096], const char *name)
{
	snprintf(path, 4096, "%s%s", c->root ? c->root : "", name);
	return path;
}

int vmp_check_is_there(const struct vmp_checks *c, const char *name)
{
	char path[4096];

	return !access(vmp_check_path(c, path, name), F_OK);
}

const char *vmp_check_line(const struct vmp_checks *c, const char *name, char *dst, size_t size)
{
	char path[4096], *text;
	size_t len;

	dst[0] = 0;
	if (vmp_file_read(vmp_check_path(c, path, name), 4096, &text, &len))
		return dst;
	text[len] = 0;
	snprintf(dst, size, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
	return dst;
}

long vmp_check_long(const struct vmp_checks *c, const char *name, long otherwise)
{
	char line[64];

	vmp_check_line(c, name, line, sizeof(line));
	return line[0] ? strtol(line, NULL, 10) : otherwise;
}

/* Is it one of the first processor's flags? */
static int has_flag(const struct vmp_checks *c, const char *flag)
{
	char path[4096], line[8192];
	size_t len = strlen(flag);
	int found = 0;
	char *word;
	FILE *f = fopen(vmp_check_path(c, path, "/proc/cpuinfo"), "re");

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5))
			continue;
		for (word = line; !found && (word = strstr(word, flag)); word += len)
			found = word[-1] == ' ' && strchr(" \n", word[len]);
		break;
	}
	if (f)
		fclose(f);
	return found;
}

/* KVM cannot be there */
static void check_processor(struct vmp_checks *c)
{
	char maker[64];

	vmp_check_line(c, "/sys/class/dmi/id/sys_vendor", maker, sizeof(maker));
	if (has_flag(c, "hypervisor"))
		vmp_check_fault(c, "this host is a virtual machine (%s) without virtualisation of its own, neither svm nor vmx is in /proc/cpuinfo: switch nested virtualisation on for it, on its own host",
				maker[0] ? maker : "of an unknown maker");
	else
		vmp_check_fault(c, "the processor offers no virtualisation, neither svm nor vmx is in /proc/cpuinfo: switch it on in the firmware (SVM, VT-x)");
}

#define XENFEAT_DOM0	(1UL << 11)

/* Is it Xen's first domain? xenfs tells where it is mounted; a guest of Xen's has the type, but not the feature. */
static int is_xen_host(const struct vmp_checks *c)
{
	char line[64];

	if (strstr(vmp_check_line(c, "/proc/xen/capabilities", line, sizeof(line)), "control_d"))
		return 1;
	if (strcmp(vmp_check_line(c, "/sys/hypervisor/type", line, sizeof(line)), "xen"))
		return 0;
	vmp_check_line(c, "/sys/hypervisor/properties/features", line, sizeof(line));
	return (strtoul(line, NULL, 16) & XENFEAT_DOM0) != 0;
}

static void check_kvm(struct vmp_checks *c)
{
	const char *vendor = vmp_check_is_there(c, "/sys/module/kvm_amd") ? "kvm_amd" :
			     vmp_check_is_there(c, "/sys/module/kvm_intel") ? "kvm_intel" : NULL;
	const char *wanted = has_flag(c, "svm") ? "kvm_amd" : has_flag(c, "vmx") ? "kvm_intel" : NULL;
	char path[4096];

	if (is_xen_host(c))
		vmp_check_fault(c, "this host runs Xen, and Xen's guests cannot be profiled: boot its kernel without Xen, and run the guests under KVM");
	else if (!vendor && !wanted)
		check_processor(c);
	else if (!vendor)
		vmp_check_fault(c, "%s is not loaded: modprobe %s", wanted, wanted);
	else if (access(vmp_check_path(c, path, "/dev/kvm"), R_OK | W_OK))
		vmp_check_fault(c, "/dev/kvm cannot be used: %m: modprobe %s", vendor);
	else
		vmp_check_good(c, "KVM by %s", vendor);
}

/* Their guests are no domains of ours, and hold the processor's virtualisation */
static void check_others(struct vmp_checks *c)
{
	static const struct {
		const char *module, *of;
	} other[] = {
		{ "vmmon", "VMware" }, { "vboxdrv", "VirtualBox" },
	};
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		snprintf(path, sizeof(path), "/sys/module/%s", other[i].module);
		if (vmp_check_is_there(c, path))
			vmp_check_remark(c, "guests of %s (its module %s is loaded) cannot be profiled, KVM's can: run them under KVM, or else modprobe -r %s",
					 other[i].of, other[i].module, other[i].module);
	}
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

	vmp_check_line(c, "/sys/devices/system/clocksource/clocksource0/available_clocksource", line,
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
	check_others(c);
	vmp_check_module(c);
	vmp_check_perf(c);
	check_names(c);
	check_tsc(c);
	check_dir(c, vmp_capture_dir(), "vmprof start --output FILE elsewhere");
	check_dir(c, vmp_objcache_dir(), "VMPROF_OBJCACHE=DIR elsewhere (binaries of guests, for their symbols)");
}
