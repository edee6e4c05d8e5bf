/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * made.h - does the kernel make code while the session runs?
 *
 * BPF programs, and the trampolines of kprobes and ftrace, are in /proc/kallsyms and in no list
 * of modules. The kernel's perf tells of each that comes or goes (KSYMBOL, from Linux 5.1 on): a
 * dummy event on each CPU, which samples nothing, with a ring of one page. Nobody reads what is
 * in it: that something is there is all that has to be known.
 */
#ifndef VMP_MADE_H
#define VMP_MADE_H

#include <linux/perf_event.h>
#include <stdint.h>

struct vmp_made_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct vmp_made {
	struct vmp_made_ring *ring;
	uint32_t nr;			/* rings, one for each CPU; 0: closed */
};

void vmp_made_init(struct vmp_made *m);

/** vmp_made_open() - Begin to listen.  Return: 0 or -errno (then it is closed, and nothing ever comes). */
int vmp_made_open(struct vmp_made *m);
void vmp_made_close(struct vmp_made *m);

/** vmp_made_changed() - Did code come or go since the last call? */
int vmp_made_changed(struct vmp_made *m);

/** vmp_made_is_deaf() - Is there a CPU that was not there when it was opened? */
int vmp_made_is_deaf(const struct vmp_made *m);

#endif
