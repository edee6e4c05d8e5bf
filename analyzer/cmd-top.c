// SPDX-License-Identifier: GPL-2.0-only
/* cmd-top.c - vmprof top: the last seconds of a session, again and again. */
#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "cmd.h"
#include "collect/control.h"
#include "collect/launch.h"
#include "collect/running.h"
#include "collect/statedir.h"
#include "tui/tui.h"
#include "util/log.h"
#include "util/opts.h"
#include "util/units.h"

#define USUAL_LAST_NS	10000000000ULL
#define REFRESH_MS	1000
#define BATCH_ROWS	20

struct top {
	char file[4096];	/* the session's capture */
	const char *domain, *sysroot;
	uint64_t last_ns;	/* 0: all of the session */
	int started;		/* the session is ours to end */
	int ended;		/* it has, by others */
};

struct given {
	struct vmp_wishes wishes;
	const char *domain, *event, *period, *uri, *last, *number, *color, *sysroot;
	int batch;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* ------------------------------------------------------------------- session */

static int has_domain(struct json_object *session, const char *domain)
{
	struct json_object *list, *name;
	size_t i;

	if (!json_object_object_get_ex(session, "domains", &list) || !json_object_is_type(list, json_type_array))
		return 0;
	for (i = 0; i < json_object_array_length(list); i++) {
		name = json_object_array_get_idx(list, i);
		if (!strcmp(vmp_json_get(name, "name"), domain))
			return 1;
	}
	return 0;
}

/* The running session's capture.  Return: 1 there is one, 0 none runs, -errno (told). */
static int join_session(struct top *t)
{
	struct json_object *o;
	char *json;
	pid_t pid;
	int state = vmp_state_look(&pid, &json), ret = 0;

	if (state < 0) {
		vmp_err("cannot look for a session: %s; run this command with sudo", strerror(-state));
		return state;
	}
	if (state == VMP_STATE_RUNNING) {
		o = json ? json_tokener_parse(json) : NULL;
		ret = 1;
		if (!o) {
			vmp_err("the running session is still being set up; try again in a moment");
			ret = -EAGAIN;
		} else if (t->domain && !has_domain(o, t->domain)) {
			vmp_err("the session that runs does not profile '%s'; vmprof status tells whom it does, vmprof stop ends it", args_safe(t->domain));
			ret = -EBUSY;
		}
		snprintf(t->file, sizeof(t->file), "%s", o ? vmp_json_get(o, "file") : "");
		json_object_put(o);
	}
	free(json);
	return ret;
}

static int start_session(struct top *t, const struct given *g)
{
	static struct vmp_session_opts o;

	if (!g->domain) {
		vmp_err("no session runs; vmprof top --domain NAME starts one");
		return -ENOENT;
	}
	if (vmp_need_root("top") || vmp_none_runs())
		return -EPERM;
	o = (struct vmp_session_opts){
		.event = g->event, .period = g->period, .uri = g->uri, .ring_bytes = 1U << 20,
		.domains = { .item = { g->domain }, .nr = 1 },
	};
	if (vmp_launch(&o))
		return -EIO;
	t->started = 1;
	return join_session(t) == 1 ? 0 : -ENOENT;
}

static int end_session(const struct top *t)
{
	return t->started && !t->ended ? vmp_control_ask("stop", NULL) : 0;
}

/* ---------------------------------------------------------------------- data */

static int runs(void)
{
	char *json;
	pid_t pid;
	int state = vmp_state_look(&pid, &json);

	free(json);
	return state == VMP_STATE_RUNNING;
}

/* The capture as far as it has grown */
static int open_now(void *arg, struct vmp_model **m)
{
	struct vmp_model *new;
	struct top *t = arg;
	const char *path = t->file;
	uint64_t ticks;
	int err = args_open(&new, &path, t->sysroot);

	if (err)
		return err;
	ticks = t->last_ns / 1000 * new->header.tsc_khz / 1000;
	if (ticks && new->last_tsc > ticks)
		new->from_tsc = new->last_tsc - ticks;
	*m = new;
	if (!t->ended && !runs()) {
		t->ended = 1;
		vmp_info("the session has ended");
	}
	return 0;
}

static void close_one(void *arg, struct vmp_model *m)
{
	(void)arg;
	vmp_model_close(m);
}

/* ----------------------------------------------------------------- as a filter */

static int one_batch(struct top *t, const struct vmp_options *o, struct vmp_render *r)
{
	struct vmp_profile *p;
	struct vmp_model *m;
	int err = open_now(t, &m);

	if (err)
		return err;
	err = vmp_profile_create(&p, m, o);
	if (!err) {
		vmp_render_text(stdout, p, o, r);
		vmp_profile_destroy(p);
		fputc('\n', stdout);
		fflush(stdout);
	}
	vmp_model_close(m);
	return ferror(stdout) ? -EIO : err;
}

static int batch(struct top *t, const struct vmp_options *o, struct vmp_render *r, uint64_t times)
{
	struct sigaction sa = { .sa_handler = on_signal };
	uint64_t i;
	int err = 0;

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	r->path = t->file;
	for (i = 0; !err && !interrupted && (!times || i < times); i++) {
		if (i)
			usleep(REFRESH_MS * 1000);
		if (!interrupted)
			err = one_batch(t, o, r);
	}
	return err;
}

/* ------------------------------------------------------------------------ all */

static int check(const struct given *g, struct top *t, struct vmp_look *look, uint64_t *times)
{
	t->domain = g->domain;
	t->last_ns = USUAL_LAST_NS;
	if (g->last && vmp_parse_time(g->last, &t->last_ns) && strcmp(g->last, "0")) {
		vmp_err("--last takes a time such as 10s, or 0 for the whole session, not '%s'", args_safe(g->last));
		return -EINVAL;
	}
	if (g->last && !strcmp(g->last, "0"))
		t->last_ns = 0;
	if (g->number && !g->batch) {
		vmp_err("--number goes with --batch");
		return -EINVAL;
	}
	if (g->number && args_number("number", g->number, UINT32_MAX, times))
		return -EINVAL;
	if (vmp_look_of(look, STDOUT_FILENO, g->color)) {
		vmp_err("--color takes auto, always or never, not '%s'", args_safe(g->color));
		return -EINVAL;
	}
	if (!g->batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		vmp_err("vmprof top needs a terminal; --batch prints to files and pipes");
		return -ENOTTY;
	}
	return 0;
}

static int watch(struct top *t, const struct given *g, struct vmp_tui *tui, uint64_t times)
{
	int err = join_session(t);

	if (!err)
		err = start_session(t, g);
	if (err < 0)
		return VMP_EXIT_FAILED;
	if (g->batch)
		err = batch(t, &tui->options, &tui->render, times);
	else
		err = vmp_tui_run(tui);
	if (end_session(t))
		err = -EIO;
	return err ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

int cmd_top(int argc, char **argv)
{
	struct given g = { 0 };
	struct top t = { 0 };
	struct vmp_tui tui = {
		.title = t.file, .options = { .vcpu = -1, .pid = -1 }, .model = open_now, .done = close_one,
		.arg = &t, .refresh_ms = REFRESH_MS, .render = { .limit = BATCH_ROWS },
	};
	struct vmp_wishes *w = &g.wishes;
	const struct vmp_opt opts[] = {
		{ "domain", 'd', VMP_OPT_STR, "NAME", "the domain; a session of it is started if none runs", &g.domain },
		{ "last", 0, VMP_OPT_STR, "TIME", "show the last 10s (default), another time, or all: 0", &g.last },
		{ "filter", 0, VMP_OPT_STR, "EXPR", "only rows such as 'process == \"shor\" && percent > 1'", &w->filter },
		{ "group-by", 0, VMP_OPT_STR, "KEYS", "from the domain down; default process,thread,module,function;\nwith --batch the rows' keys", &w->group_by },
		{ "columns", 0, VMP_OPT_STR, "LIST", "numbers to be shown: samples, percent, cycles, instructions,\ncpi, ipc, instruction-samples", &w->columns },
		{ "sort", 0, VMP_OPT_STR, "LIST", "by these columns, with :asc or :desc; default samples", &w->sort },
		{ "batch", 'b', VMP_OPT_FLAG, NULL, "print a table each second; no terminal is needed", &g.batch },
		{ "number", 'n', VMP_OPT_STR, "N", "with --batch: N tables, then end; default: until Ctrl-C", &g.number },
		{ "event", 'e', VMP_OPT_STR, "EVENT", "of a session that is started: as in vmprof start", &g.event },
		{ "period", 'p', VMP_OPT_STR, "PERIOD", "likewise", &g.period },
		{ "connect", 'c', VMP_OPT_STR, "URI", "libvirt's address; default: qemu:///system", &g.uri },
		ARGS_SYSROOT(&g.sysroot),
		{ "color", 0, VMP_OPT_STR, "WHEN", "auto (default: unless NO_COLOR is set), always, never", &g.color },
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof top [--domain NAME] [OPTION]...",
		.about = "Watch where the time of a running domain goes, made anew each second. The\n"
			 "session that runs is looked at; if none runs one is started, and ended when\n"
			 "this command ends. The key ? lists the keys.",
		.opts = opts,
		.more = "Functions of programs have names only if the object cache has the programs from\n"
			"an earlier session: vmprof stop brings them.",
	};
	uint64_t times = 0;
	int args, err;

	err = vmp_opts_parse(&cmd, argc, argv, &args);
	if (err)
		return err < 0 ? VMP_EXIT_USAGE : VMP_EXIT_OK;
	err = check(&g, &t, &tui.render.look, &times);
	if (err)
		return err == -ENOTTY ? VMP_EXIT_FAILED : VMP_EXIT_USAGE;
	w->tree = !g.batch;
	if (vmp_choose(w, &tui.options, &tui.render))
		return VMP_EXIT_USAGE;
	tui.options.domain = g.domain;
	tui.filter = w->filter;
	t.sysroot = g.sysroot;
	err = watch(&t, &g, &tui, times);
	if (g.batch)
		vmp_filter_free((struct vmp_filter *)tui.options.filter);
	return err;
}
