// SPDX-License-Identifier: GPL-2.0-only
/*
 * perfscript.c - each sample in the layout of perf script, for what reads that:
 *
 *   COMM PID [CPU] SECONDS: PERIOD EVENT:
 *           ADDRESS FUNCTION (FILE)
 *    FROM/TO/M|P/-/-/CYCLES FROM/TO...
 *
 * The third line (field brstack, the youngest branch first) is there for samples
 * with branches.
 *
 * COMM is DOMAIN:PROCESS, CPU the vCPU, SECONDS count from the session's start.  Where the
 * guest's thread is known, PID is PID/TID.
 */
#include <inttypes.h>
#include <string.h>

#include "export/format.h"
#include "model/lbr.h"
#include "util/text.h"

struct script {
	FILE *out;
	const struct vmp_table *t;
	char event[256];
};

static void word(FILE *out, const char *s)
{
	vmp_format_word(out, s, ' ', '_');
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

static int on_sample(void *arg, uint64_t ns, const struct vmp_line *l, const struct vmp_lbr *lbr)
{
	const struct script *s = arg;
	const struct vmp_table *t = s->t;
	const struct vmp_task *task = &t->tasks.v[l->task];
	const struct vmp_track *track = &t->tracks.v[l->track];
	const struct vmp_site *site = &t->sites.v[l->site];
	char safe[4 * VMPROF_PATH_BYTES_MAX];
	const char *name = vmp_table_str(t, site->function);
	uint32_t vm = t->domains.v[task->domain].vm, pid = task->pid;

	if (pid == VMP_NONE)	/* the VMM and what has no process: QEMU's */
		pid = vm == VMP_NONE ? 0 : t->model->vms.v[vm].vm;
	word(s->out, vmp_table_domain_name(t, task->domain));
	fputc(':', s->out);
	word(s->out, vmp_table_comm(t, l));
	fprintf(s->out, " %5" PRIu32, pid);
	if (task->tid != VMP_NONE)
		fprintf(s->out, "/%" PRIu32, task->tid);
	fprintf(s->out, " [%03" PRIu32 "] %5" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " %s:\n",
		track->kind == VMP_TRACK_THREAD ? 0 : track->id, ns / 1000000000, ns % 1000000000,
		t->model->meta.period, s->event);
	fprintf(s->out, "\t%16" PRIx64 " %s (", site->address, vmp_text(safe, sizeof(safe), name, strlen(name)));
	word(s->out, site->mapping == VMP_NONE ? vmp_table_str(t, site->module) :
	     vmp_table_str(t, t->mappings.v[site->mapping].path));
	fputs(")\n", s->out);
	if (lbr && lbr->nr)
		branches(s->out, lbr);
	fputc('\n', s->out);
	return 0;
}

int vmp_write_perf_script(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct script s = { .out = out, .t = t };
	const char *event = vmp_table_str(t, t->model->meta.event), *p;
	size_t n = 0;

	/* one word without colons, as perf's parsers take it */
	for (p = event; *p && n + 1 < sizeof(s.event); p++)
		s.event[n++] = *p > ' ' && *p < 0x7f && *p != ':' ? *p : '_';
	if (!n)
		strcpy(s.event, "samples");
	return vmp_table_branches(t, &o->late, on_sample, &s);
}
