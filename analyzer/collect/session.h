/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * session.h - the collector: everything between `start` and the finished file.
 *
 * One process, one thread, one poll loop (session.c).  Phases:
 *
 *   PREPARING  agents answer and send their first snapshot (bounded)
 *   SAMPLING   rings are drained, events are kept
 *   FAILED     an error stopped the sampling; what was written stays, the
 *              error is told by status and stop
 *   ENDING     sampling is over; agents send their last snapshot (bounded)
 *   FETCHING   binaries that the samples need come from the guests (bounded)
 *   OVER
 */
#ifndef VMP_SESSION_H
#define VMP_SESSION_H

#include <stdint.h>
#include <stdio.h>

#include "capture/writer.h"
#include "collect/control.h"
#include "collect/driver.h"
#include "collect/events.h"
#include "collect/hostinfo.h"
#include "collect/launch.h"
#include "collect/logfile.h"
#include "collect/monitor.h"
#include "collect/vm.h"

enum vmp_phase {
	VMP_PREPARING,
	VMP_SAMPLING,
	VMP_FAILED,
	VMP_ENDING,
	VMP_FETCHING,
	VMP_OVER,
};

#define VMP_SESSION_VMS		VMPROF_MAX_VMS
#define VMP_SCRATCH_BYTES	(1U << 20)

struct vmp_session {
	const struct vmp_session_opts *opts;
	enum vmp_phase phase;
	uint8_t id[16];
	int lock_fd;
	int start_fd;		/* pipe to `start`, -1 when it has been told all */
	int signal_fd;
	struct vmp_logfile log;

	struct vmp_driver driver;
	struct vmp_event event;
	uint64_t period;
	uint64_t instruction_period;	/* 0: instructions are not sampled */
	uint32_t tsc_khz;
	int sampling;		/* the driver runs */
	uint64_t rings_ns;	/* when rings were stored last */
	int stopped;		/* it ran and was stopped: totals are final */

	struct vmp_writer *writer;
	char path[4096];

	struct vmp_vm *vms[VMP_SESSION_VMS];
	int nr_vms;
	uint32_t unknown_vm;	/* --all: a sample named it, no domain does yet */
	uint32_t tried_vm;	/* ... and was looked for in this round */
	uint32_t refused_vm;	/* the last one that cannot join, of which that was told */
	uint32_t nr_refused;	/* how often */
	struct vmp_monitor monitor;
	int news;		/* something may have changed that the helper has to ask for */
	int monitor_warned;
	struct vmp_control control;
	struct vmp_comms comms;
	uint8_t *scratch;	/* VMP_SCRATCH_BYTES, for draining */

	struct vmp_kcopy kcopy;	/* the host's kernel's code */
	uint64_t early_room;	/* bytes that may still be fetched while it samples */
	uint64_t cache_room;	/* bytes that the object cache may still take, at the end */
	uint64_t samples;	/* records of that kind that were stored */
	struct vmp_branches {
		uint64_t samples;	/* with branches */
		uint64_t branches;	/* behind them */
		uint64_t cut;		/* left out: of the other side, or not known whose */
	} branches;		/* of stored records */
	uint64_t lost_at_store;	/* records read but not stored */
	uint64_t begin_tsc, begin_ns;	/* sampling */
	uint64_t end_ns;
	uint64_t phase_ns;	/* when the phase began */
	uint64_t tick_ns;	/* last tick */
	uint64_t round_ns;	/* last round of slow readings */
	uint64_t ask_ns;	/* last one in which the helper asked of each VM */
	int told_ready;
	int stop_asked;
	char reason[128];	/* why it ends, when nobody asked */
	char error[1024];	/* why it failed; "" it did not */
};

/**
 * vmp_collect() - The collector's whole life; to be called in its own process.
 * @start_fd: Pipe to the command that waits (lines.h).
 * Return: exit code.
 */
int vmp_collect(const struct vmp_session_opts *opts, int start_fd);

/* session.c */

/** vmp_session_phase() - Enter a phase. */
void vmp_session_phase(struct vmp_session *s, enum vmp_phase phase);

/** vmp_session_fail() - Stop sampling; the text is kept for status and stop. */
void vmp_session_fail(struct vmp_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** vmp_session_vm() - The VM with this id, or NULL. */
struct vmp_vm *vmp_session_vm(struct vmp_session *s, uint32_t pid);

/** vmp_session_all_gone() - None of the session's VMs runs any more. */
int vmp_session_all_gone(const struct vmp_session *s);

/* setup.c: everything before the loop.  Return: 0 or -errno, told. */
int vmp_session_setup(struct vmp_session *s);
/**
 * vmp_session_instructions() - Whether instructions are sampled beside cycles: where they are asked for, and where branches
 * tell blocks, if that can be had; if not, it is told.
 * @config: The session's, without them.
 */
void vmp_session_instructions(struct vmp_session *s, const struct vmprof_config *config, const uint32_t *vms, uint32_t nr);
/** vmp_session_add_vm() - A domain joins: its blocks are written, its agent is greeted. */
int vmp_session_add_vm(struct vmp_session *s, struct vmp_vm *vm);
/** vmp_session_begin() - Sampling starts. Return: 0 or -errno, told. */
int vmp_session_begin(struct vmp_session *s);

/* looks.c: where guests keep their tasks. */

/** vmp_session_tasks() - The driver gets what is known of that, unless it has it. */
void vmp_session_tasks(struct vmp_session *s, struct vmp_vm *vm);
/** vmp_session_told_tasks() - The guest has told: the same, now or by the next tick. */
void vmp_session_told_tasks(struct vmp_session *s, struct vmp_vm *vm);
/** vmp_session_tick_tasks() - What waits for the tick. */
void vmp_session_tick_tasks(struct vmp_session *s, struct vmp_vm *vm);

/* watch.c: clocks, ports, new domains; what libvirt must be asked for comes by the helper. */

/**
 * vmp_watch_round() - A round begins: each VM is looked at, and asked of by the helper where there may be news.
 * A question costs libvirt and QEMU much, and takes each vCPU out of its guest.
 */
void vmp_watch_round(struct vmp_session *s, uint64_t now_ns);
/** vmp_watch_ask() - Put the round's next question to the helper, if it is free. */
void vmp_watch_ask(struct vmp_session *s);
/** vmp_watch_answer() - The helper's socket is readable. */
void vmp_watch_answer(struct vmp_session *s);

/* store.c: what goes to the file.  A failure ends in vmp_session_fail(). */

/** vmp_store() - Append a block. Return: 0 or -errno. */
int vmp_store(struct vmp_session *s, unsigned int type, uint32_t source, const void *data,
	      size_t len, uint64_t tsc_first, uint64_t tsc_last);
/** vmp_store_rings() - Store what all rings have at the call; what comes meanwhile stays. */
void vmp_store_rings(struct vmp_session *s);
/** vmp_store_frame() - Keep a frame of a VM's agent. */
void vmp_store_frame(struct vmp_vm *vm, const struct vmprof_frame *wire, const void *payload,
		     uint32_t len);
void vmp_store_batch(struct vmp_vm *vm);
void vmp_store_vm(struct vmp_vm *vm);
void vmp_store_clocks(struct vmp_vm *vm);
void vmp_store_comms(struct vmp_session *s);

/* finish.c: from the end of sampling to the closed file. */
void vmp_session_end(struct vmp_session *s);
void vmp_session_finish_step(struct vmp_session *s, uint64_t now_ns);
/** vmp_session_losses() - Sum of the driver's losses over all pCPUs. */
void vmp_session_losses(const struct vmp_session *s, uint64_t lost[VMPROF_LOST_NR]);
extern const char *const vmp_lost_names[VMPROF_LOST_NR];

/* status.c */

/** vmp_session_status() - JSON text of what runs, the caller's to free; NULL no memory. */
char *vmp_session_status(struct vmp_session *s);

#endif
