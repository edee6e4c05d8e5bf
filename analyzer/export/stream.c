// SPDX-License-Identifier: GPL-2.0-only
/*
 * stream.c - what waits for its turn is a group and an address; names are looked up when it leaves.
 *
 * Copies of branches, which are much larger, have a pool of their own.
 */
#include "export/stream.h"

#include <string.h>

#include "export/cells.h"
#include "export/order.h"
#include "model/lbr.h"
#include "report/gather.h"

#define WAITING_MAX	(1U << 18)	/* samples held back; each may have a copy of its branches */
#define SPOTS		(1U << 16)
#define SPOT_SHIFT	7		/* of an address: what is looked for in one place */

struct copy {
	struct vmp_lbr lbr;
	uint32_t next;		/* of free ones: the next free one + 1 */
};

/* All that a group knows */
struct known {
	struct vmp_whose whose, idle;	/* of idle tasks, which are nobody's process */
	int wanted, idle_known, idle_wanted;
	uint32_t origin;		/* the first group of the same origin */
};

/* A function that was found, so far as addresses are the same */
struct spot {
	uint64_t start, until;	/* until 0: empty */
	uint64_t add;		/* to an address, for where its file is mapped lowest */
	uint32_t origin, function, file;
	uint32_t note;		/* + 1; 0 none */
	int idle;
};

/* A file, where it is mapped lowest of all places in which samples were taken; no padding */
struct low_key {
	uint32_t vm, file, path;
};

struct low {
	struct low_key key;
	uint64_t bias;
	struct vmp_file_place at;
};

/* Where the last branch was found: neighbours lie there, too */
struct near {
	uint32_t vm, image, version;
	uint64_t start, end, add;
};

struct stream {
	struct vmp_model *m;
	const struct vmp_choice *c;
	struct vmp_table clock;		/* no more than the model, for vmp_table_ns() */
	VMP_VEC(struct low) lows;
	struct vmp_hash by_file, by_origin, by_note;
	struct vmp_cells cells;		/* groups only */
	VMP_VEC(struct known) known;	/* by group */
	VMP_VEC(char *) notes;
	struct spot *spots;
	struct vmp_order order;
	VMP_VEC(struct copy) copies;
	uint32_t free_copy;
	struct near near;
	const struct vmp_stream_to *to;
};

/* ------------------------------------------------------ where files are mapped lowest */

static struct low *find_low(struct stream *st, const struct low_key *key, uint64_t *sum)
{
	uint32_t *i;

	for (*sum = vmp_hash_bytes(key, sizeof(*key)); (i = vmp_hash_find(&st->by_file, *sum)); (*sum)++)
		if (!memcmp(&st->lows.v[*i].key, key, sizeof(*key)))
			return &st->lows.v[*i];
	return NULL;
}

static struct low_key key_of(const struct vmp_file_place *f)
{
	return (struct low_key){ f->vm, f->file, f->path };
}

static int on_place(void *arg, const struct vmp_gather_space *space, const struct vmp_place *place,
		    const struct vmp_gathered *g)
{
	struct stream *st = arg;
	struct vmp_file_place f;
	struct vmp_owner owner;
	struct low new, *low;
	uint64_t sum;
	int err;

	if ((space->from.vm == VMP_NONE && !st->c->all_host) || !vmp_file_at(st->m, &space->from, g->addr, &f))
		return 0;
	err = vmp_origin_owner(st->m, &space->from, place, &owner);
	if (err || !vmp_chosen_owner(st->m, st->c, &space->from, &owner))
		return err;
	new = (struct low){ key_of(&f), vmp_file_bias(&f), f };
	low = find_low(st, &new.key, &sum);
	if (!low)
		return vmp_hash_set(&st->by_file, sum, st->lows.nr) || vmp_vec_push(&st->lows, new) ? -ENOMEM : 0;
	if (new.bias < low->bias)
		*low = new;
	return 0;
}

/* The lowest stays the lowest */
static void on_restart(void *arg)
{
	(void)arg;
}

/* What is added to addresses of a mapping; nothing where no sample was taken in its file */
static uint64_t shift_of(struct stream *st, const struct vmp_file_place *f)
{
	const struct low_key key = key_of(f);
	uint64_t sum;
	const struct low *low = find_low(st, &key, &sum);

	return low ? low->bias + f->pgoff - f->start : 0;
}

/* --------------------------------------------------------------------- whose it is */

static struct vmp_whose whose_of(const struct stream *st, const struct vmp_group *g, const struct vmp_owner *o)
{
	return (struct vmp_whose){
		.vm = g->from.vm, .comm = o->comm, .pid = o->pid,
		.tid = g->thread ? st->m->vms.v[g->from.vm].seen.tasks.v[g->thread - 1].tid : VMP_NONE,
		.track_kind = g->track_kind, .track_id = g->track_id, .side = vmp_origin_side(g->from.kind),
	};
}

/* The first group of the same origin: what is at an address is the same for all of them */
static int origin_of(struct stream *st, uint32_t group, uint32_t *first)
{
	const struct vmp_origin *from = &st->cells.groups.v[group].from;
	uint64_t sum;
	uint32_t *i;

	for (sum = vmp_hash_bytes(from, sizeof(*from)); (i = vmp_hash_find(&st->by_origin, sum)); sum++)
		if (!memcmp(&st->cells.groups.v[*i].from, from, sizeof(*from)))
			break;
	*first = i ? *i : group;
	return i ? 0 : vmp_hash_set(&st->by_origin, sum, group);
}

static int learn_group(struct stream *st, uint32_t group)
{
	const struct vmp_group *g = &st->cells.groups.v[group];
	const struct vmp_place none = { .why = VMP_WHY_NO_OBJECT };	/* not an idle function */
	struct known new = { .wanted = vmp_chosen_group(st->m, st->c, g) };
	struct vmp_owner owner;
	int err = vmp_origin_owner(st->m, &g->from, &none, &owner);

	if (!err)
		err = origin_of(st, group, &new.origin);
	if (err)
		return err;
	new.whose = whose_of(st, g, &owner);
	/* an idle task may be wanted where others are not */
	new.idle_wanted = new.wanted && g->from.kind == VMP_KIND_GUEST_KERNEL;
	new.wanted = new.wanted && vmp_chosen_owner(st->m, st->c, &g->from, &owner);
	return vmp_vec_push(&st->known, new);
}

/* Of idle tasks, when the first one is met */
static int learn_idle(struct stream *st, uint32_t group)
{
	const struct vmp_group *g = &st->cells.groups.v[group];
	const struct vmp_place place = { .why = VMP_WHY_OK, .idle = 1 };
	struct known *k = &st->known.v[group];
	struct vmp_owner owner;
	int err = vmp_origin_owner(st->m, &g->from, &place, &owner);

	if (err)
		return err;
	k->idle = whose_of(st, g, &owner);
	k->idle_wanted = k->idle_wanted && vmp_chosen_owner(st->m, st->c, &g->from, &owner);
	k->idle_known = 1;
	return 0;
}

/* ------------------------------------------------------------------ what is there */

static int note_of(struct stream *st, uint32_t function, uint32_t file, uint32_t *note)
{
	uint64_t key = (uint64_t)function << 32 | file;
	uint32_t *i = vmp_hash_find(&st->by_note, key);
	char *none = NULL;

	*note = i ? *i : st->notes.nr + 1;
	return !i && (vmp_vec_push(&st->notes, none) || vmp_hash_set(&st->by_note, key, *note)) ? -ENOMEM : 0;
}

static int look_at(struct stream *st, struct spot *spot, uint32_t group, uint64_t addr)
{
	const struct vmp_origin *from = &st->cells.groups.v[group].from;
	struct vmp_place place = { 0 };
	struct vmp_file_place f;
	int err = vmp_origin_resolve(st->m, from, addr, &place), in_file;

	spot->until = 0;
	if (err)
		return err;
	in_file = vmp_file_at(st->m, from, addr, &f);
	spot->add = in_file ? shift_of(st, &f) : 0;
	spot->origin = st->known.v[group].origin;
	spot->function = place.function;
	spot->file = in_file ? f.path : place.module;
	spot->idle = place.idle;
	spot->note = 0;
	/* the name of an address is no other's */
	if (place.until || place.why == VMP_WHY_OK)
		err = note_of(st, spot->function, spot->file, &spot->note);
	spot->start = addr;
	if (!err)
		spot->until = place.until > addr ? place.until : addr + 1;
	return err;
}

static int find_spot(struct stream *st, uint32_t group, uint64_t addr, struct spot **out)
{
	uint32_t origin = st->known.v[group].origin;
	struct spot *spot = &st->spots[vmp_hash_mix((addr >> SPOT_SHIFT) ^ (uint64_t)origin << 40) % SPOTS];

	*out = spot;
	return spot->origin == origin && addr >= spot->start && addr < spot->until ? 0 : look_at(st, spot, group, addr);
}

static int hand_out(struct stream *st, uint64_t tsc, uint32_t group, uint64_t addr, const struct vmp_lbr *lbr)
{
	struct vmp_streamed s = { .ns = vmp_table_ns(&st->clock, tsc), .lbr = lbr };
	struct spot *spot;
	int err = find_spot(st, group, addr, &spot), idle;

	if (err)
		return err;
	idle = spot->idle && st->cells.groups.v[group].from.kind == VMP_KIND_GUEST_KERNEL;
	if (idle && !st->known.v[group].idle_known)
		err = learn_idle(st, group);
	if (err || !(idle ? st->known.v[group].idle_wanted : st->known.v[group].wanted))
		return err;
	s.address = addr + spot->add;
	s.function = spot->function;
	s.file = spot->file;
	s.whose = idle ? &st->known.v[group].idle : &st->known.v[group].whose;
	s.note = spot->note ? &st->notes.v[spot->note - 1] : NULL;
	return st->to->sample(st->to->arg, &s);
}

/* --------------------------------------------------------------------- in order */

/* line is the group, more the number of the copy of its branches + 1, 0 it has none */
static int on_moment(void *arg, const struct vmp_moment *m)
{
	struct stream *st = arg;
	struct copy *c = m->more ? &st->copies.v[m->more - 1] : NULL;
	int err = hand_out(st, m->tsc, m->line, m->addr, c ? &c->lbr : NULL);

	if (c) {
		c->next = st->free_copy;
		st->free_copy = m->more;
	}
	return err;
}

/* A branch's address of the guest, as those of samples */
static uint64_t shown(struct stream *st, const struct vmp_origin *from, uint64_t addr)
{
	struct vmp_file_place f;
	struct near *n = &st->near;

	if (!vmp_origin_is_guest(from->kind) || from->image == VMP_NONE || !addr || addr >> 63)
		return addr;
	if (n->vm != from->vm || n->image != from->image || n->version != from->version || addr < n->start ||
	    addr >= n->end) {
		if (!vmp_guest_file_at(st->m, from, addr, &f))
			return addr;
		*n = (struct near){ from->vm, from->image, from->version, addr, f.same, shift_of(st, &f) };
	}
	return addr + n->add;
}

static int copy_branches(struct stream *st, const struct vmp_origin *from, const struct vmp_lbr *lbr, uint32_t *number)
{
	static const struct copy new;
	struct copy *c;
	unsigned int i;

	if (!st->free_copy) {
		if (vmp_vec_push(&st->copies, new))
			return -ENOMEM;
		st->free_copy = st->copies.nr;
	}
	*number = st->free_copy;
	c = &st->copies.v[*number - 1];
	st->free_copy = c->next;
	c->lbr = *lbr;
	for (i = 0; i < lbr->nr; i++) {
		c->lbr.b[i].from = shown(st, from, lbr->b[i].from);
		c->lbr.b[i].to = shown(st, from, lbr->b[i].to);
	}
	return 0;
}

static int on_sample(void *arg, const struct vmp_lbr_sample *ls)
{
	struct vmp_moment new = { .tsc = ls->s->tsc };
	struct stream *st = arg;
	uint32_t group;
	int err;

	if (ls->s->hdr.type != VMPROF_REC_SAMPLE)
		return 0;
	err = vmp_cells_group(&st->cells, st->m, ls->s, &group, &new.addr);
	if (err || group == VMP_NONE)
		return err;
	if (group == st->known.nr)
		err = learn_group(st, group);
	/* the kernel's may be an idle task's, which has another process */
	if (err || (!st->known.v[group].wanted && !st->known.v[group].idle_wanted))
		return err;
	new.line = group;
	if (ls->lbr)
		err = copy_branches(st, &st->cells.groups.v[group].from, ls->lbr, &new.more);
	return err ? err : vmp_order_add(&st->order, &new);
}

int vmp_stream(struct vmp_model *m, const struct vmp_choice *c, uint64_t *late, const struct vmp_stream_to *to)
{
	struct stream st = {
		.m = m, .c = c, .clock = { .model = m }, .to = to,
		.cells = { .all_host = c->all_host, .threads = c->threads },
	};
	const struct vmp_gather lowest = { .place = on_place, .restart = on_restart, .arg = &st };
	uint32_t i;
	int err = vmp_gather(m, &lowest);

	vmp_order_init(&st.order, on_moment, &st);
	st.order.limit = WAITING_MAX;
	st.spots = calloc(SPOTS, sizeof(*st.spots));
	if (!st.spots)
		err = -ENOMEM;
	for (i = 0; !err && to->mapped && i < st.lows.nr; i++)
		to->mapped(to->arg, &st.lows.v[i].at);
	if (!err)
		err = vmp_model_lbr_samples(m, on_sample, &st);
	if (!err)
		err = vmp_order_flush(&st.order);
	*late = st.order.late;
	for (i = 0; i < st.known.nr; i++) {
		free(st.known.v[i].whose.note);
		free(st.known.v[i].idle.note);
	}
	for (i = 0; i < st.notes.nr; i++)
		free(st.notes.v[i]);
	vmp_vec_free(&st.notes);
	vmp_vec_free(&st.known);
	vmp_vec_free(&st.lows);
	vmp_hash_free(&st.by_file);
	vmp_hash_free(&st.by_origin);
	vmp_hash_free(&st.by_note);
	vmp_cells_free(&st.cells);
	free(st.spots);
	vmp_order_deinit(&st.order);
	vmp_vec_free(&st.copies);
	return err;
}
