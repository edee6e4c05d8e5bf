/* SPDX-License-Identifier: GPL-2.0-only */
/* lbr.h - last branch records as people ask for them, and why they cannot be had. */
#ifndef VMP_LBR_H
#define VMP_LBR_H

#include <stdint.h>
#include <stdio.h>
#include <vmprof/uapi.h>

struct vmp_lbr {
	uint32_t branches;	/* VMPROF_LBR_*; 0: none */
	uint32_t format;	/* VMPROF_LBR_FROM_TO..., 0 without */
	int is_usual;		/* nobody asked for that format */
};

/**
 * vmp_lbr_parse() - What is to be recorded.
 * @filter: Words with commas: any, call, ret, cond, ind, jump, far; user, kernel; or a preset
 *          (calls, flow, flow-from, flow-to); NULL: no branches.
 * @format: from-to, from, to, from-to-cycles; NULL: the preset's, or the usual one.
 * @lbr:    Untouched on error.
 * Return: 0; -EINVAL told through vmp_err().
 */
int vmp_lbr_parse(const char *filter, const char *format, struct vmp_lbr *lbr);

/**
 * vmp_lbr_check() - Can the loaded module do it?
 * Return: 0; -EPROTO, -EOPNOTSUPP told through vmp_err(), with the reason.
 */
int vmp_lbr_check(const struct vmp_lbr *lbr, const struct vmprof_query *q);

/**
 * vmp_lbr_on() - What is recorded on a host: where it counts the cycles between branches, and blocks can be
 * told from these, with them, unless a format was asked for.
 */
struct vmp_lbr vmp_lbr_on(const struct vmp_lbr *lbr, const struct vmprof_query *q);

/** vmp_lbr_tells_blocks() - 1: all near branches, each with both its ends, so that the code between them is known. */
int vmp_lbr_tells_blocks(const struct vmp_lbr *lbr);

/** vmp_lbr_lack() - Why there are none on this host, as a sentence; NULL: there are. */
const char *vmp_lbr_lack(const struct vmprof_query *q);

/** vmp_lbr_json() - {"branches":["user",...],"format":"from-to"}, null without. */
void vmp_lbr_json(const struct vmp_lbr *lbr, FILE *f);

/** vmp_lbr_text() - "user, cond, ret, from-to" into @dst, 128 bytes. Return: @dst. */
const char *vmp_lbr_text(char *dst, const struct vmp_lbr *lbr);

/** vmp_lbr_bytes() - What the record of @entries branches takes in the ring. */
unsigned int vmp_lbr_bytes(const struct vmp_lbr *lbr, unsigned int entries);

#endif
