// SPDX-License-Identifier: GPL-2.0-only
/* vm.c - one domain of a session: its vCPUs, its clock. */
#include "collect/vm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/clock.h"
#include "collect/debugfs.h"
#include "collect/early.h"
#include "collect/session.h"
#include "collect/sftp.h"
#include "util/log.h"
#include "util/text.h"

const char *vmp_clock_source_name(enum vmp_clock_source source)
{
	static const char *const name[] = {
		[VMP_CLOCK_QMP] = "qmp", [VMP_CLOCK_DEBUGFS] = "debugfs",
		[VMP_CLOCK_DRIVER] = "driver",
	};

	return name[source];
}

uint64_t vmp_vm_dropped_frames(const struct vmp_vm *vm)
{
	return vm->dropped_frames + vm->agent.counts.dropped;
}

void vmp_vm_tell_no_module(const struct vmp_vm *vm, const char *goes)
{
	const struct vmp_agent *a = &vm->agent;
	const char *name = vm->dom.shown;
	char why[128];

	if (!(a->flags & VMPROF_HELLO_NO_MODULE))
		return;
	vmp_no_module_text(why, a->flags, a->module_error);
	if (a->flags & VMPROF_HELLO_NO_PERF)
		vmp_warn("%s: the agent %s without its module, %s, and the guest's kernel refuses it perf events: no process is recognised by its samples\n"
			 "  in the guest: modprobe vmprof_guest, or sysctl kernel.perf_event_paranoid=2, then systemctl restart vmprof-agent",
			 name, goes, why);
	else
		vmp_warn("%s: the agent %s without its module, %s: processes are inferred where only one has the code mapped, others stay unknown\n"
			 "  in the guest: modprobe vmprof_guest, then systemctl restart vmprof-agent",
			 name, goes, why);
}

void vmp_vm_tell_secured(const struct vmp_vm *vm)
{
	if (vm->dom.xml.secured[0])
		vmp_warn("%s: an encrypted guest (%s): its registers cannot be read, its samples will be lost and counted (guest_state)",
			 vm->dom.shown, vm->dom.xml.secured);
}

void vmp_vm_tell_no_channel(const struct vmp_vm *vm)
{
	vmp_warn("%s: goes on without an agent: guest kernel and address spaces only", vm->dom.shown);
}

int vmp_vm_may_tell(struct vmp_vm *vm)
{
	if (vm->told == VMP_VM_LINES)
		vmp_warn("%s: its agent comes and goes; from now on that is counted only (vmprof status --json)",
			 vm->dom.shown);
	if (vm->told <= VMP_VM_LINES)
		vm->told++;
	return vm->told <= VMP_VM_LINES;
}

/* ------------------------------------------------------- vCPUs, clock */

static const struct vmprof_cap_clock *last_clock(const struct vmp_vm *vm, uint32_t vcpu)
{
	int i;

	for (i = 0; vm->clocks && i < vm->nr_vcpus; i++)
		if (vm->clocks[i].vcpu == vcpu && vm->clocks[i].host_tsc)
			return &vm->clocks[i];
	return NULL;
}

/* New lists take the place of the old ones; @clocks without host_tsc are none. */
static void replace(struct vmp_vm *vm, struct vmp_vcpu *vcpus, struct vmprof_cap_clock *clocks,
		    int nr, uint64_t tsc, uint64_t took_tsc)
{
	int i;

	for (i = 0; i < nr; i++) {
		clocks[i].host_tsc = tsc;
		clocks[i].vcpu = vcpus[i].id;
		clocks[i].error_tsc = vmp_clock_error(&clocks[i], last_clock(vm, vcpus[i].id),
						      took_tsc);
	}
	free(vm->vcpus);
	free(vm->clocks);
	vm->vcpus = vcpus;
	vm->clocks = clocks;
	vm->nr_vcpus = nr;
}

static int allocate(int nr, struct vmp_vcpu **vcpus, struct vmprof_cap_clock **clocks)
{
	*vcpus = calloc(nr ? nr : 1, sizeof(**vcpus));
	*clocks = calloc(nr ? nr : 1, sizeof(**clocks));
	if (*vcpus && *clocks)
		return 0;
	free(*vcpus);
	free(*clocks);
	return -ENOMEM;
}

static int read_debugfs(const struct vmp_vm *vm, struct vmp_debugfs_vcpu **list)
{
	int nr;

	*list = calloc(VMP_QMP_VCPUS_MAX, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	nr = vmp_debugfs_vcpus(VMP_DEBUGFS_KVM, vm->dom.pid, *list, VMP_QMP_VCPUS_MAX);
	if (nr > 0)
		return nr;
	free(*list);
	*list = NULL;
	return nr ? nr : -ENOENT;
}

/* KVM's number of the vCPU whose thread is @tid: QEMU's index, unless debugfs knows better. */
static uint32_t kvm_id(const struct vmp_debugfs_vcpu *list, int nr, uint32_t tid, uint32_t index)
{
	int i;

	for (i = 0; i < nr; i++)
		if (list[i].tid == tid)
			return list[i].id;
	return index;
}

/* vCPUs as QEMU tells them; with their clocks if all of them have one. */
static int take_cpus(struct vmp_vm *vm, const struct vmp_qmp *q, uint64_t tsc, uint64_t took_tsc)
{
	struct vmp_debugfs_vcpu *known = NULL;
	struct vmprof_cap_clock *clocks;
	struct vmp_vcpu *vcpus;
	int i, nr, have_clock = 1, err;

	err = allocate(q->nr_vcpus, &vcpus, &clocks);
	if (err)
		return err;
	nr = read_debugfs(vm, &known);
	for (i = 0; i < q->nr_vcpus; i++) {
		const struct vmp_qmp_vcpu *v = &q->vcpus[i];

		vcpus[i].id = kvm_id(known, nr, v->tid, v->index);
		vcpus[i].tid = v->tid;
		clocks[i].offset = (uint64_t)v->tsc_offset;
		clocks[i].ratio = v->tsc_ratio;
		clocks[i].frac_bits = v->frac_bits;
		have_clock &= v->has_clock;
	}
	free(known);
	replace(vm, vcpus, clocks, q->nr_vcpus, have_clock ? tsc : 0, took_tsc);
	return have_clock;
}

int vmp_vm_take_qmp(struct vmp_vm *vm, const char *text, size_t len, uint64_t tsc,
		    uint64_t took_tsc)
{
	struct vmp_qmp q;
	int err;

	err = vmp_qmp_vmprof(text, len, &q);
	if (err)
		return err;
	vm->patched = 1;
	err = take_cpus(vm, &q, tsc, took_tsc);
	if (err == 1)
		vm->source = VMP_CLOCK_QMP;
	vm->ram_moved = vm->nr_ram != q.nr_ram ||
			(q.nr_ram && memcmp(vm->ram, q.ram, q.nr_ram * sizeof(*q.ram)));
	free(vm->ram);
	vm->ram = q.ram;
	vm->nr_ram = q.nr_ram;
	q.ram = NULL;
	vm->port_open = q.has_port ? q.guest_open : -1;
	vmp_qmp_free(&q);
	return err < 0 ? err : 0;
}

int vmp_vm_take_debugfs(struct vmp_vm *vm)
{
	struct vmprof_cap_clock *clocks;
	struct vmp_debugfs_vcpu *list;
	struct vmp_vcpu *vcpus;
	uint64_t before = vmp_tsc_now(), after;
	int i, nr, err;

	nr = read_debugfs(vm, &list);
	after = vmp_tsc_now();
	if (nr < 0)
		return nr;
	err = allocate(nr, &vcpus, &clocks);
	if (err)
		goto free_list;
	for (i = 0; i < nr; i++) {
		vcpus[i].id = list[i].id;
		/* this kernel may not tell the thread: keep what QEMU told */
		vcpus[i].tid = list[i].tid ? list[i].tid :
			       i < vm->nr_vcpus ? vm->vcpus[i].tid : 0;
		clocks[i].offset = (uint64_t)list[i].tsc_offset;
		clocks[i].ratio = list[i].tsc_ratio;
		clocks[i].frac_bits = list[i].frac_bits;
	}
	replace(vm, vcpus, clocks, nr, after, after - before);
	vm->source = VMP_CLOCK_DEBUGFS;
free_list:
	free(list);
	return err;
}

static int by_qmp(struct vmp_vm *vm, virConnectPtr conn)
{
	uint64_t before, after;
	char *reply;
	int i, err = 0;

	/* twice: the second reading says whether the clock stands still */
	for (i = 0; i < 2 && !err; i++) {
		before = vmp_tsc_now();
		if (vmp_domain_qmp(conn, &vm->dom, "{\"execute\":\"query-vmprof\"}", &reply))
			return -EIO;
		after = vmp_tsc_now();
		err = vmp_vm_take_qmp(vm, reply, strlen(reply), after, after - before);
		free(reply);
	}
	return err;
}

static int by_cpus_fast(struct vmp_vm *vm, virConnectPtr conn)
{
	struct vmp_qmp q;
	char *reply;
	int err;

	if (vmp_domain_qmp(conn, &vm->dom, "{\"execute\":\"query-cpus-fast\"}", &reply))
		return -EIO;
	err = vmp_qmp_cpus_fast(reply, strlen(reply), &q);
	free(reply);
	if (err)
		return err;
	err = take_cpus(vm, &q, 0, 0);
	vmp_qmp_free(&q);
	return err < 0 ? err : 0;
}

static void read_clock(struct vmp_vm *vm, virConnectPtr conn)
{
	int err = by_qmp(vm, conn);

	if (!err && vm->source == VMP_CLOCK_QMP)
		return;
	if (err == -ENOSYS)
		vmp_info("%s: its QEMU has no query-vmprof; reading KVM's debugfs instead",
			 vm->dom.shown);
	else if (err)
		vmp_warn("%s: QEMU's answer to query-vmprof is of no use (%s); reading KVM's debugfs instead",
			 vm->dom.shown, err == -EIO ? vmp_libvirt_error() : strerror(-err));
	if (!vm->nr_vcpus && by_cpus_fast(vm, conn))
		vmp_warn("%s: QEMU does not tell its vCPU threads: %s", vm->dom.shown,
			 vmp_libvirt_error());
	if (!vmp_vm_take_debugfs(vm)) {
		vmp_vm_take_debugfs(vm);	/* as above: does it stand still? */
		return;
	}
	vm->source = VMP_CLOCK_DRIVER;
	vmp_warn("%s: KVM's debugfs does not tell its clock either; the module's own records must do\n"
		 "  mount -t debugfs none /sys/kernel/debug mends it", vm->dom.shown);
}

/* ------------------------------------------------------ life of a VM */

int vmp_vm_create(struct vmp_vm **out, struct vmp_session *s, const struct vmp_domain *d,
		  virConnectPtr conn)
{
	struct vmp_vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->session = s;
	vm->dom = *d;
	vm->port_open = d->xml.port == VMP_PORT_UNKNOWN ? -1 : d->xml.port == VMP_PORT_OPEN;
	vm->source = VMP_CLOCK_DRIVER;
	vm->agent.fd = -1;
	vmp_early_init(vm);
	vmp_fetch_init(&vm->fetch);
	if (s)
		vm->objects = vmp_objects_of(&s->opts->objects, d->name);
	vm->fetch.verify = vm->objects.way == VMP_OBJECTS_SSH;
	vm->pidfd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	if (vm->pidfd < 0) {
		err = -errno;
		vmp_err("%s: its QEMU, process %u, is gone", d->shown, d->pid);
		free(vm);
		return err;
	}
	if (conn)
		read_clock(vm, conn);
	else
		vmp_vm_take_debugfs(vm);
	*out = vm;
	return 0;
}

void vmp_vm_free(struct vmp_vm *vm)
{
	if (!vm)
		return;
	if (vm->agent.fd >= 0)
		close(vm->agent.fd);
	if (vm->pidfd >= 0)
		close(vm->pidfd);
	vmp_sftp_close(vm->sftp);
	vmp_kept_drop(&vm->kept);
	vmp_fetch_free(&vm->early);
	vmp_fetch_free(&vm->fetch);
	free(vm->vcpus);
	free(vm->clocks);
	free(vm->ram);
	vmp_tasks_forget(&vm->tasks);
	free(vm->batch);
	free(vm);
}

void vmp_vm_json(const struct vmp_vm *vm, FILE *out)
{
	int i;

	fputs("{\"name\":", out);
	vmp_json_str(out, vm->dom.name);
	fprintf(out, ",\"uuid\":\"%s\",\"pid\":%u,\"clock_source\":\"%s\",\"agent\":%s,\"vcpus\":[",
		vm->dom.uuid, vm->dom.pid, vmp_clock_source_name(vm->source),
		vm->agent.counts.hellos && vm->agent.state != VMP_AGENT_REFUSED ? "true" : "false");
	for (i = 0; i < vm->nr_vcpus; i++)
		fprintf(out, "%s{\"id\":%u,\"tid\":%u}", i ? "," : "", vm->vcpus[i].id,
			vm->vcpus[i].tid);
	fprintf(out, "],\"objects\":\"%s\",\"tasks\":\"%s\",\"ram\":[", vmp_objects_name(vm->objects.way),
		vmp_tasks_state_name(vm->tasks.state));
	for (i = 0; i < vm->nr_ram; i++)
		fprintf(out, "%s{\"gpa\":%" PRIu64 ",\"size\":%" PRIu64 ",\"hva\":%" PRIu64 "}",
			i ? "," : "", vm->ram[i].gpa, vm->ram[i].bytes, vm->ram[i].hva);
	fputs("]}", out);
}

void vmp_vm_clock_check(struct vmp_vm *vm)
{
	const struct vmprof_cap_clock *c = vm->nr_vcpus ? &vm->clocks[0] : NULL;
	uint64_t host, before, after, bound;

	if (!c || !c->host_tsc || !vm->agent.echo.got_tsc)
		return;
	host = vmp_guest_to_host(c, vm->agent.echo.guest_tsc);
	if (host + c->error_tsc < vm->agent.echo.sent_tsc ||
	    host > vm->agent.echo.got_tsc + c->error_tsc) {
		vm->agent.counts.clock_wrong++;
		return;
	}
	before = host - vm->agent.echo.sent_tsc;
	after = vm->agent.echo.got_tsc - host;
	bound = (int64_t)before > (int64_t)after ? before : after;
	if (!vm->echo_bound_tsc || bound < vm->echo_bound_tsc)
		vm->echo_bound_tsc = bound;
}
