// SPDX-License-Identifier: GPL-2.0-only
/*
 * gecko.c - Gecko profile, version 24, for the Firefox Profiler
 * (docs-developer/gecko-profile-format.md there; perf script gecko writes the same).
 *
 * A thread of the profile is a track.  Its stacks are process, function; its
 * samples lie in a spool until its turn comes.  The tables of strings, frames
 * and stacks are made from the lines of the track alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"
#include "export/spool.h"
#include "report/render.h"
#include "util/text.h"

/* Categories by side; the profiler wants a grey one, and takes it for what has none */
static const struct {
	const char *name, *color;
} categories[VMP_SIDE_NR] = {
	[VMP_SIDE_KERNEL] = { "Guest kernel", "orange" }, [VMP_SIDE_USER] = { "Guest user", "yellow" },
	[VMP_SIDE_VMM] = { "VMM", "blue" }, [VMP_SIDE_STEAL] = { "Steal", "red" },
	[VMP_SIDE_HOST] = { "Host", "grey" },
};

struct stack {
	uint32_t line;		/* one of those that have it */
	uint32_t prefix;	/* VMP_NONE: it is a process's */
};

struct gecko {
	FILE *out;
	const struct vmp_table *t;
	struct vmp_spool spool;
	uint32_t *stack_of;	/* line -> number of its stack in its track */
	uint32_t *by_track;	/* lines, those of a track together */
	uint32_t *first;	/* track -> where in by_track; one more at the end */
	VMP_VEC(struct stack) stacks;	/* of the track at work */
};

/* --------------------------------------------------------------- preparing */

/* Lines are in order of task, then function: stacks come in runs. */
static int stacks_of(struct gecko *g, uint32_t track)
{
	const struct vmp_table *t = g->t;
	const struct vmp_line *l, *last = NULL;
	uint32_t task = 0, i;
	struct stack s;

	g->stacks.nr = 0;
	for (i = g->first[track]; i < g->first[track + 1]; i++) {
		l = &t->lines.v[g->by_track[i]];
		s.line = g->by_track[i];
		if (!last || last->task != l->task) {
			task = g->stacks.nr;
			s.prefix = VMP_NONE;
			if (vmp_vec_push(&g->stacks, s))
				return -ENOMEM;
		}
		s.prefix = task;
		if ((!last || last->task != l->task || last->side != l->side ||
		     t->sites.v[last->site].function != t->sites.v[l->site].function ||
		     t->sites.v[last->site].module != t->sites.v[l->site].module) &&
		    vmp_vec_push(&g->stacks, s))
			return -ENOMEM;
		g->stack_of[s.line] = g->stacks.nr - 1;
		last = l;
	}
	return 0;
}

static int prepare(struct gecko *g)
{
	const struct vmp_table *t = g->t;
	uint32_t i, *next;
	int err = 0;

	g->stack_of = calloc(t->lines.nr + 1, sizeof(*g->stack_of));
	g->by_track = calloc(t->lines.nr + 1, sizeof(*g->by_track));
	g->first = calloc(t->tracks.nr + 1, sizeof(*g->first));
	next = calloc(t->tracks.nr + 1, sizeof(*next));
	if (!g->stack_of || !g->by_track || !g->first || !next) {
		free(next);
		return -ENOMEM;
	}
	for (i = 0; i < t->lines.nr; i++)
		g->first[t->lines.v[i].track + 1]++;
	for (i = 0; i < t->tracks.nr; i++) {
		g->first[i + 1] += g->first[i];
		next[i] = g->first[i];
	}
	for (i = 0; i < t->lines.nr; i++)
		g->by_track[next[t->lines.v[i].track]++] = i;
	free(next);
	for (i = 0; !err && i < t->tracks.nr; i++)
		err = stacks_of(g, i);
	return err;
}

static int on_sample(void *arg, uint64_t ns, const struct vmp_line *l)
{
	struct gecko *g = arg;
	char buf[64];
	/* stack, milliseconds, responsiveness */
	int n = snprintf(buf, sizeof(buf), "%s\n[%" PRIu32 ",%" PRIu64 ".%06u,0]",
			 vmp_spool_empty(&g->spool, l->track) ? "" : ",", g->stack_of[l - g->t->lines.v],
			 ns / 1000000, (unsigned int)(ns % 1000000));

	return vmp_spool_add(&g->spool, l->track, buf, (size_t)n);
}

/* ----------------------------------------------------------------- writing */

static void meta(struct gecko *g)
{
	const struct vmp_model *m = g->t->model;
	int i;

	fprintf(g->out, "{\"meta\":{\"version\":24,\"processType\":0,\"product\":\"vmprof " VMPROF_VERSION
		"\",\"stackwalk\":1,\"debug\":0,\"gcpoison\":0,\"asyncstack\":1,\"presymbolicated\":true,\n"
		"\"startTime\":%" PRIu64 ".%06u,\"shutdownTime\":null,\"interval\":%.6f,\"markerSchema\":[],\n"
		"\"oscpu\":", (uint64_t)m->header.realtime_ns / 1000000,
		(unsigned int)(m->header.realtime_ns % 1000000), (double)vmp_table_interval_ns(g->t) / 1e6);
	vmp_json_str(g->out, vmp_model_name(m, m->meta.host));
	fputs(",\"categories\":[", g->out);
	for (i = 0; i < VMP_SIDE_NR; i++)
		fprintf(g->out, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", categories[i].name, categories[i].color);
	fputs("]},\n\"libs\":[],\"pausedRanges\":[],\"processes\":[],\n\"threads\":[", g->out);
}

/*
 * "function (in module)", as the profiler takes apart; escaped as one string.  It finds no
 * module with parentheses: they become brackets.
 */
static void location(struct gecko *g, const struct stack *s)
{
	const struct vmp_line *l = &g->t->lines.v[s->line];
	const struct vmp_task *task = &g->t->tasks.v[l->task];
	char module[VMPROF_PATH_BYTES_MAX + 1], buf[2 * VMPROF_PATH_BYTES_MAX + 64], *p = module;

	snprintf(module, sizeof(module), "%s", vmp_table_str(g->t, g->t->sites.v[l->site].module));
	while ((p = strpbrk(p, "()")))
		*p = *p == '(' ? '[' : ']';
	if (s->prefix != VMP_NONE)
		snprintf(buf, sizeof(buf), "%s (in %s)", vmp_table_str(g->t, g->t->sites.v[l->site].function), module);
	else if (task->pid != VMP_NONE)
		snprintf(buf, sizeof(buf), "%s %" PRIu32, vmp_table_comm(g->t, l), task->pid);
	else
		snprintf(buf, sizeof(buf), "%s", vmp_table_comm(g->t, l));
	vmp_json_str(g->out, buf);
}

/* String, frame and stack of one number belong together. */
static void tables(struct gecko *g)
{
	uint32_t i;

	fputs("\"frameTable\":{\"schema\":{\"location\":0,\"relevantForJS\":1,\"innerWindowID\":2,"
	      "\"implementation\":3,\"optimizations\":4,\"line\":5,\"column\":6,\"category\":7,"
	      "\"subcategory\":8},\"data\":[", g->out);
	for (i = 0; i < g->stacks.nr; i++)
		fprintf(g->out, "%s[%" PRIu32 ",false,0,null,null,null,null,%d,0]", i ? ",\n" : "", i,
			(int)g->t->lines.v[g->stacks.v[i].line].side);
	fputs("]},\n\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[", g->out);
	for (i = 0; i < g->stacks.nr; i++) {
		fputs(i ? ",[" : "[", g->out);
		if (g->stacks.v[i].prefix == VMP_NONE)
			fputs("null", g->out);
		else
			fprintf(g->out, "%" PRIu32, g->stacks.v[i].prefix);
		fprintf(g->out, ",%" PRIu32 "]", i);
	}
	fputs("]},\n\"stringTable\":[", g->out);
	for (i = 0; i < g->stacks.nr; i++) {
		fputs(i ? ",\n" : "", g->out);
		location(g, &g->stacks.v[i]);
	}
	fputs("],\n", g->out);
}

static int thread(struct gecko *g, uint32_t i)
{
	const struct vmp_table *t = g->t;
	const struct vmp_track *track = &t->tracks.v[i];
	uint32_t vm = t->domains.v[track->domain].vm;
	char name[VMP_TRACK_NAME_MAX];
	int err = stacks_of(g, i);

	if (err)
		return err;
	fprintf(g->out, "%s\n{\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"processType\":\"default\",\"name\":\"%s\","
		"\"processName\":", i ? "," : "", vm == VMP_NONE ? 0 : t->model->vms.v[vm].vm, i + 1,
		vmp_track_name(name, track));
	vmp_json_str(g->out, vmp_table_domain_name(t, track->domain));
	fputs(",\"registerTime\":0,\"unregisterTime\":null,\n\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,"
	      "\"endTime\":2,\"phase\":3,\"category\":4,\"data\":5},\"data\":[]},\n", g->out);
	tables(g);
	fputs("\"samples\":{\"schema\":{\"stack\":0,\"time\":1,\"responsiveness\":2},\"data\":[", g->out);
	err = vmp_spool_copy(&g->spool, i, g->out);
	fputs("]}}", g->out);
	return err;
}

int vmp_write_gecko(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct gecko g = { .out = out, .t = t };
	uint32_t i;
	int err;

	err = vmp_spool_init(&g.spool, t->tracks.nr);
	if (!err)
		err = prepare(&g);
	if (!err)
		err = vmp_table_samples(t, &o->losses.late, on_sample, &g);
	if (!err)
		meta(&g);
	for (i = 0; !err && i < t->tracks.nr; i++)
		err = thread(&g, i);
	fputs("]}\n", out);
	vmp_spool_deinit(&g.spool);
	vmp_vec_free(&g.stacks);
	free(g.stack_of);
	free(g.by_track);
	free(g.first);
	return err;
}
