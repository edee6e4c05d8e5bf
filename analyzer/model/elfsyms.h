/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elfsyms.h - function symbols of an ELF file, found by file offset.
 *
 * The file may come from a guest: it is read through libelf after checks of
 * our own, and everything taken from it is bounded.
 */
#ifndef VMP_ELFSYMS_H
#define VMP_ELFSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "model/elfsegs.h"
#include "model/symtab.h"

struct vmp_elf;
struct vmp_debuginfod;
struct vmp_unpack;

/* Where a file lies, and where else its debug file may */
struct vmp_elf_place {
	int folder;		/* @path is below it, see util/below.h */
	const char *path;
	const char *name;	/* where the file lies on its own machine */
	int sysroot;		/* folder with that machine's files, VMP_BELOW_HOST: none */
	struct vmp_debuginfod *server;	/* to be asked for a debug file that is nowhere; NULL */
	uint32_t vm;		/* whose it is, 0: the host's */
	int lines;		/* not only for names: for source lines, too */
	struct vmp_unpack *unpack;	/* what may be unpacked; outlives the file; NULL: it is the user's own */
	const uint8_t *build_id;	/* that the file must have */
	size_t build_id_len;	/* 0: any */
};

/**
 * vmp_elf_open() - Read an ELF file's segments and function symbols.
 * Return: 0; -ENOEXEC no ELF file that we can read; -EFBIG; -ENOMEM; -errno of open.
 */
int vmp_elf_open(struct vmp_elf **e, const char *path);

/**
 * vmp_elf_open_place() - The same for a file of another machine, such as a guest's in the cache.
 * Return: also -ESTALE, it has another build-id.
 */
int vmp_elf_open_place(struct vmp_elf **e, const struct vmp_elf_place *place);

/** vmp_elf_open_memory() - The same of @len bytes at @data, which must outlive it. @u: As vmp_elf_place.unpack. */
int vmp_elf_open_memory(struct vmp_elf **e, const void *data, size_t len, struct vmp_unpack *u);

/**
 * vmp_elf_vaddr() - Link-time address of a file offset.
 * Return: 0, or -ENOENT (no executable segment holds the offset, or several do).
 */
int vmp_elf_vaddr(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr);

/** vmp_elf_overlap() - Do several segments hold the offset? */
int vmp_elf_overlap(const struct vmp_elf *e, uint64_t offset);

/**
 * vmp_elf_vaddr_until() - The same for an offset within a mapping.
 * @maps: That mapping, and where segments overlap what else of the file the program has mapped,
 *        by which they are told apart.
 * @same: Offsets from @offset until before this one are in the same segment.
 */
int vmp_elf_vaddr_until(const struct vmp_elf *e, const struct vmp_elf_map *maps, unsigned int nr, uint64_t offset,
			uint64_t *vaddr, uint64_t *same);

/**
 * vmp_elf_decodes() - Is its code of the kind that is decoded, of 64 bits?
 */
int vmp_elf_decodes(const struct vmp_elf *e);

/**
 * vmp_elf_code() - The bytes of an executable segment from a link-time address on.
 * @len: How many; 0 with NULL: the address is in none, or the file is cut short.
 */
const uint8_t *vmp_elf_code(const struct vmp_elf *e, uint64_t vaddr, size_t *len);

/** vmp_elf_base() - Link-time address of the first segment that is loaded, executable or not. */
uint64_t vmp_elf_base(const struct vmp_elf *e);

/** vmp_elf_own_id() - Borrowed; @len 0 when it has none. */
const uint8_t *vmp_elf_own_id(const struct vmp_elf *e, size_t *len);

struct vmp_dwarf;

/**
 * vmp_elf_dwarf() - Its debugging information, or its debug file's; NULL none.
 * @bias: To be taken from an address before it is asked about.
 */
struct vmp_dwarf *vmp_elf_dwarf(struct vmp_elf *e, uint64_t *bias);

/** vmp_elf_symtab() - Its functions, sorted. */
struct vmp_symtab *vmp_elf_symtab(struct vmp_elf *e);

/** vmp_elf_symbol() - The function at a link-time address, or NULL; borrowed. */
const struct vmp_symbol *vmp_elf_symbol(const struct vmp_elf *e, uint64_t vaddr);

void vmp_elf_close(struct vmp_elf *e);

#endif
