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

/** vmp_elf_open_memory() - The same of @len bytes at @data, which must outlive it. */
int vmp_elf_open_memory(struct vmp_elf **e, const void *data, size_t len);

/**
 * vmp_elf_vaddr() - Link-time address of a file offset.
 * Return: 0, or -ENOENT (no executable segment holds the offset).
 */
int vmp_elf_vaddr(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr);

/** vmp_elf_vaddr_until() - The same; offsets from @offset until before @same go on with it. */
int vmp_elf_vaddr_until(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr, uint64_t *same);

/** vmp_elf_symtab() - Its functions, sorted. */
struct vmp_symtab *vmp_elf_symtab(struct vmp_elf *e);

/** vmp_elf_symbol() - The function at a link-time address, or NULL; borrowed. */
const struct vmp_symbol *vmp_elf_symbol(const struct vmp_elf *e, uint64_t vaddr);

/** vmp_elf_stripped() - 1 when there is no .symtab: only exported functions have names. */
int vmp_elf_stripped(const struct vmp_elf *e);

void vmp_elf_close(struct vmp_elf *e);

#endif
