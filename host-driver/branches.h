/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * branches.h - the last branches before an overflow: which of them are of its side, and their
 * record.  Without MSRs and KVM: built into the unit tests, too.
 *
 * Guest and host share the processor's record.  Where it is cut, youngest entry first:
 *   - at the mark.  At each VM entry and exit the then youngest entry is overwritten with it
 *     (lbr.c), so what is beyond it is older than that.
 *   - in a guest's sample at the first entry that starts or ends in the text of KVM's vendor
 *     module.  Between the mark and VMRUN some branches of the host follow, and the youngest of
 *     them is that module's: it calls the function with VMRUN, and what returned last before did
 *     so to it.  So calls or returns must be among the branches, unless none of the kernel are.
 * A guest's module at the host module's addresses costs entries, but never shows wrong ones.
 *
 * What is done for each entry is inline: 16 or 32 times in an NMI.
 */
#ifndef VMPH_BRANCHES_H
#define VMPH_BRANCHES_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif			/* the unit tests bring tests/unit/ring_shim.h instead */
#include <vmprof/uapi.h>

/* The "from" of the entry that marks a VM entry or exit; no instruction is there */
#define VMPH_BRANCH_MARK	1ULL

struct vmph_branch {
	u64 from;		/* canonical */
	u64 to;
	u32 cycles;		/* since the branch before; 0: not counted */
	bool mispredicted;
};

/* Code; empty: none */
struct vmph_text {
	u64 start;
	u64 end;
};

struct vmph_branches {
	u32 recorded;		/* VMPROF_LBR_* */
	u32 mispredicted;	/* bit for each entry */
	u8 nr;
	u8 cut;			/* entries that were left out at a boundary */
	u8 flags;		/* VMPROF_LBR_SWITCHED */
	struct vmph_branch entry[VMPROF_LBR_MAX];
};

enum vmph_branch_kind {
	VMPH_BRANCH_TAKEN,
	VMPH_BRANCH_WRONG_PATH,	/* speculated, and never retired */
	VMPH_BRANCH_NONE,	/* never written: the record ends */
	VMPH_BRANCH_BOUNDARY,	/* the mark */
};

/* AMD64 APM volume 2, 13.2.2: LastBranchStackFromIp, LastBranchStackToIp */
#define VMPH_AMD_FROM_MISPREDICTED	(1ULL << 63)
#define VMPH_AMD_TO_VALID		(1ULL << 63)
#define VMPH_AMD_TO_SPECULATIVE		(1ULL << 62)
#define VMPH_AMD_TO_RESERVED		(1ULL << 61)	/* set by erratum 1452: no branch */
#define VMPH_AMD_IP			((1ULL << 58) - 1)

/** vmph_branches_sane() - May a user ask for these VMPROF_LBR_*, in this format? */
bool vmph_branches_sane(u32 branches, u32 format);

/** vmph_same_space() - Are two CR3s of one address space? PCID and page-table isolation do not count. */
static inline bool vmph_same_space(u64 cr3, u64 other)
{
	return !((cr3 ^ other) & 0x000fffffffffe000);
}

/** vmph_branches_tell_entry() - Does a VM entry show in records of these VMPROF_LBR_*? */
bool vmph_branches_tell_entry(u32 branches);

/**
 * vmph_branches_go_on() - Do records of these VMPROF_LBR_* and in this format go on behind a VM exit, if nothing else ran
 * between?  Not those of the kernel, which have the host's branches, too; nor those with cycles, for the first branch
 * would have the host's with its own (Intel SDM, volume 3, "Elapsed cycles": since the branch that was recorded before).
 */
static inline bool vmph_branches_go_on(u32 branches, u8 format)
{
	return !(branches & VMPROF_LBR_KERNEL) && format != VMPROF_LBR_FROM_TO_CYCLES;
}

static inline u64 vmph_canonical(u64 ip, unsigned int unused)
{
	return (u64)((s64)(ip << unused) >> unused);
}

/**
 * vmph_branch_amd() - What a pair of AMD's MSRs holds.
 * @unused: High bits of an address that are copies of its highest used one.
 * @branch: Set where it is TAKEN, untouched else.
 */
static inline enum vmph_branch_kind vmph_branch_amd(u64 from, u64 to, unsigned int unused,
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

static inline bool vmph_text_has(const struct vmph_text *text, u64 ip)
{
	return ip >= text->start && ip < text->end;
}

/**
 * vmph_branches_add() - Take the next entry, youngest first.
 * @left: Entries from this one on, itself included; not zero.
 * @host: Text whose branches are the other side's.
 * Return: whether there may be more.
 */
static inline bool vmph_branches_add(struct vmph_branches *b, enum vmph_branch_kind kind,
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

/** vmph_branches_bytes() - Size of their record; 0: there is nothing to say. */
u16 vmph_branches_bytes(const struct vmph_branches *b, u8 format);

/** vmph_branches_write() - Fill a record of vmph_branches_bytes(), all but its header. */
void vmph_branches_write(const struct vmph_branches *b, u8 format, u64 tsc,
			 struct vmprof_rec_lbr *rec);

#endif
