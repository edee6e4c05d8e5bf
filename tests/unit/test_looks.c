// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_looks.c - how often the driver is told where a guest keeps its tasks: by a guest that tells another
 * place in each message, one that repeats itself, and one whose conversations are short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/early.h"
#include "collect/session.h"

#define DEVICE	1000
#define MANY	1000

static struct vmp_session session;
static struct vmp_qmp_ram ram = { 0, 1 << 20, 0x7f0000000000 };
static struct vmp_vm vm;
static int guest = -1;			/* its end */
static uint32_t seq;
static struct vmprof_tasks given;	/* by the last VMPROF_IOC_TASKS ... */
static uint64_t first_vcpu;		/* ... which points to this */
static int times_given, refuses;
static uint8_t words[1 << 18];		/* that the guest writes at once */
static size_t len;

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != DEVICE)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	assert_int_equal(request, VMPROF_IOC_TASKS);
	times_given++;
	errno = EINVAL;
	if (refuses)
		return -1;
	given = *(struct vmprof_tasks *)arg;
	first_vcpu = given.nr_vcpus ? *(uint64_t *)(uintptr_t)given.vcpus : 0;
	return 0;
}

static void say(uint16_t type, const void *payload, size_t bytes)
{
	struct vmprof_frame f;

	seq = type == VMPROF_MSG_HELLO ? 0 : seq + 1;
	vmp_frame_build(&f, type, seq, payload, bytes);
	memcpy(words + len, &f, sizeof(f));
	memcpy(words + len + sizeof(f), payload, bytes);
	len += sizeof(f) + bytes;
}

/* Where the pointer to the task of its only CPU lies */
static void say_tasks(uint64_t gpa)
{
	const struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu; } m = {
		.t = { .linear_base = 1ULL << 63, .linear_bytes = 4096, .nr_cpus = 1 }, .cpu = { .current_gpa = gpa },
	};

	say(VMPROF_MSG_TASKS, &m, sizeof(m));
}

static void say_hello(uint32_t flags)
{
	const struct vmprof_hello h = { .version = VMPROF_PROTO_VERSION, .compat = 1, .flags = flags };

	say(VMPROF_MSG_HELLO, &h, sizeof(h));
}

static void read_it(void)
{
	assert_int_equal(write(guest, words, len), len);
	len = 0;
	vmp_agent_ready(&vm.agent, POLLIN, 1);
}

static void tick(void)
{
	static uint64_t now_ns = 1;

	now_ns += 1000000000;
	vmp_agent_tick(&vm.agent, now_ns);
	vmp_session_tick_tasks(&session, &vm);
}

static int set_up(void **state)
{
	const int room = 1 << 20;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listens = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	vm = (struct vmp_vm){ .session = &session, .dom = { .pid = 77, .shown = "web01" }, .ram = &ram, .nr_ram = 1, .told = VMP_VM_LINES + 1 };
	session.driver.fd = DEVICE;
	session.driver.query.version = VMPROF_UAPI_VERSION;
	times_given = refuses = 0;
	snprintf(vm.dom.xml.channel_path, sizeof(vm.dom.xml.channel_path), "/tmp/vmprof-looks.%d", getpid());
	strcpy(addr.sun_path, vm.dom.xml.channel_path);
	vmp_early_init(&vm);
	if (bind(listens, (struct sockaddr *)&addr, sizeof(addr)) || listen(listens, 1) || vmp_session_add_vm(&session, &vm))
		return -1;
	guest = accept(listens, NULL, NULL);
	close(listens);
	unlink(addr.sun_path);
	setsockopt(guest, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	say_hello(0);
	read_it();
	return guest < 0 || vm.agent.state != VMP_AGENT_STARTED;
}

static int tear_down(void **state)
{
	(void)state;
	vmp_agent_close(&vm.agent);
	vmp_tasks_forget(&vm.tasks);
	free(vm.batch);
	close(guest);
	return 0;
}

/* Another place in each message: the first and the last are told, and no more of them than there are ticks */
static void test_always_another(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < MANY; i++)
		say_tasks(8 + 8 * i);
	read_it();
	assert_int_equal(vm.agent.counts.kept, 1 + MANY);
	assert_int_equal(times_given, 1);
	assert_int_equal(first_vcpu, ram.hva + 8);
	assert_int_equal(vm.tasks.state, VMP_TASKS_ON);
	tick();
	assert_int_equal(times_given, 2);
	assert_int_equal(first_vcpu, ram.hva + 8 * MANY);
	tick();
	assert_int_equal(times_given, 2);
	say_tasks(64);
	read_it();
	assert_int_equal(times_given, 2);
	tick();
	assert_int_equal(times_given, 3);
	assert_int_equal(first_vcpu, ram.hva + 64);
}

/* What the driver has it is not told again, whoever asks */
static void test_the_same_again(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		say_tasks(64);
		read_it();
		tick();
		vmp_session_tasks(&session, &vm);
	}
	assert_int_equal(times_given, 1);
	assert_int_equal(vm.tasks.state, VMP_TASKS_ON);
	/* its memory lies elsewhere: at once, for nobody's word can make that happen often */
	ram.hva += 4096;
	vmp_session_tasks(&session, &vm);
	assert_int_equal(times_given, 2);
	assert_int_equal(first_vcpu, ram.hva + 64);
	ram.hva -= 4096;
}

/* Each conversation is looked for from its first word on, and not behind its last; what waited is gone with it. */
static void test_conversations(void **state)
{
	int i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		say_tasks(64);
		say_tasks(128);
		read_it();
		assert_int_equal(times_given, 2 * i - 1);
		assert_int_equal(first_vcpu, ram.hva + 64);
		say_hello(VMPROF_HELLO_UNASKED);
		read_it();
		assert_int_equal(times_given, 2 * i);
		assert_int_equal(given.nr_vcpus, 0);
		assert_int_equal(given.vm, 77);
		tick();
		say_hello(0);
		read_it();
	}
	assert_int_equal(times_given, 6);
}

/* A driver that refuses has what it had before: when the conversation is over, it is told so. */
static void test_refused(void **state)
{
	(void)state;
	say_tasks(64);
	say_tasks(128);
	read_it();
	refuses = 1;
	tick();
	assert_int_equal(times_given, 2);
	assert_int_equal(vm.tasks.state, VMP_TASKS_REFUSED);
	refuses = 0;
	say_hello(VMPROF_HELLO_UNASKED);
	read_it();
	assert_int_equal(times_given, 3);
	assert_int_equal(given.nr_vcpus, 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_always_another), EACH(test_the_same_again), EACH(test_conversations), EACH(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
