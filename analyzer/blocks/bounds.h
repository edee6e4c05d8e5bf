/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bounds.h - where instructions begin: what lies in the middle of one is no place that runs.
 *
 * Code is followed from the beginning of its function, along all ways that the instructions tell.
 * Bytes that no way leads to (cases of a switch, landing pads, data) are decoded one instruction
 * after the other from where the code before them ends, up to what may be data; behind that nothing is known.
 */
#ifndef VMP_BOUNDS_H
#define VMP_BOUNDS_H

#include "blocks/draw.h"

#define VMP_BOUNDS_BYTES	131072U	/* of a function are followed; what lies behind is not known */

/**
 * vmp_bounds_mark() - Points in the middle of an instruction get VMP_FLAW_MIDDLE.
 * @w: With its points in order.
 * Return: 0 or -ENOMEM.
 */
int vmp_bounds_mark(struct vmp_drawing *w);

struct vmp_bounds;

/** vmp_bounds_create() - To ask about points; each thread has its own.  Return: NULL: no memory. */
struct vmp_bounds *vmp_bounds_create(const struct vmp_points *p);
void vmp_bounds_destroy(struct vmp_bounds *b);

/**
 * vmp_bounds_goes_on() - Does the instruction before a point go on there, without being a call?
 * Return: 1; 0 it does not, or it is not known.
 */
int vmp_bounds_goes_on(struct vmp_bounds *b, uint32_t point);

#endif
