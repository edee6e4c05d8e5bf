// SPDX-License-Identifier: GPL-2.0-only
/* pfm.c - event names of libpfm4; empty where the library was not there at build time. */
#include "collect/pfm.h"

#ifdef HAVE_LIBPFM
#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>

int vmp_pfm_event(const char *name, struct vmp_event *ev)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };

	if (pfm_initialize() != PFM_SUCCESS)
		return -ENOENT;
	if (pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT,
				      &arg) != PFM_SUCCESS)
		return -ENOENT;
	ev->type = attr.type;
	ev->config = attr.config;
	ev->config1 = attr.config1;
	ev->config2 = attr.config2;
	return 0;
}
#endif
