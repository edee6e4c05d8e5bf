/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h - per-pCPU record ring, written from NMI context, read through mmap.
 *
 * The layout is include/vmprof/uapi.h's.  The consumer page belongs to the
 * reader and is believed in nothing; the producer page is only ever written.
 */
#ifndef VMPH_RING_H
#define VMPH_RING_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#endif			/* the unit tests bring tests/unit/ring_shim.h instead */
#include <vmprof/uapi.h>

struct vmph_ring {
	struct vmprof_consumer *consumer;	/* the reader's page: hostile */
	struct vmprof_producer *producer;
	u8 *data;
	u64 bytes;		/* of data; a power of two */
	u64 wake_bytes;		/* commit asks for a wake-up from here on */
	u64 head;		/* committed; the producer page has a copy */
	u64 next;		/* head after the record being written */
	u64 room;		/* up to here a record fits, as the reader's tail was at the last look */
	u64 wake_head;		/* a head below is no reason for a wake-up, by the same */
	u32 pcpu;
	u32 busy;		/* a record is being written */
	u64 lost_nr;		/* how often something was lost: a LOST record is due ... */
	u64 lost_told;		/* ... when it was less at the last one */
	u64 reported[VMPROF_LOST_NR];	/* lost[] as that one had it */
};

/**
 * vmph_ring_init() - An empty ring over three zeroed pieces of memory.
 * @ring:  To be set up; @consumer, @producer and @data must outlive it.
 * @bytes: Length of @data, a power of two of at least VMPROF_RING_MIN.
 * @wake_bytes: Fill from which commit asks for a wake-up.
 * @pcpu:  The only CPU that writes it.
 */
void vmph_ring_init(struct vmph_ring *ring, struct vmprof_consumer *consumer,
		    struct vmprof_producer *producer, void *data, u64 bytes,
		    u64 wake_bytes, u32 pcpu);

/** vmph_ring_lose() - Count @count losses by @cause, a VMPROF_LOST_*. */
void vmph_ring_lose(struct vmph_ring *ring, u32 cause, u64 count);

/** vmph_ring_used() - Bytes that wait for the reader; all of it if its tail is absurd. */
u64 vmph_ring_used(const struct vmph_ring *ring);

/** vmph_ring_reserve_slow() - Of vmph_ring_reserve(), where the room has to be looked at. */
int vmph_ring_reserve_slow(struct vmph_ring *ring, u16 type, u16 size, u64 tsc, void **rec);

/** vmph_ring_is_due() - Of vmph_ring_commit(), where a wake-up may be. */
bool vmph_ring_is_due(struct vmph_ring *ring);

/** vmph_ring_head() - Write the header of a record at @at. */
static __always_inline void *vmph_ring_head(const struct vmph_ring *ring, u64 at, u16 type, u16 size)
{
	struct vmprof_record *rec = (void *)(ring->data + (at & (ring->bytes - 1)));

	rec->type = type;
	rec->size = size;
	rec->pcpu = ring->pcpu;
	return rec;
}

/**
 * vmph_ring_reserve() - Reserve space for one record.
 * @ring: This CPU's ring; the caller does not migrate until commit.
 * @type: enum vmprof_record_type.
 * @size: Whole record in bytes, header included; a multiple of 8.
 * @tsc:  Time for a LOST record, which goes first where losses are unreported.
 * @rec:  On success the record, header filled, the rest not cleared; borrowed
 *	  until commit.  Untouched on error.
 *
 * Context: any, NMI included; never sleeps, takes no lock.
 * Return: 0, -ENOSPC (full), -EBUSY (inside another record); both are counted.
 */
static __always_inline int vmph_ring_reserve(struct vmph_ring *ring, u16 type, u16 size, u64 tsc, void **rec)
{
	u64 pos = ring->head;

	if (READ_ONCE(ring->busy)) {
		vmph_ring_lose(ring, VMPROF_LOST_NESTED, 1);
		return -EBUSY;
	}
	WRITE_ONCE(ring->busy, 1);
	barrier();
	if (pos + size > ring->room || READ_ONCE(ring->lost_nr) != ring->lost_told)
		return vmph_ring_reserve_slow(ring, type, size, tsc, rec);
	*rec = vmph_ring_head(ring, pos, type, size);
	ring->next = pos + size;
	return 0;
}

/**
 * vmph_ring_split() - Make two of the record that is reserved: both or neither get in.
 * @rec:  As reserved, for both together.
 * @size: What it keeps, a multiple of 8.
 * @type: enum vmprof_record_type of the second, which takes the rest.
 * Return: the second, its header filled.
 */
void *vmph_ring_split(struct vmph_ring *ring, void *rec, u16 size, u16 type);

/**
 * vmph_ring_commit() - Publish the record that was reserved.
 * Return: true when wake_bytes or more wait for the reader.
 */
static __always_inline bool vmph_ring_commit(struct vmph_ring *ring)
{
	u64 head = ring->next;

	WRITE_ONCE(ring->producer->records, ring->producer->records + 1);
	WRITE_ONCE(ring->head, head);
	smp_store_release(&ring->producer->head, head);
	barrier();
	WRITE_ONCE(ring->busy, 0);
	return head >= ring->wake_head && vmph_ring_is_due(ring);
}

#endif
