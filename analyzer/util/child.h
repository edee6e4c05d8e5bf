/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * child.h - another program as a helper that cannot harm: it has no terminal
 * to ask on, is bounded in what it writes, dies with us, and runs as the
 * person who called us: under sudo not as root but as sudo's caller, with
 * that one's home folder, so that it finds their configuration and keys.
 */
#ifndef VMP_CHILD_H
#define VMP_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vmp_child {
	pid_t pid;	/* 0 none runs */
	int fd;		/* its standard input and output: a socket that does not block */
	int err_fd;	/* what it says, the same */
};

/**
 * vmp_child_start() - Run a program of PATH.
 * @file_bytes: No file that it writes gets larger.
 * Return: 0; -ESRCH sudo's caller is not known here; -errno.  That the program is not
 * there is told by vmp_child_end().
 */
int vmp_child_start(struct vmp_child *c, const char *const argv[], uint64_t file_bytes);

/** vmp_child_said() - The last line of what it has said, safe to show, "" nothing; to be called once. */
const char *vmp_child_said(const struct vmp_child *c, char *buf, size_t size);

/**
 * vmp_child_end() - End it, with what it started.
 * @done: It has closed its output: it gets a moment to end by itself.
 * Return: its exit status, VMP_CHILD_ABSENT, or -1 (it was killed).
 */
int vmp_child_end(struct vmp_child *c, int done);

#define VMP_CHILD_ABSENT	127	/* exit status: there is no such program */

#endif
