/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * classify.h - what a sample hit: whose time, which address space, which address.
 *
 * One rule for all that reads samples (reports, needed objects): the mode
 * that the sampler decided on, the CPL for guest code, and the steal flag.
 */
#ifndef VMP_CLASSIFY_H
#define VMP_CLASSIFY_H

#include "model/model.h"

enum vmp_kind {
	VMP_KIND_GUEST_KERNEL,
	VMP_KIND_GUEST_USER,
	VMP_KIND_GUEST_NESTED,	/* a guest inside the guest ran */
	VMP_KIND_VMM_KERNEL,
	VMP_KIND_VMM_USER,
	VMP_KIND_STEAL,		/* another task ran while a vCPU of the VM waited */
	VMP_KIND_OTHER_KERNEL,	/* none of any VM's business */
	VMP_KIND_OTHER_USER,
	VMP_KIND_IDLE,
};

struct vmp_hit {
	enum vmp_kind kind;
	uint32_t vm;		/* number in the model; VMP_NONE for no VM's business */
	uint32_t epoch;		/* guest: boot, or VMP_NONE */
	uint32_t image;		/* guest: owner of the CR3, or VMP_NONE */
	uint32_t version;	/* guest user: state of the image's mappings */
	uint64_t addr;		/* guest or host address by kind */
};

/** vmp_classify() - Return: 0 or -ENOMEM. */
int vmp_classify(struct vmp_model *m, const struct vmprof_sample *s, struct vmp_hit *hit);

/* Who was on a CR3 from when to when, as found before; zeroed memory is an empty cache */
struct vmp_residence {
	uint64_t cr3;
	struct vmp_tsc_span valid;	/* host TSC; to 0: free */
	uint32_t vm, epoch, image, version;
	uint32_t user[2];	/* the caller's, for guest kernel and guest user; 0 at first */
};

#define VMP_RESIDENCES	2048	/* in a cache */

/**
 * vmp_classify_known() - As vmp_classify(), for threads that share a model.
 * @cache: VMP_RESIDENCES of the thread's own.
 * @r:     The cache's entry for this CR3, NULL for samples that need none.
 *
 * Return: 0, -ENOENT (a VM that no block told of: vmp_model_add_vm() first).
 */
int vmp_classify_known(const struct vmp_model *m, struct vmp_residence *cache,
		       const struct vmprof_sample *s, struct vmp_hit *hit, struct vmp_residence **r);

#endif
