// SPDX-License-Identifier: GPL-2.0-only
/* tasks.c - see tasks.h. */
#include "model/tasks.h"

#include <stdio.h>
#include <string.h>

static uint64_t place_of(uint32_t pcpu, uint32_t tid)
{
	return (uint64_t)pcpu << 32 | tid;
}

static uint32_t name_of(struct vmp_strings *strings, const struct vmprof_rec_task *rec, int *err)
{
	const char *comm = (const char *)rec->comm;
	int len = (int)strnlen(comm, sizeof(rec->comm));
	char name[VMPROF_TASK_COMM + 3];

	if (!(rec->flags & VMPROF_TASK_KTHREAD))
		return vmp_strings_add(strings, comm, (size_t)len, err);
	/* one for each CPU, all of one number: idle is idle */
	if (!rec->tid)
		return vmp_strings_add(strings, "swapper", 7, err);
	snprintf(name, sizeof(name), "[%.*s]", len, comm);
	return vmp_strings_add(strings, name, strlen(name), err);
}

static int number_of(struct vmp_seen *seen, const struct vmp_guest_task *task, uint32_t *out)
{
	uint64_t sum = vmp_hash_bytes(task, sizeof(*task));
	uint32_t *i;

	for (; (i = vmp_hash_find(&seen->by_task, sum)); sum++) {
		if (!memcmp(&seen->tasks.v[*i], task, sizeof(*task))) {
			*out = *i;
			return 0;
		}
	}
	*out = seen->tasks.nr;
	return vmp_vec_push(&seen->tasks, *task) || vmp_hash_set(&seen->by_task, sum, *out) ? -ENOMEM : 0;
}

static struct vmp_seen_spans *spans_of(struct vmp_seen *seen, uint64_t place)
{
	uint32_t *i = vmp_hash_find(&seen->by_place, place);
	struct vmp_seen_spans empty = { 0 };

	if (i)
		return &seen->spans.v[*i];
	if (vmp_vec_push(&seen->spans, empty) || vmp_hash_set(&seen->by_place, place, seen->spans.nr - 1))
		return NULL;
	return &seen->spans.v[seen->spans.nr - 1];
}

int vmp_seen_add(struct vmp_seen *seen, struct vmp_strings *strings, const struct vmprof_rec_task *rec)
{
	struct vmp_guest_task task = {
		.tid = rec->tid, .tgid = rec->tgid, .is_kthread = !!(rec->flags & VMPROF_TASK_KTHREAD),
	};
	struct vmp_seen_span span = { .begin = rec->tsc };
	struct vmp_seen_spans *spans;
	int err = 0;

	if (seen->records == VMP_SEEN_MAX) {
		seen->over++;
		return 0;
	}
	seen->records++;
	task.comm = name_of(strings, rec, &err);
	if (!err)
		err = number_of(seen, &task, &span.task);
	spans = err ? NULL : spans_of(seen, place_of(rec->hdr.pcpu, rec->tid));
	if (!spans)
		return -ENOMEM;
	if (spans->s.nr && spans->s.v[spans->s.nr - 1].begin > span.begin)
		span.begin = spans->s.v[spans->s.nr - 1].begin;
	return vmp_vec_push(&spans->s, span);
}

uint32_t vmp_seen_find(const struct vmp_seen *seen, const struct vmprof_sample *s, struct vmp_tsc_span *valid)
{
	const uint32_t *i = vmp_hash_find(&seen->by_place, place_of(s->hdr.pcpu, s->guest_tid));
	const struct vmp_seen_spans *spans = i ? &seen->spans.v[*i] : NULL;
	uint32_t lo = 0, hi = spans ? spans->s.nr : 0, mid;

	while (lo < hi) {	/* the first that begins behind the sample */
		mid = lo + (hi - lo) / 2;
		if (spans->s.v[mid].begin <= s->tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	valid->from = lo ? spans->s.v[lo - 1].begin : 0;
	valid->to = spans && lo < spans->s.nr ? spans->s.v[lo].begin : UINT64_MAX;
	return lo ? spans->s.v[lo - 1].task : VMP_NONE;
}

void vmp_seen_free(struct vmp_seen *seen)
{
	uint32_t i;

	for (i = 0; i < seen->spans.nr; i++)
		vmp_vec_free(&seen->spans.v[i].s);
	vmp_vec_free(&seen->tasks);
	vmp_vec_free(&seen->spans);
	vmp_hash_free(&seen->by_task);
	vmp_hash_free(&seen->by_place);
}
