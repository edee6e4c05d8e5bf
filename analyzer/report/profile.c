// SPDX-License-Identifier: GPL-2.0-only
/* profile.c - what was gathered, summed up into rows and sorted. */
#include "report/profile.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/exits.h"
#include "report/gather.h"

/* A space's splits: by vCPU its number, by exit the name's; and whether a filter
   holds it back, so that it counts for totals only */
enum { SPLIT, FILTERED };

/* Rows of a domain by what tells them apart; no slot is used by row 0: number + 1 */
struct row_index {
	uint32_t *slot;
	uint32_t mask;
};

struct work {
	struct vmp_profile *p;
	struct vmp_model *m;
	const struct vmp_options *o;
	struct vmp_hash by_vm;		/* number of a VM -> domain */
	VMP_VEC(struct row_index) index;	/* of the domains' rows */
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
	uint32_t *i = vmp_hash_find(&w->by_vm, vm);
	struct vmp_domain d = { .vm = vm };
	struct row_index none = { 0 };

	if (!i) {
		if (vmp_vec_push(&w->index, none) || vmp_vec_push(&w->p->domains, d) ||
		    vmp_hash_set(&w->by_vm, vm, w->p->domains.nr - 1))
			return -ENOMEM;
		*out = w->p->domains.nr - 1;
		return 0;
	}
	*out = *i;
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

static uint64_t row_hash(const struct vmp_row *r)
{
	uint32_t key[] = { r->function, r->module, r->comm, r->exit, r->pid, r->vcpu, r->side, 0 };

	return vmp_hash_bytes(key, sizeof(key));
}

static int same_row(const struct vmp_row *a, const struct vmp_row *b)
{
	return a->function == b->function && a->module == b->module && a->comm == b->comm &&
	       a->exit == b->exit && a->pid == b->pid && a->vcpu == b->vcpu && a->side == b->side;
}

/* Slot of a row, or the free one where it belongs */
static uint32_t *row_slot(const struct row_index *x, const struct vmp_domain *d, const struct vmp_row *row)
{
	uint32_t i = (uint32_t)row_hash(row) & x->mask;

	while (x->slot[i] && !same_row(&d->rows.v[x->slot[i] - 1], row))
		i = (i + 1) & x->mask;
	return &x->slot[i];
}

static int grow_index(struct row_index *x, const struct vmp_domain *d)
{
	struct row_index n = { .mask = x->slot ? 2 * x->mask + 1 : 255 };
	uint32_t i;

	n.slot = x->mask < UINT32_MAX / 2 ? calloc((size_t)n.mask + 1, sizeof(*n.slot)) : NULL;
	if (!n.slot)
		return -ENOMEM;
	for (i = 0; i < d->rows.nr; i++)
		*row_slot(&n, d, &d->rows.v[i]) = i + 1;
	free(x->slot);
	*x = n;
	return 0;
}

static int add_row(struct vmp_domain *d, struct row_index *x, const struct vmp_row *row, uint64_t n)
{
	uint32_t *slot;

	if ((!x->slot || d->rows.nr > x->mask / 2) && grow_index(x, d))
		return -ENOMEM;
	slot = row_slot(x, d, row);
	if (!*slot) {
		if (vmp_vec_push(&d->rows, *row))
			return -ENOMEM;
		*slot = d->rows.nr;
		d->rows.v[*slot - 1].samples = 0;
	}
	d->rows.v[*slot - 1].samples += n;
	return 0;
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
	return add_row(d, &w->index.v[number], &row, n);
}

/* --------------------------------------------------------------- sorting */

static int cmp_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int cmp_key(const struct work *w, enum vmp_sort key, const struct vmp_row *a, const struct vmp_row *b)
{
	switch (key) {
	case VMP_SORT_SAMPLES:
		return cmp_u64(b->samples, a->samples);
	case VMP_SORT_FUNCTION:
		return strcmp(vmp_model_name(w->m, a->function), vmp_model_name(w->m, b->function));
	case VMP_SORT_MODULE:
		return strcmp(vmp_model_name(w->m, a->module), vmp_model_name(w->m, b->module));
	case VMP_SORT_PROCESS:
		return strcmp(vmp_model_name(w->m, a->comm), vmp_model_name(w->m, b->comm));
	case VMP_SORT_PID:
		return cmp_u64(a->pid, b->pid);
	case VMP_SORT_VCPU:
		return cmp_u64(a->vcpu, b->vcpu);
	case VMP_SORT_EXIT:
		return strcmp(vmp_model_name(w->m, a->exit), vmp_model_name(w->m, b->exit));
	}
	return 0;
}

static int cmp_rows(const void *a, const void *b, void *arg)
{
	static const enum vmp_sort last[] = {
		VMP_SORT_SAMPLES, VMP_SORT_FUNCTION, VMP_SORT_MODULE, VMP_SORT_PROCESS,
		VMP_SORT_PID, VMP_SORT_VCPU, VMP_SORT_EXIT,
	};
	const struct work *w = arg;
	int d = 0, i;

	for (i = 0; !d && i < VMP_SORT_KEYS && w->o->sort[i]; i++)
		d = cmp_key(w, w->o->sort[i], a, b);
	for (i = 0; !d && i < (int)(sizeof(last) / sizeof(last[0])); i++)
		d = cmp_key(w, last[i], a, b);
	return d;
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
static void choose(struct work *w)
{
	struct vmp_profile *p = w->p;
	uint32_t i, n = 0;

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
	for (i = 0; i < n; i++)
		if (p->domains.v[i].rows.nr)
			qsort_r(p->domains.v[i].rows.v, p->domains.v[i].rows.nr,
				sizeof(struct vmp_row), cmp_rows, w);
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
	for (i = 0; i < w->p->domains.nr; i++) {
		struct vmp_domain *d = &w->p->domains.v[i];
		struct vmp_domain empty = { .vm = d->vm };

		vmp_vec_free(&d->rows);
		*d = empty;
		free(w->index.v[i].slot);
		w->index.v[i] = (struct row_index){ 0 };
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
	uint32_t i;
	int err;

	w.p = calloc(1, sizeof(*w.p));
	if (!w.p)
		return -ENOMEM;
	w.p->model = m;
	err = prepare(&w);
	if (!err)
		err = vmp_gather(m, &g);
	for (i = 0; i < w.index.nr; i++)
		free(w.index.v[i].slot);
	vmp_vec_free(&w.index);
	vmp_hash_free(&w.by_vm);
	if (!err)
		choose(&w);
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
