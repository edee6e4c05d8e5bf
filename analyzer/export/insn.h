/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * insn.h - what kind of instruction lies at a code address, from the program's file.
 *
 * Needs the file that names its functions (a copy of it, or the host's own); kernels and
 * code in no file have none.  Without capstone nothing is decoded.
 */
#ifndef VMP_INSN_H
#define VMP_INSN_H

#include "export/table.h"
#include "model/decode.h"

struct vmp_insns;

/** vmp_insns_create() - A decoder for the sites of a table.  Return: 0 or -ENOMEM. */
int vmp_insns_create(struct vmp_insns **d, const struct vmp_table *t);
void vmp_insns_destroy(struct vmp_insns *d);

/**
 * vmp_insns_at() - Kinds of the instruction at a site.
 * Return: bits 1 << VMP_INSN_*; 0 not decoded.
 */
unsigned int vmp_insns_at(struct vmp_insns *d, uint32_t site);

#endif
