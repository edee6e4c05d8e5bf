/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * branches.h - code and branches of the made-up guest: every 16 bytes of a text are
 * four moves, a branch back to them and an indirect call, and each place has a few that come before it.
 */
#ifndef VMP_BENCH_BRANCHES_H
#define VMP_BENCH_BRANCHES_H

#include <stddef.h>

#include "world.h"

#define BRANCHES_SLOT	16U	/* bytes of code between two places where blocks can begin */

/* A record with room for all that it may hold */
struct branches_record {
	struct vmprof_rec_lbr h;
	uint64_t word[2 * VMPROF_LBR_MAX];
};

/** branches_code() - Code of a slot. */
extern const uint8_t branches_code[BRANCHES_SLOT];

/**
 * branches_before() - Make the branches before a sample in guest user code.
 * The sample is moved to the beginning of an instruction.
 * Return: bytes of the record; 0 for other samples.
 */
size_t branches_before(const struct world *w, struct world_sample *s, unsigned int nr, struct branches_record *rec);

#endif
