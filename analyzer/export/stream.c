// SPDX-License-Identifier: GPL-2.0-only
/*
 * stream.c - what waits for its turn is a group and an address; names are looked up when it leaves.
 *
 * Copies of branches, which are much larger, have a pool of their own.  Whose these are is
 * told as for blocks: what is not known to be the sample's process's is no address of a file;
 * nor has what does not fit the code an address.
 */
#include "export/stream.h"

#include <string.h>

#include "blocks/window.h"
#include "export/cells.h"
#include "export/fits.h"
#include "export/order.h"
#include "model/lbr.h"
#include "report/gather.h"

#define WAITING_MAX	(1U << 18)	/* samples held back; each may have a copy of its branches */
#define SPOTS		(1U << 16)
#define SPOT_SHIFT	7		/* of an address: what is looked for in one place */

struct copy {
	struct vmp_lbr lbr;
	uint8_t lack[VMP_LACK_NR];	/* how many of its branches lack an address, or are left out */
	uint32_t next;		/* of free ones: the next free one + 1 */
};

/* All that a group knows */
struct known {
	struct vmp_whose whose, idle;	/* of idle tasks, which are nobody's process */
	int wanted, idle_known, idle_wanted;
	uint32_t origin;		/* the first group of the same origin */
	uint32_t kernel;		/* context of its kernel */
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
	struct vmp_origin user;
	uint64_t start, end, add;	/* end 0: empty */
	enum vmp_lack lack;
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
	struct vmp_points points;	/* for where kernels switch tasks */
	struct vmp_fits fits;
	uint64_t *lack;
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

/* What is added to addresses of a mapping.  Return: 1; 0 where no sample was taken in its file. */
static int shift_of(struct stream *st, const struct vmp_file_place *f, uint64_t *add)
{
	const struct low_key key = key_of(f);
	uint64_t sum;
	const struct low *low = find_low(st, &key, &sum);

	*add = low ? low->bias + f->pgoff - f->start : 0;
	return !!low;
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

/* All of one boot have one kernel, whoever runs on it */
static int kernel_of(struct stream *st, const struct vmp_origin *from, uint32_t *kernel)
{
	const struct vmp_origin any = {
		.kind = vmp_origin_is_guest(from->kind) ? VMP_KIND_GUEST_USER : VMP_KIND_VMM_USER,
		.vm = from->vm, .epoch = from->epoch, .image = VMP_NONE,
	};
	uint32_t context;
	int err = vmp_points_context(&st->points, &any, &context);

	if (!err)
		*kernel = st->points.contexts.v[context].kernel;
	return err;
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
	if (!err)
		err = kernel_of(st, &g->from, &new.kernel);
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
	spot->add = 0;
	if (in_file)
		shift_of(st, &f, &spot->add);
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

static int hand_out(struct stream *st, uint64_t tsc, uint32_t group, uint64_t addr, const struct copy *c)
{
	struct vmp_streamed s = { .ns = vmp_table_ns(&st->clock, tsc), .lbr = c ? &c->lbr : NULL };
	struct spot *spot;
	int err = find_spot(st, group, addr, &spot), idle, i;

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
	for (i = 0; c && i < VMP_LACK_NR; i++)
		st->lack[i] += c->lack[i];
	return st->to->sample(st->to->arg, &s);
}

/* --------------------------------------------------------------------- in order */

/* line is the group, more the number of the copy of its branches + 1, 0 it has none */
static int on_moment(void *arg, const struct vmp_moment *m)
{
	struct stream *st = arg;
	struct copy *c = m->more ? &st->copies.v[m->more - 1] : NULL;
	int err = hand_out(st, m->tsc, m->line, m->addr, c);

	if (c) {
		c->next = st->free_copy;
		st->free_copy = m->more;
	}
	return err;
}

/* Whose user code is among a sample's branches, whichever side it was taken on; nobody's where that is not known */
static struct vmp_origin user_of(const struct stream *st, const struct vmp_origin *from, const struct vmprof_sample *s)
{
	struct vmp_origin user = { .vm = from->vm, .kind = from->kind, .image = VMP_NONE };

	if (from->kind == VMP_KIND_GUEST_NESTED)
		return user;
	if (!vmp_origin_is_guest(from->kind)) {
		user.kind = VMP_KIND_OTHER_USER;
		user.tgid = s->host_pid;
		return user;
	}
	user.kind = VMP_KIND_GUEST_USER;
	/* an image that others share is known of the sample's address, not of its branches */
	if (from->image == VMP_NONE || from->shared)
		return user;
	user.image = from->image;
	user.version = vmp_space_version(&st->m->vms.v[from->vm].space, from->image, s->tsc);
	return user;
}

static void look_near(struct stream *st, const struct vmp_origin *user, uint64_t addr)
{
	struct near *n = &st->near;
	struct vmp_file_place f;

	*n = (struct near){ .user = *user, .start = addr, .end = addr + 1, .lack = VMP_LACK_FILE };
	if (!vmp_file_at(st->m, user, addr, &f))
		return;
	n->end = f.same;
	n->lack = shift_of(st, &f, &n->add) ? VMP_LACK_NR : VMP_LACK_SAMPLES;
}

/*
 * A branch's address as those of samples; 0 where that is not known: what is no file's would
 * lie in one, as those are mapped for readers.  Return: why, or VMP_LACK_NR.
 */
static enum vmp_lack show(struct stream *st, const struct vmp_origin *user, int own, uint64_t *addr)
{
	const struct near *n = &st->near;
	enum vmp_lack lack;

	if (!*addr || (*addr >> 63 && user->kind != VMP_KIND_GUEST_NESTED))
		return VMP_LACK_NR;
	if (!own) {
		lack = VMP_LACK_SWITCHED;
	} else if (user->kind == VMP_KIND_GUEST_NESTED ||
		   (user->kind == VMP_KIND_GUEST_USER && user->image == VMP_NONE)) {
		lack = VMP_LACK_OWNER;
	} else {
		if (memcmp(&n->user, user, sizeof(*user)) || *addr < n->start || *addr >= n->end)
			look_near(st, user, *addr);
		lack = n->lack;
	}
	*addr = lack == VMP_LACK_NR ? *addr + n->add : 0;
	return lack;
}

/* The same of one that is shown so far, by @fit */
static enum vmp_lack fitting(enum vmp_lack lack, enum vmp_lack fit, uint64_t *addr)
{
	if (!*addr || fit == VMP_LACK_NR)
		return lack;
	*addr = 0;
	return fit;
}

/*
 * The branches of which an end is known.  The 0 at the other one keeps readers from taking what
 * lies between it and the next branch for code that ran straight on.
 */
static int copy_known(struct stream *st, const struct vmp_group *g, uint32_t kernel, const struct vmp_lbr_sample *ls,
		      struct copy *c)
{
	const struct vmp_origin user = user_of(st, &g->from, ls->s);
	unsigned int own = vmp_window_own(&st->points, kernel, ls->lbr), i;
	struct vmp_fit fit[VMPROF_LBR_MAX];
	int err = vmp_fits_look(&st->fits, ls, fit);

	memset(c->lack, 0, sizeof(c->lack));
	c->lbr = *ls->lbr;
	c->lbr.nr = 0;
	for (i = 0; !err && i < ls->lbr->nr; i++) {
		struct vmp_branch b = ls->lbr->b[i];
		enum vmp_lack from = fitting(show(st, &user, i < own, &b.from), fit[i].from, &b.from);
		enum vmp_lack to = fitting(show(st, &user, i < own, &b.to), fit[i].to, &b.to);
		enum vmp_lack lack = from < to ? from : to;

		if (lack != VMP_LACK_NR)
			c->lack[lack]++;
		if (lack == VMP_LACK_NR || b.from || b.to)
			c->lbr.b[c->lbr.nr++] = b;
	}
	return err;
}

static int copy_branches(struct stream *st, uint32_t group, const struct vmp_lbr_sample *ls, uint32_t *number)
{
	static const struct copy new;
	struct copy *c;

	if (!st->free_copy) {
		if (vmp_vec_push(&st->copies, new))
			return -ENOMEM;
		st->free_copy = st->copies.nr;
	}
	*number = st->free_copy;
	c = &st->copies.v[*number - 1];
	st->free_copy = c->next;
	return copy_known(st, &st->cells.groups.v[group], st->known.v[group].kernel, ls, c);
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
		err = copy_branches(st, group, ls, &new.more);
	return err ? err : vmp_order_add(&st->order, &new);
}

static const char *const lacks[VMP_LACK_NR] = {
	[VMP_LACK_SWITCHED] = "user code from before a switch of address spaces",
	[VMP_LACK_OWNER] = "user code of an unknown process",
	[VMP_LACK_FILE] = "code in no file that is mapped",
	[VMP_LACK_SAMPLES] = "code in a file in which no sample was taken",
	[VMP_LACK_BESIDE] = "beside what is left out, from where code did not run straight on",
};

const char *vmp_lack_text(enum vmp_lack lack)
{
	if (lack == VMP_LACK_IMPOSSIBLE)
		return vmp_flaw_impossible();
	if (lack >= VMP_LACK_FLAW && lack < VMP_LACK_BESIDE)
		return vmp_flaw_text(lack - VMP_LACK_FLAW);
	return lack < VMP_LACK_NR ? lacks[lack] : "";
}

int vmp_stream(struct vmp_model *m, const struct vmp_choice *c, const struct vmp_stream_to *to,
	       struct vmp_stream_losses *losses)
{
	struct stream st = {
		.m = m, .c = c, .clock = { .model = m }, .to = to, .lack = losses->lack,
		.cells = { .all_host = c->all_host, .threads = c->threads },
	};
	const struct vmp_gather lowest = { .place = on_place, .restart = on_restart, .arg = &st };
	uint32_t i;
	int err = vmp_points_init(&st.points, m, NULL, NULL);

	if (!err)
		err = vmp_fits_init(&st.fits, m, c);
	if (!err && to->branches && !st.fits.set)
		err = -ENODATA;
	if (!err)
		err = vmp_gather(m, &lowest);
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
	losses->late = st.order.late;
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
	vmp_points_deinit(&st.points);
	vmp_fits_deinit(&st.fits);
	return err;
}
