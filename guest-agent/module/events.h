/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h - what the probes write into the ring.
 *
 * Every handler runs in the context of the task that it tells of (or of its
 * parent), never sleeps, takes no lock but the ring's, and holds up nobody:
 * what cannot be read at once is counted and left out.
 */
#ifndef VMPG_EVENTS_H
#define VMPG_EVENTS_H

#include <linux/binfmts.h>
#include <linux/mm_types.h>
#include <linux/sched.h>

#include "ring.h"

/**
 * vmpg_events_init() - Allocate what the handlers need.
 * @ring: Where they write to; stays the caller's.
 * Context: may sleep.  Return: 0 or -ENOMEM.
 */
int vmpg_events_init(struct vmpg_ring *ring);

/** vmpg_events_exit() - No handler runs any more: free.  Context: may sleep. */
void vmpg_events_exit(void);

/**
 * vmpg_events_switch() - Write events, or write none any more.
 *
 * Probes come and go one after the other; with this they begin and end to
 * count at one time, so that no exit is told of without its fork being known.
 */
void vmpg_events_switch(bool on);

/** vmpg_event_fork() - @child exists and has not run yet. */
void vmpg_event_fork(struct task_struct *child);

/** vmpg_event_exec() - current is about to take on @bprm's address space. */
void vmpg_event_exec(const struct linux_binprm *bprm);

/** vmpg_event_exec_done() - current has its new program; its maps follow. */
void vmpg_event_exec_done(void);

/** vmpg_event_comm() - @task gets the name @comm. */
void vmpg_event_comm(const struct task_struct *task, const char *comm);

/** vmpg_event_map() - A mapping of current is new or has changed; its mm is locked. */
void vmpg_event_map(struct vm_area_struct *vma);

/** vmpg_event_exit() - current ends; @last: it is the last thread of its process. */
void vmpg_event_exit(bool last);

#endif
