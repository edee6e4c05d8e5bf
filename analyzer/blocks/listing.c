// SPDX-License-Identifier: GPL-2.0-only
/* listing.c - which functions are meant, where they begin and end, and what is known of each instruction. */
#include "blocks/listing.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "blocks/placed.h"
#include "report/gather.h"
#include "util/bound.h"

/* Samples at a point */
struct hit {
	uint32_t point;
	uint64_t n;
};

struct work {
	struct vmp_set *set;
	const struct vmp_estimates *e;
	const char *function, *module;
	struct vmp_listings *out;
	VMP_VEC(struct hit) hits;
	struct vmp_hash by_start;	/* listings by object and where they begin */
	struct vmp_places at_hits, at_landings, blocks;	/* blocks by where they begin */
};

static int matches(const struct work *w, const struct vmp_point *p)
{
	const struct vmp_model *m = w->set->m;

	return !fnmatch(w->function, vmp_model_name(m, p->function), 0) &&
	       (!w->module || !fnmatch(w->module, vmp_model_name(m, p->module), 0));
}

/* ---------------------------------------------------------------- samples */

#define OTHER_VCPU	1U	/* split[0] of samples that are not of the vCPU that was asked for */

static int tell_vcpu(void *arg, struct vmp_model *m, const struct vmprof_sample *s, const struct vmp_origin *from,
		     uint32_t split[2])
{
	const struct work *w = arg;
	int vcpu = w->set->choice.vcpu;

	(void)from;
	split[0] = vcpu >= 0 && vmp_origin_vcpu(m, s) != (uint32_t)vcpu ? OTHER_VCPU : 0;
	return 0;
}

static int on_place(void *arg, const struct vmp_gather_space *s, const struct vmp_place *place,
		    const struct vmp_gathered *g)
{
	struct work *w = arg;
	struct hit hit = { .n = g->samples };
	uint32_t context;
	int err;

	(void)place;
	if (s->second || s->split[0] == OTHER_VCPU || s->from.kind == VMP_KIND_GUEST_NESTED || s->from.kind > VMP_KIND_VMM_USER ||
	    !vmp_set_wanted(w->set, &s->from))
		return 0;
	w->out->samples += g->samples;
	err = vmp_points_context(&w->set->points, &s->from, &context);
	if (!err)
		err = vmp_points_find(&w->set->points, context, g->addr, &hit.point);
	if (err || !matches(w, &w->set->points.points.v[hit.point]))
		return err;
	return vmp_vec_push(&w->hits, hit);
}

static void on_restart(void *arg)
{
	struct work *w = arg;

	w->hits.nr = 0;
	w->out->samples = 0;
}

/* -------------------------------------------------------------- functions */

/* Of a guest's kernel, whenever it had this function there */
static const struct vmp_symbol *kernel_symbol(struct vmp_kernel *k, const struct vmp_point *p)
{
	struct vmp_symbol *sym;
	struct vmp_symtab *t;
	uint64_t same;
	uint32_t era;

	for (era = 0; era < k->eras.nr; era++) {
		sym = vmp_kernel_find(k, era, p->addr, &t, &same);
		if (sym && t->shown[sym - t->sym.v] == p->function)
			return sym;
	}
	return NULL;
}

/* Bounds of the function at a point, in its object.  Return: 0, -ENOENT */
static int bounds(const struct work *w, const struct vmp_point *p, uint64_t *start, uint64_t *end)
{
	const struct vmp_object *o = &w->set->points.objects.v[p->object];
	const struct vmp_symbol *sym;

	if (o->code && !o->copy) {
		sym = vmp_elf_symbol(o->code, p->addr - o->slide);
	} else if (o->kernel && o->vm != VMP_NONE && o->file != VMP_NONE) {
		sym = kernel_symbol(&w->set->m->vms.v[o->vm].boots.v[o->file].kernel, p);
		if (!sym)
			return -ENOENT;
		*start = sym->start;
		*end = sym->end;
		return 0;
	} else {
		sym = o->kernel ? vmp_symtab_find(&w->set->m->host_ksyms, p->addr) : NULL;
	}
	if (!sym)
		return -ENOENT;
	*start = sym->start + o->slide;
	*end = sym->end + o->slide;
	return 0;
}

static int find_function(struct work *w, uint32_t point, uint32_t *out)
{
	const struct vmp_point *p = &w->set->points.points.v[point];
	struct vmp_listing new = { .object = p->object, .function = p->function, .module = p->module };
	const uint32_t *i;
	uint64_t sum;

	*out = VMP_NONE;
	if (p->object == VMP_NONE || bounds(w, p, &new.start, &new.end))
		return 0;
	for (sum = vmp_hash_mix(new.start) + new.object; (i = vmp_hash_find(&w->by_start, sum)); sum++) {
		*out = *i;
		if (w->out->list.v[*i].object == new.object && w->out->list.v[*i].start == new.start)
			return 0;
	}
	*out = w->out->list.nr;
	return vmp_vec_push(&w->out->list, new) || vmp_hash_set(&w->by_start, sum, *out) ? -ENOMEM : 0;
}

static int find_functions(struct work *w)
{
	uint32_t i, n;
	int err = 0;

	for (i = 0; !err && i < w->hits.nr; i++) {
		err = find_function(w, w->hits.v[i].point, &n);
		if (!err && n != VMP_NONE)
			w->out->list.v[n].samples += w->hits.v[i].n;
	}
	for (i = 0; !err && i < w->set->blocks.nr; i++)
		if (matches(w, &w->set->points.points.v[w->set->blocks.v[i].start]))
			err = find_function(w, w->set->blocks.v[i].start, &n);
	return err;
}

/* ------------------------------------------------------------ instructions */

static int decode(struct work *w, struct vmp_listing *l)
{
	const struct vmp_points *p = &w->set->points;
	struct vmp_listed x = { .addr = l->start };
	enum vmp_flow flow;
	const uint8_t *code;
	size_t len;

	code = vmp_points_code(p, l->object, l->start, &len);
	for (; code && x.addr < l->end; x.addr += x.bytes) {
		size_t at = x.addr - l->start;

		x.bytes = at < len ? vmp_decode_step(w->set->stepper.decoder, code + at, len - at, &flow) : 0;
		if (vmp_vec_push(&l->insns, x))
			return -ENOMEM;
		if (!x.bytes)
			break;
	}
	return 0;
}

struct sought {
	const struct vmp_listing *l;
	uint64_t addr;
};

static int lies_before(const void *arg, uint32_t insn)
{
	const struct sought *s = arg;

	return s->l->insns.v[insn].addr < s->addr;
}

/* Number of the first instruction at an address or behind it */
static uint32_t first_at(const struct vmp_listing *l, uint64_t addr)
{
	const struct sought s = { l, addr };

	return vmp_bound(l->insns.nr, lies_before, &s);
}

/* The instruction at an address, NULL: in the middle of one, or outside */
static struct vmp_listed *at(struct vmp_listing *l, uint64_t addr)
{
	uint32_t i = first_at(l, addr);

	return i < l->insns.nr && l->insns.v[i].addr == addr ? &l->insns.v[i] : NULL;
}

/* The one that holds a byte */
static struct vmp_listed *around(struct vmp_listing *l, uint64_t addr)
{
	uint32_t i = first_at(l, addr + 1);

	return i && addr < l->insns.v[i - 1].addr + l->insns.v[i - 1].bytes ? &l->insns.v[i - 1] : NULL;
}

static int index_all(struct work *w)
{
	const struct vmp_set *set = w->set;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->hits.nr; i++)
		err = vmp_places_add(&w->at_hits, &set->points, w->hits.v[i].point, i);
	for (i = 0; !err && i < set->landings.nr; i++)
		if (!set->landings.v[i].flaw)
			err = vmp_places_add_landing(&w->at_landings, set, i);
	for (i = 0; !err && i < set->blocks.nr; i++)
		err = vmp_places_add(&w->blocks, &set->points, set->blocks.v[i].start, i);
	vmp_places_sort(&w->at_hits);
	vmp_places_sort(&w->at_landings);
	vmp_places_sort(&w->blocks);
	return err;
}

/* What runs and samples of an instruction would be without each group of samples; what of its runs is in doubt besides */
struct without {
	double runs[VMP_GROUPS], landed[VMP_GROUPS];
	double runs_doubt, cycles_doubt;	/* sums of runs by a block's parts: its blocks err together */
};

/* Blocks that begin before the function may reach into it */
static void add_runs(const struct work *w, struct vmp_listing *l, struct without *without)
{
	uint64_t from = l->start > VMP_STRAIGHT_BYTES ? l->start - VMP_STRAIGHT_BYTES : 0;
	uint32_t i, k;
	int g;

	for (i = vmp_places_first(&w->blocks, l->object, from); vmp_places_until(&w->blocks, i, l->object, l->end); i++) {
		const struct vmp_block_code *b = &w->set->blocks.v[w->blocks.v[i].number];
		uint64_t end = w->set->points.points.v[b->end].addr;
		const struct vmp_estimate *e = &w->e->block[w->blocks.v[i].number];
		double runs = e->executions;

		if (isnan(runs))
			continue;
		for (k = first_at(l, w->blocks.v[i].addr); k < l->insns.nr && l->insns.v[k].addr <= end; k++) {
			l->insns.v[k].runs += runs;
			without[k].runs_doubt += runs * e->executions_doubt;
			without[k].cycles_doubt += runs * e->doubt;
			for (g = 0; g < VMP_GROUPS; g++)
				without[k].runs[g] += w->e->block_without[g] ?
					(double)w->e->block_without[g][w->blocks.v[i].number] : NAN;
		}
	}
}

/* Without a group there is so much less of everything: what is left stands for all. */
static void add_landed(const struct work *w, struct vmp_listed *x, struct without *without, uint32_t landing)
{
	const struct vmp_groups *n = &w->e->m->landings[landing];
	int g;

	x->landed += (uint64_t)vmp_groups_without(n, VMP_GROUPS);
	for (g = 0; g < VMP_GROUPS; g++)
		without->landed[g] += vmp_groups_without(n, g) * VMP_GROUPS / (VMP_GROUPS - 1);
}

static void add_samples(const struct work *w, struct vmp_listing *l, struct without *without)
{
	const struct vmp_places *p = &w->at_hits;
	struct vmp_listed *x;
	uint32_t i;

	for (i = vmp_places_first(p, l->object, l->start); vmp_places_until(p, i, l->object, l->end); i++) {
		x = at(l, p->v[i].addr);
		if (x)
			x->samples += w->hits.v[p->v[i].number].n;
	}
	p = &w->at_landings;
	for (i = vmp_places_first(p, l->object, l->start); vmp_places_until(p, i, l->object, l->end); i++) {
		x = around(l, p->v[i].addr);
		if (x)
			add_landed(w, x, &without[x - l->insns.v], p->v[i].number);
	}
}

static void take_cycles(const struct work *w, struct vmp_listing *l, const struct without *without)
{
	double cycles[VMP_GROUPS];
	uint32_t i;
	int g;

	for (i = 0; i < l->insns.nr; i++) {
		struct vmp_listed *x = &l->insns.v[i];

		x->cycles = x->cycles_error = x->runs_error = NAN;
		if (!(x->runs > 0) || !(w->e->period > 0))
			continue;
		for (g = 0; g < VMP_GROUPS; g++)
			cycles[g] = without[i].landed[g] * w->e->period / without[i].runs[g];
		x->cycles = (double)x->landed * w->e->period / x->runs;
		x->cycles_error = vmp_error_of(cycles);
		if ((double)x->landed < VMP_FEW_SAMPLES)
			x->cycles_error = fmax(x->cycles_error, vmp_few_error((double)x->landed, w->e->period, x->runs));
		x->cycles_error = hypot(x->cycles_error, x->cycles * without[i].cycles_doubt / x->runs);
		x->runs_error = hypot(vmp_error_of(without[i].runs), without[i].runs_doubt);
	}
}

static int count(struct work *w, struct vmp_listing *l)
{
	struct without *without = calloc((size_t)l->insns.nr + 1, sizeof(*without));

	if (!without)
		return -ENOMEM;
	add_runs(w, l, without);
	add_samples(w, l, without);
	take_cycles(w, l, without);
	free(without);
	return 0;
}

static int most_first(const void *pa, const void *pb, void *arg)
{
	const struct vmp_listing *a = pa, *b = pb;
	const struct vmp_set *set = arg;
	int d;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	d = strcmp(vmp_model_name(set->m, a->module), vmp_model_name(set->m, b->module));
	return d ? d : a->start < b->start ? -1 : a->start > b->start;
}

int vmp_listings_create(struct vmp_listings **out, struct vmp_set *set, const struct vmp_estimates *e,
			const char *function, const char *module)
{
	struct work w = { .set = set, .e = e, .function = function, .module = module };
	const struct vmp_gather g = { .split = tell_vcpu, .place = on_place, .restart = on_restart, .arg = &w, .by_address = 1 };
	uint32_t i;
	int err;

	w.out = calloc(1, sizeof(*w.out));
	if (!w.out)
		return -ENOMEM;
	err = vmp_gather(set->m, &g);
	if (!err)
		err = find_functions(&w);
	if (!err)
		err = index_all(&w);
	for (i = 0; !err && i < w.out->list.nr; i++) {
		struct vmp_listing *l = &w.out->list.v[i];

		err = decode(&w, l);
		if (!err)
			err = count(&w, l);
	}
	vmp_vec_free(&w.hits);
	vmp_hash_free(&w.by_start);
	vmp_vec_free(&w.at_hits);
	vmp_vec_free(&w.at_landings);
	vmp_vec_free(&w.blocks);
	if (err) {
		vmp_listings_destroy(w.out);
		return err;
	}
	if (w.out->list.nr)
		qsort_r(w.out->list.v, w.out->list.nr, sizeof(*w.out->list.v), most_first, set);
	*out = w.out;
	return 0;
}

void vmp_listings_destroy(struct vmp_listings *l)
{
	uint32_t i;

	if (!l)
		return;
	for (i = 0; i < l->list.nr; i++)
		vmp_vec_free(&l->list.v[i].insns);
	vmp_vec_free(&l->list);
	free(l);
}
