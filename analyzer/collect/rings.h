/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rings.h - reading side of the driver's rings (see the picture in uapi.h).
 *
 * Pure: works on any memory of that layout.  What is in a ring is checked as
 * if it were foreign, so that a fault there cannot make the reader read out
 * of bounds or loop.
 */
#ifndef VMP_RINGS_H
#define VMP_RINGS_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/uapi.h>

/* All zero: a ring that is not there, always empty */
struct vmp_ring {
	const struct vmprof_producer *producer;
	struct vmprof_consumer *consumer;
	const uint8_t *data;
	uint64_t bytes;		/* a power of two */
	uint64_t tail;		/* bytes consumed */
	uint64_t resyncs;	/* contents that made no sense: all of it was skipped */
};

/** vmp_ring_init() - Reader at the ring's current start; @bytes a power of two. */
void vmp_ring_init(struct vmp_ring *r, const struct vmprof_producer *producer,
		   struct vmprof_consumer *consumer, const void *data, uint64_t bytes);

/** vmp_ring_waiting() - Bytes not consumed yet; 0 of a ring that is not there. */
uint64_t vmp_ring_waiting(const struct vmp_ring *r);

/**
 * vmp_ring_read() - Move whole records out of the ring, without pads.
 * @dst:  @room bytes, at least 65536.
 *
 * Their place in the ring is given back before return.
 *
 * Return: bytes moved; 0 when the ring is empty.
 */
size_t vmp_ring_read(struct vmp_ring *r, void *dst, size_t room);

#endif
