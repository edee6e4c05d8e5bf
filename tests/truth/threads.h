/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * threads.h - is the thread of a sample the one that ran?
 *
 * The emulator does not know the guest's tasks, but what they have in a register: the base of
 * FS is where a thread has its own data, so it is another one for each thread of a process, and
 * stays as long as the program does. Kernel threads have none (0).
 */
#ifndef TRUTH_THREADS_H
#define TRUTH_THREADS_H

#include <stdint.h>

#include "exact.h"
#include "model/classify.h"
#include "model/model.h"

struct thread_seen {
	uint64_t tsc, fs;
	uint32_t vm, epoch, image, tgid;	/* whose threads: nobody else has these four */
	uint32_t tid;
};

struct threads {
	VMP_VEC(struct thread_seen) seen;	/* with an FS */
	uint64_t kthreads;	/* samples of kernel threads, idle ones too ... */
	uint64_t with_fs;	/* ... that are some process's, as their FS tells */
	uint64_t bases;		/* found by threads_finish(): threads by either */
	uint64_t mixed;		/* how often one came back after another, for one FS or of one thread */
};

/** threads_sample() - A guest's sample and its overflow. Return: 0 or -ENOMEM. */
int threads_sample(struct threads *t, const struct vmp_model *m, const struct vmp_hit *hit, const char *function,
		   const struct vmprof_sample *s, const struct exact_overflow *o);

/** threads_finish() - All are given. */
void threads_finish(struct threads *t);
void threads_free(struct threads *t);

#endif
