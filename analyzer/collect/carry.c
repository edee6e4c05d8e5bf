// SPDX-License-Identifier: GPL-2.0-only
/* carry.c - see carry.h. */
#include "collect/carry.h"

#include <errno.h>
#include <string.h>

#include "collect/clock.h"
#include "collect/sftp.h"
#include "util/log.h"
#include "util/units.h"

uint64_t vmp_carry_begin(struct vmp_vm *vm)
{
	const struct vmp_objects *o = &vm->objects;
	uint64_t bytes = 0;
	char size[32];
	int i, nr = 0;

	for (i = 0; i < vm->fetch.nr; i++) {
		if (vm->fetch.items[i].have || vm->fetch.items[i].elsewhere)
			continue;
		nr++;
		bytes += vm->fetch.items[i].bytes;
	}
	if (!nr || o->way == VMP_OBJECTS_NONE)
		return 0;
	vmp_info("%s: fetching %d binaries for their symbols, %s%s%s", vm->dom.shown, nr,
		 vmp_format_size(size, sizeof(size), bytes),
		 o->way == VMP_OBJECTS_SSH ? ", by ssh from " : "", o->way == VMP_OBJECTS_SSH ? o->host : "");
	return bytes;
}

/* Give up what the agent does not send.  Kernel symbols go first: while they come, a binary is not late */
static void tick_agent(struct vmp_vm *vm, uint64_t now_ns)
{
	if (!vm->agent.ksyms_whole && vm->agent.heard_ns > vm->fetch.heard_ns)
		vm->fetch.heard_ns = vm->agent.heard_ns;
	vmp_fetch_tick(&vm->fetch, now_ns);
}

static void by_agent(struct vmp_vm *vm, uint64_t now_ns)
{
	struct vmp_msg_get_object ask;

	if (vm->agent.state != VMP_AGENT_DONE)
		vmp_fetch_abort(&vm->fetch, -ECANCELED);
	tick_agent(vm, now_ns);
	if (vmp_fetch_next(&vm->fetch, now_ns, &ask))
		vmp_agent_get(&vm->agent, &ask);
}

/* With ssh: the current one is asked of the agent.  What lies in no file of the guest (the vdso) only it can send, and
   what lies at its path in the guest's own root no more, or in a container's only, it may have in another way */
static int is_agents(const struct vmp_fetch *f)
{
	return f->fd >= 0 && (f->second || *vmp_fetch_path(f) != '/');
}

static int take_from_ssh(void *arg, const struct vmp_msg_object *o)
{
	struct vmp_vm *vm = arg;

	/* the rest of a file that was not the right one */
	if (is_agents(&vm->fetch))
		return 0;
	return vmp_fetch_object(&vm->fetch, o, vmp_now_ns()) && vmp_fetch_goes_on(&vm->fetch);
}

static void hang_up(struct vmp_vm *vm)
{
	vmp_sftp_close(vm->sftp);
	vm->sftp = NULL;
}

static void give_up_ssh(struct vmp_vm *vm, int err, const char *why)
{
	vmp_warn("%s: ssh to %s: %s\n"
		 "  what it must do without a question: ssh -o BatchMode=yes %s%s%s%s%s -s -- %s sftp", vm->dom.shown,
		 vm->objects.host, why, *vm->objects.port ? "-p " : "", vm->objects.port,
		 *vm->objects.port ? " " : "", *vm->objects.user ? "-l " : "", vm->objects.user, vm->objects.host);
	vmp_fetch_abort(&vm->fetch, err == -ETIMEDOUT ? err : -ECANCELED);
}

/* Return: 1 there is a connection, or one is being made */
static int have_ssh(struct vmp_vm *vm, uint64_t now_ns)
{
	int err;

	if (vm->sftp)
		return 1;
	err = vmp_sftp_open(&vm->sftp, &vm->objects, now_ns, take_from_ssh, vm);
	if (err)
		give_up_ssh(vm, err, err == -ESRCH ? "there is no such user as called sudo" : strerror(-err));
	return !err;
}

static int anything_to_fetch(const struct vmp_fetch *f)
{
	int i;

	for (i = f->at; i < f->nr; i++)
		if (!f->items[i].have)
			return 1;
	return 0;
}

static void ask_by_ssh(struct vmp_vm *vm, const struct vmp_msg_get_object *ask, uint64_t now_ns)
{
	const struct vmp_msg_object none = { .file = ask->file, .status = ENOENT };

	if (!is_agents(&vm->fetch))
		vmp_sftp_get(vm->sftp, ask, vmp_fetch_path(&vm->fetch));
	else if (vm->agent.state == VMP_AGENT_DONE)
		vmp_agent_get(&vm->agent, ask);
	else
		vmp_fetch_object(&vm->fetch, &none, now_ns);
}

static void by_ssh(struct vmp_vm *vm, uint64_t now_ns)
{
	struct vmp_msg_get_object ask;
	char why[512];
	int state;

	/* the debug files of binaries that the cache had before can wait for another session */
	if (!vm->sftp && !anything_to_fetch(&vm->fetch))
		vmp_fetch_abort(&vm->fetch, -ECANCELED);
	if (vmp_fetch_done(&vm->fetch) || !have_ssh(vm, now_ns))
		return;
	state = vmp_sftp_state(vm->sftp, now_ns);
	vm->fetch.second_way = vm->agent.state == VMP_AGENT_DONE;
	/* ssh's answers come in order: after one that does not come there is none */
	if (is_agents(&vm->fetch))
		tick_agent(vm, now_ns);
	else if (state == 1 && vmp_fetch_tick(&vm->fetch, now_ns))
		state = -ETIMEDOUT;
	if (state < 0)
		give_up_ssh(vm, state, vmp_sftp_why(vm->sftp, why, sizeof(why)));
	else if (state == 1 && vmp_fetch_next(&vm->fetch, now_ns, &ask))
		ask_by_ssh(vm, &ask, now_ns);
}

int vmp_carry_step(struct vmp_vm *vm, uint64_t now_ns)
{
	if (vm->gone)
		vmp_fetch_abort(&vm->fetch, -ECANCELED);
	switch (vm->objects.way) {
	case VMP_OBJECTS_AGENT:
		by_agent(vm, now_ns);
		break;
	case VMP_OBJECTS_NONE:
		vmp_fetch_abort(&vm->fetch, -EPERM);
		break;
	case VMP_OBJECTS_SSH:
		by_ssh(vm, now_ns);
		break;
	}
	if (!vmp_fetch_done(&vm->fetch))
		return 0;
	hang_up(vm);
	return 1;
}

struct pollfd vmp_carry_poll(const struct vmp_vm *vm)
{
	struct pollfd p = { .fd = -1 };

	if (vm->sftp)
		p.fd = vmp_sftp_fd(vm->sftp, &p.events);
	return p;
}

void vmp_carry_ready(struct vmp_vm *vm)
{
	if (vm->sftp)
		vmp_sftp_ready(vm->sftp);
}

void vmp_carry_end(struct vmp_vm *vm)
{
	vmp_fetch_abort(&vm->fetch, -ETIMEDOUT);
	hang_up(vm);
}
