/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * early.h - guest binaries that go with their processes, on their way into the object cache while the session samples.
 *
 * All others are fetched at the end, when it is known which were sampled (fetch.h). But what no path of the guest's own root
 * leads to, a removed program or a container's, is gone when its last process is; so it is fetched as soon as its agent tells
 * of it (VMPROF_FILE_FLEETING), sampled or not: slowly, since the guest is being measured, and not without a bound.
 */
#ifndef VMP_EARLY_H
#define VMP_EARLY_H

#include "collect/vm.h"

#define VMP_EARLY_SUM_BYTES	(128ULL << 20)	/* of one guest and session, of what came */
#define VMP_EARLY_LEAST_BYTES	(64ULL << 10)	/* for which a smaller one counts, in all of these: 2048 files of a guest, 32 in a second */
#define VMP_EARLY_ALL_BYTES	(1ULL << 30)	/* of all guests of a session, so that the cache has room for what is fetched at its end */
#define VMP_EARLY_RATE_BYTES	(2ULL << 20)	/* of one guest in a second */

/** vmp_early_init() - Nothing is to be fetched. */
void vmp_early_init(struct vmp_vm *vm);

/** vmp_early_take() - The agent told of a file: remember it, if it goes with its processes and is not here yet. */
void vmp_early_take(struct vmp_vm *vm, const struct vmp_msg_file *m);

/**
 * vmp_early_step() - Ask for what comes next.
 * @more: 0: for the rest of what was begun alone.
 * Return: 1 nothing is on its way.
 */
int vmp_early_step(struct vmp_vm *vm, uint64_t now_ns, int more);

/** vmp_early_forget() - The conversation is over, and with it the agent's handles, or sampling is. */
void vmp_early_forget(struct vmp_vm *vm);

#endif
