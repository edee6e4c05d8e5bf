/* SPDX-License-Identifier: GPL-2.0-only */
/* elfplt.h - the stubs through which an x86-64 program calls into libraries, by name. */
#ifndef VMP_ELFPLT_H
#define VMP_ELFPLT_H

#include "model/elffile.h"
#include "model/symtab.h"

/**
 * vmp_elfplt_walk() - Each stub of .plt, .plt.sec, .plt.got and .iplt.
 * @named: Functions, sorted, to tell what an IFUNC's stub is called by.
 * @fn:    Its non-zero result ends the walk; @name is without "@plt".
 *
 * A stub is known by the slot that it jumps through, so the order in which a
 * linker laid them out does not matter.
 *
 * Return: 0, the result of @fn, -ENOMEM.
 */
int vmp_elfplt_walk(const struct vmp_elffile *f, const struct vmp_symtab *named,
		    int (*fn)(void *arg, uint64_t start, uint64_t end, const char *name), void *arg);

#endif
