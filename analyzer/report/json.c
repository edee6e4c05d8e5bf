// SPDX-License-Identifier: GPL-2.0-only
/* json.c - the report as one JSON object; the layout is docs/report-json.md. */
#include <inttypes.h>
#include <string.h>

#include "model/reuse.h"
#include "report/render.h"
#include "util/text.h"

#define LAYOUT	1

static void key(FILE *out, const char *name)
{
	vmp_json_str(out, name);
	fputc(':', out);
}

static void text(FILE *out, const char *name, const char *value)
{
	key(out, name);
	vmp_json_str(out, value);
	fputc(',', out);
}

static void number(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\"%s\":%" PRIu64 ",", name, value);
}

/* The last member of an object has no comma behind it. */
static void last(FILE *out, const char *name, uint64_t value)
{
	fprintf(out, "\"%s\":%" PRIu64 "}", name, value);
}

static void capture(FILE *out, const struct vmp_model *m, const char *path)
{
	struct vmp_reader_end end = vmp_reader_end(m->reader);

	key(out, "capture");
	fputc('{', out);
	text(out, "path", path);
	text(out, "host", vmp_model_name(m, m->meta.host));
	text(out, "release", vmp_model_name(m, m->meta.release));
	text(out, "vmprof", vmp_model_name(m, m->meta.version));
	text(out, "vendor", vmp_model_name(m, m->meta.vendor));
	text(out, "event", vmp_model_name(m, m->meta.event));
	number(out, "period", m->meta.period);
	text(out, "trigger", vmp_model_name(m, m->meta.trigger));
	number(out, "cpus", m->meta.cpus);
	number(out, "tsc_khz", m->header.tsc_khz);
	number(out, "start_ns", m->header.realtime_ns);
	fprintf(out, "\"seconds\":%.6f,\"closed\":%s,", vmp_session_seconds(m),
		end.indexed ? "true" : "false");
	text(out, "unread_reason", end.why ? end.why : "");
	last(out, "unread_bytes", end.unread);
}

static void counts(FILE *out, const struct vmp_domain *d)
{
	number(out, "guest_samples", vmp_guest_samples(d));
	number(out, "guest_kernel", d->side[VMP_SIDE_KERNEL]);
	number(out, "guest_user", d->side[VMP_SIDE_USER]);
	number(out, "vmm", d->side[VMP_SIDE_VMM]);
	number(out, "steal", d->side[VMP_SIDE_STEAL]);
	number(out, "resolved_process", d->with_process);
	number(out, "resolved_function", d->with_function);
	number(out, "unnamed_function", d->why[VMP_WHY_UNNAMED]);
	number(out, "nmi_exits", d->by_nmi);
	number(out, "timer_samples", d->by_timer);
}

static void totals(FILE *out, const struct vmp_profile *p)
{
	struct vmp_domain sum = { 0 };
	uint32_t i, k;

	for (i = 0; i < p->domains.nr; i++) {
		const struct vmp_domain *d = &p->domains.v[i];

		if (d->vm == VMP_NONE)
			continue;
		for (k = 0; k < VMP_SIDE_NR; k++)
			sum.side[k] += d->side[k];
		sum.total += d->total;
		sum.with_process += d->with_process;
		sum.with_function += d->with_function;
		sum.why[VMP_WHY_UNNAMED] += d->why[VMP_WHY_UNNAMED];
		sum.by_nmi += d->by_nmi;
		sum.by_timer += d->by_timer;
	}
	key(out, "totals");
	fputc('{', out);
	counts(out, &sum);
	number(out, "domain_samples", sum.total);
	number(out, "other_samples", p->others);
	last(out, "samples", p->samples);
}

static void losses(FILE *out, const struct vmp_model *m)
{
	uint64_t sum = 0, other = 0;
	uint32_t i;

	key(out, "losses");
	fputs("{\"driver\":{", out);
	for (i = 0; i < VMPROF_LOST_NR; i++) {
		sum += m->driver.lost[i];
		if (vmp_driver_loss_key(i))
			number(out, vmp_driver_loss_key(i), m->driver.lost[i]);
		else
			other += m->driver.lost[i];
	}
	if (other)
		number(out, "other", other);
	last(out, "total", sum);
	fputs(",\"collector\":[", out);
	for (i = 0; i < m->losses.nr; i++) {
		fputs(i ? ",{" : "{", out);
		text(out, "name", vmp_model_name(m, m->losses.v[i].name));
		number(out, "vm", m->losses.v[i].vm);
		last(out, "count", m->losses.v[i].count);
	}
	fputs("],", out);
	number(out, "interrupts", m->driver.interrupts);
	number(out, "filtered", m->driver.filtered);
	fprintf(out, "\"at_stop\":%s}", m->driver.at_stop ? "true" : "false");
}

static void row(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		const struct vmp_options *o, const struct vmp_row *r)
{
	const struct vmp_model *m = p->model;
	enum vmp_by by = o->by;

	fputc('{', out);
	if (by == VMP_BY_FUNCTION)
		text(out, "function", vmp_model_name(m, r->function));
	if (by == VMP_BY_FUNCTION || by == VMP_BY_MODULE)
		text(out, "module", vmp_model_name(m, r->module));
	if (by == VMP_BY_FUNCTION || by == VMP_BY_PROCESS)
		text(out, "process", vmp_model_name(m, r->comm));
	if (by == VMP_BY_PROCESS && r->pid != VMP_NONE)
		number(out, "pid", r->pid);
	if (by == VMP_BY_VCPU && r->vcpu != VMP_NONE)
		number(out, "vcpu", r->vcpu);
	if (by == VMP_BY_EXIT)
		text(out, "exit", vmp_model_name(m, r->exit));
	if (r->side != VMP_SIDE_NR)
		text(out, "side", vmp_side_name(r->side));
	fprintf(out, "\"percent\":%.4f,", vmp_percent(r->samples, d->total));
	last(out, "samples", r->samples);
}

static void agent(FILE *out, const struct vmp_model *m, uint32_t index)
{
	const struct vmp_machine *vm = &m->vms.v[index];
	uint64_t sum = 0, other = 0;
	unsigned int i;

	key(out, "agent");
	fputc('{', out);
	number(out, "conversations", vm->hellos);
	number(out, "boots", vm->boots.nr);
	number(out, "frames", vm->frames);
	number(out, "bad_frames", vm->bad_frames);
	number(out, "events", vm->nr_events);
	number(out, "repaired", vm->space.repaired);
	number(out, "cr3_reused", vmp_reuse_in_time(&vm->space));
	number(out, "cr3_in_other_vms", vmp_reuse_in_others(m, index));
	fputs("\"lost\":{", out);
	for (i = 0; i < VMPROF_GLOST_NR; i++) {
		sum += vmp_machine_lost(vm, i);
		if (vmp_agent_loss_key(i))
			number(out, vmp_agent_loss_key(i), vmp_machine_lost(vm, i));
		else
			other += vmp_machine_lost(vm, i);
	}
	if (other)
		number(out, "other", other);
	last(out, "total", sum);
	fputs("},", out);
}

static void clock_axis(FILE *out, const struct vmp_model *m, const struct vmp_machine *vm)
{
	key(out, "clock");
	fputc('{', out);
	text(out, "source", vmp_clock_name(vm->clock.source));
	fprintf(out, "\"error_us\":%.6f,", vmp_clock_error_us(m, vm));
	last(out, "pieces", vm->clock.pieces.nr);
	fputc(',', out);
}

static void domain(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_options *o, uint64_t limit)
{
	const struct vmp_machine *vm = d->vm == VMP_NONE ? NULL : &p->model->vms.v[d->vm];
	uint32_t i;

	fputs("\n{", out);
	text(out, "name", vm ? vmp_model_name(p->model, vm->name) : "");
	fprintf(out, "\"host\":%s,", vm ? "false" : "true");
	if (vm) {
		text(out, "uuid", vmp_model_name(p->model, vm->uuid));
		number(out, "vm", vm->vm);
		counts(out, d);
		key(out, "unresolved");
		fputc('{', out);
		for (i = VMP_WHY_UNNAMED + 1; i < VMP_WHY_NR - 1; i++)
			number(out, vmp_why_key(i), d->why[i]);
		last(out, vmp_why_key(i), d->why[i]);
		fputc(',', out);
		agent(out, p->model, d->vm);
		clock_axis(out, p->model, vm);
	}
	number(out, "total", d->total);
	number(out, "shown", d->shown);
	number(out, "rows_total", d->rows.nr);
	fputs("\"rows\":[", out);
	for (i = 0; i < d->rows.nr && (!limit || i < limit); i++) {
		fputs(i ? ",\n" : "\n", out);
		row(out, p, d, o, &d->rows.v[i]);
	}
	fputs("]}", out);
}

void vmp_render_json(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r)
{
	uint32_t i;

	fputc('{', out);
	text(out, "format", "vmprof-report");
	number(out, "layout", LAYOUT);
	text(out, "by", vmp_by_name(o->by));
	capture(out, p->model, r->path);
	fputs(",\n", out);
	totals(out, p);
	fputs(",\n", out);
	losses(out, p->model);
	fputs(",\n\"domains\":[", out);
	for (i = 0; i < p->domains.nr; i++) {
		fputs(i ? "," : "", out);
		domain(out, p, &p->domains.v[i], o, r->limit);
	}
	fputs("]}\n", out);
}
