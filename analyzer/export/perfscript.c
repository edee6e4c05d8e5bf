// SPDX-License-Identifier: GPL-2.0-only
/*
 * perfscript.c - each sample in the layout of perf script, for what reads that:
 *
 *   COMM PID [CPU] SECONDS: PERIOD EVENT:
 *           ADDRESS FUNCTION (FILE)
 *    FROM/TO/M|P/-/-/CYCLES FROM/TO...
 *
 * The third line (field brstack, the youngest branch first) is there for samples
 * with branches.  An address that is not known is 0x0.
 *
 * With brstack, as perf script --show-mmap-events -F ip,brstack has it: where files are
 * mapped, then of each sample with branches ADDRESS and the third line, in one.
 *
 * COMM is DOMAIN:PROCESS, CPU the vCPU, SECONDS count from the session's start.  Where the
 * guest's thread is known, PID is PID/TID.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"
#include "export/format.h"
#include "export/stream.h"
#include "model/lbr.h"
#include "util/log.h"
#include "util/text.h"

#define WORD_MAX	(4 * VMPROF_PATH_BYTES_MAX)
#define NUMBER_MAX	24

struct script {
	FILE *out;
	const struct vmp_model *m;
	uint64_t nr;		/* samples so far */
	char event[256];	/* ": PERIOD EVENT:" and the end of the line */
	char text[3 * WORD_MAX];
};

/* A foreign string as one word; behind it */
static char *word(char *dst, const char *s)
{
	char *p;

	vmp_text(dst, WORD_MAX, s, strlen(s));
	if (!*dst)
		strcpy(dst, "?");
	for (p = dst; *p; p++)
		if (*p == ' ')
			*p = '_';
	return p;
}

/* Digits in front of @end, @width at least; where they begin */
static char *digits(char *end, uint64_t n, unsigned int base, int width, char fill)
{
	char *p = end;

	do
		*--p = "0123456789abcdef"[n % base];
	while (n /= base);
	while (end - p < width)
		*--p = fill;
	return p;
}

static const char *comm(const struct vmp_model *m, const struct vmp_whose *w)
{
	if (w->comm || w->pid != VMP_NONE)
		return vmp_model_name(m, w->comm);
	return w->side == VMP_SIDE_STEAL ? "[steal]" : "[idle]";
}

/* COMM PID [CPU] */
static const char *whose(struct script *s, struct vmp_whose *w)
{
	uint32_t pid = w->pid;
	char *p = s->text;

	if (w->note)
		return w->note;
	if (pid == VMP_NONE)	/* the VMM and what has no process: QEMU's */
		pid = w->vm == VMP_NONE ? 0 : s->m->vms.v[w->vm].vm;
	p = word(p, w->vm == VMP_NONE ? "[host]" : vmp_model_name(s->m, s->m->vms.v[w->vm].name));
	*p++ = ':';
	p = word(p, comm(s->m, w));
	p += sprintf(p, " %5" PRIu32, pid);
	if (w->tid != VMP_NONE)
		p += sprintf(p, "/%" PRIu32, w->tid);
	sprintf(p, " [%03" PRIu32 "] ", w->track_kind == VMP_TRACK_THREAD ? 0 : w->track_id);
	return w->note = strdup(s->text);
}

/* FUNCTION (FILE) */
static const char *place(struct script *s, const struct vmp_streamed *x)
{
	const char *name = vmp_model_name(s->m, x->function);
	char *p = s->text;

	if (x->note && *x->note)
		return *x->note;
	*p++ = ' ';
	vmp_text(p, WORD_MAX, name, strlen(name));
	p += strlen(p);
	*p++ = ' ';
	*p++ = '(';
	p = word(p, vmp_model_name(s->m, x->file));
	strcpy(p, ")\n");
	return x->note ? *x->note = strdup(s->text) : s->text;
}

/* As perf before 6.4 has it; what a branch was is not in it */
static void branches(FILE *out, const struct vmp_lbr *lbr)
{
	unsigned int i;

	for (i = 0; i < lbr->nr; i++)
		fprintf(out, " 0x%" PRIx64 "/0x%" PRIx64 "/%c/-/-/%" PRIu32, lbr->b[i].from, lbr->b[i].to,
			lbr->b[i].mispredicted ? 'M' : 'P', lbr->b[i].cycles);
	fputc('\n', out);
}

static int on_sample(void *arg, const struct vmp_streamed *x)
{
	struct script *s = arg;
	char time[2 * NUMBER_MAX], address[NUMBER_MAX], *end = time + sizeof(time), *p;
	const char *text = whose(s, x->whose);

	if (!text)
		return -ENOMEM;
	s->nr++;
	fputs_unlocked(text, s->out);
	p = digits(end, x->ns % 1000000000, 10, 9, '0');
	*--p = '.';
	p = digits(p, x->ns / 1000000000, 10, 5, ' ');
	fwrite_unlocked(p, 1, (size_t)(end - p), s->out);
	fputs_unlocked(s->event, s->out);
	end = address + sizeof(address);
	p = digits(end, x->address, 16, 16, ' ');
	*--p = '\t';
	fwrite_unlocked(p, 1, (size_t)(end - p), s->out);
	text = place(s, x);
	if (!text)
		return -ENOMEM;
	fputs_unlocked(text, s->out);
	if (x->lbr && x->lbr->nr)
		branches(s->out, x->lbr);
	putc_unlocked('\n', s->out);
	return 0;
}

/* Not of one process: addresses of all are as if it were mapped there */
static void on_mapped(void *arg, const struct vmp_file_place *f)
{
	struct script *s = arg;
	const char *path = vmp_model_name(s->m, f->path);

	fprintf(s->out, "PERF_RECORD_MMAP2 -1/0: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64 " 00:00 0 0]: r-xp %s\n",
		f->start, f->end - f->start, f->pgoff, vmp_text(s->text, WORD_MAX, path, strlen(path)));
}

static int on_branches(void *arg, const struct vmp_streamed *x)
{
	struct script *s = arg;

	if (!x->lbr || !x->lbr->nr)
		return 0;
	s->nr++;
	fprintf(s->out, "%16" PRIx64, x->address);
	branches(s->out, x->lbr);
	return 0;
}

int vmp_write_perf_script(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	const char *name = vmp_table_str(t, t->model->meta.event);
	struct script *s = calloc(1, sizeof(*s));
	struct vmp_stream_to to = { NULL, on_sample, s };
	char event[200];
	size_t n = 0;
	int err;

	if (!s)
		return -ENOMEM;
	s->out = out;
	s->m = t->model;
	/* one word without colons, as perf's parsers take it */
	for (; *name && n + 1 < sizeof(event); name++)
		event[n++] = *name > ' ' && *name < 0x7f && *name != ':' ? *name : '_';
	event[n] = 0;
	snprintf(s->event, sizeof(s->event), ": %10" PRIu64 " %s:\n", t->model->meta.period, n ? event : "samples");
	if (o->brstack)
		to = (struct vmp_stream_to){ on_mapped, on_branches, s, 1 };
	err = vmp_stream(t->model, t->choice, &to, &o->losses);
	o->streamed = s->nr;
	if (err == -ENODATA)
		vmp_err("the capture has no branches; vmprof start --lbr records them");
	if (!err && o->brstack && !s->nr) {
		vmp_err("the capture has no branches of these samples; vmprof start --lbr records them");
		err = -ENODATA;
	}
	free(s);
	return err;
}
