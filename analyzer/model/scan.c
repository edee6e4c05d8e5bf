// SPDX-License-Identifier: GPL-2.0-only
/*
 * scan.c - threads take blocks in order of the file, each with a buffer of its own.
 *
 * The lock: shared while samples are looked at, exclusive for vmp_scan_alone().
 */
#include "model/scan.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "model/records.h"
#include "util/parallel.h"
#include "util/units.h"

#define BATCH	256	/* samples of unusual size are copied together */

struct vmp_scan {
	struct vmp_model *m;
	/* one of the two */
	int (*fn)(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s, uint32_t n);
	int (*branches)(void *shard, struct vmp_scan *scan, const struct vmp_lbr_sample *s);
	pthread_rwlock_t model;
	pthread_mutex_t reader;		/* guards the model's reader and what follows */
	struct vmp_lbr_losses losses;
	int end;			/* no more blocks, whatever the reason */
	int err;
	uint64_t bad;			/* offset of the first block that cannot be unpacked */
};

struct worker {
	struct vmp_scan *scan;
	void *shard;
	struct vmprof_sample batch[BATCH];
	uint32_t nr;
	struct vmp_lbr_losses losses;
};

unsigned int vmp_scan_threads(void)
{
	const char *s = getenv("VMPROF_THREADS");
	cpu_set_t set;
	uint64_t n;
	int cpus;

	if (!s || vmp_parse_count(s, &n) || !n) {
		cpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
		n = cpus > 0 ? (uint64_t)cpus : 1;
	}
	return n < VMP_SCAN_THREADS_MAX ? (unsigned int)n : VMP_SCAN_THREADS_MAX;
}

void vmp_scan_alone(struct vmp_scan *scan)
{
	pthread_rwlock_unlock(&scan->model);
	pthread_rwlock_wrlock(&scan->model);
}

void vmp_scan_together(struct vmp_scan *scan)
{
	pthread_rwlock_unlock(&scan->model);
	pthread_rwlock_rdlock(&scan->model);
}

/* Next block of records.  Return: 1, 0 the end. */
static int take(struct vmp_scan *scan, struct vmp_packed *p)
{
	int got = 0;

	pthread_mutex_lock(&scan->reader);
	while (!scan->end && !got) {
		int err = vmp_reader_take(scan->m->reader, p);

		if (err <= 0) {
			scan->end = 1;
			scan->err = scan->err ? scan->err : err;
		}
		got = err > 0 && p->block.type == VMPROF_CAP_RECORDS &&
		      (!p->block.tsc_last || p->block.tsc_last >= scan->m->from_tsc);
	}
	pthread_mutex_unlock(&scan->reader);
	return got;
}

static void stop(struct vmp_scan *scan, int err, uint64_t bad)
{
	pthread_mutex_lock(&scan->reader);
	scan->end = 1;
	if (bad < scan->bad)
		scan->bad = bad;
	else if (err && !scan->err)
		scan->err = err;
	pthread_mutex_unlock(&scan->reader);
}

static int hand_over(struct worker *w)
{
	uint32_t n = w->nr;

	w->nr = 0;
	return n ? w->scan->fn(w->shard, w->scan, w->batch, n) : 0;
}

static int on_sample(void *arg, const struct vmprof_sample *s)
{
	struct worker *w = arg;

	w->batch[w->nr++] = *s;
	return w->nr == BATCH ? hand_over(w) : 0;
}

static int on_branches(void *arg, const struct vmp_lbr_sample *s)
{
	struct worker *w = arg;

	return w->scan->branches(w->shard, w->scan, s);
}

static int block(struct worker *w, const void *data, size_t len)
{
	size_t n;
	int err;

	if (w->scan->branches)
		return vmp_lbr_walk(data, len, &w->losses, on_branches, w);
	n = vmp_records_plain(data, len);
	if (n)
		return w->scan->fn(w->shard, w->scan, data, (uint32_t)n);
	err = vmp_records_walk(data, len, on_sample, NULL, w);
	return err ? err : hand_over(w);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct vmp_unpacker u = { 0 };
	struct vmp_packed p;
	const void *data;
	size_t len;
	int err = 0;

	while (!err && take(w->scan, &p)) {
		err = vmp_reader_unpack(w->scan->m->reader, &u, &p, &data, &len);
		if (!err) {
			pthread_rwlock_rdlock(&w->scan->model);
			err = block(w, data, len);
			pthread_rwlock_unlock(&w->scan->model);
		} else if (err == -EBADMSG) {
			stop(w->scan, 0, p.block.offset);
			break;
		}
		if (err)
			stop(w->scan, err, UINT64_MAX);
	}
	vmp_unpacker_free(&u);
	pthread_mutex_lock(&w->scan->reader);
	vmp_lbr_losses_add(&w->scan->losses, &w->losses);
	pthread_mutex_unlock(&w->scan->reader);
	return NULL;
}

static int scan_all(struct vmp_scan *scan, struct vmp_model *m, void *const *shards, unsigned int nr)
{
	struct worker *w = calloc(nr, sizeof(*w));
	void *args[VMP_SCAN_THREADS_MAX];
	pthread_rwlockattr_t attr;
	unsigned int i;

	if (!w)
		return -ENOMEM;
	scan->m = m;
	scan->bad = UINT64_MAX;
	pthread_rwlockattr_init(&attr);
	/* else those who look could keep out who must change for ever */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&scan->model, &attr);
	pthread_mutex_init(&scan->reader, NULL);
	vmp_reader_rewind(m->reader);
	for (i = 0; i < nr; i++) {
		w[i] = (struct worker){ .scan = scan, .shard = shards[i] };
		args[i] = &w[i];
	}
	vmp_parallel(run, args, nr);	/* one that cannot begin leaves its work to the others */
	pthread_mutex_destroy(&scan->reader);
	pthread_rwlock_destroy(&scan->model);
	pthread_rwlockattr_destroy(&attr);
	free(w);
	if (scan->bad == UINT64_MAX)
		return scan->err;
	vmp_reader_cut(m->reader, scan->bad, "a block cannot be unpacked");
	return scan->err ? scan->err : -EAGAIN;
}

int vmp_scan_samples(struct vmp_model *m, void *const *shards, unsigned int nr,
		     int (*fn)(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s,
			       uint32_t n))
{
	struct vmp_scan scan = { .fn = fn };

	return scan_all(&scan, m, shards, nr);
}

int vmp_scan_branches(struct vmp_model *m, void *const *shards, unsigned int nr,
		      int (*fn)(void *shard, struct vmp_scan *scan, const struct vmp_lbr_sample *s),
		      struct vmp_lbr_losses *losses)
{
	struct vmp_scan scan = { .branches = fn };
	int err = scan_all(&scan, m, shards, nr);

	if (!err)
		vmp_lbr_losses_add(losses, &scan.losses);
	return err;
}
