/* SPDX-License-Identifier: GPL-2.0-only */
/* snapshot.h - every process with its executable maps, put between the events. */
#ifndef VMPG_SNAPSHOT_H
#define VMPG_SNAPSHOT_H

#include "ring.h"

/**
 * vmpg_snapshot_take() - Write SNAP_BEGIN, PROC and MAP for all, SNAP_END.
 * @ring:   Where to; room is waited for, at most half of it is used.
 * @token:  Of SNAP_BEGIN and SNAP_END.
 * @cancel: Set (and @ring->room woken) to give up.
 *
 * A process whose mappings somebody else keeps locked is told without them, which is counted: all such locks
 * together are waited for no longer than two seconds.
 *
 * Context: process, sleeps; no process is held meanwhile.
 * Return: 0, -ENOMEM, -ECANCELED.
 */
int vmpg_snapshot_take(struct vmpg_ring *ring, u64 token, const bool *cancel);

#endif
