// SPDX-License-Identifier: GPL-2.0-only
/* classify.c - from a sample's fields to what it hit. */
#include "model/classify.h"

static void look_up(const struct vmp_machine *vm, uint64_t cr3, uint64_t tsc, struct vmp_residence *r)
{
	const struct vmp_space *space = &vm->space;

	r->valid = (struct vmp_tsc_span){ 0, UINT64_MAX };
	r->epoch = vmp_space_epoch_at(space, tsc);
	r->image = vmp_space_owner_span(space, cr3, tsc, &r->valid);
	r->version = r->image == VMP_NONE ? 0 : vmp_space_version_span(space, r->image, tsc, &r->valid);
	r->era = r->epoch < vm->boots.nr ? vmp_kernel_era(&vm->boots.v[r->epoch].kernel, tsc, &r->valid) : 0;
}

#define EXIT_PATH_MS	1000	/* kernel work of an exit, and on the page tables it left behind */

/*
 * Whether an image had ended for good: what runs on its CR3 then is another's
 * whose beginning was not told.  User code ends with the image; the kernel
 * goes on for a while on the page tables of a process that has exited.  Where CR3s were
 * inferred, the next one's beginning may never be known: then nobody has them.
 */
static int is_over(const struct vmp_model *m, const struct vmp_machine *vm, uint32_t image,
		   const struct vmprof_sample *s)
{
	const struct vmp_image *im = &vm->space.images.v[image];
	uint64_t end = im->end, grace = vm->clock.error_tsc;

	if (s->tsc <= end)
		return 0;
	if (s->cpl != 3 && !vm->space.epochs.v[vm->space.procs.v[im->proc].epoch].without_cr3)
		grace += (uint64_t)m->header.tsc_khz * EXIT_PATH_MS;
	return s->tsc - end > grace;
}

/*
 * Whether an image cannot have run there before it was told of: another one had the CR3, and
 * nobody told of that one. Where none of its mappings is known nothing speaks against it.
 */
static int is_before(const struct vmp_machine *vm, uint32_t image, uint32_t version,
		     const struct vmprof_sample *s)
{
	const struct vmp_image *im = &vm->space.images.v[image];

	return s->cpl == 3 && s->tsc < im->told && im->maps.nr &&
	       !vmp_space_map(&vm->space, image, version, s->guest_ip);
}

/* By the address, where the agent ran without its module and nothing is known of the CR3 */
static void infer(const struct vmp_machine *vm, const struct vmprof_sample *s, struct vmp_hit *hit)
{
	struct vmp_inferred found;

	if (hit->kind != VMP_KIND_GUEST_USER || !vm->infer.known.nr)
		return;
	found = vmp_infer_find(&vm->infer, &vm->space, s->guest_ip, s->tsc);
	/* one that is alone was learned, or it contradicts itself */
	if (found.image == VMP_NONE || !found.shared)
		return;
	hit->image = found.image;
	hit->shared = (uint32_t)found.shared;
	hit->version = vmp_space_version(&vm->space, found.image, s->tsc);
}

/* Did this boot say where it keeps its tasks?  Before that, a sample's is another boot's. */
static int is_told(const struct vmp_machine *vm, uint32_t epoch, const struct vmprof_sample *s)
{
	uint64_t since = epoch < vm->boots.nr ? vm->boots.v[epoch].tasks_tsc : 0;

	return since && s->tsc + vm->clock.error_tsc >= since;
}

/* As it was found before on this CR3, or anew */
static uint32_t task_of(const struct vmp_machine *vm, const struct vmprof_sample *s, struct vmp_residence *r)
{
	if (r->pcpu != s->hdr.pcpu || r->tid != s->guest_tid || s->tsc < r->seen.from || s->tsc >= r->seen.to) {
		r->pcpu = s->hdr.pcpu;
		r->tid = s->guest_tid;
		r->task = vmp_seen_find(&vm->seen, s, &r->seen);
	}
	return r->task;
}

/* What current says of a sample whose CR3 has been asked: see enum vmp_who */
static enum vmp_who look_task(const struct vmp_machine *vm, const struct vmprof_sample *s,
			      struct vmp_residence *r, struct vmp_hit *hit)
{
	static const enum vmp_who cause[VMPROF_TASK_NR] = {
		[VMPROF_TASK_OFF] = VMP_WHO_OFF, [VMPROF_TASK_NO_CPU] = VMP_WHO_NO_CPU,
		[VMPROF_TASK_NO_READ] = VMP_WHO_NO_READ, [VMPROF_TASK_OUTSIDE] = VMP_WHO_OUTSIDE,
		[VMPROF_TASK_NO_TASK] = VMP_WHO_NO_TASK,
	};
	/* where several processes are meant, nothing is known of the CR3 */
	const int is_owned = hit->image != VMP_NONE && !hit->shared;
	const struct vmp_guest_task *t;
	uint32_t task;

	if (!is_told(vm, hit->epoch, s))
		return s->guest_task == VMPROF_TASK_OFF ? VMP_WHO_OFF : VMP_WHO_UNTOLD;
	if (s->guest_task != VMPROF_TASK_KNOWN)
		return s->guest_task < VMPROF_TASK_NR ? cause[s->guest_task] : VMP_WHO_NO_TASK;
	task = task_of(vm, s, r);
	if (task == VMP_NONE)
		return VMP_WHO_NO_RECORD;
	t = &vm->seen.tasks.v[task];
	if (t->is_kthread && hit->kind != VMP_KIND_GUEST_KERNEL)
		return VMP_WHO_OTHER;
	if (!t->is_kthread && is_owned &&
	    vm->space.procs.v[vm->space.images.v[hit->image].proc].tgid != t->tgid)
		return VMP_WHO_OTHER;
	hit->task = task;
	if (t->is_kthread)
		return VMP_WHO_KTHREAD;
	return is_owned ? VMP_WHO_SAME : VMP_WHO_TASK;
}

/* What is known of the CR3 at the time, for this sample */
static void take(const struct vmp_model *m, const struct vmp_residence *r,
		 const struct vmprof_sample *s, struct vmp_hit *hit)
{
	const struct vmp_machine *vm = &m->vms.v[hit->vm];

	hit->epoch = r->epoch;
	hit->era = r->era;
	if (r->image == VMP_NONE || is_over(m, vm, r->image, s) || is_before(vm, r->image, r->version, s)) {
		infer(vm, s, hit);
		return;
	}
	hit->image = r->image;
	hit->version = hit->kind == VMP_KIND_GUEST_USER ? r->version : 0;
}

static struct vmp_residence *residence(const struct vmp_model *m, struct vmp_residence *cache,
				       const struct vmprof_sample *s, uint32_t vm)
{
	uint64_t h = (s->guest_cr3 ^ (uint64_t)vm << 40) * 0x9e3779b97f4a7c15ULL;
	struct vmp_residence *r = &cache[h >> 32 & (VMP_RESIDENCES - 1)];

	if (r->cr3 != s->guest_cr3 || r->vm != vm || s->tsc < r->valid.from || s->tsc >= r->valid.to) {
		*r = (struct vmp_residence){ .cr3 = s->guest_cr3, .vm = vm };
		look_up(&m->vms.v[vm], s->guest_cr3, s->tsc, r);
	}
	return r;
}

/* The kind by the mode that the sampler decided on */
static enum vmp_kind kind_of(const struct vmprof_sample *s)
{
	switch (s->mode) {
	case VMPROF_MODE_GUEST:
		if (s->flags & VMPROF_SF_NESTED)
			return VMP_KIND_GUEST_NESTED;
		return s->cpl == 3 ? VMP_KIND_GUEST_USER : VMP_KIND_GUEST_KERNEL;
	case VMPROF_MODE_VMM_KERNEL:
		return VMP_KIND_VMM_KERNEL;
	case VMPROF_MODE_VMM_USER:
		return VMP_KIND_VMM_USER;
	case VMPROF_MODE_OTHER_KERNEL:
		return s->flags & VMPROF_SF_STEAL ? VMP_KIND_STEAL : VMP_KIND_OTHER_KERNEL;
	case VMPROF_MODE_OTHER_USER:
		return s->flags & VMPROF_SF_STEAL ? VMP_KIND_STEAL : VMP_KIND_OTHER_USER;
	}
	return VMP_KIND_IDLE;
}

int vmp_classify_known(const struct vmp_model *m, struct vmp_residence *cache,
		       const struct vmprof_sample *s, struct vmp_hit *hit, struct vmp_residence **out)
{
	enum vmp_kind kind = kind_of(s);

	*hit = (struct vmp_hit){
		.kind = kind, .vm = VMP_NONE, .epoch = VMP_NONE, .image = VMP_NONE, .task = VMP_NONE,
		.addr = s->host_ip,
	};
	*out = NULL;
	if (kind == VMP_KIND_IDLE || kind == VMP_KIND_OTHER_KERNEL || kind == VMP_KIND_OTHER_USER)
		return 0;
	hit->vm = vmp_model_vm(m, s->vm);
	if (hit->vm == VMP_NONE)
		return -ENOENT;
	if (kind > VMP_KIND_GUEST_NESTED)
		return 0;
	hit->addr = s->guest_ip;
	if (kind == VMP_KIND_GUEST_NESTED)
		return 0;
	*out = residence(m, cache, s, hit->vm);
	take(m, *out, s, hit);
	hit->who = look_task(&m->vms.v[hit->vm], s, *out, hit);
	return 0;
}

int vmp_classify(struct vmp_model *m, const struct vmprof_sample *s, struct vmp_hit *hit)
{
	enum vmp_kind kind = kind_of(s);
	struct vmp_residence r = { 0 };
	int err;

	*hit = (struct vmp_hit){
		.kind = kind, .vm = VMP_NONE, .epoch = VMP_NONE, .image = VMP_NONE, .task = VMP_NONE,
		.addr = kind <= VMP_KIND_GUEST_NESTED ? s->guest_ip : s->host_ip,
	};
	if (kind == VMP_KIND_IDLE || kind == VMP_KIND_OTHER_KERNEL || kind == VMP_KIND_OTHER_USER)
		return 0;
	err = vmp_model_add_vm(m, s->vm, &hit->vm);
	if (err || kind >= VMP_KIND_GUEST_NESTED)
		return err;
	look_up(&m->vms.v[hit->vm], s->guest_cr3, s->tsc, &r);
	take(m, &r, s, hit);
	hit->who = look_task(&m->vms.v[hit->vm], s, &r, hit);
	return 0;
}
