/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ehframe.h - bounds of functions from .eh_frame, which stripping leaves in place.
 *
 * Source of the layout: Linux Standard Base core, "Exception Frames"; System V
 * ABI, AMD64 supplement, 4.2.4.  The bytes are hostile.
 */
#ifndef VMP_EHFRAME_H
#define VMP_EHFRAME_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_ehframe_walk() - Each function that the section describes.
 * @data: The section's bytes.
 * @len:  Their number.
 * @addr: Link-time address of the section.
 * @fn:   Called with [start, end), start < end; a value other than 0 ends the walk.
 * @arg:  Passed on.
 *
 * Entries that make no sense or use an encoding other than those that
 * compilers write for x86-64 are left out; a broken length ends the walk.
 *
 * Return: 0, or what @fn gave.
 */
int vmp_ehframe_walk(const void *data, size_t len, uint64_t addr,
		     int (*fn)(void *arg, uint64_t start, uint64_t end), void *arg);

#endif
