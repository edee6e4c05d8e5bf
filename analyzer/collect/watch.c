// SPDX-License-Identifier: GPL-2.0-only
/* watch.c - what the collector looks at every few seconds: clocks, ports, new domains. */
#include <errno.h>
#include <string.h>

#include "collect/clock.h"
#include "collect/session.h"
#include "util/log.h"

#define RARELY_NS		60000000000ULL	/* to ask what libvirt tells by itself */
#define ANSWER_PATIENCE_NS	30000000000ULL
#define REFUSED_LINES		8
#define RUNS_MAX		16	/* QEMUs of one domain in a session: the limits of what a guest may send are of each */

/* A domain that was named to `start` and ended may run again, in a QEMU that is not of the session yet. */
static int may_run_again(const struct vmp_session *s, const struct vmp_vm *vm)
{
	int i;

	if (s->opts->all || s->phase != VMP_SAMPLING || !vmp_driver_adds_vms(&s->driver))
		return 0;
	for (i = 0; i < s->nr_vms; i++)
		if ((!s->vms[i]->gone || s->vms[i]->asked) && !strcmp(s->vms[i]->dom.name, vm->dom.name))
			return 0;
	return 1;
}

static int ask_of(struct vmp_session *s, const struct vmp_vm *vm)
{
	struct vmp_domain any = vm->dom;

	if (!vm->gone)
		return vmp_monitor_ask(&s->monitor, vm->patched ? VMP_MONITOR_QMP : VMP_MONITOR_PORT, &vm->dom);
	any.pid = 0;
	return vmp_monitor_ask(&s->monitor, VMP_MONITOR_FIND, &any);
}

/* Ask the helper about the next VM that was not asked about in this round. */
void vmp_watch_ask(struct vmp_session *s)
{
	static const struct vmp_domain nobody;
	struct vmp_domain d;
	int i;

	for (i = 0; i < s->nr_vms; i++) {
		struct vmp_vm *vm = s->vms[i];

		if (vm->asked || (vm->gone && !may_run_again(s, vm)))
			continue;
		if (!ask_of(s, vm)) {
			vm->asked = 1;
			vm->asked_ns = vmp_now_ns();
		}
		return;
	}
	if (!s->opts->all || !s->unknown_vm || s->unknown_vm == s->tried_vm ||
	    s->unknown_vm == s->refused_vm || s->phase != VMP_SAMPLING)
		return;
	d = nobody;
	d.pid = s->unknown_vm;
	if (!vmp_monitor_ask(&s->monitor, VMP_MONITOR_FIND, &d))
		s->tried_vm = s->unknown_vm;
}

static void port_is(struct vmp_vm *vm, int open)
{
	int was = vm->port_open;

	/* it spoke after the question: the answer may be older than its coming */
	if (!open && vm->agent.heard_ns > vm->asked_ns) {
		vm->session->news = 1;
		return;
	}
	vm->port_open = open;
	if (open || !was || !vmp_agent_is_there(&vm->agent))
		return;
	if (vmp_vm_may_tell(vm))
		vmp_warn("%s: the agent left; its guest's new processes are unknown until it is back",
			 vm->dom.shown);
	vmp_agent_gone(&vm->agent);
}

/* With --all the module takes what comes; of others it has to be told.  Return: 0, or why not, told. */
static int admit(struct vmp_session *s, const struct vmp_domain *d)
{
	int i, runs = 0, err = 0;

	for (i = 0; i < s->nr_vms; i++)
		runs += !strcmp(s->vms[i]->dom.name, d->name);
	if (s->nr_vms == VMP_SESSION_VMS || runs >= RUNS_MAX)
		err = -ENOSPC;
	else if (!s->opts->all)
		err = vmp_driver_add_vm(&s->driver, d->pid);
	if (err && s->nr_refused++ < REFUSED_LINES)
		vmp_warn("%s: QEMU is process %u, which the session does not take: %s\n"
			 "  a new session has it: vmprof stop, then vmprof start", d->shown, d->pid,
			 runs >= RUNS_MAX ? "the domain has run too often in it" : strerror(-err));
	return err;
}

static void new_vm(struct vmp_session *s, const struct vmp_domain *d)
{
	struct vmp_vm *vm;

	s->unknown_vm = 0;
	if (d->pid == s->refused_vm || vmp_session_vm(s, d->pid) || vmp_vm_create(&vm, s, d, NULL))
		return;
	if (admit(s, d)) {
		s->refused_vm = d->pid;
		vmp_vm_free(vm);
		return;
	}
	vm->patched = 1;	/* which the next question shows */
	s->vms[s->nr_vms++] = vm;
	vmp_info("%s: %s, QEMU is process %u", d->shown, s->opts->all ? "a new domain" : "it runs again", d->pid);
	vmp_vm_tell_secured(vm);
	if (!d->xml.channel_path[0])
		vmp_vm_tell_no_channel(vm);
	vmp_session_add_vm(s, vm);
}

/* Return: the port is open, as its QEMU says; -1 it does not */
static int take_qmp(struct vmp_vm *vm, const struct vmp_monitor_answer *a)
{
	int was = vm->port_open, open;
	int err = vmp_vm_take_qmp(vm, a->text, a->len, a->tsc_after, a->tsc_after - a->tsc_before);

	if (err == -ENOSYS)
		vm->patched = 0;
	if (err) {
		vm->session->news = 1;
		return -1;
	}
	vmp_store_clocks(vm);
	if (vm->ram_moved)
		vmp_session_tasks(vm->session, vm);
	open = vm->port_open;
	vm->port_open = was;
	return open;
}

static void take_answer(struct vmp_session *s, const struct vmp_monitor_answer *a)
{
	struct vmp_vm *vm = vmp_session_vm(s, a->domain.pid);
	int open;

	if (a->err && a->err != -ENOENT && !s->monitor_warned && (!vm || !vm->gone)) {
		vmp_warn("libvirt does not answer any more; the session goes on without it");
		s->monitor_warned = 1;
	}
	if (a->err) {
		s->news |= a->what != VMP_MONITOR_FIND || vmp_session_all_gone(s);
		return;
	}
	s->monitor_warned = 0;
	if (a->what == VMP_MONITOR_FIND) {
		/* later nobody would end what its agent begins */
		if (s->phase == VMP_SAMPLING)
			new_vm(s, &a->domain);
		s->news |= vmp_session_all_gone(s);
		return;
	}
	if (!vm || vm->gone)
		return;
	if (a->what == VMP_MONITOR_PORT) {
		vm->dom.xml = a->domain.xml;
		open = a->domain.xml.port == VMP_PORT_UNKNOWN ? -1 :
		       a->domain.xml.port == VMP_PORT_OPEN;
	} else {
		open = take_qmp(vm, a);
	}
	if (open >= 0)
		port_is(vm, open);
}

static int by_debugfs(const struct vmp_session *s)
{
	int i;

	for (i = 0; i < s->nr_vms; i++)
		if (s->vms[i]->source == VMP_CLOCK_DEBUGFS)
			return 1;
	return 0;
}

void vmp_watch_answer(struct vmp_session *s)
{
	static struct vmp_monitor_answer a;
	int got = vmp_monitor_read(&s->monitor, &a);

	if (got < 0)
		vmp_warn("the helper that talks to libvirt died: domains and agents that come or go are not noticed, clocks come from %s",
			 by_debugfs(s) ? "KVM's debugfs and the module" : "the module only");
	if (got != 1)
		return;
	if (a.what == VMP_MONITOR_NEWS)
		s->news = 1;
	else
		take_answer(s, &a);
	vmp_watch_ask(s);
}

static void reconnect(struct vmp_vm *vm, uint64_t now_ns)
{
	if (vm->gone || vm->agent.fd >= 0 || vm->agent.ending || !vm->dom.xml.channel_path[0])
		return;
	if (!vmp_agent_connect(&vm->agent, vm->dom.xml.channel_path, now_ns) && vmp_vm_may_tell(vm))
		vmp_info("%s: connected to the agent's channel again", vm->dom.shown);
}

/* Does the helper ask of all VMs again? */
static int is_due(struct vmp_session *s, uint64_t now_ns)
{
	if (s->monitor.asked_ns) {
		if (now_ns > s->monitor.asked_ns + ANSWER_PATIENCE_NS && !s->monitor_warned) {
			vmp_warn("libvirt does not answer; the session goes on without it");
			s->monitor_warned = 1;
		}
		return 0;
	}
	return s->news || !s->monitor.hears || s->phase != VMP_SAMPLING || now_ns - s->ask_ns >= RARELY_NS;
}

void vmp_watch_round(struct vmp_session *s, uint64_t now_ns)
{
	int i, due = is_due(s, now_ns);

	s->round_ns = now_ns;
	s->tried_vm = 0;	/* libvirt may know it by now */
	if (due) {
		s->ask_ns = now_ns;
		s->news = 0;
	}
	for (i = 0; i < s->nr_vms; i++) {
		struct vmp_vm *vm = s->vms[i];

		vm->asked = due ? 0 : vm->asked;
		reconnect(vm, now_ns);
		if (!vm->gone && vm->source == VMP_CLOCK_DEBUGFS && !vmp_vm_take_debugfs(vm))
			vmp_store_clocks(vm);
	}
	vmp_store_comms(s);
	vmp_watch_ask(s);
}
