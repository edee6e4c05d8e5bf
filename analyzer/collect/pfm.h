/* SPDX-License-Identifier: GPL-2.0-only */
/* pfm.h - event names of libpfm4, where it was there at build time. */
#ifndef VMP_PFM_H
#define VMP_PFM_H

#include "collect/events.h"

#ifdef HAVE_LIBPFM
/** vmp_pfm_event() - Encode a libpfm4 event name. Return: 0, -ENOENT. */
int vmp_pfm_event(const char *name, struct vmp_event *ev);
#define VMP_PFM_HINT "vmprof start --help lists the names; libpfm4's work too"
#else
#include <errno.h>
static inline int vmp_pfm_event(const char *name, struct vmp_event *ev)
{
	(void)name;
	(void)ev;
	return -ENOENT;
}
#define VMP_PFM_HINT "vmprof start --help lists the names (this build is without libpfm4's)"
#endif

#endif
