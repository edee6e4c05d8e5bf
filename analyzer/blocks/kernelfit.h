/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernelfit.h - is a file with a kernel the kernel that ran?  Then its functions
 * lie where that one has them, all moved by the same distance.
 */
#ifndef VMP_KERNELFIT_H
#define VMP_KERNELFIT_H

#include <stdint.h>

#include "model/symtab.h"

struct vmp_kernel_fit {
	uint64_t slide;		/* the kernel's addresses less the file's */
	uint32_t same, other;	/* functions that both have: so far apart, and not */
};

/** vmp_kernel_compare() - By names that the file has once.  Return: 0 or -ENOMEM. */
int vmp_kernel_compare(const struct vmp_symtab *kernel, const struct vmp_symtab *file, struct vmp_kernel_fit *fit);

/** vmp_kernel_fits() - Is it that kernel?  No with too few functions to tell. */
int vmp_kernel_fits(const struct vmp_kernel_fit *fit);

#endif
