// SPDX-License-Identifier: GPL-2.0-only
/* threads.c - threads as the driver read them, beside the base of FS that the emulator saw. */
#include "threads.h"

#include <string.h>

int threads_sample(struct threads *t, const struct vmp_model *m, const struct vmp_hit *hit, const char *function,
		   const struct vmprof_sample *s, const struct exact_overflow *o)
{
	const struct vmp_guest_task *task;

	if (hit->task == VMP_NONE || !(o->of & o->flags & EXACT_GUEST))
		return 0;
	task = &m->vms.v[hit->vm].seen.tasks.v[hit->task];
	/* FS is the next one's already, current not yet: it, and what it calls in between */
	if (!strcmp(function, "__switch_to") || !strcmp(function, "__wrgsbase_inactive"))
		return 0;
	if (task->is_kthread) {
		t->kthreads++;
		t->with_fs += !!o->fs;
		return 0;
	}
	/* a program that begins has none yet; one that nobody told of may be two */
	if (!o->fs || hit->image == VMP_NONE || hit->shared)
		return 0;
	struct thread_seen new = {
		.tsc = s->tsc, .fs = o->fs, .vm = hit->vm, .epoch = hit->epoch, .image = hit->image,
		.tgid = task->tgid, .tid = task->tid,
	};

	return vmp_vec_push(&t->seen, new);
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_process(const struct thread_seen *a, const struct thread_seen *b)
{
	int d = order(a->vm, b->vm);

	d = d ? d : order(a->epoch, b->epoch);
	d = d ? d : order(a->image, b->image);
	return d ? d : order(a->tgid, b->tgid);
}

static int by_base(const void *pa, const void *pb)
{
	const struct thread_seen *a = pa, *b = pb;
	int d = by_process(a, b);

	d = d ? d : order(a->fs, b->fs);
	return d ? d : order(a->tsc, b->tsc);
}

static int by_tid(const void *pa, const void *pb)
{
	const struct thread_seen *a = pa, *b = pb;
	int d = by_process(a, b);

	d = d ? d : order(a->tid, b->tid);
	return d ? d : order(a->tsc, b->tsc);
}

static int by_both(const void *pa, const void *pb)
{
	const struct thread_seen *a = pa, *b = pb;
	int d = by_process(a, b);

	d = d ? d : order(a->tid, b->tid);
	return d ? d : order(a->fs, b->fs);
}

/* How often the next one in this order is of another thread or of another FS than the one before */
static uint64_t turns(struct threads *t, int (*compare)(const void *, const void *))
{
	uint64_t n = 0;
	uint32_t i;

	if (t->seen.nr)
		qsort(t->seen.v, t->seen.nr, sizeof(*t->seen.v), compare);
	for (i = 0; i < t->seen.nr; i++)
		n += !i || by_both(&t->seen.v[i - 1], &t->seen.v[i]);
	return n;
}

/*
 * A base goes to another thread when the one that had it has ended, and a thread gets another one
 * with its next program: in the order of time each pair of both comes once. (The child of a vfork()
 * has its parent's, and is a process of its own.)
 */
void threads_finish(struct threads *t)
{
	t->bases = turns(t, by_both);
	t->mixed = turns(t, by_base) - t->bases + turns(t, by_tid) - t->bases;
}

void threads_free(struct threads *t)
{
	vmp_vec_free(&t->seen);
}
