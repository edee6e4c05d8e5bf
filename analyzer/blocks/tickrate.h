/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tickrate.h - how long a cycle is on the axis of time.
 *
 * The TSC goes evenly; the processor's clock is faster or slower than that.  What its counter counted between two samples
 * of a pCPU, beside the ticks between them, tells by how much: but for intervals in which it stood still (the pCPU slept), or the
 * counter did (cycles of the guest alone are counted while the host ran), which are too long.  So the shortest count.  Where guest and host
 * have a counter each, a sample of the one right behind one of the other has counted since long before that: such intervals are left out.
 */
#ifndef VMP_TICKRATE_H
#define VMP_TICKRATE_H

#include "model/model.h"

#define VMP_TICKRATE_LEAST	16U	/* intervals; fewer say nothing */

/**
 * vmp_tickrate() - Read all samples once.
 * @rate: TSC ticks for each cycle, of which a tenth of all intervals had fewer; 0: samples have no such counts, or too few.
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_tickrate(struct vmp_model *m, double *rate);

#endif
