/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tasks.h - the tasks of one VM's guest as the driver read them (VMPROF_REC_TASK).
 *
 * A record holds for the samples behind it in the ring of the same pCPU, until the
 * next one there with its thread number.
 */
#ifndef VMP_MODEL_TASKS_H
#define VMP_MODEL_TASKS_H

#include <vmprof/uapi.h>

#include "model/hash.h"
#include "model/space.h"
#include "model/strings.h"
#include "model/vec.h"

#define VMP_SEEN_MAX	(1U << 20)	/* records of a VM that are kept */

struct vmp_guest_task {
	uint32_t tid, tgid;
	uint32_t comm;		/* string number; idle tasks: "swapper", other kernel threads in
				   brackets, as ps shows them */
	uint32_t is_kthread;
};

struct vmp_seen_span {
	uint64_t begin;		/* host TSC */
	uint32_t task;		/* number */
};

struct vmp_seen_spans {
	VMP_VEC(struct vmp_seen_span) s;
};

/* Zeroed memory is empty */
struct vmp_seen {
	VMP_VEC(struct vmp_guest_task) tasks;	/* each once */
	VMP_VEC(struct vmp_seen_spans) spans;
	struct vmp_hash by_task;	/* of all that makes a task -> its number */
	struct vmp_hash by_place;	/* pCPU and thread number -> spans */
	uint32_t records;
	uint64_t over;			/* records over VMP_SEEN_MAX, left out */
};

/** vmp_seen_add() - Next record, in the order of its ring.  Return: 0 or -ENOMEM. */
int vmp_seen_add(struct vmp_seen *seen, struct vmp_strings *strings, const struct vmprof_rec_task *rec);

/**
 * vmp_seen_find() - Number of a sample's task, VMP_NONE where no record tells.
 * @s:     Its guest_task is KNOWN.
 * @valid: Set to host TSCs around it for which the answer is the same, for this pCPU and thread.
 */
uint32_t vmp_seen_find(const struct vmp_seen *seen, const struct vmprof_sample *s, struct vmp_tsc_span *valid);

void vmp_seen_free(struct vmp_seen *seen);

#endif
