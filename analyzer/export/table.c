// SPDX-License-Identifier: GPL-2.0-only
/* table.c - count, resolve each cell once, sort, merge; then the samples once more. */
#include "export/table.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/cells.h"
#include "export/order.h"
#include "model/hosttext.h"
#include "report/exits.h"
#include "report/render.h"

/* Numbers of things by what names them; no padding */
struct key {
	uint32_t what, a, b, c;
	uint64_t addr;
};

enum { KEY_DOMAIN, KEY_TASK, KEY_TRACK, KEY_MAPPING, KEY_SITE };

struct work {
	struct vmp_table *t;
	struct vmp_model *m;
	const struct vmp_choice *choice;
	struct vmp_hash by_key;
	VMP_VEC(struct key) keys;	/* of all things ... */
	VMP_VEC(uint32_t) numbers;	/* ... their numbers */
};

/* ------------------------------------------------------------- numbering */

/* The thing's number; @next when it has none yet. */
static int number_of(struct work *w, const struct key *k, uint32_t next, uint32_t *out)
{
	uint64_t sum = vmp_hash_bytes(k, sizeof(*k));
	uint32_t *i;

	for (; (i = vmp_hash_find(&w->by_key, sum)); sum++) {
		if (!memcmp(&w->keys.v[*i], k, sizeof(*k))) {
			*out = w->numbers.v[*i];
			return 0;
		}
	}
	if (vmp_vec_push(&w->keys, *k) || vmp_vec_push(&w->numbers, next) ||
	    vmp_hash_set(&w->by_key, sum, w->keys.nr - 1))
		return -ENOMEM;
	*out = next;
	return 0;
}

/* Number of the thing named by a key; @new is appended when there is none yet. */
#define NUMBER(w, vec, new, out, ...) __extension__ ({ \
	struct key k_ = { __VA_ARGS__ }; \
	int err_ = number_of(w, &k_, (vec)->nr, out); \
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

/* Code in files is known by file and offset and resolved once; the rest by address. */
static int site_of(struct work *w, const struct vmp_origin *o, uint64_t addr, uint32_t *out)
{
	struct vmp_site site = { .mapping = VMP_NONE, .address = addr, .offset = addr };
	struct vmp_place place;
	uint32_t vm = vmp_origin_is_guest(o->kind) ? o->vm : VMP_NONE;
	int err = mapping_of(w, o, addr, &site.mapping, &site.offset);

	if (!err && site.mapping != VMP_NONE) {
		site.address = w->t->mappings.v[site.mapping].bias + site.offset;
		err = NUMBER(w, &w->t->sites, site, out, KEY_SITE, site.mapping, 0, 0, site.offset);
		if (err || w->t->sites.v[*out].function)
			return err;
	}
	if (!err)
		err = vmp_origin_resolve(w->m, o, addr, &place);
	if (err)
		return err;
	site.function = place.function;
	site.module = place.module;
	site.why = place.why;
	if (site.mapping != VMP_NONE) {
		w->t->sites.v[*out] = site;
		return 0;
	}
	if (is_kernel(o->kind))
		err = kernel_mapping(w, vm, place.module, addr, &site.mapping);
	return err ? err : NUMBER(w, &w->t->sites, site, out, KEY_SITE, VMP_NONE - 1 - vm,
				  place.function, place.module, addr);
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

static int add_line(struct work *w, struct vmp_cell *cell)
{
	const struct vmp_group *g = &w->t->cells->groups.v[cell->group];
	struct vmp_line line = { .side = vmp_origin_side(g->from.kind), .sum = cell->sum };
	const struct vmp_site *site;
	struct vmp_place place;
	struct vmp_owner owner;
	uint32_t domain;
	int err;

	cell->line = VMP_NONE;
	if (!wanted_group(w, g))
		return 0;
	err = site_of(w, &g->from, cell->addr, &line.site);
	if (err)
		return err;
	site = &w->t->sites.v[line.site];
	place = (struct vmp_place){ site->function, site->module, site->why };
	err = vmp_origin_owner(w->m, &g->from, &place, &owner);
	if (err || !wanted(w, g, &owner))
		return err;
	err = domain_of(w, g->from.vm, &domain);
	if (!err)
		err = task_of(w, domain, &owner, &line.task);
	if (!err)
		err = track_of(w, domain, g, &line.track);
	if (!err)
		err = exit_of(w, g, &line.exit);
	if (err)
		return err;
	cell->line = w->t->lines.nr;
	return vmp_vec_push(&w->t->lines, line);
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
	for (i = 0; !err && i < t->cells->cells.nr; i++)
		err = add_line(&w, &t->cells->cells.v[i]);
	vmp_hash_free(&w.by_key);
	vmp_vec_free(&w.keys);
	vmp_vec_free(&w.numbers);
	if (!err)
		err = vmp_table_sort(t);
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

/* ----------------------------------------------------------- second reading */

struct again {
	struct vmp_table *t;
	struct vmp_order order;
	int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line);
	void *arg;
};

static uint64_t tsc_ns(const struct vmp_table *t, uint64_t ticks)
{
	uint32_t khz = t->model->header.tsc_khz;

	return khz ? (uint64_t)((__uint128_t)ticks * 1000000 / khz) : ticks;
}

static int on_moment(void *arg, const struct vmp_moment *m)
{
	const struct again *a = arg;
	uint64_t start = a->t->model->header.tsc;

	return a->fn(a->arg, tsc_ns(a->t, m->tsc > start ? m->tsc - start : 0),
		     &a->t->lines.v[m->line]);
}

static int on_sample_again(void *arg, const struct vmprof_sample *s)
{
	struct again *a = arg;
	uint32_t cell;
	int err = vmp_cells_find(a->t->cells, a->t->model, s, &cell);

	if (err || cell == VMP_NONE)
		return err;
	cell = a->t->cells->cells.v[cell].line;
	return cell == VMP_NONE ? 0 : vmp_order_add(&a->order, s->tsc, cell);
}

int vmp_table_samples(struct vmp_table *t, uint64_t *late,
		      int (*fn)(void *arg, uint64_t ns, const struct vmp_line *line), void *arg)
{
	struct again a = { .t = t, .fn = fn, .arg = arg };
	int err;

	vmp_order_init(&a.order, on_moment, &a);
	err = vmp_model_samples(t->model, on_sample_again, &a);
	if (!err)
		err = vmp_order_flush(&a.order);
	*late = a.order.late;
	vmp_order_deinit(&a.order);
	return err;
}

/* ------------------------------------------------------------------- words */

uint64_t vmp_table_interval_ns(const struct vmp_table *t)
{
	const struct vmp_model *m = t->model;
	uint64_t samples = 0, ns = 0;
	uint32_t i;

	if (!strcmp(vmp_model_name(m, m->meta.trigger), "timer"))
		ns = m->meta.period;
	else if (!strcmp(vmp_model_name(m, m->meta.event), "cycles"))
		ns = tsc_ns(t, m->meta.period);
	for (i = 0; !ns && i < t->domains.nr; i++)
		samples += t->domains.v[i].sum.samples;
	if (!ns && samples)
		ns = tsc_ns(t, m->last_tsc - m->first_tsc) / samples * t->tracks.nr;
	return ns ? ns : 1;
}

const char *vmp_table_domain_name(const struct vmp_table *t, uint32_t domain)
{
	const struct vmp_table_domain *d = &t->domains.v[domain];

	return d->vm == VMP_NONE ? "[host]" : vmp_table_str(t, d->name);
}

const char *vmp_table_comm(const struct vmp_table *t, const struct vmp_line *line)
{
	const struct vmp_task *task = &t->tasks.v[line->task];

	if (task->comm || task->pid != VMP_NONE)
		return vmp_table_str(t, task->comm);
	return line->side == VMP_SIDE_STEAL ? "[steal]" : "[idle]";
}

const char *vmp_table_build_id(char *buf, const struct vmp_table *t, const struct vmp_mapping *map)
{
	const struct vmp_file *f;
	uint32_t i;

	*buf = 0;
	if (map->file == VMP_NONE)
		return buf;
	f = &t->model->vms.v[map->vm].files.v[map->file];
	for (i = 0; i < f->build_id_len; i++)
		snprintf(buf + 2 * i, 3, "%02x", f->build_id[i]);
	return buf;
}

const char *vmp_track_name(char *buf, const struct vmp_track *track)
{
	static const char *const kind[] = {
		[VMP_TRACK_VCPU] = "vCPU", [VMP_TRACK_THREAD] = "thread", [VMP_TRACK_PCPU] = "pCPU",
	};

	snprintf(buf, VMP_TRACK_NAME_MAX, "%s %u", kind[track->kind], track->id);
	return buf;
}
