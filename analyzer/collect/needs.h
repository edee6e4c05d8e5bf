/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * needs.h - which binaries a capture needs, found out in a process of its own.
 *
 * For that the whole capture is read, and what guests told takes several times its bytes in
 * memory, and the longer to look through the more it is made for that.  Where memory or time
 * runs out this process shall end and not the collector, which has what was sampled of all domains.
 */
#ifndef VMP_NEEDS_H
#define VMP_NEEDS_H

#include "model/needed.h"

/**
 * vmp_needs() - As vmp_needed_objects(), waiting for @patience_ns at most.
 * Return: as there; -ENOMEM also where the other process was ended; -ETIMEDOUT it was, for it took too long.
 */
int vmp_needs(const char *path, uint32_t vm, uint64_t patience_ns, int (*fn)(void *arg, const struct vmp_needed *n),
	      void *arg);

#endif
