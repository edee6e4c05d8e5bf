// SPDX-License-Identifier: GPL-2.0-only
/* rings.c - reading side of the driver's rings. */
#include "collect/rings.h"

#include <string.h>

#include "model/records.h"

void vmp_ring_init(struct vmp_ring *r, const struct vmprof_producer *producer,
		   struct vmprof_consumer *consumer, const void *data, uint64_t bytes)
{
	r->producer = producer;
	r->consumer = consumer;
	r->data = data;
	r->bytes = bytes;
	r->tail = consumer->tail;
	r->resyncs = 0;
}

/* Pairs with the driver's store_release of head: records up to it are whole. */
static uint64_t load_head(const struct vmp_ring *r)
{
	return __atomic_load_n(&r->producer->head, __ATOMIC_ACQUIRE);
}

/* Pairs with the driver's load_acquire of tail: we have read what we give back. */
static void store_tail(struct vmp_ring *r)
{
	__atomic_store_n(&r->consumer->tail, r->tail, __ATOMIC_RELEASE);
}

uint64_t vmp_ring_waiting(const struct vmp_ring *r)
{
	return r->producer ? load_head(r) - r->tail : 0;
}

static int record_is_good(const struct vmprof_record *rec, uint64_t left)
{
	return rec->size >= sizeof(*rec) && !(rec->size & 7) && rec->size <= left;
}

/* Records at the start of @data */
struct run {
	uint64_t bytes;		/* of whole ones, but a pad, which is the last */
	uint64_t used;		/* of the ring */
	int bad;		/* then comes what is none */
};

/* @more: it goes on in the ring, so that the last may be cut; a sample waits for its branches. */
static struct run whole_records(const uint8_t *data, uint64_t len, int more)
{
	struct run run = { 0 };
	struct vmprof_record rec;
	uint64_t sample = UINT64_MAX;

	for (; len - run.used >= sizeof(rec); run.used += rec.size, run.bytes = run.used) {
		memcpy(&rec, data + run.used, sizeof(rec));
		if (more && rec.size > len - run.used) {
			sample = rec.type == VMPROF_REC_LBR ? sample : UINT64_MAX;
			break;
		}
		run.bad = !record_is_good(&rec, len - run.used);
		if (run.bad)
			return run;
		if (rec.type == VMPROF_REC_PAD) {
			run.used += rec.size;
			return run;
		}
		sample = vmp_record_is_sample(&rec) ? run.used : UINT64_MAX;
	}
	if (more && sample != UINT64_MAX)
		run.bytes = run.used = sample;
	return run;
}

/* They are copied, then looked at: the copy is what was checked, whatever the ring says by now */
size_t vmp_ring_read(struct vmp_ring *r, void *dst, size_t room)
{
	uint64_t head, pos, left, len;
	struct run run;
	size_t done = 0;

	if (!r->producer)
		return 0;
	head = load_head(r);
	if (head - r->tail > r->bytes || (head & 7) || (r->tail & 7))
		goto resync;
	while (r->tail != head) {
		pos = r->tail & (r->bytes - 1);
		left = r->bytes - pos < head - r->tail ? r->bytes - pos : head - r->tail;
		len = left < room - done ? left : (room - done) & ~7ULL;
		memcpy((uint8_t *)dst + done, r->data + pos, len);
		run = whole_records((uint8_t *)dst + done, len, len < left);
		done += run.bytes;
		if (run.bad)
			goto resync;
		r->tail += run.used;
		if (len < left)
			break;
	}
	store_tail(r);
	return done;
resync:
	r->resyncs++;
	r->tail = head;
	store_tail(r);
	return done;
}
