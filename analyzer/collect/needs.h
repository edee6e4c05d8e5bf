/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * needs.h - which binaries a capture needs, found out in a process of its own.
 *
 * For that the whole capture is read, and what guests told takes several times its bytes in
 * memory.  Where that is not there, the kernel shall end this process and not the collector,
 * which has what was sampled of all domains.
 */
#ifndef VMP_NEEDS_H
#define VMP_NEEDS_H

#include "model/needed.h"

/** vmp_needs() - As vmp_needed_objects(); -ENOMEM also where the other process was ended. */
int vmp_needs(const char *path, uint32_t vm, int (*fn)(void *arg, const struct vmp_needed *n), void *arg);

#endif
