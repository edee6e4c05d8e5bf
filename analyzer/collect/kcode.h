/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kcode.h - a kernel's code as it is in memory, as a file.
 *
 * What runs is not what a vmlinux has: the kernel patches itself (alternatives, static keys and
 * calls, ftrace).  So its code is read where it lies: from _stext to _etext and, by their symbols, the
 * pages of its modules.  The file is an ELF core file of segments without symbols or sections, each
 * at the address at which the kernel has it.
 */
#ifndef VMP_KCODE_H
#define VMP_KCODE_H

#include <stddef.h>
#include <stdint.h>

#define VMP_KCODE_BYTES_MAX	(64U << 20)	/* of a kernel with its modules */
#define VMP_KCODE_SEGMENTS	256

struct vmp_kcode_reader {
	/* Read up to @bytes from @vaddr on.  Return: how many; 0 there is no code, or it cannot be read */
	size_t (*read)(void *arg, uint64_t vaddr, void *buf, size_t bytes);
	void *arg;
};

struct vmp_kcode {
	uint8_t *elf;		/* @len bytes, from malloc() */
	size_t len;
	uint64_t bytes;		/* of code in it */
	uint64_t missing;	/* of modules: not mapped, or over the limits */
};

/**
 * vmp_kcode_make() - Make such a file.
 * @ksyms: @len bytes of text as /proc/kallsyms has it, which is overwritten.
 * @out:   Filled on success.
 *
 * Return: 0; -ESRCH the text does not tell where the code is; -EFBIG more than VMP_KCODE_BYTES_MAX;
 * -EFAULT not all of the kernel's own code is there; -ENOMEM.
 */
int vmp_kcode_make(char *ksyms, size_t len, const struct vmp_kcode_reader *reader, struct vmp_kcode *out);

/* The host's memory as /proc/kcore shows it */
struct vmp_kcore {
	int fd;
	void *segments;
	unsigned int nr;
};

/** vmp_kcore_open() - @path: /proc/kcore.  Return: 0; -ENOEXEC it is something else; -ENOMEM; -errno. */
int vmp_kcore_open(struct vmp_kcore *k, const char *path);

/** vmp_kcore_code() - A reader's read(); @arg: the struct vmp_kcore. */
size_t vmp_kcore_code(void *arg, uint64_t vaddr, void *buf, size_t bytes);

void vmp_kcore_close(struct vmp_kcore *k);

#endif
