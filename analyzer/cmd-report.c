// SPDX-License-Identifier: GPL-2.0-only
/* cmd-report.c - vmprof report: where the time of a capture went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "collect/statedir.h"
#include "report/exits.h"
#include "report/profile.h"
#include "report/render.h"
#include "util/capdir.h"
#include "util/log.h"
#include "util/opts.h"
#include "util/text.h"
#include "util/units.h"

#define TERMINAL_ROWS	40

/* As given on the command line */
struct given {
	const char *vcpu, *pid, *sort, *by, *limit;
	int json;
};

static const char *safe(const char *s)
{
	static char buf[1024];

	return vmp_text(buf, sizeof(buf), s, strlen(s));
}

static int parse_by(const char *s, enum vmp_by *by)
{
	enum vmp_by i;

	for (i = VMP_BY_FUNCTION; i <= VMP_BY_EXIT; i++) {
		if (!strcmp(s, vmp_by_name(i))) {
			*by = i;
			return 0;
		}
	}
	vmp_err("cannot group by '%s'; --by takes function, process, module, vcpu or exit", safe(s));
	return -EINVAL;
}

static int parse_sort(const char *s, enum vmp_sort *sort)
{
	static const char *const names[] = {
		[VMP_SORT_SAMPLES] = "samples", [VMP_SORT_FUNCTION] = "function",
		[VMP_SORT_MODULE] = "module", [VMP_SORT_PROCESS] = "process",
		[VMP_SORT_PID] = "pid", [VMP_SORT_VCPU] = "vcpu", [VMP_SORT_EXIT] = "exit",
	};
	size_t len, n = 0, k;

	for (; *s; s += len + (s[len] == ',')) {
		len = strcspn(s, ",");
		for (k = VMP_SORT_SAMPLES; k <= VMP_SORT_EXIT; k++)
			if (strlen(names[k]) == len && !strncmp(s, names[k], len))
				break;
		if (k > VMP_SORT_EXIT || n == VMP_SORT_KEYS) {
			vmp_err("cannot sort by '%s'; --sort takes samples, function, module, process, pid, vcpu, exit, with commas between", safe(s));
			return -EINVAL;
		}
		sort[n++] = (enum vmp_sort)k;
	}
	return 0;
}

static int parse_number(const char *option, const char *s, uint64_t max, uint64_t *n)
{
	if (!vmp_parse_count(s, n) && *n <= max)
		return 0;
	vmp_err("--%s takes a number, not '%s'", option, safe(s));
	return -EINVAL;
}

static int parse(const struct given *g, struct vmp_options *o, struct vmp_render *r)
{
	uint64_t n;

	o->vcpu = -1;
	o->pid = -1;
	r->limit = isatty(STDOUT_FILENO) && !g->json ? TERMINAL_ROWS : 0;
	if (g->by && parse_by(g->by, &o->by))
		return -EINVAL;
	if (g->sort && parse_sort(g->sort, o->sort))
		return -EINVAL;
	if (g->vcpu) {
		if (parse_number("vcpu", g->vcpu, INT32_MAX, &n))
			return -EINVAL;
		o->vcpu = (int)n;
	}
	if (g->pid) {
		if (parse_number("pid", g->pid, UINT32_MAX - 1, &n))
			return -EINVAL;
		o->pid = (int64_t)n;
	}
	if (g->limit && parse_number("limit", g->limit, UINT64_MAX, &r->limit))
		return -EINVAL;
	if (o->exit_reason && !vmp_exit_known(o->exit_reason)) {
		vmp_err("no exit reason is called '%s'; take a name such as NPF, HLT or EPT_VIOLATION, or a number; --by exit lists those of a capture", safe(o->exit_reason));
		return -EINVAL;
	}
	return 0;
}

static void tell_unreadable(const char *path, int err)
{
	switch (err) {
	case -EBADMSG:
		vmp_err("%s is not a vmprof capture, or its beginning is damaged; vmprof report without FILE reads the latest", safe(path));
		return;
	case -EPROTONOSUPPORT:
		vmp_err("%s was written by a newer vmprof; read it with that one", safe(path));
		return;
	case -EACCES:
		vmp_err("cannot read %s: %s; sudo vmprof report", safe(path), strerror(-err));
		return;
	case -EINVAL:
		vmp_err("%s is not a file; captures are files *.vmprof: find %s -name '*.vmprof'", safe(path), vmp_capture_dir());
		return;
	}
	vmp_err("cannot read %s: %s; vmprof report without FILE reads the latest", safe(path), strerror(-err));
}

static int render(struct vmp_model *m, const struct vmp_options *o, const struct vmp_render *r, int json)
{
	struct vmp_profile *p;
	int err;

	err = vmp_profile_create(&p, m, o);
	if (err) {
		vmp_err("cannot read %s: %s", safe(r->path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	if (o->domain && !p->domain_found)
		vmp_warn("the capture holds no domain '%s'", safe(o->domain));
	if (json)
		vmp_render_json(stdout, p, o, r);
	else
		vmp_render_text(stdout, p, o, r);
	vmp_profile_destroy(p);
	return VMP_EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
	struct vmp_options o = { 0 };
	struct vmp_render r = { 0 };
	struct given g = { 0 };
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_STR, "NAME", "only this domain; patterns as in the shell", &o.domain },
		{ "vcpu", 0, VMP_OPT_STR, "N", "only samples of this vCPU", &g.vcpu },
		{ "pid", 0, VMP_OPT_STR, "PID", "only this guest process", &g.pid },
		{ "comm", 0, VMP_OPT_STR, "NAME", "only processes of this name; patterns as in the shell", &o.comm },
		{ "module", 0, VMP_OPT_STR, "NAME", "only this module, such as 'libc.so*'", &o.module },
		{ "exit-reason", 0, VMP_OPT_STR, "REASON", "only samples with this exit reason: name or number", &o.exit_reason },
		{ "by", 0, VMP_OPT_STR, "WHAT", "a row for each function (default), process, module,\nvcpu or exit", &g.by },
		{ "sort", 0, VMP_OPT_STR, "KEYS", "samples (default), function, module, process, pid,\nvcpu, exit; several with commas", &g.sort },
		{ "limit", 0, VMP_OPT_STR, "N", "rows of each domain, 0 all; default: 40 on a terminal,\nelse all", &g.limit },
		{ "all-host", 0, VMP_OPT_FLAG, NULL, "host work that is no domain's, too", &o.all_host },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text", &g.json },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof report [OPTION]... [FILE]",
		.about = "Print, for each domain of a capture, where its time went: samples, share,\n"
			 "function, module and process, and what limits the profile.",
		.opts = opts,
		.more = "Without FILE the latest capture is read, also if start put it elsewhere.\n"
			"Percentages are of the domain's total: guest samples, its VMM's (KVM and QEMU) and steal.",
		.args_max = 1,
	};
	char last[4096], latest[4096];
	struct vmp_model *m;
	int args, err, ret;

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (parse(&g, &o, &r))
		return VMP_EXIT_USAGE;
	r.path = args ? argv[1] : latest;
	if (!args) {
		err = vmp_latest_capture(vmp_state_last(last, sizeof(last)) ? NULL : last, latest,
					 sizeof(latest));
		if (err == -ENOENT)
			vmp_err("no capture under %s: make one with vmprof start, or name a file", vmp_capture_dir());
		else if (err)
			tell_unreadable(vmp_capture_dir(), err);
		if (err)
			return VMP_EXIT_FAILED;
	}
	err = vmp_model_open(&m, r.path);
	if (err) {
		tell_unreadable(r.path, err);
		return VMP_EXIT_FAILED;
	}
	ret = render(m, &o, &r, g.json);
	vmp_model_close(m);
	return ret;
}
