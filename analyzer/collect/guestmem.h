/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guestmem.h - a running guest's memory, read through its QEMU: by physical address, and by
 * the page tables of a CR3.
 *
 * The tables are the guest's, and hostile: each table and page must lie in the memory that QEMU
 * gives the guest, and a walk takes at most five steps, wherever they lead.
 */
#ifndef VMP_GUESTMEM_H
#define VMP_GUESTMEM_H

#include <stddef.h>
#include <stdint.h>

#include "collect/qmp.h"

struct vmp_guestmem {
	uint32_t pid;			/* QEMU */
	const struct vmp_qmp_ram *ram;	/* borrowed */
	int nr_ram;
	uint64_t cr3;
	int la57;			/* five levels */
};

/** vmp_guestmem_read() - Return: 0; -EFAULT not all of it is the guest's memory; -errno of reading QEMU's. */
int vmp_guestmem_read(const struct vmp_guestmem *m, uint64_t gpa, void *buf, size_t bytes);

/**
 * vmp_guestmem_walk() - Where an address is mapped as code.
 * @gpa: Set, with the @bytes from there to the end of its page.
 * Return: 0; -ENOENT it is not mapped; -EACCES it may not be executed; as vmp_guestmem_read().
 */
int vmp_guestmem_walk(const struct vmp_guestmem *m, uint64_t gva, uint64_t *gpa, uint64_t *bytes);

/** vmp_guestmem_code() - A struct vmp_kcode_reader's read(); @arg: a struct vmp_guestmem. */
size_t vmp_guestmem_code(void *arg, uint64_t gva, void *buf, size_t bytes);

#endif
