/* SPDX-License-Identifier: GPL-2.0-only */
/* terminal.h - how wide the terminal behind standard output is, whether it has colours, and a pager before it. */
#ifndef VMP_TERMINAL_H
#define VMP_TERMINAL_H

#include <sys/types.h>

/* How text is to look; zeroed: as in a file */
struct vmp_look {
	int width;		/* places of a line; 0: lines may be of any length */
	int colour;
};

/**
 * vmp_look_of() - How text on a descriptor should look.
 * @when: "always" and "never" overrule; NULL and "auto": on a terminal that is not dumb,
 *        unless NO_COLOR is set.
 * Return: 0, or -EINVAL (@when is none of them).
 */
int vmp_look_of(struct vmp_look *look, int fd, const char *when);

/**
 * vmp_pager_start() - Let standard output go through a pager if it is a terminal:
 * $VMPROF_PAGER, else $PAGER, else less -FRX if it is there.  "cat" and "" are no pager.
 * Return: its process, 0 none.
 */
pid_t vmp_pager_start(void);

/**
 * vmp_pager_end() - Wait until the user has left it.  A pager that was left early is no error:
 * standard output is clean afterwards.
 * Return: 0, or -ENOENT (told): there is no such program.
 */
int vmp_pager_end(pid_t pager);

#endif
