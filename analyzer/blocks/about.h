/* SPDX-License-Identifier: GPL-2.0-only */
/* about.h - what a set of branches is made of, what was left out of it and why, in text and JSON. */
#ifndef VMP_ABOUT_H
#define VMP_ABOUT_H

#include <stdio.h>

#include "blocks/estimate.h"

/** vmp_about_head() - The capture, and how much of it has branches. */
void vmp_about_head(FILE *out, const struct vmp_set *set, const char *path);

/** vmp_about_notes() - What limits the figures.  @e: NULL, there are none: branches themselves are shown. */
void vmp_about_notes(FILE *out, const struct vmp_set *set, const struct vmp_estimates *e);

/** vmp_about_spread() - One more note, where percentiles are shown: of what they are. */
void vmp_about_spread(FILE *out, const struct vmp_estimates *e);

/** vmp_about_left_out() - What of the branches is not used, by cause; nothing where all are. */
void vmp_about_left_out(FILE *out, const struct vmp_set *set);

/** vmp_about_json() - The same as members of an object, with a comma behind. */
void vmp_about_json(FILE *out, const struct vmp_set *set, const struct vmp_estimates *e, const char *path);

/** vmp_about_source() - "share of time by number of runs" */
const char *vmp_about_source(enum vmp_source source);

/** vmp_about_side() - "guest_kernel", of a point. */
const char *vmp_about_side(const struct vmp_set *set, uint32_t point);

/** vmp_about_domain() - Name of the domain that a point is of, "[host]"; not safe for a terminal. */
const char *vmp_about_domain(const struct vmp_set *set, uint32_t point);

#endif
