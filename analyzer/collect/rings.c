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

/* What must be read at once: a sample's branches stay with it. @left: up to the end or to head */
static uint64_t bytes_together(const struct vmp_ring *r, const struct vmprof_record *rec,
			       uint64_t pos, uint64_t left)
{
	struct vmprof_record next;

	if (!vmp_record_is_sample(rec) || left - rec->size < sizeof(next))
		return rec->size;
	memcpy(&next, r->data + pos + rec->size, sizeof(next));
	return rec->size + (uint64_t)(next.type == VMPROF_REC_LBR ? next.size : 0);
}

size_t vmp_ring_read(struct vmp_ring *r, void *dst, size_t room)
{
	uint64_t head, pos, left;
	struct vmprof_record rec;
	size_t done = 0;

	if (!r->producer)
		return 0;
	head = load_head(r);
	if (head - r->tail > r->bytes || (head & 7) || (r->tail & 7))
		goto resync;
	while (r->tail != head) {
		pos = r->tail & (r->bytes - 1);
		left = r->bytes - pos < head - r->tail ? r->bytes - pos : head - r->tail;
		memcpy(&rec, r->data + pos, sizeof(rec));
		if (!record_is_good(&rec, left))
			goto resync;
		if (rec.type != VMPROF_REC_PAD) {
			if (bytes_together(r, &rec, pos, left) > room - done)
				break;
			memcpy((uint8_t *)dst + done, r->data + pos, rec.size);
			/* the header as it was checked, whatever the ring says by now */
			memcpy((uint8_t *)dst + done, &rec, sizeof(rec));
			done += rec.size;
		}
		r->tail += rec.size;
	}
	store_tail(r);
	return done;
resync:
	r->resyncs++;
	r->tail = head;
	store_tail(r);
	return done;
}
