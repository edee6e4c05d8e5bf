// SPDX-License-Identifier: GPL-2.0-only
/* profile.c - what was gathered, summed up into rows and sorted. */
#include "report/profile.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/exits.h"
#include "report/gather.h"
#include "report/rows.h"

/* A space's splits: by vCPU its number, by exit the name's; and whether a filter
   holds it back, so that it counts for totals only */
enum { SPLIT, FILTERED };

struct work {
	struct vmp_profile *p;
	struct vmp_model *m;
	const struct vmp_options *o;
	struct vmp_hash by_vm;		/* number of a VM -> domain */
	uint32_t last;			/* domain asked for before */
	struct vmp_rows rows;
	uint32_t *rank;			/* of strings, for sorting */
	uint32_t s_none, s_steal, s_in_guest;
};

/* ------------------------------------------------------------- counting */

static int exit_string(const struct work *w, struct vmp_model *m, const struct vmprof_sample *s,
		       uint32_t *out)
{
	char buf[VMP_EXIT_NAME_MAX];
	int err = 0;

	*out = w->s_none;
	if (s->mode == VMPROF_MODE_GUEST)
		*out = w->s_in_guest;
	else if (s->flags & VMPROF_SF_VCPU)
		*out = vmp_gather_string(m, vmp_exit_name(buf, s->vendor, s->exit_reason), &err);
	return err;
}

/* Is the sample wanted, as far as it can tell by itself? */
static int passes(const struct work *w, const struct vmprof_sample *s, const struct vmp_origin *from)
{
	const struct vmp_options *o = w->o;
	const struct vmp_space *space;

	if (o->vcpu >= 0 && vmp_origin_vcpu(w->m, s) != (uint32_t)o->vcpu)
		return 0;
	if (o->exit_reason && (!(s->flags & VMPROF_SF_VCPU) ||
			       !vmp_exit_is(s->vendor, s->exit_reason, o->exit_reason)))
		return 0;
	if (o->pid >= 0) {
		if (from->vm == VMP_NONE || from->image == VMP_NONE)
			return 0;
		space = &w->m->vms.v[from->vm].space;
		return space->procs.v[space->images.v[from->image].proc].tgid == o->pid;
	}
	return 1;
}

/* Number of a VM's domain; made when there is none */
static int domain_of(struct work *w, uint32_t vm, uint32_t *out)
{
	struct vmp_domain d = { .vm = vm };
	uint32_t *i;

	*out = w->last;
	if (w->last < w->p->domains.nr && w->p->domains.v[w->last].vm == vm)
		return 0;
	i = vmp_hash_find(&w->by_vm, vm);
	if (!i) {
		if (vmp_vec_push(&w->p->domains, d) ||
		    vmp_hash_set(&w->by_vm, vm, w->p->domains.nr - 1))
			return -ENOMEM;
		*out = w->last = w->p->domains.nr - 1;
		return 0;
	}
	*out = w->last = *i;
	return 0;
}

static int on_split(void *arg, struct vmp_model *m, const struct vmprof_sample *s,
		    const struct vmp_origin *from, uint32_t split[2])
{
	const struct work *w = arg;

	split[FILTERED] = !passes(w, s, from);
	if (w->o->by == VMP_BY_VCPU)
		split[SPLIT] = vmp_origin_vcpu(m, s);
	else if (w->o->by == VMP_BY_EXIT)
		return exit_string(w, m, s, &split[SPLIT]);
	return 0;
}

static int on_space(void *arg, const struct vmp_gather_space *s, uint64_t samples, uint64_t by_timer,
		    uint64_t by_nmi)
{
	struct work *w = arg;
	uint32_t d;
	int err = domain_of(w, s->from.vm, &d);

	if (err)
		return err;
	w->p->samples += samples;
	w->p->others += s->from.vm == VMP_NONE ? samples : 0;
	w->p->domains.v[d].by_timer += by_timer;
	w->p->domains.v[d].by_nmi += by_nmi;
	return 0;
}

/* ------------------------------------------------------------- resolving */

/* Process name and pid of a row */
static int process_of(const struct work *w, const struct vmp_gather_space *s, const struct vmp_place *place,
		      struct vmp_row *row)
{
	struct vmp_owner owner;
	int err = vmp_origin_owner(w->m, &s->from, place, &owner);

	row->pid = owner.pid;
	row->comm = owner.comm;
	if (s->from.kind == VMP_KIND_STEAL && w->o->by != VMP_BY_FUNCTION)
		row->comm = w->s_steal;
	else if (s->from.kind == VMP_KIND_STEAL || s->from.kind == VMP_KIND_IDLE)
		row->comm = w->s_none;
	return err;
}

static int matches(const struct work *w, const char *pattern, uint32_t str)
{
	return !pattern || !fnmatch(pattern, vmp_model_name(w->m, str), 0);
}

static void project(const struct work *w, const struct vmp_gather_space *s, struct vmp_row *row)
{
	enum vmp_by by = w->o->by;

	if (by != VMP_BY_FUNCTION)
		row->function = 0;
	if (by != VMP_BY_FUNCTION && by != VMP_BY_MODULE)
		row->module = 0;
	if (by != VMP_BY_FUNCTION && by != VMP_BY_PROCESS)
		row->comm = 0;
	if (by != VMP_BY_PROCESS)
		row->pid = VMP_NONE;
	row->exit = by == VMP_BY_EXIT ? s->split[SPLIT] : 0;
	row->vcpu = by == VMP_BY_VCPU ? s->split[SPLIT] : VMP_NONE;
	/* kernel, user, VMM and steal of one vCPU are one row */
	if (by == VMP_BY_VCPU || by == VMP_BY_PROCESS)
		row->side = VMP_SIDE_NR;
}

static int on_place(void *arg, const struct vmp_gather_space *s, const struct vmp_place *place,
		    const struct vmp_gathered *g)
{
	struct vmp_row row = { 0 };
	struct work *w = arg;
	uint64_t n = g->samples;
	struct vmp_domain *d;
	uint32_t number;
	int err;

	err = process_of(w, s, place, &row);
	if (!err)
		err = domain_of(w, s->from.vm, &number);
	if (err)
		return err;
	d = &w->p->domains.v[number];
	row.side = vmp_origin_side(s->from.kind);
	row.function = place->function;
	row.module = place->module;
	d->side[row.side] += n;
	d->total += row.side == VMP_SIDE_HOST && s->from.vm != VMP_NONE ? 0 : n;
	if (vmp_origin_is_guest(s->from.kind)) {
		d->with_process += row.pid != VMP_NONE ? n : 0;
		d->with_function += place->why <= VMP_WHY_UNNAMED ? n : 0;
		d->why[place->why] += n;
	}
	if (s->split[FILTERED] || !matches(w, w->o->comm, row.comm) || !matches(w, w->o->module, row.module))
		return 0;
	d->shown += n;
	project(w, s, &row);
	row.samples = n;
	return vmp_rows_add(&w->rows, number, &row);
}

/* --------------------------------------------------------------- sorting */

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_str(const struct work *w, uint32_t a, uint32_t b)
{
	return cmp_u64(w->rank[a], w->rank[b]);
}

static int cmp_key(const struct work *w, enum vmp_sort key, const struct vmp_row *a, const struct vmp_row *b)
{
	switch (key) {
	case VMP_SORT_SAMPLES:
		return cmp_u64(b->samples, a->samples);
	case VMP_SORT_FUNCTION:
		return cmp_str(w, a->function, b->function);
	case VMP_SORT_MODULE:
		return cmp_str(w, a->module, b->module);
	case VMP_SORT_PROCESS:
		return cmp_str(w, a->comm, b->comm);
	case VMP_SORT_PID:
		return cmp_u64(a->pid, b->pid);
	case VMP_SORT_VCPU:
		return cmp_u64(a->vcpu, b->vcpu);
	case VMP_SORT_EXIT:
		return cmp_str(w, a->exit, b->exit);
	}
	return 0;
}

static int cmp_rows(const struct work *w, const struct vmp_row *a, const struct vmp_row *b)
{
	static const enum vmp_sort last[] = {
		VMP_SORT_SAMPLES, VMP_SORT_FUNCTION, VMP_SORT_MODULE, VMP_SORT_PROCESS,
		VMP_SORT_PID, VMP_SORT_VCPU, VMP_SORT_EXIT,
	};
	int d = 0, i;

	for (i = 0; !d && i < VMP_SORT_KEYS && w->o->sort[i]; i++)
		d = cmp_key(w, w->o->sort[i], a, b);
	for (i = 0; !d && i < (int)(sizeof(last) / sizeof(last[0])); i++)
		d = cmp_key(w, last[i], a, b);
	return d ? d : cmp_u64(a->side, b->side);
}

/* A row with what nearly always decides at hand */
struct sorted {
	uint64_t first, second;
	uint32_t third;
	uint32_t row;
};

struct sorting {
	const struct work *w;
	const struct vmp_row *rows;
};

static int cmp_sorted(const void *pa, const void *pb, void *arg)
{
	const struct sorted *a = pa, *b = pb;
	const struct sorting *s = arg;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	if (a->third != b->third)
		return a->third < b->third ? -1 : 1;
	return cmp_rows(s->w, &s->rows[a->row], &s->rows[b->row]);
}

static int sort_rows(struct work *w, struct vmp_domain *d)
{
	int by_samples = !w->o->sort[0] || (w->o->sort[0] == VMP_SORT_SAMPLES && !w->o->sort[1]);
	struct sorted *v = malloc(d->rows.nr * sizeof(*v) + 1);
	struct sorting s = { w, d->rows.v };
	struct vmp_row *rows;
	uint32_t i;

	if (!v)
		return -ENOMEM;
	for (i = 0; i < d->rows.nr; i++) {
		const struct vmp_row *row = &d->rows.v[i];

		v[i] = (struct sorted){ .row = i };
		if (!by_samples)
			continue;
		v[i].first = UINT64_MAX - row->samples;
		v[i].second = (uint64_t)w->rank[row->function] << 32 | w->rank[row->module];
		v[i].third = w->rank[row->comm];
	}
	qsort_r(v, d->rows.nr, sizeof(*v), cmp_sorted, &s);
	rows = malloc(d->rows.nr * sizeof(*rows) + 1);
	if (!rows) {
		free(v);
		return -ENOMEM;
	}
	for (i = 0; i < d->rows.nr; i++)
		rows[i] = d->rows.v[v[i].row];
	free(v);
	free(d->rows.v);
	d->rows.v = rows;
	d->rows.room = d->rows.nr;
	return 0;
}

/* By name, the host last */
static int cmp_domains(const void *pa, const void *pb, void *arg)
{
	const struct vmp_domain *a = pa, *b = pb;
	const struct work *w = arg;
	int d;

	if (a->vm == VMP_NONE || b->vm == VMP_NONE)
		return (a->vm == VMP_NONE) - (b->vm == VMP_NONE);
	d = strcmp(vmp_model_name(w->m, w->m->vms.v[a->vm].name),
		   vmp_model_name(w->m, w->m->vms.v[b->vm].name));
	return d ? d : cmp_u64(w->m->vms.v[a->vm].vm, w->m->vms.v[b->vm].vm);
}

/* Leave out what was not asked for. */
static int choose(struct work *w)
{
	struct vmp_profile *p = w->p;
	uint32_t i, n = 0;
	int err = 0;

	for (i = 0; i < p->domains.nr; i++) {
		struct vmp_domain *d = &p->domains.v[i];
		int host = d->vm == VMP_NONE, keep;

		if (host)
			keep = w->o->all_host && d->total;
		else
			keep = matches(w, w->o->domain, w->m->vms.v[d->vm].name);
		p->domain_found |= keep && !host;
		if (keep)
			p->domains.v[n++] = *d;
		else
			vmp_vec_free(&d->rows);
	}
	p->domains.nr = n;
	if (n)
		qsort_r(p->domains.v, n, sizeof(*p->domains.v), cmp_domains, w);
	w->rank = vmp_strings_ranks(&w->m->strings);
	if (!w->rank)
		return -ENOMEM;
	for (i = 0; !err && i < n; i++)
		err = sort_rows(w, &p->domains.v[i]);
	free(w->rank);
	return err;
}

/* ------------------------------------------------------------------ all */

static int prepare(struct work *w)
{
	struct vmp_strings *s = &w->m->strings;
	uint32_t i, d;
	int err = 0;

	w->s_steal = vmp_strings_add(s, "[steal]", 7, &err);
	w->s_none = vmp_strings_add(s, "-", 1, &err);
	w->s_in_guest = vmp_strings_add(s, "(in guest)", 10, &err);
	/* a VM without a sample is in the report too */
	for (i = 0; !err && i < w->m->vms.nr; i++)
		err = domain_of(w, i, &d);
	return err;
}

/* Samples are handed out anew: forget those that were. */
static void on_restart(void *arg)
{
	struct work *w = arg;
	uint32_t i;

	w->p->samples = w->p->others = 0;
	vmp_rows_deinit(&w->rows);
	for (i = 0; i < w->p->domains.nr; i++) {
		struct vmp_domain *d = &w->p->domains.v[i];
		struct vmp_domain empty = { .vm = d->vm };

		vmp_vec_free(&d->rows);
		*d = empty;
	}
}

int vmp_profile_create(struct vmp_profile **out, struct vmp_model *m, const struct vmp_options *o)
{
	struct work w = { .m = m, .o = o };
	const struct vmp_gather g = {
		.split = o->by == VMP_BY_VCPU || o->by == VMP_BY_EXIT || o->vcpu >= 0 || o->pid >= 0 ||
			 o->exit_reason ? on_split : NULL,
		.place = on_place, .space = on_space, .restart = on_restart, .arg = &w,
	};
	int err;

	w.p = calloc(1, sizeof(*w.p));
	if (!w.p)
		return -ENOMEM;
	w.p->model = m;
	w.rows.p = w.p;
	err = prepare(&w);
	if (!err)
		err = vmp_gather(m, &g);
	if (!err)
		err = vmp_rows_flush(&w.rows);
	vmp_rows_deinit(&w.rows);
	vmp_hash_free(&w.by_vm);
	if (!err)
		err = choose(&w);
	if (err) {
		vmp_profile_destroy(w.p);
		return err;
	}
	*out = w.p;
	return 0;
}

void vmp_profile_destroy(struct vmp_profile *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; i < p->domains.nr; i++)
		vmp_vec_free(&p->domains.v[i].rows);
	vmp_vec_free(&p->domains);
	free(p);
}
