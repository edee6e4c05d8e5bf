// SPDX-License-Identifier: GPL-2.0-only
/* cmd-timeline.c - vmprof timeline: blocks on the axis of time, as text or as a trace. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "blocks/timeline.h"
#include "branchargs.h"
#include "cmd.h"
#include "export/out.h"
#include "util/log.h"

#define SAMPLES_TEXT	1000U
#define SAMPLES_TRACE	100000U	/* about a million and a half blocks */

struct given {
	struct branch_args a;
	const char *from, *to, *output;
};

/* What is not as the estimates say */
static void print_cut(FILE *out, const struct vmp_timeline *t)
{
	if (t->unknown)
		fprintf(out, "  %" PRIu64 " samples' blocks end early: the cycles of one are not known\n", t->unknown);
	if (t->cut || t->left_out)
		fprintf(out, "  %" PRIu64 " blocks reach back behind the sample before and are cut short there; %" PRIu64
		       " more lie behind it and are left out\n", t->cut, t->left_out);
}

/* Microseconds since the session's start; as --from takes it, no sample of that time is left out */
static const char *time_of(const struct vmp_model *m, uint64_t tsc, char *buf, size_t size)
{
	uint32_t khz = m->header.tsc_khz ? m->header.tsc_khz : 1000000;
	uint64_t ns = tsc > m->header.tsc ? (uint64_t)((__uint128_t)(tsc - m->header.tsc) * 1000000 / khz) : 0;

	snprintf(buf, size, "%" PRIu64 ".%03" PRIu64 "us", ns / 1000, ns % 1000);
	return buf;
}

static int write_trace(const struct branch_data *d, const struct vmp_timeline *t, const char *path)
{
	struct vmp_out out;
	int err = vmp_out_open(&out, path, VMP_PACK_NONE);

	if (!err) {
		vmp_timeline_trace(out.stream, d->set, t);
		err = vmp_out_close(&out, 0);
	}
	if (err) {
		vmp_err("cannot write %s: %s", args_safe(path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	vmp_info("%s: %" PRIu64 " samples; open it in Perfetto (ui.perfetto.dev) or chrome://tracing", args_safe(path),
		 t->samples);
	print_cut(stderr, t);
	vmp_about_left_out(stderr, d->set);
	return VMP_EXIT_OK;
}

static int write_text(const struct branch_data *d, const struct given *g, const struct vmp_timeline *t)
{
	pid_t pager = g->a.no_pager ? 0 : vmp_pager_start();
	char end[32];

	vmp_about_head(stdout, d->set, d->path);
	vmp_timeline_text(stdout, d->set, t, &g->a.look);
	vmp_about_notes(stdout, d->set, d->estimates);
	if (t->rate > 0)
		printf("  blocks are laid back from each sample, a cycle as %.2f ticks of the TSC: so many the counters say\n", t->rate);
	else
		puts("  blocks are laid back from each sample, a cycle as a tick of the TSC: no counters tell");
	print_cut(stdout, t);
	if (t->more)
		printf("  these are the earliest %" PRIu64 " samples of the time asked for, up to %s; %" PRIu64
		       " more are not shown (--from, --to, --limit)\n", t->samples,
		       time_of(d->m, t->last_tsc, end, sizeof(end)), t->more);
	return vmp_pager_end(pager) ? VMP_EXIT_FAILED : VMP_EXIT_OK;
}

static int show(const struct branch_data *d, const void *arg)
{
	const struct given *g = arg;
	struct vmp_timeline_choice c = { .to_tsc = UINT64_MAX, .limit = g->output ? SAMPLES_TRACE : SAMPLES_TEXT };
	struct vmp_timeline *t;
	char end[32];
	int ret, err;

	if (args_output(d->path, g->output))
		return VMP_EXIT_USAGE;
	if (args_span(d->m, g->from, g->to, &c.from_tsc, &c.to_tsc))
		return VMP_EXIT_USAGE;
	if (g->a.limit)
		c.limit = g->a.rows ? g->a.rows : UINT64_MAX;
	err = vmp_timeline_create(&t, d->set, d->estimates, &c);
	if (err) {
		vmp_err("cannot read %s: %s", args_safe(d->path), strerror(-err));
		return VMP_EXIT_FAILED;
	}
	if (t->samples) {
		ret = g->output ? write_trace(d, t, g->output) : write_text(d, g, t);
	} else {
		vmp_err("no such samples were taken in this time (--from, --to); vmprof report tells how long the session took");
		ret = VMP_EXIT_FAILED;
	}
	if (t->more) {
		time_of(d->m, t->last_tsc, end, sizeof(end));
		vmp_warn("%" PRIu64 " more samples are in this time, after %s; go on with --from %s, narrow the time with --from and --to, or raise --limit",
			 t->more, end, end);
	}
	vmp_timeline_destroy(t);
	return ret;
}

int cmd_timeline(int argc, char **argv)
{
	struct given g = { .a = { .looks_up = 1 } };
	const struct vmp_opt opts[] = {
		BRANCH_SAMPLES(&g.a),
		{ "from", 0, VMP_OPT_STR, "TIME", "from so long after the session's start, such as 1.5s", &g.from },
		{ "to", 0, VMP_OPT_STR, "TIME", "up to so long after it", &g.to },
		{ "limit", 0, VMP_OPT_STR, "N", "the earliest N samples, 0 all; default 1000, with --output 100000", &g.a.limit },
		{ "output", 'o', VMP_OPT_STR, "FILE", "write a trace for Perfetto and chrome://tracing instead;\nFILE.zst is packed by zstd", &g.output },
		BRANCH_LOOK(&g.a),
		{ NULL },
	};
	const struct vmp_cmdline cmd = {
		.usage = "vmprof timeline [OPTION]... [FILE]",
		.about = "Lay the blocks that ran on each vCPU on the axis of time, back from each sample, with exits\n"
			 "and steal between them.",
		.opts = opts,
		.more = "It takes a session that records branches (vmprof-start(1)).  Without FILE the latest capture is read.",
		.args_max = 1,
	};

	return branch_run(&cmd, argc, argv, &g.a, 1, show, &g);
}
