// SPDX-License-Identifier: GPL-2.0-only
/* checks_domain.c - what `vmprof doctor` looks at in one domain. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "collect/checks.h"
#include "collect/clock.h"
#include "collect/vm.h"
#include "util/log.h"
#include "util/text.h"

#define HELLO_PATIENCE_NS 5000000000ULL

static void ignore_frame(void *arg, const struct vmprof_frame *wire, const void *payload,
			 uint32_t len)
{
	(void)arg;
	(void)wire;
	(void)payload;
	(void)len;
}

static int ignore_object(void *arg, const struct vmp_msg_object *o)
{
	(void)arg;
	(void)o;
	return 0;
}

static void ignore_change(void *arg)
{
	(void)arg;
}

/* Talk to the agent until its first snapshot begins; it answers in milliseconds. */
static int greet(struct vmp_agent *a, const char *path)
{
	static const struct vmp_agent_ops ops = { ignore_frame, ignore_object, ignore_change };
	uint64_t begin_ns = vmp_now_ns(), now_ns = begin_ns;
	int err;

	vmp_agent_init(a, vmp_tsc_now(), &ops, NULL);
	err = vmp_agent_connect(a, path, begin_ns);
	if (err)
		return err;
	while (!a->echo.got_tsc && a->state != VMP_AGENT_REFUSED && a->fd >= 0 &&
	       now_ns - begin_ns < HELLO_PATIENCE_NS) {
		struct pollfd p = { .fd = a->fd, .events = vmp_agent_events(a) };

		if (poll(&p, 1, 100) > 0)
			vmp_agent_ready(a, p.revents, vmp_now_ns());
		now_ns = vmp_now_ns();
	}
	return 0;
}

static void check_echo(struct vmp_checks *c, struct vmp_vm *vm)
{
	vmp_vm_clock_check(vm);
	if (vm->agent.counts.clock_wrong)
		vmp_check_fault(c, "%s: the guest's clock contradicts KVM's offset: is the guest's TSC trapped or the domain being migrated? virsh domjobinfo %s",
				vm->dom.shown, vm->dom.word);
	else if (vm->echo_bound_tsc)
		vmp_check_good(c, "%s: the agent's clock agrees within %" PRIu64 " ticks",
			       vm->dom.shown, vm->echo_bound_tsc);
}

static void check_agent(struct vmp_checks *c, struct vmp_vm *vm)
{
	const char *name = vm->dom.shown;
	struct vmp_agent *a = &vm->agent;
	char why[128];
	int err;

	err = greet(a, vm->dom.xml.channel_path);
	if (err)
		vmp_check_fault(c, "%s: its channel's socket %s: %s: virsh detach-device and vmprof attach make it anew",
				name, vm->dom.xml.channel_path, strerror(-err));
	else if (a->state == VMP_AGENT_REFUSED)
		vmp_check_remark(c, "%s: the agent speaks protocol %u, vmprof %u, user code stays unnamed: install the agent of this version in the guest",
				 name, a->version, VMPROF_PROTO_VERSION);
	else if (!a->counts.hellos)
		vmp_check_remark(c, "%s: no agent answers, user code stays unnamed: in the guest, install vmprof-guest-agent and systemctl start vmprof-agent",
				 name);
	else if (a->flags & VMPROF_HELLO_NO_MODULE && a->flags & VMPROF_HELLO_NO_PERF)
		vmp_check_remark(c, "%s: the agent has no module, %s, and the guest's kernel refuses it perf events; all processes stay unknown: in the guest, modprobe vmprof_guest, or sysctl kernel.perf_event_paranoid=2, and systemctl restart vmprof-agent",
				 name, vmp_no_module_text(why, a->flags, a->module_error));
	else if (a->flags & VMPROF_HELLO_NO_MODULE)
		vmp_check_remark(c, "%s: the agent has no module, %s; some processes stay unknown: in the guest, modprobe vmprof_guest and systemctl restart vmprof-agent",
				 name, vmp_no_module_text(why, a->flags, a->module_error));
	else if (a->version < VMP_TASKS_VERSION)
		vmp_check_remark(c, "%s: the agent is older than this vmprof, the guest's threads are not told apart: install the agent of this version in the guest",
				 name);
	else
		vmp_check_good(c, "%s: the agent answers, guest kernel %s", name, a->release);
	if (!err)
		check_echo(c, vm);
}

static void check_channel(struct vmp_checks *c, struct vmp_vm *vm)
{
	const char *name = vm->dom.shown;

	if (!vm->dom.xml.has_channel)
		vmp_check_remark(c, "%s: no agent channel yet, vmprof start adds it; now: vmprof attach --domain %s",
				 name, vm->dom.word);
	else if (!vm->dom.xml.channel_path[0])
		vmp_check_fault(c, "%s: its channel org.vmprof.agent.0 is no UNIX socket: virsh edit %s",
				name, vm->dom.word);
	else if (c->busy)
		vmp_check_good(c, "%s: a session uses the agent's channel; vmprof status tells how", name);
	else
		check_agent(c, vm);
}

static void check_clock(struct vmp_checks *c, const struct vmp_vm *vm)
{
	const char *name = vm->dom.shown;
	int i, same = 1;

	if (vm->patched)
		vmp_check_good(c, "%s: QEMU knows query-vmprof", name);
	else
		vmp_check_good(c, "%s: QEMU without query-vmprof: the clock comes from KVM's debugfs, the guest's threads are not told apart",
			       name);
	if (vm->source == VMP_CLOCK_DRIVER) {
		vmp_check_remark(c, "%s: the guest's clock is known from samples only: mount -t debugfs none /sys/kernel/debug",
				 name);
		return;
	}
	for (i = 1; i < vm->nr_vcpus; i++)
		same &= vm->clocks[i].offset == vm->clocks[0].offset &&
			vm->clocks[i].ratio == vm->clocks[0].ratio;
	if (same)
		vmp_check_good(c, "%s: one clock on all %d vCPUs", name, vm->nr_vcpus);
	else
		vmp_check_remark(c, "%s: its vCPUs' clocks differ; events may be off by as much: restart the guest: virsh reboot %s",
				 name, vm->dom.word);
}

static void no_message(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

void vmp_check_domain(struct vmp_checks *c, virConnectPtr conn, struct vmp_domain *d)
{
	struct vmp_vm *vm;
	int err;

	vmp_check_good(c, "%s: running under KVM, QEMU is process %u", d->shown, d->pid);
	if (d->xml.secured[0])
		vmp_check_fault(c, "%s: an encrypted guest (%s) hides its registers: it can be profiled only without <launchSecurity>: virsh edit %s",
				d->shown, d->xml.secured, d->word);
	vmp_log_set(no_message, NULL);	/* its messages are said better here */
	err = vmp_vm_create(&vm, NULL, d, conn);
	vmp_log_set(NULL, NULL);
	if (err) {
		vmp_check_fault(c, "%s: ended just now: virsh start %s", d->shown, d->word);
		return;
	}
	check_clock(c, vm);
	check_channel(c, vm);
	vmp_vm_free(vm);
}
