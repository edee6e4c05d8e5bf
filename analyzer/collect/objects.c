// SPDX-License-Identifier: GPL-2.0-only
/* objects.c - see objects.h. */
#include "collect/objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define SSH	"ssh://"

static const char *const names[] = {
	[VMP_OBJECTS_AGENT] = "agent", [VMP_OBJECTS_NONE] = "none", [VMP_OBJECTS_SSH] = "ssh",
};

const char *vmp_objects_name(enum vmp_objects_way way)
{
	return names[way];
}

/* A part of the address: what ssh could take for an option, or a shell for more, is none */
static int take(char *to, size_t size, const char *from, size_t len)
{
	size_t i;

	if (!len || len >= size || *from == '-')
		return -EINVAL;
	for (i = 0; i < len; i++)
		if (from[i] <= ' ' || from[i] > '~' || strchr("\"'`$\\;&|<>()*?!#@/", from[i]))
			return -EINVAL;
	memcpy(to, from, len);
	to[len] = 0;
	return 0;
}

static int take_port(struct vmp_objects *o, const char *text, size_t len)
{
	uint64_t port;

	return take(o->port, sizeof(o->port), text, len) || vmp_parse_count(o->port, &port) || !port ||
	       port > 65535 ? -EINVAL : 0;
}

/* "[USER@]HOST[:PORT]", where an IPv6 address is in brackets */
static int parse_address(struct vmp_objects *o, const char *s)
{
	const char *at = strchr(s, '@'), *end;

	if (at && take(o->user, sizeof(o->user), s, (size_t)(at - s)))
		return -EINVAL;
	s = at ? at + 1 : s;
	if (*s == '[') {
		end = strchr(++s, ']');
		if (!end || take(o->host, sizeof(o->host), s, (size_t)(end - s)))
			return -EINVAL;
		end++;
	} else {
		end = s + strcspn(s, ":");
		if (take(o->host, sizeof(o->host), s, (size_t)(end - s)))
			return -EINVAL;
	}
	if (!*end)
		return 0;
	return *end == ':' ? take_port(o, end + 1, strlen(end + 1)) : -EINVAL;
}

static int parse_way(struct vmp_objects *o, const char *s)
{
	memset(o, 0, sizeof(*o));
	if (!strcmp(s, names[VMP_OBJECTS_AGENT]))
		return 0;
	if (!strcmp(s, names[VMP_OBJECTS_NONE])) {
		o->way = VMP_OBJECTS_NONE;
		return 0;
	}
	o->way = VMP_OBJECTS_SSH;
	return strncmp(s, SSH, strlen(SSH)) ? -EINVAL : parse_address(o, s + strlen(SSH));
}

int vmp_objects_parse(const char *text, struct vmp_objects *o, size_t *len)
{
	/* a domain's name may hold any of these characters, an address no '=' */
	const char *is = strrchr(text, '=');
	char safe[512];

	*len = is ? (size_t)(is - text) : 0;
	if (is != text && !parse_way(o, is ? is + 1 : text))
		return 0;
	vmp_err("--objects %s: give agent, none or ssh://[USER@]HOST[:PORT], for one domain DOMAIN=ssh://...",
		vmp_text(safe, sizeof(safe), text, strlen(text)));
	return -EINVAL;
}

static int is_of(const char *text, size_t len, const char *domain)
{
	return strlen(domain) == len && !memcmp(text, domain, len);
}

static int is_listed(const struct vmp_opt_list *domains, const char *text, size_t len)
{
	int i;

	for (i = 0; i < domains->nr; i++)
		if (is_of(text, len, domains->item[i]))
			return 1;
	return 0;
}

int vmp_objects_check(const struct vmp_opt_list *values, const struct vmp_opt_list *domains, int all)
{
	struct vmp_objects o;
	char safe[256];
	size_t len;
	int i;

	for (i = 0; i < values->nr; i++) {
		const char *text = values->item[i];

		if (vmp_objects_parse(text, &o, &len))
			return -EINVAL;
		if (!len && o.way == VMP_OBJECTS_SSH && (all || domains->nr > 1)) {
			vmp_err("--objects %s: one guest's address does not serve several domains: DOMAIN=%s",
				vmp_text(safe, sizeof(safe), text, strlen(text)), safe);
			return -EINVAL;
		}
		if (len && !all && !is_listed(domains, text, len)) {
			vmp_err("--objects: '%s' is not profiled; name it by --domain, too",
				vmp_text(safe, sizeof(safe), text, len));
			return -EINVAL;
		}
	}
	return 0;
}

struct vmp_objects vmp_objects_of(const struct vmp_opt_list *values, const char *domain)
{
	struct vmp_objects o, found = { 0 };
	int i, own = 0;
	size_t len;

	for (i = 0; i < values->nr; i++) {
		if (vmp_objects_parse(values->item[i], &o, &len))
			continue;
		if (len ? is_of(values->item[i], len, domain) : !own)
			found = o;
		own |= len && is_of(values->item[i], len, domain);
	}
	return found;
}
