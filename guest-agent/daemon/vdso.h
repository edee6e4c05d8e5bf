/* SPDX-License-Identifier: GPL-2.0-only */
/* vdso.h - the kernel's vdso as it lies in our own memory. */
#ifndef VMP_VDSO_H
#define VMP_VDSO_H

#include "elf_id.h"

/** vmp_vdso_bytes() - Its size; 0 when this process has none. */
size_t vmp_vdso_bytes(void);

/** vmp_vdso_source() - To read it from. */
struct vmp_elf_source vmp_vdso_source(void);

#endif
