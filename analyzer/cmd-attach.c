// SPDX-License-Identifier: GPL-2.0-only
/* cmd-attach.c - vmprof attach: add the agent's channel to running domains. */
#include <libvirt/libvirt.h>

#include "cmd.h"
#include "collect/domain.h"
#include "collect/running.h"
#include "util/log.h"
#include "util/opts.h"

static int attach(virConnectPtr conn, const char *name)
{
	struct vmp_domain d;
	int ret;

	ret = vmp_domain_find(conn, name, &d);
	if (ret)
		return ret;
	ret = vmp_domain_attach(conn, &d);
	if (ret < 0)
		return ret;
	vmp_info("%s: %s the agent's channel, socket %s%s", d.shown, ret ? "added" : "has",
		 d.xml.channel_path,
		 d.xml.port == VMP_PORT_OPEN ? "; something in the guest has it open" : "");
	return 0;
}

int cmd_attach(int argc, char **argv)
{
	struct vmp_opt_list domains = { .nr = 0 };
	const char *uri = NULL;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_LIST, "NAME", "this running domain; may be given again",
		  &domains },
		{ "connect", 'c', VMP_OPT_STR, "URI",
		  "libvirt's address; default: qemu:///system", &uri },
		{ 0 },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof attach --domain NAME... [--connect URI]",
		.about = "Add the agent's virtio-serial channel org.vmprof.agent.0 to running domains that\n"
			 "have none, until they are shut down. vmprof start does this by itself; attach\n"
			 "alone is for installing the agent beforehand.",
		.opts = opts,
		.more = "Exit status: 0 every domain has the channel, 1 failed, 2 wrong usage.",
	};
	int i, args, ret, failed = 0;
	virConnectPtr conn;

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (!domains.nr) {
		vmp_err("attach: which domain? --domain NAME; virsh list shows them");
		return VMP_EXIT_USAGE;
	}
	if (vmp_need_root("attach"))
		return VMP_EXIT_FAILED;
	conn = vmp_libvirt_open(uri);
	if (!conn)
		return VMP_EXIT_FAILED;
	for (i = 0; i < domains.nr; i++)
		failed |= attach(conn, domains.item[i]) != 0;
	virConnectClose(conn);
	return failed ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}
