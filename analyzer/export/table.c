// SPDX-License-Identifier: GPL-2.0-only
/*
 * table.c - count, draft the lines; sorting makes them (sort.c).
 *
 * Sums are counted in threads, which hand out functions (report/gather.h).  Where single samples will be
 * asked for, each (group, address) is kept, to find the line of a sample again.
 */
#include "export/table.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"
#include "report/exits.h"
#include "report/gather.h"

/* Numbers of things by what names them; no padding */
struct key {
	uint32_t what, a, b, c;
	uint64_t addr;
};

enum { KEY_DOMAIN, KEY_TASK, KEY_TRACK, KEY_MAPPING, KEY_SITE, KEY_EXIT, KEY_NR };

/* What the lines of a group have in common */
struct group_line {
	enum { GROUP_NEW, GROUP_OPEN, GROUP_SKIPPED } state;
	int wanted;
	uint32_t thread;		/* as in struct vmp_group */
	struct vmp_draft draft;		/* but for site, cell and sum */
};

/* The site that a function was found at last */
struct latest {
	uint32_t site;			/* + 1; 0 none */
	uint32_t where, module;
	uint64_t offset;		/* with addresses; else 0 */
};

struct work {
	struct vmp_table *t;
	struct vmp_model *m;
	const struct vmp_choice *choice;
	VMP_VEC(struct group_line) groups;	/* of sums, by gather's note - 1 */
	uint32_t site;				/* of the place of the last draft; VMP_NONE: not known yet */
	uint64_t before_site;			/* that place's addresses less their offsets */
	VMP_VEC(struct vmp_draft) drafts;
	struct vmp_hash by_key[KEY_NR];		/* a table each: most of them are small */
	VMP_VEC(struct key) keys[KEY_NR];	/* by the thing's number */
	VMP_VEC(struct latest) latest;		/* by string number */
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

/* @thread: as in struct vmp_group */
static int task_of(struct work *w, uint32_t domain, uint32_t vm, uint32_t thread, const struct vmp_owner *o,
		   uint32_t *out)
{
	struct vmp_task task = { domain, o->comm, o->pid, VMP_NONE, 0, VMP_NONE, 0 };
	const struct vmp_guest_task *t;
	uint64_t more;

	if (thread) {
		t = &w->m->vms.v[vm].seen.tasks.v[thread - 1];
		task.tid = t->tid;
		task.thread = t->comm;
	}
	more = (uint64_t)task.tid << 32 | task.thread;
	if (w->choice->containers) {
		task.nspid = o->nspid;
		task.cgroup = o->cgroup;
		more = (uint64_t)task.nspid << 32 | task.cgroup;
	}
	return NUMBER(w, &w->t->tasks, task, out, KEY_TASK, domain, o->comm, o->pid, more);
}

static int track_of(struct work *w, uint32_t domain, const struct vmp_group *g, uint32_t *out)
{
	struct vmp_track track = { domain, g->track_kind, g->track_id };

	return NUMBER(w, &w->t->tracks, track, out, KEY_TRACK, domain, g->track_kind, g->track_id);
}

static int file_mapping(struct work *w, const struct vmp_file_place *f, uint32_t *out)
{
	struct vmp_mapping new = {
		.vm = f->vm, .path = f->path, .file = f->file, .low = f->pgoff, .high = f->pgoff + (f->end - f->start),
		.bias = vmp_file_bias(f),
	}, *m;
	int err = NUMBER(w, &w->t->mappings, new, out, KEY_MAPPING, f->vm, f->file, f->path);

	if (err)
		return err;
	m = &w->t->mappings.v[*out];
	if (new.low < m->low)
		m->low = new.low;
	if (new.high > m->high)
		m->high = new.high;
	if (new.bias < m->bias)
		m->bias = new.bias;
	return 0;
}

static int kernel_mapping(struct work *w, uint32_t vm, uint32_t module, uint32_t *out)
{
	struct vmp_mapping new = { .vm = vm, .path = module, .file = VMP_NONE, .kernel = 1, .low = UINT64_MAX };

	return NUMBER(w, &w->t->mappings, new, out, KEY_MAPPING, vm, VMP_NONE, module, 1);
}

/* The file that an address lies in; VMP_NONE none */
static int mapping_of(struct work *w, const struct vmp_origin *o, uint64_t addr, uint32_t *out,
		      uint64_t *offset)
{
	struct vmp_file_place f;

	*out = VMP_NONE;
	if (!vmp_file_at(w->m, o, addr, &f))
		return 0;
	*offset = addr - f.start + f.pgoff;
	return file_mapping(w, &f, out);
}

static int is_kernel(uint32_t kind)
{
	return kind == VMP_KIND_GUEST_KERNEL || kind == VMP_KIND_VMM_KERNEL ||
	       kind == VMP_KIND_OTHER_KERNEL;
}

/* Most functions are one site, and that is found without the table. */
static int number_site(struct work *w, const struct vmp_site *site, uint32_t where, uint32_t *out)
{
	uint64_t offset = w->choice->addresses ? site->offset : 0;
	struct key k = { KEY_SITE, where, site->function, site->module, offset };
	struct latest none = { 0 }, *latest;
	int err;

	while (w->latest.nr <= site->function)
		if (vmp_vec_push(&w->latest, none))
			return -ENOMEM;
	latest = &w->latest.v[site->function];
	if (latest->site && latest->where == where && latest->module == site->module && latest->offset == offset) {
		*out = latest->site - 1;
		return 0;
	}
	err = number_of(w, &k, out);
	if (!err && *out == w->t->sites.nr && vmp_vec_push(&w->t->sites, *site))
		err = -ENOMEM;
	if (!err)
		*latest = (struct latest){ *out + 1, where, site->module, offset };
	return err;
}

/* Where the time of an address goes: its code ... */
static int site_of(struct work *w, const struct vmp_origin *o, uint64_t addr, const struct vmp_place *place)
{
	struct vmp_site site = {
		.function = place->function, .module = place->module, .mapping = VMP_NONE, .why = place->why,
		.offset = addr,
	};
	uint32_t vm = vmp_origin_is_guest(o->kind) ? o->vm : VMP_NONE, where;
	int err = mapping_of(w, o, addr, &site.mapping, &site.offset);

	if (!err && site.mapping == VMP_NONE && is_kernel(o->kind))
		err = kernel_mapping(w, vm, place->module, &site.mapping);
	where = site.mapping == VMP_NONE ? VMP_NONE - 1 - vm : site.mapping;
	w->before_site = addr - site.offset;
	return err ? err : number_site(w, &site, where, &w->site);
}

static int exit_of(struct work *w, const struct vmp_group *g, uint32_t *out)
{
	char buf[VMP_EXIT_NAME_MAX];
	const char *name;
	uint32_t str = 0;
	int err = 0;

	if (g->has_exit) {
		name = vmp_exit_name(buf, g->vendor, g->exit_code);
		str = vmp_strings_add(&w->m->strings, name, strlen(name), &err);
	}
	return err ? err : NUMBER(w, &w->t->exits, str, out, KEY_EXIT, str);
}

/* --------------------------------------------------------------- choosing */

/* ... and all that its group knows; once a group */
static int open_group(struct work *w, const struct vmp_group *g, struct group_line *out)
{
	struct vmp_place none = { .why = VMP_WHY_NO_OBJECT };	/* not an idle function */
	struct vmp_owner owner;
	uint32_t domain;
	int err;

	out->state = GROUP_SKIPPED;
	/* before anything of another domain gets into the tables */
	if (!vmp_chosen_group(w->m, w->choice, g))
		return 0;
	err = vmp_origin_owner(w->m, &g->from, &none, &owner);
	if (!err)
		err = domain_of(w, g->from.vm, &domain);
	out->wanted = vmp_chosen_owner(w->m, w->choice, &g->from, &owner);
	if (!err && out->wanted)
		err = task_of(w, domain, g->from.vm, g->thread, &owner, &out->draft.task);
	if (!err)
		err = track_of(w, domain, g, &out->draft.track);
	if (!err)
		err = exit_of(w, g, &out->draft.exit);
	out->thread = g->thread;
	out->draft.side = vmp_origin_side(g->from.kind);
	out->state = GROUP_OPEN;
	return err;
}

/* Idle tasks of a guest are nobody's process, whatever the group's is. */
static int idle_task(struct work *w, const struct vmp_origin *from, uint32_t thread, const struct vmp_place *place,
		     int *is_wanted, uint32_t *task)
{
	struct vmp_owner owner;
	uint32_t domain;
	int err = vmp_origin_owner(w->m, from, place, &owner);

	*is_wanted = !err && vmp_chosen_owner(w->m, w->choice, from, &owner);
	if (err || !*is_wanted)
		return err;
	err = domain_of(w, from->vm, &domain);
	return err ? err : task_of(w, domain, from->vm, thread, &owner, task);
}

/* @cell: number of what is summed up, where single samples are asked for */
static int add_draft(struct work *w, const struct vmp_origin *from, const struct group_line *group,
		     const struct vmp_place *place, const struct vmp_cell *sum, uint32_t cell)
{
	struct vmp_draft draft = group->draft;
	int err = 0, is_wanted = group->wanted;
	struct vmp_site *site;

	if (from->kind == VMP_KIND_GUEST_KERNEL && place->why == VMP_WHY_OK &&
	    vmp_is_idle_function(vmp_model_name(w->m, place->function)))
		err = idle_task(w, from, group->thread, place, &is_wanted, &draft.task);
	if (err || !is_wanted)
		return err;
	if (w->site == VMP_NONE)
		err = site_of(w, from, sum->addr, place);
	if (err)
		return err;
	site = &w->t->sites.v[w->site];
	if (sum->addr - w->before_site < site->offset)	/* a function goes by its first address that was met */
		site->offset = sum->addr - w->before_site;
	draft.site = w->site;
	draft.cell = cell;
	draft.sum = sum->sum;
	return vmp_vec_push(&w->drafts, draft);
}

/* -------------------------------------------------------- sums in threads */

/* What a group has besides its origin, in gather's words: kind of track, has an exit, vendor, track; exit */
#define KIND_SHIFT	30
#define EXIT_SHIFT	29
#define VENDOR_SHIFT	27
#define VENDOR_MAX	3
#define ID_MAX		((1U << VENDOR_SHIFT) - 1)

static int on_split(void *arg, struct vmp_model *m, const struct vmprof_sample *s,
		    const struct vmp_origin *from, uint32_t split[2])
{
	struct vmp_group g = { .from = *from };
	struct work *w = arg;

	vmp_group_of(&g, m, s);
	split[0] = g.track_kind << KIND_SHIFT | g.has_exit << EXIT_SHIFT | (g.vendor & VENDOR_MAX) << VENDOR_SHIFT |
		   (g.track_id < ID_MAX ? g.track_id : ID_MAX);
	split[1] = g.exit_code;
	if (s->flags & VMPROF_SF_COUNTS || vmp_weigh_paired(m))
		__atomic_store_n(&w->t->counted, 1, __ATOMIC_RELAXED);
	return 0;
}

static struct vmp_group group_of(const struct vmp_gather_space *s)
{
	return (struct vmp_group){
		.from = s->from, .track_kind = s->split[0] >> KIND_SHIFT, .track_id = s->split[0] & ID_MAX,
		.has_exit = s->split[0] >> EXIT_SHIFT & 1, .vendor = s->split[0] >> VENDOR_SHIFT & VENDOR_MAX,
		.exit_code = s->split[1], .thread = s->thread,
	};
}

static int open_sum(struct work *w, const struct vmp_gather_space *s, uint32_t *note)
{
	const struct vmp_group g = group_of(s);
	struct group_line new = { .state = GROUP_SKIPPED };
	int err = g.from.vm == VMP_NONE && !w->choice->all_host ? 0 : open_group(w, &g, &new);

	if (!err)
		err = vmp_vec_push(&w->groups, new);
	*note = w->groups.nr;
	return err;
}

static int on_place(void *arg, const struct vmp_gather_space *s, const struct vmp_place *place,
		    const struct vmp_gathered *of)
{
	struct vmp_cell sum = {
		.addr = of->addr, .sum = { s->second ? 0 : of->samples, of->cycles, of->instructions },
	};
	struct work *w = arg;
	const struct group_line *group;
	int err = *of->note ? 0 : open_sum(w, s, of->note);

	if (err)
		return err;
	group = &w->groups.v[*of->note - 1];
	if (!of->again)
		w->site = VMP_NONE;
	return group->state == GROUP_SKIPPED ? 0 : add_draft(w, &s->from, group, place, &sum, VMP_NONE);
}

static void on_restart(void *arg)
{
	struct work *w = arg;

	w->drafts.nr = w->groups.nr = 0;
}

static int count_sums(struct work *w)
{
	const struct vmp_gather g = {
		.split = on_split, .place = on_place, .restart = on_restart, .arg = w, .weighted = 1,
		.by_address = w->choice->addresses, .threads = w->choice->threads,
	};

	return vmp_gather(w->m, &g);
}

/* --------------------------------------------------------- single samples */

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct vmp_table *t = arg;
	struct vmp_weight weight;
	struct vmp_sums sum;
	uint32_t cell;
	int err = vmp_cells_find(t->cells, t->model, s, &cell);

	if (err || cell == VMP_NONE)
		return err;
	t->counted |= (uint64_t)vmp_weigh(t->model, s, &weight);
	sum = (struct vmp_sums){
		.samples = s->hdr.type == VMPROF_REC_SAMPLE,
		.cycles = weight.cycles, .instructions = weight.instructions,
	};
	vmp_sums_add(&t->cells->cells.v[cell].sum, &sum);
	return 0;
}

static int count_cells(struct work *w)
{
	struct vmp_cells *c = w->t->cells;
	struct group_line *groups;
	uint32_t i;
	int err;

	c->all_host = w->choice->all_host;
	c->threads = w->choice->threads;
	err = vmp_model_samples(w->m, on_sample, w->t);
	groups = calloc(c->groups.nr + 1, sizeof(*groups));
	if (!err && !groups)
		err = -ENOMEM;
	for (i = 0; !err && i < c->cells.nr; i++) {
		const struct vmp_group *g = &c->groups.v[c->cells.v[i].group];
		struct group_line *group = &groups[c->cells.v[i].group];
		struct vmp_place place = { 0 };

		if (group->state == GROUP_NEW)
			err = open_group(w, g, group);
		if (err || group->state == GROUP_SKIPPED)
			continue;
		err = vmp_origin_resolve(w->m, &g->from, c->cells.v[i].addr, &place);
		w->site = VMP_NONE;
		if (!err)
			err = add_draft(w, &g->from, group, &place, &c->cells.v[i], i);
	}
	free(groups);
	return err;
}

/* -------------------------------------------------------------------- all */

/* A VM without a sample is in the table too. */
static int add_domains(struct work *w)
{
	uint32_t i, n;
	int err = 0;

	for (i = 0; !err && i < w->m->vms.nr; i++)
		if (!w->choice->domain || !fnmatch(w->choice->domain, vmp_model_name(w->m, w->m->vms.v[i].name), 0))
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
	t->choice = c;
	t->cells = calloc(1, sizeof(*t->cells));
	err = t->cells ? 0 : -ENOMEM;
	if (!err)
		err = add_domains(&w);
	if (!err)
		err = c->streamed ? 0 : c->samples ? count_cells(&w) : count_sums(&w);
	for (i = 0; i < KEY_NR; i++) {
		vmp_hash_free(&w.by_key[i]);
		vmp_vec_free(&w.keys[i]);
	}
	vmp_vec_free(&w.latest);
	vmp_vec_free(&w.groups);
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
	vmp_vec_free(&t->exits);
	vmp_vec_free(&t->lines);
	free(t);
}
