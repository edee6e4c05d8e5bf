// SPDX-License-Identifier: GPL-2.0-only
/* cmd-start.c - vmprof start: put a collector into the background, wait until samples flow. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "collect/lines.h"
#include "collect/running.h"
#include "collect/session.h"
#include "util/log.h"
#include "util/text.h"
#include "util/units.h"

#define USUAL_RING_BYTES (1U << 20)

static volatile sig_atomic_t collector;

/* Ctrl-C while we wait: the collector ends in order, and we tell what it says. */
static void pass_on(int sig)
{
	(void)sig;
	if (collector > 0)
		kill(collector, SIGTERM);
}

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

/* Wait until the collector says that samples flow, or ends. */
static int wait_for(pid_t pid, int fd)
{
	int status, code;

	collector = pid;
	signal(SIGINT, pass_on);
	signal(SIGTERM, pass_on);
	code = vmp_lines_relay(fd, NULL);
	if (code >= 0)
		return code;
	if (waitpid(pid, &status, 0) == pid && WIFSIGNALED(status))
		vmp_err("the collector was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		vmp_err("the collector ended without a word; see its log: /run/vmprof/log");
	return VMP_EXIT_FAILED;
}

static void become_collector(const struct vmp_session_opts *o, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	_exit(vmp_collect(o, fd));
}

static int launch(const struct vmp_session_opts *o)
{
	int pipe_fd[2], code;
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC)) {
		vmp_err("cannot make a pipe: %m");
		return VMP_EXIT_FAILED;
	}
	pid = fork();
	if (pid < 0) {
		vmp_err("cannot start the collector: %m");
		return VMP_EXIT_FAILED;
	}
	if (!pid) {
		close(pipe_fd[0]);
		become_collector(o, pipe_fd[1]);
	}
	close(pipe_fd[1]);
	code = wait_for(pid, pipe_fd[0]);
	close(pipe_fd[0]);
	return code;
}

int cmd_start(int argc, char **argv)
{
	const char *duration = NULL, *buffer = NULL;
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
		{ "duration", 't', VMP_OPT_STR, "TIME",
		  "end by itself after this time, such as 30s or 5min", &duration },
		{ "output", 'o', VMP_OPT_STR, "FILE",
		  "write the capture here; default:\n"
		  "/var/lib/vmprof/DOMAIN/TIME.vmprof", &o.output },
		{ "buffer", 'b', VMP_OPT_STR, "SIZE",
		  "ring of each CPU, 4K to 256M; default: 1M", &buffer },
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
			"of /run/vmprof). The collector's log is /run/vmprof/log.\n"
			"Exit status: 0 the session runs (samples flow, or none came in 5 s), 1 failed, 2\n"
			"wrong usage.",
	};
	int args, ret;

	ret = vmp_opts_parse(&cmd, argc, argv, &args);
	if (ret)
		return ret > 0 ? VMP_EXIT_OK : VMP_EXIT_USAGE;
	if (check_domains(&o) || read_duration(duration, &o) || read_buffer(buffer, &o))
		return VMP_EXIT_USAGE;
	if (vmp_need_root("start") || vmp_none_runs())
		return VMP_EXIT_FAILED;
	return launch(&o);
}
