// SPDX-License-Identifier: GPL-2.0-only
/* profile.c - what was gathered, summed up into rows and sorted. */
#include "report/profile.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/hosttext.h"
#include "report/exits.h"
#include "report/rows.h"
#include "report/totals.h"
#include "util/text.h"

/* A space's splits: the track; and the cause's string with two flags */
enum { TRACK, CAUSE };
#define HELD_BACK	0x80000000U	/* by a filter: it counts for totals only */
#define ASIDE		0x40000000U	/* the place is not where the time went: see the view */
#define CAUSE_STRING	0x1fffffffU	/* as many bits as in a row */

struct work {
	struct vmp_profile *p;
	struct vmp_model *m;
	const struct vmp_options *o;
	struct vmp_hash by_vm;		/* number of a VM -> domain */
	uint32_t last;			/* domain asked for before */
	uint32_t need;			/* keys of rows, and of the filter */
	struct vmp_rows rows;
	uint32_t s_none, s_steal, s_in_guest, s_unknown;
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
	if (o->pid >= 0 && from->task)
		return w->m->vms.v[from->vm].seen.tasks.v[from->task - 1].tgid == o->pid;
	if (o->pid >= 0) {
		if (from->vm == VMP_NONE || from->image == VMP_NONE || from->shared)
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

static uint32_t track_of(const struct work *w, const struct vmprof_sample *s)
{
	uint32_t vcpu = vmp_origin_vcpu(w->m, s);

	if (vcpu != VMP_NONE || !(w->need & VMP_KEY(VMP_COL_THREAD)) || s->mode == VMPROF_MODE_IDLE)
		return vcpu;
	return s->host_tid | VMP_TRACK_IS_THREAD;
}

/* Does the view show this sample at all, and by the place that it was taken at? */
static uint32_t view_flags(enum vmp_view view, const struct vmprof_sample *s, const struct vmp_origin *from)
{
	int steal = s->flags & VMPROF_SF_STEAL && s->mode != VMPROF_MODE_GUEST;

	switch (view) {
	case VMP_VIEW_TIME:
		return 0;
	case VMP_VIEW_EXITS:
		if (s->mode != VMPROF_MODE_VMM_KERNEL && s->mode != VMPROF_MODE_VMM_USER)
			return HELD_BACK;
		return vmp_origin_is_guest(from->kind) ? ASIDE : 0;
	case VMP_VIEW_THIEVES:
		return steal ? 0 : HELD_BACK;
	case VMP_VIEW_WAITERS:
		if (!steal)
			return HELD_BACK;
		return vmp_origin_is_guest(from->kind) ? ASIDE : 0;
	}
	return 0;
}

/* Name of the host task that ran */
static uint32_t thief_of(const struct work *w, const struct vmprof_sample *s)
{
	const struct vmp_host_proc *proc = vmp_host_proc(w->m, s->host_pid);

	return proc ? proc->comm : w->s_unknown;
}

static int on_split(void *arg, struct vmp_model *m, const struct vmprof_sample *s,
		    const struct vmp_origin *from, uint32_t split[2])
{
	const struct work *w = arg;
	int err = 0;

	if (w->need & (VMP_KEY(VMP_COL_VCPU) | VMP_KEY(VMP_COL_THREAD)))
		split[TRACK] = track_of(w, s);
	if (w->need & VMP_KEY(VMP_COL_EXIT))
		err = exit_string(w, m, s, &split[CAUSE]);
	else if (w->need & VMP_KEY(VMP_COL_THIEF))
		split[CAUSE] = thief_of(w, s);
	split[CAUSE] |= view_flags(w->o->view, s, from);
	if (!passes(w, s, from))
		split[CAUSE] |= HELD_BACK;
	return err;
}

/* What a sample of the view tells of the guest, if it does: as if taken there */
static const struct vmprof_sample *see_guest(void *arg, const struct vmprof_sample *s,
					     struct vmprof_sample *copy)
{
	const struct work *w = arg;
	int vmm = s->mode == VMPROF_MODE_VMM_KERNEL || s->mode == VMPROF_MODE_VMM_USER;
	int wanted = w->o->view == VMP_VIEW_EXITS ? vmm && s->flags & VMPROF_SF_VCPU
						  : s->flags & VMPROF_SF_STEAL && !vmm;

	if (!wanted || s->mode == VMPROF_MODE_GUEST || !s->guest_cr3)
		return s;
	*copy = *s;
	copy->mode = VMPROF_MODE_GUEST;
	return copy;
}

static int on_space(void *arg, const struct vmp_gather_space *s, uint64_t samples, uint64_t by_timer,
		    uint64_t by_nmi)
{
	struct work *w = arg;
	uint32_t d;
	int err = domain_of(w, s->from.vm, &d);

	if (err || s->second)
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
	row->nspid = owner.nspid;
	row->cgroup = owner.cgroup;
	row->comm = owner.comm;
	if (w->o->view == VMP_VIEW_THIEVES)
		return err;
	if (w->o->view == VMP_VIEW_WAITERS && s->from.kind == VMP_KIND_STEAL) {
		/* the sample does not tell where its vCPU had been */
		row->function = row->module = w->s_unknown;
		row->comm = w->s_none;
	} else if (s->from.kind == VMP_KIND_STEAL && vmp_by(w->o) != VMP_BY_FUNCTION)
		row->comm = w->s_steal;
	else if (s->from.kind == VMP_KIND_STEAL || s->from.kind == VMP_KIND_IDLE)
		row->comm = w->s_none;
	return err;
}

/* "worker 1234": of one process, threads may have one name, and one may have several in its life */
static uint32_t thread_of(const struct work *w, const struct vmp_gather_space *s, int *err)
{
	const struct vmp_guest_task *t;
	char text[VMPROF_TASK_COMM + 32];

	if (!s->thread)
		return 0;
	t = &w->m->vms.v[s->from.vm].seen.tasks.v[s->thread - 1];
	snprintf(text, sizeof(text), "%s %" PRIu32, vmp_model_name(w->m, t->comm), t->tid);
	return vmp_strings_add(&w->m->strings, text, strlen(text), err);
}

static int matches(const struct work *w, const char *pattern, uint32_t str)
{
	return !pattern || !fnmatch(pattern, vmp_model_name(w->m, str), 0);
}

/* The build-id of the file that a place is in; 0 without memory */
static uint32_t build_id_of(const struct work *w, const struct vmp_origin *from, const struct vmp_place *place,
			    uint64_t addr, int *err)
{
	char hex[2 * VMPROF_BUILD_ID_MAX + 1] = "-";
	const struct vmp_machine *vm;
	const struct vmp_map *map = NULL;
	const uint8_t *id = NULL;
	size_t len = 0;

	if (from->kind == VMP_KIND_GUEST_USER && from->image != VMP_NONE) {
		vm = &w->m->vms.v[from->vm];
		map = vmp_space_map(&vm->space, from->image, from->version, addr);
		if (map) {
			id = vm->files.v[map->file].build_id;
			len = vm->files.v[map->file].build_id_len;
		}
	}
	if (!len && place->elf && w->m->elfs.v[place->elf - 1])
		id = vmp_elf_own_id(w->m->elfs.v[place->elf - 1], &len);
	if (len)
		vmp_text_hex(hex, id, len < VMPROF_BUILD_ID_MAX ? len : VMPROF_BUILD_ID_MAX);
	return vmp_strings_add(&w->m->strings, hex, strlen(hex), err);
}

/* Only what tells rows apart stays. */
static void project(const struct work *w, struct vmp_row *row)
{
	uint32_t by = vmp_by(w->o);

	if (!(by & VMP_KEY(VMP_COL_FUNCTION)))
		row->function = 0;
	if (!(by & VMP_KEY(VMP_COL_MODULE)))
		row->module = 0;
	if (!(by & VMP_KEY(VMP_COL_BUILD_ID)))
		row->build_id = 0;
	if (!(by & VMP_KEY(VMP_COL_PROCESS)))
		row->comm = 0;
	if (!(by & VMP_KEY(VMP_COL_PID)))
		row->pid = VMP_NONE;
	if (!(by & VMP_KEY(VMP_COL_NSPID)))
		row->nspid = VMP_NONE;
	if (!(by & VMP_KEY(VMP_COL_CGROUP)))
		row->cgroup = 0;
	if (!(by & (VMP_KEY(VMP_COL_EXIT) | VMP_KEY(VMP_COL_THIEF))))
		row->cause = 0;
	if (!(by & VMP_KEY(VMP_COL_THREAD)))
		row->thread = 0;
	if (!(by & VMP_KEY(VMP_COL_VCPU)) && (row->thread || !(by & VMP_KEY(VMP_COL_THREAD))))
		row->track = VMP_NONE;
	else if (!(by & VMP_KEY(VMP_COL_THREAD)) && row->track & VMP_TRACK_IS_THREAD)
		row->track = VMP_NONE;
	if (!(by & VMP_KEY(VMP_COL_SIDE)))
		row->side = VMP_SIDE_NR;
}

/* The side of the time itself, wherever the view shows it */
static enum vmp_side side_of(const struct work *w, const struct vmp_gather_space *s)
{
	if (!(s->split[CAUSE] & ASIDE))
		return vmp_origin_side(s->from.kind);
	return w->o->view == VMP_VIEW_EXITS ? VMP_SIDE_VMM : VMP_SIDE_STEAL;
}

static int on_place(void *arg, const struct vmp_gather_space *s, const struct vmp_place *place,
		    const struct vmp_gathered *g)
{
	struct work *w = arg;
	struct vmp_row row = {
		.samples = s->second ? 0 : g->samples, .function = place->function, .module = place->module, .track = s->split[TRACK],
		.cause = s->split[CAUSE] & CAUSE_STRING, .side = side_of(w, s),
	};
	struct vmp_domain *d;
	uint32_t number;
	int err;

	err = process_of(w, s, place, &row);
	if (!err)
		err = domain_of(w, s->from.vm, &number);
	if (!err && w->need & VMP_KEY(VMP_COL_BUILD_ID))
		row.build_id = build_id_of(w, &s->from, place, g->addr, &err);
	if (!err)
		row.thread = thread_of(w, s, &err);
	if (err)
		return err;
	d = &w->p->domains.v[number];
	if (row.side < VMP_SIDE_STEAL || w->o->view != VMP_VIEW_TIME)
		vmp_totals_weigh(w->m, s, g, &row);
	vmp_totals_add(w->m, d, s, place, &row, !!(s->split[CAUSE] & ASIDE));
	if (s->split[CAUSE] & HELD_BACK || !matches(w, w->o->comm, row.comm) ||
	    !matches(w, w->o->module, row.module) || !vmp_filter_place(w->o->filter, w->p, d, &row))
		return 0;
	d->shown += row.samples;
	project(w, &row);
	return vmp_rows_add(&w->rows, number, &row);
}

/* ------------------------------------------------------------------ all */

/* A row with instructions alone has no share of time. */
static int part_timeless(struct vmp_domain *d)
{
	uint32_t i, n = 0;
	int err = 0;

	for (i = 0; i < d->rows.nr; i++) {
		if (d->rows.v[i].samples)
			d->rows.v[n++] = d->rows.v[i];
		else if (!err)
			err = vmp_vec_push(&d->timeless, d->rows.v[i]);
	}
	d->rows.nr = n;
	return err;
}

/* Leave out the domains that were not asked for. */
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
		if (keep)
			p->domains.v[n++] = *d;
		else
			vmp_vec_free(&d->rows);
	}
	p->domains.nr = n;
	for (i = 0; !err && i < n; i++)
		err = part_timeless(&p->domains.v[i]);
	return err;
}

static int prepare(struct work *w)
{
	struct vmp_strings *s = &w->m->strings;
	uint32_t i, d;
	int err = 0;

	w->s_steal = vmp_strings_add(s, "[steal]", 7, &err);
	w->s_none = vmp_strings_add(s, "-", 1, &err);
	w->s_in_guest = vmp_strings_add(s, "(in guest)", 10, &err);
	w->s_unknown = vmp_strings_add(s, "[unknown]", 9, &err);
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

/* Is there more to tell samples apart by than where they hit? */
static int splits(const struct work *w)
{
	const uint32_t keys = VMP_KEY(VMP_COL_VCPU) | VMP_KEY(VMP_COL_THREAD) | VMP_KEY(VMP_COL_EXIT) |
			      VMP_KEY(VMP_COL_THIEF);

	return w->need & keys || w->o->vcpu >= 0 || w->o->pid >= 0 || w->o->exit_reason || w->o->view;
}

int vmp_profile_create(struct vmp_profile **out, struct vmp_model *m, const struct vmp_options *o)
{
	struct work w = { .m = m, .o = o, .need = vmp_by(o) | vmp_filter_keys(o->filter) };
	const struct vmp_gather g = {
		.split = splits(&w) ? on_split : NULL,
		.see = o->view == VMP_VIEW_EXITS || o->view == VMP_VIEW_WAITERS ? see_guest : NULL,
		.thieves = o->view == VMP_VIEW_THIEVES,
		.threads = !!(w.need & VMP_KEY(VMP_COL_THREAD)),
		.weighted = o->weighted && !vmp_weigh_paired(m),
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
	if (!err)
		err = vmp_profile_order(w.p, o);
	if (err) {
		vmp_profile_destroy(w.p);
		return err;
	}
	*out = w.p;
	return 0;
}

int vmp_profile_counted(const struct vmp_profile *p)
{
	uint32_t i;

	for (i = 0; i < p->domains.nr; i++)
		if (p->domains.v[i].guest.instructions || p->domains.v[i].rest.instructions)
			return 1;
	return 0;
}

void vmp_profile_destroy(struct vmp_profile *p)
{
	uint32_t i;

	if (!p)
		return;
	for (i = 0; i < p->domains.nr; i++) {
		vmp_vec_free(&p->domains.v[i].rows);
		vmp_vec_free(&p->domains.v[i].timeless);
	}
	vmp_vec_free(&p->domains);
	free(p);
}
