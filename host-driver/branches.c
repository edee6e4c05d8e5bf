// SPDX-License-Identifier: GPL-2.0-only
/* branches.c - which of the last branches are of the sample's side, and their record. */
#include "branches.h"

/* AMD64 APM volume 2, 13.2.2: LastBranchStackFromIp, LastBranchStackToIp */
#define VMPH_AMD_FROM_MISPREDICTED	(1ULL << 63)
#define VMPH_AMD_TO_VALID		(1ULL << 63)
#define VMPH_AMD_TO_SPECULATIVE		(1ULL << 62)
#define VMPH_AMD_TO_RESERVED		(1ULL << 61)	/* set by erratum 1452: no branch */
#define VMPH_AMD_IP			((1ULL << 58) - 1)

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

bool vmph_same_space(u64 cr3, u64 other)
{
	return !((cr3 ^ other) & 0x000fffffffffe000);
}

bool vmph_branches_tell_entry(u32 branches)
{
	return !(branches & VMPROF_LBR_KERNEL) ||
	       (branches & (VMPROF_LBR_CALL_REL | VMPROF_LBR_RET));
}

static u64 vmph_canonical(u64 ip, unsigned int unused)
{
	return (u64)((s64)(ip << unused) >> unused);
}

enum vmph_branch_kind vmph_branch_amd(u64 from, u64 to, unsigned int unused,
				      struct vmph_branch *branch)
{
	if (from == VMPH_BRANCH_MARK)
		return VMPH_BRANCH_BOUNDARY;
	if (!(to & (VMPH_AMD_TO_VALID | VMPH_AMD_TO_SPECULATIVE)))
		return VMPH_BRANCH_NONE;
	if (!(to & VMPH_AMD_TO_VALID) || (to & VMPH_AMD_TO_RESERVED))
		return VMPH_BRANCH_WRONG_PATH;
	branch->from = vmph_canonical(from & VMPH_AMD_IP, unused);
	branch->to = vmph_canonical(to & VMPH_AMD_IP, unused);
	branch->cycles = 0;
	branch->mispredicted = from & VMPH_AMD_FROM_MISPREDICTED;
	return VMPH_BRANCH_TAKEN;
}

static bool vmph_text_has(const struct vmph_text *text, u64 ip)
{
	return ip >= text->start && ip < text->end;
}

bool vmph_branches_add(struct vmph_branches *b, enum vmph_branch_kind kind,
		       const struct vmph_branch *branch, unsigned int left,
		       const struct vmph_text *host)
{
	if (kind == VMPH_BRANCH_WRONG_PATH)
		return true;
	if (kind == VMPH_BRANCH_NONE || b->nr == VMPROF_LBR_MAX)
		return false;
	if (kind == VMPH_BRANCH_BOUNDARY || vmph_text_has(host, branch->from) ||
	    vmph_text_has(host, branch->to)) {
		b->cut = left;
		return false;
	}
	b->mispredicted |= (u32)branch->mispredicted << b->nr;
	b->entry[b->nr++] = *branch;
	return true;
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

void vmph_branches_write(const struct vmph_branches *b, u8 format, u64 tsc,
			 struct vmprof_rec_lbr *rec)
{
	__u64 *word = rec->word;
	unsigned int i;

	rec->tsc = tsc;
	rec->branches = b->recorded;
	rec->format = format;
	rec->nr = b->nr;
	rec->cut = b->cut;
	rec->flags = b->flags;
	rec->mispredicted = b->mispredicted;
	rec->reserved1 = 0;
	for (i = 0; i < b->nr; i++) {
		if (format != VMPROF_LBR_TO)
			*word++ = b->entry[i].from;
		if (format != VMPROF_LBR_FROM)
			*word++ = b->entry[i].to;
		if (format == VMPROF_LBR_FROM_TO_CYCLES)
			*word++ = b->entry[i].cycles;
	}
}
