/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * page.h - the data behind the HTML report: sums by process, thread, vCPU, kind of
 * time, exit reason and stack, and how each vCPU's time went along the session.
 *
 * Its size does not grow with the samples: what is too small to be seen is
 * folded together (fold.c).  Strings are numbers of the model's, as the guest
 * gave them: to be escaped.
 */
#ifndef VMP_HTML_PAGE_H
#define VMP_HTML_PAGE_H

#include <stdio.h>

#include "report/profile.h"

/* Cycles by how many instructions each of them finished, rounded: 0, 1, 2, 3, 4 and more */
#define VMP_PACES	5

/* Time is cut into so many pieces at most */
#define VMP_PAGE_BINS	2048

/* Kinds of time that are shown: KERNEL, USER, VMM, STEAL */
#define VMP_PAGE_SIDES	VMP_SIDE_HOST

struct vmp_page_proc {
	uint32_t vm, comm, pid;		/* pid VMP_NONE: none, unknown, or several */
	uint32_t nr;			/* processes that are folded in here */
	uint64_t samples;
};

/* Of the guest, where it is known */
struct vmp_page_thread {
	uint32_t proc, comm, tid;	/* tid VMP_NONE: several */
	uint32_t nr;			/* threads that are folded in here */
	uint64_t samples;
};

/* A frame with its callers; one without has parent VMP_NONE.  A parent's number is lower. */
struct vmp_page_stack {
	uint32_t parent, function, module;
};

struct vmp_page_row {
	uint32_t proc, stack;		/* numbers */
	uint32_t vcpu;			/* VMP_NONE none, or not told apart */
	uint32_t exit;			/* string number: what the VMM ran for, 0 none */
	uint32_t side;			/* enum vmp_side */
	uint32_t thread;		/* number; VMP_NONE not known, or not told apart */
	uint64_t samples, cycles, instructions;
};

struct vmp_page_pace {
	uint32_t proc, vcpu, thread, reserved;
	uint64_t cycles[VMP_PACES];
};

/* Samples of one vCPU by time and side */
struct vmp_page_lane {
	uint32_t vm, vcpu;		/* vcpu VMP_NONE: QEMU's other threads */
	const uint32_t *bins;		/* [VMP_PAGE_BINS][VMP_PAGE_SIDES] */
};

struct vmp_page {
	struct vmp_model *model;	/* borrowed */
	struct vmp_profile profile;	/* totals and what the notes need; no rows */
	VMP_VEC(struct vmp_page_proc) procs;
	VMP_VEC(struct vmp_page_thread) threads;
	VMP_VEC(struct vmp_page_stack) stacks;
	VMP_VEC(struct vmp_page_row) rows;
	VMP_VEC(struct vmp_page_pace) paces;
	VMP_VEC(struct vmp_page_lane) lanes;
	uint64_t bin_ticks;		/* host TSC ticks of a bin; 0: no time is known */
	uint32_t **lane_bins;		/* of the lanes, by VM and vCPU */
	uint32_t lane_vms, lanes_made;
};

/**
 * vmp_page_create() - Sum up a capture.
 * @domain: Shell pattern of the domains wanted, NULL all.
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_page_create(struct vmp_page **page, struct vmp_model *m, const char *domain);
void vmp_page_destroy(struct vmp_page *page);

/** vmp_page_fold() - Fold what is small until the page is small.  Return: 0 or -ENOMEM. */
int vmp_page_fold(struct vmp_page *page);

/**
 * vmp_page_find() - Number of the element whose first @key_len bytes are @elem's; added if new.
 * @vec: A VMP_VEC() of elements as @elem; no padding within the key.
 * Return: 0 or -ENOMEM.
 */
#define vmp_page_find(h, vec, elem, key_len, out) \
	vmp_page_find_in(h, (void **)&(vec)->v, &(vec)->nr, &(vec)->room, sizeof(*(vec)->v), \
			 elem, key_len, out)
int vmp_page_find_in(struct vmp_hash *h, void **v, uint32_t *nr, uint32_t *room, size_t size,
		     const void *elem, size_t key_len, uint32_t *out);

/* Key lengths for it */
#define VMP_PAGE_PROC_KEY	offsetof(struct vmp_page_proc, nr)
#define VMP_PAGE_THREAD_KEY	offsetof(struct vmp_page_thread, nr)
#define VMP_PAGE_STACK_KEY	sizeof(struct vmp_page_stack)
#define VMP_PAGE_ROW_KEY	offsetof(struct vmp_page_row, samples)
#define VMP_PAGE_PACE_KEY	offsetof(struct vmp_page_pace, cycles)

/**
 * vmp_page_data() - The page's data as JSON; its layout is in page/src/data.js.
 * @path: Of the capture.
 *
 * Nothing in it ends a script element or begins a comment: '<', '>', '&' and
 * line separators are escaped within strings.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_page_data(FILE *out, const struct vmp_page *page, const char *path);

#endif
