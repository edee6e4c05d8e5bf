/* SPDX-License-Identifier: GPL-2.0-only */
/* objects.h - how the binaries of a guest come to the host: what --objects says. */
#ifndef VMP_OBJECTS_H
#define VMP_OBJECTS_H

#include <stddef.h>

#include "util/opts.h"

enum vmp_objects_way {
	VMP_OBJECTS_AGENT,	/* over the agent's channel */
	VMP_OBJECTS_NONE,	/* not at all: nothing is copied out of the guest */
	VMP_OBJECTS_SSH,	/* by ssh, as its user who calls */
};

struct vmp_objects {
	enum vmp_objects_way way;
	char user[64];		/* "" as ssh's configuration says */
	char host[256];
	char port[8];		/* "" likewise */
};

/**
 * vmp_objects_parse() - Read a value of --objects: [DOMAIN=]agent, none or ssh://[USER@]HOST[:PORT].
 * @domain: Where it begins in @text, @len bytes; 0 it is for all.
 * Return: 0, or -EINVAL (told).
 */
int vmp_objects_parse(const char *text, struct vmp_objects *o, size_t *len);

/**
 * vmp_objects_check() - Do all values of --objects make sense?
 * @domains: Those of the session; @all: they are not known yet.
 * Return: 0, or -EINVAL (told).
 */
int vmp_objects_check(const struct vmp_opt_list *values, const struct vmp_opt_list *domains, int all);

/** vmp_objects_of() - What the values say of a domain; its own word goes before one for all. */
struct vmp_objects vmp_objects_of(const struct vmp_opt_list *values, const char *domain);

/** vmp_objects_name() - "agent", "none", "ssh" */
const char *vmp_objects_name(enum vmp_objects_way way);

#endif
