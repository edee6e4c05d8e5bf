// SPDX-License-Identifier: GPL-2.0-only
/* json.c - the table as one JSON object; its schema is docs/profile.schema.json. */
#include <inttypes.h>

#include "export/format.h"
#include "report/render.h"
#include "util/text.h"

static void text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\":", key);
	vmp_json_str(out, value);
	fputc(',', out);
}

static void number(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, "\"%s\":%" PRIu64 ",", key, value);
}

static void sums(FILE *out, const struct vmp_sums *s)
{
	fprintf(out, "\"samples\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"instructions\":%" PRIu64 "}",
		s->samples, s->cycles, s->instructions);
}

static void capture(FILE *out, const struct vmp_table *t)
{
	const struct vmp_model *m = t->model;

	fputs("\"capture\":{", out);
	text(out, "host", vmp_model_name(m, m->meta.host));
	text(out, "release", vmp_model_name(m, m->meta.release));
	text(out, "event", vmp_model_name(m, m->meta.event));
	text(out, "trigger", vmp_model_name(m, m->meta.trigger));
	number(out, "period", m->meta.period);
	if (m->meta.random)
		fputs("\"random\":true,", out);
	if (t->counted)
		text(out, "cpi_estimator", vmp_weigh_estimator(m));
	number(out, "tsc_khz", m->header.tsc_khz);
	number(out, "start_ns", m->header.realtime_ns);
	fprintf(out, "\"seconds\":%.6f},\n", vmp_session_seconds(m));
}

static void domain(FILE *out, const struct vmp_table *t, uint32_t i)
{
	const struct vmp_table_domain *d = &t->domains.v[i];
	int host = d->vm == VMP_NONE, side;

	fputs(i ? ",\n{" : "\n{", out);
	text(out, "name", vmp_table_domain_name(t, i));
	fprintf(out, "\"host\":%s,", host ? "true" : "false");
	if (!host) {
		text(out, "uuid", vmp_table_str(t, t->model->vms.v[d->vm].uuid));
		number(out, "vm", t->model->vms.v[d->vm].vm);
	}
	for (side = 0; side < VMP_SIDE_HOST; side++)
		number(out, vmp_side_name(side), d->side[side]);
	if (host)
		number(out, "host_samples", d->side[VMP_SIDE_HOST]);
	sums(out, &d->sum);
}

static void row(FILE *out, const struct vmp_table *t, const struct vmp_line *l)
{
	static const char *const track_key[] = {
		[VMP_TRACK_VCPU] = "vcpu", [VMP_TRACK_THREAD] = "thread", [VMP_TRACK_PCPU] = "pcpu",
	};
	const struct vmp_task *task = &t->tasks.v[l->task];
	const struct vmp_site *site = &t->sites.v[l->site];
	char build_id[2 * VMPROF_BUILD_ID_MAX + 1] = "";

	fputc('{', out);
	text(out, "domain", vmp_table_domain_name(t, task->domain));
	number(out, track_key[t->tracks.v[l->track].kind], t->tracks.v[l->track].id);
	if (task->pid != VMP_NONE)
		number(out, "pid", task->pid);
	if (task->nspid != VMP_NONE)
		number(out, "nspid", task->nspid);
	if (task->cgroup)
		text(out, "cgroup", vmp_table_str(t, task->cgroup));
	text(out, "process", vmp_table_comm(t, l));
	text(out, "side", vmp_side_name(l->side));
	if (l->exit)
		text(out, "exit_reason", vmp_table_str(t, l->exit));
	text(out, "module", vmp_table_str(t, site->module));
	if (site->mapping != VMP_NONE) {
		text(out, "path", vmp_table_str(t, t->mappings.v[site->mapping].path));
		vmp_table_build_id(build_id, t, &t->mappings.v[site->mapping]);
	}
	if (*build_id)
		text(out, "build_id", build_id);
	fprintf(out, "\"offset\":\"0x%" PRIx64 "\",", site->offset);
	text(out, "function", vmp_table_str(t, site->function));
	sums(out, &l->sum);
}

int vmp_write_json(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	uint32_t i;

	(void)o;
	fputs("{\"format\":\"vmprof-profile\",\"layout\":1,\"generator\":\"vmprof " VMPROF_VERSION "\",\n", out);
	capture(out, t);
	fputs("\"domains\":[", out);
	for (i = 0; i < t->domains.nr; i++)
		domain(out, t, i);
	fputs("],\n\"rows\":[", out);
	for (i = 0; i < t->lines.nr; i++) {
		fputs(i ? ",\n" : "\n", out);
		row(out, t, &t->lines.v[i]);
	}
	fputs("]}\n", out);
	return 0;
}
