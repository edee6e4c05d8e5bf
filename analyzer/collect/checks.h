/* SPDX-License-Identifier: GPL-2.0-only */
/* checks.h - what `vmprof doctor` looks at: one line each, with the command that mends it. */
#ifndef VMP_CHECKS_H
#define VMP_CHECKS_H

#include <libvirt/libvirt.h>
#include <stdint.h>
#include <stdio.h>

#include "collect/domain.h"

struct vmp_checks {
	int good, remarks, faults;
	FILE *out;		/* where lines go; NULL: standard output */
	const char *root;	/* NULL, or a folder with /sys, /proc, ... made up for a test */
};

/* "ok  ...": as it should be */
void vmp_check_good(struct vmp_checks *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "--  ...": a profile works, but with less in it or with a chance of loss */
void vmp_check_remark(struct vmp_checks *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "!!  ...": no profile until it is mended */
void vmp_check_fault(struct vmp_checks *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** vmp_check_host() - Everything that is the same for all domains. */
void vmp_check_host(struct vmp_checks *c);

/** vmp_check_room() - Whether @bytes that are free below @dir suffice; @instead: what else to do. */
void vmp_check_room(struct vmp_checks *c, const char *dir, const char *instead, uint64_t bytes);

/** vmp_check_domain() - One running domain; @busy: a session holds its agent's channel. */
void vmp_check_domain(struct vmp_checks *c, virConnectPtr conn, struct vmp_domain *d, int busy);

#endif
