// SPDX-License-Identifier: GPL-2.0-only
/* infer.c - processes of samples by what only one of them has mapped. */
#include "model/infer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX	65536	/* mappings and images that are looked at for one sample */

void vmp_infer_free(struct vmp_infer *in)
{
	vmp_vec_free(&in->known);
	vmp_vec_free(&in->maps);
	free(in->first_child);
	free(in->child);
	free(in->alive);
	free(in->children_alive);
}

/* ------------------------------------------------------------------ build */

static int is_ours(const struct vmp_space *s, uint32_t image)
{
	return s->epochs.v[s->procs.v[s->images.v[image].proc].epoch].without_cr3;
}

static int by_start(const void *pa, const void *pb)
{
	const struct vmp_infer_map *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->image < b->image ? -1 : a->image > b->image;
}

static int add_maps(struct vmp_infer *in, const struct vmp_space *s)
{
	uint64_t reach = 0;
	uint32_t i, k;

	for (i = 0; i < s->images.nr; i++) {
		for (k = 0; is_ours(s, i) && k < s->images.v[i].maps.nr; k++) {
			const struct vmp_map *m = &s->images.v[i].maps.v[k];
			const struct vmp_infer_map map = { m->start, m->end, 0, m->begin, i };

			if (vmp_vec_push(&in->maps, map))
				return -ENOMEM;
		}
	}
	if (in->maps.nr)
		qsort(in->maps.v, in->maps.nr, sizeof(*in->maps.v), by_start);
	for (i = 0; i < in->maps.nr; i++) {
		reach = in->maps.v[i].end > reach ? in->maps.v[i].end : reach;
		in->maps.v[i].reach = reach;
	}
	return 0;
}

/* Images are numbered in the order of their beginnings: a parent comes before its children, but one that was told of later (which has none of its own). */
static void link_children(struct vmp_infer *in, const struct vmp_space *s)
{
	uint32_t nr = s->images.nr, i, parent, *next = in->first_child;

	for (i = 0; i < nr; i++)
		if (s->images.v[i].parent != VMP_NONE)
			next[s->images.v[i].parent + 1]++;
	for (i = 0; i < nr; i++)
		next[i + 1] += next[i];
	for (i = nr; i--; ) {			/* backwards, so that each list begins where it should */
		parent = s->images.v[i].parent;
		in->alive[i] = in->alive[i] > s->images.v[i].end ? in->alive[i] : s->images.v[i].end;
		if (parent == VMP_NONE)
			continue;
		in->child[--next[parent + 1]] = i;
		if (in->alive[i] > in->alive[parent])
			in->alive[parent] = in->alive[i];
	}
	/* next[p + 1] is where the children of p begin now */
	memmove(next, next + 1, nr * sizeof(*next));
	next[nr] = 0;
	for (i = 0; i < nr; i++)
		next[nr] += s->images.v[i].parent != VMP_NONE;
}

static void sum_up_children(struct vmp_infer *in, const struct vmp_space *s)
{
	uint32_t i, k;

	for (i = 0; i < s->images.nr; i++) {
		uint64_t until = 0;

		for (k = in->first_child[i]; k < in->first_child[i + 1]; k++) {
			until = in->alive[in->child[k]] > until ? in->alive[in->child[k]] : until;
			in->children_alive[k] = until;
		}
	}
}

int vmp_infer_build(struct vmp_infer *in, const struct vmp_space *s, uint64_t grace)
{
	size_t nr = s->images.nr;

	in->grace = grace;
	if (!in->known.nr)
		return 0;
	in->first_child = calloc(nr + 1, sizeof(*in->first_child));
	in->child = calloc(nr + 1, sizeof(*in->child));
	in->alive = calloc(nr + 1, sizeof(*in->alive));
	in->children_alive = calloc(nr + 1, sizeof(*in->children_alive));
	if (!in->first_child || !in->child || !in->alive || !in->children_alive)
		return -ENOMEM;
	link_children(in, s);
	sum_up_children(in, s);
	return add_maps(in, s);
}

/* ------------------------------------------------------------------- find */

struct search {
	const struct vmp_infer *in;
	const struct vmp_space *s;
	uint64_t addr, tsc;
	uint32_t epoch;
	const struct vmp_map *map;	/* of found.image */
	struct vmp_inferred found;
	uint32_t steps;
	int differs;			/* they do not have the same there */
};

static int same_code(const struct vmp_map *a, const struct vmp_map *b)
{
	/* anonymous memory is everybody's own */
	return a->file && a->file == b->file && a->start - a->pgoff == b->start - b->pgoff;
}

static void candidate(struct search *q, uint32_t image)
{
	const struct vmp_image *im = &q->s->images.v[image];
	const struct vmp_map *map;

	if (image == q->found.image || q->s->procs.v[im->proc].epoch != q->epoch || im->begin > q->tsc + q->in->grace ||
	    (im->end < q->tsc && q->tsc - im->end > q->in->grace))
		return;
	map = vmp_space_map(q->s, image, vmp_space_version(q->s, image, q->tsc), q->addr);
	if (!map)
		return;
	if (q->found.image == VMP_NONE) {
		q->found.image = image;
		q->map = map;
		return;
	}
	if (!q->found.shared)
		q->found.shared = 2;
	if (im->comm != q->s->images.v[q->found.image].comm)
		q->found.shared = 1;
	q->differs |= !same_code(map, q->map);
}

/* An image and all that have its mappings by fork; deep families are given up on. */
static void family(struct search *q, uint32_t image, uint64_t map_begin, int depth)
{
	const struct vmp_infer *in = q->in;
	uint64_t until = q->tsc > in->grace ? q->tsc - in->grace : 0;
	uint32_t k;

	q->steps += depth > VMP_FORKS_MAX ? STEPS_MAX : 1;
	candidate(q, image);
	for (k = in->first_child[image + 1]; k-- > in->first_child[image] && q->steps < STEPS_MAX; ) {
		const struct vmp_image *child = &q->s->images.v[in->child[k]];

		if (in->children_alive[k] < until)
			break;		/* nor does one of the elder ones live */
		q->steps++;
		if (child->begin <= q->tsc + in->grace && child->fork_tsc + in->grace >= map_begin &&
		    in->alive[in->child[k]] >= until)
			family(q, in->child[k], map_begin, depth + 1);
	}
}

static uint32_t maps_up_to(const struct vmp_infer *in, uint64_t addr)
{
	uint32_t lo = 0, hi = in->maps.nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (in->maps.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int vmp_infer_known(const struct vmp_infer *in, uint64_t tsc)
{
	uint32_t i;

	for (i = 0; i < in->known.nr; i++)
		if (tsc >= in->known.v[i].from && tsc < in->known.v[i].to)
			return 1;
	return 0;
}

struct vmp_inferred vmp_infer_find(const struct vmp_infer *in, const struct vmp_space *s, uint64_t addr,
				   uint64_t tsc)
{
	const struct vmp_inferred nothing = { .image = VMP_NONE };
	struct search q = { .in = in, .s = s, .addr = addr, .tsc = tsc, .found = nothing,
			    .epoch = vmp_space_epoch_at(s, tsc) };
	uint32_t i;

	if (!vmp_infer_known(in, tsc))
		return nothing;
	for (i = maps_up_to(in, addr); i-- && q.steps < STEPS_MAX; q.steps++) {
		const struct vmp_infer_map *m = &in->maps.v[i];

		if (m->reach <= addr)
			break;
		if (m->end > addr && m->begin <= tsc + in->grace)
			family(&q, m->image, m->begin, 0);
	}
	return q.steps >= STEPS_MAX || q.differs ? nothing : q.found;
}

/* ------------------------------------------------------------------ learn */

/* What was learned of an image holds no more, and nothing will be. */
static void unlearn(struct vmp_infer *in, struct vmp_space *s, uint32_t image)
{
	if (s->images.v[image].doubtful)
		return;
	s->images.v[image].doubtful = 1;
	in->contradicted++;
	vmp_space_disown(s, image);
}

/* Another one that had the CR3 while this one lived, or VMP_NONE */
static uint32_t rival(const struct vmp_infer *in, const struct vmp_space *s, uint64_t cr3, uint32_t image)
{
	const struct vmp_image *im = &s->images.v[image], *other;
	const uint32_t *i = vmp_hash_find(&s->by_cr3, cr3);
	uint32_t k;

	for (k = 0; i && k < s->spans.v[*i].s.nr; k++) {
		other = &s->images.v[s->spans.v[*i].s.v[k].image];
		if (s->procs.v[other->proc].epoch == s->procs.v[im->proc].epoch &&
		    other->begin + in->grace < im->end && im->begin + in->grace < other->end)
			return s->spans.v[*i].s.v[k].image;
	}
	return VMP_NONE;
}

int vmp_infer_learn(struct vmp_infer *in, struct vmp_space *s, uint64_t cr3, uint64_t addr, uint64_t tsc)
{
	uint32_t epoch = vmp_space_epoch_at(s, tsc), other;
	struct vmp_inferred found;
	struct vmp_image *im;

	if (epoch == VMP_NONE || !s->epochs.v[epoch].without_cr3)
		return 0;
	found = vmp_infer_find(in, s, addr, tsc);
	cr3 &= s->epochs.v[epoch].cr3_mask;
	if (found.image == VMP_NONE || found.shared || !cr3)
		return 0;
	im = &s->images.v[found.image];
	if (im->doubtful || im->cr3 == cr3)
		return 0;
	other = im->cr3 ? found.image : rival(in, s, cr3, found.image);
	if (other != VMP_NONE) {
		unlearn(in, s, found.image);
		unlearn(in, s, other);
		return 0;
	}
	in->learned++;
	return vmp_space_own(s, cr3, found.image);
}
