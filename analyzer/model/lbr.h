/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lbr.h - last branch records, each with the sample that it belongs to.
 *
 * A record that follows no sample, or that is not what its header says, is
 * counted and passed over; its sample is given without it.
 */
#ifndef VMP_LBR_H
#define VMP_LBR_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/uapi.h>

struct vmp_branch {
	uint64_t from, to;	/* 0 where the format has none */
	uint32_t cycles;	/* since the branch before it, 0 unknown */
	int mispredicted;
};

/* One record in host order, the youngest branch first */
struct vmp_lbr {
	uint32_t branches;	/* VMPROF_LBR_*: what was recorded */
	unsigned int format, nr, cut, flags;	/* flags: VMPROF_LBR_SWITCHED */
	struct vmp_branch b[VMPROF_LBR_MAX];
};

struct vmp_lbr_losses {
	uint64_t records;	/* good ones */
	uint64_t entries;	/* in them */
	uint64_t orphans;	/* records without a sample */
	uint64_t malformed;	/* records whose sizes, format or time are wrong */
	uint64_t cut;		/* entries that the driver did not look at */
};

/* A sample and its branches */
struct vmp_lbr_sample {
	const struct vmprof_sample *s;
	const struct vmp_lbr *lbr;	/* NULL: it has none */
	int first;			/* of its block: what came before is not known */
};

/** vmp_lbr_is_timed() - 1 of the session's event, 0 of instructions sampled beside it. */
static inline int vmp_lbr_is_timed(const struct vmp_lbr_sample *ls)
{
	return ls->s->hdr.type == VMPROF_REC_SAMPLE;
}

/* Every kind of near branch: code between two of them ran straight on */
#define VMP_LBR_NEAR	(VMPROF_LBR_COND | VMPROF_LBR_CALL_REL | VMPROF_LBR_CALL_IND | VMPROF_LBR_RET | \
			 VMPROF_LBR_JUMP_IND | VMPROF_LBR_JUMP_REL)

/** vmp_lbr_has_blocks() - 1 when the code between neighbours is known. */
static inline int vmp_lbr_has_blocks(const struct vmp_lbr *l)
{
	return (l->branches & VMP_LBR_NEAR) == VMP_LBR_NEAR &&
	       (l->format == VMPROF_LBR_FROM_TO || l->format == VMPROF_LBR_FROM_TO_CYCLES);
}

/**
 * vmp_lbr_walk() - Each sample of a RECORDS block, with its branches.
 * @data:   @len bytes, 8-aligned.
 * @losses: Added to.
 * Return: 0, or the first non-zero result of @fn.
 */
int vmp_lbr_walk(const void *data, size_t len, struct vmp_lbr_losses *losses,
		 int (*fn)(void *arg, const struct vmp_lbr_sample *s), void *arg);

/** vmp_lbr_losses_add() - @to has @from's, too. */
void vmp_lbr_losses_add(struct vmp_lbr_losses *to, const struct vmp_lbr_losses *from);

#endif
