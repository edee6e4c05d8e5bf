// SPDX-License-Identifier: GPL-2.0-only
/* test_watch.c - the collector's rounds, with a socket pair for the helper that asks libvirt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/session.h"
#include "util/log.h"

static struct vmp_session session;
static struct vmp_session_opts opts;
static struct vmp_vm vm;
static struct vmp_monitor_answer answer;
static int helper = -1, left, again, lines;
static char last[256];
static uint32_t chosen;		/* by the last VMPROF_IOC_ADD_VM */
static int refuse;

/* The module's answer */
int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	(void)fd;
	assert_int_equal(request, VMPROF_IOC_ADD_VM);
	va_start(ap, request);
	chosen = *va_arg(ap, uint32_t *);
	va_end(ap);
	errno = refuse;
	return refuse ? -1 : 0;
}

static void count_left(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	left += !!strstr(text, "the agent left");
	again += !!strstr(text, "it runs again");
	lines++;
	snprintf(last, sizeof(last), "%s", text);
}

static void ignore_change(void *arg)
{
	(void)arg;
}

static int setup(void **state)
{
	static const struct vmp_agent_ops ops = { .changed = ignore_change };
	int pair[2];

	(void)state;
	memset(&session, 0, sizeof(session));
	memset(&answer, 0, sizeof(answer));
	memset(&opts, 0, sizeof(opts));
	memset(&vm, 0, sizeof(vm));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return -1;
	session.opts = &opts;
	session.phase = VMP_SAMPLING;
	session.monitor.fd = pair[0];
	helper = pair[1];
	vm.session = &session;
	vm.dom.pid = 100;
	vmp_agent_init(&vm.agent, 1, &ops, NULL);
	vm.agent.state = VMP_AGENT_RUNNING;
	vm.port_open = 1;
	session.vms[0] = &vm;
	left = again = lines = refuse = 0;
	chosen = 0;
	vmp_log_set(count_left, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_log_set(NULL, NULL);
	close(session.monitor.fd);
	close(helper);
	return 0;
}

/* What the helper is asked, or -1 */
static int question(struct vmp_monitor_question *q)
{
	return recv(helper, q, sizeof(*q), MSG_DONTWAIT) == sizeof(*q) ? (int)q->what : -1;
}

static void reply(const struct vmp_monitor_question *q, int err, enum vmp_port_state port, const char *text)
{
	answer.what = q->what;
	answer.err = err;
	answer.domain = q->domain;
	answer.domain.xml.port = port;
	answer.len = (uint32_t)strlen(text);
	memcpy(answer.text, text, answer.len);
	assert_true(send(helper, &answer, offsetof(struct vmp_monitor_answer, text) + answer.len, 0) > 0);
	vmp_watch_answer(&session);
}

/* The helper is asked nothing in a round at that time. */
static void quiet_round(uint64_t s)
{
	struct vmp_monitor_question q;

	vmp_watch_round(&session, s * 1000000000);
	assert_int_equal(question(&q), -1);
}

static void round_at(uint64_t s, struct vmp_monitor_question *q)
{
	vmp_watch_round(&session, s * 1000000000);
	assert_int_equal(question(q), VMP_MONITOR_PORT);
}

static void news(int hears)
{
	const struct vmp_monitor_question none = { .what = VMP_MONITOR_NEWS };

	answer.hears = hears;
	reply(&none, 0, VMP_PORT_UNKNOWN, "");
}

/* Where libvirt tells of changes a question is put once a minute, and when there was one. */
static void test_asked_when_there_is_news(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	session.nr_vms = 1;
	answer.hears = 1;
	round_at(100, &q);
	reply(&q, 0, VMP_PORT_OPEN, "");
	quiet_round(105);
	quiet_round(159);
	round_at(160, &q);
	reply(&q, 0, VMP_PORT_OPEN, "");
	quiet_round(165);
	news(1);
	news(1);
	round_at(170, &q);
	news(1);			/* while an answer is owed: it may be older */
	reply(&q, 0, VMP_PORT_CLOSED, "");
	assert_int_equal(left, 1);
	round_at(175, &q);
	reply(&q, 0, VMP_PORT_CLOSED, "");
	quiet_round(180);
	session.phase = VMP_PREPARING;	/* the agents are waited for */
	round_at(185, &q);
	reply(&q, 0, VMP_PORT_OPEN, "");
	session.phase = VMP_SAMPLING;
	quiet_round(190);
	vm.agent.heard_ns = UINT64_MAX;	/* an answer that is older than the agent's word is none */
	news(1);
	round_at(195, &q);
	reply(&q, 0, VMP_PORT_CLOSED, "");
	round_at(200, &q);
	reply(&q, -EIO, VMP_PORT_UNKNOWN, "");
	round_at(205, &q);
	reply(&q, 0, VMP_PORT_OPEN, "");
	quiet_round(210);
	news(0);			/* it lost libvirt */
	round_at(215, &q);
	reply(&q, 0, VMP_PORT_OPEN, "");
	round_at(220, &q);
}

/* It is waited for; nobody asks over and over. */
static void test_no_answer(void **state)
{
	struct vmp_monitor_question q;
	uint64_t s;

	(void)state;
	session.nr_vms = 1;
	round_at(100, &q);
	s = session.monitor.asked_ns / 1000000000;
	quiet_round(s + 29);
	assert_int_equal(lines, 0);
	quiet_round(s + 32);
	quiet_round(s + 37);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last, "libvirt does not answer"));
	reply(&q, 0, VMP_PORT_OPEN, "");
	round_at(s + 42, &q);
}

/* libvirt knows a new domain a little later than its samples come. */
static void test_new_domain_is_asked_again(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	opts.all = 1;
	session.unknown_vm = 200;
	vmp_watch_round(&session, 1);
	assert_int_equal(question(&q), VMP_MONITOR_FIND);
	assert_int_equal(q.domain.pid, 200);
	reply(&q, -ENOENT, VMP_PORT_UNKNOWN, "");
	assert_int_equal(question(&q), -1);	/* not twice in a round */
	vmp_watch_round(&session, 2);
	assert_int_equal(question(&q), VMP_MONITOR_FIND);
	assert_int_equal(q.domain.pid, 200);
}

/* Of a domain that joins, QEMU is asked for the clock and the memory; one that knows no such question, for its port */
static void test_new_domain_is_asked_of_its_qemu(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	session.nr_vms = 1;
	session.vms[0]->dom.pid = 999;
	opts.all = 1;
	session.unknown_vm = (uint32_t)getpid();
	vmp_watch_round(&session, 1);
	assert_int_equal(question(&q), VMP_MONITOR_PORT);
	reply(&q, 0, VMP_PORT_OPEN, "");
	assert_int_equal(question(&q), VMP_MONITOR_FIND);
	reply(&q, 0, VMP_PORT_OPEN, "");
	assert_int_equal(session.nr_vms, 2);
	session.vms[0]->gone = 1;
	assert_int_equal(question(&q), VMP_MONITOR_QMP);
	reply(&q, 0, VMP_PORT_OPEN, "{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":7,\"tsc-offset\":5}],"
				    "\"ram\":[{\"gpa\":0,\"size\":4096,\"hva\":65536}]}}");
	assert_int_equal(session.vms[1]->nr_ram, 1);
	assert_int_equal(session.vms[1]->source, VMP_CLOCK_QMP);
	vmp_watch_round(&session, 3);
	assert_int_equal(question(&q), VMP_MONITOR_QMP);
	reply(&q, 0, VMP_PORT_OPEN, "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"not there\"}}");
	vmp_watch_round(&session, 4);
	assert_int_equal(question(&q), VMP_MONITOR_PORT);
	vmp_vm_free(session.vms[1]);
}

/* The helper is asked whether web01 runs, and answers that its QEMU is this process; 0: it does not run. */
static void runs_again_at(uint64_t s, uint32_t pid)
{
	struct vmp_monitor_question q;

	vmp_watch_round(&session, s * 1000000000);
	assert_int_equal(question(&q), VMP_MONITOR_FIND);
	assert_int_equal(q.domain.pid, 0);
	assert_string_equal(q.domain.name, "web01");
	q.domain.pid = pid;
	reply(&q, pid ? 0 : -ENOENT, VMP_PORT_OPEN, "");
}

static void web01_ended(void)
{
	strcpy(vm.dom.name, "web01");
	session.nr_vms = 1;
	session.driver.query.version = VMPROF_UAPI_VERSION;
	vm.gone = 1;
	answer.hears = 1;
}

/* A domain that was named and has another QEMU now is looked for by its name, and the module is told of it. */
static void test_named_domain_runs_again(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	web01_ended();
	runs_again_at(100, 0);
	assert_int_equal(question(&q), -1);	/* not twice in a round */
	runs_again_at(105, 0);			/* while none runs, there is no other question */
	runs_again_at(110, vm.dom.pid);		/* libvirt has not noticed yet that it ended */
	assert_int_equal(session.nr_vms, 1);
	assert_int_equal(lines, 0);
	runs_again_at(115, (uint32_t)getpid());
	assert_int_equal(session.nr_vms, 2);
	assert_int_equal(chosen, getpid());
	assert_int_equal(again, 1);
	assert_non_null(strstr(last, "without an agent"));	/* its channel could not be added */
	assert_int_equal(question(&q), VMP_MONITOR_QMP);	/* and of the other one nothing is asked any more */
	reply(&q, 0, VMP_PORT_OPEN, "{\"error\":{\"class\":\"CommandNotFound\",\"desc\":\"not there\"}}");
	assert_int_equal(question(&q), -1);
	vmp_vm_free(session.vms[1]);
}

/* What cannot join is told once. */
static void test_refused(void **state)
{
	(void)state;
	web01_ended();
	refuse = ENOSPC;
	runs_again_at(100, (uint32_t)getpid());
	assert_int_equal(session.nr_vms, 1);
	assert_non_null(strstr(last, "the session does not take: No space left"));
	news(1);
	runs_again_at(105, (uint32_t)getpid());
	assert_int_equal(lines, 1);
}

/* A guest that ends and runs again and again does not multiply the limits of what it may send. */
static void test_runs_too_often(void **state)
{
	int i;

	(void)state;
	web01_ended();
	for (i = 0; i < 16; i++)
		session.vms[i] = &vm;
	session.nr_vms = 15;
	runs_again_at(100, (uint32_t)getpid());
	assert_int_equal(session.nr_vms, 16);
	vmp_vm_free(session.vms[15]);
	session.vms[15] = &vm;
	chosen = 0;
	session.monitor.asked_ns = 0;
	while (recv(helper, &answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
	news(1);
	runs_again_at(105, (uint32_t)getpid());
	assert_int_equal(session.nr_vms, 16);
	assert_int_equal(chosen, 0);
	assert_non_null(strstr(last, "has run too often"));
}

/* The answer comes when sampling is over: nobody would end what its agent begins. */
static void test_answer_comes_late(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	web01_ended();
	vmp_watch_round(&session, 1);
	assert_int_equal(question(&q), VMP_MONITOR_FIND);
	session.phase = VMP_ENDING;
	q.domain.pid = (uint32_t)getpid();
	reply(&q, 0, VMP_PORT_OPEN, "");
	assert_int_equal(session.nr_vms, 1);
	assert_int_equal(chosen, 0);
}

/* A module of before is not asked to; at the end of a session nobody joins. */
static void test_nobody_looks_for_it(void **state)
{
	(void)state;
	web01_ended();
	session.driver.query.version = 7;
	quiet_round(100);
	session.driver.query.version = VMPROF_UAPI_VERSION;
	session.phase = VMP_ENDING;
	quiet_round(200);
	opts.all = 1;				/* its samples name it */
	session.phase = VMP_SAMPLING;
	quiet_round(300);
	assert_int_equal(chosen, 0);
}

/* One round in which libvirt says this of the port */
static void port_round(enum vmp_port_state port)
{
	struct vmp_monitor_question q;

	vmp_watch_round(&session, 1);
	assert_int_equal(question(&q), VMP_MONITOR_PORT);
	reply(&q, 0, port, "");
}

static void test_agent_leaves(void **state)
{
	(void)state;
	session.nr_vms = 1;
	port_round(VMP_PORT_OPEN);
	port_round(VMP_PORT_UNKNOWN);
	assert_int_equal(left, 0);
	assert_int_equal(vm.port_open, 1);
	port_round(VMP_PORT_CLOSED);
	assert_int_equal(left, 1);
	assert_int_equal(vm.agent.state, VMP_AGENT_GREETED);
	port_round(VMP_PORT_CLOSED);
	assert_int_equal(left, 1);	/* once */
}

/* Whatever it does, a guest writes only so much into the host's log. */
static void test_agent_comes_and_goes(void **state)
{
	int i;

	(void)state;
	session.nr_vms = 1;
	for (i = 0; i < 1000; i++) {
		vm.agent.state = VMP_AGENT_RUNNING;
		port_round(VMP_PORT_OPEN);
		port_round(VMP_PORT_CLOSED);
		assert_int_equal(vm.agent.state, VMP_AGENT_GREETED);
	}
	assert_int_equal(left, VMP_VM_LINES);
	assert_int_equal(lines, VMP_VM_LINES + 1);	/* and that there will be no more */
}

/* The answer is older than what the agent said. */
static void test_agent_speaks_meanwhile(void **state)
{
	(void)state;
	session.nr_vms = 1;
	vm.agent.heard_ns = UINT64_MAX;
	port_round(VMP_PORT_CLOSED);
	assert_int_equal(left, 0);
	assert_int_equal(vm.port_open, 1);
}

/* A QEMU that does not tell of the port says nothing about the agent. */
static void test_no_port_told(void **state)
{
	struct vmp_monitor_question q;

	(void)state;
	session.nr_vms = 1;
	vm.patched = 1;
	vmp_watch_round(&session, 1);
	assert_int_equal(question(&q), VMP_MONITOR_QMP);
	reply(&q, 0, VMP_PORT_UNKNOWN, "{\"return\":{\"vcpus\":[{\"index\":0,\"thread-id\":7}],\"ram\":[]}}");
	assert_int_equal(vm.nr_vcpus, 1);
	assert_int_equal(left, 0);
	assert_int_equal(vm.port_open, 1);
	free(vm.vcpus);
	free(vm.clocks);
	free(vm.ram);
}

static void test_helper_dies(void **state)
{
	(void)state;
	session.nr_vms = 1;
	vm.source = VMP_CLOCK_DRIVER;
	shutdown(helper, SHUT_RDWR);
	vmp_watch_answer(&session);
	assert_non_null(strstr(last, "clocks come from the module only"));
	session.monitor.fd = dup(helper);	/* at its end as well */
	vm.source = VMP_CLOCK_DEBUGFS;
	vmp_watch_answer(&session);
	assert_non_null(strstr(last, "clocks come from KVM's debugfs and the module"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_new_domain_is_asked_again), T(test_new_domain_is_asked_of_its_qemu), T(test_agent_leaves),
		T(test_named_domain_runs_again), T(test_refused), T(test_runs_too_often),
		T(test_answer_comes_late), T(test_nobody_looks_for_it),
		T(test_agent_comes_and_goes), T(test_helper_dies),
		T(test_asked_when_there_is_news), T(test_no_answer),
		T(test_agent_speaks_meanwhile), T(test_no_port_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
