/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * join.h - exact counts and samples, summed up by function side by side.
 *
 * Each side comes to its function by its own way: a block by the space that
 * the emulator saw it in, a sample by what the sampler wrote into it.
 */
#ifndef TRUTH_JOIN_H
#define TRUTH_JOIN_H

#include "axis.h"
#include "exact.h"
#include "host.h"
#include "model/classify.h"
#include "model/model.h"
#include "neighbours.h"
#include "threads.h"

/* A function; user code: in one program */
struct join_row {
	uint32_t kind;			/* enum vmp_kind */
	uint32_t vm;
	uint32_t function, module, comm;	/* string numbers */
	uint32_t group;			/* row that a block shares with it, or itself */
	int is_known;			/* its name or its bounds, and whose it is */
	uint64_t insns, cycles, insns_at, cycles_at;	/* exact, counters running */
	uint64_t samples, insn_samples;	/* of the session's event, of instructions */
	uint64_t overflows;		/* of samples of the session's event, by what the emulator says of them */
};

/* What each sample's own overflow says of it */
struct join_checks {
	uint64_t samples;		/* in the window, none twice */
	uint64_t outside;		/* before it, or after it */
	uint64_t orphans;		/* no overflow, or one that another sample has */
	uint64_t guest, host;		/* by the sampler */
	uint64_t main_guest;		/* of guest: samples of the session's event */
	uint64_t guest_of_host;		/* called guest, the overflow was the host's */
	uint64_t host_of_guest;
	uint64_t held;			/* of host, of the host's overflows: the interrupt had to wait ... */
	uint64_t held_user;		/* ... in user code, where none has to */
	uint64_t astray;		/* ... not where the host was when the interrupt came */
	uint64_t elsewhere;		/* all others: not where the counter overflowed */
	uint64_t rowless;		/* samples of the session's event that no row has as an overflow, though they may be a guest's */
	uint64_t left;			/* true guest samples whose overflow came when it had just been left: */
	uint64_t wrong_vm, wrong_cr3, wrong_cpl;	/* of all others */
	uint64_t skid, skid_max;	/* samples with one, bytes */
	uint64_t user, user_known;	/* user code; of them process, module and function are known */
	uint64_t kernel, kernel_known;	/* the guests' kernels; of them the function is known */
	uint64_t tasks, other_task;	/* user code whose task was read; of another process than its CR3 */
	uint64_t exits;			/* host samples that name an exit */
	uint64_t wrong_exit;		/* not the last one before the overflow */
	uint64_t entry;			/* on the way into the guest, by one of the two alone */
};

struct join {
	struct vmp_model *model;	/* borrowed */
	struct exact *exact;		/* borrowed */
	VMP_VEC(struct join_row) rows;
	struct vmp_hash by_row;
	struct vmp_hash by_place;
	struct join_checks checks;
	struct host host;		/* the host's side of it */
	struct threads threads;
	struct axis axis;
	struct neighbours neighbours;
	uint64_t cycles, insns;		/* exact, counters running: all there was */
	uint64_t quiet_cycles;		/* counters stopped: the sampling itself */
	uint64_t side[4];		/* exact cycles by EXACT_GUEST | EXACT_USER */
};

/** join_create() - Read both sides.  Return: 0, -ENOMEM, -errno of reading. */
int join_create(struct join *j, struct vmp_model *m, struct exact *x);
void join_free(struct join *j);

#endif
