// SPDX-License-Identifier: GPL-2.0-only
/* gather.c - samples are counted by (space, address); each such cell is resolved once. */
#include "report/gather.h"

#include <string.h>

#include "report/exits.h"

struct space {
	struct vmp_gather_space key;
	uint64_t samples, by_timer, by_nmi;
};

struct cell {
	uint32_t space;
	struct vmp_gathered sum;
};

struct work {
	struct vmp_model *m;
	const struct vmp_gather *g;
	VMP_VEC(struct space) spaces;
	VMP_VEC(struct cell) cells;
	struct vmp_hash by_key, by_cell;
};

uint32_t vmp_gather_string(struct vmp_model *m, const char *s, int *err)
{
	return vmp_strings_add(&m->strings, s, strlen(s), err);
}

static int space_of(struct work *w, const struct vmp_gather_space *key, uint32_t *out)
{
	uint64_t sum = vmp_hash_bytes(key, sizeof(*key));
	struct space s = { .key = *key };
	uint32_t *i;

	for (; (i = vmp_hash_find(&w->by_key, sum)); sum++) {
		if (!memcmp(&w->spaces.v[*i].key, key, sizeof(*key))) {
			*out = *i;
			return 0;
		}
	}
	if (vmp_vec_push(&w->spaces, s) || vmp_hash_set(&w->by_key, sum, w->spaces.nr - 1))
		return -ENOMEM;
	*out = w->spaces.nr - 1;
	return 0;
}

static int cell_of(struct work *w, uint32_t space, uint64_t addr, struct cell **out)
{
	uint64_t key[] = { space, addr };
	struct cell c = { .space = space, .sum = { .addr = addr } };
	uint64_t sum = vmp_hash_bytes(key, sizeof(key));
	uint32_t *i;

	for (; (i = vmp_hash_find(&w->by_cell, sum)); sum++) {
		*out = &w->cells.v[*i];
		if ((*out)->space == space && (*out)->sum.addr == addr)
			return 0;
	}
	if (vmp_vec_push(&w->cells, c) || vmp_hash_set(&w->by_cell, sum, w->cells.nr - 1))
		return -ENOMEM;
	*out = &w->cells.v[w->cells.nr - 1];
	return 0;
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct vmp_gather_space key = { .split = { 0 } };
	struct work *w = arg;
	uint64_t addr = 0;
	struct cell *cell;
	uint32_t n;
	int err;

	err = vmp_origin_of(w->m, s, &key.from, &addr);
	if (!err && w->g->split)
		err = w->g->split(w->g->arg, w->m, s, &key.from, key.split);
	if (!err)
		err = space_of(w, &key, &n);
	if (!err)
		err = cell_of(w, n, addr, &cell);
	if (err)
		return err;
	w->spaces.v[n].samples++;
	w->spaces.v[n].by_timer += !!(s->flags & VMPROF_SF_TIMER);
	if (vmp_origin_is_guest(key.from.kind))
		w->spaces.v[n].by_nmi += vmp_exit_nmi(s->vendor, s->exit_reason, s->exit_intr_info);
	cell->sum.samples++;
	cell->sum.cycles += s->cycles;
	cell->sum.instructions += s->instructions;
	return 0;
}

static int hand_out(struct work *w)
{
	struct vmp_place place;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < w->cells.nr; i++) {
		const struct cell *c = &w->cells.v[i];
		const struct vmp_gather_space *key = &w->spaces.v[c->space].key;

		memset(&place, 0, sizeof(place));
		err = vmp_origin_resolve(w->m, &key->from, c->sum.addr, &place);
		if (!err)
			err = w->g->place(w->g->arg, key, &place, &c->sum);
	}
	for (i = 0; !err && w->g->space && i < w->spaces.nr; i++)
		err = w->g->space(w->g->arg, &w->spaces.v[i].key, w->spaces.v[i].samples,
				  w->spaces.v[i].by_timer, w->spaces.v[i].by_nmi);
	return err;
}

int vmp_gather(struct vmp_model *m, const struct vmp_gather *g)
{
	struct work w = { .m = m, .g = g };
	int err;

	err = vmp_model_samples(m, on_sample, &w);
	if (!err)
		err = hand_out(&w);
	vmp_vec_free(&w.spaces);
	vmp_vec_free(&w.cells);
	vmp_hash_free(&w.by_key);
	vmp_hash_free(&w.by_cell);
	return err;
}
