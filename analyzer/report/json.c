// SPDX-License-Identifier: GPL-2.0-only
/* json.c - the report as one JSON object; the layout is docs/report-json.md. */
#include <inttypes.h>
#include <string.h>

#include "agent_msg.h"
#include "model/reuse.h"
#include "report/render.h"
#include "report/tree.h"
#include "util/below.h"
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

static void capture(FILE *out, const struct vmp_profile *p, const char *path)
{
	const struct vmp_model *m = p->model;
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
	if (m->meta.random)
		fputs("\"random\":true,", out);
	if (vmp_weigh_paired(m))
		number(out, "instruction_period", m->meta.instruction_period);
	if (vmp_weigh_paired(m) || vmp_profile_counted(p))
		text(out, "cpi_estimator", vmp_weigh_estimator(m));
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
	number(out, "resolved", d->with_both);
	if (d->shared)
		number(out, "inferred_function_only", d->shared);
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
		sum.with_both += d->with_both;
		sum.shared += d->shared;
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
	number(out, "event_count", m->driver.event_count);
	number(out, "cycles", m->driver.cycles);
	number(out, "instructions", m->driver.instructions);
	fprintf(out, "\"at_stop\":%s}", m->driver.at_stop ? "true" : "false");
}

/* Files that were looked for beside the object cache, or not read; nothing where none was */
static void files(FILE *out, const struct vmp_model *m)
{
	static const struct vmp_seek none = { .sysroot = VMP_BELOW_HOST };
	const struct vmp_seek *s = m->seek ? m->seek : &none;
	const struct vmp_unpack all = vmp_unpacks_sum(&s->unpack);
	uint64_t unread = 0;
	int i;

	for (i = 0; i < VMP_UNREAD_NR; i++)
		unread += all.unread[i];
	if (s->sysroot == VMP_BELOW_HOST && !s->server && !unread && !m->host_others)
		return;
	fputs(",\n", out);
	key(out, "files");
	fputc('{', out);
	if (m->host_others)
		number(out, "host_other_build", m->host_others);
	fputs("\"sysroot\":{", out);
	for (i = 0; i < VMP_SOUGHT_NR; i++)
		(i + 1 < VMP_SOUGHT_NR ? number : last)(out, vmp_sought_key(i), s->sought[i]);
	fputs(",\"debuginfod\":{", out);
	for (i = 0; i < VMP_DEBUGINFOD_ANSWERS; i++)
		(i + 1 < VMP_DEBUGINFOD_ANSWERS ? number : last)(out, vmp_debuginfod_key(i), s->server ?
								 vmp_debuginfod_count(s->server, i) : 0);
	fputs(",\"unread\":{", out);
	for (i = 0; i < VMP_UNREAD_NR; i++)
		(i + 1 < VMP_UNREAD_NR ? number : last)(out, vmp_unread_key(i), all.unread[i]);
	fputc('}', out);
}

/* Nothing where only cycles were sampled */
static void cpi(FILE *out, const struct vmp_model *m, uint64_t samples, uint64_t instruction_samples)
{
	double value = vmp_weigh_cpi(m, samples, instruction_samples);

	if (!vmp_weigh_paired(m))
		return;
	number(out, "cycle_samples", samples);
	number(out, "instruction_samples", instruction_samples);
	if (value > 0)
		fprintf(out, "\"cpi\":%.6f,", value);
}

/* A number that may not be known */
static void measure(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *r,
		    enum vmp_column c, int digits)
{
	double n;

	if (vmp_column_number(p, d, r, c, &n))
		fprintf(out, "\"%s\":%.*f,", vmp_column_name(c), digits, n);
}

static void measures(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		     const struct vmp_options *o, const struct vmp_row *r)
{
	if (o->weighted) {
		measure(out, p, d, r, VMP_COL_CYCLES, 0);
		measure(out, p, d, r, VMP_COL_INSTRUCTIONS, 0);
		if (!vmp_weigh_paired(p->model))
			measure(out, p, d, r, VMP_COL_CPI, 4);
		measure(out, p, d, r, VMP_COL_IPC, 4);
	}
	if (d->compared) {
		measure(out, p, d, r, VMP_COL_BEFORE, 4);
		measure(out, p, d, r, VMP_COL_DELTA, 4);
		number(out, "before_samples", r->before);
	}
	fprintf(out, "\"percent\":%.4f,", vmp_percent(r->samples, d->total));
	cpi(out, p->model, r->cycle_samples, r->instruction_samples);
	fprintf(out, "\"samples\":%" PRIu64, r->samples);
}

/* One key of a row, if it has a value */
static void value(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d, const struct vmp_row *r,
		  enum vmp_column c)
{
	char name[32], buf[64];
	double n;
	size_t i;

	snprintf(name, sizeof(name), "%s", vmp_column_name(c));
	for (i = 0; name[i]; i++)
		name[i] = name[i] == '-' ? '_' : name[i];
	if (c == VMP_COL_SIDE)
		text(out, name, vmp_side_name(r->side));
	else if (!vmp_column_is_number(c))
		text(out, name, vmp_column_text(p, d, r, c, buf));
	else if (vmp_column_number(p, d, r, c, &n))
		number(out, name, (uint64_t)n);
}

static void row(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		const struct vmp_options *o, const struct vmp_row *r)
{
	static const enum vmp_column order[] = {
		VMP_COL_FUNCTION, VMP_COL_MODULE, VMP_COL_BUILD_ID, VMP_COL_PROCESS, VMP_COL_PID,
		VMP_COL_NSPID, VMP_COL_CGROUP, VMP_COL_THREAD, VMP_COL_VCPU, VMP_COL_EXIT, VMP_COL_THIEF, VMP_COL_SIDE,
	};
	size_t i;

	fputc('{', out);
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (vmp_by(o) & VMP_KEY(order[i]))
			value(out, p, d, r, order[i]);
	measures(out, p, d, o, r);
	fputc('}', out);
}

static void rows(FILE *out, const char *name, const struct vmp_profile *p, const struct vmp_domain *d,
		 const struct vmp_options *o, uint64_t limit)
{
	uint32_t i;

	key(out, name);
	fputc('[', out);
	for (i = 0; i < d->rows.nr && (!limit || i < limit); i++) {
		fputs(i ? ",\n" : "\n", out);
		row(out, p, d, o, &d->rows.v[i]);
	}
	fputc(']', out);
}

static void node(FILE *out, struct vmp_tree *t, uint32_t number_of, const struct vmp_render *r)
{
	const struct vmp_domain *d = vmp_tree_domain(t, &t->nodes.v[number_of]);
	uint32_t i, written = 0;
	struct vmp_node n;

	if (vmp_tree_open(t, number_of))
		return;
	n = t->nodes.v[number_of];
	key(out, "children");
	fputc('[', out);
	for (i = 0; i < n.nr && (!r->limit || i < r->limit); i++) {
		struct vmp_node child = t->nodes.v[n.first + i];

		if (vmp_tree_is_small(d, &child.row, r->percent_limit))
			continue;
		fputs(written++ ? ",\n{" : "\n{", out);
		value(out, t->p, d, &child.row, vmp_tree_column(t, &child));
		measures(out, t->p, d, t->o, &child.row);
		if (!vmp_tree_is_leaf(t, &child)) {
			fputc(',', out);
			node(out, t, n.first + i, r);
		}
		fputc('}', out);
	}
	fputc(']', out);
}

static void tree(FILE *out, const struct vmp_profile *p, uint32_t of, const struct vmp_options *o,
		 const struct vmp_render *r)
{
	struct vmp_tree *t;

	if (vmp_tree_create(&t, p, o, &r->levels))
		return;
	fputc(',', out);
	node(out, t, of, r);
	vmp_tree_destroy(t);
}

static void agent(FILE *out, const struct vmp_model *m, uint32_t index)
{
	const struct vmp_machine *vm = &m->vms.v[index];
	uint64_t sum = 0, other = 0;
	unsigned int i;
	char why[128];

	key(out, "agent");
	fputc('{', out);
	number(out, "conversations", vm->hellos);
	number(out, "boots", vm->boots.nr + vm->more_boots - vm->went_back);
	if (vm->went_back)
		number(out, "went_back", vm->went_back);
	number(out, "frames", vm->frames);
	number(out, "bad_frames", vm->bad_frames);
	number(out, "events", vm->nr_events);
	if (vmp_machine_without_module(vm) || vm->no_module) {
		fprintf(out, "\"%s\":true,", vmp_machine_without_module(vm) ? "without_module" : "went_on_without_module");
		text(out, "without_module_why", vmp_no_module_text(why, vm->no_module, vm->module_error));
		if (vm->no_module & VMPROF_HELLO_NO_PERF)
			fputs("\"without_perf\":true,", out);
	}
	if (vmp_machine_without_module(vm)) {
		number(out, "inferred_address_spaces", vm->infer.learned);
		number(out, "contradicted_address_spaces", vm->infer.contradicted);
	}
	number(out, "repaired", vm->space.repaired);
	if (vm->space.maps_over)
		number(out, "maps_over", vm->space.maps_over);
	if (vm->space.images_over)
		number(out, "processes_over", vm->space.images_over);
	if (vm->files_over)
		number(out, "files_over", vm->files_over);
	if (vm->jit.lines.bad)
		number(out, "jit_lines_bad", vm->jit.lines.bad);
	if (vm->jit.lines.over)
		number(out, "jit_lines_over", vm->jit.lines.over);
	if (vm->jit.pieces_over)
		number(out, "jit_messages_over", vm->jit.pieces_over);
	number(out, "cr3_reused", vmp_reuse_in_time(&vm->space));
	number(out, "cr3_in_other_vms", vmp_reuse_in_others(m, index));
	fputs("\"lost\":{", out);
	/* causes that came after the first format are there where they have a count */
	for (i = 0; i < VMPROF_GLOST_NR; i++) {
		sum += vmp_machine_lost(vm, i);
		if (!vmp_agent_loss_key(i))
			other += vmp_machine_lost(vm, i);
		else if (i < VMPROF_GLOST_JIT || vmp_machine_lost(vm, i))
			number(out, vmp_agent_loss_key(i), vmp_machine_lost(vm, i));
	}
	if (other)
		number(out, "other", other);
	last(out, "total", sum);
	fputs("},", out);
}

/* Nothing where the capture does not say whether tasks were looked for */
static void tasks(FILE *out, const struct vmp_model *m, const struct vmp_machine *vm, const struct vmp_domain *d)
{
	int i;

	if (!*vmp_model_name(m, vm->tasks_state) && !vmp_who_looked(d))
		return;
	key(out, "tasks");
	fputc('{', out);
	text(out, "state", vmp_model_name(m, vm->tasks_state));
	for (i = VMP_WHO_OFF + 1; i < VMP_WHO_NR; i++)
		number(out, vmp_who_key(i), d->who[i]);
	number(out, "records_over", vm->seen.over);
	last(out, "off", d->who[VMP_WHO_OFF]);
	fputc(',', out);
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

/* Of --steal: the guest's functions beside what ran instead of them */
static void waiters(FILE *out, const struct vmp_domain *d, const struct vmp_render *r)
{
	struct vmp_options o = { .view = VMP_VIEW_WAITERS, .by = VMP_BY_WAITERS };
	uint32_t i;

	for (i = 0; r->waiters && i < r->waiters->domains.nr; i++) {
		if (r->waiters->domains.v[i].vm != d->vm)
			continue;
		fputc(',', out);
		rows(out, "waiting", r->waiters, &r->waiters->domains.v[i], &o, r->limit);
	}
}

static void domain(FILE *out, const struct vmp_profile *p, const struct vmp_domain *d,
		   const struct vmp_options *o, const struct vmp_render *r)
{
	const struct vmp_machine *vm = d->vm == VMP_NONE ? NULL : &p->model->vms.v[d->vm];
	uint32_t i;

	fputs("\n{", out);
	text(out, "name", vm ? vmp_model_name(p->model, vm->name) : "");
	fprintf(out, "\"host\":%s,", vm ? "false" : "true");
	if (vm) {
		text(out, "uuid", vmp_model_name(p->model, vm->uuid));
		number(out, "vm", vm->vm);
		if (vm->objects)
			text(out, "objects", vmp_model_name(p->model, vm->objects));
		counts(out, d);
		key(out, "unresolved");
		fputc('{', out);
		for (i = VMP_WHY_UNNAMED + 1; i < VMP_WHY_NR - 1; i++)
			number(out, vmp_why_key(i), d->why[i]);
		last(out, vmp_why_key(i), d->why[i]);
		fputc(',', out);
		agent(out, p->model, d->vm);
		tasks(out, p->model, vm, d);
		clock_axis(out, p->model, vm);
	}
	cpi(out, p->model, d->cycle_samples, d->instruction_samples);
	if (vmp_render_guest_cpi(d) > 0)
		fprintf(out, "\"guest_cpi\":%.6f,", vmp_render_guest_cpi(d));
	number(out, "total", d->total);
	number(out, "shown", d->shown);
	if (d->compared)
		number(out, "before_total", d->before_total);
	number(out, "rows_total", d->rows.nr + d->small_rows);
	rows(out, "rows", p, d, o, r->limit);
	if (r->levels.nr)
		tree(out, p, (uint32_t)(d - p->domains.v), o, r);
	waiters(out, d, r);
	fputc('}', out);
}

static void grouping(FILE *out, const struct vmp_options *o, const struct vmp_render *r)
{
	uint32_t by = vmp_by(o), c, n = 0;
	char all[256] = "";

	for (c = 0; c < VMP_COL_KEYS; c++)
		if (by & VMP_KEY(c))
			n += (uint32_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? "," : "", vmp_column_name(c));
	text(out, "by", vmp_by_name(by) ? vmp_by_name(by) : all);
	if (o->view)
		text(out, "view", o->view == VMP_VIEW_EXITS ? "exits" : "steal");
	if (r->path_before)
		text(out, "before", r->path_before);
}

void vmp_render_json(FILE *out, const struct vmp_profile *p, const struct vmp_options *o,
		     const struct vmp_render *r)
{
	uint32_t i;

	fputc('{', out);
	text(out, "format", "vmprof-report");
	number(out, "layout", LAYOUT);
	grouping(out, o, r);
	capture(out, p, r->path);
	fputs(",\n", out);
	totals(out, p);
	fputs(",\n", out);
	losses(out, p->model);
	files(out, p->model);
	fputs(",\n\"domains\":[", out);
	for (i = 0; i < p->domains.nr; i++) {
		fputs(i ? "," : "", out);
		domain(out, p, &p->domains.v[i], o, r);
	}
	fputs("]}\n", out);
}
