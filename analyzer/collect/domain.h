/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * domain.h - domains as libvirt knows them, and QEMU's monitor through it.
 *
 * Errors are told through vmp_err(), with what to do next.
 */
#ifndef VMP_DOMAIN_H
#define VMP_DOMAIN_H

#include <libvirt/libvirt.h>
#include <stdint.h>

#include "collect/domxml.h"
#include "collect/qmp.h"

#define VMP_LIBVIRT_URI	"qemu:///system"

struct vmp_domain {
	char name[256];		/* as libvirt has it */
	char shown[256];	/* safe for a terminal */
	char word[1024];	/* as one word of a command that is shown */
	char uuid[VIR_UUID_STRING_BUFLEN];
	uint32_t pid;		/* of its QEMU: the VM's id */
	struct vmp_domxml xml;
};

/**
 * vmp_libvirt_open() - Connect; libvirt's own messages are kept off the terminal.
 * @uri: NULL for VMP_LIBVIRT_URI.
 * Return: the connection, or NULL (told).
 */
virConnectPtr vmp_libvirt_open(const char *uri);

/**
 * vmp_domain_find() - A running KVM domain by its name.
 * Return: 0, -ENOENT unknown, -ESRCH not running, -EOPNOTSUPP no KVM, -EIO other.
 */
int vmp_domain_find(virConnectPtr conn, const char *name, struct vmp_domain *d);

/**
 * vmp_domain_list() - All running KVM domains; others are told and left out.
 * @list: Allocated on success, the caller's to free.
 * Return: their number or -errno.
 */
int vmp_domain_list(virConnectPtr conn, struct vmp_domain **list);

/**
 * vmp_domain_attach() - Add the agent's channel to the running domain if it has none.
 * @d: Its xml is read again.
 * Return: 1 added, 0 was there, -errno (told).
 */
int vmp_domain_attach(virConnectPtr conn, struct vmp_domain *d);

/** vmp_domain_refresh() - Read the live XML again. Return: 0 or -errno; not told. */
int vmp_domain_refresh(virConnectPtr conn, struct vmp_domain *d);

/**
 * vmp_domain_qmp() - One command to QEMU's monitor.
 * @reply: Allocated on success, the caller's to free.
 * Return: 0 or -EIO; not told, vmp_libvirt_error() has the reason.
 */
int vmp_domain_qmp(virConnectPtr conn, const struct vmp_domain *d, const char *command,
		   char **reply);

/**
 * vmp_domain_events() - Have @changed called when the agent's port opens or closes, memory comes or goes, or a
 * guest goes on after it stood still: in any domain, from virEventRunDefaultImpl().
 * Return: what vmp_domain_events_end() takes, or -EIO; not told.
 */
int vmp_domain_events(virConnectPtr conn, void (*changed)(void *arg), void *arg);

/** vmp_domain_events_end() - No more of these; what keeps the connection in memory when it is closed, dead or not. */
void vmp_domain_events_end(virConnectPtr conn, int events);

/** vmp_libvirt_missing() - What the loader said of libvirt's libraries; NULL where it found what was asked for. */
const char *vmp_libvirt_missing(void);

/** vmp_libvirt_error() - libvirt's last message, safe to show; borrowed until the next call. */
const char *vmp_libvirt_error(void);

#endif
