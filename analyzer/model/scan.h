/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * scan.h - all samples of a capture by several threads at once, in no order.
 *
 * Each thread has a shard: what it counts is its own until the scan is over,
 * so nothing is locked for a sample.  The model stays as it is while samples
 * are looked at; who must change it asks for that with vmp_scan_alone().
 */
#ifndef VMP_SCAN_H
#define VMP_SCAN_H

#include "model/lbr.h"
#include "model/model.h"
#include "util/parallel.h"

#define VMP_SCAN_THREADS_MAX	VMP_PARALLEL_MAX

struct vmp_scan;

/**
 * vmp_scan_threads() - How many threads a scan is worth: CPUs that we may run
 * on, up to VMP_SCAN_THREADS_MAX.  VMPROF_THREADS in the environment overrides it.
 */
unsigned int vmp_scan_threads(void);

/**
 * vmp_scan_samples() - Give every sample to one of the shards.
 * @shards: What @fn gets, one for each thread.
 * @nr:     Their number, from 1 to VMP_SCAN_THREADS_MAX.
 * @fn:     @n consecutive samples of one pCPU; its non-zero result ends the scan.
 *
 * Return: 0; the result of @fn; -EAGAIN: a block could not be unpacked, reading
 * now ends before it, and all shards must begin anew; -ENOMEM or -errno of reading.
 */
int vmp_scan_samples(struct vmp_model *m, void *const *shards, unsigned int nr,
		     int (*fn)(void *shard, struct vmp_scan *scan, const struct vmprof_sample *s,
			       uint32_t n));

/**
 * vmp_scan_branches() - The same for samples with their last branches, one by one.
 * @losses: Added to, when it returns 0.
 */
int vmp_scan_branches(struct vmp_model *m, void *const *shards, unsigned int nr,
		      int (*fn)(void *shard, struct vmp_scan *scan, const struct vmp_lbr_sample *s),
		      struct vmp_lbr_losses *losses);

/**
 * vmp_scan_alone() - From here on no other thread looks at the model.
 * Only within @fn.  Pointers into the model may have changed when it returns.
 */
void vmp_scan_alone(struct vmp_scan *scan);

/** vmp_scan_together() - The end of that. */
void vmp_scan_together(struct vmp_scan *scan);

#endif
