/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * maps.h - executable mappings of an address space as protocol bytes.
 *
 * All of it works on memory that the caller gives and never sleeps; the
 * caller holds the mm's mmap lock.
 */
#ifndef VMPG_MAPS_H
#define VMPG_MAPS_H

#include <linux/mm_types.h>
#include <linux/types.h>

#include "guest_uapi.h"

/* Longest path that is built, before it is cut to the protocol's limit */
#define VMPG_PATH_ROOM		(2 * VMPROF_PATH_BYTES_MAX)

/* For whom a path is written */
struct vmpg_view {
	u32 tgid;
	char *path;		/* VMPG_PATH_ROOM bytes of scratch */
	/* path of the process's root as d_path() gives it to the caller, or
	   NULL where the caller is the process: taken off a path's front */
	const char *root;
};

/** vmpg_mm_cr3() - Physical address of an mm's page-table root; 0 for NULL. */
u64 vmpg_mm_cr3(const struct mm_struct *mm);

/**
 * vmpg_map_fill() - One mapping as struct vmprof_map with its path.
 * @dst:  Where to.
 * @room: Bytes there.
 * @told: Was the file behind it told before, and is as it was (known.h)?  Yes where there is none.
 *
 * Return: bytes written, not padded, or -ENOSPC.
 */
int vmpg_map_fill(const struct vmpg_view *view, struct vm_area_struct *vma,
		  void *dst, u32 room, bool *told);

/* A walk over executable mappings into a buffer */
struct vmpg_walk {
	u8 *dst;
	u32 room;
	u32 nr_max;		/* mappings at most */
	u32 look_max;		/* mappings that are looked at, executable or not, at most */
	unsigned long next;	/* address to go on from; 0 at the start */
	/* results */
	u32 bytes;		/* written; each mapping padded to 8 */
	u32 nr;
	bool more;		/* did not all fit, or were too many to look at: go on from next */
	bool told;		/* all files behind them were told before */
	bool anon;		/* there is one without a file */
};

/** vmpg_maps_walk() - As many executable mappings of @mm as fit, from @walk->next on. */
void vmpg_maps_walk(const struct vmpg_view *view, struct mm_struct *mm,
		    struct vmpg_walk *walk);

#endif
