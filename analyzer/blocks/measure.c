// SPDX-License-Identifier: GPL-2.0-only
/* measure.c - the second pass: from what was kept of samples, or from the capture itself. */
#include "blocks/measure.h"

#include "blocks/count.h"
#include "util/big.h"
#include "util/parallel.h"

#define FLUSH_BYTES	(8U << 20)	/* of samples that are kept, when the capture is read again */

struct shard {
	struct vmp_measure *m;
	struct vmp_count count;
	struct vmp_set_eye eye;		/* when the capture is read again ... */
	struct vmp_kept kept;
	const struct vmp_set_kept *from;	/* ... else what there is */
	int err;
};

static int make_parts(struct vmp_measure *m)
{
	uint32_t i, n = 0;

	m->part_of = vmp_big_alloc(((size_t)m->set->blocks.nr + 1) * sizeof(*m->part_of));
	if (!m->part_of)
		return -ENOMEM;
	for (i = 0; i < m->set->blocks.nr; i++)
		m->part_of[i] = m->set->blocks.v[i].missed.n ? n++ : VMP_NONE;
	m->parts = vmp_big_zeroed((size_t)n + 1, sizeof(*m->parts));
	return m->parts ? 0 : -ENOMEM;
}

static int prepare_counts(void *arg)
{
	struct vmp_measure *m = arg;
	const struct vmp_set *set = m->set;
	int err;

	m->landings = vmp_big_zeroed((size_t)set->landings.nr + 1, sizeof(*m->landings));
	m->seconds = vmp_big_zeroed((size_t)set->landings.nr + 1, sizeof(*m->seconds));
	m->missed = vmp_big_zeroed((size_t)set->landings.nr + 1, sizeof(*m->missed));
	m->cpi = vmp_big_zeroed((size_t)set->blocks.nr + 1, sizeof(*m->cpi));
	if (!m->landings || !m->seconds || !m->missed || !m->cpi)
		return -ENOMEM;
	err = vmp_spreads_init(&m->spreads, set);
	return err ? err : make_parts(m);
}

static int prepare_rows(void *arg)
{
	return vmp_measure_rows(arg);
}

/* Neither needs the other */
static int prepare(struct vmp_measure *m)
{
	int err = vmp_parallel_two(prepare_rows, prepare_counts, m);

	if (err)
		return err;
	m->cuts = calloc((size_t)m->rows + 1, sizeof(*m->cuts));
	return m->cuts ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------ what was kept */

static void *begin(void *arg)
{
	struct shard *sh = arg;

	sh->err = vmp_count_init(&sh->count, sh->m, sh->from);
	return NULL;
}

/* What is to be read again is counted then */
static void *count(void *arg)
{
	struct shard *sh = arg;

	if (!sh->err)
		sh->err = vmp_count_kept(&sh->count, &sh->from->kept);
	return NULL;
}

/* ------------------------------------------------------------ read again */

static int flush(struct shard *sh)
{
	int err = vmp_count_kept(&sh->count, &sh->kept);

	sh->kept.words.nr = 0;
	return err;
}

/* The file may have become another one meanwhile: what was not there is left out */
static void leave_out(struct vmp_set_keys *keys)
{
	unsigned int i;

	for (i = 0; i < keys->nr; i++)
		keys->raw[i].a = keys->number[i] == VMP_NONE ? 0 : keys->raw[i].a;
}

static int on_sample(void *arg, struct vmp_scan *scan, const struct vmp_lbr_sample *ls)
{
	struct shard *sh = arg;
	struct vmp_set *set = sh->eye.set;
	struct vmp_kept_sample head;
	struct vmp_set_keys keys;
	struct vmp_set_sample s;
	int err = 0, got = vmp_set_see(&sh->eye, scan, ls, &s);

	if (got < 0)
		return got;
	if (!got) {
		vmp_kept_pass(&sh->kept, ls);
		return 0;
	}
	if (vmp_kept_bytes(&sh->kept) >= FLUSH_BYTES)
		err = flush(sh);
	if (!err)
		err = vmp_set_keys(&sh->eye, &s, &set->raws, &keys);
	if (err)
		return err;
	vmp_kept_head(&head, &sh->kept, ls, &keys);
	vmp_set_fetch(&set->raws, &keys);
	vmp_set_look_up(set, &keys);
	leave_out(&keys);
	return vmp_kept_add(&sh->kept, &head, &keys);
}

static int read_again(struct vmp_measure *m, struct vmp_set *set, struct shard *shards, unsigned int nr)
{
	struct vmp_lbr_losses again = { 0 };
	void *args[VMP_SCAN_THREADS_MAX];
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < nr; i++) {
		err = vmp_set_eye_init(&shards[i].eye, set);
		args[i] = &shards[i];
	}
	if (!err)
		err = vmp_scan_branches(m->set->m, args, nr, on_sample, &again);
	for (i = 0; i < nr; i++) {
		err = err ? err : flush(&shards[i]);
		vmp_set_eye_deinit(&shards[i].eye);
		vmp_vec_free(&shards[i].kept.words);
	}
	return err;
}

/* -------------------------------------------------------------------- all */

static int count_all(struct vmp_measure *m, struct vmp_set *set, struct shard *shards, unsigned int nr)
{
	void *args[VMP_SCAN_THREADS_MAX];
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr; i++) {
		shards[i].m = m;
		shards[i].from = set->kept.nr ? &set->kept.v[i] : NULL;
		args[i] = &shards[i];
	}
	vmp_parallel(begin, args, nr);
	if (set->kept.nr && set->choice.counts_only)
		vmp_raws_free(&set->raws);
	if (set->kept.nr)
		vmp_parallel(count, args, nr);
	for (i = 0; !err && i < nr; i++)
		err = shards[i].err;
	return err || set->kept.nr ? err : read_again(m, set, shards, nr);
}

static int run(struct vmp_measure *m, struct vmp_set *set)
{
	unsigned int nr = set->kept.nr ? set->kept.nr : vmp_scan_threads(), i;
	struct shard *shards = calloc(nr, sizeof(*shards));
	int err = shards ? count_all(m, set, shards, nr) : -ENOMEM;

	for (i = 0; shards && i < nr; i++) {
		err = err ? err : vmp_count_merge(m, &shards[i].count);
		vmp_count_deinit(&shards[i].count);
	}
	free(shards);
	return err;
}

int vmp_measure_create(struct vmp_measure **out, struct vmp_set *set)
{
	struct vmp_measure *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->set = set;
	err = prepare(m);
	if (!err && set->totals.steps)
		err = run(m, set);
	vmp_set_forget_kept(set);
	if (set->choice.counts_only)
		vmp_raws_free(&set->raws);
	if (err) {
		vmp_measure_destroy(m);
		return err == -EAGAIN ? -EIO : err;	/* the first pass could read it all */
	}
	*out = m;
	return 0;
}

void vmp_measure_destroy(struct vmp_measure *m)
{
	if (!m)
		return;
	free(m->row_of);
	free(m->phase_of);
	free(m->phase_of_row);
	free(m->shared);
	free(m->common);
	free(m->cuts);
	free(m->landings);
	free(m->seconds);
	free(m->missed);
	free(m->cpi);
	vmp_spreads_free(&m->spreads);
	free(m->part_of);
	free(m->parts);
	vmp_vec_free(&m->phase);
	vmp_vec_free(&m->pairs);
	free(m);
}
