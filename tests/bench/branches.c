// SPDX-License-Identifier: GPL-2.0-only
/* branches.c - the flow of the made-up code is a matter of hashes: the same place always has the same predecessors. */
#include "branches.h"

#define LOOP_AT		12U	/* in a slot: the branch back to its beginning, ... */
#define CALL_AT		14U	/* ... the call at its end */
#define LOOPS		8	/* of so many branches one goes back */
#define HOT_FUNCTIONS	128U	/* of an image; all of its branches are in these */
#define HOT_SLOTS	4U	/* of a function, likewise */

const uint8_t branches_code[BRANCHES_SLOT] = {
	0x48, 0x89, 0xd8, 0x48, 0x89, 0xd8, 0x48, 0x89, 0xd8, 0x48, 0x89, 0xd8,	/* mov rax, rbx */
	0x75, 0xf2, 0xff, 0xd0,							/* jne slot; call rax */
};

/* Where the walk back is */
struct place {
	const struct world_map *map;
	uint32_t function, slot;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185ULL;
	x ^= x >> 27;
	x *= 0x81dadef4bc2dd44dULL;
	return x ^ x >> 33;
}

static uint32_t function_at(const struct world_image *im, uint64_t offset)
{
	uint32_t lo = 0, hi = im->nr_symbols, mid;

	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (im->symbol[mid].offset <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static uint32_t hot(const struct world_image *im, uint32_t function)
{
	return function % (im->nr_symbols < HOT_FUNCTIONS ? im->nr_symbols : HOT_FUNCTIONS);
}

static uint32_t hot_slots(const struct world_symbol *f)
{
	uint32_t slots = f->bytes / BRANCHES_SLOT;

	return slots < HOT_SLOTS ? slots : HOT_SLOTS;
}

static uint64_t address(const struct place *p)
{
	return p->map->start + (uint64_t)p->slot * BRANCHES_SLOT;
}

/* The block before, and the address of the branch at its end */
static uint64_t back(const struct world *w, const struct world_process *pr, struct place *p, uint64_t dice)
{
	uint64_t way = dice % 10 < 6 ? 0 : dice % 10 < 9 ? 1 : 2;
	uint64_t h = mix(address(p) ^ way << 60 ^ (uint64_t)p->map->image << 32);
	const struct world_image *im;
	const struct world_symbol *f;
	uint32_t first, end, blocks;

	if ((dice >> 32) % LOOPS == 0)
		return address(p) + LOOP_AT;
	if (way == 2 && h % 4 == 0) {
		p->map = &pr->map[h / 4 % pr->nr_maps];
		im = &w->image[p->map->image];
		p->function = hot(im, (uint32_t)(h / 64));
	}
	im = &w->image[p->map->image];
	f = &im->symbol[p->function];
	first = f->offset / BRANCHES_SLOT;
	end = first + (uint32_t)((h >> 20) % hot_slots(f));
	blocks = (uint32_t)((h >> 40) % 3);
	p->slot = end - first < blocks ? first : end - blocks;
	return p->map->start + (uint64_t)end * BRANCHES_SLOT + CALL_AT;
}

size_t branches_before(const struct world *w, struct world_sample *s, unsigned int nr, struct branches_record *rec)
{
	const struct world_map *m = s->map;
	const struct world_image *im;
	uint64_t offset, dice = mix(s->rec.tsc);
	struct place p = { .map = m };
	unsigned int i;

	if (!m)
		return 0;
	im = &w->image[m->image];
	offset = s->rec.guest_ip - m->start;
	p.function = hot(im, function_at(im, offset));
	p.slot = im->symbol[p.function].offset / BRANCHES_SLOT +
		 (uint32_t)(offset / BRANCHES_SLOT) % hot_slots(&im->symbol[p.function]);
	s->rec.guest_ip = s->ip = address(&p) + 3 * (dice % 5);
	rec->h = (struct vmprof_rec_lbr){
		.hdr = { VMPROF_REC_LBR, (uint16_t)(sizeof(rec->h) + 16 * nr), s->rec.hdr.pcpu }, .tsc = s->rec.tsc,
		.branches = VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL, .format = VMPROF_LBR_FROM_TO, .nr = (uint8_t)nr,
		.mispredicted = (uint32_t)(dice >> 20 & dice >> 40 & ((1ULL << nr) - 1)),
	};
	for (i = 0; i < nr; i++) {
		dice = mix(dice + i);
		rec->word[2 * i + 1] = address(&p);
		rec->word[2 * i] = back(w, s->process, &p, dice);
	}
	return rec->h.hdr.size;
}
