// SPDX-License-Identifier: GPL-2.0-only
/* branches.c - which of the last branches are of the sample's side, and their record. */
#include "branches.h"

#define VMPH_LEVELS	(VMPROF_LBR_KERNEL | VMPROF_LBR_USER)
#define VMPH_KINDS	(VMPROF_LBR_ALL & ~VMPH_LEVELS)

bool vmph_branches_sane(u32 branches, u32 format)
{
	if (!branches)
		return !format;
	return !(branches & ~VMPROF_LBR_ALL) && (branches & VMPH_LEVELS) &&
	       (branches & VMPH_KINDS) && format >= VMPROF_LBR_FROM_TO &&
	       format <= VMPROF_LBR_FROM_TO_CYCLES;
}

bool vmph_branches_tell_entry(u32 branches)
{
	return !(branches & VMPROF_LBR_KERNEL) ||
	       (branches & (VMPROF_LBR_CALL_REL | VMPROF_LBR_RET));
}

static unsigned int vmph_words(u8 format)
{
	switch (format) {
	case VMPROF_LBR_FROM:
	case VMPROF_LBR_TO:
		return 1;
	case VMPROF_LBR_FROM_TO_CYCLES:
		return 3;
	default:
		return 2;
	}
}

u16 vmph_branches_bytes(const struct vmph_branches *b, u8 format)
{
	if (!b->nr && !b->cut)
		return 0;
	return sizeof(struct vmprof_rec_lbr) + b->nr * vmph_words(format) * sizeof(u64);
}

static void vmph_write_pairs(const struct vmph_branches *b, __u64 *word)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		word[2 * i] = b->entry[i].from;
		word[2 * i + 1] = b->entry[i].to;
	}
}

static void vmph_write_words(const struct vmph_branches *b, u8 format, __u64 *word)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		if (format != VMPROF_LBR_TO)
			*word++ = b->entry[i].from;
		if (format != VMPROF_LBR_FROM)
			*word++ = b->entry[i].to;
		if (format == VMPROF_LBR_FROM_TO_CYCLES)
			*word++ = b->entry[i].cycles;
	}
}

void vmph_branches_write(const struct vmph_branches *b, u8 format, u64 tsc,
			 struct vmprof_rec_lbr *rec)
{
	rec->tsc = tsc;
	rec->branches = b->recorded;
	rec->format = format;
	rec->nr = b->nr;
	rec->cut = b->cut;
	rec->flags = b->flags;
	rec->mispredicted = b->mispredicted;
	rec->reserved1 = 0;
	if (format == VMPROF_LBR_FROM_TO)
		vmph_write_pairs(b, rec->word);
	else
		vmph_write_words(b, format, rec->word);
}
