/* SPDX-License-Identifier: GPL-2.0-only */
/* tasks.h - where this kernel keeps the task that runs on each CPU, for the host to look there. */
#ifndef VMPG_TASKS_H
#define VMPG_TASKS_H

#include "ring.h"

/**
 * vmpg_tasks_start() - Write TASKS into @ring, and again for CPUs that come up.
 * A ring without room is counted as a loss.
 * Context: may sleep.
 */
void vmpg_tasks_start(struct vmpg_ring *ring);

/** vmpg_tasks_stop() - Nothing more is written.  Context: may sleep. */
void vmpg_tasks_stop(void);

#endif
