// SPDX-License-Identifier: GPL-2.0-only
/*
 * chrome.c - Trace Event Format (JSON object form) for Perfetto and chrome://tracing.
 *
 * A process of the trace is a domain, a thread one of its tracks.  Samples of
 * one function in a row are one slice below the slice of their process; a
 * sample lasts until the next one of its track, but not longer than 1.5
 * intervals.  All slices are complete events ("X"): properly nested, but
 * written when they end.  Of two that begin and end together readers take the first
 * in the file for the outer one: the process comes before the function that ends with it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export/format.h"
#include "report/render.h"
#include "util/text.h"

struct slice {
	const struct vmp_line *line;	/* NULL: none is open */
	uint64_t begin_ns;
	uint64_t samples;
};

struct lane {
	struct slice task, function;
	uint64_t last_ns;
};

struct chrome {
	FILE *out;
	const struct vmp_table *t;
	struct lane *lanes;		/* by track */
	uint64_t longest_ns;
	int any;
};

static uint32_t pid_of(const struct vmp_table *t, uint32_t domain)
{
	uint32_t vm = t->domains.v[domain].vm;

	return vm == VMP_NONE ? 0 : t->model->vms.v[vm].vm;
}

static void head(struct chrome *c, const char *phase, uint32_t track)
{
	fprintf(c->out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, c->any ? "," : "",
		phase, pid_of(c->t, c->t->tracks.v[track].domain), track + 1);
	c->any = 1;
}

/* Trace times are in microseconds; three places keep the nanoseconds. */
static void time_of(struct chrome *c, const char *key, uint64_t ns)
{
	fprintf(c->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned int)(ns % 1000));
}

static void close_slice(struct chrome *c, struct slice *s, uint64_t end_ns, int is_task)
{
	const struct vmp_line *l = s->line;
	const struct vmp_site *site;

	if (!l)
		return;
	site = &c->t->sites.v[l->site];
	head(c, "X", l->track);
	fputs(",\"name\":", c->out);
	vmp_json_str(c->out, is_task ? vmp_table_comm(c->t, l) : vmp_table_str(c->t, site->function));
	fprintf(c->out, ",\"cat\":\"%s\"", is_task ? "process" : vmp_side_name(l->side));
	time_of(c, "ts", s->begin_ns);
	time_of(c, "dur", end_ns - s->begin_ns);
	fprintf(c->out, ",\"args\":{\"samples\":%" PRIu64, s->samples);
	if (is_task && c->t->tasks.v[l->task].pid != VMP_NONE)
		fprintf(c->out, ",\"pid\":%" PRIu32, c->t->tasks.v[l->task].pid);
	if (!is_task) {
		fputs(",\"module\":", c->out);
		vmp_json_str(c->out, vmp_table_str(c->t, site->module));
	}
	if (!is_task && l->exit) {
		fputs(",\"exit_reason\":", c->out);
		vmp_json_str(c->out, vmp_table_str(c->t, l->exit));
	}
	fputs("}}", c->out);
	s->line = NULL;
}

static int same_function(const struct vmp_table *t, const struct vmp_line *a, const struct vmp_line *b)
{
	const struct vmp_site *x = &t->sites.v[a->site], *y = &t->sites.v[b->site];

	return a->task == b->task && a->side == b->side && a->exit == b->exit &&
	       x->function == y->function && x->module == y->module;
}

static void open_slice(struct slice *s, const struct vmp_line *l, uint64_t ns)
{
	if (!s->line)
		*s = (struct slice){ .line = l, .begin_ns = ns };
	s->samples++;
}

static int on_sample(void *arg, uint64_t ns, const struct vmp_line *l)
{
	struct chrome *c = arg;
	struct lane *lane = &c->lanes[l->track];
	const struct vmp_line *f = lane->function.line;
	uint64_t end;

	if (ns < lane->last_ns)		/* could not be put in order */
		ns = lane->last_ns;
	end = lane->last_ns + c->longest_ns < ns ? lane->last_ns + c->longest_ns : ns;
	if (lane->task.line && (end < ns || lane->task.line->task != l->task))
		close_slice(c, &lane->task, end, 1);
	if (f && (end < ns || !same_function(c->t, f, l)))
		close_slice(c, &lane->function, end, 0);
	open_slice(&lane->task, l, ns);
	open_slice(&lane->function, l, ns);
	lane->last_ns = ns;
	return 0;
}

static void names(struct chrome *c)
{
	char name[VMP_TRACK_NAME_MAX];
	uint32_t i;

	for (i = 0; i < c->t->tracks.nr; i++) {
		uint32_t domain = c->t->tracks.v[i].domain;

		head(c, "M", i);
		fputs(",\"name\":\"process_name\",\"args\":{\"name\":", c->out);
		vmp_json_str(c->out, vmp_table_domain_name(c->t, domain));
		fputs("}}", c->out);
		head(c, "M", i);
		fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", c->out);
		vmp_json_str(c->out, vmp_track_name(name, &c->t->tracks.v[i]));
		fputs("}}", c->out);
		head(c, "M", i);
		fprintf(c->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}", i);
	}
}

int vmp_write_chrome(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct chrome c = { .out = out, .t = t };
	uint32_t i;
	int err;

	c.lanes = calloc(t->tracks.nr + 1, sizeof(*c.lanes));
	if (!c.lanes)
		return -ENOMEM;
	c.longest_ns = vmp_table_interval_ns(t) * 3 / 2;
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"vmprof " VMPROF_VERSION "\"},\n"
	      "\"traceEvents\":[", out);
	names(&c);
	err = vmp_table_samples(t, &o->losses.late, on_sample, &c);
	for (i = 0; !err && i < t->tracks.nr; i++) {
		close_slice(&c, &c.lanes[i].task, c.lanes[i].last_ns + c.longest_ns, 1);
		close_slice(&c, &c.lanes[i].function, c.lanes[i].last_ns + c.longest_ns, 0);
	}
	fputs("\n]}\n", out);
	free(c.lanes);
	return err;
}
