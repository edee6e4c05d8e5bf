// SPDX-License-Identifier: GPL-2.0-only
/* cmd-tui.c - vmprof tui: a capture to walk through on a terminal. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "tui/tui.h"
#include "util/log.h"
#include "util/opts.h"

static int same_model(void *arg, struct vmp_model **m)
{
	*m = arg;
	return 0;
}

/* @path: as given, NULL the latest */
static int walk(struct vmp_tui *t, const char *path, const char *sysroot)
{
	struct vmp_model *m = NULL;
	int err = args_open(&m, &path, sysroot);

	if (!err)
		err = args_domain(m, t->options.domain);
	if (!err && t->title_before)
		err = args_open(&t->before, &t->title_before, sysroot);
	if (err) {
		vmp_filter_free((struct vmp_filter *)t->options.filter);
	} else {
		t->title = path;
		t->render.path_before = t->title_before;
		t->model = same_model;
		t->arg = m;
		err = vmp_tui_run(t);
	}
	vmp_model_close(m);
	vmp_model_close(t->before);
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int cmd_tui(int argc, char **argv)
{
	struct vmp_wishes w = { .tree = 1 };
	struct vmp_tui t = { .options = { .vcpu = -1, .pid = -1 } };
	const char *color = NULL, *sysroot = NULL;
	int exits = 0, steal = 0;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_STR, "NAME", "only this domain; patterns as in the shell", &t.options.domain },
		{ "filter", 0, VMP_OPT_STR, "EXPR", "only rows such as 'process == \"shor\" && percent > 1'", &w.filter },
		{ "group-by", 0, VMP_OPT_STR, "KEYS", "from the domain down; default process,thread,module,function", &w.group_by },
		{ "columns", 0, VMP_OPT_STR, "LIST", "numbers to be shown: samples, percent, cycles, instructions,\ncpi, ipc, instruction-samples;\nwith --diff before, after, delta", &w.columns },
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default samples", &w.sort },
		{ "exits", 0, VMP_OPT_FLAG, NULL, "begin with VMM time by exit reason and the guest function\nthat exited", &exits },
		{ "steal", 0, VMP_OPT_FLAG, NULL, "begin with what ran while vCPUs waited", &steal },
		{ "diff", 0, VMP_OPT_FLAG, NULL, "compare two captures: FILE FILE, the earlier one first", &w.diff },
		{ "all-host", 0, VMP_OPT_FLAG, NULL, "host work that is no domain's, too", &t.options.all_host },
		ARGS_SYSROOT(&sysroot),
		{ "color", 0, VMP_OPT_STR, "WHEN", "auto (default: unless NO_COLOR is set), always, never", &color },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof tui [OPTION]... [FILE]\n       vmprof tui --diff [OPTION]... FILE FILE",
		.about = "Walk through a capture on the terminal: from the domain down to functions, with\n"
			 "search, filter, sorting, and views of exits, steal and what changed. The key ?\n"
			 "lists the keys.",
		.opts = opts,
		.more = "Without FILE the latest capture is read.",
		.args_max = 2,
	};
	int args, err;

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	if (args != 2 * w.diff && args > 1 - w.diff) {
		vmp_err(w.diff ? "--diff compares two captures: vmprof tui --diff EARLIER LATER" :
			"tui: one capture at a time; --diff compares two");
		return VMP_EXIT_USAGE;
	}
	if (vmp_look_of(&t.render.look, STDOUT_FILENO, color)) {
		vmp_err("--color takes auto, always or never, not '%s'", args_safe(color));
		return VMP_EXIT_USAGE;
	}
	t.view = exits ? VMP_TUI_EXITS : steal ? VMP_TUI_STEAL : w.diff ? VMP_TUI_DIFF : VMP_TUI_TIME;
	if (vmp_choose_view(exits, steal, w.diff, &t.options.view) || vmp_choose(&w, &t.options, &t.render))
		return VMP_EXIT_USAGE;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		vmp_err("vmprof tui needs a terminal; vmprof report --tree prints the same to files and pipes");
		vmp_filter_free((struct vmp_filter *)t.options.filter);
		return VMP_EXIT_FAILED;
	}
	t.filter = w.filter;
	t.title_before = w.diff ? argv[1] : NULL;
	return walk(&t, args ? argv[args] : NULL, sysroot);
}
