// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_driver.c - rings of a host whose CPU numbers have holes: a file in memory for the device's
 * mappings, an ioctl() that answers as the module does.  And when the module is told where a guest
 * keeps its tasks, and when not any more.  And whether instructions are sampled for the sake of branches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/early.h"
#include "collect/session.h"
#include "util/log.h"

/* report/render.h, which does not go together with collect's headers */
const char *vmp_tasks_off_text(const char *state);

#define CPUS	4
#define PAGE	4096U

static const int possible[CPUS] = { 1, 0, 0, 1 };
static int device = -1;
static struct vmprof_tasks given;	/* by the last VMPROF_IOC_TASKS */
static int times_given, refuse;

/* Sessions that begin only to see whether they can */
static struct {
	int fd, opened, started;
	int with, without;	/* errno of START, with samples of instructions and without */
	struct vmprof_config config;
} tried = { .fd = -1 };

int open(const char *name, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	if (strcmp(name, VMPROF_DEVICE))
		return (int)syscall(SYS_openat, AT_FDCWD, name, flags, mode);
	tried.opened++;
	tried.fd = memfd_create("tried", MFD_CLOEXEC);
	return tried.fd;
}

static int try_it(unsigned long request, const void *arg)
{
	if (request == VMPROF_IOC_CONFIG)
		tried.config = *(const struct vmprof_config *)arg;
	if (request != VMPROF_IOC_START)
		return 0;
	tried.started++;
	errno = tried.config.instruction_period ? tried.with : tried.without;
	return errno ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd == tried.fd)
		return try_it(request, arg);
	if (fd != device)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	if (request == VMPROF_IOC_STATS && !possible[((struct vmprof_cpu_stats *)arg)->cpu]) {
		errno = EINVAL;
		return -1;
	}
	if (request == VMPROF_IOC_TASKS) {
		given = *(struct vmprof_tasks *)arg;
		times_given++;
		errno = refuse;
		return refuse ? -1 : 0;
	}
	return 0;
}

/* The @nth record in the ring of @cpu, as the module would leave it there */
static void put_record(uint32_t cpu, uint32_t nth)
{
	const struct vmprof_sample sample = { .hdr = { VMPROF_REC_SAMPLE, sizeof(sample), cpu }, .tsc = 7 };
	const struct vmprof_producer producer = {
		.ring_id = VMPROF_RING_ID, .cpu = cpu, .head = (nth + 1) * sizeof(sample) };

	assert_int_equal(pwrite(device, &sample, sizeof(sample),
				(off_t)(VMPROF_MMAP_DATA(cpu) + nth * sizeof(sample))), sizeof(sample));
	assert_int_equal(pwrite(device, &producer, sizeof(producer), (off_t)VMPROF_MMAP_PRODUCER(cpu)),
			 sizeof(producer));
}

/* A session before its module is configured: records may be put where its rings will be */
static void begin(struct vmp_session *s)
{
	device = memfd_create("vmprof", MFD_CLOEXEC);
	assert_true(device >= 0);
	assert_int_equal(ftruncate(device, (off_t)VMPROF_MMAP_CONSUMER(CPUS)), 0);
	s->driver.fd = device;
	s->driver.query.nr_cpus = CPUS;
	s->driver.query.page_size = PAGE;
	s->scratch = malloc(VMP_SCRATCH_BYTES);
}

static void configure(struct vmp_session *s)
{
	struct vmprof_config config = { .ring_bytes = PAGE };

	assert_int_equal(vmp_driver_config(&s->driver, &config, NULL, 0), 0);
}

static void end(struct vmp_session *s)
{
	vmp_driver_close(&s->driver);
	free(s->scratch);
}

/* While the capture is written another sample comes, so often */
static uint32_t still_to_come, came;

ssize_t pwritev(int fd, const struct iovec *v, int nr, off_t offset)
{
	if (still_to_come) {
		still_to_come--;
		put_record(0, ++came);
	}
	return syscall(SYS_pwritev, fd, v, nr, (unsigned long)offset, 0UL);
}

static void test_holes(void **state)
{
	static struct vmp_session s;
	uint64_t lost[VMPROF_LOST_NR];
	uint32_t cpu;

	(void)state;
	begin(&s);
	put_record(0, 0);
	put_record(3, 0);
	configure(&s);
	for (cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(!!s.driver.rings[cpu].data, possible[cpu]);
	/* there is no file to write to: what was read counts as lost, and nothing else */
	vmp_store_rings(&s);
	assert_int_equal(s.lost_at_store, 2);
	vmp_session_losses(&s, lost);
	assert_int_equal(lost[VMPROF_LOST_FULL], 0);
	end(&s);
}

/* The collector is sampled as well: a ring that it fills by storing it is left at some time */
static void test_ring_that_storing_fills(void **state)
{
	static struct vmp_session s;
	struct vmprof_cap_header proto = { .tsc_khz = 1000000 };
	char path[] = "/tmp/vmprof-driver-XXXXXX";

	(void)state;
	close(mkstemp(path));
	begin(&s);
	put_record(0, 0);
	put_record(3, 0);
	configure(&s);
	assert_int_equal(vmp_writer_create(&s.writer, path, &proto), 0);
	still_to_come = 20;
	vmp_store_rings(&s);
	assert_int_equal(s.samples, 2);
	/* nothing is left behind by that */
	still_to_come = 0;
	vmp_store_rings(&s);
	assert_int_equal(s.samples, 2 + came);
	assert_int_equal(s.lost_at_store, 0);
	vmp_writer_discard(s.writer);
	end(&s);
	unlink(path);
}

/* @nth record in the first ring, of a pCPU's many */
static void put_clock(uint32_t nth, uint32_t vm, uint32_t vcpu, uint64_t tsc, int64_t offset)
{
	const struct vmprof_rec_clock clock = {
		.hdr = { VMPROF_REC_CLOCK, sizeof(clock), 0 }, .tsc = tsc, .vm = vm, .vcpu = vcpu, .tsc_offset = offset,
	};
	const struct vmprof_producer producer = { .ring_id = VMPROF_RING_ID, .head = (nth + 1) * sizeof(clock) };

	assert_int_equal(pwrite(device, &clock, sizeof(clock), (off_t)(VMPROF_MMAP_DATA(0) + nth * sizeof(clock))),
			 sizeof(clock));
	assert_int_equal(pwrite(device, &producer, sizeof(producer), (off_t)VMPROF_MMAP_PRODUCER(0)), sizeof(producer));
}

static void keep(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	(void)arg;
	(void)wire;
	(void)payload;
	(void)len;
}

static void changed(void *arg)
{
	(void)arg;
}

/* A guest whose clock falls back was put back to a snapshot: its agent is greeted anew, and only then. QEMU is asked for any that moved. */
static void test_clock_goes_back(void **state)
{
	static const struct vmp_agent_ops ops = { .keep = keep, .changed = changed };
	static const struct {
		uint32_t vm, vcpu;
		uint64_t tsc;
		int64_t offset;
		int greets, news;
	} seen[] = {
		{ 7, 0, 1000, INT64_MAX, 0, 0 }, { 8, 0, 1000, 5, 0, 0 },	/* nobody's */
		{ 7, 0, 3000, INT64_MAX - 900, 0, 1 },			/* set by a little */
		{ 7, 1, 3100, -5, 0, 0 },				/* the first vCPU's is looked at */
		{ 7, 0, 3200, INT64_MAX - 9000, 1, 1 },
		{ 7, 0, 3300, INT64_MAX - 9000, 0, 0 },
		{ 7, 0, 3100, INT64_MAX, 0, 0 },			/* of another pCPU's ring, read late */
		{ 7, 0, 3400, INT64_MAX - 9000, 0, 0 },
		{ 7, 0, 3500, INT64_MAX, 0, 1 },			/* forth is no way back */
		{ 7, 0, 3600, 0, 1, 1 },
	};
	static struct vmp_session s;
	static struct vmp_vm vm;
	uint32_t i;
	int pair[2];

	(void)state;
	begin(&s);
	s.tsc_khz = 1000;
	s.vms[0] = &vm;
	s.nr_vms = 1;
	vm.dom.pid = 7;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	vmp_agent_init(&vm.agent, 1, &ops, NULL);
	vmp_agent_adopt(&vm.agent, pair[0], 1);
	put_record(3, 0);
	put_clock(0, 9, 0, 1, 0);
	configure(&s);
	for (i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
		vm.agent.state = VMP_AGENT_RUNNING;
		s.news = 0;
		put_clock(i + 1, seen[i].vm, seen[i].vcpu, seen[i].tsc, seen[i].offset);
		vmp_store_rings(&s);
		assert_int_equal(vm.agent.state, seen[i].greets ? VMP_AGENT_GREETED : VMP_AGENT_RUNNING);
		assert_int_equal(s.news, seen[i].news);
	}
	vmp_agent_close(&vm.agent);
	close(pair[1]);
	end(&s);
}

static void test_no_ring_is_empty(void **state)
{
	struct vmp_ring none = { 0 };
	uint8_t buf[8];

	(void)state;
	assert_int_equal(vmp_ring_read(&none, buf, sizeof(buf)), 0);
	assert_int_equal(none.resyncs, 0);
}

/* What a guest with one CPU tells */
static void take_tasks(struct vmp_tasks *tasks)
{
	struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu; } wire = {
		.t = { .linear_base = 1ULL << 63, .linear_bytes = 4096, .nr_cpus = 1 },
		.cpu = { .apic_id = 0, .current_gpa = 64 },
	};
	struct vmp_agent_msg m;

	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &wire, sizeof(wire), &m), 0);
	vmp_tasks_take(tasks, &m.tasks);
}

/* The driver is not asked to look, and people are told why */
static void assert_untold(struct vmp_session *s, struct vmp_vm *vm, enum vmp_tasks_state want, const char *text)
{
	int before = times_given;

	vmp_session_tasks(s, vm);
	assert_int_equal(vm->tasks.state, want);
	assert_int_equal(times_given, before);
	assert_non_null(strstr(vmp_tasks_off_text(vmp_tasks_state_name(want)), text));
}

static void test_tasks(void **state)
{
	static struct vmp_session session;
	struct vmp_qmp_ram ram = { 0, 1 << 20, 0x7f0000000000 };
	struct vmp_vm vm = { .session = &session, .dom = { .pid = 77 }, .ram = &ram, .nr_ram = 1 };

	(void)state;
	device = session.driver.fd = 1000;
	session.driver.query.version = VMPROF_UAPI_VERSION;
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_UNTOLD);
	assert_int_equal(times_given, 0);
	take_tasks(&vm.tasks);
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_ON);
	assert_int_equal(times_given, 1);
	assert_int_equal(given.vm, 77);
	assert_int_equal(given.nr_vcpus, 1);
	/* its memory is elsewhere now; the conversation is over */
	ram.hva += 4096;
	vmp_session_tasks(&session, &vm);
	assert_int_equal(times_given, 2);
	vmp_tasks_forget(&vm.tasks);
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_UNTOLD);
	assert_int_equal(times_given, 3);
	assert_int_equal(given.nr_vcpus, 0);
	assert_int_equal(given.vm, 77);
	/* a module that knows no such call is not called; one that refuses has its way */
	session.driver.query.version = 3;
	take_tasks(&vm.tasks);
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_DRIVER);
	assert_int_equal(times_given, 3);
	session.driver.query.version = VMPROF_UAPI_VERSION;
	refuse = EINVAL;
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_REFUSED);
	refuse = 0;
	/* why nothing was told, where that is known */
	vmp_tasks_forget(&vm.tasks);
	vm.agent.state = VMP_AGENT_STARTED;
	vm.agent.version = VMP_TASKS_VERSION - 1;
	assert_untold(&session, &vm, VMP_TASKS_OLD_AGENT, "its agent is too old");
	vm.agent.version = VMPROF_PROTO_VERSION;
	assert_untold(&session, &vm, VMP_TASKS_UNTOLD, "no agent has told");
	vm.agent.flags = VMPROF_HELLO_NO_MODULE;
	assert_untold(&session, &vm, VMP_TASKS_NO_MODULE, "its agent has no module");
	vm.agent.state = VMP_AGENT_GREETED;
	assert_untold(&session, &vm, VMP_TASKS_UNTOLD, "no agent has told");
	vmp_tasks_take(&vm.tasks, NULL);
	assert_untold(&session, &vm, VMP_TASKS_UNKEPT, "but not kept");
	vmp_tasks_forget(&vm.tasks);
	assert_untold(&session, &vm, VMP_TASKS_UNTOLD, "no agent has told");
	/* of what was told and kept before, that takes nothing away */
	take_tasks(&vm.tasks);
	vmp_tasks_take(&vm.tasks, NULL);
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_ON);
	/* without query-vmprof */
	vm.nr_ram = 0;
	vmp_session_tasks(&session, &vm);
	assert_int_equal(vm.tasks.state, VMP_TASKS_NO_RAM);
	vmp_tasks_forget(&vm.tasks);
}

/* ------------------------------------------- an agent's words, as they come */

static char said[4096];

static void take_line(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static void tell(struct vmp_vm *vm, int fd, unsigned int type, const void *payload, size_t len)
{
	static uint32_t seq;
	struct vmprof_frame f;

	seq = type == VMPROF_MSG_HELLO ? 0 : seq + 1;
	vmp_frame_build(&f, (uint16_t)type, seq, payload, len);
	assert_int_equal(write(fd, &f, sizeof(f)), sizeof(f));
	assert_int_equal(write(fd, payload, len), len);
	vmp_agent_ready(&vm->agent, POLLIN, 1);
}

static void test_joins(void **state)
{
	static struct vmp_session session;
	struct {
		struct vmprof_hello h;
		uint32_t error;
	} hello = {
		.h = { .version = VMPROF_PROTO_VERSION, .compat = 1, .flags = VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED },
		.error = ENODEV,
	};
	struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu; } wire = {
		.t = { .linear_base = 1ULL << 63, .linear_bytes = 4096, .nr_cpus = 1 }, .cpu = { .current_gpa = 64 },
	};
	struct vmp_qmp_ram ram = { 0, 1 << 20, 0x7f0000000000 };
	struct vmp_vm vm = { .session = &session, .dom = { .pid = 77, .shown = "web01" }, .ram = &ram, .nr_ram = 1 };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listens = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	(void)state;
	device = session.driver.fd = 1000;
	session.driver.query.version = VMPROF_UAPI_VERSION;
	snprintf(vm.dom.xml.channel_path, sizeof(vm.dom.xml.channel_path), "/tmp/vmprof-join.%d", getpid());
	strcpy(addr.sun_path, vm.dom.xml.channel_path);
	assert_int_equal(bind(listens, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listens, 1), 0);
	vmp_log_set(take_line, NULL);
	vmp_early_init(&vm);
	assert_int_equal(vmp_session_add_vm(&session, &vm), 0);
	fd = accept(listens, NULL, NULL);
	unlink(addr.sun_path);
	assert_true(fd >= 0);
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h) + sizeof(hello.error));
	assert_int_equal(vm.agent.state, VMP_AGENT_STARTED);
	assert_int_equal(vm.tasks.state, VMP_TASKS_NO_MODULE);
	assert_non_null(strstr(said, "web01: the agent runs without its module, it did not start: No such device"));
	assert_null(strstr(said, "perf events"));
	/* nor has it perf */
	hello.h.flags |= VMPROF_HELLO_UNASKED;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h) + sizeof(hello.error));
	hello.h.flags ^= VMPROF_HELLO_UNASKED | VMPROF_HELLO_NO_PERF;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h) + sizeof(hello.error));
	assert_non_null(strstr(said, "and the guest's kernel refuses it perf events: no process is recognised by its samples"));
	/* it was restarted, and has one now */
	hello.h.flags = VMPROF_HELLO_UNASKED;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h));
	hello.h.flags = 0;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h));
	assert_int_equal(vm.tasks.state, VMP_TASKS_UNTOLD);
	tell(&vm, fd, VMPROF_MSG_TASKS, &wire, sizeof(wire));
	assert_int_equal(vm.tasks.state, VMP_TASKS_ON);
	/* and again, when no more of what it says is kept */
	hello.h.flags = VMPROF_HELLO_UNASKED;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h));
	assert_int_equal(vm.tasks.state, VMP_TASKS_UNTOLD);
	vm.agent.keep_bytes = 0;
	hello.h.flags = 0;
	tell(&vm, fd, VMPROF_MSG_HELLO, &hello, sizeof(hello.h));
	tell(&vm, fd, VMPROF_MSG_TASKS, &wire, sizeof(wire));
	assert_int_equal(vm.tasks.state, VMP_TASKS_UNKEPT);
	vmp_log_set(NULL, NULL);
	vmp_agent_close(&vm.agent);
	vmp_tasks_forget(&vm.tasks);
	free(vm.batch);
	close(fd);
	close(listens);
}

/* What status tells of an agent without its module */
static void test_status(void **state)
{
	static struct vmp_session_opts opts;
	static struct vmp_session session = { .opts = &opts };
	struct vmp_vm vm = { .session = &session, .dom = { .name = "web01" }, .tasks = { .state = VMP_TASKS_NO_MODULE } };
	char *json;

	(void)state;
	session.vms[session.nr_vms++] = &vm;
	json = vmp_session_status(&session);
	assert_null(strstr(json, "without_module"));
	assert_non_null(strstr(json, "\"random\":false,"));
	free(json);
	vm.agent.flags = VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED;
	vm.agent.module_error = ENODEV;
	json = vmp_session_status(&session);
	assert_non_null(strstr(json, "\"tasks\":\"no-module\""));
	assert_non_null(strstr(json, "\"without_module\":\"it did not start: No such device"));
	assert_non_null(strstr(json, "\"without_perf\":false"));
	free(json);
	vm.agent.flags |= VMPROF_HELLO_NO_PERF;
	opts.random = 1;
	session.period = 100000;
	session.instruction_period = 50000;
	json = vmp_session_status(&session);
	assert_non_null(strstr(json, "\"period\":100000,\"instruction_period\":50000,\"random\":true,"));
	assert_non_null(strstr(json, "\"without_perf\":true"));
	free(json);
}

/* ------------------------------------------------ instructions, for branches */

static struct vmp_session_opts wanted;

/* Whether a session has them, after so many tries, and what it says */
static void has_instructions(const char *filter, const char *event, int has, int tries, const char *text)
{
	static struct vmp_session s;
	const struct vmprof_config config = { .period = 100000, .ring_bytes = 1 << 20, .lbr_branches = VMPROF_LBR_ALL };
	const uint32_t vms[] = { 77, 78 };

	said[0] = 0;
	tried.opened = tried.started = 0;
	assert_int_equal(vmp_lbr_parse(filter, NULL, &wanted.lbr), 0);
	assert_int_equal(vmp_event_parse(event, &s.event), 0);
	s.opts = &wanted;
	s.period = 100000;
	s.instruction_period = 1;
	vmp_log_set(take_line, NULL);
	vmp_session_instructions(&s, &config, vms, 2);
	vmp_log_set(NULL, NULL);
	assert_int_equal(s.instruction_period, has ? 100000 : 0);
	assert_int_equal(tried.opened, tries);
	assert_int_equal(tried.started, tries);
	if (tries)	/* nothing is left of the last one */
		assert_int_equal(fcntl(tried.fd, F_GETFD), -1);
	if (!text)
		assert_string_equal(said, "");
	else if (!strstr(said, text) || strchr(said, '\n') != said + strlen(said) - 1)
		fail_msg("not one line with '%s': %s", text, said);
}

static void test_instructions(void **state)
{
	(void)state;
	has_instructions("any", "cycles", 1, 1, NULL);
	assert_int_equal(tried.config.instruction_period, 100000);
	assert_int_equal(tried.config.period, 100000);
	assert_int_equal(tried.config.lbr_branches, VMPROF_LBR_ALL);
	assert_int_equal(tried.config.nr_vms, 2);
	assert_int_equal(tried.config.ring_bytes, VMPROF_RING_MIN);
	has_instructions("any,user", "cpu-cycles", 1, 1, NULL);
	/* from these no block can be told */
	has_instructions("call", "cycles", 0, 0, NULL);
	has_instructions("flow", "cycles", 0, 0, NULL);
	has_instructions(NULL, "cycles", 0, 0, NULL);
	has_instructions("any", "instructions", 0, 0, "no samples of instructions, which go with the event cycles, not with instructions: vmprof blocks will have the CPI of the samples");
	/* two counters are free, and four are not; or not even two: start says that */
	tried.with = EBUSY;
	has_instructions("any", "cycles", 0, 2, "no samples of instructions, for which each CPU needs two counters more than are free");
	assert_non_null(strstr(said, "blocks will have no times, or, where a counter is left for instructions, by branches alone, which can be far off"));
	tried.without = EBUSY;
	has_instructions("any", "cycles", 1, 2, NULL);
	/* who says which has it so */
	wanted.no_cpi = 1;
	has_instructions("any", "cycles", 0, 0, NULL);
	wanted.no_cpi = 0;
	wanted.cpi = 1;
	has_instructions("any", "cycles", 1, 0, NULL);
	has_instructions(NULL, "cycles", 1, 0, NULL);
	wanted.cpi = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_goes_back),
		cmocka_unit_test(test_holes), cmocka_unit_test(test_ring_that_storing_fills), cmocka_unit_test(test_no_ring_is_empty),
		cmocka_unit_test(test_tasks), cmocka_unit_test(test_status),
		cmocka_unit_test(test_joins),
		cmocka_unit_test(test_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
