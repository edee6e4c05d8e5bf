// SPDX-License-Identifier: GPL-2.0-only
/* lookup.c - ask the address-space history: owner of a CR3, mapping of an address. */
#include "model/space.h"

#include <string.h>

#define CUTS_MAX	1024	/* maps of an image that are compared with each other */

uint32_t vmp_space_epoch_at(const struct vmp_space *s, uint64_t tsc)
{
	uint32_t lo = 1, hi = s->epochs.nr, mid;

	if (!hi)
		return VMP_NONE;
	while (lo < hi) {	/* the first begins with time itself */
		mid = lo + (hi - lo) / 2;
		if (s->epochs.v[mid].begin <= tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static void narrow(struct vmp_tsc_span *valid, uint64_t from, uint64_t to)
{
	if (from > valid->from)
		valid->from = from;
	if (to < valid->to)
		valid->to = to;
}

uint32_t vmp_space_owner_span(const struct vmp_space *s, uint64_t cr3, uint64_t tsc, struct vmp_tsc_span *valid)
{
	uint32_t e = vmp_space_epoch_at(s, tsc), lo = 0, hi, mid;
	const struct vmp_cr3_spans *sp;
	const uint32_t *i;

	if (e == VMP_NONE)
		return VMP_NONE;
	narrow(valid, e ? s->epochs.v[e].begin : 0,
	       e + 1 < s->epochs.nr ? s->epochs.v[e + 1].begin : UINT64_MAX);
	i = vmp_hash_find(&s->by_cr3, cr3 & s->epochs.v[e].cr3_mask);
	if (!i)
		return VMP_NONE;
	sp = &s->spans.v[*i];
	for (hi = sp->s.nr; lo < hi; ) {	/* first span that begins behind tsc */
		mid = lo + (hi - lo) / 2;
		if (sp->s.v[mid].begin <= tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	narrow(valid, lo ? sp->s.v[lo - 1].begin : 0, lo < sp->s.nr ? sp->s.v[lo].begin : UINT64_MAX);
	/* what an earlier boot had there is gone */
	if (!lo || s->procs.v[s->images.v[sp->s.v[lo - 1].image].proc].epoch != e)
		return VMP_NONE;
	return sp->s.v[lo - 1].image;
}

uint32_t vmp_space_owner(const struct vmp_space *s, uint64_t cr3, uint64_t tsc)
{
	struct vmp_tsc_span all = { 0, UINT64_MAX };

	return vmp_space_owner_span(s, cr3, tsc, &all);
}

static int conflict(const struct vmp_map *a, const struct vmp_map *b)
{
	return a->start < b->end && b->start < a->end &&
	       (a->file != b->file || a->flags != b->flags ||
		a->start - a->pgoff != b->start - b->pgoff);
}

/*
 * Cuts are where a map comes to lie over a different one.  The work is
 * bounded: an image with more maps than CUTS_MAX gets no cuts.
 */
static void make_cuts(struct vmp_image *im)
{
	uint32_t i, k;

	for (i = 1; i < im->maps.nr; i++) {
		for (k = 0; k < i && im->maps.nr <= CUTS_MAX; k++)
			if (conflict(&im->maps.v[k], &im->maps.v[i]))
				break;
		/* without memory for a cut, later maps win for the whole time */
		if (k < i && (!im->cuts.nr || im->cuts.v[im->cuts.nr - 1] != im->maps.v[i].begin) &&
		    vmp_vec_push(&im->cuts, im->maps.v[i].begin))
			return;
	}
}

void vmp_space_finish(struct vmp_space *s)
{
	uint32_t i;

	for (i = 0; i < s->images.nr; i++)
		make_cuts(&s->images.v[i]);
}

int vmp_space_cut(struct vmp_space *s, uint32_t image, uint64_t tsc)
{
	struct vmp_image *im = &s->images.v[image];
	uint32_t i = im->cuts.nr;

	while (i && im->cuts.v[i - 1] > tsc)
		i--;
	if (i && im->cuts.v[i - 1] == tsc)
		return 0;
	if (vmp_vec_push(&im->cuts, tsc))
		return -ENOMEM;
	memmove(&im->cuts.v[i + 1], &im->cuts.v[i], (im->cuts.nr - 1 - i) * sizeof(tsc));
	im->cuts.v[i] = tsc;
	return 0;
}

uint64_t vmp_space_until(const struct vmp_space *s, uint32_t image, uint32_t version)
{
	const struct vmp_image *im = &s->images.v[image];

	return version < im->cuts.nr ? im->cuts.v[version] : UINT64_MAX;
}

uint32_t vmp_space_version_span(const struct vmp_space *s, uint32_t image, uint64_t tsc,
				struct vmp_tsc_span *valid)
{
	const struct vmp_image *im = &s->images.v[image];
	uint32_t lo = 0, hi, mid;

	for (hi = im->cuts.nr; lo < hi; ) {
		mid = lo + (hi - lo) / 2;
		if (im->cuts.v[mid] <= tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	narrow(valid, lo ? im->cuts.v[lo - 1] : 0, lo < im->cuts.nr ? im->cuts.v[lo] : UINT64_MAX);
	return lo;
}

uint32_t vmp_space_version(const struct vmp_space *s, uint32_t image, uint64_t tsc)
{
	struct vmp_tsc_span all = { 0, UINT64_MAX };

	return vmp_space_version_span(s, image, tsc, &all);
}

/* The latest map over @addr that began before @until, else the first one after; @same: to
   where that may hold is lowered */
static const struct vmp_map *map_in(const struct vmp_image *im, uint64_t addr, uint64_t until,
				    uint64_t *same)
{
	const struct vmp_map *after = NULL;
	uint32_t i;

	for (i = im->maps.nr; i--; ) {
		const struct vmp_map *m = &im->maps.v[i];

		if (m->start > addr && m->start < *same)
			*same = m->start;
		if (addr < m->start || addr >= m->end)
			continue;
		if (m->end < *same)
			*same = m->end;
		if (m->begin < until)
			return m;
		after = m;
	}
	return after;
}

const struct vmp_map *vmp_space_map_until(const struct vmp_space *s, uint32_t image, uint32_t version,
					  uint64_t addr, uint64_t *same)
{
	const struct vmp_image *im = &s->images.v[image];
	uint64_t until = vmp_space_until(s, image, version);
	const struct vmp_map *m;
	int n;

	*same = UINT64_MAX;
	m = map_in(im, addr, until, same);
	for (n = 0; !m && im->parent != VMP_NONE && n < VMP_FORKS_MAX; n++) {
		until = im->fork_tsc;
		im = &s->images.v[im->parent];
		/* a map seen only after the fork (in a snapshot) may be older than it */
		m = map_in(im, addr, until, same);
	}
	return m;
}

const struct vmp_map *vmp_space_map(const struct vmp_space *s, uint32_t image, uint32_t version, uint64_t addr)
{
	uint64_t same;

	return vmp_space_map_until(s, image, version, addr, &same);
}

int vmp_space_each_map(const struct vmp_space *s, uint32_t image, uint32_t file,
		       int (*fn)(void *arg, const struct vmp_map *map), void *arg)
{
	const struct vmp_image *im;
	uint32_t i;
	int n, err = 0;

	for (n = 0; image != VMP_NONE && n <= VMP_FORKS_MAX; n++, image = im->parent) {
		im = &s->images.v[image];
		for (i = 0; i < im->maps.nr && !err; i++)
			if (im->maps.v[i].file == file)
				err = fn(arg, &im->maps.v[i]);
	}
	return err;
}
