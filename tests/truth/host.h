/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * host.h - exact counts and samples of the host's code, side by side: KVM's own
 * by exit reason and by function, user code by process, QEMU's by function as well.
 *
 * The emulator does not know the host's tasks.  KVM's modules run for the vCPU
 * that is loaded, and user code has its process's CR3: those two can be told.
 */
#ifndef TRUTH_HOST_H
#define TRUTH_HOST_H

#include "exact.h"
#include "model/model.h"

struct host_share {
	uint64_t key;			/* exit code; function, a string number; CR3 */
	uint64_t cycles;		/* exact, as cycles_at */
	uint64_t samples;		/* of the session's event */
	uint64_t steal;			/* of them */
	uint64_t own;			/* exit codes: samples that name it themselves, as a report has them */
};

/* A function of the host's kernel, outside of KVM's modules */
struct host_function {
	uint32_t name;			/* a string number */
	uint64_t cycles;		/* exact, as cycles_at */
	uint64_t nmi;			/* of them, after a #VMEXIT by an NMI, or from an NMI to its IRET */
	uint64_t samples;		/* of the session's event */
};

/* A process's samples by the CR3 of their overflows, and by the VM whose QEMU they say it is */
struct host_vote {
	uint32_t pid;
	uint32_t vm;			/* number in the model, or VMP_NONE */
	uint64_t cr3;
	uint64_t samples, steal;	/* of the session's event */
	uint64_t all;			/* of either event */
};

struct host_votes {
	struct host_vote *v;
	uint32_t nr, room;
};

/* Code of the host's user side that ran, and a sample of QEMU's in it */
struct host_user_block {
	uint64_t cr3, pc, cycles;	/* as cycles_at */
};

struct host_user_sample {
	uint64_t ip;
	uint32_t pid;
	uint32_t is_main;		/* of the session's event */
};

struct host {
	VMP_VEC(struct host_share) exits;	/* KVM's modules, by the last #VMEXIT */
	VMP_VEC(struct host_share) functions;	/* ... by function */
	VMP_VEC(struct host_share) procs;	/* user code, by CR3; samples after host_finish() */
	struct host_votes votes;		/* of user code */
	struct host_votes kvm_votes;		/* of QEMU's tasks in KVM's modules; no pid */
	VMP_VEC(struct host_user_block) user_blocks;
	VMP_VEC(struct host_user_sample) user_samples;	/* QEMU's */
	VMP_VEC(struct host_share) qemu;	/* its functions, of all VMs; own: how many blocks ran; after host_finish() */
	uint64_t qemu_ghosts;	/* its samples, of either event, in functions that did not run */
	uint64_t moved;		/* KVM's samples that were held back: the place is the overflow's */
	uint64_t beside;	/* samples in KVM's modules while another task than QEMU's ran, an idle one for instance */
	uint64_t kvm, loose;	/* QEMU's in KVM's modules, of either event; of them no vCPU was loaded */
	struct vmp_hash places;	/* address -> function * 2, and 1 in KVM's modules */
	struct vmp_hash ran;	/* functions of the kernel with an exact count: their place in kernel_functions, or UINT32_MAX */
	VMP_VEC(struct host_function) kernel_functions;
	uint64_t all;		/* samples, of either event */
	uint64_t kernel, ghosts;	/* the kernel's samples, of either event; in functions that did not run */
};

/** host_block() - Exact counts of a block of host code. Return: 0 or -ENOMEM. */
int host_block(struct host *h, struct vmp_model *m, const struct exact_space *s, const struct exact_block *b);

/** host_sample() - A sample and the overflow that it is of. Return: 0 or -ENOMEM. */
int host_sample(struct host *h, struct vmp_model *m, const struct vmprof_sample *s,
		const struct exact_overflow *o);

/** host_finish() - All are given: a process has the CR3 that most of its overflows had. Return: 0 or -ENOMEM. */
int host_finish(struct host *h, struct vmp_model *m);

/** host_proc_cr3() - That of a process, 0 none. */
uint64_t host_proc_cr3(const struct host *h, uint32_t pid);

/** host_take_own() - Exit codes have the samples that name them, not those whose overflow came behind them. */
void host_take_own(struct host *h);

void host_free(struct host *h);

#endif
