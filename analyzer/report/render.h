/* SPDX-License-Identifier: GPL-2.0-only */
/* render.h - a profile as text for people or as JSON; both escape every foreign string. */
#ifndef VMP_RENDER_H
#define VMP_RENDER_H

#include <stdio.h>

#include "report/profile.h"
#include "util/terminal.h"

struct vmp_render {
	const char *path;	/* of the capture */
	const char *path_before;	/* of the one that it is compared with, or NULL */
	uint64_t limit;		/* rows of a domain, or children of a node of the tree; 0 all */
	struct vmp_column_list columns;	/* shown in text; none: samples, share, and what by says */
	int usual;		/* nobody named columns: CPI comes along where two events were sampled */
	struct vmp_column_list levels;	/* of the tree; none: a table */
	double percent_limit;	/* of the tree's nodes */
	struct vmp_look look;
	const struct vmp_profile *waiters;	/* beside thieves: who waited, or NULL */
};

/** vmp_render_text() - Heads, tables and notes. */
void vmp_render_text(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r);

/** vmp_render_json() - One object; layout: docs/report-json.md. */
void vmp_render_json(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r);

/**
 * vmp_render_notes() - What limits the profile: losses, gaps, time axis, advice.
 * @rated: Rows are shown with CPI or instructions, or chosen by them.
 */
void vmp_render_notes(FILE *out, const struct vmp_profile *p, int rated);

/** vmp_render_guest_cpi() - Of a domain's guest as a whole, by counts; 0 it is not known. */
double vmp_render_guest_cpi(const struct vmp_domain *d);

/**
 * vmp_render_rows() - The table of a domain's rows, with what was left out below it.
 * @rows: How many.
 */
void vmp_render_rows(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d, uint32_t rows,
		     const struct vmp_column_list *columns, const struct vmp_look *look);

/** vmp_render_tree() - The domain's rows as a tree.  Return: 0 or -ENOMEM. */
int vmp_render_tree(FILE *out, const struct vmp_profile *p, uint32_t domain, const struct vmp_options *o,
		    const struct vmp_render *r);

/**
 * vmp_render_cell() - A measure as text; "-" when it is not known.
 * Return: @buf, of 32 bytes, as wide as vmp_render_width() says, or more.
 */
const char *vmp_render_cell(char *buf, const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *row, enum vmp_column c);
int vmp_render_width(enum vmp_column c);

/** vmp_render_columns() - What is to be shown of a profile. */
struct vmp_column_list vmp_render_columns(const struct vmp_profile *p, const struct vmp_options *o,
					  const struct vmp_render *r);

/** vmp_colour_of() - What a share of time is coloured with on a terminal: an SGR number, 0 none. */
int vmp_colour_of(double percent);

/* Names used in both */

/** vmp_by_name() - "function"; NULL for keys that have no name together. */
const char *vmp_by_name(uint32_t by);

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

/** vmp_who_key() - "kernel_thread"; NULL for VMP_WHO_OFF. */
const char *vmp_who_key(enum vmp_who who);

/** vmp_who_text() - Why a sample's thread is not known; NULL where it is. */
const char *vmp_who_text(enum vmp_who who);

/** vmp_who_looked() - Guest samples of a domain for which current was looked for, and this boot had told where. */
uint64_t vmp_who_looked(const struct vmp_domain *d);

/** vmp_tasks_off_text() - Why it was not, by the VM block's word; NULL: it was, or no word is told. */
const char *vmp_tasks_off_text(const char *state);

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
