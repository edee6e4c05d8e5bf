/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * elf_id.h - the GNU build-id of an ELF file; every byte of it is hostile.
 *
 * The file is read through a callback, in few bounded reads: header, program
 * headers, note segments; where no segment has it, section headers and note sections.
 */
#ifndef VMP_ELF_ID_H
#define VMP_ELF_ID_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <vmprof/agent_proto.h>

#define VMP_ELF_ENTRIES_MAX	64U	/* of each table read at most; the notes lie first, or nearly so */

/* Where the bytes come from */
struct vmp_elf_source {
	/* As pread(): bytes read at offset, fewer at the end, or < 0 */
	ssize_t (*read)(void *arg, void *buf, size_t len, uint64_t offset);
	void *arg;
};

struct vmp_build_id {
	uint32_t len;			/* 0 none */
	uint8_t bytes[VMPROF_BUILD_ID_MAX];
};

/**
 * vmp_elf_build_id() - Find the build-id of a program, a library, or the debug file of one.
 * @id: Set on success.
 *
 * The segments of debug files may have been left as they were when what they tell of was moved (eu-strip).
 *
 * Return: 0, -ENOEXEC (it is no such file, or a damaged one), -ENOENT (no build-id),
 * or what read() said.
 */
int vmp_elf_build_id(const struct vmp_elf_source *src, struct vmp_build_id *id);

/** vmp_elf_fd() - Source for an open file; @fd is kept by address. */
struct vmp_elf_source vmp_elf_fd(int *fd);

#endif
