/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * space.h - address-space history of one VM: who owned a CR3 when, and what
 * was mapped where.
 *
 * A CR3 is a recycled number: it means something only together with a moment.
 * For each CR3 there is a list of spans, each beginning at a host TSC and
 * lasting to the next; a span names an image.  An image is one program in one
 * process: it begins at fork or exec, has a name and mappings, and a forked
 * one goes on with its parent's mappings as they were at the fork.
 *
 * Events must be given in order of time within an epoch (one boot of the
 * guest).  Begin events are exact; the others (a snapshot, an exit) confirm
 * what is known, or where events were lost are used backwards as far as
 * nothing speaks against it.
 */
#ifndef VMP_SPACE_H
#define VMP_SPACE_H

#include "model/hash.h"
#include "model/vec.h"

#define VMP_NONE	UINT32_MAX
#define VMP_FORKS_MAX	64	/* ancestors of an image whose mappings are looked at */
#define VMP_IMAGE_MAPS_MAX	4096	/* of one image; each is compared with those before it */
#define VMP_IMAGES_MAX	(4U << 20)	/* of one VM: each takes several times what its message did.  More than all
					   that may be kept of a guest tells of, if it tells of their ends, too */

struct vmp_map {
	uint64_t start, end, pgoff;	/* gva, gva, bytes */
	uint64_t begin;			/* host TSC from which on it is known */
	uint32_t file;			/* number given by the caller: same file, same number */
	uint16_t flags;			/* VMPROF_MAP_* */
};

struct vmp_image {
	uint32_t proc;
	uint32_t parent;	/* image that it was forked from, or VMP_NONE */
	uint64_t fork_tsc;	/* its maps up to here are ours too */
	uint64_t cr3;
	uint64_t begin;
	uint64_t told;		/* by a snapshot; from begin on it may have run there, too, or another one that nobody told of */
	uint64_t end;		/* exec or exit; UINT64_MAX while it runs */
	uint32_t comm;		/* string number */
	uint32_t nspid;		/* tgid in its own pid namespace, 0 not told */
	uint32_t cgroup;	/* string number; what was told last, 0 nothing */
	uint8_t opaque;		/* without CR3: nobody told what it has mapped */
	uint8_t doubtful;	/* without CR3: what was inferred of it contradicts itself */
	VMP_VEC(struct vmp_map) maps;
	VMP_VEC(uint64_t) cuts;	/* from these on, some address means something else */
};

struct vmp_proc {
	uint32_t epoch;
	uint32_t tgid, ppid;
	uint32_t image;		/* the latest */
	uint32_t lender;	/* vfork: image whose CR3 it runs on, or VMP_NONE */
	uint32_t threads;	/* as far as seen; 1 for the first */
	uint32_t heard;		/* conversation, 0 the first, that last told of it */
	uint64_t begin;
	uint64_t end;		/* UINT64_MAX while it lives */
};

/* Forked by a process that nobody had told of: a snapshot tells of one after the other */
struct vmp_orphan {
	uint32_t image;
	uint32_t next;		/* orphan of the same process before it, or VMP_NONE */
};

/* The agent began anew within a boot: what happened in between was not told */
struct vmp_again {
	uint32_t epoch;
	uint32_t snapped;	/* its first snapshot arrived whole */
	uint64_t last_tsc;	/* last event before */
};

struct vmp_cr3_span {
	uint64_t begin;
	uint32_t image;
};

struct vmp_cr3_spans {
	VMP_VEC(struct vmp_cr3_span) s;
};

struct vmp_epoch_span {
	uint64_t begin;		/* host TSC */
	uint64_t cr3_mask;
	int without_cr3;	/* the agent ran without its module: see infer.h */
};

struct vmp_space {
	VMP_VEC(struct vmp_epoch_span) epochs;
	VMP_VEC(struct vmp_proc) procs;
	VMP_VEC(struct vmp_image) images;
	VMP_VEC(struct vmp_cr3_spans) spans;
	struct vmp_hash by_cr3;		/* CR3 -> spans */
	struct vmp_hash live;		/* tgid -> proc, of the current epoch */
	struct vmp_hash last_orphan;	/* tgid that nobody told of yet -> the last one it forked, or VMP_NONE */
	VMP_VEC(struct vmp_orphan) orphans;	/* of the current epoch */
	VMP_VEC(struct vmp_again) agains;
	uint64_t last_tsc;		/* latest event of the current epoch */
	uint32_t told;			/* processes before this one: none lives opaque */
	uint32_t swapper;		/* image of the kernel's own CR3, or VMP_NONE */
	uint64_t repaired;		/* spans found backwards: events had been lost */
	uint64_t maps_over;		/* mappings told over VMP_IMAGE_MAPS_MAX, and left out */
	uint32_t images_max;		/* VMP_IMAGES_MAX, but in tests */
	uint64_t images_over;		/* events that told of one more: as if they had been lost */
};

struct vmp_space_event {
	uint64_t tsc;		/* host */
	uint64_t cr3;
	uint32_t type;		/* VMPROF_MSG_PROC, FORK, EXEC, COMM, EXIT, MAP; HELLO: the
				   agent began anew; SNAP_END */
	uint32_t pid, tgid, ppid;
	uint32_t flags;		/* VMPROF_PROC_* */
	uint32_t comm;		/* string number */
	uint32_t nspid, cgroup;	/* 0 not told; string number */
	const struct vmp_map *maps;	/* MAP: one; EXIT: nr_maps; begin is ignored */
	uint32_t nr_maps;
};

/* From @from on, until before @to */
struct vmp_tsc_span {
	uint64_t from, to;
};

/** vmp_space_epoch() - The guest booted; @pti as HELLO said.  Return: 0 or -ENOMEM. */
int vmp_space_epoch(struct vmp_space *s, uint64_t begin_tsc, int pti);

/** vmp_space_without_cr3() - The current epoch's events tell of no CR3. */
void vmp_space_without_cr3(struct vmp_space *s);

/** vmp_space_all_told() - Are the mappings of all living processes known, after the last event? */
int vmp_space_all_told(struct vmp_space *s);

/**
 * vmp_space_own() - It was inferred that an image ran on a CR3, for as long as it lived.
 * @cr3: Without PCID and PTI bits.
 *
 * Return: 0 or -ENOMEM.
 */
int vmp_space_own(struct vmp_space *s, uint64_t cr3, uint32_t image);

/** vmp_space_disown() - It was wrong. */
void vmp_space_disown(struct vmp_space *s, uint32_t image);

/** vmp_space_event() - Next event of the current epoch.  Return: 0, -ENOMEM, -EINVAL (no epoch). */
int vmp_space_event(struct vmp_space *s, const struct vmp_space_event *ev);

/** vmp_space_running() - Image that a process runs after the last event, or VMP_NONE. */
uint32_t vmp_space_running(const struct vmp_space *s, uint32_t tgid);

/**
 * vmp_space_end_unheard() - All events were given.  A process that a restarted agent's
 * snapshot does not hold ended unseen: it counts up to the last event before.
 */
void vmp_space_end_unheard(struct vmp_space *s);

/** vmp_space_finish() - After the last event, before questions are asked. */
void vmp_space_finish(struct vmp_space *s);

/** vmp_space_cut() - From a host TSC on some address of an image means something else.  Return: 0 or -ENOMEM. */
int vmp_space_cut(struct vmp_space *s, uint32_t image, uint64_t tsc);

/** vmp_space_until() - Up to when a version of an image's mappings holds, exclusive; UINT64_MAX without end. */
uint64_t vmp_space_until(const struct vmp_space *s, uint32_t image, uint32_t version);

/** vmp_space_epoch_at() - Number of the epoch at a moment, VMP_NONE when there is none at all. */
uint32_t vmp_space_epoch_at(const struct vmp_space *s, uint64_t tsc);

/**
 * vmp_space_owner() - Image that ran on a CR3 at a moment.
 * @cr3: As the CPU had it: PCID and PTI bits are taken off here.
 * @tsc: Host TSC.
 *
 * Return: image number, or VMP_NONE.
 */
uint32_t vmp_space_owner(const struct vmp_space *s, uint64_t cr3, uint64_t tsc);

/**
 * vmp_space_version() - Which state of an image's mappings holds at a moment.
 * Nearly always 0; it differs only if an address came to mean something else.
 * Return: version, for vmp_space_map().
 */
uint32_t vmp_space_version(const struct vmp_space *s, uint32_t image, uint64_t tsc);

/**
 * vmp_space_owner_span(), vmp_space_version_span() - The same, and how long it is true.
 * @valid: Narrowed to host TSCs around @tsc for which the answer is the same.
 */
uint32_t vmp_space_owner_span(const struct vmp_space *s, uint64_t cr3, uint64_t tsc,
			      struct vmp_tsc_span *valid);
uint32_t vmp_space_version_span(const struct vmp_space *s, uint32_t image, uint64_t tsc,
				struct vmp_tsc_span *valid);

/** vmp_space_map() - Mapping that holds a gva in a version of an image, or NULL. */
const struct vmp_map *vmp_space_map(const struct vmp_space *s, uint32_t image, uint32_t version,
				    uint64_t addr);

/** vmp_space_map_until() - The same; the answer holds from @addr until before @same. */
const struct vmp_map *vmp_space_map_until(const struct vmp_space *s, uint32_t image, uint32_t version,
					  uint64_t addr, uint64_t *same);

/**
 * vmp_space_each_map() - All mappings of a file that an image has, or had, or that those it was forked from have.
 * @fn: Its non-zero result ends the run, and is returned.
 */
int vmp_space_each_map(const struct vmp_space *s, uint32_t image, uint32_t file,
		       int (*fn)(void *arg, const struct vmp_map *map), void *arg);

void vmp_space_init(struct vmp_space *s);
void vmp_space_deinit(struct vmp_space *s);

#endif
