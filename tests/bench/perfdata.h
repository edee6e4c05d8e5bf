/* SPDX-License-Identifier: GPL-2.0-only */
/* perfdata.h - the world's processes and samples as a perf.data file, for comparison. */
#ifndef VMP_BENCH_PERFDATA_H
#define VMP_BENCH_PERFDATA_H

#include <stdio.h>

#include "world.h"

/**
 * perfdata_begin() - Header, kernel and the processes that live at the start.
 * @libs: Folder in which perf finds the images' files by name.
 */
FILE *perfdata_begin(const char *path, const struct world *w, const char *libs);

/** perfdata_sample() - One sample; processes that begin before it come first. */
void perfdata_sample(FILE *f, const struct world *w, const struct world_sample *s);

/** perfdata_end() - Return: 0 or -errno. */
int perfdata_end(FILE *f);

#endif
