/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * dwarf.h - source lines and inlined functions of addresses, through libdw.
 *
 * Reading is bounded where a file that was made to be slow could not end.
 */
#ifndef VMP_DWARF_H
#define VMP_DWARF_H

#include "model/unpack.h"

#define VMP_FRAMES_MAX	64

/* One function of those that an address is in, by inlining */
struct vmp_frame {
	const char *name;	/* as in the symbol table where told; NULL unknown; borrowed */
	const char *file;	/* NULL unknown; borrowed */
	int line;		/* 0 unknown; of the address, or of the call to the frame before */
	int inlined;		/* into the next frame */
};

struct vmp_dwarf;

/**
 * vmp_dwarf_open() - Get ready to read what @f has.
 * @u: Counts what is unpacked, and lives longer than @d; NULL: @f is the user's own file.
 * Return: 0; -ENOENT the file has none; -EFBIG it is too large; -EBADMSG it is packed and cannot be unpacked; -ENOMEM.
 */
int vmp_dwarf_open(struct vmp_dwarf **d, const struct vmp_elffile *f, struct vmp_unpack *u);

/**
 * vmp_dwarf_frames() - Functions that hold an address, the innermost first.
 * @frames: Room for VMP_FRAMES_MAX; what they point to lives as long as @d.
 * Return: their number, 0 none is known.
 */
int vmp_dwarf_frames(struct vmp_dwarf *d, uint64_t addr, struct vmp_frame *frames);

void vmp_dwarf_close(struct vmp_dwarf *d);

#endif
