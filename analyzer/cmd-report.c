// SPDX-License-Identifier: GPL-2.0-only
/* cmd-report.c - vmprof report: where the time of a capture went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "html/html.h"
#include "report/exits.h"
#include "report/profile.h"
#include "report/render.h"
#include "util/log.h"
#include "util/opts.h"

#define TERMINAL_ROWS	40

/* As given on the command line */
struct given {
	const char *vcpu, *pid, *sort, *by, *limit, *html;
	int json, inlined, srcline;
};

static int parse_by(const char *s, enum vmp_by *by)
{
	enum vmp_by i;

	for (i = VMP_BY_FUNCTION; i <= VMP_BY_EXIT; i++) {
		if (!strcmp(s, vmp_by_name(i))) {
			*by = i;
			return 0;
		}
	}
	vmp_err("cannot group by '%s'; --by takes function, process, module, vcpu or exit", args_safe(s));
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
			vmp_err("cannot sort by '%s'; --sort takes samples, function, module, process, pid, vcpu, exit, with commas between", args_safe(s));
			return -EINVAL;
		}
		sort[n++] = (enum vmp_sort)k;
	}
	return 0;
}

/* The page filters, sorts and groups by itself. */
static int check_html(const struct given *g, const struct vmp_options *o)
{
	if (g->vcpu || g->pid || g->sort || g->by || g->limit || g->json || o->comm || o->module ||
	    o->exit_reason || o->all_host) {
		vmp_err("--html goes with --domain only; the page itself searches, sorts and groups");
		return -EINVAL;
	}
	return 0;
}

static int parse(const struct given *g, struct vmp_options *o, struct vmp_render *r)
{
	if (g->html)
		return check_html(g, o);
	r->limit = isatty(STDOUT_FILENO) && !g->json ? TERMINAL_ROWS : 0;
	if (g->by && parse_by(g->by, &o->by))
		return -EINVAL;
	if (g->sort && parse_sort(g->sort, o->sort))
		return -EINVAL;
	if (args_vcpu(g->vcpu, &o->vcpu) || args_pid(g->pid, &o->pid))
		return -EINVAL;
	if (g->limit && args_number("limit", g->limit, UINT64_MAX, &r->limit))
		return -EINVAL;
	if (o->exit_reason && !vmp_exit_known(o->exit_reason)) {
		vmp_err("no exit reason is called '%s'; take a name such as NPF, HLT or EPT_VIOLATION, or a number; --by exit lists those of a capture", args_safe(o->exit_reason));
		return -EINVAL;
	}
	return 0;
}

static int render(struct vmp_model *m, const struct vmp_options *o, const struct vmp_render *r, int json)
{
	struct vmp_profile *p;
	int err;

	err = vmp_profile_create(&p, m, o);
	if (err) {
		vmp_err("cannot read %s: %s", args_safe(r->path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	if (o->domain && !p->domain_found)
		vmp_warn("the capture holds no domain '%s'", args_safe(o->domain));
	if (json)
		vmp_render_json(stdout, p, o, r);
	else
		vmp_render_text(stdout, p, o, r);
	vmp_profile_destroy(p);
	return VMP_EXIT_OK;
}

static int write_html(struct vmp_model *m, const struct vmp_options *o, const char *capture, const char *file)
{
	int err = vmp_html_write(file, m, capture, o->domain);
	int to_file = strcmp(file, "-") != 0;

	if (!err && to_file)
		vmp_info("%s: open it in a browser; it needs no network", args_safe(file));
	else if (err == -ESRCH)
		vmp_err("the capture holds no domain '%s'; vmprof report lists those that it holds", args_safe(o->domain));
	else if (err)
		vmp_err("cannot write %s: %s", to_file ? args_safe(file) : "to standard output", strerror(-err));
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
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
		{ "inline", 0, VMP_OPT_FLAG, NULL, "the innermost inlined function, where debugging\ninformation tells", &g.inlined },
		{ "srcline", 0, VMP_OPT_FLAG, NULL, "source file and line behind the function", &g.srcline },
		{ "all-host", 0, VMP_OPT_FLAG, NULL, "host work that is no domain's, too", &o.all_host },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text", &g.json },
		{ "html", 0, VMP_OPT_STR, "FILE", "write a page for the browser instead, that needs no network;\n- for standard output; of the others it takes --domain", &g.html },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof report [OPTION]... [FILE]",
		.about = "Print, for each domain of a capture, where its time went: samples, share,\n"
			 "function, module and process, and what limits the profile.",
		.opts = opts,
		.more = "Without FILE the latest capture is read, wherever vmprof start put it.\n"
			"Percentages are of the domain's total: guest samples, its VMM's (KVM and QEMU) and steal.",
		.args_max = 1,
	};
	struct vmp_model *m;
	int args, err, ret;

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (parse(&g, &o, &r))
		return VMP_EXIT_USAGE;
	if (g.html && !vmp_html_built_in()) {
		vmp_err("this vmprof was built without the page for --html\n"
			"  install Node.js and npm (Debian: apt install nodejs npm), then ./configure && make again");
		return VMP_EXIT_FAILED;
	}
	r.path = args ? argv[1] : NULL;
	if (args_open(&m, &r.path))
		return VMP_EXIT_FAILED;
	m->detail = (g.inlined ? VMP_DETAIL_INLINE : 0) | (g.srcline ? VMP_DETAIL_LINE : 0);
	if (g.html)
		ret = write_html(m, &o, r.path, g.html);
	else
		ret = render(m, &o, &r, g.json);
	vmp_model_close(m);
	return ret;
}
