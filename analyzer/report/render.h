/* SPDX-License-Identifier: GPL-2.0-only */
/* render.h - a profile as text for people or as JSON; both escape every foreign string. */
#ifndef VMP_RENDER_H
#define VMP_RENDER_H

#include <stdio.h>

#include "report/profile.h"

struct vmp_render {
	const char *path;	/* of the capture */
	uint64_t limit;		/* rows of a domain, 0 all */
};

/** vmp_render_text() - Heads, tables and notes. */
void vmp_render_text(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r);

/** vmp_render_json() - One object; layout: docs/report-json.md. */
void vmp_render_json(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r);

/** vmp_render_notes() - What limits the profile: losses, gaps, time axis, advice. */
void vmp_render_notes(FILE *out, const struct vmp_profile *p);

/* Names used in both */

/** vmp_by_name() - "function" */
const char *vmp_by_name(enum vmp_by by);

/** vmp_side_name() - "guest_kernel"; "mixed" for rows of several sides. */
const char *vmp_side_name(enum vmp_side side);

/** vmp_driver_loss_key() - "ring_full", or NULL for a number not in use. */
const char *vmp_driver_loss_key(unsigned int cause);

/** vmp_driver_loss_text() - Why, and what to do. */
const char *vmp_driver_loss_text(unsigned int cause);

/** vmp_agent_loss_key() - "ring_full", or NULL. */
const char *vmp_agent_loss_key(unsigned int cause);
const char *vmp_agent_loss_text(unsigned int cause);

/** vmp_collector_loss_text() - Words for a key of the summary, or NULL. */
const char *vmp_collector_loss_text(const char *key);

/** vmp_clock_name() - "driver" */
const char *vmp_clock_name(enum vmp_clock_source source);

/** vmp_session_seconds() - From the first record to the last; 0 unknown. */
double vmp_session_seconds(const struct vmp_model *m);

/** vmp_clock_error_us() - Bound of the error of a VM's time axis. */
double vmp_clock_error_us(const struct vmp_model *m, const struct vmp_machine *vm);

/** vmp_guest_samples() - Of a domain. */
static inline uint64_t vmp_guest_samples(const struct vmp_domain *d)
{
	return d->side[VMP_SIDE_KERNEL] + d->side[VMP_SIDE_USER];
}

static inline double vmp_percent(uint64_t n, uint64_t of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

#endif
