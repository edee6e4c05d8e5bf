// SPDX-License-Identifier: GPL-2.0-only
/* ring.c - the one bounded ring between the probes and the reader; barriers: see ring.h. */
#include "ring.h"

#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <asm/msr.h>

/* More than this is not left to wait */
static u32 much(const struct vmpg_ring *ring)
{
	return ring->size / 4;
}

/* Pairs with the writer's release: who sees a record sees whether it is due */
static bool is_due(const struct vmpg_ring *ring)
{
	u64 head = smp_load_acquire(&ring->head), tail = READ_ONCE(ring->tail);

	return head != tail && ((s64)(READ_ONCE(ring->due) - tail) > 0 || head - tail > much(ring));
}

static void wake_reader(struct irq_work *work)
{
	struct vmpg_ring *ring = container_of(work, struct vmpg_ring, wake);

	if (vmpg_ring_is_due(ring))
		wake_up_interruptible(&ring->readable);
}

/* All that was written until now is due. */
static void on_late(struct work_struct *work)
{
	struct vmpg_ring *ring = container_of(to_delayed_work(work), struct vmpg_ring, late);
	unsigned long irq;

	raw_spin_lock_irqsave(&ring->lock, irq);
	WRITE_ONCE(ring->due, ring->head);
	raw_spin_unlock_irqrestore(&ring->lock, irq);
	if (is_due(ring))
		wake_up_interruptible(&ring->readable);
}

int vmpg_ring_init(struct vmpg_ring *ring, u32 bytes)
{
	bytes = roundup_pow_of_two(bytes);
	ring->data = vmalloc(bytes);
	if (!ring->data)
		return -ENOMEM;
	raw_spin_lock_init(&ring->lock);
	ring->size = bytes;
	ring->head = 0;
	ring->tail = 0;
	ring->due = 0;
	INIT_DELAYED_WORK(&ring->late, on_late);
	init_irq_work(&ring->wake, wake_reader);
	init_waitqueue_head(&ring->readable);
	init_waitqueue_head(&ring->room);
	return 0;
}

void vmpg_ring_free(struct vmpg_ring *ring)
{
	if (!ring->data)
		return;
	irq_work_sync(&ring->wake);
	cancel_delayed_work_sync(&ring->late);
	vfree(ring->data);
	ring->data = NULL;
}

static u32 record_bytes(u32 len)
{
	return sizeof(struct vmpg_record) + ALIGN(len, 8);
}

bool vmpg_ring_has_room(const struct vmpg_ring *ring, u32 len, u32 keep_free)
{
	/* pairs with the reader's store-release: its copy is over */
	u64 used = READ_ONCE(ring->head) - smp_load_acquire(&ring->tail);

	return used + record_bytes(len) + keep_free <= ring->size;
}

bool vmpg_ring_empty(const struct vmpg_ring *ring)
{
	return smp_load_acquire(&ring->head) == READ_ONCE(ring->tail);
}

bool vmpg_ring_is_due(struct vmpg_ring *ring)
{
	if (is_due(ring))
		return true;
	if (!vmpg_ring_empty(ring))
		schedule_delayed_work(&ring->late, msecs_to_jiffies(VMPG_LATE_MS));
	return false;
}

static void copy_in(struct vmpg_ring *ring, u64 pos, const void *src, u32 len)
{
	u32 at = pos & (ring->size - 1);
	u32 first = min(len, ring->size - at);

	memcpy(ring->data + at, src, first);
	memcpy(ring->data, (const u8 *)src + first, len - first);
}

int vmpg_ring_put(struct vmpg_ring *ring, const struct vmpg_put *put)
{
	struct vmpg_record rec = { .len = put->len, .type = put->type, .flags = put->flags };
	unsigned long irq;
	int ret = 0;

	raw_spin_lock_irqsave(&ring->lock, irq);
	if (!vmpg_ring_has_room(ring, put->len, put->keep_free)) {
		ret = -ENOSPC;
	} else if (put->still_true && !put->still_true(put->arg)) {
		ret = -ESTALE;
	} else {
		if (put->tsc)
			*put->tsc = cpu_to_le64(rdtsc_ordered());
		/* records are 8-byte aligned: a header never wraps */
		copy_in(ring, ring->head, &rec, sizeof(rec));
		copy_in(ring, ring->head + sizeof(rec), put->payload, put->len);
		if (!put->can_wait)
			WRITE_ONCE(ring->due, ring->head + record_bytes(put->len));
		/* the record is complete before the reader sees it */
		smp_store_release(&ring->head, ring->head + record_bytes(put->len));
	}
	raw_spin_unlock_irqrestore(&ring->lock, irq);

	/* not here, for any lock may be held; a reader that does not wait yet sees to it when it will */
	if (!ret && wq_has_sleeper(&ring->readable) && (!delayed_work_pending(&ring->late) || is_due(ring)))
		irq_work_queue(&ring->wake);
	return ret;
}

/* Bytes of whole records from the tail on that fit into len */
static size_t whole_records(const struct vmpg_ring *ring, u64 head, size_t len)
{
	const struct vmpg_record *rec;
	size_t sum = 0, one;

	while (ring->tail + sum != head) {
		rec = (const void *)(ring->data + ((ring->tail + sum) & (ring->size - 1)));
		one = record_bytes(rec->len);
		if (sum + one > len)
			break;
		sum += one;
	}
	return sum;
}

ssize_t vmpg_ring_read(struct vmpg_ring *ring, char __user *dst, size_t len)
{
	u64 head = smp_load_acquire(&ring->head);	/* pairs with put's release */
	u32 at = ring->tail & (ring->size - 1);
	size_t sum, first;

	if (head == ring->tail)
		return 0;
	sum = whole_records(ring, head, len);
	if (!sum)
		return -EMSGSIZE;
	first = min_t(size_t, sum, ring->size - at);
	if (copy_to_user(dst, ring->data + at, first) ||
	    copy_to_user(dst + first, ring->data, sum - first))
		return -EFAULT;
	/* writers may use the room only after the copy */
	smp_store_release(&ring->tail, ring->tail + sum);
	wake_up(&ring->room);
	return sum;
}
