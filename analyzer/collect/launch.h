/* SPDX-License-Identifier: GPL-2.0-only */
/* launch.h - begin a session: a collector in the background. */
#ifndef VMP_LAUNCH_H
#define VMP_LAUNCH_H

#include <stdint.h>

#include "collect/lbr.h"
#include "util/opts.h"

struct vmp_session_opts {
	struct vmp_opt_list domains;
	int all;
	const char *event;	/* NULL: cycles, or the timer where there is no PMU */
	const char *period;	/* NULL: the event's usual one */
	int cpi;		/* sample instructions, too, or do not start */
	int no_cpi;		/* nor do so for the sake of branches */
	int random;		/* the period is the mean of random ones */
	struct vmp_lbr lbr;	/* record branches, too */
	int no_kernel_text;	/* the kernels' code is not copied for branches */
	const char *output;	/* NULL: below vmp_capture_dir() */
	struct vmp_opt_list objects;	/* how guests' binaries come, see objects.h */
	const char *uri;	/* NULL: VMP_LIBVIRT_URI */
	uint64_t duration_ns;	/* 0: until stop */
	uint64_t ring_bytes;
};

/**
 * vmp_launch() - Start a collector; wait until it says that samples flow, and pass on what it says.
 * Return: exit code.
 */
int vmp_launch(const struct vmp_session_opts *o);

#endif
