/* SPDX-License-Identifier: GPL-2.0-only */
/* domxml.h - what vmprof wants to know from libvirt's description of a running domain. */
#ifndef VMP_DOMXML_H
#define VMP_DOMXML_H

#include <stddef.h>

enum vmp_port_state {
	VMP_PORT_UNKNOWN,	/* libvirt does not say */
	VMP_PORT_CLOSED,	/* nothing in the guest has it open */
	VMP_PORT_OPEN,
};

struct vmp_domxml {
	int is_kvm;
	int has_channel;		/* a channel of the agent's name */
	char channel_path[108];		/* its UNIX socket on the host; "" none */
	enum vmp_port_state port;
	char secured[16];		/* launchSecurity that hides registers: "sev-es",
					   "sev-snp", "tdx", ...; "" none (plain SEV does not) */
};

/**
 * vmp_domxml_parse() - Read the live XML of a domain.
 * @xml: @len bytes.
 * @out: Filled on success.
 *
 * Return: 0; -EBADMSG no XML of a domain.
 */
int vmp_domxml_parse(const char *xml, size_t len, struct vmp_domxml *out);

/** VMP_CHANNEL_XML - The channel to be added; libvirt chooses and labels the socket. */
#define VMP_CHANNEL_XML \
	"<channel type='unix'><source mode='bind'/>" \
	"<target type='virtio' name='org.vmprof.agent.0'/></channel>"

#endif
