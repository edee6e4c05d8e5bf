// SPDX-License-Identifier: GPL-2.0-only
/* origin.c - one rule for whose a sample is, for all that counts samples. */
#include "report/origin.h"

#include <string.h>

#include "model/hosttext.h"

void vmp_origin_from(const struct vmp_hit *hit, const struct vmprof_sample *s, struct vmp_origin *o,
		     uint64_t *addr)
{
	*o = (struct vmp_origin){
		.kind = hit->kind, .vm = hit->vm, .epoch = hit->epoch, .image = hit->image,
		.version = hit->version, .shared = hit->shared, .who = hit->who,
		.era = hit->kind == VMP_KIND_GUEST_KERNEL ? hit->era : 0,
	};
	if (hit->who == VMP_WHO_KTHREAD || hit->who == VMP_WHO_TASK)
		o->task = hit->task + 1;
	if (hit->who == VMP_WHO_KTHREAD)
		o->image = VMP_NONE;	/* it only borrows the CR3 */
	*addr = hit->addr;
	if (hit->kind == VMP_KIND_VMM_USER || hit->kind == VMP_KIND_OTHER_USER ||
	    hit->kind == VMP_KIND_OTHER_KERNEL)
		o->tgid = s->host_pid;
	if (hit->kind == VMP_KIND_STEAL || hit->kind == VMP_KIND_IDLE)
		*addr = 0;	/* one row, whatever ran there */
}

uint32_t vmp_origin_vcpu(const struct vmp_model *m, const struct vmprof_sample *s)
{
	uint32_t tid = s->flags & VMPROF_SF_STEAL ? s->vcpu_tid : s->host_tid;
	const uint32_t *v;

	if (s->flags & VMPROF_SF_VCPU)
		return s->vcpu;
	v = vmp_hash_find(&m->vcpu_by_tid, tid);
	return v ? *v : VMP_NONE;
}

enum vmp_side vmp_origin_side(uint32_t kind)
{
	switch (kind) {
	case VMP_KIND_GUEST_KERNEL:
		return VMP_SIDE_KERNEL;
	case VMP_KIND_GUEST_USER:
	case VMP_KIND_GUEST_NESTED:
		return VMP_SIDE_USER;
	case VMP_KIND_VMM_KERNEL:
	case VMP_KIND_VMM_USER:
		return VMP_SIDE_VMM;
	case VMP_KIND_STEAL:
		return VMP_SIDE_STEAL;
	}
	return VMP_SIDE_HOST;
}

static uint32_t word(struct vmp_model *m, const char *s, int *err)
{
	return vmp_strings_add(&m->strings, s, strlen(s), err);
}

static int fixed(struct vmp_model *m, struct vmp_place *place, const char *function, const char *module)
{
	int err = 0;

	place->function = word(m, function, &err);
	place->module = word(m, module, &err);
	return err;
}

int vmp_origin_resolve(struct vmp_model *m, const struct vmp_origin *o, uint64_t addr,
		       struct vmp_place *place)
{
	struct vmp_machine *vm = o->vm == VMP_NONE ? NULL : &m->vms.v[o->vm];

	place->why = VMP_WHY_OK;
	switch (o->kind) {
	case VMP_KIND_GUEST_KERNEL:
		return vmp_resolve_guest_kernel(m, vm, o->epoch, o->era, addr, place);
	case VMP_KIND_GUEST_USER:
		return vmp_resolve_guest_user(m, vm, o->epoch, o->image, o->version, addr, place);
	case VMP_KIND_GUEST_NESTED:
		place->why = VMP_WHY_NESTED;
		return fixed(m, place, "[nested guest]", "[nested guest]");
	case VMP_KIND_VMM_KERNEL:
	case VMP_KIND_OTHER_KERNEL:
		return vmp_resolve_host_kernel(m, addr, place);
	case VMP_KIND_VMM_USER:
	case VMP_KIND_OTHER_USER:
		return vmp_resolve_host_user(m, o->tgid, addr, place);
	case VMP_KIND_STEAL:
		if (o->tgid)
			return addr >> 63 ? vmp_resolve_host_kernel(m, addr, place)
					  : vmp_resolve_host_user(m, o->tgid, addr, place);
		return fixed(m, place, "[steal]", "(outside)");
	}
	return fixed(m, place, "[idle]", "[host kernel]");
}

static int guest_owner(struct vmp_model *m, const struct vmp_origin *o, const struct vmp_place *place,
		       struct vmp_owner *owner)
{
	const struct vmp_space *space = &m->vms.v[o->vm].space;
	const struct vmp_guest_task *task;
	const struct vmp_image *im;
	int err = 0;

	if (o->task) {
		task = &m->vms.v[o->vm].seen.tasks.v[o->task - 1];
		owner->comm = task->comm;
		owner->pid = task->tgid;
		return 0;
	}
	/* idle tasks borrow the CR3 of whoever ran before them */
	if (o->kind == VMP_KIND_GUEST_KERNEL && place->idle) {
		owner->comm = word(m, "swapper", &err);
		owner->pid = 0;
	} else if (o->image == VMP_NONE || o->shared == 1) {
		owner->comm = word(m, "[unknown]", &err);
	} else {
		im = &space->images.v[o->image];
		owner->comm = im->comm;
		if (o->shared)
			return 0;
		owner->pid = space->procs.v[im->proc].tgid;
		owner->nspid = im->nspid ? im->nspid : VMP_NONE;
		owner->cgroup = im->cgroup;
	}
	return err;
}

int vmp_origin_owner(struct vmp_model *m, const struct vmp_origin *o, const struct vmp_place *place,
		     struct vmp_owner *owner)
{
	const struct vmp_host_proc *host;
	int err = 0;

	*owner = (struct vmp_owner){ .pid = VMP_NONE, .nspid = VMP_NONE };
	if (vmp_origin_is_guest(o->kind))
		return guest_owner(m, o, place, owner);
	if (o->kind == VMP_KIND_VMM_KERNEL || o->kind == VMP_KIND_VMM_USER) {
		owner->comm = word(m, "[VMM]", &err);
	} else if (o->kind == VMP_KIND_OTHER_KERNEL || o->kind == VMP_KIND_OTHER_USER || o->tgid) {
		host = vmp_host_proc(m, o->tgid);
		owner->comm = host ? host->comm : word(m, "[unknown]", &err);
		owner->pid = o->tgid;
	}
	return err;
}
