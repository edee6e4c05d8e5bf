// SPDX-License-Identifier: GPL-2.0-only
/* cmd-report.c - vmprof report: where the time of a capture went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "html/html.h"
#include "report/choose.h"
#include "report/diff.h"
#include "report/exits.h"
#include "report/profile.h"
#include "report/render.h"
#include "util/log.h"
#include "util/opts.h"

#define TERMINAL_ROWS	40

/* As given on the command line */
struct given {
	struct vmp_wishes wishes;
	const char *vcpu, *pid, *limit, *html, *color, *sysroot;
	int json, inlined, srcline, diff, exits, steal, no_pager;
};

/* The page filters, sorts and groups by itself. */
static int check_html(const struct given *g, const struct vmp_options *o)
{
	const struct vmp_wishes *w = &g->wishes;

	if (g->vcpu || g->pid || w->sort || w->by || g->limit || g->json || o->comm || o->module ||
	    o->exit_reason || o->all_host || w->group_by || w->columns || w->filter || w->percent_limit ||
	    w->tree || g->diff || g->exits || g->steal || g->inlined || g->srcline || g->color || g->no_pager) {
		vmp_err("--html goes with --domain and --sysroot only; the page itself searches, sorts and groups");
		return -EINVAL;
	}
	return 0;
}

static int check_views(const struct given *g)
{
	const struct vmp_wishes *w = &g->wishes;

	if ((g->exits || g->steal) && w->by) {
		vmp_err("--exits and --steal have rows of their own; leave out --by");
		return -EINVAL;
	}
	if (g->steal && (w->group_by || w->columns || w->tree || w->filter)) {
		vmp_err("--steal has two tables of its own; leave out --group-by, --columns, --tree and --filter");
		return -EINVAL;
	}
	return 0;
}

static int parse(const struct given *g, struct vmp_options *o, struct vmp_render *r)
{
	if (g->html)
		return check_html(g, o);
	if (vmp_look_of(&r->look, STDOUT_FILENO, g->color)) {
		vmp_err("--color takes auto, always or never, not '%s'", args_safe(g->color));
		return -EINVAL;
	}
	r->limit = isatty(STDOUT_FILENO) && !g->json ? TERMINAL_ROWS : 0;
	if (vmp_choose_view(g->exits, g->steal, g->diff, &o->view) || check_views(g) || vmp_choose(&g->wishes, o, r))
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

/* A profile with all that --steal and --diff put beside it */
struct report {
	struct vmp_profile *p, *waiters, *before;
	struct vmp_model *old;		/* of before */
};

static int profile_of(struct vmp_profile **p, struct vmp_model *m, const struct vmp_options *o, const char *path)
{
	int err = vmp_profile_create(p, m, o);

	if (err)
		vmp_err("cannot read %s: %s", args_safe(path), strerror(-err));
	return err;
}

static int compare(struct report *r, const struct vmp_options *o, const char *path, const char *sysroot)
{
	int err = args_open(&r->old, &path, sysroot);

	if (err)
		return err;
	r->old->detail = r->p->model->detail;
	err = profile_of(&r->before, r->old, o, path);
	if (err)
		return err;
	err = vmp_diff(r->p, r->before, o);
	if (err)
		vmp_err("cannot compare the captures: %s", strerror(-err));
	return err;
}

static int gather(struct report *r, struct vmp_model *m, const struct vmp_options *o, const struct vmp_render *look,
		  const char *sysroot)
{
	struct vmp_options waiting = *o;
	int err = profile_of(&r->p, m, o, look->path);

	if (err)
		return err;
	waiting.view = VMP_VIEW_WAITERS;
	waiting.by = VMP_BY_WAITERS;
	if (o->view == VMP_VIEW_THIEVES)
		err = profile_of(&r->waiters, m, &waiting, look->path);
	if (!err && look->path_before)
		err = compare(r, o, look->path_before, sysroot);
	return err;
}

static void forget(struct report *r)
{
	vmp_profile_destroy(r->p);
	vmp_profile_destroy(r->waiters);
	vmp_profile_destroy(r->before);
	vmp_model_close(r->old);
}

static int render(struct vmp_model *m, const struct vmp_options *o, struct vmp_render *r, const struct given *g)
{
	struct report report = { 0 };
	pid_t pager;
	int err = gather(&report, m, o, r, g->sysroot);

	if (!err) {
		r->waiters = report.waiters;
		pager = g->no_pager ? 0 : vmp_pager_start();
		if (g->json)
			vmp_render_json(stdout, report.p, o, r);
		else
			vmp_render_text(stdout, report.p, o, r);
		err = vmp_pager_end(pager);
	}
	forget(&report);
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

static int write_html(struct vmp_model *m, const struct vmp_options *o, const char *capture, const char *file)
{
	int err = vmp_html_write(file, m, capture, o->domain);
	int to_file = strcmp(file, "-") != 0;

	if (!err && to_file)
		vmp_info("%s: open it in a browser; it needs no network", args_safe(file));
	else if (err)
		vmp_err("cannot write %s: %s", to_file ? args_safe(file) : "to standard output", strerror(-err));
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
	struct vmp_options o = { 0 };
	struct vmp_render r = { 0 };
	struct given g = { 0 };
	struct vmp_wishes *w = &g.wishes;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_STR, "NAME", "only this domain; patterns as in the shell", &o.domain },
		{ "vcpu", 0, VMP_OPT_STR, "N", "only samples of this vCPU", &g.vcpu },
		{ "pid", 0, VMP_OPT_STR, "PID", "only this guest process", &g.pid },
		{ "comm", 0, VMP_OPT_STR, "NAME", "only processes of this name; patterns as in the shell", &o.comm },
		{ "module", 0, VMP_OPT_STR, "NAME", "only this module, such as 'libc.so*'", &o.module },
		{ "exit-reason", 0, VMP_OPT_STR, "REASON", "only samples with this exit reason: name or number", &o.exit_reason },
		{ "filter", 0, VMP_OPT_STR, "EXPR", "only rows such as 'process == \"shor\" && module ~ \"libq*\"\n&& percent > 1'; ==, !=, ~ and !~ (patterns), <, <=, >, >=,\n&&, ||, !, ( )", &w->filter },
		{ "by", 0, VMP_OPT_STR, "WHAT", "a row for each function (default), process, module,\nvcpu or exit", &w->by },
		{ "group-by", 0, VMP_OPT_STR, "KEYS", "a row for each combination of these: domain, process, pid,\nnspid, cgroup, thread, vcpu, module, build-id, function,\nexit, side", &w->group_by },
		{ "tree", 0, VMP_OPT_FLAG, NULL, "from the domain down, with sums; levels by --group-by,\ndefault process,thread,module,function (--diff: no thread)", &w->tree },
		{ "columns", 0, VMP_OPT_STR, "LIST", "show these: keys as above, samples, percent, cycles,\ninstructions, cpi, ipc, instruction-samples; with --diff\nbefore, after, delta", &w->columns },
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default samples,\nwith --diff the largest delta", &w->sort },
		{ "percent-limit", 0, VMP_OPT_STR, "N", "no rows of less than N percent", &w->percent_limit },
		{ "limit", 0, VMP_OPT_STR, "N", "rows of each domain, 0 all; default: 40 on a terminal,\nelse all", &g.limit },
		{ "exits", 0, VMP_OPT_FLAG, NULL, "VMM time by exit reason and the guest function that exited", &g.exits },
		{ "steal", 0, VMP_OPT_FLAG, NULL, "what ran while vCPUs waited, and which functions waited", &g.steal },
		{ "diff", 0, VMP_OPT_FLAG, NULL, "compare two captures: FILE FILE, the earlier one first", &g.diff },
		{ "inline", 0, VMP_OPT_FLAG, NULL, "the innermost inlined function, where debugging\ninformation tells", &g.inlined },
		{ "srcline", 0, VMP_OPT_FLAG, NULL, "source file and line behind the function", &g.srcline },
		{ "all-host", 0, VMP_OPT_FLAG, NULL, "host work that is no domain's, too", &o.all_host },
		ARGS_SYSROOT(&g.sysroot),
		{ "color", 0, VMP_OPT_STR, "WHEN", "auto (default: on a terminal, unless NO_COLOR is set),\nalways, never", &g.color },
		{ "no-pager", 0, VMP_OPT_FLAG, NULL, "print at once; else a terminal gets $VMPROF_PAGER,\n$PAGER or less -FRX", &g.no_pager },
		{ "json", 0, VMP_OPT_FLAG, NULL, "JSON instead of text", &g.json },
		{ "html", 0, VMP_OPT_STR, "FILE", "write a page for the browser instead, that needs no network;\n- for standard output; it goes with --domain and --sysroot only", &g.html },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof report [OPTION]... [FILE]\n       vmprof report --diff [OPTION]... FILE FILE",
		.about = "Print, for each domain of a capture, where its time went: samples, share,\n"
			 "function, module and process, and what limits the profile.",
		.opts = opts,
		.more = "Without FILE the latest capture is read, wherever vmprof start put it.\n"
			"Percentages are of the domain's total: guest samples, its VMM's (KVM and QEMU) and steal.",
		.args_max = 2,
	};
	struct vmp_model *m;
	int args, err, ret;

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	w->diff = g.diff;
	o.all_rows = g.diff;
	if (args != 2 * g.diff && args > 1 - g.diff) {
		vmp_err(g.diff ? "--diff compares two captures: vmprof report --diff EARLIER LATER" :
			"report: one capture at a time; --diff compares two");
		return VMP_EXIT_USAGE;
	}
	if (parse(&g, &o, &r)) {
		ret = VMP_EXIT_USAGE;
		goto free_filter;
	}
	ret = VMP_EXIT_FAILED;
	if (g.html && !vmp_html_built_in()) {
		vmp_err("this vmprof was built without the page for --html\n"
			"  install Node.js and npm (Debian: apt install nodejs npm), then ./configure && make again");
		goto free_filter;
	}
	r.path = args ? argv[args] : NULL;
	r.path_before = g.diff ? argv[1] : NULL;
	if (args_open(&m, &r.path, g.sysroot))
		goto free_filter;
	m->detail = (g.inlined ? VMP_DETAIL_INLINE : 0) | (g.srcline ? VMP_DETAIL_LINE : 0);
	if (args_domain(m, o.domain))
		ret = VMP_EXIT_FAILED;
	else if (g.html)
		ret = args_output(r.path, g.html) ? VMP_EXIT_USAGE : write_html(m, &o, r.path, g.html);
	else
		ret = render(m, &o, &r, &g);
	vmp_model_close(m);
free_filter:
	vmp_filter_free((struct vmp_filter *)o.filter);
	return ret;
}
