/* SPDX-License-Identifier: GPL-2.0-only */
/* probes.h - where the kernel is tapped: tracepoints and kprobes, found by name. */
#ifndef VMPG_PROBES_H
#define VMPG_PROBES_H

#include <linux/types.h>

/**
 * vmpg_probes_check() - Does this kernel have everything that will be tapped?
 * Says in the kernel log what is missing.
 * Context: may sleep.  Return: 0 or -ENOENT.
 */
int vmpg_probes_check(void);

/** vmpg_probes_start() - Tap all.  Context: may sleep.  Return: 0 or -errno, nothing tapped. */
int vmpg_probes_start(void);

/** vmpg_probes_stop() - Untap all; on return no handler runs.  Context: may sleep. */
void vmpg_probes_stop(void);

/** vmpg_probes_missed() - Hits since start that the kernel could not give to a handler. */
u64 vmpg_probes_missed(void);

/**
 * vmpg_probes_made() - How often the kernel made code or gave it up since the module is here, while it was tapped.
 * Return: 0, or -EOPNOTSUPP: it does not tell.
 */
int vmpg_probes_made(u64 *count);

/**
 * vmpg_kernel_cr3() - Physical address of the kernel's own page-table root,
 * which idle CPUs may run on; 0 where this kernel does not tell.
 */
u64 vmpg_kernel_cr3(void);

#endif
