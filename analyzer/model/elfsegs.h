/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elfsegs.h - executable segments of an ELF file: offsets in it, and link-time addresses.
 */
#ifndef VMP_ELFSEGS_H
#define VMP_ELFSEGS_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#define VMP_ELFSEGS_MAX	256

struct vmp_elfsegs {
	struct vmp_elfseg {
		uint64_t offset, vaddr, bytes;
	} seg[VMP_ELFSEGS_MAX];
	int nr;
	uint64_t base;		/* link-time address of the first segment that is loaded, executable or not */
	int fixed;		/* the program runs at its link-time addresses only */
};

/* A mapping of the file: where it begins, in memory and in the file */
struct vmp_elf_map {
	uint64_t start, pgoff;
};

/** vmp_elfsegs_read() - Of a file that is open; @s is zeroed. No segments where it has none that can be read. */
void vmp_elfsegs_read(struct vmp_elfsegs *s, Elf *elf);

/** vmp_elfsegs_overlap() - Do several segments hold the offset? */
int vmp_elfsegs_overlap(const struct vmp_elfsegs *s, uint64_t offset);

/**
 * vmp_elfsegs_vaddr() - Link-time address of a file offset.
 * @maps: As in vmp_elf_vaddr_until(), and @same.
 * Return: 0, or -ENOENT (no segment holds the offset, or several do and the mappings do not tell which is meant).
 */
int vmp_elfsegs_vaddr(const struct vmp_elfsegs *s, const struct vmp_elf_map *maps, unsigned int nr, uint64_t offset,
		      uint64_t *vaddr, uint64_t *same);

/**
 * vmp_elfsegs_offset() - File offset of a link-time address.
 * @len: Bytes from there to the segment's end, by its header; 0: the address is in none.
 */
uint64_t vmp_elfsegs_offset(const struct vmp_elfsegs *s, uint64_t vaddr, size_t *len);

#endif
