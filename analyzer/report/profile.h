/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * profile.h - the finished data of a report: totals and rows for each domain.
 *
 * Samples are counted by (space, address) first; each distinct address is
 * resolved once; rows are sums over those.  Renderers compute nothing but
 * percentages.
 */
#ifndef VMP_PROFILE_H
#define VMP_PROFILE_H

#include <stdint.h>

#include "model/model.h"
#include "report/origin.h"

enum vmp_by {
	VMP_BY_FUNCTION,	/* function, module, process name */
	VMP_BY_PROCESS,		/* process name and pid */
	VMP_BY_MODULE,
	VMP_BY_VCPU,
	VMP_BY_EXIT,		/* what the CPU had left the guest for */
};

/* What rows are sorted by; samples go down, the others up */
enum vmp_sort {
	VMP_SORT_SAMPLES = 1,
	VMP_SORT_FUNCTION,
	VMP_SORT_MODULE,
	VMP_SORT_PROCESS,
	VMP_SORT_PID,
	VMP_SORT_VCPU,
	VMP_SORT_EXIT,
};

#define VMP_SORT_KEYS	8

struct vmp_options {
	const char *domain;	/* each NULL: all; shell patterns ... */
	const char *comm, *module;
	const char *exit_reason;	/* ... but this one: a name or number */
	int vcpu;		/* -1 all */
	int64_t pid;		/* -1 all */
	enum vmp_by by;
	enum vmp_sort sort[VMP_SORT_KEYS];	/* 0 ends; samples and names come last */
	int all_host;		/* rows for host work that is no VM's, too */
};

struct vmp_row {
	uint64_t samples;
	uint32_t function, module, comm;	/* string numbers */
	uint32_t exit;		/* likewise, by exit */
	uint32_t pid;		/* by process; VMP_NONE none */
	uint32_t vcpu;		/* by vCPU; VMP_NONE none */
	enum vmp_side side;
};

struct vmp_domain {
	uint32_t vm;		/* number in the model; VMP_NONE the host itself */
	uint64_t side[VMP_SIDE_NR];
	uint64_t total;		/* guest + VMM + steal: what percentages are of */
	uint64_t shown;		/* of them, what the filters let through */
	uint64_t by_nmi;	/* guest samples whose exit was an NMI */
	uint64_t by_timer;	/* samples taken by the timer trigger */
	uint64_t with_process;	/* guest samples with a process */
	uint64_t with_function;	/* guest samples with a function */
	uint64_t why[VMP_WHY_NR];	/* guest samples, by why there is no function */
	uint64_t missing;	/* guest samples for which the cache lacks a file */
	VMP_VEC(struct vmp_row) rows;	/* most samples first */
};

struct vmp_profile {
	struct vmp_model *model;	/* borrowed */
	VMP_VEC(struct vmp_domain) domains;	/* by name */
	uint64_t samples;	/* records seen */
	uint64_t others;	/* of them no VM's business: other tasks, idle */
	int domain_found;	/* the domain asked for is in the capture */
};

/**
 * vmp_profile_create() - Count, resolve and sum up.
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_profile_create(struct vmp_profile **p, struct vmp_model *m, const struct vmp_options *o);
void vmp_profile_destroy(struct vmp_profile *p);

#endif
