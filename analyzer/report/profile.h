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
#include "report/columns.h"
#include "report/filter.h"
#include "report/origin.h"

/* What rows are about */
enum vmp_view {
	VMP_VIEW_TIME,		/* where the time went */
	VMP_VIEW_EXITS,		/* VMM time, by what the guest had been doing when it exited */
	VMP_VIEW_THIEVES,	/* steal, by what ran instead */
	VMP_VIEW_WAITERS,	/* steal, by what the guest had been doing when it lost the pCPU */
};

#define VMP_SORT_KEYS	8

struct vmp_sort {
	uint8_t column;
	uint8_t up;		/* smallest first */
	uint8_t size;		/* of a number without its sign */
};

struct vmp_options {
	const char *domain;	/* each NULL: all; shell patterns ... */
	const char *comm, *module;
	const char *exit_reason;	/* ... but this one: a name or number */
	const struct vmp_filter *filter;	/* NULL: none */
	int vcpu;		/* -1 all */
	int64_t pid;		/* -1 all */
	enum vmp_view view;
	uint32_t by;		/* VMP_KEY() of what tells rows apart; 0: VMP_BY_FUNCTION */
	struct vmp_sort sort[VMP_SORT_KEYS];	/* samples and names come last in any case */
	int nr_sort;
	double percent_limit;	/* smaller rows are left out */
	int all_rows;		/* none is, nor by what the filter compares with numbers: not yet */
	int weighted;		/* rows have cycles and instructions */
	int rated;		/* and their instructions, CPI or IPC are shown or compared */
	int all_host;		/* rows for host work that is no VM's, too */
};

struct vmp_row {
	uint64_t samples;
	/* where two events were sampled, so many samples of either (vmp_weigh_cpi()); else what
	   was counted beside the samples, with weighted */
	union { uint64_t cycle_samples, cycles; };
	union { uint64_t instruction_samples, instructions; };
	uint64_t before;	/* two captures compared: samples of the other one's row */
	uint32_t function, module, comm, build_id;	/* string numbers; 0 what does not tell apart */
	uint32_t cause : 29;	/* likewise: the exit reason; in VMP_VIEW_WAITERS the thief */
	uint32_t side : 3;	/* enum vmp_side */
	uint32_t thread;	/* likewise: the guest's, name and number; 0 not known: see track */
	uint32_t pid;		/* VMP_NONE none */
	uint32_t track;		/* vCPU, or thread and VMP_TRACK_IS_THREAD; VMP_NONE none */
	uint32_t nspid;		/* as pid */
	uint32_t cgroup;	/* string number, 0 none */
};
_Static_assert(sizeof(struct vmp_row) == 72, "there are millions of them");

struct vmp_domain {
	uint32_t vm;		/* number in the model; VMP_NONE the host itself */
	uint64_t side[VMP_SIDE_NR];
	uint64_t total;		/* guest + VMM + steal: what percentages are of */
	uint64_t shown;		/* of them, what the filters let through */
	uint64_t small, small_rows;	/* of those, below the limit: samples and rows */
	uint64_t cycle_samples, instruction_samples;	/* of the VM's own, as in a row */
	struct vmp_weight guest, rest;	/* else, with weighted: counted beside the guest's samples, and beside others that have CPI */
	uint64_t by_nmi;	/* guest samples whose exit was an NMI */
	uint64_t by_timer;	/* samples taken by the timer trigger */
	uint64_t with_process;	/* guest samples with a process */
	uint64_t shared;	/* those of which only module and function could be inferred */
	uint64_t with_function;	/* guest samples with a function */
	uint64_t with_both;	/* guest samples with a process and a function */
	uint64_t why[VMP_WHY_NR];	/* guest samples, by why there is no function */
	uint64_t who[VMP_WHO_NR];	/* guest samples, by what is known of who ran */
	uint64_t missing;	/* guest samples for which the cache lacks a file */
	VMP_VEC(struct vmp_row) rows;	/* most samples first */
	VMP_VEC(struct vmp_row) timeless;	/* only their instructions were sampled: no share of time, but in sums' CPI */
	int compared;		/* with another capture's domain, or that it has none; of which before_total is */
	uint64_t before_total;
};

struct vmp_profile {
	struct vmp_model *model;	/* borrowed */
	VMP_VEC(struct vmp_domain) domains;	/* by name */
	uint64_t samples;	/* records seen */
	uint64_t others;	/* of them no VM's business: other tasks, idle */
};

/** vmp_by() - The keys of rows that options ask for. */
static inline uint32_t vmp_by(const struct vmp_options *o)
{
	return o->by ? o->by : VMP_BY_FUNCTION;
}

/**
 * vmp_profile_create() - Count, resolve and sum up.
 * Return: 0, -ENOMEM, -errno of reading.
 */
int vmp_profile_create(struct vmp_profile **p, struct vmp_model *m, const struct vmp_options *o);
void vmp_profile_destroy(struct vmp_profile *p);

/** vmp_profile_counted() - 1 when rows have CPI, and it comes from counters that were read at samples (weigh.h). */
int vmp_profile_counted(const struct vmp_profile *p);

/**
 * vmp_profile_order() - Leave out rows that are filtered or too small; sort.
 * Part of creating one; for who changes rows afterwards.
 * Return: 0 or -ENOMEM.
 */
int vmp_profile_order(struct vmp_profile *p, const struct vmp_options *o);

#endif
