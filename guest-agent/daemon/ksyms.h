/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksyms.h - the kernel's text symbols, as KSYMS has them.
 *
 * /proc/kallsyms is long: it is read in steps between other work.
 */
#ifndef VMP_KSYMS_H
#define VMP_KSYMS_H

#include <stddef.h>
#include <stdint.h>

struct vmp_ksyms {
	int fd;			/* -1: not being read */
	char *text;		/* complete lines, then the piece of one */
	size_t bytes;		/* of complete lines that were kept */
	size_t partial;		/* bytes after them, of a line not read to its end */
	size_t room;
	int ready;		/* text is whole and sorted, what comes and goes behind the rest */
	int module;		/* the guest module's device, -1 none */
};

void vmp_ksyms_init(struct vmp_ksyms *k);

/** vmp_ksyms_clear() - Stop reading, free the text. */
void vmp_ksyms_clear(struct vmp_ksyms *k);

/**
 * vmp_ksyms_open() - Begin to read @path.
 * @module: The guest module's device, to be asked how long made code is; -1 none.
 * Return: 0 or -errno.
 */
int vmp_ksyms_open(struct vmp_ksyms *k, const char *path, int module);

/**
 * vmp_ksyms_step() - Read some more.
 * Return: 1 there is more, 0 @k->ready, -errno (what was read is dropped).
 */
int vmp_ksyms_step(struct vmp_ksyms *k);

/**
 * vmp_ksyms_modules() - A number that changes when modules come or go.
 * @path: /proc/modules
 *
 * Return: a hash of their names and addresses; 0 when they cannot be read.
 */
uint64_t vmp_ksyms_modules(const char *path);

#endif
