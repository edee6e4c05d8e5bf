// SPDX-License-Identifier: GPL-2.0-only
/* test_collect.c - the collector's pure parts: events, QMP, debugfs, XML, rings, clocks, host texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/checks.h"
#include "collect/clock.h"
#include "collect/debugfs.h"
#include "collect/domxml.h"
#include "collect/events.h"
#include "collect/hostinfo.h"
#include "collect/qemupid.h"
#include "collect/qmp.h"
#include "collect/rings.h"
#include "model/elffile.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

static void say_nothing(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* -------------------------------------------------------------- events */

static void test_event_names(void **state)
{
	struct vmp_event e;

	(void)state;
	assert_int_equal(vmp_event_parse("cycles", &e), 0);
	assert_int_equal(e.type, PERF_TYPE_HARDWARE);
	assert_int_equal(e.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(vmp_event_parse("cpu-cycles", &e), 0);
	assert_string_equal(e.name, "cycles");	/* captures have one name of it */
	assert_int_equal(e.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(vmp_event_parse("cache-misses", &e), 0);
	assert_int_equal(e.config, PERF_COUNT_HW_CACHE_MISSES);
	assert_int_equal(vmp_event_parse("r1c2", &e), 0);
	assert_int_equal(e.type, PERF_TYPE_RAW);
	assert_int_equal(e.config, 0x1c2);
	assert_int_equal(vmp_event_parse("rffffffffffffffff", &e), 0);
	assert_int_equal(e.config, UINT64_MAX);
	assert_int_equal(vmp_event_parse("cpu-clock", &e), 0);
	assert_true(e.is_timer);
	assert_int_equal(vmp_event_parse("r", &e), -ENOENT);
	assert_int_equal(vmp_event_parse("rxyz", &e), -ENOENT);
	assert_int_equal(vmp_event_parse("r1ffffffffffffffff", &e), -ENOENT);
	assert_int_equal(vmp_event_parse("", &e), -ENOENT);
	assert_int_equal(vmp_event_parse("no-such-event", &e), -ENOENT);
	assert_true(e.is_timer);	/* untouched by errors */
}

static int period(const char *event, const char *s, uint64_t *n)
{
	struct vmp_event e;

	assert_int_equal(vmp_event_parse(event, &e), 0);
	*n = 42;
	return vmp_period_parse(s, &e, 2400000, n);
}

static void test_periods(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(period("cycles", NULL, &n), 0);
	assert_int_equal(n, 2400000);
	assert_int_equal(period("cycles", "0.5ms", &n), 0);
	assert_int_equal(n, 1200000);
	assert_int_equal(period("cycles", "1000003", &n), 0);
	assert_int_equal(n, 1000003);
	assert_int_equal(period("instructions", NULL, &n), 0);
	assert_int_equal(n, 1000000);
	assert_int_equal(period("cpu-clock", NULL, &n), 0);
	assert_int_equal(n, 1000000);
	/* cycles on a host without counters: the time that they take */
	assert_int_equal(period("cpu-clock", "2400000", &n), 0);
	assert_int_equal(n, 1000000);
}

static void test_periods_refused(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(period("instructions", "1ms", &n), -EINVAL);
	assert_int_equal(period("cycles", "999", &n), -EINVAL);
	assert_int_equal(period("cycles", "100ns", &n), -EINVAL);
	assert_int_equal(period("cycles", "1h", &n), -EINVAL);
	assert_int_equal(period("cycles", "0", &n), -EINVAL);
	assert_int_equal(period("cycles", "-5", &n), -EINVAL);
	assert_int_equal(period("cycles", "soon", &n), -EINVAL);
	assert_int_equal(period("cycles", "18446744073709551615", &n), -EINVAL);
	assert_int_equal(period("cpu-clock", "10us", &n), -EINVAL);
	assert_int_equal(n, 42);
}

static void test_period_texts(void **state)
{
	struct vmp_event e;
	char s[96];

	(void)state;
	vmp_event_parse("cycles", &e);
	assert_string_equal(vmp_period_text(s, &e, 2400000, 2400000),
			    "2400000 cycles, 1 ms at 2400 MHz");
	vmp_event_to_timer(&e);
	assert_string_equal(vmp_period_text(s, &e, 1500000, 2400000), "1.5 ms");
}

/* ----------------------------------------------------------------- QMP */

static int vmprof(const char *text, struct vmp_qmp *q)
{
	return vmp_qmp_vmprof(text, strlen(text), q);
}

static void test_qmp_vmprof(void **state)
{
	struct vmp_qmp q;

	(void)state;
	assert_int_equal(vmprof("{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":123,"
		"\"tsc-offset\":-9223372036854775808,\"tsc-ratio\":4294967296,"
		"\"tsc-frac-bits\":32},{\"index\":1,\"thread-id\":124}],"
		"\"ram\":[{\"id\":\"pc.ram\",\"gpa\":4294967296,\"size\":1024,\"hva\":140001}],"
		"\"agent-port\":{\"name\":\"x\",\"guest-open\":true,\"host-open\":false}},"
		"\"id\":\"libvirt-9\"}", &q), 0);
	assert_int_equal(q.nr_vcpus, 2);
	assert_int_equal(q.vcpus[0].tid, 123);
	assert_true(q.vcpus[0].has_clock);
	assert_true(q.vcpus[0].tsc_offset == INT64_MIN);
	assert_true(q.vcpus[0].tsc_ratio == 1ULL << 32);
	assert_int_equal(q.vcpus[0].frac_bits, 32);
	assert_false(q.vcpus[1].has_clock);
	assert_int_equal(q.nr_ram, 1);
	assert_true(q.ram[0].gpa == 1ULL << 32);
	assert_true(q.has_port);
	assert_true(q.guest_open);
	vmp_qmp_free(&q);
	assert_null(q.vcpus);
}

/* As on a CPU without TSC scaling: an offset alone */
static void test_qmp_unscaled(void **state)
{
	struct vmp_qmp q;

	(void)state;
	assert_int_equal(vmprof("{\"return\":{\"vcpus\":[{\"tsc-offset\":-98780923389,\"index\":0,"
		"\"thread-id\":316}],\"ram\":[]},\"id\":\"libvirt-481\"}", &q), 0);
	assert_true(q.vcpus[0].has_clock);
	assert_true(q.vcpus[0].tsc_offset == -98780923389);
	assert_int_equal(q.vcpus[0].tsc_ratio, 0);
	assert_false(q.has_port);
	vmp_qmp_free(&q);
}

static void test_qmp_refused(void **state)
{
	static const char *const bad[] = {
		"", "{", "[]", "null", "7", "{}", "{\"return\":[]}", "{\"return\":{}}",
		"{\"return\":{\"vcpus\":{}}}", "{\"return\":{\"vcpus\":[]}}",
		"{\"return\":{\"vcpus\":[7]}}", "{\"return\":{\"vcpus\":[{\"index\":0}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":-1,\"thread-id\":1}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":0}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":\"1\"}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":99999999999}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1,\"tsc-offset\":1,\"tsc-ratio\":1}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1,\"tsc-offset\":1,"
			"\"tsc-ratio\":0,\"tsc-frac-bits\":32}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1,\"tsc-offset\":\"1\"}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1,\"tsc-offset\":1,"
			"\"tsc-ratio\":1,\"tsc-frac-bits\":64}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1}],\"ram\":7}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1}],\"ram\":[{\"gpa\":1}]}}",
		"{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":1}],\"agent-port\":1}}",
	};
	struct vmp_qmp q = { .nr_vcpus = 42 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(vmprof(bad[i], &q), -EBADMSG);
	assert_int_equal(vmprof("{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"x\"}}", &q),
			 -ENOSYS);
	assert_int_equal(vmprof("{\"error\":{\"class\":\"GenericError\"}}", &q), -EREMOTEIO);
	assert_int_equal(vmprof("{\"error\":7}", &q), -EREMOTEIO);
	assert_int_equal(q.nr_vcpus, 42);
}

static void test_qmp_bounds(void **state)
{
	size_t len = VMP_QMP_BYTES_MAX + 1;
	char *big = malloc(len);
	struct vmp_qmp q;

	(void)state;
	memset(big, ' ', len);
	assert_int_equal(vmp_qmp_vmprof(big, len, &q), -EBADMSG);
	/* deep nesting ends in an error, not in our stack */
	memset(big, '[', len);
	assert_int_equal(vmp_qmp_vmprof(big, VMP_QMP_BYTES_MAX, &q), -EBADMSG);
	free(big);
}

static void test_qmp_cpus_fast(void **state)
{
	static const char text[] = "{\"return\":[{\"thread-id\":77,\"props\":{},\"cpu-index\":3,"
		"\"qom-path\":\"/machine\",\"target\":\"x86_64\"}]}";
	struct vmp_qmp q;

	(void)state;
	assert_int_equal(vmp_qmp_cpus_fast(text, strlen(text), &q), 0);
	assert_int_equal(q.nr_vcpus, 1);
	assert_int_equal(q.vcpus[0].index, 3);
	assert_int_equal(q.vcpus[0].tid, 77);
	vmp_qmp_free(&q);
	assert_int_equal(vmp_qmp_cpus_fast("{\"return\":{}}", 13, &q), -EBADMSG);
}

/* ------------------------------------------------------------- debugfs */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/vmprof-test.XXXXXX");
	return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, folder);
	mkdir(path, 0700);
	if (!name)
		return;
	snprintf(path, sizeof(path), "%s/%s/%s", dir, folder, name);
	assert_int_equal(vmp_file_write(path, text, strlen(text)), 0);
}

static void test_debugfs(void **state)
{
	struct vmp_debugfs_vcpu v[4];

	(void)state;
	put("12-9", NULL, NULL);
	put("123-14", NULL, NULL);
	put("123-14/vcpu10", "tsc-offset", "-5000\n");
	put("123-14/vcpu2", "tsc-offset", "18\n");
	put("123-14/vcpu2", "tsc-scaling-ratio", "4294967296\n");
	put("123-14/vcpu2", "tsc-scaling-ratio-frac-bits", "32\n");
	put("123-14/vcpu2", "pid", "777\n");
	put("123-14/vcpus", "tsc-offset", "1\n");	/* not one of them */
	assert_int_equal(vmp_debugfs_vcpus(dir, 123, v, 4), 2);
	assert_int_equal(v[0].id, 2);
	assert_int_equal(v[0].tid, 777);
	assert_int_equal(v[0].tsc_offset, 18);
	assert_true(v[0].tsc_ratio == 1ULL << 32);
	assert_int_equal(v[0].frac_bits, 32);
	assert_int_equal(v[1].id, 10);
	assert_int_equal(v[1].tsc_offset, -5000);
	assert_int_equal(v[1].tsc_ratio, 0);
	assert_int_equal(v[1].tid, 0);
	assert_int_equal(vmp_debugfs_vcpus(dir, 123, v, 1), 1);
	assert_int_equal(vmp_debugfs_vcpus(dir, 1234, v, 4), -ENOENT);
	assert_int_equal(vmp_debugfs_vcpus("/nowhere", 123, v, 4), -ENOENT);
	put("123-14/vcpu2", "tsc-offset", "rubbish\n");
	assert_int_equal(vmp_debugfs_vcpus(dir, 123, v, 4), -EBADMSG);
}

/* -------------------------------------------------------------- doctor */

static char *lines;

/* What doctor says of the host that was made up in @dir */
static void look(void)
{
	struct vmp_checks c = { .root = dir };
	size_t len;

	free(lines);
	c.out = open_memstream(&lines, &len);
	vmp_check_host(&c);
	fclose(c.out);
}

static void made_up(const char *path, const char *text)
{
	char full[512], *slash;

	snprintf(full, sizeof(full), "%s%s", dir, path);
	slash = strrchr(full, '/');
	*slash = 0;
	assert_int_equal(vmp_make_dirs(full, 0700), 0);
	*slash = '/';
	assert_int_equal(vmp_file_write(full, text, strlen(text)), 0);
}

static void said(const char *text)
{
	if (!strstr(lines, text))
		fail_msg("'%s' is not in:\n%s", text, lines);
}

static void test_doctor_without_module(void **state)
{
	char want[128];

	(void)state;
	look();
	said("!!  the processor offers no virtualisation");
	said("!!  the module vmprof is not installed for this kernel: install the package vmprof-dkms, or in the source tree: make -C host-driver dkms-install");
	said("--  no usable performance counter: samples come by timer (cpu-clock): if this host is a virtual machine");
	said("ok  no mediated vPMU");
	made_up("/usr/src/vmprof-" VMPROF_VERSION "/dkms.conf", "");
	made_up("/sys/bus/event_source/devices/cpu/type", "4\n");
	made_up("/sys/module/kvm_intel/parameters/enable_mediated_pmu", "Y\n");
	look();
	snprintf(want, sizeof(want), "for this kernel: dkms install vmprof/%s\n", VMPROF_VERSION);
	said(want);
	said("ok  performance counters interrupt by NMI");
	said("!!  KVM's mediated vPMU is on, it keeps the counters: load");
	made_up("/sys/module/kvm_intel/parameters/enable_mediated_pmu", "N\n");
	made_up("/sys/module/kvm_amd/parameters/enable_mediated_pmu", "1\n");
	look();
	said("!!  KVM's mediated vPMU is on");
}

static void test_doctor_perf(void **state)
{
	(void)state;
	made_up("/proc/sys/kernel/nmi_watchdog", "1\n");
	made_up("/proc/sys/kernel/perf_event_max_sample_rate", "1000\n");
	made_up("/proc/sys/kernel/perf_cpu_time_max_percent", "25\n");
	look();
	said("--  the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0");
	said("--  perf allows 1000 samples a second and will throttle: sysctl");
	made_up("/proc/sys/kernel/nmi_watchdog", "0\n");
	made_up("/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	look();
	said("ok  the NMI watchdog holds no counter");
	said("more than 25 % of a CPU (counted as lost): sysctl kernel.perf_cpu_time_max_percent=0");
	made_up("/proc/sys/kernel/perf_cpu_time_max_percent", "0\n");
	look();
	said("ok  perf does not throttle");
}

static void test_doctor_room(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *line;
	} cases[] = {
		{ 1 << 20, "--  only 1.0 MiB are free below /d, a profile may be cut short: make room, or move\n" },
		{ 500 << 20, "--  500.0 MiB are free below /d: enough for hours of one guest" },
		{ 5ULL << 30, "ok  5.0 GiB free below /d\n" },
	};
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmp_checks c = { 0 };

		free(lines);
		c.out = open_memstream(&lines, &len);
		vmp_check_room(&c, "/d", "move", cases[i].bytes);
		fclose(c.out);
		said(cases[i].line);
	}
	/* both places that a session fills are looked at */
	setenv("VMPROF_DIR", "/proc", 1);
	setenv("VMPROF_OBJCACHE", "/proc", 1);
	look();
	unsetenv("VMPROF_DIR");
	unsetenv("VMPROF_OBJCACHE");
	said("below /proc, a profile may be cut short: make room, or vmprof start --output FILE");
	said("below /proc, a profile may be cut short: make room, or VMPROF_OBJCACHE=DIR");
}

/* ----------------------------------------------------------------- XML */

static int xml(const char *text, struct vmp_domxml *x)
{
	return vmp_domxml_parse(text, strlen(text), x);
}

static void test_domxml(void **state)
{
	struct vmp_domxml x;

	(void)state;
	assert_int_equal(xml("<domain type='kvm'><devices>"
		"<channel type='unix'><source mode='bind' path='/run/qga'/>"
		"<target type='virtio' name='org.qemu.guest_agent.0' state='connected'/></channel>"
		"<channel type='unix'><source mode='bind' path='/run/c.sock'/>"
		"<target type='virtio' name='org.vmprof.agent.0' state='disconnected'/></channel>"
		"</devices></domain>", &x), 0);
	assert_true(x.is_kvm);
	assert_true(x.has_channel);
	assert_string_equal(x.channel_path, "/run/c.sock");
	assert_int_equal(x.port, VMP_PORT_CLOSED);
	assert_string_equal(x.secured, "");

	assert_int_equal(xml("<domain type='qemu'><launchSecurity type='sev-snp'/><devices>"
		"<channel type='pty'><source path='/dev/pts/3'/>"
		"<target type='virtio' name='org.vmprof.agent.0'/></channel></devices></domain>",
		&x), 0);
	assert_false(x.is_kvm);
	assert_true(x.has_channel);
	assert_string_equal(x.channel_path, "");
	assert_int_equal(x.port, VMP_PORT_UNKNOWN);
	assert_string_equal(x.secured, "sev-snp");

	assert_int_equal(xml("<domain type='kvm'><devices><channel type='unix'>"
		"<target type='virtio' name='org.vmprof.agent.0' state='connected'/></channel>"
		"</devices></domain>", &x), 0);
	assert_int_equal(x.port, VMP_PORT_OPEN);

	assert_int_equal(xml("<domain type='kvm'/>", &x), 0);
	assert_false(x.has_channel);
	assert_int_equal(xml("<network/>", &x), -EBADMSG);
	assert_int_equal(xml("<domain", &x), -EBADMSG);
	assert_int_equal(xml("", &x), -EBADMSG);
}

static void test_launch_security(void **state)
{
	static const struct {
		const char *xml, *hides;
	} cases[] = {
		{ "<launchSecurity type='sev'><policy>0x0001</policy></launchSecurity>", "" },
		{ "<launchSecurity type='sev'><policy> 0x0005 </policy></launchSecurity>", "sev-es" },
		{ "<launchSecurity type='sev'><policy>7</policy></launchSecurity>", "sev-es" },
		{ "<launchSecurity type='sev'/>", "" },
		{ "<launchSecurity type='sev-snp'><policy>0x00030000</policy></launchSecurity>", "sev-snp" },
		{ "<launchSecurity type='tdx'><policy>0x0</policy></launchSecurity>", "tdx" },
	};
	struct vmp_domxml x;
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "<domain type='kvm'>%s</domain>", cases[i].xml);
		assert_int_equal(xml(text, &x), 0);
		assert_string_equal(x.secured, cases[i].hides);
	}
}

static void test_channel_xml_is_xml(void **state)
{
	struct vmp_domxml x;

	(void)state;
	assert_int_equal(xml("<domain><devices>" VMP_CHANNEL_XML "</devices></domain>", &x), 0);
	assert_true(x.has_channel);
}

static void test_qemu_by_uuid(void **state)
{
	static const char args[] = "/usr/bin/qemu\0-name\0guest=a\0-uuid\0u-1\0-m\0u-2";

	(void)state;
	assert_true(vmp_cmdline_has_uuid(args, sizeof(args) - 1, "u-1"));
	assert_false(vmp_cmdline_has_uuid(args, sizeof(args) - 1, "u-2"));
	assert_false(vmp_cmdline_has_uuid(args, sizeof(args) - 1, "u-"));
	assert_false(vmp_cmdline_has_uuid(args, 33, "u-1"));	/* cut behind -uuid */
	assert_false(vmp_cmdline_has_uuid("", 0, "u-1"));
}

/* --------------------------------------------------------------- rings */

#define RING 4096

static struct {
	struct vmprof_producer producer;
	struct vmprof_consumer consumer;
	uint8_t data[RING];
} mem;
static struct vmp_ring ring;
static uint8_t out[65536];

static void ring_start(uint64_t at)
{
	memset(&mem, 0, sizeof(mem));
	mem.producer.head = mem.consumer.tail = at;
	vmp_ring_init(&ring, &mem.producer, &mem.consumer, mem.data, RING);
}

static void write_record(uint16_t type, uint16_t size, uint8_t fill)
{
	struct vmprof_record r = { .type = type, .size = size, .pcpu = 1 };
	uint64_t pos = mem.producer.head & (RING - 1);

	assert_true(pos + sizeof(r) <= RING);
	memcpy(mem.data + pos, &r, sizeof(r));
	if (size > sizeof(r) && pos + size <= RING)
		memset(mem.data + pos + sizeof(r), fill, size - sizeof(r));
	mem.producer.head += size;
}

static void test_ring_order_and_wrap(void **state)
{
	size_t len;

	(void)state;
	ring_start(RING - 40);
	write_record(1, 24, 'a');
	write_record(VMPROF_REC_PAD, 16, 0);
	write_record(1, 32, 'b');
	assert_int_equal(vmp_ring_waiting(&ring), 72);
	len = vmp_ring_read(&ring, out, sizeof(out));
	assert_int_equal(len, 56);		/* without the pad */
	assert_int_equal(out[8], 'a');
	assert_int_equal(out[24 + 8], 'b');
	assert_true(mem.consumer.tail == mem.producer.head);
	assert_int_equal(vmp_ring_read(&ring, out, sizeof(out)), 0);
	assert_int_equal(ring.resyncs, 0);
}

static void test_ring_full_and_small_room(void **state)
{
	size_t len, sum = 0;
	int reads = 0;

	(void)state;
	ring_start(0);
	while (mem.producer.head < RING)
		write_record(1, 128, 'x');
	/* whole records only, the rest stays */
	while ((len = vmp_ring_read(&ring, out, 300))) {
		assert_int_equal(len % 128, 0);
		assert_true(len <= 300);
		sum += len;
		reads++;
	}
	assert_int_equal(sum, RING);
	assert_int_equal(reads, 16);
}

static void test_ring_hostile(void **state)
{
	static const uint16_t sizes[] = { 0, 4, 7, 12, 4088, 65528 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ring_start(64);
		write_record(1, 16, 'a');
		write_record(1, sizes[i], 'b');	/* says more, or less, than there is */
		mem.producer.head = 64 + 16 + 24;
		assert_int_equal(vmp_ring_read(&ring, out, sizeof(out)), 16);
		assert_int_equal(ring.resyncs, 1);
		assert_true(mem.consumer.tail == mem.producer.head);
		/* and it goes on behind it */
		write_record(1, 16, 'c');
		assert_int_equal(vmp_ring_read(&ring, out, sizeof(out)), 16);
		assert_int_equal(out[8], 'c');
	}
}

static void test_ring_hostile_head(void **state)
{
	static const uint64_t heads[] = { RING + 8, 3, UINT64_MAX - 7, UINT64_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		ring_start(0);
		mem.producer.head = heads[i];
		assert_int_equal(vmp_ring_read(&ring, out, sizeof(out)), 0);
		assert_int_equal(ring.resyncs, 1);
	}
}

/* -------------------------------------------------------------- clocks */

static void test_clock_relation(void **state)
{
	struct vmprof_cap_clock c = { .offset = (uint64_t)-1000 };
	struct vmprof_cap_clock scaled = { .offset = 500, .ratio = 3ULL << 31, .frac_bits = 32 };
	uint64_t host = 1ULL << 60, guest;

	(void)state;
	assert_true(vmp_guest_to_host(&c, 5000) == 6000);
	guest = (uint64_t)(((unsigned __int128)host * scaled.ratio) >> 32) + scaled.offset;
	assert_true(vmp_guest_to_host(&scaled, guest) - host + 1 <= 2);
}

static void test_clock_error(void **state)
{
	struct vmprof_cap_clock a = { .offset = 1, .ratio = 2, .frac_bits = 3 }, b = a;

	(void)state;
	assert_int_equal(vmp_clock_error(&a, NULL, 777), 777);
	assert_in_range(vmp_clock_error(&a, &b, 777), 1, 2);
	b.offset++;
	assert_int_equal(vmp_clock_error(&a, &b, 777), 777);
	b = a;
	b.ratio++;
	assert_int_equal(vmp_clock_error(&a, &b, 777), 777);
	b = a;
	b.frac_bits++;
	assert_int_equal(vmp_clock_error(&a, &b, 777), 777);
}

/* ---------------------------------------------------------- host texts */

static void test_ksyms_filter(void **state)
{
	char text[] = "ffffffff81000000 T _text\nffffffff82000000 D data\n"
		      "ffffffff81000010 t local\t[kvm]\nbroken\nffffffff81000020 \n"
		      "ffffffff81000030 W weak";

	(void)state;
	text[vmp_filter_ksyms(text, strlen(text))] = 0;
	assert_string_equal(text, "ffffffff81000000 T _text\nffffffff81000010 t local\t[kvm]\n"
				  "ffffffff81000030 W weak");
}

static void test_comms_once(void **state)
{
	struct vmp_comms c = { 0 };
	uint32_t i;

	(void)state;
	vmp_comms_see(&c, (uint32_t)getpid(), (uint32_t)getpid());
	vmp_comms_see(&c, (uint32_t)getpid(), (uint32_t)getpid());
	c.text[c.len] = 0;
	assert_ptr_equal(strchr(c.text, '\n'), c.text + c.len - 1);	/* one line */
	assert_non_null(strstr(c.text, "test_collect"));
	/* tasks that are gone are remembered too, without a line */
	for (i = 1; i < 3000; i++)
		vmp_comms_see(&c, 0x40000000 + i, 0x40000000 + i);
	assert_ptr_equal(strchr(c.text, '\n'), c.text + c.len - 1);
	assert_int_equal(c.used, 3000);
	vmp_comms_free(&c);
}

/* It takes CAP_SYS_ADMIN, or CAP_CHECKPOINT_RESTORE */
static int may_open_mapped(const char *maps)
{
	unsigned long start, end;
	char path[96];
	int fd;

	assert_int_equal(sscanf(maps, "%lx-%lx", &start, &end), 2);
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", start, end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The build-ids of what a process runs, by the very files: its own program's is among them, under the path that its maps have */
static void test_host_build_ids(void **state)
{
	char *maps, *ids, *code, line[PATH_MAX + 80], hex[2 * VMP_BUILD_ID_BYTES + 1];
	char exe[PATH_MAX] = "";
	struct vmp_elffile f;
	size_t len, ids_len;

	(void)state;
	assert_int_equal(vmp_read_maps((uint32_t)getpid(), &maps, &len), 0);
	if (!may_open_mapped(maps)) {
		free(maps);
		skip();
	}
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(vmp_elffile_open(&f, exe), 0);
	assert_true(f.build_id_len > 0);
	vmp_text_hex(hex, f.build_id, f.build_id_len);
	vmp_elffile_close(&f);
	assert_int_equal(vmp_host_build_ids((uint32_t)getpid(), maps, len, &ids, &ids_len), 0);
	assert_int_equal(strlen(ids), ids_len);
	snprintf(line, sizeof(line), "%s %s\n", hex, exe);
	assert_non_null(strstr(ids, line));
	/* once, however many mappings it has; no line of what is no code or no file */
	assert_null(strstr(strstr(ids, line) + strlen(line), exe));
	assert_non_null(strstr(ids, "/libc.so"));
	assert_null(strstr(ids, "[vdso]"));
	free(ids);
	/* maps have zeros in front of short addresses */
	code = strstr(maps, " r-xp");
	assert_non_null(code);
	while (code > maps && code[-1] != '\n')
		code--;
	snprintf(line, sizeof(line), "0000%.*s\n", (int)strcspn(code, "\n"), code);
	assert_int_equal(vmp_host_build_ids((uint32_t)getpid(), line, strlen(line), &ids, &ids_len), 0);
	assert_non_null(strstr(ids, " /"));
	free(ids);
	/* a process that is gone has none */
	assert_int_equal(vmp_host_build_ids(0x7fffffff, maps, len, &ids, &ids_len), 0);
	assert_int_equal(ids_len, 0);
	free(ids);
	free(maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_names),
		cmocka_unit_test(test_host_build_ids),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_periods_refused),
		cmocka_unit_test(test_period_texts),
		cmocka_unit_test(test_qmp_vmprof),
		cmocka_unit_test(test_qmp_unscaled),
		cmocka_unit_test(test_qmp_refused),
		cmocka_unit_test(test_qmp_bounds),
		cmocka_unit_test(test_qmp_cpus_fast),
		cmocka_unit_test_setup_teardown(test_debugfs, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_doctor_without_module, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_doctor_perf, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_doctor_room, make_dir, remove_dir),
		cmocka_unit_test(test_domxml),
		cmocka_unit_test(test_launch_security),
		cmocka_unit_test(test_channel_xml_is_xml),
		cmocka_unit_test(test_qemu_by_uuid),
		cmocka_unit_test(test_ring_order_and_wrap),
		cmocka_unit_test(test_ring_full_and_small_room),
		cmocka_unit_test(test_ring_hostile),
		cmocka_unit_test(test_ring_hostile_head),
		cmocka_unit_test(test_clock_relation),
		cmocka_unit_test(test_clock_error),
		cmocka_unit_test(test_ksyms_filter),
		cmocka_unit_test(test_comms_once),
	};

	vmp_log_set(say_nothing, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
