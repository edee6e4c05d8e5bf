// SPDX-License-Identifier: GPL-2.0-only
/* set.c - the first pass: threads count for themselves what there is, then one table is made of theirs. */
#include "blocks/draw.h"

#include <sched.h>
#include <string.h>

#include "util/bound.h"

/* -------------------------------------------------------------- first pass */

#define LATER	2U	/* samples that are seen before one is counted */

/* A sample whose places in the table are being fetched */
struct waiting {
	struct vmp_set_keys keys;
	struct vmp_kept_sample head;
};

struct shard {
	struct vmp_set_eye eye;
	struct vmp_raws raws;
	struct vmp_set_totals totals;
	struct vmp_kept kept;
	uint64_t keep_bytes;
	int *keeps;		/* until it is too much for one of the shards */
	struct waiting waiting[LATER + 1];
	uint64_t seen, counted;	/* samples with branches; those between wait */
};

static struct waiting *waiting(struct shard *sh, uint64_t number)
{
	return &sh->waiting[number % (LATER + 1)];
}

static int keep(struct shard *sh, const struct waiting *w)
{
	if (!__atomic_load_n(sh->keeps, __ATOMIC_RELAXED))
		return 0;
	if (vmp_kept_bytes(&sh->kept) < sh->keep_bytes)
		return vmp_kept_add(&sh->kept, &w->head, &w->keys);
	__atomic_store_n(sh->keeps, 0, __ATOMIC_RELAXED);
	vmp_vec_free(&sh->kept.words);
	return 0;
}

/* The one that waits longest */
static int count(struct shard *sh)
{
	struct waiting *w = waiting(sh, sh->counted++);
	struct vmp_set_keys *keys = &w->keys;
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < keys->nr + (unsigned int)keys->landed; i++)
		err = vmp_raws_add(&sh->raws, &keys->raw[i], keys->hash[i], &keys->number[i]);
	return err ? err : keep(sh, w);
}

static int count_waiting(struct shard *sh)
{
	int err = 0;

	while (!err && sh->counted < sh->seen)
		err = count(sh);
	return err;
}

static void add_totals(struct vmp_set_totals *t, const struct vmp_lbr *lbr, const struct vmp_window *w)
{
	t->with_branches++;
	t->entries += lbr->nr;
	t->switched += w->switched;
	t->branches |= lbr->branches;
	t->blockless += !vmp_lbr_has_blocks(lbr);
	t->user_only += !(lbr->branches & VMPROF_LBR_KERNEL);
}

static int on_sample(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	struct shard *sh = arg;
	struct vmp_set_sample s;
	struct waiting *w;
	int err, got = vmp_set_see(&sh->eye, scan, ls, &s);

	if (got < 0)
		return got;
	sh->totals.samples += (uint64_t)got;
	sh->totals.timed += got && vmp_lbr_is_timed(ls);
	if (!got) {
		vmp_kept_pass(&sh->kept, ls);
		return 0;
	}
	if (ls->lbr)
		add_totals(&sh->totals, ls->lbr, &s.w);
	w = waiting(sh, sh->seen);
	err = vmp_set_keys(&sh->eye, &s, &sh->raws, &w->keys);
	if (err)
		return err;
	vmp_kept_head(&w->head, &sh->kept, ls, &w->keys);
	if (sh->seen++ != sh->counted)
		vmp_set_fetch(&sh->raws, &waiting(sh, sh->seen - 2)->keys);
	return sh->seen - sh->counted > LATER ? count(sh) : 0;
}

static void totals_add(struct vmp_set_totals *to, const struct vmp_set_totals *t)
{
	to->samples += t->samples;
	to->timed += t->timed;
	to->with_branches += t->with_branches;
	to->entries += t->entries;
	to->switched += t->switched;
	to->blockless += t->blockless;
	to->user_only += t->user_only;
	to->branches |= t->branches;
}

#define AHEAD	16U	/* raws that are fetched while others are added */

/* @number: what became of each; @there: raws that others may look at, as they come.  Chunks that were added are filled again. */
static int add_raws(struct vmp_raws *to, struct vmp_raws *from, uint32_t *number, uint32_t *there)
{
	uint64_t hash[AHEAD];
	uint32_t i, k, n;

	for (i = 0; i < from->nr; i += n) {
		n = from->nr - i < AHEAD ? from->nr - i : AHEAD;
		for (k = 0; k < n; k++)
			hash[k] = vmp_raws_known_hash(to, vmp_raws_at(from, i + k));
		for (k = 0; k < n; k++)
			vmp_raws_fetch(to, hash[k]);
		for (k = 0; k < n; k++)
			if (vmp_raws_add(to, vmp_raws_at(from, i + k), hash[k], &number[i + k]))
				return -ENOMEM;
		__atomic_store_n(there, to->nr, __ATOMIC_RELEASE);
		if ((i + n) % VMP_RAWS_CHUNK == 0 && vmp_raws_take_chunk(to, from, i / VMP_RAWS_CHUNK))
			return -ENOMEM;
	}
	return 0;
}

/* The first shard's raws are the set's; those of another one are added to them. */
static int merge(struct vmp_set *set, struct shard *sh, uint32_t *there)
{
	struct vmp_set_kept kept = { .kept = sh->kept };
	int err = 0;

	sh->kept = (struct vmp_kept){ 0 };
	totals_add(&set->totals, &sh->totals);
	if (set->kept.nr) {
		err = vmp_vec_reserve(&kept.raw, sh->raws.nr);
		if (!err)
			err = add_raws(&set->raws, &sh->raws, kept.raw.v, there);
		kept.raw.nr = err ? 0 : sh->raws.nr;
		vmp_raws_free(&sh->raws);
	}
	if (!err)
		err = vmp_vec_push(&set->kept, kept);
	if (err) {
		vmp_vec_free(&kept.kept.words);
		vmp_vec_free(&kept.raw);
	}
	return err;
}

struct merging {
	struct vmp_set *set;
	struct vmp_drawing *w;
	struct shard *shards;
	unsigned int nr;
	uint32_t there;		/* raws that can be noted */
	int over;		/* there will be no more */
};

/* Counts of raws change, and there are more of them; nothing else of a raw, and none moves */
static int merge_others(void *arg)
{
	struct merging *m = arg;
	unsigned int i;
	int err = 0;

	for (i = 1; !err && i < m->nr; i++)
		err = merge(m->set, &m->shards[i], &m->there);
	vmp_raws_free_spare(&m->set->raws);
	__atomic_store_n(&m->over, 1, __ATOMIC_RELEASE);
	return err;
}

/* As they come */
static int note_all(void *arg)
{
	struct merging *m = arg;
	uint32_t there;
	int over, err;

	do {
		over = __atomic_load_n(&m->over, __ATOMIC_ACQUIRE);
		there = __atomic_load_n(&m->there, __ATOMIC_ACQUIRE);
		if (there == m->w->nr && !over)
			sched_yield();
		err = vmp_draw_note(m->w, there - m->w->nr);
	} while (!err && !over);
	return err;
}

static int merge_all(struct vmp_set *set, struct shard *shards, unsigned int nr, struct vmp_drawing *w)
{
	struct merging m = { .set = set, .w = w, .shards = shards, .nr = nr, .there = shards->raws.nr };
	uint64_t most = 0;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		most += shards[i].raws.nr;
	if (most > UINT32_MAX)
		return -ENOMEM;
	set->raws = shards->raws;
	shards->raws = (struct vmp_raws){ 0 };
	/* so that the list of chunks stays where it is */
	err = vmp_vec_reserve(&set->raws.chunks, (uint32_t)(most / VMP_RAWS_CHUNK + 1));
	if (!err)
		err = vmp_draw_begin(w, set, (uint32_t)most);
	if (!err)
		err = merge(set, shards, &m.there);
	return err ? err : vmp_parallel_two(merge_others, note_all, &m);
}

void vmp_set_forget_kept(struct vmp_set *set)
{
	uint32_t i;

	for (i = 0; i < set->kept.nr; i++) {
		vmp_vec_free(&set->kept.v[i].kept.words);
		vmp_vec_free(&set->kept.v[i].raw);
	}
	vmp_vec_free(&set->kept);
}

/* @w: what the set's raws are noted in */
static int scan(struct vmp_set *set, unsigned int nr, struct vmp_drawing *w)
{
	struct shard *shards = calloc(nr, sizeof(*shards));
	int keeps = set->choice.keep_bytes != 0, err = shards ? 0 : -ENOMEM;
	void *args[VMP_SCAN_THREADS_MAX];
	unsigned int i;

	for (i = 0; !err && i < nr; i++) {
		err = vmp_set_eye_init(&shards[i].eye, set);
		shards[i].keep_bytes = set->choice.keep_bytes / nr;
		shards[i].keeps = &keeps;
		args[i] = &shards[i];
	}
	if (!err)
		err = vmp_scan_branches(set->m, args, nr, on_sample, &set->losses);
	for (i = 0; shards && i < nr; i++) {
		if (!keeps)
			vmp_vec_free(&shards[i].kept.words);
		err = err ? err : count_waiting(&shards[i]);
	}
	if (!err)
		err = merge_all(set, shards, nr, w);
	for (i = 0; shards && i < nr; i++) {
		vmp_set_eye_deinit(&shards[i].eye);
		vmp_raws_free(&shards[i].raws);
		vmp_vec_free(&shards[i].kept.words);
	}
	if (!keeps)
		vmp_set_forget_kept(set);
	free(shards);
	return err;
}

/* --------------------------------------------------------------------- all */

static int add_eras(struct vmp_set *set, struct vmp_origin *from)
{
	const uint32_t eras = set->m->vms.v[from->vm].boots.v[from->epoch].kernel.eras.nr;
	uint32_t context;
	int err;

	from->era = 0;
	do
		err = vmp_points_context(&set->points, from, &context);
	while (!err && ++from->era < eras);
	return err;
}

/* Where kernels switch tasks must be known before windows are looked at. */
static int add_kernels(struct vmp_set *set)
{
	struct vmp_origin from = { .kind = VMP_KIND_GUEST_KERNEL, .image = VMP_NONE };
	int err = 0;

	for (from.vm = 0; !err && from.vm < set->m->vms.nr; from.vm++)
		for (from.epoch = 0; !err && from.epoch < set->m->vms.v[from.vm].boots.nr; from.epoch++)
			err = add_eras(set, &from);
	return err;
}

static void forget(struct vmp_set *set)
{
	vmp_raws_free(&set->raws);
	vmp_set_forget_kept(set);
	memset(&set->totals, 0, sizeof(set->totals));
	memset(&set->losses, 0, sizeof(set->losses));
}

int vmp_set_open(struct vmp_set **out, struct vmp_model *m, const struct vmp_set_choice *choice)
{
	struct vmp_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	set->m = m;
	set->choice = *choice;
	err = vmp_points_init(&set->points, m, choice->vmlinux, choice->host_vmlinux);
	if (!err)
		err = vmp_stepper_init(&set->stepper, &set->points);
	if (!err)
		err = add_kernels(set);
	if (err) {
		vmp_set_destroy(set);
		return err;
	}
	*out = set;
	return 0;
}

int vmp_set_create(struct vmp_set **out, struct vmp_model *m, const struct vmp_set_choice *choice)
{
	unsigned int nr = vmp_scan_threads();
	struct vmp_drawing w = { .set = NULL };
	int err = vmp_set_open(out, m, choice);

	if (err)
		return err;
	while ((err = scan(*out, nr, &w)) == -EAGAIN)
		forget(*out);
	if (!err)
		err = vmp_set_resolve(&w);
	free(w.v);
	if (err) {
		vmp_set_destroy(*out);
		*out = NULL;
	}
	return err;
}

struct sought {
	const struct vmp_set *set;
	uint32_t start, from;
	uint64_t addr;
};

static int begins_before(const void *arg, uint32_t block)
{
	const struct sought *s = arg;

	return s->set->blocks.v[block].start < s->start;
}

uint64_t vmp_set_behind(const struct vmp_set *set, uint32_t object, uint64_t addr)
{
	enum vmp_flow flow;
	size_t len;
	const uint8_t *code = object == VMP_NONE ? NULL : vmp_points_code(&set->points, object, addr, &len);
	unsigned int bytes = code ? vmp_decode_step(set->stepper.decoder, code, len, &flow) : 0;

	return bytes ? addr + bytes : 0;
}

uint32_t vmp_set_first_block(const struct vmp_set *set, uint32_t start)
{
	const struct sought s = { .set = set, .start = start };
	uint32_t i = vmp_bound(set->blocks.nr, begins_before, &s);

	return i < set->blocks.nr && set->blocks.v[i].start == start ? i : VMP_NONE;
}

static int ends_before(const void *arg, uint32_t block)
{
	const struct sought *s = arg;
	const struct vmp_block_code *b = &s->set->blocks.v[s->from + block];

	return b->start == s->start && s->set->points.points.v[b->end].addr < s->addr;
}

uint32_t vmp_set_blocks_before(const struct vmp_set *set, uint32_t first, uint32_t start, uint64_t addr)
{
	const struct sought s = { set, start, first, addr };

	return first < set->blocks.nr ? first + vmp_bound(set->blocks.nr - first, ends_before, &s) : set->blocks.nr;
}

void vmp_set_destroy(struct vmp_set *set)
{
	if (!set)
		return;
	vmp_stepper_deinit(&set->stepper);
	vmp_points_deinit(&set->points);
	vmp_raws_free(&set->raws);
	free(set->seen_as);
	vmp_set_forget_kept(set);
	vmp_vec_free(&set->mappings);
	vmp_hash_free(&set->by_mapping);
	vmp_vec_free(&set->units);
	vmp_vec_free(&set->blocks);
	vmp_vec_free(&set->landings);
	free(set);
}
