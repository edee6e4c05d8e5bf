// SPDX-License-Identifier: GPL-2.0-only
/*
 * xml.c - the table as open XML: first each domain as a process whose threads are its
 * vCPUs, then each of its processes with its threads; where these are not known, the
 * vCPUs that it ran on.
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

/* A thread of the process at work */
struct part {
	uint32_t task;			/* VMP_NONE: not known, its time goes by track */
	uint32_t track;
	uint32_t first, end;		/* its shares */
	struct vmp_metrics sum;
};

/* What of a thread was on one track */
struct share {
	uint32_t track;
	struct vmp_metrics sum;
};

struct writer {
	struct vmp_xml x;
	const struct vmp_table *t;
	struct vmp_metrics_base base;
	struct vmp_insns *insns;
	struct vmp_metrics *on_track;	/* by track, of the thread at work */
	uint32_t tracks, tracks_end;	/* of the domain at work */
	VMP_VEC(struct part) parts;
	VMP_VEC(struct share) shares;
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
static void time_split(struct writer *w, const struct part *p)
{
	const struct vmp_metrics *m = &p->sum;
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
			if (w->exits.v[i].track == p->track)
				vmp_xml_real(&w->x, vmp_table_str(w->t, w->exits.v[i].exit), "sec",
					     (double)w->exits.v[i].samples * per_sample);
		vmp_xml_end(&w->x);
	}
	vmp_xml_end(&w->x);
}

/* How a thread's time spread over vCPUs */
static void vcpu_balance(struct writer *w, const struct part *p)
{
	const struct vmp_metrics_base *b = &w->base;
	char name[VMP_TRACK_NAME_MAX], buf[512];
	double most = 0, seconds;
	uint32_t i;

	for (i = p->first; i < p->end; i++) {
		seconds = vmp_metrics_seconds(b, &w->shares.v[i].sum);
		most = seconds > most ? seconds : most;
	}
	vmp_xml_begin(&w->x, "category");
	vmp_xml_attr(&w->x, "name", "vcpu_balance");
	for (i = p->first; i < p->end; i++) {
		seconds = vmp_metrics_seconds(b, &w->shares.v[i].sum);
		snprintf(buf, sizeof(buf), "%.6f", seconds);
		vmp_xml_item(&w->x, vmp_track_name(name, &w->t->tracks.v[w->shares.v[i].track]), "sec", buf);
		vmp_xml_real(&w->x, "time_balance", "percent", most > 0 ? 100 * seconds / most : 0);
		vmp_xml_end(&w->x);
	}
	vmp_xml_end(&w->x);
}

static void begin_thread(struct writer *w, const struct part *p)
{
	static const char *const kind[] = {
		[VMP_TRACK_VCPU] = "vcpu", [VMP_TRACK_THREAD] = "qemu-thread", [VMP_TRACK_PCPU] = "pcpu",
	};
	const struct vmp_task *task = p->task == VMP_NONE ? NULL : &w->t->tasks.v[p->task];
	const struct vmp_track *track = &w->t->tracks.v[p->track];
	char name[VMP_TRACK_NAME_MAX];

	vmp_xml_begin(&w->x, "thread");
	vmp_xml_attr_u64(&w->x, "id", task ? task->tid : track->id);
	vmp_xml_attr(&w->x, "name", task ? vmp_table_str(w->t, task->thread) : vmp_track_name(name, track));
	vmp_xml_attr(&w->x, "kind", task ? "guest-thread" : kind[track->kind]);
}

/* The threads of the process at work, which then has none */
static void threads(struct writer *w, int is_domain)
{
	struct vmp_metrics most = { .sum = { 0 } };
	uint32_t i;

	for (i = 0; i < w->parts.nr; i++) {
		const struct vmp_sums *s = &w->parts.v[i].sum.sum;

		most.sum.samples = s->samples > most.sum.samples ? s->samples : most.sum.samples;
		most.sum.cycles = s->cycles > most.sum.cycles ? s->cycles : most.sum.cycles;
		most.sum.instructions = s->instructions > most.sum.instructions ? s->instructions :
					most.sum.instructions;
	}
	for (i = 0; i < w->parts.nr; i++) {
		const struct part *p = &w->parts.v[i];

		begin_thread(w, p);
		vmp_metrics_xml(&w->x, &w->base, &p->sum, &most);
		if (is_domain)
			time_split(w, p);
		if (p->task != VMP_NONE)
			vcpu_balance(w, p);
		vmp_xml_end(&w->x);
	}
	w->parts.nr = w->shares.nr = 0;
}

/* What is on tracks that have samples becomes threads of the process, in their order; cleared behind it */
static int add_tracks(struct writer *w)
{
	uint32_t i;
	int err = 0;

	for (i = w->tracks; !err && i < w->tracks_end; i++) {
		struct part p = { .task = VMP_NONE, .track = i, .sum = w->on_track[i] };

		if (p.sum.sum.samples)
			err = vmp_vec_push(&w->parts, p) ? -ENOMEM : 0;
		w->on_track[i] = (struct vmp_metrics){ .sum = { 0 } };
	}
	return err;
}

/* ... or shares of a thread that is known */
static int add_thread(struct writer *w, struct part *p)
{
	uint32_t i;
	int err = 0;

	p->first = w->shares.nr;
	for (i = w->tracks; !err && i < w->tracks_end; i++) {
		struct share s = { i, w->on_track[i] };

		if (s.sum.sum.samples)
			err = vmp_vec_push(&w->shares, s) ? -ENOMEM : 0;
		w->on_track[i] = (struct vmp_metrics){ .sum = { 0 } };
	}
	p->end = w->shares.nr;
	if (!err && p->sum.sum.samples)
		err = vmp_vec_push(&w->parts, *p) ? -ENOMEM : 0;
	return err;
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

		vmp_metrics_add(&w->on_track[l->track], l, vmp_insns_at(w->insns, l->site));
		if (l->exit)
			err = add_exit(w, l);
	}
	if (!err)
		err = add_tracks(w);
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

/* Lines from @*i on of one task, of a process whose threads are known, or not; @*i: behind them */
static int one_task(struct writer *w, uint32_t *i, uint32_t end)
{
	const struct vmp_table *t = w->t;
	struct part p = { .task = t->lines.v[*i].task };
	int is_known = t->tasks.v[p.task].tid != VMP_NONE;

	for (; *i < end && t->lines.v[*i].task == p.task; ++*i) {
		const struct vmp_line *l = &t->lines.v[*i];

		if (!is_process(l))
			continue;
		vmp_metrics_add(&w->on_track[l->track], l, vmp_insns_at(w->insns, l->site));
		if (is_known)
			vmp_metrics_add(&p.sum, l, vmp_insns_at(w->insns, l->site));
	}
	return is_known ? add_thread(w, &p) : add_tracks(w);
}

static int same_process(const struct vmp_task *a, const struct vmp_task *b)
{
	return a->comm == b->comm && a->pid == b->pid;
}

/* Tasks of one process lie together, its threads by their numbers, that of which none is known last */
static int processes(struct writer *w, uint32_t domain, uint32_t first, uint32_t end)
{
	const struct vmp_table *t = w->t;
	uint32_t i = first;
	int err = 0;

	while (!err && i < end) {
		const struct vmp_line *l = &t->lines.v[i];
		const struct vmp_task *task = &t->tasks.v[l->task];

		while (!err && i < end && same_process(&t->tasks.v[t->lines.v[i].task], task))
			err = one_task(w, &i, end);
		if (err || !w->parts.nr)
			continue;
		begin_process(w, task->pid, vmp_table_comm(t, l),
			      t->domains.v[domain].vm == VMP_NONE ? "host-process" : "guest-process",
			      vmp_table_domain_name(t, domain));
		threads(w, 0);
		vmp_xml_end(&w->x);
	}
	return err;
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
	if (m->meta.random)
		vmp_xml_attr(&w->x, "random", "true");
	if (w->base.seconds_per_cycle > 0)
		vmp_xml_attr(&w->x, "cpi_estimator", vmp_weigh_estimator(m));
	vmp_xml_attr(&w->x, "seconds", seconds);
}

int vmp_write_xml(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct writer w = { .t = t };
	uint32_t i, d, first;
	int err;

	vmp_metrics_base(&w.base, t);
	w.on_track = calloc(t->tracks.nr + 1, sizeof(*w.on_track));
	err = w.on_track ? vmp_insns_create(&w.insns, t) : -ENOMEM;
	if (!err) {
		vmp_xml_init(&w.x, out, o->indent);
		root(&w);
	}
	for (d = i = 0; !err && d < t->domains.nr; d++) {
		for (first = i; i < t->lines.nr && t->tasks.v[t->lines.v[i].task].domain == d;)
			i++;
		for (w.tracks = w.tracks_end; w.tracks_end < t->tracks.nr && t->tracks.v[w.tracks_end].domain == d;)
			w.tracks_end++;
		err = whole_domain(&w, d, first, i);
		if (!err)
			err = processes(&w, d, first, i);
	}
	if (!err)
		vmp_xml_end(&w.x);
	vmp_insns_destroy(w.insns);
	vmp_vec_free(&w.exits);
	vmp_hash_free(&w.by_exit);
	vmp_vec_free(&w.parts);
	vmp_vec_free(&w.shares);
	free(w.on_track);
	return err;
}
