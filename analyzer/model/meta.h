/* SPDX-License-Identifier: GPL-2.0-only */
/* meta.h - JSON blocks of a capture: session, VM, summary.  Broken JSON is passed over. */
#ifndef VMP_META_H
#define VMP_META_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

/** vmp_meta_session() - META: what ran, where, how.  Return: 0 or -ENOMEM. */
int vmp_meta_session(struct vmp_model *m, const void *data, size_t len);

/** vmp_meta_vm() - VM: its name and what the collector found out.  Return: 0 or -ENOMEM. */
int vmp_meta_vm(struct vmp_model *m, uint32_t vm, const void *data, size_t len);

/** vmp_meta_objects() - OBJECTS of a VM, or of the host (0): the copy of its kernel's code.  Return: 0 or -ENOMEM. */
int vmp_meta_objects(struct vmp_model *m, uint32_t vm, const void *data, size_t len);

/**
 * vmp_meta_summary() - SUMMARY: what the collector counted.
 * Kept are the non-zero numbers whose key tells of a loss (it holds "lost",
 * "bad", "gaps", "dropped" or "failed"), and the collector's "error".
 * Return: 0 or -ENOMEM.
 */
int vmp_meta_summary(struct vmp_model *m, const void *data, size_t len);

#endif
