/* SPDX-License-Identifier: GPL-2.0-only */
/* logfile.h - the collector's log: it lies in memory (/run), so it has an end. */
#ifndef VMP_LOGFILE_H
#define VMP_LOGFILE_H

#include <stdint.h>
#include <stdio.h>

#define VMP_LOGFILE_BYTES	(1U << 20)

struct vmp_logfile {
	FILE *out;		/* NULL: none */
	uint64_t bytes;
};

/** vmp_logfile_open() - A new log in place of an old one; without one nothing is written. */
void vmp_logfile_open(struct vmp_logfile *l, const char *path);

/** vmp_logfile_line() - A line with the time; the one that reaches the limit is the last, and says so. */
void vmp_logfile_line(struct vmp_logfile *l, const char *mark, const char *text);

void vmp_logfile_close(struct vmp_logfile *l);

#endif
