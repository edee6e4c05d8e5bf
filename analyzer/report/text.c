// SPDX-License-Identifier: GPL-2.0-only
/* text.c - the report for people: a head and a table for each domain, then the notes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "report/render.h"
#include "util/text.h"

#define COLUMNS_MAX	8
#define PAD_MAX		56	/* a longer cell pushes its line, not the table */
#define CELL_BYTES	2048

enum column { COL_FUNCTION, COL_MODULE, COL_PROCESS, COL_PID, COL_VCPU, COL_EXIT, COL_SIDE, COL_END };

static const char *const titles[] = {
	[COL_FUNCTION] = "Function", [COL_MODULE] = "Module", [COL_PROCESS] = "Process",
	[COL_PID] = "PID", [COL_VCPU] = "vCPU", [COL_EXIT] = "Exit", [COL_SIDE] = "Time",
};

static const enum column layouts[][COLUMNS_MAX] = {
	[VMP_BY_FUNCTION] = { COL_FUNCTION, COL_MODULE, COL_PROCESS, COL_END },
	[VMP_BY_PROCESS] = { COL_PROCESS, COL_PID, COL_END },
	[VMP_BY_MODULE] = { COL_MODULE, COL_SIDE, COL_END },
	[VMP_BY_VCPU] = { COL_VCPU, COL_END },
	[VMP_BY_EXIT] = { COL_EXIT, COL_SIDE, COL_END },
};

static const char *side_title(enum vmp_side side)
{
	static const char *const title[] = {
		[VMP_SIDE_KERNEL] = "guest kernel", [VMP_SIDE_USER] = "guest user",
		[VMP_SIDE_VMM] = "VMM", [VMP_SIDE_STEAL] = "steal", [VMP_SIDE_HOST] = "host",
		[VMP_SIDE_NR] = "",
	};

	return title[side];
}

/* The string that a cell shows, VMP_NONE where it is none of the model's */
static uint32_t string_of(const struct vmp_row *row, enum column c)
{
	switch (c) {
	case COL_FUNCTION:
		return row->function;
	case COL_MODULE:
		return row->module;
	case COL_PROCESS:
		return row->comm;
	case COL_EXIT:
		return row->exit;
	default:
		return VMP_NONE;
	}
}

/* Places on the terminal; bytes where the locale cannot tell */
static int width(const char *s)
{
	wchar_t wide[CELL_BYTES];
	size_t n = vmp_text_plain(s);
	int w;

	if (!s[n])
		return (int)n;
	n = mbstowcs(wide, s, CELL_BYTES);
	w = n == (size_t)-1 || n >= CELL_BYTES ? -1 : wcswidth(wide, n);
	return w < 0 ? (int)strlen(s) : w;
}

/* Strings that can be shown as they are, by number: 0 not looked at, 1 it cannot, else its width + 2.
   NULL without memory: then each is looked at each time. */
struct table {
	const struct vmp_profile *p;
	uint16_t *plain;
	char buf[CELL_BYTES];
};

/* Text of a cell, and its width */
static const char *cell(struct table *t, const struct vmp_row *row, enum column c, int *w)
{
	uint32_t str = string_of(row, c);
	const char *s = str == VMP_NONE ? "" : vmp_model_name(t->p->model, str);
	size_t n;

	if (t->plain && str != VMP_NONE && !t->plain[str]) {
		n = vmp_text_plain(s);
		t->plain[str] = s[n] || n >= CELL_BYTES ? 1 : (uint16_t)(n + 2);
	}
	if (t->plain && str != VMP_NONE && t->plain[str] > 1) {
		*w = t->plain[str] - 2;
		return s;
	}
	if (c == COL_SIDE) {
		s = side_title(row->side);
	} else if (c == COL_PID || c == COL_VCPU) {
		s = "-";
		if ((c == COL_PID ? row->pid : row->vcpu) != VMP_NONE) {
			snprintf(t->buf, CELL_BYTES, "%" PRIu32, c == COL_PID ? row->pid : row->vcpu);
			s = t->buf;
		}
	} else {
		s = vmp_text(t->buf, CELL_BYTES, s, strlen(s));
	}
	*w = width(s);
	return s;
}

static void table(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		  const enum column *cols, uint32_t rows)
{
	static const char spaces[] = "                                                        ";
	struct table t = { .p = p, .plain = calloc(p->model->strings.str.nr, sizeof(*t.plain)) };
	int pad[COLUMNS_MAX], i, w;
	char counts[64] = "";
	uint32_t r;

	_Static_assert(sizeof(spaces) == PAD_MAX + 1, "as many as a column may need");
	for (i = 0; cols[i] != COL_END; i++) {
		pad[i] = width(titles[cols[i]]);
		for (r = 0; r < rows; r++) {
			cell(&t, &d->rows.v[r], cols[i], &w);
			if (w > pad[i] && w <= PAD_MAX)
				pad[i] = w;
		}
	}
	fprintf(out, "\n%10s  %6s", "Samples", "%CPU");
	for (i = 0; cols[i] != COL_END; i++)
		fprintf(out, "  %s%*s", titles[cols[i]],
			cols[i + 1] == COL_END ? 0 : pad[i] - width(titles[cols[i]]), "");
	fputc('\n', out);
	for (r = 0; r < rows; r++) {
		/* many rows have as many samples as the one before */
		if (!r || d->rows.v[r].samples != d->rows.v[r - 1].samples)
			snprintf(counts, sizeof(counts), "%10" PRIu64 "  %6.2f", d->rows.v[r].samples,
				 vmp_percent(d->rows.v[r].samples, d->total));
		fputs_unlocked(counts, out);
		for (i = 0; cols[i] != COL_END; i++) {
			fputs_unlocked("  ", out);
			fputs_unlocked(cell(&t, &d->rows.v[r], cols[i], &w), out);
			if (cols[i + 1] != COL_END && w < pad[i])
				fputs_unlocked(spaces + PAD_MAX - (pad[i] - w), out);
		}
		putc_unlocked('\n', out);
	}
	free(t.plain);
}

static int filtered(const struct vmp_options *o)
{
	return o->comm || o->module || o->exit_reason || o->vcpu >= 0 || o->pid >= 0;
}

static void rows_of(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		    const struct vmp_options *o, uint64_t limit)
{
	uint32_t rows = limit && limit < d->rows.nr ? (uint32_t)limit : d->rows.nr, r;
	uint64_t rest = 0;

	if (filtered(o))
		fprintf(out, "Shown: %" PRIu64 " samples (%.2f%%) that pass the filters\n", d->shown,
			vmp_percent(d->shown, d->total));
	if (!rows) {
		fprintf(out, "\n%s\n", !d->total ? "No samples." :
			"No sample passes the filters; try without one of them.");
		return;
	}
	table(out, p, d, layouts[o->by], rows);
	for (r = rows; r < d->rows.nr; r++)
		rest += d->rows.v[r].samples;
	if (rest)
		fprintf(out, "%10" PRIu64 "  %6.2f  ... %" PRIu32 " more rows (--limit 0 shows all)\n",
			rest, vmp_percent(rest, d->total), d->rows.nr - rows);
}

static void domain(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_options *o, uint64_t limit)
{
	char name[256];
	const char *s;

	if (d->vm == VMP_NONE) {
		fprintf(out, "\nHost work that is no domain's\nTotal samples: %" PRIu64 "\n", d->total);
		rows_of(out, p, d, o, limit);
		return;
	}
	s = vmp_model_name(p->model, p->model->vms.v[d->vm].name);
	fprintf(out, "\nDomain %s\n", vmp_text(name, sizeof(name), s, strlen(s)));
	fprintf(out, "Total samples: %" PRIu64 "   OS:USER:steal = %.2f%% : %.2f%% : %.2f%%   VMM: %.2f%%\n",
		d->total, vmp_percent(d->side[VMP_SIDE_KERNEL], d->total),
		vmp_percent(d->side[VMP_SIDE_USER], d->total),
		vmp_percent(d->side[VMP_SIDE_STEAL], d->total),
		vmp_percent(d->side[VMP_SIDE_VMM], d->total));
	rows_of(out, p, d, o, limit);
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
		fprintf(out, ", period %" PRIu64, m->meta.period);
	fputc('\n', out);
}

void vmp_render_text(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r)
{
	uint32_t i;

	head(out, p, r->path);
	for (i = 0; i < p->domains.nr; i++)
		domain(out, p, &p->domains.v[i], o, r->limit);
	vmp_render_notes(out, p);
}
