/* SPDX-License-Identifier: GPL-2.0-only */
/* checks.h - what `vmprof doctor` looks at: one line each, with the command that mends it. */
#ifndef VMP_CHECKS_H
#define VMP_CHECKS_H

#include <libvirt/libvirt.h>
#include <stdint.h>
#include <stdio.h>

#include "collect/domain.h"

struct perf_event_attr;

struct vmp_checks {
	int good, remarks, faults;
	int busy;		/* a session runs: it has the counters, and the agents' channels */
	FILE *out;		/* where lines go; NULL: standard output */
	const char *root;	/* NULL, or a folder with /sys, /proc, ... made up for a test */
	/* NULL, or a test's. Return: a file descriptor, or -1 and errno */
	int (*perf_event_open)(struct perf_event_attr *attr, int cpu);
};

/* A path on the host, its first line ("" where it cannot be read), that as a number */
const char *vmp_check_path(const struct vmp_checks *c, char path[4096], const char *name);
int vmp_check_is_there(const struct vmp_checks *c, const char *name);
const char *vmp_check_line(const struct vmp_checks *c, const char *name, char *dst, size_t size);
long vmp_check_long(const struct vmp_checks *c, const char *name, long otherwise);

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

/* Parts of it: the module and what it says of the host; perf's limits, and whether counters are free */
void vmp_check_module(struct vmp_checks *c);
void vmp_check_perf(struct vmp_checks *c);

/** vmp_check_room() - Whether @bytes that are free below @dir suffice; @instead: what else to do. */
void vmp_check_room(struct vmp_checks *c, const char *dir, const char *instead, uint64_t bytes);

/** vmp_check_domain() - One running domain. */
void vmp_check_domain(struct vmp_checks *c, virConnectPtr conn, struct vmp_domain *d);

#endif
