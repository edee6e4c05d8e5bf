// SPDX-License-Identifier: GPL-2.0-only
/*
 * gather.c - each thread counts into a tally of its own; a full one is
 * emptied under a lock, in order of origin and address, so that a function is
 * looked up once for all its addresses, and for all that the caller keeps apart.
 */
#include "report/gather.h"

#include <pthread.h>
#include <string.h>

#include "model/scan.h"
#include "model/tally.h"
#include "report/exits.h"

#define TALLY_BYTES	(24U << 20)	/* of all threads together, without weights; larger ones are no faster */
#define WINDOW		32		/* samples whose slots are fetched ahead */

struct space {
	struct vmp_gather_space key;
	uint64_t samples, by_timer, by_nmi;
	uint32_t note;
};

/* Spaces that differ in no more than the caller's split */
struct origin {
	struct vmp_gather_space key;	/* split: none */
	uint32_t last;			/* space of its last sample */
};

struct shard {
	struct vmp_model *m;
	const struct vmp_gather *g;
	struct vmp_tally tally;
	VMP_VEC(struct origin) origins;
	VMP_VEC(struct space) spaces;
	VMP_VEC(uint32_t) origin_of;		/* by space: looked up far more often than spaces ... */
	VMP_VEC(uint64_t) split_of;		/* ... and larger than caches when together with them */
	struct vmp_hash by_key, by_split;	/* origins, spaces */
	struct vmp_residence *cache;
	struct vmp_tally_order order;
	uint32_t last[2][VMP_KIND_IDLE + 1];	/* by event: origin of each kind's last sample + 1 */
	/* while draining: the run of addresses under way, a sum for each space that has some of them */
	uint32_t run_origin;
	uint64_t run_from;
	struct vmp_place place;
	VMP_VEC(struct vmp_gathered) run;
	VMP_VEC(uint32_t) run_space;		/* of each sum */
	VMP_VEC(uint32_t) run_of;		/* by space: number of its sum + 1, 0 none */
};

struct pending {
	uint64_t hash, addr;
	struct vmp_weight weight;
	uint32_t space;
};

/* Guards all of a model that resolving changes, and the receiver */
static pthread_mutex_t resolving = PTHREAD_MUTEX_INITIALIZER;

uint32_t vmp_gather_string(struct vmp_model *m, const char *s, int *err)
{
	uint32_t n;

	pthread_mutex_lock(&resolving);
	n = vmp_strings_add(&m->strings, s, strlen(s), err);
	pthread_mutex_unlock(&resolving);
	return n;
}

/* -------------------------------------------------------------- spaces */

static int find_origin(struct shard *sh, const struct vmp_gather_space *key, uint32_t *out)
{
	uint64_t sum = vmp_hash_bytes(key, sizeof(*key));
	struct origin o = { .key = *key, .last = VMP_NONE };
	uint32_t *i;

	for (; (i = vmp_hash_find(&sh->by_key, sum)); sum++) {
		if (!memcmp(&sh->origins.v[*i].key, key, sizeof(*key))) {
			*out = *i;
			return 0;
		}
	}
	*out = sh->origins.nr;
	return vmp_vec_push(&sh->origins, o) || vmp_hash_set(&sh->by_key, sum, *out) ? -ENOMEM : 0;
}

/* The origin of a sample; @hint: where one like it was found before, + 1 */
static int origin_of(struct shard *sh, const struct vmp_gather_space *key, uint32_t *hint, uint32_t *out)
{
	int err;

	if (*hint && !memcmp(&sh->origins.v[*hint - 1].key, key, sizeof(*key))) {
		*out = *hint - 1;
		return 0;
	}
	err = find_origin(sh, key, out);
	*hint = *out + 1;
	return err;
}

static int is_space(const struct shard *sh, uint32_t space, uint32_t origin, uint64_t split)
{
	return sh->origin_of.v[space] == origin && sh->split_of.v[space] == split;
}

static int new_space(struct shard *sh, uint32_t origin, const uint32_t split[2], uint64_t both)
{
	struct space new = { .key = sh->origins.v[origin].key };

	memcpy(new.key.split, split, sizeof(new.key.split));
	return vmp_vec_push(&sh->spaces, new) || vmp_vec_push(&sh->origin_of, origin) ||
	       vmp_vec_push(&sh->split_of, both) || vmp_vec_push(&sh->run_of, 0) ? -ENOMEM : 0;
}

static int space_of(struct shard *sh, uint32_t origin, const uint32_t split[2], uint32_t *out)
{
	uint64_t both = (uint64_t)split[1] << 32 | split[0], sum;
	uint32_t *last = &sh->origins.v[origin].last, *i;

	*out = *last;
	if (*out != VMP_NONE && is_space(sh, *out, origin, both))
		return 0;
	for (sum = vmp_hash_mix(both) + origin; (i = vmp_hash_find(&sh->by_split, sum)); sum++) {
		if (is_space(sh, *i, origin, both)) {
			*out = *last = *i;
			return 0;
		}
	}
	*out = *last = sh->spaces.nr;
	return new_space(sh, origin, split, both) || vmp_hash_set(&sh->by_split, sum, *out) ? -ENOMEM : 0;
}

/* ------------------------------------------------------------ resolving */

static int hand_out(struct shard *sh)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < sh->run.nr; i++) {
		struct space *s = &sh->spaces.v[sh->run_space.v[i]];

		sh->run_of.v[sh->run_space.v[i]] = 0;
		sh->run.v[i].note = &s->note;
		sh->run.v[i].again = i > 0;
		err = sh->g->place(sh->g->arg, &s->key, &sh->place, &sh->run.v[i]);
	}
	sh->run.nr = sh->run_space.nr = 0;
	return err;
}

static int begin_run(struct shard *sh, uint32_t origin, uint64_t addr)
{
	int err = hand_out(sh);

	if (err)
		return err;
	memset(&sh->place, 0, sizeof(sh->place));
	sh->run_origin = origin;
	sh->run_from = addr;
	return vmp_origin_resolve(sh->m, &sh->origins.v[origin].key.from, addr, &sh->place);
}

static int on_count(void *arg, const struct vmp_tally_slot *s, const struct vmp_weight *w)
{
	struct shard *sh = arg;
	uint32_t origin = sh->origin_of.v[s->space], *run = &sh->run_of.v[s->space];
	struct vmp_gathered new = { .addr = s->addr }, *sum;
	uint64_t until = sh->g->by_address ? sh->run_from + 1 : sh->place.until;
	int err = 0;

	if (!sh->run.nr || origin != sh->run_origin || s->addr < sh->run_from ||
	    (s->addr >= until && s->addr != sh->run_from))
		err = begin_run(sh, origin, s->addr);
	if (!err && !*run) {
		err = vmp_vec_push(&sh->run, new) || vmp_vec_push(&sh->run_space, s->space) ? -ENOMEM : 0;
		*run = sh->run.nr;
	}
	if (err)
		return err;
	sum = &sh->run.v[*run - 1];
	sum->samples += s->n;
	sum->cycles += w->cycles;
	sum->instructions += w->instructions;
	return 0;
}

static int drain(struct shard *sh)
{
	int err = vmp_tally_sort(&sh->tally, &sh->order, sh->origin_of.v);

	if (err)
		return err;
	pthread_mutex_lock(&resolving);
	err = vmp_tally_drain(&sh->tally, &sh->order, on_count, sh);
	if (!err)
		err = hand_out(sh);
	pthread_mutex_unlock(&resolving);
	return err;
}

/* ------------------------------------------------------------- counting */

static int classify(struct shard *sh, struct vmp_scan *scan, const struct vmprof_sample *s,
		    struct vmp_hit *hit, struct vmp_residence **r)
{
	uint32_t vm;
	int err;

	if (!vmp_classify_known(sh->m, sh->cache, s, hit, r))
		return 0;
	vmp_scan_alone(scan);
	err = vmp_model_add_vm(sh->m, s->vm, &vm);
	vmp_scan_together(scan);
	return err ? err : vmp_classify_known(sh->m, sh->cache, s, hit, r);
}

static void count(struct space *space, const struct vmprof_sample *s, uint32_t kind)
{
	space->samples++;
	space->by_timer += !!(s->flags & VMPROF_SF_TIMER);
	if (vmp_origin_is_guest(kind) && s->mode == VMPROF_MODE_GUEST)
		space->by_nmi += vmp_exit_nmi(s->vendor, s->exit_reason, s->exit_intr_info);
}

static int prepare(struct shard *sh, struct vmp_scan *scan, const struct vmprof_sample *s, struct pending *p)
{
	struct vmp_gather_space key = { .split = { 0 } };
	uint32_t split[2] = { 0 }, origin;
	const struct vmprof_sample *seen = s;
	struct vmprof_sample copy;
	struct vmp_residence *r;
	struct vmp_hit hit;
	uint32_t *hint;
	int err;

	if (sh->g->see)
		seen = sh->g->see(sh->g->arg, s, &copy);
	err = classify(sh, scan, seen, &hit, &r);
	if (err)
		return err;
	key.second = s->hdr.type == VMPROF_REC_INSTRUCTIONS;
	vmp_origin_from(&hit, s, &key.from, &p->addr);
	if (sh->g->threads)
		key.thread = hit.task + 1;	/* VMP_NONE: 0 */
	if (sh->g->thieves && hit.kind == VMP_KIND_STEAL) {
		key.from.tgid = s->host_pid;
		p->addr = s->host_ip;
	}
	if (sh->g->split) {
		err = sh->g->split(sh->g->arg, sh->m, s, &key.from, split);
		if (err)
			return err;
	}
	hint = r && !key.second ? &r->user[hit.kind == VMP_KIND_GUEST_USER] :
		&sh->last[key.second][hit.kind];
	err = origin_of(sh, &key, hint, &origin);
	if (!err)
		err = space_of(sh, origin, split, &p->space);
	if (err)
		return err;
	if (sh->g->space)
		count(&sh->spaces.v[p->space], s, hit.kind);
	p->hash = vmp_tally_hash(&sh->tally, p->space, p->addr);
	vmp_weigh(sh->m, s, &p->weight);
	return 0;
}

static int on_samples(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s, uint32_t n)
{
	struct pending pending[WINDOW];
	struct shard *sh = shard;
	uint32_t i, k, m;
	int err = 0;

	for (i = 0; !err && i < n; i += m) {
		m = n - i < WINDOW ? n - i : WINDOW;
		for (k = 0; !err && k < m; k++)
			err = prepare(sh, scan, &s[i + k], &pending[k]);
		for (k = 0; !err && k < m; k++)
			err = vmp_tally_add(&sh->tally, pending[k].hash, pending[k].space, pending[k].addr,
					    &pending[k].weight);
		if (!err && sh->tally.full)
			err = drain(sh);
	}
	return err;
}

/* ------------------------------------------------------------------ all */

static int shard_init(struct shard *sh, struct vmp_model *m, const struct vmp_gather *g, unsigned int nr)
{
	*sh = (struct shard){ .m = m, .g = g };
	sh->cache = calloc(VMP_RESIDENCES, sizeof(*sh->cache));
	return sh->cache ? vmp_tally_init(&sh->tally, TALLY_BYTES / nr, g->weighted) : -ENOMEM;
}

static void shard_deinit(struct shard *sh)
{
	vmp_tally_deinit(&sh->tally);
	free(sh->order.items);
	vmp_vec_free(&sh->origins);
	vmp_vec_free(&sh->spaces);
	vmp_vec_free(&sh->origin_of);
	vmp_vec_free(&sh->split_of);
	vmp_vec_free(&sh->run);
	vmp_vec_free(&sh->run_space);
	vmp_vec_free(&sh->run_of);
	vmp_hash_free(&sh->by_key);
	vmp_hash_free(&sh->by_split);
	free(sh->cache);
}

static int finish(struct shard *sh)
{
	int err = drain(sh);
	uint32_t i;

	for (i = 0; !err && sh->g->space && i < sh->spaces.nr; i++)
		err = sh->g->space(sh->g->arg, &sh->spaces.v[i].key, sh->spaces.v[i].samples,
				   sh->spaces.v[i].by_timer, sh->spaces.v[i].by_nmi);
	return err;
}

static int run(struct vmp_model *m, const struct vmp_gather *g, unsigned int nr)
{
	struct shard *shards = calloc(nr, sizeof(*shards));
	void *args[VMP_SCAN_THREADS_MAX];
	unsigned int i;
	int err = shards ? 0 : -ENOMEM;

	for (i = 0; !err && i < nr; i++) {
		err = shard_init(&shards[i], m, g, nr);
		args[i] = &shards[i];
	}
	if (!err)
		err = vmp_scan_samples(m, args, nr, on_samples);
	for (i = 0; !err && i < nr; i++)
		err = finish(&shards[i]);
	for (i = 0; shards && i < nr; i++)
		shard_deinit(&shards[i]);
	free(shards);
	return err;
}

int vmp_gather(struct vmp_model *m, const struct vmp_gather *g)
{
	unsigned int nr = vmp_scan_threads();
	int err;

	while ((err = run(m, g, nr)) == -EAGAIN)
		g->restart(g->arg);
	return err;
}
