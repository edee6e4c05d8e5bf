// SPDX-License-Identifier: GPL-2.0-only
/* domxml.c - what vmprof wants to know from libvirt's description of a running domain. */
#include "collect/domxml.h"

#include <errno.h>
#include <libxml/parser.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <vmprof/agent_proto.h>

static int is_element(const xmlNode *n, const char *name)
{
	return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, name);
}

static xmlNode *child(xmlNode *parent, const char *name)
{
	xmlNode *n;

	for (n = parent ? parent->children : NULL; n; n = n->next)
		if (is_element(n, name))
			return n;
	return NULL;
}

/* An attribute's value into @dst, "" when it is not there or too long. */
static const char *attr(xmlNode *n, const char *name, char *dst, size_t size)
{
	xmlChar *v = n ? xmlGetNoNsProp(n, (const xmlChar *)name) : NULL;

	dst[0] = 0;
	if (v && strlen((const char *)v) < size)
		strcpy(dst, (const char *)v);
	xmlFree(v);
	return dst;
}

static void read_channel(xmlNode *channel, struct vmp_domxml *out)
{
	xmlNode *target = child(channel, "target");
	char buf[64];

	if (strcmp(attr(target, "name", buf, sizeof(buf)), VMPROF_PORT_NAME))
		return;
	out->has_channel = 1;
	attr(target, "state", buf, sizeof(buf));
	out->port = !strcmp(buf, "connected") ? VMP_PORT_OPEN :
		    !strcmp(buf, "disconnected") ? VMP_PORT_CLOSED : VMP_PORT_UNKNOWN;
	if (!strcmp(attr(channel, "type", buf, sizeof(buf)), "unix"))
		attr(child(channel, "source"), "path", out->channel_path,
		     sizeof(out->channel_path));
}

/* SEV encrypts memory alone unless bit 2 of its policy (AMD's SEV API, guest policy)
   asks for SEV-ES, which encrypts the registers too. */
static void read_security(xmlNode *n, struct vmp_domxml *out)
{
	xmlNode *policy = child(n, "policy");
	xmlChar *text = policy ? xmlNodeGetContent(policy) : NULL;
	unsigned long bits = text ? strtoul((const char *)text, NULL, 0) : 0;

	xmlFree(text);
	attr(n, "type", out->secured, sizeof(out->secured));
	if (!strcmp(out->secured, "sev"))
		strcpy(out->secured, bits & 4 ? "sev-es" : "");
}

int vmp_domxml_parse(const char *xml, size_t len, struct vmp_domxml *out)
{
	xmlNode *root, *n;
	char buf[16];
	xmlDoc *doc;

	if (len > INT_MAX)
		return -EBADMSG;
	doc = xmlReadMemory(xml, (int)len, NULL, NULL,
			    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	root = doc ? xmlDocGetRootElement(doc) : NULL;
	if (!root || !is_element(root, "domain")) {
		xmlFreeDoc(doc);
		return -EBADMSG;
	}
	memset(out, 0, sizeof(*out));
	out->is_kvm = !strcmp(attr(root, "type", buf, sizeof(buf)), "kvm");
	read_security(child(root, "launchSecurity"), out);
	n = child(root, "devices");
	for (n = n ? n->children : NULL; n; n = n->next)
		if (is_element(n, "channel"))
			read_channel(n, out);
	xmlFreeDoc(doc);
	return 0;
}
