// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_refusals.c - hosts and guests that cannot be profiled, or not by counters: what doctor and
 * start say of each. The host's files are made up, and so are the answers of libvirt, the module
 * and perf_event_open().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/session.h"
#include "gen.h"
#include "util/file.h"
#include "util/log.h"

#define UUID	"5c2d7d4e-1111-4222-8333-944455556666"

static char *dir, *lines, said[8192];

/* ----------------------------------------------------------- made-up answers */

static struct vmprof_query answer;	/* of the module, where /dev/vmprof is made up */
static int start_errno;			/* VMPROF_IOC_START's */

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == VMPROF_IOC_QUERY) {
		*(struct vmprof_query *)arg = answer;
		return 0;
	}
	if (request == VMPROF_IOC_START) {
		errno = start_errno;
		return -1;
	}
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static struct {
	int err;		/* of all; 0: */
	int cpu, left;		/* this CPU has only so many counters left */
} perf;

/* A counter reads as /dev/zero, a pinned event without one as /dev/null */
static int fake_perf(struct perf_event_attr *attr, int cpu)
{
	static int used[8];

	assert_true(attr->pinned && cpu < 8);
	/* the guest's event is the first of the two on a CPU */
	used[cpu] = attr->exclude_host ? 1 : used[cpu] + 1;
	errno = perf.err;
	if (perf.err)
		return -1;
	return open(cpu == perf.cpu && used[cpu] > perf.left ? "/dev/null" : "/dev/zero", O_RDONLY);
}

static const char *hypervisor, *domain_xml;

virConnectPtr virConnectOpen(const char *name)
{
	(void)name;
	return (virConnectPtr)&hypervisor;
}

const char *virConnectGetType(virConnectPtr conn)
{
	(void)conn;
	return hypervisor;
}

int virConnectClose(virConnectPtr conn)
{
	(void)conn;
	return 0;
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
	(void)conn;
	(void)name;
	return domain_xml ? (virDomainPtr)&domain_xml : NULL;
}

const char *virDomainGetName(virDomainPtr dom)
{
	(void)dom;
	return "web01";
}

int virDomainIsActive(virDomainPtr dom)
{
	(void)dom;
	return 1;
}

int virDomainGetUUIDString(virDomainPtr dom, char *uuid)
{
	(void)dom;
	strcpy(uuid, UUID);
	return 0;
}

char *virDomainGetXMLDesc(virDomainPtr dom, unsigned int flags)
{
	(void)dom;
	(void)flags;
	return strdup(domain_xml);
}

int virConnectListAllDomains(virConnectPtr conn, virDomainPtr **list, unsigned int flags)
{
	(void)conn;
	(void)flags;
	*list = calloc(1, sizeof(**list));
	**list = (virDomainPtr)&domain_xml;
	return 1;
}

int virDomainQemuMonitorCommand(virDomainPtr dom, const char *command, char **reply, unsigned int flags)
{
	(void)dom;
	(void)command;
	(void)reply;
	(void)flags;
	return -1;
}

int virDomainFree(virDomainPtr dom)
{
	(void)dom;
	return 0;
}

/* ------------------------------------------------------------------- helpers */

static void hear(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	said[0] = 0;
	perf.err = 0;
	perf.cpu = -1;
	answer = (struct vmprof_query){ .version = VMPROF_UAPI_VERSION, .compat = VMPROF_UAPI_COMPAT,
					.features = VMPROF_FEAT_PMU | VMPROF_FEAT_TIMER | VMPROF_FEAT_STEAL,
					.vendor = VMPROF_VENDOR_SVM };
	hypervisor = "QEMU";
	domain_xml = NULL;
	vmp_log_set(hear, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_log_set(NULL, NULL);
	free(lines);
	lines = NULL;
	gen_rmdir(dir);
	return 0;
}

/* A file of the host, with one line */
static void made_up(const char *path, const char *text)
{
	gen_sh(dir, "mkdir -p \"$(dirname .%s)\" && printf '%%s\\n' '%s' > .%s", path, text, path);
}

/* What doctor says of the host; how many things are in the way */
static int look(int busy)
{
	struct vmp_checks c = { .root = dir, .perf_event_open = fake_perf, .busy = busy };
	size_t len;

	free(lines);
	c.out = open_memstream(&lines, &len);
	vmp_check_host(&c);
	fclose(c.out);
	return c.faults;
}

/* A host that has all it takes */
static void made_up_good(void)
{
	made_up("/proc/cpuinfo", "flags\t\t: fpu svm lm");
	made_up("/sys/module/kvm_amd/refcnt", "0");
	made_up("/dev/kvm", "");
	made_up("/dev/vmprof", "");
	made_up("/sys/devices/system/cpu/online", "0-1,4");
	made_up("/sys/kernel/security/lockdown", "[none] integrity confidentiality");
}

/* ------------------------------------------------------------- the host's VMs */

static void test_good(void **state)
{
	(void)state;
	made_up_good();
	assert_int_equal(look(0), 0);
	gen_says(lines, "ok  KVM by kvm_amd\n");
	gen_says(lines, "ok  module vmprof, interface ");
	gen_says(lines, "ok  no mediated vPMU\n");
	gen_says(lines, "ok  two counters are free on each CPU\n");
	gen_says_not(lines, "locked down");
	gen_says_not(lines, "cannot read what guests do");
}

static void test_hypervisors(void **state)
{
	(void)state;
	made_up("/proc/cpuinfo", "flags\t\t: fpu svm_lock lm");
	look(0);
	gen_says(lines, "!!  the processor offers no virtualisation, neither svm nor vmx is in /proc/cpuinfo: switch it on in the firmware");
	made_up("/proc/cpuinfo", "flags\t\t: fpu lm hypervisor");
	made_up("/sys/class/dmi/id/sys_vendor", "VMware, Inc.");
	look(0);
	gen_says(lines, "!!  this host is a virtual machine (VMware, Inc.) without virtualisation of its own, neither svm nor vmx is in /proc/cpuinfo: switch nested");
	made_up("/proc/cpuinfo", "flags\t\t: fpu lm hypervisor vmx");
	look(0);
	gen_says(lines, "!!  kvm_intel is not loaded: modprobe kvm_intel\n");
	made_up("/proc/cpuinfo", "flags\t\t: fpu svm");
	look(0);
	gen_says(lines, "!!  kvm_amd is not loaded: modprobe kvm_amd\n");
	/* a domain of Xen's, and its host, which has no KVM whatever is loaded */
	made_up_good();
	made_up("/proc/xen/capabilities", "");
	assert_int_equal(look(0), 0);
	made_up("/proc/xen/capabilities", "control_d");
	assert_int_equal(look(0), 1);
	gen_says(lines, "!!  this host runs Xen, and Xen's guests cannot be profiled: boot its kernel without Xen");
	gen_sh(dir, "rm -r proc/xen");
	/* ... where xenfs is not mounted */
	made_up("/sys/hypervisor/type", "xen");
	assert_int_equal(look(0), 0);
	made_up("/sys/hypervisor/properties/features", "00002705");
	assert_int_equal(look(0), 0);
	made_up("/sys/hypervisor/properties/features", "00002f05");
	assert_int_equal(look(0), 1);
	gen_says(lines, "!!  this host runs Xen, and Xen's guests cannot be profiled: boot its kernel without Xen");
	made_up("/sys/hypervisor/type", "another");
	assert_int_equal(look(0), 0);
	gen_sh(dir, "rm -r sys/hypervisor");
	made_up("/sys/module/vmmon/refcnt", "0");
	assert_int_equal(look(0), 0);
	gen_says(lines, "--  guests of VMware (its module vmmon is loaded) cannot be profiled, KVM's can: run them under KVM, or else modprobe -r vmmon\n");
}

static void test_other_libvirts(void **state)
{
	static const char *const other[] = { "Xen", "ESX", "VMware", "TEST" };
	struct vmp_domain d;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		said[0] = 0;
		hypervisor = other[i];
		assert_null(vmp_libvirt_open("other:///system"));
		gen_says(said, "other:///system is a hypervisor of type ");
		gen_says(said, other[i]);
		gen_says(said, "--connect qemu:///system");
	}
	hypervisor = "QEMU";
	assert_non_null(vmp_libvirt_open(NULL));
	domain_xml = "<domain type='qemu'/>";
	assert_int_equal(vmp_domain_find(NULL, "web01", &d), -EOPNOTSUPP);
	gen_says(said, "domain 'web01' does not run under KVM; only guests of type='kvm'");
}

/* ---------------------------------------------------------- encrypted guests */

/* The module cannot be loaded. Return: false where it is there already, and would be opened */
static int without_module(const char *why)
{
	char path[4096];

	gen_sh(dir, "printf '#!/bin/sh\\necho \"modprobe: ERROR: could not insert vmprof: %s\" >&2\\nexit 1\\n' > modprobe && chmod 755 modprobe",
	       why);
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	return access(VMPROF_DEVICE, F_OK);
}

static void with_module(void)
{
	setenv("PATH", strchr(getenv("PATH"), ':') + 1, 1);
}

/* A process that could be web01's QEMU; it ends when @hold is closed */
static pid_t start_qemu(int *hold)
{
	int fd[2];
	pid_t pid;

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(fd[0], 0);
		execl("/bin/sh", "sh", "-c", "read end", "sh", "-uuid", UUID, NULL);
		_exit(1);
	}
	close(fd[0]);
	*hold = fd[1];
	while (gen_run("/", "tr '\\0' ' ' < /proc/%d/cmdline | grep -q uuid", pid))
		usleep(10000);
	return pid;
}

static void test_encrypted(void **state)
{
	static const struct {
		const char *xml, *type;
	} guests[] = {
		{ "<launchSecurity type='sev'><policy>0x7</policy></launchSecurity>", "(sev-es)" },
		{ "<launchSecurity type='sev-snp'><policy>0x30000</policy></launchSecurity>", "(sev-snp)" },
		{ "<launchSecurity type='tdx'/>", "(tdx)" },
	};
	static struct vmp_session session;
	static struct vmp_session_opts opts = { .domains = { .nr = 1, .item = { "web01" } } }, everybody = { .all = 1 };
	struct vmp_checks c = { 0 };
	struct vmp_domain d;
	char xml[256];
	size_t i, len;
	pid_t qemu;
	int hold;

	(void)state;
	setenv("VMPROF_DIR", dir, 1);
	qemu = start_qemu(&hold);
	for (i = 0; i < sizeof(guests) / sizeof(guests[0]); i++) {
		memset(&session, 0, sizeof(session));
		session.opts = &opts;
		said[0] = 0;
		vmp_log_set(hear, NULL);	/* doctor's below takes it away */
		snprintf(xml, sizeof(xml), "<domain type='kvm'>%s</domain>", guests[i].xml);
		domain_xml = xml;
		assert_int_equal(vmp_session_setup(&session), -EOPNOTSUPP);
		assert_int_equal(session.nr_vms, 0);
		free(session.scratch);
		gen_says(said, "web01: an encrypted guest ");
		gen_says(said, guests[i].type);
		gen_says(said, "hides its registers, what it does cannot be profiled\n  without <launchSecurity> it can: virsh edit web01");
		assert_int_equal(vmp_domain_find(NULL, "web01", &d), 0);
		free(lines);
		c = (struct vmp_checks){ .out = open_memstream(&lines, &len) };
		domain_xml = NULL;	/* nothing answers behind it */
		vmp_check_domain(&c, NULL, &d);
		fclose(c.out);
		assert_int_equal(c.faults, 1);
		gen_says(lines, "!!  web01: an encrypted guest ");
		gen_says(lines, guests[i].type);
		gen_says(lines, "can be profiled only without <launchSecurity>: virsh edit web01\n");
	}
	/*
	 * With all others it is taken, and so it is said. That no session begins after it is the module's doing:
	 * it is not there, is not ours to open, or has another interface.
	 */
	memset(&session, 0, sizeof(session));
	session.opts = &everybody;
	said[0] = 0;
	vmp_log_set(hear, NULL);
	domain_xml = "<domain type='kvm'><launchSecurity type='tdx'/><devices><channel type='unix'><source path='/nowhere'/>"
		     "<target type='virtio' name='org.vmprof.agent.0'/></channel></devices></domain>";
	without_module("No such file");
	answer.compat = VMPROF_UAPI_VERSION + 1;
	assert_true(vmp_session_setup(&session) < 0);
	assert_int_equal(session.nr_vms, 1);
	gen_says(said, "web01: an encrypted guest (tdx): its registers cannot be read, its samples will be lost and counted (guest_state)");
	vmp_monitor_stop(&session.monitor);
	vmp_vm_free(session.vms[0]);
	free(session.scratch);
	with_module();
	close(hold);
	assert_int_equal(waitpid(qemu, NULL, 0), qemu);
	unsetenv("VMPROF_DIR");
}

/* ------------------------------------------------------ the kernel, the module */

/* What start says where the module answers @err */
static void start_says(int err, const char *want)
{
	struct vmp_driver d = { .fd = 1000, .query = answer };

	said[0] = 0;
	start_errno = err;
	assert_int_equal(vmp_driver_start(&d), -err);
	gen_says(said, want);
}

/* A module from before an option, and the first that has it */
static void test_older_module(void **state)
{
	struct vmp_driver d = { .fd = 1000, .query = { .version = 5 } };

	(void)state;
	said[0] = 0;
	assert_int_equal(vmp_driver_knows(&d, "--random", 6), -EPROTO);
	gen_says(said, "--random: the loaded module vmprof is too old for it\n  install the module of this version, then: modprobe -r vmprof && modprobe vmprof");
	d.query.version = 6;
	said[0] = 0;
	assert_int_equal(vmp_driver_knows(&d, "--random", 6), 0);
	assert_string_equal(said, "");
}

static void test_mediated(void **state)
{
	(void)state;
	made_up_good();
	answer.features |= VMPROF_FEAT_MEDIATED;
	assert_int_equal(look(0), 1);
	gen_says(lines, "!!  KVM's mediated vPMU is on, it keeps the counters: load KVM's module with enable_mediated_pmu=0, or vmprof start --event cpu-clock\n");
	start_says(EOPNOTSUPP, "KVM's mediated vPMU keeps the counters for its guests\n  load kvm_intel or kvm_amd with enable_mediated_pmu=0, or use --event cpu-clock");
	/* where there is no module to ask */
	gen_sh(dir, "rm dev/vmprof");
	made_up("/sys/module/kvm_amd/parameters/enable_mediated_pmu", "Y");
	look(0);
	gen_says(lines, "!!  KVM's mediated vPMU is on");
	made_up("/sys/module/kvm_amd/parameters/enable_mediated_pmu", "N");
	look(0);
	gen_says(lines, "ok  no mediated vPMU");
}

static void test_symbols(void **state)
{
	static const struct {
		uint32_t lack;
		const char *text;
	} cases[] = {
		{ VMPROF_GUEST_LACK_KVM, "cannot read what guests do: neither kvm_amd nor kvm_intel is loaded: modprobe" },
		{ VMPROF_GUEST_LACK_SYMBOL, "cannot read what guests do: this kernel does not tell which vCPU runs: boot one in which kprobes find kvm_get_running_vcpu: grep" },
		{ VMPROF_GUEST_LACK_LAYOUT, "cannot read what guests do: KVM keeps its state otherwise than in the kernel that it was built for: dkms install --force" },
		{ VMPROF_GUEST_LACK_LAYOUT + 1, "cannot read what guests do: the kernel's log has the reason: dmesg" },
	};
	size_t i;

	(void)state;
	made_up_good();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer.guest_lack = cases[i].lack;
		assert_int_equal(look(0), 1);
		gen_says(lines, "!!  the module vmprof ");
		gen_says(lines, cases[i].text);
		start_says(ENODEV, cases[i].text);
	}
	/* a module that cannot tell, and one that lacks nothing and still refuses */
	answer.guest_lack = VMPROF_GUEST_LACK_NONE;
	start_says(ENODEV, "cannot read what guests do; the kernel's log has the reason");
	answer.vendor = VMPROF_VENDOR_NONE;
	assert_int_equal(look(0), 1);
	gen_says(lines, cases[0].text);
	/* what is only poorer without */
	answer.vendor = VMPROF_VENDOR_SVM;
	answer.features &= ~VMPROF_FEAT_STEAL;
	assert_int_equal(look(0), 0);
	gen_says(lines, "--  this kernel does not let steal be seen, [steal] will be empty: a kernel with CONFIG_TRACEPOINTS=y does");
}

static void test_lockdown(void **state)
{
	struct vmp_driver d;

	(void)state;
	made_up_good();
	made_up("/sys/kernel/security/lockdown", "none integrity [confidentiality]");
	assert_int_equal(look(0), 0);
	gen_says(lines, "ok  the kernel is locked down (confidentiality), and has taken the module\n");
	gen_sh(dir, "rm dev/vmprof");
	made_up("/sys/kernel/security/lockdown", "none [integrity] confidentiality");
	look(0);
	gen_says(lines, "--  the kernel is locked down (integrity), it loads signed modules only; where modprobe says 'Key was rejected'");
	gen_says(lines, "enrol the key that signed vmprof (\"Secure Boot\" in share/doc/vmprof/packages.md): mokutil --import /var/lib/dkms/mok.pub\n");
	made_up("/sys/kernel/security/lockdown", "[none] integrity confidentiality");
	made_up("/sys/module/module/parameters/sig_enforce", "Y");
	look(0);
	gen_says(lines, "--  the kernel is locked down (module.sig_enforce), it loads signed modules only");
	made_up("/sys/module/module/parameters/sig_enforce", "N");
	look(0);
	gen_says_not(lines, "locked down");
	/* what start makes of modprobe's words */
	if (without_module("Key was rejected by service"))
		assert_int_equal(vmp_driver_open(&d), -ENOENT);
	else
		skip();
	with_module();
	gen_says(said, "vmprof cannot be loaded: modprobe: ERROR: could not insert vmprof: Key was rejected by service\n");
	gen_says(said, "the kernel loads signed modules only (Secure Boot, lockdown): enrol the key that signed it");
}

/* -------------------------------------------------------------------- perf */

static void test_paranoid(void **state)
{
	(void)state;
	made_up_good();
	made_up("/proc/sys/kernel/perf_event_paranoid", "4");
	assert_int_equal(look(0), 0);
	gen_says(lines, "ok  kernel.perf_event_paranoid=4 is no hindrance, the module counts in the kernel\n");
	/* something else forbids it: nothing is known, and nothing is in the way */
	perf.err = EACCES;
	assert_int_equal(look(0), 0);
	gen_says(lines, "--  perf refuses even root's counters (Permission denied), so others may hold them unseen: run vmprof outside of containers");
	gen_says_not(lines, "counters are free");
	perf.err = ENOENT;	/* no PMU: the module tells of that */
	look(0);
	gen_says_not(lines, "refuses even root's");
	gen_says_not(lines, "counters are free");
}

static void test_taken(void **state)
{
	(void)state;
	made_up_good();
	perf.cpu = 4;
	perf.left = 1;
	assert_int_equal(look(0), 1);
	gen_says(lines, "!!  CPU 4 has not two counters free, others hold them: sysctl kernel.nmi_watchdog=0, and end what uses perf (pgrep -a perf); or vmprof start --event cpu-clock\n");
	perf.left = 2;
	assert_int_equal(look(0), 0);
	gen_says(lines, "ok  two counters are free on each CPU\n");
	perf.cpu = 1;
	perf.left = 0;
	assert_int_equal(look(0), 1);
	gen_says(lines, "!!  CPU 1 has not two counters free");
	/* one that is off is not asked; our own session has them itself */
	perf.cpu = 3;
	assert_int_equal(look(0), 0);
	perf.cpu = 0;
	assert_int_equal(look(0), 1);
	assert_int_equal(look(1), 0);
	gen_says_not(lines, "counters are free");
	start_says(EBUSY, "sampling cannot begin: another session runs, or all counters are taken\n  the NMI watchdog holds one: sysctl kernel.nmi_watchdog=0; perf may hold others");
	gen_says_not(said, "mediated");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hypervisors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_libvirts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_encrypted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mediated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lockdown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paranoid, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
