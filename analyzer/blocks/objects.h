/* SPDX-License-Identifier: GPL-2.0-only */
/* objects.h - the files and kernels that points lie in, and their bytes; for points.c: what others need is in points.h. */
#ifndef VMP_BLOCKS_OBJECTS_H
#define VMP_BLOCKS_OBJECTS_H

#include "blocks/points.h"

/**
 * vmp_objects_add() - Number of an object, made when it is new.
 * @epoch: Which boot of the guest, of a kernel.
 * Return: 0 or -ENOMEM.
 */
int vmp_objects_add(struct vmp_points *p, const struct vmp_object *new, uint32_t epoch, uint32_t *out);

/**
 * vmp_objects_kernel() - The same for the kernel of an origin; a new one's code is looked for in the file that was
 * given for it, or in what the session copied.
 * @module: String number.
 * Return: 0, -ENOMEM.
 */
int vmp_objects_kernel(struct vmp_points *p, const struct vmp_origin *from, uint32_t module, uint32_t *out);

/**
 * vmp_object_has_lasted() - Is the code at an address of an object what ran there?
 * A copy is made when all of the session is over: of it only what has been there all the time.
 */
int vmp_object_has_lasted(const struct vmp_points *p, uint32_t object, uint64_t addr);

/**
 * vmp_object_offset() - Place in its file of a user address whose file is not here.
 * @file: Of the guest's vm, or VMP_NONE.
 * Return: bytes; @addr itself where nothing is mapped.
 */
uint64_t vmp_object_offset(const struct vmp_model *m, const struct vmp_origin *from, uint64_t addr, uint32_t *file);

#endif
