// SPDX-License-Identifier: GPL-2.0-only
/* csv.c - the table as comma-separated values, a head line first. */
#include <inttypes.h>

#include "export/format.h"
#include "report/render.h"
#include "util/csv.h"

static void text(FILE *out, const char *s)
{
	vmp_csv_text(out, s);
	fputc(',', out);
}

static void line(FILE *out, const struct vmp_table *t, const struct vmp_line *l)
{
	const struct vmp_task *task = &t->tasks.v[l->task];
	const struct vmp_site *site = &t->sites.v[l->site];
	char buf[2 * VMPROF_BUILD_ID_MAX + 1];

	text(out, vmp_table_domain_name(t, task->domain));
	text(out, vmp_track_name(buf, &t->tracks.v[l->track]));
	if (task->pid != VMP_NONE)
		fprintf(out, "%" PRIu32, task->pid);
	fputc(',', out);
	text(out, vmp_table_comm(t, l));
	text(out, vmp_side_name(l->side));
	text(out, vmp_table_str(t, l->exit));
	text(out, vmp_table_str(t, site->module));
	text(out, site->mapping == VMP_NONE ? "" :
	     vmp_table_build_id(buf, t, &t->mappings.v[site->mapping]));
	fprintf(out, "0x%" PRIx64 ",", site->offset);
	text(out, vmp_table_str(t, site->function));
	fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n", l->sum.samples, l->sum.cycles,
		l->sum.instructions);
}

int vmp_write_csv(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	uint32_t i;

	(void)o;
	fputs("domain,track,pid,process,side,exit_reason,module,build_id,offset,function,"
	      "samples,cycles,instructions\r\n", out);
	for (i = 0; i < t->lines.nr; i++)
		line(out, t, &t->lines.v[i]);
	return 0;
}
