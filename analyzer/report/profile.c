// SPDX-License-Identifier: GPL-2.0-only
/* profile.c - count samples, resolve each distinct address once, sum up into rows. */
#include "report/profile.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/count.h"
#include "report/exits.h"

/* What samples at one address must have in common to be counted together;
   no padding: it is hashed as bytes */
struct space {
	struct vmp_origin from;
	uint32_t split;		/* by vCPU: its number; by exit: the name's */
	uint32_t filtered;	/* counts for totals only */
};

struct work {
	struct vmp_profile *p;
	struct vmp_model *m;
	const struct vmp_options *o;
	VMP_VEC(struct space) spaces;
	struct vmp_hash by_space;
	struct vmp_hash by_vm;		/* number of a VM -> domain */
	struct vmp_hash by_row;
	struct vmp_counts counts;
	uint32_t s_none, s_steal, s_in_guest;
};

/* ------------------------------------------------------------- counting */

static int exit_string(struct work *w, const struct vmprof_sample *s, uint32_t *out)
{
	char buf[VMP_EXIT_NAME_MAX];
	const char *name;
	int err = 0;

	*out = w->s_none;
	if (s->mode == VMPROF_MODE_GUEST) {
		*out = w->s_in_guest;
	} else if (s->flags & VMPROF_SF_VCPU) {
		name = vmp_exit_name(buf, s->vendor, s->exit_reason);
		*out = vmp_strings_add(&w->m->strings, name, strlen(name), &err);
	}
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

static int domain_of(struct work *w, uint32_t vm, struct vmp_domain **out)
{
	uint32_t *i = vmp_hash_find(&w->by_vm, vm);
	struct vmp_domain d = { .vm = vm };

	if (!i) {
		if (vmp_vec_push(&w->p->domains, d) ||
		    vmp_hash_set(&w->by_vm, vm, w->p->domains.nr - 1))
			return -ENOMEM;
		*out = &w->p->domains.v[w->p->domains.nr - 1];
		return 0;
	}
	*out = &w->p->domains.v[*i];
	return 0;
}

static int space_of(struct work *w, const struct space *s, uint32_t *out)
{
	uint64_t sum = vmp_hash_bytes(s, sizeof(*s));
	uint32_t *i;

	for (; (i = vmp_hash_find(&w->by_space, sum)); sum++) {
		if (!memcmp(&w->spaces.v[*i], s, sizeof(*s))) {
			*out = *i;
			return 0;
		}
	}
	if (vmp_vec_push(&w->spaces, *s) || vmp_hash_set(&w->by_space, sum, w->spaces.nr - 1))
		return -ENOMEM;
	*out = w->spaces.nr - 1;
	return 0;
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct space space = { 0 };
	struct work *w = arg;
	struct vmp_domain *d;
	uint32_t number;
	uint64_t addr;
	int err;

	err = vmp_origin_of(w->m, s, &space.from, &addr);
	if (!err)
		err = domain_of(w, space.from.vm, &d);
	if (err)
		return err;
	w->p->samples++;
	w->p->others += space.from.vm == VMP_NONE;
	d->by_timer += !!(s->flags & VMPROF_SF_TIMER);
	if (vmp_origin_is_guest(space.from.kind))
		d->by_nmi += vmp_exit_nmi(s->vendor, s->exit_reason, s->exit_intr_info);
	space.filtered = !passes(w, s, &space.from);
	if (w->o->by == VMP_BY_VCPU)
		space.split = vmp_origin_vcpu(w->m, s);
	else if (w->o->by == VMP_BY_EXIT)
		err = exit_string(w, s, &space.split);
	if (!err)
		err = space_of(w, &space, &number);
	return err ? err : vmp_counts_add(&w->counts, number, addr, 1);
}

/* ------------------------------------------------------------- resolving */

/* Process name and pid of a row */
static int process_of(const struct work *w, const struct space *s, const struct vmp_place *place,
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

static void project(const struct work *w, const struct space *s, struct vmp_row *row)
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
	row->exit = by == VMP_BY_EXIT ? s->split : 0;
	row->vcpu = by == VMP_BY_VCPU ? s->split : VMP_NONE;
	/* kernel, user, VMM and steal of one vCPU are one row */
	if (by == VMP_BY_VCPU || by == VMP_BY_PROCESS)
		row->side = VMP_SIDE_NR;
}

static int add_row(struct work *w, struct vmp_domain *d, const struct vmp_row *row, uint64_t n)
{
	struct {
		uint32_t vm, function, module, comm, exit, pid, vcpu, side;
	} key = { d->vm, row->function, row->module, row->comm, row->exit, row->pid, row->vcpu, row->side };
	uint64_t sum = vmp_hash_bytes(&key, sizeof(key));
	uint32_t *i = vmp_hash_find(&w->by_row, sum);

	if (i) {
		d->rows.v[*i].samples += n;
		return 0;
	}
	if (vmp_vec_push(&d->rows, *row) || vmp_hash_set(&w->by_row, sum, d->rows.nr - 1))
		return -ENOMEM;
	d->rows.v[d->rows.nr - 1].samples = n;
	return 0;
}

static int sum_up(struct work *w, const struct vmp_count *c)
{
	const struct space *s = &w->spaces.v[c->space];
	struct vmp_place place = { 0 };
	struct vmp_row row = { 0 };
	struct vmp_domain *d;
	int err;

	err = vmp_origin_resolve(w->m, &s->from, c->addr, &place);
	if (!err)
		err = process_of(w, s, &place, &row);
	if (!err)
		err = domain_of(w, s->from.vm, &d);
	if (err)
		return err;
	row.side = vmp_origin_side(s->from.kind);
	row.function = place.function;
	row.module = place.module;
	d->side[row.side] += c->n;
	d->total += row.side == VMP_SIDE_HOST && s->from.vm != VMP_NONE ? 0 : c->n;
	if (vmp_origin_is_guest(s->from.kind)) {
		d->with_process += row.pid != VMP_NONE ? c->n : 0;
		d->with_function += place.why <= VMP_WHY_UNNAMED ? c->n : 0;
		d->why[place.why] += c->n;
	}
	if (s->filtered || !matches(w, w->o->comm, row.comm) || !matches(w, w->o->module, row.module))
		return 0;
	d->shown += c->n;
	project(w, s, &row);
	return add_row(w, d, &row, c->n);
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
	struct vmp_domain *d;
	uint32_t i;
	int err = 0;

	w->s_steal = vmp_strings_add(s, "[steal]", 7, &err);
	w->s_none = vmp_strings_add(s, "-", 1, &err);
	w->s_in_guest = vmp_strings_add(s, "(in guest)", 10, &err);
	/* a VM without a sample is in the report too */
	for (i = 0; !err && i < w->m->vms.nr; i++)
		err = domain_of(w, i, &d);
	return err;
}

int vmp_profile_create(struct vmp_profile **out, struct vmp_model *m, const struct vmp_options *o)
{
	struct work w = { .m = m, .o = o };
	const struct vmp_count *c;
	uint64_t at = 0;
	int err;

	w.p = calloc(1, sizeof(*w.p));
	if (!w.p)
		return -ENOMEM;
	w.p->model = m;
	err = prepare(&w);
	if (!err)
		err = vmp_model_samples(m, on_sample, &w);
	while (!err && (c = vmp_counts_next(&w.counts, &at)))
		err = sum_up(&w, c);
	if (!err)
		choose(&w);
	vmp_vec_free(&w.spaces);
	vmp_hash_free(&w.by_space);
	vmp_hash_free(&w.by_vm);
	vmp_hash_free(&w.by_row);
	vmp_counts_free(&w.counts);
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
