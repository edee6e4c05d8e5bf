/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * metrics.h - the families of metrics of one thread of a process, as XML categories.
 *
 * All are estimates from samples; formulas and units: docs/performance-xml.md.
 */
#ifndef VMP_METRICS_H
#define VMP_METRICS_H

#include "export/insn.h"
#include "export/xmlout.h"

/* What a thread of a process adds up to */
struct vmp_metrics {
	struct vmp_sums sum;
	uint64_t side[VMP_SIDE_NR];
	uint64_t insn[VMP_INSN_NR];	/* samples, by the kind of instruction they hit ... */
	uint64_t simd_float, simd_integer, simd_memory;	/* ... by two kinds at once ... */
	uint64_t memory;		/* ... by load or store */
};

/* What holds for the whole capture */
struct vmp_metrics_base {
	const struct vmp_table *t;
	double seconds_per_sample;
	double seconds_per_cycle;	/* 0: cycles were not counted */
	const char *event;		/* what was sampled, if it is no clock; else NULL */
};

void vmp_metrics_base(struct vmp_metrics_base *b, const struct vmp_table *t);

/** vmp_metrics_add() - One more line. */
void vmp_metrics_add(struct vmp_metrics *m, const struct vmp_line *l, unsigned int insn);

/** vmp_metrics_seconds() - Execution time. */
double vmp_metrics_seconds(const struct vmp_metrics_base *b, const struct vmp_metrics *m);

/**
 * vmp_metrics_xml() - The thread's categories.
 * @most: Of the threads of the process, the largest sums (for the balance).
 */
void vmp_metrics_xml(struct vmp_xml *x, const struct vmp_metrics_base *b, const struct vmp_metrics *m,
		     const struct vmp_metrics *most);

#endif
