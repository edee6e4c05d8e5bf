/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pieces.h - what the emulator counted of code, in whichever processes it ran: the guest's, the host's kernel's, and QEMU's.
 *
 * A block of the branch record, from a branch's target to the next taken branch, is a chain of the emulator's blocks,
 * which end at every branch: pieces. What a run of one costs is its cycles by the number of its runs: the instructions that
 * were retired in it by those that it has. Its last instruction may cost another time when it branches than when it does
 * not: the emulator counts what leads to an address in line, and what is left of that instruction is of its branches.
 */
#ifndef TRUTH_PIECES_H
#define TRUTH_PIECES_H

#include "blocks/set.h"
#include "exact.h"

/* One of the emulator's blocks, in whichever processes it ran */
struct piece {
	uint32_t object, size, function;
	uint64_t addr, insns, cycles, cycles_at;
	uint64_t entries[2], led[2];	/* as in struct exact_block */
	uint32_t has;			/* instructions; 0: it cannot be told */
};

/* Where pieces end: what their last instructions took, and of that what led on in line */
struct ending {
	double runs, cycles;
	double entries, led;
	double repeated;	/* ... and of one that repeats itself what did not lead on yet, where it was broken off */
};

struct pieces {
	struct vmp_set *set;
	VMP_VEC(struct piece) all;
	struct vmp_hash by_place;	/* object, address and size */
	struct vmp_hash by_start;	/* object and address: the one that ran most */
	VMP_VEC(struct ending) endings;
	struct vmp_hash by_end;		/* object and the address behind */
};

/**
 * pieces_create() - Of the guest, of the host's kernel, and of the VM's QEMU.
 * @set: Gets points of theirs.
 * @qemu: The CR3 that QEMU has in the emulator's counts, 0: not known.
 * Return: 0, -ENOMEM, -errno; pieces_free() is due either way.
 */
int pieces_create(struct pieces *p, struct vmp_set *set, struct vmp_model *m, const struct exact *x, uint64_t qemu);
void pieces_free(struct pieces *p);

/**
 * pieces_block() - What the emulator says of a block.
 * @cost: Cycles of a run.
 * @runs: How many there were, if none of the branches in it depends on those before: of the branches that led to where it begins,
 *        those behind which no branch was taken but the last. What an interrupt broke off has runs that nobody counted: NAN.
 * Return: 1, 0 where a piece of it never ran or has no code.
 */
int pieces_block(const struct pieces *p, const struct vmp_block_code *b, double *cost, double *runs);

/** pieces_runs() - How often the instruction at an address ran. */
double pieces_runs(const struct pieces *p, uint32_t object, uint64_t addr);

/**
 * pieces_cycles() - What the code of an object took from an address, to which a branch leads, until behind one that ends a piece.
 * Return: cycles; NAN: code runs on to the address that cannot be told from what lies before it.
 */
double pieces_cycles(const struct pieces *p, uint32_t object, uint64_t addr, uint64_t behind);

/** pieces_in_line() - How often code ran straight on to the instruction at an address. */
double pieces_in_line(const struct pieces *p, uint32_t object, uint64_t addr);

/** pieces_taken() - How often the instruction before an address branched. */
double pieces_taken(const struct pieces *p, uint32_t object, uint64_t behind);

#endif
