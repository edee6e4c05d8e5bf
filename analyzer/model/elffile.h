/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elffile.h - an ELF file in memory, opened by libelf after checks of our own.
 *
 * It may come from a guest.  libelf bounds its own accesses by the image that
 * it was given; we check the tables' places before it looks, and use strings
 * only up to the end of their section.  Its sections together are at most twice
 * as long as the file: to go over all of them takes no longer than that.
 */
#ifndef VMP_ELFFILE_H
#define VMP_ELFFILE_H

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

#define VMP_BUILD_ID_BYTES	32
#define VMP_ELFFILE_SECTIONS_MAX	65536	/* a file with more is none that we read */

struct vmp_elffile {
	Elf *elf;
	const void *data;	/* the whole image */
	size_t len;
	void *map, *heap;	/* what of it is to be given back */
	uint8_t build_id[VMP_BUILD_ID_BYTES];
	size_t build_id_len;	/* 0 none */
};

/**
 * vmp_elffile_open() - Map a file.
 * Return: 0; -ENOEXEC no ELF file that we can read; -EFBIG; -ENOMEM; -errno of open.
 */
int vmp_elffile_open(struct vmp_elffile *f, const char *path);

/** vmp_elffile_open_below() - The same below a folder, see util/below.h. */
int vmp_elffile_open_below(struct vmp_elffile *f, int folder, const char *path);

/** vmp_elffile_memory() - The same of @len bytes at @data, which must outlive it. */
int vmp_elffile_memory(struct vmp_elffile *f, const void *data, size_t len);

/** vmp_elffile_rest() - What was read of a mapped file need not stay in memory; it may be read again. */
void vmp_elffile_rest(const struct vmp_elffile *f);

void vmp_elffile_close(struct vmp_elffile *f);

/**
 * vmp_elffile_section() - First section of a type (0 any) and name (NULL any).
 * Return: the section with its header in @sh, or NULL.
 */
Elf_Scn *vmp_elffile_section(const struct vmp_elffile *f, unsigned int type, const char *name, GElf_Shdr *sh);

/** vmp_elffile_has_dwarf() - Has it functions and lines in DWARF, packed or not? */
int vmp_elffile_has_dwarf(const struct vmp_elffile *f);

/** vmp_elffile_data() - Its bytes, borrowed; NULL when it has none in the file. */
Elf_Data *vmp_elffile_data(Elf_Scn *scn, const GElf_Shdr *sh);

/** vmp_elffile_linked() - The string section that a symbol table is linked to, or NULL. */
Elf_Data *vmp_elffile_linked(const struct vmp_elffile *f, const GElf_Shdr *sh);

/** vmp_elffile_string() - String at @offset of a string section; NULL unless it ends inside it. */
const char *vmp_elffile_string(const Elf_Data *str, uint64_t offset);

#endif
