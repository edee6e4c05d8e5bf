/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * statedir.h - /run/vmprof: who collects, and how to reach it.
 *
 *   lock          locked by the collector for its whole life; holds its pid
 *   control       its UNIX socket
 *   session.json  what runs; there without a lock: the collector was killed
 *   last.json     how the last session ended
 *   log           what the collector said
 *
 * VMPROF_RUN_DIR in the environment names another folder.
 */
#ifndef VMP_STATEDIR_H
#define VMP_STATEDIR_H

#include <stddef.h>
#include <sys/types.h>

enum vmp_state {
	VMP_STATE_NONE,
	VMP_STATE_RUNNING,
	VMP_STATE_STALE,	/* a collector was killed */
};

/** vmp_state_path() - Path of one of the files above. Return: @buf. */
const char *vmp_state_path(char *buf, size_t size, const char *name);

/**
 * vmp_state_look() - Does a session run?
 * @pid:  Of the collector, when it runs or did.
 * @json: session.json's text when that is there (the caller's to free), else NULL.
 * Return: enum vmp_state, or -errno (-EACCES: not root).
 */
int vmp_state_look(pid_t *pid, char **json);

/**
 * vmp_state_lock() - Become the collector.
 * Return: the lock's descriptor, to be kept; -EBUSY another one runs; -errno.
 */
int vmp_state_lock(void);

/**
 * vmp_state_last() - The capture of the last session since the host's boot.
 * Return: 0, -ENOENT none is known, -errno of reading (-EACCES: not root).
 */
int vmp_state_last(char *buf, size_t size);

/** vmp_state_clean() - Remove what a killed collector left behind. */
void vmp_state_clean(void);

#endif
