// SPDX-License-Identifier: GPL-2.0-only
/* classify.c - from a sample's fields to what it hit. */
#include "model/classify.h"

#define EXIT_PATH_MS	1000	/* kernel work of an exit, and on the page tables it left behind */

/*
 * Whether an image had ended for good: what runs on its CR3 then is another's
 * whose beginning was not told.  User code ends with the image; the kernel
 * goes on for a while on the page tables of a process that has exited.
 */
static int is_over(const struct vmp_model *m, const struct vmp_machine *vm, uint32_t image,
		   const struct vmprof_sample *s)
{
	uint64_t end = vm->space.images.v[image].end, grace = vm->clock.error_tsc;

	if (s->tsc <= end)
		return 0;
	if (s->cpl != 3)
		grace += (uint64_t)m->header.tsc_khz * EXIT_PATH_MS;
	return s->tsc - end > grace;
}

static void guest(struct vmp_model *m, const struct vmprof_sample *s, struct vmp_hit *hit)
{
	struct vmp_machine *vm = &m->vms.v[hit->vm];
	struct vmp_space *space = &vm->space;

	hit->addr = s->guest_ip;
	if (s->flags & VMPROF_SF_NESTED) {
		hit->kind = VMP_KIND_GUEST_NESTED;
		return;
	}
	hit->kind = s->cpl == 3 ? VMP_KIND_GUEST_USER : VMP_KIND_GUEST_KERNEL;
	hit->epoch = vmp_space_epoch_at(space, s->tsc);
	hit->image = vmp_space_owner(space, s->guest_cr3, s->tsc);
	if (hit->image != VMP_NONE && is_over(m, vm, hit->image, s))
		hit->image = VMP_NONE;
	if (hit->kind == VMP_KIND_GUEST_USER && hit->image != VMP_NONE)
		hit->version = vmp_space_version(space, hit->image, s->tsc);
}

int vmp_classify(struct vmp_model *m, const struct vmprof_sample *s, struct vmp_hit *hit)
{
	int err = 0;

	*hit = (struct vmp_hit){
		.vm = VMP_NONE, .epoch = VMP_NONE, .image = VMP_NONE, .addr = s->host_ip,
	};
	switch (s->mode) {
	case VMPROF_MODE_GUEST:
		err = vmp_model_add_vm(m, s->vm, &hit->vm);
		if (!err)
			guest(m, s, hit);
		return err;
	case VMPROF_MODE_VMM_KERNEL:
	case VMPROF_MODE_VMM_USER:
		hit->kind = s->mode == VMPROF_MODE_VMM_USER ? VMP_KIND_VMM_USER : VMP_KIND_VMM_KERNEL;
		return vmp_model_add_vm(m, s->vm, &hit->vm);
	case VMPROF_MODE_OTHER_KERNEL:
	case VMPROF_MODE_OTHER_USER:
		hit->kind = s->mode == VMPROF_MODE_OTHER_USER ? VMP_KIND_OTHER_USER :
								VMP_KIND_OTHER_KERNEL;
		if (!(s->flags & VMPROF_SF_STEAL))
			return 0;
		hit->kind = VMP_KIND_STEAL;
		return vmp_model_add_vm(m, s->vm, &hit->vm);
	}
	hit->kind = VMP_KIND_IDLE;
	return 0;
}
