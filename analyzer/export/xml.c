// SPDX-License-Identifier: GPL-2.0-only
/*
 * xml.c - the table as open XML: first each domain as a process whose threads are
 * its vCPUs, then each of its processes, whose threads are the vCPUs it ran on.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"
#include "export/metrics.h"
#include "report/render.h"

struct exit_time {
	uint32_t track, exit;
	uint64_t samples;
};

struct writer {
	struct vmp_xml x;
	const struct vmp_table *t;
	struct vmp_metrics_base base;
	struct vmp_insns *insns;
	struct vmp_metrics *threads;	/* by track, of the process at work */
	VMP_VEC(struct exit_time) exits;	/* of the domain at work */
	struct vmp_hash by_exit;	/* track and reason -> exits */
};

static int add_exit(struct writer *w, const struct vmp_line *l)
{
	uint64_t key = (uint64_t)l->track << 32 | l->exit;
	uint32_t *i = vmp_hash_find(&w->by_exit, key);
	struct exit_time new = { l->track, l->exit, l->sum.samples };

	if (i) {
		w->exits.v[*i].samples += l->sum.samples;
		return 0;
	}
	return vmp_vec_push(&w->exits, new) ? -ENOMEM : vmp_hash_set(&w->by_exit, key, w->exits.nr - 1);
}

/* Where the vCPU's time went; the VMM's part by what the guest had been left for */
static void time_split(struct writer *w, uint32_t track)
{
	const struct vmp_metrics *m = &w->threads[track];
	double per_sample = m->sum.samples ?
		vmp_metrics_seconds(&w->base, m) / (double)m->sum.samples : 0;
	char buf[512];
	uint32_t i;
	int side;

	vmp_xml_begin(&w->x, "category");
	vmp_xml_attr(&w->x, "name", "cycle_accounting");
	for (side = 0; side < VMP_SIDE_NR; side++) {
		snprintf(buf, sizeof(buf), "%.6f", (double)m->side[side] * per_sample);
		vmp_xml_item(&w->x, vmp_side_name(side), "sec", buf);
		for (i = 0; side == VMP_SIDE_VMM && i < w->exits.nr; i++)
			if (w->exits.v[i].track == track)
				vmp_xml_real(&w->x, vmp_table_str(w->t, w->exits.v[i].exit), "sec",
					     (double)w->exits.v[i].samples * per_sample);
		vmp_xml_end(&w->x);
	}
	vmp_xml_end(&w->x);
}

/* Threads that have samples, in order of their tracks; cleared behind it */
static void threads(struct writer *w, int is_domain)
{
	struct vmp_metrics most = { .sum = { 0 } };
	char name[VMP_TRACK_NAME_MAX];
	uint32_t i;

	for (i = 0; i < w->t->tracks.nr; i++) {
		const struct vmp_sums *s = &w->threads[i].sum;

		most.sum.samples = s->samples > most.sum.samples ? s->samples : most.sum.samples;
		most.sum.cycles = s->cycles > most.sum.cycles ? s->cycles : most.sum.cycles;
		most.sum.instructions = s->instructions > most.sum.instructions ? s->instructions :
					most.sum.instructions;
	}
	for (i = 0; i < w->t->tracks.nr; i++) {
		if (!w->threads[i].sum.samples)
			continue;
		vmp_xml_begin(&w->x, "thread");
		vmp_xml_attr_u64(&w->x, "id", w->t->tracks.v[i].id);
		vmp_xml_attr(&w->x, "name", vmp_track_name(name, &w->t->tracks.v[i]));
		vmp_metrics_xml(&w->x, &w->base, &w->threads[i], &most);
		if (is_domain)
			time_split(w, i);
		vmp_xml_end(&w->x);
	}
	memset(w->threads, 0, w->t->tracks.nr * sizeof(*w->threads));
}

static void begin_process(struct writer *w, uint64_t id, const char *name, const char *kind,
			  const char *domain)
{
	vmp_xml_begin(&w->x, "process");
	if (id == VMP_NONE)
		vmp_xml_attr(&w->x, "id", "unknown");
	else
		vmp_xml_attr_u64(&w->x, "id", id);
	vmp_xml_attr(&w->x, "name", name);
	vmp_xml_attr(&w->x, "kind", kind);
	if (domain)
		vmp_xml_attr(&w->x, "domain", domain);
}

static int whole_domain(struct writer *w, uint32_t domain, uint32_t first, uint32_t end)
{
	const struct vmp_table *t = w->t;
	uint32_t i, vm = t->domains.v[domain].vm;
	int err = 0;

	w->exits.nr = 0;
	vmp_hash_free(&w->by_exit);
	for (i = first; !err && i < end; i++) {
		const struct vmp_line *l = &t->lines.v[i];

		vmp_metrics_add(&w->threads[l->track], l, vmp_insns_at(w->insns, l->site));
		if (l->exit)
			err = add_exit(w, l);
	}
	if (err)
		return err;
	begin_process(w, vm == VMP_NONE ? 0 : t->model->vms.v[vm].vm, vmp_table_domain_name(t, domain),
		      vm == VMP_NONE ? "host" : "domain", NULL);
	threads(w, 1);
	vmp_xml_end(&w->x);
	return 0;
}

/* The VMM and what it waited for are in the domain's own entry */
static int is_process(const struct vmp_line *l)
{
	return l->side != VMP_SIDE_VMM && l->side != VMP_SIDE_STEAL;
}

static void processes(struct writer *w, uint32_t domain, uint32_t first, uint32_t end)
{
	const struct vmp_table *t = w->t;
	uint32_t i;

	for (i = first; i < end; i++) {
		const struct vmp_line *l = &t->lines.v[i];
		const struct vmp_task *task = &t->tasks.v[l->task];

		if (!is_process(l))
			continue;
		vmp_metrics_add(&w->threads[l->track], l, vmp_insns_at(w->insns, l->site));
		if (i + 1 < end && (l + 1)->task == l->task)
			continue;
		begin_process(w, task->pid, vmp_table_comm(t, l),
			      t->domains.v[domain].vm == VMP_NONE ? "host-process" : "guest-process",
			      vmp_table_domain_name(t, domain));
		threads(w, 0);
		vmp_xml_end(&w->x);
	}
}

static void root(struct writer *w)
{
	const struct vmp_model *m = w->t->model;
	char seconds[512];

	snprintf(seconds, sizeof(seconds), "%.6f", vmp_session_seconds(m));
	vmp_xml_begin(&w->x, "performance");
	vmp_xml_attr(&w->x, "version", "1");
	vmp_xml_attr(&w->x, "generator", "vmprof " VMPROF_VERSION);
	vmp_xml_attr(&w->x, "host", vmp_model_name(m, m->meta.host));
	vmp_xml_attr(&w->x, "event", vmp_model_name(m, m->meta.event));
	vmp_xml_attr_u64(&w->x, "period", m->meta.period);
	vmp_xml_attr(&w->x, "seconds", seconds);
}

int vmp_write_xml(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct writer w = { .t = t };
	uint32_t i, d, first;
	int err;

	vmp_metrics_base(&w.base, t);
	w.threads = calloc(t->tracks.nr + 1, sizeof(*w.threads));
	err = w.threads ? vmp_insns_create(&w.insns, t) : -ENOMEM;
	if (!err) {
		vmp_xml_init(&w.x, out, o->indent);
		root(&w);
	}
	for (d = i = 0; !err && d < t->domains.nr; d++) {
		for (first = i; i < t->lines.nr && t->tasks.v[t->lines.v[i].task].domain == d;)
			i++;
		err = whole_domain(&w, d, first, i);
		if (!err)
			processes(&w, d, first, i);
	}
	if (!err)
		vmp_xml_end(&w.x);
	vmp_insns_destroy(w.insns);
	vmp_vec_free(&w.exits);
	vmp_hash_free(&w.by_exit);
	free(w.threads);
	return err;
}
