/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reuse.h - how often a CR3 alone would have named the wrong process.
 */
#ifndef VMP_REUSE_H
#define VMP_REUSE_H

#include "model/model.h"

/**
 * vmp_reuse_in_time() - How often a CR3 went to another process after its owner had gone.
 * vfork's loans, which come back, do not count.
 */
uint64_t vmp_reuse_in_time(const struct vmp_space *s);

/** vmp_reuse_in_others() - How many of a VM's CR3 values another VM of the session had too. */
uint64_t vmp_reuse_in_others(const struct vmp_model *m, uint32_t vm);

#endif
