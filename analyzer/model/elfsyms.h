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

#include "model/symtab.h"

struct vmp_elf;

/**
 * vmp_elf_open() - Read an ELF file's segments and function symbols.
 * Return: 0; -ENOEXEC no ELF file that we can read; -EFBIG; -ENOMEM; -errno of open.
 */
int vmp_elf_open(struct vmp_elf **e, const char *path);

/**
 * vmp_elf_open_as() - The same for a copy, such as a guest's file in the cache.
 * @name: Where the file lies on its own machine; helps to find its debug file.
 */
int vmp_elf_open_as(struct vmp_elf **e, const char *path, const char *name);

/** vmp_elf_open_memory() - The same of @len bytes at @data, which must outlive it. */
int vmp_elf_open_memory(struct vmp_elf **e, const void *data, size_t len);

/**
 * vmp_elf_vaddr() - Link-time address of a file offset.
 * Return: 0, or -ENOENT (no executable segment holds the offset).
 */
int vmp_elf_vaddr(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr);

/**
 * vmp_elf_vaddr_until() - The same for an offset within a mapping.
 * @pgoff: File offset of the mapping's begin, by which segments that overlap are told apart.
 * @same:  Offsets from @offset until before this one are in the same segment.
 */
int vmp_elf_vaddr_until(const struct vmp_elf *e, uint64_t pgoff, uint64_t offset, uint64_t *vaddr,
			uint64_t *same);

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

/** vmp_elf_stripped() - 1 when there is no .symtab: only exported functions have names. */
int vmp_elf_stripped(const struct vmp_elf *e);

void vmp_elf_close(struct vmp_elf *e);

#endif
