// SPDX-License-Identifier: GPL-2.0-only
/*
 * ring.c - per-pCPU record ring written from NMI context, read through mmap.
 *
 * Writers: the owning CPU only, in any context.  Reader: one process.
 * Built twice: into the host module and into tests/unit.
 *
 *   writer                               reader
 *     A: load_acquire(tail)                C: load_acquire(head)
 *        write pads and records               read records
 *     B: store_release(head)               D: store_release(tail)
 *   B pairs with C: what is below head is whole.
 *   D pairs with A: what is below tail is no longer read.
 */
#include "ring.h"

void vmph_ring_init(struct vmph_ring *ring, struct vmprof_consumer *consumer,
		    struct vmprof_producer *producer, void *data, u64 bytes,
		    u64 wake_bytes, u32 pcpu)
{
	memset(ring, 0, sizeof(*ring));
	ring->consumer = consumer;
	ring->producer = producer;
	ring->data = data;
	ring->bytes = bytes;
	ring->wake_bytes = wake_bytes;
	ring->pcpu = pcpu;
	producer->ring_id = VMPROF_RING_ID;
	producer->cpu = pcpu;
}

u64 vmph_ring_used(const struct vmph_ring *ring)
{
	u64 head = READ_ONCE(ring->head);
	u64 used = head - smp_load_acquire(&ring->consumer->tail);

	return used <= ring->bytes ? used : ring->bytes;
}

void vmph_ring_lose(struct vmph_ring *ring, u32 cause, u64 count)
{
	u64 *lost = &ring->producer->lost[cause];

	WRITE_ONCE(*lost, READ_ONCE(*lost) + count);
	WRITE_ONCE(ring->lost_nr, READ_ONCE(ring->lost_nr) + 1);
}

/* Where a record of @size goes that may start at @pos: not across the end */
static u64 vmph_ring_fit(const struct vmph_ring *ring, u64 pos, u16 size)
{
	u64 left = ring->bytes - (pos & (ring->bytes - 1));

	return left < size ? pos + left : pos;
}

/* Write the header of a record at @at, and a pad from @pos up to it */
static void *vmph_ring_place(struct vmph_ring *ring, u64 pos, u64 at, u16 type, u16 size)
{
	if (pos != at)
		vmph_ring_head(ring, pos, VMPROF_REC_PAD, at - pos);
	return vmph_ring_head(ring, at, type, size);
}

static void vmph_ring_fill_lost(struct vmph_ring *ring, struct vmprof_rec_lost *rec, u64 tsc)
{
	unsigned int i;

	rec->tsc = tsc;
	/* first: a nested overflow from here on makes one more record due */
	ring->lost_told = READ_ONCE(ring->lost_nr);
	barrier();
	for (i = 0; i < VMPROF_LOST_NR; i++) {
		/* a nested overflow may count one more at any time: read once */
		u64 lost = READ_ONCE(ring->producer->lost[i]);

		rec->count[i] = lost - ring->reported[i];
		ring->reported[i] = lost;
	}
}

/* Look at the reader's tail again.  Return: whether all up to @end has room. */
static bool vmph_ring_look(struct vmph_ring *ring, u64 at, u64 end)
{
	u64 limit = ring->head + ring->bytes - vmph_ring_used(ring);
	u64 wrap = at - (at & (ring->bytes - 1)) + ring->bytes;

	ring->room = min(limit, wrap);
	return end <= limit;
}

/* With a LOST record first, a pad, or a look at what the reader has given back */
int vmph_ring_reserve_slow(struct vmph_ring *ring, u16 type, u16 size, u64 tsc, void **rec)
{
	u64 pos = ring->head, lost_at = vmph_ring_fit(ring, pos, sizeof(struct vmprof_rec_lost)), at;
	struct vmprof_rec_lost *lost;

	if (READ_ONCE(ring->lost_nr) != ring->lost_told)
		at = vmph_ring_fit(ring, lost_at + sizeof(*lost), size);
	else
		at = lost_at = vmph_ring_fit(ring, pos, size);

	if (!vmph_ring_look(ring, at, at + size)) {
		vmph_ring_lose(ring, VMPROF_LOST_FULL, 1);
		barrier();
		WRITE_ONCE(ring->busy, 0);
		return -ENOSPC;
	}
	if (at != lost_at) {
		lost = vmph_ring_place(ring, pos, lost_at, VMPROF_REC_LOST, sizeof(*lost));
		vmph_ring_fill_lost(ring, lost, tsc);
		pos = lost_at + sizeof(*lost);
		WRITE_ONCE(ring->producer->records, ring->producer->records + 1);
	}
	*rec = vmph_ring_place(ring, pos, at, type, size);
	ring->next = at + size;
	return 0;
}

void *vmph_ring_split(struct vmph_ring *ring, void *rec, u16 size, u16 type)
{
	struct vmprof_record *first = rec, *second = (void *)((u8 *)rec + size);

	second->type = type;
	second->size = first->size - size;
	second->pcpu = ring->pcpu;
	first->size = size;
	WRITE_ONCE(ring->producer->records, ring->producer->records + 1);
	return second;
}

/*
 * The reader announces that it will sleep, then looks at head; commit sets
 * head, then this looks at what it announced.  One of the two must see the
 * other: session.c has the reader's half.
 */
bool vmph_ring_is_due(struct vmph_ring *ring)
{
	u64 used;

	smp_mb();
	used = vmph_ring_used(ring);
	if (used >= ring->wake_bytes)
		return true;
	ring->wake_head = ring->head - used + ring->wake_bytes;
	return false;
}
