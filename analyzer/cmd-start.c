// SPDX-License-Identifier: GPL-2.0-only
/* cmd-start.c - vmprof start: put a collector into the background, wait until samples flow. */
#include <errno.h>
#include <string.h>

#include "cmd.h"
#include "collect/events.h"
#include "collect/launch.h"
#include "collect/objects.h"
#include "collect/running.h"
#include "collect/session.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define USUAL_RING_BYTES (1U << 20)
#define ROUGH_TSC_KHZ	1000000		/* until the driver tells */

static int read_duration(const char *s, struct vmp_session_opts *o)
{
	char safe[64];

	if (!s || (!vmp_parse_time(s, &o->duration_ns) && o->duration_ns >= 1000000))
		return 0;
	vmp_err("--duration %s: give a time such as 30s or 5min (1ms at least)",
		vmp_text(safe, sizeof(safe), s, strlen(s)));
	return -EINVAL;
}

static int read_buffer(const char *s, struct vmp_session_opts *o)
{
	uint64_t bytes = USUAL_RING_BYTES;
	char safe[64];

	if (s && (vmp_parse_size(s, &bytes) || bytes < VMPROF_RING_MIN ||
		  bytes > VMPROF_RING_MAX)) {
		vmp_err("--buffer %s: give a size between 4K and 256M for each CPU's ring",
			vmp_text(safe, sizeof(safe), s, strlen(s)));
		return -EINVAL;
	}
	for (o->ring_bytes = VMPROF_RING_MIN; o->ring_bytes < bytes; o->ring_bytes *= 2)
		;
	return 0;
}

static int check_domains(const struct vmp_session_opts *o)
{
	if (o->all && o->domains.nr) {
		vmp_err("start: give --domain or --all, not both");
		return -EINVAL;
	}
	if (!o->all && !o->domains.nr) {
		vmp_err("start: which domain? --domain NAME or --all; virsh list shows them");
		return -EINVAL;
	}
	return 0;
}

/* As far as it does not depend on the host: before anything is done to it or a guest */
static int check_trigger(const struct vmp_session_opts *o)
{
	struct vmp_event event;
	uint64_t period;

	if (vmp_event_parse(o->event ? o->event : "cycles", &event) ||
	    vmp_period_parse(o->period, &event, ROUGH_TSC_KHZ, &period))
		return -EINVAL;
	if (o->cpi && !vmp_event_is_cycles(&event)) {
		vmp_err("--cpi samples cycles and instructions: it goes with --event cycles, not with %s",
			event.name);
		return -EINVAL;
	}
	if (o->cpi && o->no_cpi) {
		vmp_err("start: give --cpi or --no-cpi, not both");
		return -EINVAL;
	}
	if (o->random && event.is_timer) {
		vmp_err("--random needs a performance counter: it does not go with %s", event.name);
		return -EINVAL;
	}
	if (o->random && period > VMPROF_PERIOD_RANDOM_MAX) {
		vmp_err("--random: a mean period of more than %llu events is too long; choose a shorter --period",
			VMPROF_PERIOD_RANDOM_MAX);
		return -EINVAL;
	}
	if (o->lbr.branches && event.is_timer) {
		vmp_err("--lbr needs a performance counter: it does not go with %s", event.name);
		return -EINVAL;
	}
	return 0;
}

int cmd_start(int argc, char **argv)
{
	const char *duration = NULL, *buffer = NULL, *lbr = NULL, *lbr_format = NULL;
	static struct vmp_session_opts o;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_LIST, "NAME",
		  "profile this running domain; may be given again", &o.domains },
		{ "all", 'a', VMP_OPT_FLAG, NULL,
		  "profile all running domains, those that start later too", &o.all },
		{ "event", 'e', VMP_OPT_STR, "EVENT",
		  "count this event: cycles, ref-cycles, instructions, branches,\n"
		  "branch-misses, cache-references, cache-misses,\n"
		  "stalled-cycles-frontend, stalled-cycles-backend, rNNN (a raw\n"
		  "event in hex), a libpfm4 name, or cpu-clock (timer); default:\n"
		  "cycles, or cpu-clock where there is no counter", &o.event },
		{ "period", 'p', VMP_OPT_STR, "PERIOD",
		  "events between two samples of a CPU, or a time such as 1ms;\n"
		  "a time is turned into cycles at the TSC's frequency; default:\n"
		  "1ms for cycles and cpu-clock, else a number that suits the event", &o.period },
		{ "random", 'r', VMP_OPT_FLAG, NULL,
		  "draw each period anew, --period is their mean: no place is sampled\n"
		  "more or less often for what runs in step with the period, or\n"
		  "because of the samples themselves", &o.random },
		{ "cpi", 'i', VMP_OPT_FLAG, NULL,
		  "sample instructions beside cycles, with the same period, so that\n"
		  "the report has the cycles per instruction of each function; it takes\n"
		  "as many interrupts again, and four counters of each CPU", &o.cpi },
		{ "no-cpi", 0, VMP_OPT_FLAG, NULL,
		  "do not, as --lbr any does where it can: without them times of blocks\n"
		  "come from branches alone; who needs only branches saves half the\n"
		  "interrupts", &o.no_cpi },
		{ "lbr", 'l', VMP_OPT_STR, "FILTER",
		  "record the last branches before each sample: words with commas, of\n"
		  "any, call, ret, cond, ind (indirect), jump, far (interrupts, system\n"
		  "calls), and of user, kernel (both if none is given); or one of the\n"
		  "presets (types 1 to 4, table 8 of the paper in vmprof-start(1)), which\n"
		  "take so many bytes a sample with 16 and 32 branches, and tell no blocks:\n"
		  "  calls      type 1  calls, from-to              288  544\n"
		  "  flow-from  type 2  calls and returns, from     160  288\n"
		  "  flow-to    type 3  calls and returns, to       160  288\n"
		  "  flow       type 4  calls and returns, from-to  288  544", &lbr },
		{ "lbr-format", 0, VMP_OPT_STR, "FORMAT",
		  "of a branch: from-to, from, to, or from-to-cycles where the processor\n"
		  "counts them (default: that with any, or else from-to)", &lbr_format },
		{ "no-kernel-text", 0, VMP_OPT_FLAG, NULL,
		  "do not copy the code of the guests' kernels and the host's, as it is\n"
		  "in memory, which --lbr with kernel branches does at the end", &o.no_kernel_text },
		{ "duration", 't', VMP_OPT_STR, "TIME",
		  "end by itself after this time, such as 30s or 5min", &duration },
		{ "output", 'o', VMP_OPT_STR, "FILE",
		  "write the capture here; default:\n"
		  "/var/lib/vmprof/DOMAIN/TIME.vmprof", &o.output },
		{ "buffer", 'b', VMP_OPT_STR, "SIZE",
		  "ring of each CPU, 4K to 256M; default: 1M", &buffer },
		{ "objects", 0, VMP_OPT_LIST, "HOW",
		  "how guests' binaries come: agent (default) over its channel, none\n"
		  "(they stay in the guest) or ssh://[USER@]HOST[:PORT]; of one domain:\n"
		  "DOMAIN=HOW; may be given again", &o.objects },
		{ "connect", 'c', VMP_OPT_STR, "URI",
		  "libvirt's address; default: qemu:///system", &o.uri },
		{ 0 },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof start (--domain NAME... | --all) [OPTION]...",
		.about = "Profile running KVM domains. A collector goes on in the background until\n"
			 "vmprof stop; this command returns once samples flow, and prints what it does.\n"
			 "The agent's channel is added to a domain that has none, and the kernel\n"
			 "module vmprof is loaded if need be.",
		.opts = opts,
		.more = "Environment: VMPROF_DIR (instead of /var/lib/vmprof), VMPROF_RUN_DIR (instead\n"
			"of /run/vmprof; the collector's log is the file log there).\n"
			"Exit status: 0 the session runs (samples flow, or none came in 5 s), 1 failed, 2\n"
			"wrong usage.",
	};
	int args, ret;

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (check_domains(&o) || read_duration(duration, &o) || read_buffer(buffer, &o) ||
	    vmp_lbr_parse(lbr, lbr_format, &o.lbr) || check_trigger(&o) ||
	    vmp_objects_check(&o.objects, &o.domains, o.all))
		return VMP_EXIT_USAGE;
	if (vmp_need_root("start") || vmp_none_runs())
		return VMP_EXIT_FAILED;
	return vmp_launch(&o);
}
