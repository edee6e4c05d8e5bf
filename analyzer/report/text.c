// SPDX-License-Identifier: GPL-2.0-only
/* text.c - the report for people: a head and a table for each domain, then the notes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/render.h"
#include "util/text.h"

#define LABEL_FEW	24	/* less room for a tree's labels, and columns that nobody asked for give way */

static int filtered(const struct vmp_options *o)
{
	return o->comm || o->module || o->exit_reason || o->vcpu >= 0 || o->pid >= 0 || o->filter;
}

/* Samples, share, and what by says; the side where it is the only word */
static struct vmp_column_list columns_of(const struct vmp_options *o)
{
	static const enum vmp_column order[] = {
		VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_EXIT, VMP_COL_PROCESS, VMP_COL_PID, VMP_COL_NSPID,
		VMP_COL_CGROUP, VMP_COL_VCPU, VMP_COL_SIDE,
	};
	struct vmp_column_list list = { .column = { VMP_COL_SAMPLES, VMP_COL_PERCENT }, .nr = 2 };
	uint32_t by = vmp_by(o);
	size_t i;

	if (by == VMP_BY_FUNCTION)
		by &= ~VMP_KEY(VMP_COL_SIDE);
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (by & VMP_KEY(order[i]))
			list.column[list.nr++] = order[i];
	return list;
}

/* Places that the numbers before a tree's labels take */
static int width_of(const struct vmp_column_list *list)
{
	int i, n = 0;

	for (i = 0; i < list->nr; i++)
		n += VMP_IS_MEASURE(list->column[i]) ? vmp_render_width(list->column[i]) + 2 : 0;
	return n;
}

struct vmp_column_list vmp_render_columns(const struct vmp_profile *p, const struct vmp_options *o,
					  const struct vmp_render *r)
{
	struct vmp_column_list list = r->columns.nr ? r->columns : columns_of(o);
	int at = 2;

	if ((r->columns.nr && !r->usual) || !vmp_weigh_paired(p->model) || r->path_before)
		return list;
	/* behind samples and share */
	memmove(&list.column[at + 2], &list.column[at], (size_t)(list.nr - at));
	list.column[at] = VMP_COL_INSN_SAMPLES;
	list.column[at + 1] = VMP_COL_CPI;
	list.nr += 2;
	list.unasked = VMP_KEY(VMP_COL_INSN_SAMPLES) | VMP_KEY(VMP_COL_CPI);
	while (r->levels.nr && r->look.width && r->look.width < width_of(&list) + LABEL_FEW &&
	       vmp_column_give_way(&list) >= 0)
		;
	return list;
}

/* Its numbers stand in the columns of samples and share, where these are the first */
static void left_out(FILE *out, const struct vmp_column_list *columns, const struct vmp_domain *d, uint64_t samples,
		     const char *what, uint64_t rows, const char *why)
{
	const double percent = vmp_percent(samples, d->total);

	if (!rows)
		return;
	if (columns->nr > 1 && columns->column[0] == VMP_COL_SAMPLES && columns->column[1] == VMP_COL_PERCENT)
		fprintf(out, "%10" PRIu64 "  %6.2f  ... %" PRIu64 " %s (%s)\n", samples, percent, rows, what, why);
	else
		fprintf(out, "... %" PRIu64 " %s of %" PRIu64 " samples, %.2f%% (%s)\n", rows, what, samples, percent, why);
}

static void rows_of(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		    const struct vmp_options *o, const struct vmp_render *r)
{
	uint32_t rows = r->limit && r->limit < d->rows.nr ? (uint32_t)r->limit : d->rows.nr, i;
	const struct vmp_column_list columns = vmp_render_columns(p, o, r);
	uint64_t rest = 0;

	if (filtered(o))
		fprintf(out, "Shown: %" PRIu64 " samples (%.2f%%) that pass the filters\n", d->shown,
			vmp_percent(d->shown, d->total));
	if (!rows && !d->small_rows) {
		fprintf(out, "\n%s\n", !d->total ?
			"No samples; vmprof doctor tells what a profile needs." : filtered(o) ?
			"No sample passes the filters; try without one of them." : "None.");
		return;
	}
	if (r->levels.nr) {
		if (vmp_render_tree(out, p, (uint32_t)(d - p->domains.v), o, r))
			fputs("(out of memory)\n", out);
		return;
	}
	vmp_render_rows(out, p, d, rows, &columns, &r->look);
	for (i = rows; i < d->rows.nr; i++)
		rest += d->rows.v[i].samples;
	left_out(out, &columns, d, rest, "more rows", d->rows.nr - rows, "--limit 0 shows all");
	left_out(out, &columns, d, d->small, "smaller rows", d->small_rows, "--percent-limit");
}

/* A line in bold, where there are such */
static void bold(FILE *out, const struct vmp_look *look, const char *line)
{
	fprintf(out, look->colour ? "\n\033[1m%s\033[m\n" : "\n%s\n", line);
}

/* What the table below is about, unless it is where time went */
static void about(FILE *out, const struct vmp_options *o, const struct vmp_look *look)
{
	static const char *const text[] = {
		[VMP_VIEW_EXITS] = "VMM time by exit reason and the guest function that exited",
		[VMP_VIEW_THIEVES] = "What ran while vCPUs waited",
		[VMP_VIEW_WAITERS] = "Guest functions that waited meanwhile",
	};

	if (text[o->view])
		bold(out, look, text[o->view]);
}

static void waiters(FILE *out, const struct vmp_domain *d, const struct vmp_render *r)
{
	struct vmp_options o = { .view = VMP_VIEW_WAITERS, .vcpu = -1, .pid = -1 };
	struct vmp_render below = {
		.limit = r->limit, .look = r->look,
		.columns = { { VMP_COL_SAMPLES, VMP_COL_PERCENT, VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_PROCESS,
			       VMP_COL_VCPU, VMP_COL_THIEF }, 7 },
	};
	uint32_t i;

	for (i = 0; r->waiters && i < r->waiters->domains.nr; i++) {
		const struct vmp_domain *same = &r->waiters->domains.v[i];

		if (same->vm != d->vm)
			continue;
		about(out, &o, &r->look);
		rows_of(out, r->waiters, same, &o, &below);
	}
}

static void domain(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_options *o, const struct vmp_render *r)
{
	char name[256], line[300];
	const char *s;

	if (d->vm == VMP_NONE) {
		bold(out, &r->look, "Host work that is no domain's");
		fprintf(out, "Total samples: %" PRIu64 "\n", d->total);
		rows_of(out, p, d, o, r);
		return;
	}
	s = vmp_model_name(p->model, p->model->vms.v[d->vm].name);
	snprintf(line, sizeof(line), "Domain %s", vmp_text(name, sizeof(name), s, strlen(s)));
	bold(out, &r->look, line);
	fprintf(out, "Total samples: %" PRIu64 "   OS:USER:steal = %.2f%% : %.2f%% : %.2f%%   VMM: %.2f%%\n",
		d->total, vmp_percent(d->side[VMP_SIDE_KERNEL], d->total),
		vmp_percent(d->side[VMP_SIDE_USER], d->total),
		vmp_percent(d->side[VMP_SIDE_STEAL], d->total),
		vmp_percent(d->side[VMP_SIDE_VMM], d->total));
	if (d->compared)
		fprintf(out, "Before: %" PRIu64 " samples\n", d->before_total);
	about(out, o, &r->look);
	rows_of(out, p, d, o, r);
	waiters(out, d, r);
}

static void head(FILE *out, const struct vmp_profile *p, const char *path)
{
	const struct vmp_model *m = p->model;
	char safe[4096], when[64] = "";
	time_t t = (time_t)(m->header.realtime_ns / 1000000000);
	double seconds = vmp_session_seconds(m);
	const char *s;
	struct tm tm;

	fprintf(out, "Capture %s\n", vmp_text(safe, sizeof(safe), path, strlen(path)));
	if (gmtime_r(&t, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	s = vmp_model_name(m, m->meta.host);
	fprintf(out, "Host %s, %s", vmp_text(safe, sizeof(safe), s, strlen(s)), when);
	if (seconds > 0)
		fprintf(out, ", %.1f s", seconds);
	s = vmp_model_name(m, m->meta.event);
	if (*s)
		fprintf(out, ", event %s", vmp_text(safe, sizeof(safe), s, strlen(s)));
	if (m->meta.period)
		fprintf(out, ", %speriod %" PRIu64, m->meta.random ? "random, mean " : "", m->meta.period);
	fputc('\n', out);
}

void vmp_render_text(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r)
{
	char safe[4096];
	uint32_t i;

	if (r->path_before)
		fprintf(out, "Before  %s\n", vmp_text(safe, sizeof(safe), r->path_before, strlen(r->path_before)));
	head(out, p, r->path);
	for (i = 0; i < p->domains.nr; i++)
		domain(out, p, &p->domains.v[i], o, r);
	vmp_render_notes(out, p, o->rated);
}
