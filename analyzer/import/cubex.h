/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cubex.h - profiles of Cube and Score-P (.cubex), written as open XML.
 *
 * A .cubex is a tar: anchor.xml names metrics, call paths and locations, and
 * N.index and N.data hold the values of metric N, a row of all locations for
 * each call path.  Written are the metrics of each location (a thread) over
 * the whole program: exclusive ones summed over the call paths, inclusive
 * ones of its roots.
 */
#ifndef VMP_CUBEX_H
#define VMP_CUBEX_H

#include <stddef.h>
#include <stdint.h>

#include "export/xmlout.h"
#include "import/tar.h"
#include "model/strings.h"

enum vmp_cube_type {
	VMP_CUBE_SIGNED,
	VMP_CUBE_UNSIGNED,
	VMP_CUBE_REAL,
	VMP_CUBE_MIN,		/* real numbers, of which the least counts */
	VMP_CUBE_MAX,
	VMP_CUBE_OTHER,		/* no single number: not taken over */
};

struct vmp_cube_metric {
	uint32_t id, depth;	/* depth in the tree of metrics, the first 1 */
	uint32_t name, unit;	/* string numbers */
	enum vmp_cube_type type;
	unsigned int bytes;	/* of a value */
	int inclusive;
	int has_data;		/* values are in the file */
};

struct vmp_cube_group {
	uint32_t name;		/* string number */
	uint64_t rank;
};

struct vmp_cube_location {
	uint32_t name;
	uint32_t group;
	uint64_t id, rank;	/* id: place in the rows */
};

struct vmp_cube {
	int fd;			/* borrowed */
	struct vmp_tar tar;
	struct vmp_strings strings;
	uint32_t creator;	/* string number */
	VMP_VEC(struct vmp_cube_metric) metrics;
	VMP_VEC(struct vmp_cube_group) groups;
	VMP_VEC(struct vmp_cube_location) locations;
	VMP_VEC(uint64_t) roots;	/* numbers of the roots among the call paths */
	uint64_t cnodes;
	char error[512];	/* what is wrong, when -EBADMSG came */
};

/* A value; which one, the metric's type tells */
union vmp_cube_value {
	uint64_t u;
	double d;
};

/** vmp_cube_open() - Read the list of files and anchor.xml.  Return: 0, -EBADMSG, -ENOMEM, -errno. */
int vmp_cube_open(struct vmp_cube *c, int fd);
void vmp_cube_close(struct vmp_cube *c);

/** vmp_cube_anchor() - anchor.xml alone (part of vmp_cube_open()). */
int vmp_cube_anchor(struct vmp_cube *c);

/**
 * vmp_cube_sums() - A metric over the whole program.
 * @first: The locations from there on ...
 * @nr:    ... so many.
 * @out:   Their sums, @nr values.
 *
 * Return: 0, -EBADMSG, -ENOMEM, -errno of reading.
 */
int vmp_cube_sums(struct vmp_cube *c, const struct vmp_cube_metric *m, uint32_t first, uint32_t nr,
		  union vmp_cube_value *out);

/** vmp_cube_write() - The whole profile.  Return: 0, -EBADMSG, -ENOMEM, -errno of reading. */
int vmp_cube_write(struct vmp_cube *c, struct vmp_xml *x);

/** vmp_cube_complain() - Say what is wrong; %s only with safe text.  Return: -EBADMSG. */
int vmp_cube_complain(struct vmp_cube *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
