/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * origin.h - where samples come from: what makes one address mean the same,
 * whose time it was, and which process that was.
 */
#ifndef VMP_ORIGIN_H
#define VMP_ORIGIN_H

#include "model/classify.h"
#include "model/resolve.h"

/* What a sample's time was; also the order of a report's head line */
enum vmp_side {
	VMP_SIDE_KERNEL,	/* guest kernel */
	VMP_SIDE_USER,		/* guest user */
	VMP_SIDE_VMM,		/* the VM's QEMU, in KVM or in user space */
	VMP_SIDE_STEAL,		/* others, while a vCPU of this VM waited */
	VMP_SIDE_HOST,		/* others, for no VM */
	VMP_SIDE_NR
};

/* Samples of one origin and address have one function; no padding: it is hashed as bytes */
struct vmp_origin {
	uint32_t kind;		/* enum vmp_kind */
	uint32_t vm, epoch, image, version, shared;	/* as in struct vmp_hit */
	uint32_t era;		/* the same, where kernel code is meant */
	uint32_t tgid;		/* host code of a process: whose; else 0.  Steal with one has the place of
				   what ran, without one no place */
	uint32_t task;		/* guest: vmp_hit.task + 1, where the CR3 does not tell whose process it is
				   (VMP_WHO_KTHREAD, VMP_WHO_TASK); else 0 */
	uint32_t who;		/* guest: enum vmp_who */
};

struct vmp_owner {
	uint32_t comm;		/* string number; brackets: vmprof's own words, 0 steal */
	uint32_t pid;		/* VMP_NONE: not known, or none */
	uint32_t nspid;		/* the same, in its own pid namespace */
	uint32_t cgroup;	/* string number, 0: not known, or none */
};

/** vmp_origin_from() - Of a classified sample; @addr as vmp_hit.addr, 0 where it says nothing. */
void vmp_origin_from(const struct vmp_hit *hit, const struct vmprof_sample *s, struct vmp_origin *o,
		     uint64_t *addr);

/** vmp_origin_vcpu() - Number of the vCPU that a sample belongs to, VMP_NONE. */
uint32_t vmp_origin_vcpu(const struct vmp_model *m, const struct vmprof_sample *s);

/** vmp_origin_side() - Whose time a kind is. */
enum vmp_side vmp_origin_side(uint32_t kind);

/** vmp_origin_is_guest() - 1 when guest code ran. */
static inline int vmp_origin_is_guest(uint32_t kind)
{
	return kind <= VMP_KIND_GUEST_NESTED;
}

/** vmp_origin_resolve() - Function and module.  Return: 0 or -ENOMEM. */
int vmp_origin_resolve(struct vmp_model *m, const struct vmp_origin *o, uint64_t addr,
		       struct vmp_place *place);

/** vmp_origin_owner() - Process; @place as resolved.  Return: 0 or -ENOMEM. */
int vmp_origin_owner(struct vmp_model *m, const struct vmp_origin *o, const struct vmp_place *place,
		     struct vmp_owner *owner);

#endif
