/* SPDX-License-Identifier: GPL-2.0-only */
/* tiny_elf.h - the least library with a build-id. */
#ifndef VMP_TEST_TINY_ELF_H
#define VMP_TEST_TINY_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tiny_elf {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Nhdr nh;
	char name[4];
	uint8_t id[4];
};

static inline struct tiny_elf tiny_elf(uint8_t id)
{
	struct tiny_elf e = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phoff = offsetof(struct tiny_elf, ph),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		},
		.ph = { .p_type = PT_NOTE, .p_offset = offsetof(struct tiny_elf, nh),
			.p_filesz = sizeof(e) - offsetof(struct tiny_elf, nh) },
		.nh = { 4, sizeof(e.id), NT_GNU_BUILD_ID }, .name = "GNU",
	};

	memset(e.id, id, sizeof(e.id));
	return e;
}

#endif
