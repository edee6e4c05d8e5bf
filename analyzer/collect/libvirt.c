// SPDX-License-Identifier: GPL-2.0-only
/*
 * libvirt.c - libvirt's functions, as far as they are called here; the first call loads the library.
 *
 * It brings fifty others, whose loading takes longer than most of a report; only those who
 * ask for domains wait for it. Weak: tests have their own.
 */
#include <dlfcn.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdio.h>

#include "collect/domain.h"

#define LIBVIRT		"libvirt.so.0"
#define LIBVIRT_QEMU	"libvirt-qemu.so.0"

static char missing[512] = "";	/* what the loader said */

static void *find(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY), *fn = handle ? dlsym(handle, name) : NULL;

	if (!fn)
		snprintf(missing, sizeof(missing), "%s", dlerror());
	return fn;
}

const char *vmp_libvirt_missing(void)
{
	return *missing ? missing : NULL;
}

/* @none: what it returns where there is no library */
#define FORWARD(library, type, none, name, params, args) \
	__attribute__((weak)) type name params \
	{ \
		static type (*fn) params; \
		\
		if (!fn) \
			fn = (type (*) params)find(library, #name); \
		return fn ? fn args : none; \
	}

FORWARD(LIBVIRT, virConnectPtr, NULL, virConnectOpen, (const char *name), (name))
FORWARD(LIBVIRT, int, -1, virConnectClose, (virConnectPtr conn), (conn))
FORWARD(LIBVIRT, int, -1, virConnectIsAlive, (virConnectPtr conn), (conn))
FORWARD(LIBVIRT, const char *, NULL, virConnectGetType, (virConnectPtr conn), (conn))
FORWARD(LIBVIRT, int, -1, virConnectListAllDomains, (virConnectPtr conn, virDomainPtr **list, unsigned int flags),
	(conn, list, flags))
FORWARD(LIBVIRT, virDomainPtr, NULL, virDomainLookupByName, (virConnectPtr conn, const char *name), (conn, name))
FORWARD(LIBVIRT, int, -1, virDomainFree, (virDomainPtr dom), (dom))
FORWARD(LIBVIRT, const char *, NULL, virDomainGetName, (virDomainPtr dom), (dom))
FORWARD(LIBVIRT, int, -1, virDomainGetUUIDString, (virDomainPtr dom, char *buf), (dom, buf))
FORWARD(LIBVIRT, int, -1, virDomainIsActive, (virDomainPtr dom), (dom))
FORWARD(LIBVIRT, char *, NULL, virDomainGetXMLDesc, (virDomainPtr dom, unsigned int flags), (dom, flags))
FORWARD(LIBVIRT, int, -1, virDomainAttachDeviceFlags, (virDomainPtr dom, const char *xml, unsigned int flags),
	(dom, xml, flags))
FORWARD(LIBVIRT_QEMU, int, -1, virDomainQemuMonitorCommand,
	(virDomainPtr dom, const char *cmd, char **result, unsigned int flags), (dom, cmd, result, flags))
FORWARD(LIBVIRT_QEMU, int, -1, virConnectDomainQemuMonitorEventRegister,
	(virConnectPtr conn, virDomainPtr dom, const char *event, virConnectDomainQemuMonitorEventCallback cb, void *opaque,
	 virFreeCallback freecb, unsigned int flags),
	(conn, dom, event, cb, opaque, freecb, flags))
FORWARD(LIBVIRT_QEMU, int, -1, virConnectDomainQemuMonitorEventDeregister, (virConnectPtr conn, int events), (conn, events))
FORWARD(LIBVIRT, int, -1, virEventRegisterDefaultImpl, (void), ())
FORWARD(LIBVIRT, int, -1, virEventRunDefaultImpl, (void), ())
FORWARD(LIBVIRT, int, -1, virEventAddHandle,
	(int fd, int events, virEventHandleCallback cb, void *opaque, virFreeCallback freecb),
	(fd, events, cb, opaque, freecb))
FORWARD(LIBVIRT, void, (void)0, virSetErrorFunc, (void *data, virErrorFunc handler), (data, handler))
FORWARD(LIBVIRT, virErrorPtr, NULL, virGetLastError, (void), ())
FORWARD(LIBVIRT, const char *, missing, virGetLastErrorMessage, (void), ())
