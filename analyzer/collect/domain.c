// SPDX-License-Identifier: GPL-2.0-only
/* domain.c - domains as libvirt knows them, and QEMU's monitor through it. */
#include "collect/domain.h"

#include <errno.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vmprof/agent_proto.h>

#include "collect/qemupid.h"
#include "util/log.h"
#include "util/text.h"

static void silent(void *arg, virErrorPtr error)
{
	(void)arg;
	(void)error;
}

const char *vmp_libvirt_error(void)
{
	static char safe[512];
	const char *missing = vmp_libvirt_missing(), *msg = missing ? missing : virGetLastErrorMessage();

	return vmp_text(safe, sizeof(safe), msg, strlen(msg));
}

virConnectPtr vmp_libvirt_open(const char *uri)
{
	const char *name = uri ? uri : VMP_LIBVIRT_URI;
	const char *type;
	char safe[256];
	virConnectPtr conn;

	virSetErrorFunc(NULL, silent);
	conn = virConnectOpen(name);
	if (!conn) {
		vmp_err("cannot connect to libvirt at %s: %s\n%s",
			vmp_text(safe, sizeof(safe), name, strlen(name)), vmp_libvirt_error(),
			vmp_libvirt_missing() ? "  install libvirt's client library (Debian: libvirt0, Fedora: libvirt-libs)" :
			uri ? "  is that its address (qemu:///system), and does it run?  systemctl start libvirtd (or virtqemud.socket)" :
			"  is it running?  systemctl start libvirtd (or virtqemud.socket)");
		return NULL;
	}
	type = virConnectGetType(conn);
	if (!type || strcmp(type, "QEMU")) {
		vmp_err("%s is a hypervisor of type %s, vmprof profiles guests of QEMU and KVM on this host only\n"
			"  where such run here, give their address: --connect " VMP_LIBVIRT_URI,
			vmp_text(safe, sizeof(safe), name, strlen(name)), type ? type : "unknown");
		virConnectClose(conn);
		return NULL;
	}
	return conn;
}

static int read_xml(virDomainPtr dom, struct vmp_domxml *out)
{
	char *xml = virDomainGetXMLDesc(dom, 0);
	int err;

	if (!xml)
		return -EIO;
	err = vmp_domxml_parse(xml, strlen(xml), out);
	free(xml);
	return err;
}

/* Everything about a domain that was found. */
static int fill(virDomainPtr dom, struct vmp_domain *d)
{
	const char *name = virDomainGetName(dom);
	int err;

	memset(d, 0, sizeof(*d));
	vmp_text(d->shown, sizeof(d->shown), name, strlen(name));
	vmp_shell_word(d->word, sizeof(d->word), name);
	if (strlen(name) >= sizeof(d->name)) {
		vmp_err("domain '%s': its name is too long; give it one of less than %zu bytes: virsh domrename",
			d->shown, sizeof(d->name));
		return -EIO;
	}
	strcpy(d->name, name);
	if (virDomainIsActive(dom) != 1) {
		vmp_err("domain '%s' is not running; start it: virsh start %s", d->shown, d->word);
		return -ESRCH;
	}
	if (virDomainGetUUIDString(dom, d->uuid) || read_xml(dom, &d->xml)) {
		vmp_err("domain '%s': libvirt does not describe it: %s\n"
			"  try yourself: virsh dumpxml %s", d->shown, vmp_libvirt_error(), d->word);
		return -EIO;
	}
	if (!d->xml.is_kvm) {
		vmp_err("domain '%s' does not run under KVM; only guests of type='kvm' can be profiled",
			d->shown);
		return -EOPNOTSUPP;
	}
	err = vmp_qemu_pid(d->name, d->uuid, &d->pid);
	if (err) {
		vmp_err("domain '%s': no QEMU process of it on this host: %s\n"
			"  vmprof runs on the host of the guest, in the host's own pid namespace",
			d->shown, strerror(-err));
		return -EIO;
	}
	return 0;
}

int vmp_domain_find(virConnectPtr conn, const char *name, struct vmp_domain *d)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);
	char safe[256];
	int err;

	if (!dom) {
		const virError *e = virGetLastError();

		vmp_text(safe, sizeof(safe), name, strlen(name));
		if (e && e->code != VIR_ERR_NO_DOMAIN) {
			vmp_err("domain '%s': %s\n"
				"  does libvirt answer?  virsh list; else: systemctl restart libvirtd (or virtqemud)",
				safe, vmp_libvirt_error());
			return -EIO;
		}
		vmp_err("there is no domain '%s'; virsh list --all shows what there is", safe);
		return -ENOENT;
	}
	err = fill(dom, d);
	virDomainFree(dom);
	return err;
}

int vmp_domain_list(virConnectPtr conn, struct vmp_domain **list)
{
	virDomainPtr *doms = NULL;
	int i, nr, good = 0;

	nr = virConnectListAllDomains(conn, &doms, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
	if (nr < 0) {
		vmp_err("cannot list the domains: %s\n"
			"  does libvirt answer?  virsh list; else: systemctl restart libvirtd (or virtqemud)",
			vmp_libvirt_error());
		return -EIO;
	}
	*list = calloc(nr ? nr : 1, sizeof(**list));
	for (i = 0; i < nr; i++) {
		if (*list && !fill(doms[i], &(*list)[good]))
			good++;
		virDomainFree(doms[i]);
	}
	free(doms);
	return *list ? good : -ENOMEM;
}

int vmp_domain_refresh(virConnectPtr conn, struct vmp_domain *d)
{
	virDomainPtr dom = virDomainLookupByName(conn, d->name);
	int err;

	if (!dom)
		return -EIO;
	err = read_xml(dom, &d->xml);
	virDomainFree(dom);
	return err;
}

int vmp_domain_attach(virConnectPtr conn, struct vmp_domain *d)
{
	virDomainPtr dom;
	int err = 0;

	if (d->xml.has_channel && d->xml.channel_path[0])
		return 0;
	if (d->xml.has_channel) {
		vmp_err("domain '%s' has a channel %s that is no UNIX socket; remove it: virsh edit %s",
			d->shown, VMPROF_PORT_NAME, d->word);
		return -EINVAL;
	}
	dom = virDomainLookupByName(conn, d->name);
	if (!dom || virDomainAttachDeviceFlags(dom, VMP_CHANNEL_XML, VIR_DOMAIN_AFFECT_LIVE)) {
		vmp_err("domain '%s': cannot add the agent's channel: %s\n"
			"  the log has more: journalctl -u libvirtd -u virtqemud", d->shown,
			vmp_libvirt_error());
		err = -EIO;
	} else if (read_xml(dom, &d->xml) || !d->xml.channel_path[0]) {
		vmp_err("domain '%s': libvirt took the agent's channel but does not show it\n"
			"  see what it made of it: virsh dumpxml %s", d->shown, d->word);
		err = -EIO;
	}
	if (dom)
		virDomainFree(dom);
	return err ? err : 1;
}

int vmp_domain_qmp(virConnectPtr conn, const struct vmp_domain *d, const char *command,
		   char **reply)
{
	virDomainPtr dom = virDomainLookupByName(conn, d->name);
	int err;

	if (!dom)
		return -EIO;
	err = virDomainQemuMonitorCommand(dom, command, reply, 0);
	virDomainFree(dom);
	return err ? -EIO : 0;
}

/* VSERPORT_CHANGE comes at most once a second of each port, whatever the guest does. */
#define EVENTS	"^(VSERPORT_CHANGE|ACPI_DEVICE_OST|MEMORY_DEVICE_SIZE_CHANGE|DEVICE_DELETED|RESUME)$"

struct listener {
	void (*changed)(void *arg);
	void *arg;
};

static void on_event(virConnectPtr conn, virDomainPtr dom, const char *event, long long seconds, unsigned int micros,
		     const char *details, void *opaque)
{
	const struct listener *l = opaque;

	(void)conn;
	(void)dom;
	(void)event;
	(void)seconds;
	(void)micros;
	(void)details;
	l->changed(l->arg);
}

int vmp_domain_events(virConnectPtr conn, void (*changed)(void *arg), void *arg)
{
	struct listener *l = malloc(sizeof(*l));
	int events;

	if (!l)
		return -EIO;
	*l = (struct listener){ changed, arg };
	events = virConnectDomainQemuMonitorEventRegister(conn, NULL, EVENTS, on_event, l, free,
							  VIR_CONNECT_DOMAIN_QEMU_MONITOR_EVENT_REGISTER_REGEX);
	if (events >= 0)
		return events;
	free(l);
	return -EIO;
}

void vmp_domain_events_end(virConnectPtr conn, int events)
{
	virConnectDomainQemuMonitorEventDeregister(conn, events);
}
