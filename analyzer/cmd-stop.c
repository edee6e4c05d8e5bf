// SPDX-License-Identifier: GPL-2.0-only
/* cmd-stop.c - vmprof stop: end the session, wait until its capture is finished. */
#include <errno.h>

#include "cmd.h"
#include "collect/control.h"
#include "collect/running.h"
#include "collect/statedir.h"
#include "util/log.h"
#include "util/opts.h"

int cmd_stop(int argc, char **argv)
{
	const struct vmp_opt opts[] = { { 0 } };
	const struct vmp_cmdline cmd = {
		.usage = "vmprof stop",
		.about = "End the running session: sampling stops, the guests' agents send their last\n"
			 "snapshot (10 s at most, 20 s where kernel symbols are still on their way),\n"
			 "which binaries the samples need is looked up in the capture (120 s at most, 120 s\n"
			 "more for each GiB of it), these come from the guests into the object cache\n"
			 "(180 s at most), and the capture is finished. Prints how many samples there\n"
			 "are, what was lost and why, and the file.",
		.opts = opts,
		.more = "Exit status: 0 done, 1 no session runs or it had failed, 2 wrong usage.",
	};
	char log[4096];
	int args, ret;

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (vmp_need_root("stop"))
		return VMP_EXIT_FAILED;
	ret = vmp_control_ask("stop", NULL);
	if (ret >= 0)
		return ret;
	if (ret == -EPIPE)
		vmp_err("the collector died while it finished the capture; see its log: %s",
			vmp_state_path(log, sizeof(log), "log"));
	vmp_tell_absent();
	return VMP_EXIT_FAILED;
}
