// SPDX-License-Identifier: GPL-2.0-only
/* table.c - count, resolve each cell once, draft the lines; sorting makes them (sort.c). */
#include "export/table.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"
#include "model/hosttext.h"
#include "report/exits.h"

/* Numbers of things by what names them; no padding */
struct key {
	uint32_t what, a, b, c;
	uint64_t addr;
};

enum { KEY_DOMAIN, KEY_TASK, KEY_TRACK, KEY_MAPPING, KEY_SITE, KEY_NR };

/* What the lines of a group have in common */
struct group_line {
	enum { GROUP_NEW, GROUP_OPEN, GROUP_SKIPPED } state;
	int wanted;
	struct vmp_draft draft;		/* but for site and cell */
};

struct work {
	struct vmp_table *t;
	struct vmp_model *m;
	const struct vmp_choice *choice;
	struct group_line *groups;
	VMP_VEC(struct vmp_draft) drafts;
	struct vmp_hash by_key[KEY_NR];		/* a table each: most of them are small */
	VMP_VEC(struct key) keys[KEY_NR];	/* by the thing's number */
};

/* ------------------------------------------------------------- numbering */

/* The thing's number; the next one when it has none yet */
static int number_of(struct work *w, const struct key *k, uint32_t *out)
{
	struct vmp_hash *by_key = &w->by_key[k->what];
	uint64_t sum = vmp_hash_bytes(k, sizeof(*k));
	uint32_t *i;

	for (; (i = vmp_hash_find(by_key, sum)); sum++) {
		if (!memcmp(&w->keys[k->what].v[*i], k, sizeof(*k))) {
			*out = *i;
			return 0;
		}
	}
	*out = w->keys[k->what].nr;
	return vmp_vec_push(&w->keys[k->what], *k) || vmp_hash_set(by_key, sum, *out) ? -ENOMEM : 0;
}

/* Number of the thing named by a key; @new is appended when there is none yet. */
#define NUMBER(w, vec, new, out, ...) __extension__ ({ \
	struct key k_ = { __VA_ARGS__ }; \
	int err_ = number_of(w, &k_, out); \
	if (!err_ && *(out) == (vec)->nr && vmp_vec_push(vec, new)) \
		err_ = -ENOMEM; \
	err_; })

static int domain_of(struct work *w, uint32_t vm, uint32_t *out)
{
	struct vmp_table_domain d = { .vm = vm };

	if (vm != VMP_NONE)
		d.name = w->m->vms.v[vm].name;
	return NUMBER(w, &w->t->domains, d, out, KEY_DOMAIN, vm);
}

static int task_of(struct work *w, uint32_t domain, const struct vmp_owner *o, uint32_t *out)
{
	struct vmp_task task = { domain, o->comm, o->pid };

	return NUMBER(w, &w->t->tasks, task, out, KEY_TASK, domain, o->comm, o->pid);
}

static int track_of(struct work *w, uint32_t domain, const struct vmp_group *g, uint32_t *out)
{
	struct vmp_track track = { domain, g->track_kind, g->track_id };

	return NUMBER(w, &w->t->tracks, track, out, KEY_TRACK, domain, g->track_kind, g->track_id);
}

/* A file mapped at @start with file offset @pgoff */
static int file_mapping(struct work *w, uint32_t vm, uint32_t file, uint32_t path, uint64_t start,
			uint64_t end, uint64_t pgoff, uint32_t *out)
{
	struct vmp_mapping new = {
		.vm = vm, .path = path, .file = file, .low = pgoff, .high = pgoff + (end - start),
		.bias = start >= pgoff ? start - pgoff : 0,
	}, *m;
	int err = NUMBER(w, &w->t->mappings, new, out, KEY_MAPPING, vm, file, path);

	if (err)
		return err;
	m = &w->t->mappings.v[*out];
	if (new.low < m->low)
		m->low = new.low;
	if (new.high > m->high)
		m->high = new.high;
	return 0;
}

static int kernel_mapping(struct work *w, uint32_t vm, uint32_t module, uint64_t addr, uint32_t *out)
{
	struct vmp_mapping new = {
		.vm = vm, .path = module, .file = VMP_NONE, .kernel = 1, .low = addr, .high = addr + 1,
	}, *m;
	int err = NUMBER(w, &w->t->mappings, new, out, KEY_MAPPING, vm, VMP_NONE, module, 1);

	if (err)
		return err;
	m = &w->t->mappings.v[*out];
	if (addr < m->low)
		m->low = addr;
	if (addr >= m->high)
		m->high = addr + 1;
	return 0;
}

/* The file that an address lies in; VMP_NONE none */
static int mapping_of(struct work *w, const struct vmp_origin *o, uint64_t addr, uint32_t *out,
		      uint64_t *offset)
{
	const struct vmp_host_map *hm;
	struct vmp_machine *vm;
	const struct vmp_map *gm;

	*out = VMP_NONE;
	if (o->kind == VMP_KIND_GUEST_USER && o->image != VMP_NONE) {
		vm = &w->m->vms.v[o->vm];
		gm = vmp_space_map(&vm->space, o->image, o->version, addr);
		if (!gm || gm->file == VMP_FILE_ANON)
			return 0;
		*offset = addr - gm->start + gm->pgoff;
		return file_mapping(w, o->vm, gm->file, vm->files.v[gm->file].path, gm->start, gm->end,
				    gm->pgoff, out);
	}
	if (o->kind == VMP_KIND_VMM_USER || o->kind == VMP_KIND_OTHER_USER) {
		hm = vmp_host_map(vmp_host_proc(w->m, o->tgid), addr);
		if (!hm || !hm->path)
			return 0;
		*offset = addr - hm->start + hm->pgoff;
		return file_mapping(w, VMP_NONE, VMP_NONE, hm->path, hm->start, hm->end, hm->pgoff, out);
	}
	return 0;
}

static int is_kernel(uint32_t kind)
{
	return kind == VMP_KIND_GUEST_KERNEL || kind == VMP_KIND_VMM_KERNEL ||
	       kind == VMP_KIND_OTHER_KERNEL;
}

/* Where a cell's time goes: its code ... */
static int site_of(struct work *w, const struct vmp_origin *o, uint64_t addr, const struct vmp_place *place,
		   uint32_t *out)
{
	struct vmp_site site = {
		.function = place->function, .module = place->module, .mapping = VMP_NONE, .why = place->why,
		.address = addr, .offset = addr,
	}, *known;
	uint32_t vm = vmp_origin_is_guest(o->kind) ? o->vm : VMP_NONE, where;
	int err = mapping_of(w, o, addr, &site.mapping, &site.offset);

	if (!err && site.mapping != VMP_NONE)
		site.address = w->t->mappings.v[site.mapping].bias + site.offset;
	else if (!err && is_kernel(o->kind))
		err = kernel_mapping(w, vm, place->module, addr, &site.mapping);
	where = site.mapping == VMP_NONE ? VMP_NONE - 1 - vm : site.mapping;
	if (!err)
		err = NUMBER(w, &w->t->sites, site, out, KEY_SITE, where, place->function, place->module,
			     w->choice->addresses ? site.offset : 0);
	if (err)
		return err;
	known = &w->t->sites.v[*out];
	if (site.offset < known->offset) {	/* a function goes by its first address that was met */
		known->offset = site.offset;
		known->address = site.address;
	}
	return 0;
}

static int exit_of(struct work *w, const struct vmp_group *g, uint32_t *out)
{
	char buf[VMP_EXIT_NAME_MAX];
	const char *name;
	int err = 0;

	*out = 0;
	if (g->has_exit) {
		name = vmp_exit_name(buf, g->vendor, g->exit_code);
		*out = vmp_strings_add(&w->m->strings, name, strlen(name), &err);
	}
	return err;
}

/* --------------------------------------------------------------- choosing */

static int matches(const struct work *w, const char *pattern, uint32_t str)
{
	return !pattern || !fnmatch(pattern, vmp_model_name(w->m, str), 0);
}

/* Before anything of another domain gets into the tables */
static int wanted_group(const struct work *w, const struct vmp_group *g)
{
	const struct vmp_choice *c = w->choice;

	if (g->from.vm == VMP_NONE ? !!c->domain : !matches(w, c->domain, w->m->vms.v[g->from.vm].name))
		return 0;
	return c->vcpu < 0 || (g->track_kind == VMP_TRACK_VCPU && g->track_id == (uint32_t)c->vcpu);
}

static int wanted(const struct work *w, const struct vmp_group *g, const struct vmp_owner *owner)
{
	const struct vmp_choice *c = w->choice;

	if (c->pid >= 0 && (!vmp_origin_is_guest(g->from.kind) || owner->pid != c->pid))
		return 0;
	return matches(w, c->comm, owner->comm);
}

/* ... and all that its group knows; once a group */
static int open_group(struct work *w, const struct vmp_group *g, struct group_line *out)
{
	struct vmp_place none = { .why = VMP_WHY_NO_OBJECT };	/* not an idle function */
	struct vmp_owner owner;
	uint32_t domain;
	int err;

	out->state = GROUP_SKIPPED;
	if (!wanted_group(w, g))
		return 0;
	err = vmp_origin_owner(w->m, &g->from, &none, &owner);
	if (!err)
		err = domain_of(w, g->from.vm, &domain);
	out->wanted = wanted(w, g, &owner);
	if (!err && out->wanted)
		err = task_of(w, domain, &owner, &out->draft.task);
	if (!err)
		err = track_of(w, domain, g, &out->draft.track);
	if (!err)
		err = exit_of(w, g, &out->draft.exit);
	out->draft.side = vmp_origin_side(g->from.kind);
	out->state = GROUP_OPEN;
	return err;
}

/* Idle tasks of a guest are nobody's process, whatever the group's is. */
static int idle_task(struct work *w, const struct vmp_group *g, const struct vmp_place *place,
		     int *is_wanted, uint32_t *task)
{
	struct vmp_owner owner;
	uint32_t domain;
	int err = vmp_origin_owner(w->m, &g->from, place, &owner);

	*is_wanted = !err && wanted(w, g, &owner);
	if (err || !*is_wanted)
		return err;
	err = domain_of(w, g->from.vm, &domain);
	return err ? err : task_of(w, domain, &owner, task);
}

static int add_draft(struct work *w, uint32_t number)
{
	struct vmp_cell *cell = &w->t->cells->cells.v[number];
	const struct vmp_group *g = &w->t->cells->groups.v[cell->group];
	struct group_line *group = &w->groups[cell->group];
	struct vmp_place place = { 0 };
	struct vmp_draft draft;
	int err = 0, is_wanted;

	if (group->state == GROUP_NEW)
		err = open_group(w, g, group);
	if (err || group->state == GROUP_SKIPPED)
		return err;
	draft = group->draft;
	draft.cell = number;
	is_wanted = group->wanted;
	err = vmp_origin_resolve(w->m, &g->from, cell->addr, &place);
	if (!err && g->from.kind == VMP_KIND_GUEST_KERNEL && place.why == VMP_WHY_OK &&
	    vmp_is_idle_function(vmp_model_name(w->m, place.function)))
		err = idle_task(w, g, &place, &is_wanted, &draft.task);
	if (err || !is_wanted)
		return err;
	err = site_of(w, &g->from, cell->addr, &place, &draft.site);
	return err ? err : vmp_vec_push(&w->drafts, draft);
}

/* -------------------------------------------------------------------- all */

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct vmp_table *t = arg;
	struct vmp_sums *sum;
	uint32_t cell;
	int err = vmp_cells_find(t->cells, t->model, s, &cell);

	if (err || cell == VMP_NONE)
		return err;
	sum = &t->cells->cells.v[cell].sum;
	sum->samples++;
	if (s->flags & VMPROF_SF_COUNTS) {
		sum->cycles += s->cycles;
		sum->instructions += s->instructions;
		t->counted++;
	}
	return 0;
}

/* A VM without a sample is in the table too. */
static int add_domains(struct work *w)
{
	uint32_t i, n;
	int err = 0;

	for (i = 0; !err && i < w->m->vms.nr; i++)
		if (matches(w, w->choice->domain, w->m->vms.v[i].name))
			err = domain_of(w, i, &n);
	return err;
}

static void add_totals(struct vmp_table *t)
{
	uint32_t i;

	for (i = 0; i < t->lines.nr; i++) {
		const struct vmp_line *l = &t->lines.v[i];
		struct vmp_table_domain *d = &t->domains.v[t->tasks.v[l->task].domain];

		d->side[l->side] += l->sum.samples;
		vmp_sums_add(&d->sum, &l->sum);
	}
}

int vmp_table_create(struct vmp_table **out, struct vmp_model *m, const struct vmp_choice *c)
{
	struct work w = { .m = m, .choice = c };
	struct vmp_table *t = calloc(1, sizeof(*t));
	uint32_t i;
	int err;

	if (!t)
		return -ENOMEM;
	w.t = t;
	t->model = m;
	t->cells = calloc(1, sizeof(*t->cells));
	err = t->cells ? 0 : -ENOMEM;
	if (!err) {
		t->cells->all_host = c->all_host;
		err = vmp_model_samples(m, on_sample, t);
	}
	if (!err)
		err = add_domains(&w);
	w.groups = calloc(t->cells ? t->cells->groups.nr + 1 : 1, sizeof(*w.groups));
	if (!err && !w.groups)
		err = -ENOMEM;
	for (i = 0; !err && i < t->cells->cells.nr; i++)
		err = add_draft(&w, i);
	free(w.groups);
	for (i = 0; i < KEY_NR; i++) {
		vmp_hash_free(&w.by_key[i]);
		vmp_vec_free(&w.keys[i]);
	}
	if (!err)
		err = vmp_table_sort(t, w.drafts.v, w.drafts.nr);
	vmp_vec_free(&w.drafts);
	if (err) {
		vmp_table_destroy(t);
		return err;
	}
	add_totals(t);
	*out = t;
	return 0;
}

void vmp_table_destroy(struct vmp_table *t)
{
	if (!t)
		return;
	if (t->cells)
		vmp_cells_free(t->cells);
	free(t->cells);
	vmp_vec_free(&t->domains);
	vmp_vec_free(&t->tasks);
	vmp_vec_free(&t->tracks);
	vmp_vec_free(&t->mappings);
	vmp_vec_free(&t->sites);
	vmp_vec_free(&t->lines);
	free(t);
}
