// SPDX-License-Identifier: GPL-2.0-only
/* count.c - open-addressing counters, at most half full. */
#include "model/count.h"

#include <errno.h>
#include <stdlib.h>

#include "model/hash.h"

static struct vmp_count *probe(struct vmp_count *slots, uint64_t mask, uint32_t space, uint64_t addr)
{
	uint64_t i = vmp_hash_mix(addr + ((uint64_t)space << 44)) & mask;

	while (slots[i].n && (slots[i].addr != addr || slots[i].space != space))
		i = (i + 1) & mask;
	return &slots[i];
}

static int grow(struct vmp_counts *c)
{
	uint64_t mask = c->slots ? 2 * c->mask + 1 : 1023, i;
	struct vmp_count *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; c->slots && i <= c->mask; i++)
		if (c->slots[i].n)
			*probe(slots, mask, c->slots[i].space, c->slots[i].addr) = c->slots[i];
	free(c->slots);
	c->slots = slots;
	c->mask = mask;
	return 0;
}

int vmp_counts_add(struct vmp_counts *c, uint32_t space, uint64_t addr, uint64_t n)
{
	struct vmp_count *s;

	if ((!c->slots || c->nr > c->mask / 2) && grow(c))
		return -ENOMEM;
	s = probe(c->slots, c->mask, space, addr);
	if (!s->n) {
		s->addr = addr;
		s->space = space;
		c->nr++;
	}
	s->n += n;
	return 0;
}

const struct vmp_count *vmp_counts_next(const struct vmp_counts *c, uint64_t *at)
{
	while (c->slots && *at <= c->mask) {
		const struct vmp_count *s = &c->slots[(*at)++];

		if (s->n)
			return s;
	}
	return NULL;
}

void vmp_counts_free(struct vmp_counts *c)
{
	free(c->slots);
	c->slots = NULL;
	c->nr = c->mask = 0;
}
