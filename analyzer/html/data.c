// SPDX-License-Identifier: GPL-2.0-only
/* data.c - a page's sums as compact JSON; the reader is page/src/data.js. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "html/page.h"
#include "report/render.h"
#include "util/text.h"

#define LAYOUT		1
#define NAME_MAX_BYTES	1024	/* longer names are cut */
#define BIN_NUMBERS	200000	/* in all lanes; with more, time is cut coarser */

/* Strings and stacks get numbers anew in order of use, so that only used ones are written. */
struct numbers {
	VMP_VEC(uint32_t) used;
	struct vmp_hash number;
};

struct writer {
	FILE *out;
	const struct vmp_page *p;
	struct numbers names, stacks;
	int err;
};

static uint32_t number(struct writer *w, struct numbers *n, uint32_t id)
{
	uint32_t *i = vmp_hash_find(&n->number, id);

	if (i)
		return *i;
	if (vmp_vec_push(&n->used, id) || vmp_hash_set(&n->number, id, n->used.nr - 1)) {
		w->err = -ENOMEM;
		return 0;
	}
	return n->used.nr - 1;
}

static uint32_t name(struct writer *w, uint32_t str)
{
	return number(w, &w->names, str);
}

static void comma(struct writer *w, uint32_t i)
{
	if (i)
		fputc(',', w->out);
}

static void text(struct writer *w, const char *key, const char *s)
{
	fprintf(w->out, "\"%s\":", key);
	vmp_json_str(w->out, s);
	fputc(',', w->out);
}

/* A column: one number of each of @nr elements */
#define COLUMN(w, key, nr, value) do { \
	uint32_t i_; \
	fprintf((w)->out, "\"%s\":[", key); \
	for (i_ = 0; i_ < (nr); i_++) { \
		comma(w, i_); \
		fprintf((w)->out, "%" PRId64, (int64_t)(value)); \
	} \
	fputc(']', (w)->out); \
} while (0)

static int64_t or_none(uint32_t n)
{
	return n == VMP_NONE ? -1 : (int64_t)n;
}

/* ------------------------------------------------------------- sections */

/* Time that a sample stands for; 0 when the event does not count time */
static double sample_ns(const struct vmp_model *m)
{
	const char *event = vmp_model_name(m, m->meta.event);

	if (!strcmp(vmp_model_name(m, m->meta.trigger), "timer"))
		return (double)m->meta.period;
	if ((!strcmp(event, "cycles") || !strcmp(event, "ref-cycles")) && m->header.tsc_khz)
		return (double)m->meta.period * 1e6 / m->header.tsc_khz;
	return 0;
}

static void capture(struct writer *w, const char *path)
{
	const struct vmp_model *m = w->p->model;

	fputs("\"capture\":{", w->out);
	text(w, "path", path);
	text(w, "host", vmp_model_name(m, m->meta.host));
	text(w, "release", vmp_model_name(m, m->meta.release));
	text(w, "vmprof", vmp_model_name(m, m->meta.version));
	text(w, "event", vmp_model_name(m, m->meta.event));
	text(w, "trigger", vmp_model_name(m, m->meta.trigger));
	if (vmp_weigh_paired(m) || vmp_profile_counted(&w->p->profile))
		text(w, "cpi_estimator", vmp_weigh_estimator(m));
	if (m->meta.random)
		fputs("\"random\":true,", w->out);
	fprintf(w->out, "\"period\":%" PRIu64 ",\"cpus\":%" PRIu32 ",\"start_ms\":%" PRIu64
		",\"seconds\":%.6f,\"sample_ns\":%.3f,\"others\":%" PRIu64 "},\n", m->meta.period,
		m->meta.cpus, (uint64_t)m->header.realtime_ns / 1000000, vmp_session_seconds(m),
		sample_ns(m), w->p->profile.others);
}

static void notes(struct writer *w)
{
	char *all = NULL, *line, *next;
	size_t len;
	FILE *f = open_memstream(&all, &len);
	uint32_t n = 0;

	if (!f) {
		w->err = -ENOMEM;
		return;
	}
	/* that CPI is by counts stands where the page shows it */
	vmp_render_notes(f, &w->p->profile, 0);
	if (fclose(f))
		w->err = -ENOMEM;
	fputs("\"notes\":[", w->out);
	for (line = all; line && *line; line = next) {
		next = strchrnul(line, '\n');
		/* the first two lines are the heading; notes stand two spaces in */
		if (!strncmp(line, "  ", 2)) {
			comma(w, n++);
			vmp_json_text(w->out, line + 2, (size_t)(next - line - 2));
		}
		next += *next == '\n';
	}
	fputs("],\n", w->out);
	free(all);
}

static uint32_t domain_number(const struct vmp_page *p, uint32_t vm)
{
	uint32_t i;

	for (i = 0; i < p->profile.domains.nr && p->profile.domains.v[i].vm != vm; i++)
		;
	return i;
}

static void domains(struct writer *w)
{
	const struct vmp_profile *p = &w->p->profile;
	uint32_t i;

	fputs("\"domains\":[", w->out);
	for (i = 0; i < p->domains.nr; i++) {
		const struct vmp_domain *d = &p->domains.v[i];
		const struct vmp_machine *vm = &p->model->vms.v[d->vm];

		comma(w, i);
		fputc('{', w->out);
		text(w, "name", vmp_model_name(p->model, vm->name));
		fprintf(w->out, "\"agent\":%s,\"total\":%" PRIu64 ",\"guest\":%" PRIu64
			",\"with_process\":%" PRIu64 ",\"with_function\":%" PRIu64 "}",
			vm->hellos ? "true" : "false", d->total, vmp_guest_samples(d),
			d->with_process, d->with_function);
	}
	fputs("],\n", w->out);
}

static void procs(struct writer *w)
{
	const struct vmp_page_proc *v = w->p->procs.v;
	uint32_t nr = w->p->procs.nr;

	fputs("\"procs\":{", w->out);
	COLUMN(w, "domain", nr, domain_number(w->p, v[i_].vm));
	fputc(',', w->out);
	COLUMN(w, "name", nr, name(w, v[i_].comm));
	fputc(',', w->out);
	COLUMN(w, "pid", nr, or_none(v[i_].pid));
	fputc(',', w->out);
	COLUMN(w, "count", nr, v[i_].nr);
	fputs("},\n", w->out);
}

static void threads(struct writer *w)
{
	const struct vmp_page_thread *v = w->p->threads.v;
	uint32_t nr = w->p->threads.nr;

	fputs("\"threads\":{", w->out);
	COLUMN(w, "proc", nr, v[i_].proc);
	fputc(',', w->out);
	COLUMN(w, "name", nr, name(w, v[i_].comm));
	fputc(',', w->out);
	COLUMN(w, "tid", nr, or_none(v[i_].tid));
	fputc(',', w->out);
	COLUMN(w, "count", nr, v[i_].nr);
	fputs("},\n", w->out);
}

static void rows(struct writer *w)
{
	const struct vmp_page_row *v = w->p->rows.v;
	uint32_t nr = w->p->rows.nr;

	fputs("\"rows\":{", w->out);
	COLUMN(w, "proc", nr, v[i_].proc);
	fputc(',', w->out);
	COLUMN(w, "thread", nr, or_none(v[i_].thread));
	fputc(',', w->out);
	COLUMN(w, "vcpu", nr, or_none(v[i_].vcpu));
	fputc(',', w->out);
	COLUMN(w, "side", nr, v[i_].side);
	fputc(',', w->out);
	COLUMN(w, "exit", nr, name(w, v[i_].exit));
	fputc(',', w->out);
	COLUMN(w, "stack", nr, number(w, &w->stacks, v[i_].stack));
	fputc(',', w->out);
	COLUMN(w, "samples", nr, v[i_].samples);
	fputc(',', w->out);
	COLUMN(w, "cycles", nr, v[i_].cycles);
	fputc(',', w->out);
	COLUMN(w, "instructions", nr, v[i_].instructions);
	fputs("},\n", w->out);
}

/* After rows(): those in use.  Frames with callers come when samples have them. */
static void stacks(struct writer *w)
{
	const struct vmp_page_stack *v = w->p->stacks.v;
	const uint32_t *u = w->stacks.used.v;
	uint32_t nr = w->stacks.used.nr;

	fputs("\"stacks\":{", w->out);
	COLUMN(w, "parent", nr, or_none(v[u[i_]].parent));
	fputc(',', w->out);
	COLUMN(w, "function", nr, name(w, v[u[i_]].function));
	fputc(',', w->out);
	COLUMN(w, "module", nr, name(w, v[u[i_]].module));
	fputs("},\n", w->out);
}

static void paces(struct writer *w)
{
	const struct vmp_page_pace *v = w->p->paces.v;
	uint32_t nr = w->p->paces.nr;

	fputs("\"paces\":{", w->out);
	COLUMN(w, "proc", nr, v[i_].proc);
	fputc(',', w->out);
	COLUMN(w, "thread", nr, or_none(v[i_].thread));
	fputc(',', w->out);
	COLUMN(w, "vcpu", nr, or_none(v[i_].vcpu));
	fputc(',', w->out);
	COLUMN(w, "cycles", nr * VMP_PACES, v[i_ / VMP_PACES].cycles[i_ % VMP_PACES]);
	fputs("},\n", w->out);
}

static void lane(struct writer *w, const struct vmp_page_lane *l, uint32_t merge)
{
	uint32_t bins = VMP_PAGE_BINS / merge, side, i, k;

	fprintf(w->out, "{\"domain\":%" PRIu32 ",\"vcpu\":%" PRId64 ",\"sides\":[",
		domain_number(w->p, l->vm), or_none(l->vcpu));
	for (side = 0; side < VMP_PAGE_SIDES; side++) {
		fputs(side ? ",[" : "[", w->out);
		for (i = 0; i < bins; i++) {
			uint64_t n = 0;

			for (k = 0; k < merge; k++)
				n += l->bins[(i * merge + k) * VMP_PAGE_SIDES + side];
			comma(w, i);
			fprintf(w->out, "%" PRIu64, n);
		}
		fputc(']', w->out);
	}
	fputs("]}", w->out);
}

static void lanes(struct writer *w)
{
	const struct vmp_page *p = w->p;
	uint32_t merge = 1, i;

	while (merge < VMP_PAGE_BINS / 64 &&
	       (uint64_t)p->lanes.nr * VMP_PAGE_SIDES * (VMP_PAGE_BINS / merge) > BIN_NUMBERS)
		merge *= 2;
	fprintf(w->out, "\"bin_ms\":%.6f,\n\"lanes\":[", p->model->header.tsc_khz ?
		(double)p->bin_ticks * merge / p->model->header.tsc_khz : 0);
	for (i = 0; i < p->lanes.nr; i++) {
		comma(w, i);
		lane(w, &p->lanes.v[i], merge);
	}
	fputs("],\n", w->out);
}

/* Last: by now it is known which are used. */
static void strings(struct writer *w)
{
	uint32_t i;

	fputs("\"strings\":[", w->out);
	for (i = 0; i < w->names.used.nr; i++) {
		const char *s = vmp_model_name(w->p->model, w->names.used.v[i]);

		comma(w, i);
		vmp_json_text(w->out, s, strnlen(s, NAME_MAX_BYTES));
	}
	fputs("]}\n", w->out);
}

/* --------------------------------------------------------------- as HTML */

/* What could end a script element, begin a comment or a line: all of it stands within strings. */
static void escaped(FILE *out, const char *s, size_t len)
{
	size_t i, from = 0;

	for (i = 0; i < len; i++) {
		unsigned int c = (unsigned char)s[i];
		size_t skip = 1;

		if (c == 0xe2 && i + 2 < len && (unsigned char)s[i + 1] == 0x80 &&
		    ((unsigned char)s[i + 2] & 0xfe) == 0xa8) {
			c = 0x2028 + (s[i + 2] & 1);
			skip = 3;
		} else if (c != '<' && c != '>' && c != '&') {
			continue;
		}
		fwrite(s + from, 1, i - from, out);
		fprintf(out, "\\u%04x", c);
		i += skip - 1;
		from = i + 1;
	}
	fwrite(s + from, 1, len - from, out);
}

int vmp_page_data(FILE *out, const struct vmp_page *page, const char *path)
{
	struct writer w = { .p = page };
	char *json = NULL;
	size_t len = 0;

	w.out = open_memstream(&json, &len);
	if (!w.out)
		return -ENOMEM;
	fprintf(w.out, "{\"layout\":%d,\n", LAYOUT);
	capture(&w, path);
	notes(&w);
	domains(&w);
	procs(&w);
	threads(&w);
	rows(&w);
	stacks(&w);
	paces(&w);
	lanes(&w);
	strings(&w);
	if (fclose(w.out))
		w.err = -ENOMEM;
	if (!w.err)
		escaped(out, json, len);
	free(json);
	vmp_vec_free(&w.names.used);
	vmp_vec_free(&w.stacks.used);
	vmp_hash_free(&w.names.number);
	vmp_hash_free(&w.stacks.number);
	return w.err;
}
