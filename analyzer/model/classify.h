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

/*
 * Whose a guest's sample is, by the task that its kernel called current.
 *
 * Address spaces are the CR3's: a task's mappings are where its CR3 points.  Whose time it
 * was is current's, where the two cannot both be right: a kernel thread runs on the CR3 of
 * whoever ran before it.
 */
enum vmp_who {
	VMP_WHO_OFF,		/* current was not looked for */
	VMP_WHO_SAME,		/* both name one process */
	VMP_WHO_KTHREAD,	/* the kernel's code for one of its own threads */
	VMP_WHO_TASK,		/* nobody told whose the CR3 is: the process is current's */
	VMP_WHO_OTHER,		/* they name two: the CR3 counts, the thread is not known */
	VMP_WHO_NO_CPU,		/* current could not be read, by cause as VMPROF_TASK_* */
	VMP_WHO_NO_READ,
	VMP_WHO_OUTSIDE,
	VMP_WHO_NO_TASK,
	VMP_WHO_NO_RECORD,	/* it was, but no record tells of the thread */
	VMP_WHO_UNTOLD,		/* ... but the capture does not have (yet) where this boot keeps it */
	VMP_WHO_NR
};

struct vmp_hit {
	enum vmp_kind kind;
	uint32_t vm;		/* number in the model; VMP_NONE for no VM's business */
	uint32_t epoch;		/* guest: boot, or VMP_NONE */
	uint32_t image;		/* guest: owner of the CR3, or VMP_NONE */
	uint32_t version;	/* guest user: state of the image's mappings */
	uint32_t era;		/* guest: of the boot's kernel symbols, see kernel.h */
	uint32_t shared;	/* guest user: the image is one of several that may be meant: 1, or 2: all of
				   them have its name; see infer.h */
	uint32_t task;		/* guest: number in the machine's seen.tasks of what ran, or VMP_NONE */
	enum vmp_who who;	/* guest: what that and the CR3 say of the process */
	uint64_t addr;		/* guest or host address by kind */
};

/** vmp_classify() - Return: 0 or -ENOMEM. */
int vmp_classify(struct vmp_model *m, const struct vmprof_sample *s, struct vmp_hit *hit);

/* Who was on a CR3 from when to when, as found before; zeroed memory is an empty cache */
struct vmp_residence {
	uint64_t cr3;
	struct vmp_tsc_span valid;	/* host TSC; to 0: free */
	uint32_t vm, epoch, image, version, era;
	/* the task that was found there last, for a pCPU and thread, and when; seen.to 0: none */
	uint32_t pcpu, tid, task;
	struct vmp_tsc_span seen;
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
