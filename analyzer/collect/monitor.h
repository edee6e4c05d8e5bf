/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * monitor.h - a helper process that talks to libvirt for the collector.
 *
 * libvirt's calls may block for as long as a domain's monitor is busy; the
 * collector must not.  One question at a time; the answer comes by poll, and so does
 * word that something changed, where libvirt tells.  The helper dies with the collector.
 */
#ifndef VMP_MONITOR_H
#define VMP_MONITOR_H

#include <stdint.h>
#include <sys/types.h>

#include "collect/domain.h"

enum vmp_monitor_what {
	VMP_MONITOR_PORT,	/* is the agent's port open? by libvirt's XML */
	VMP_MONITOR_QMP,	/* query-vmprof */
	VMP_MONITOR_FIND,	/* which domain is QEMU process domain.pid; 0: does domain.name run? */
	VMP_MONITOR_NEWS,	/* no question: something changed, in whichever domain */
};

struct vmp_monitor_question {
	enum vmp_monitor_what what;
	struct vmp_domain domain;
};

#define VMP_MONITOR_TEXT_MAX (128U << 10)

struct vmp_monitor_answer {
	enum vmp_monitor_what what;
	int err;			/* 0 or -errno */
	int hears;			/* changes are told from now on */
	uint64_t tsc_before, tsc_after;	/* around the query */
	struct vmp_domain domain;	/* of the question; PORT: xml is new; FIND: found */
	uint32_t len;			/* QMP: bytes of text */
	char text[VMP_MONITOR_TEXT_MAX];
};

struct vmp_monitor {
	int fd;				/* -1 none */
	pid_t pid;
	uint64_t asked_ns;		/* since when an answer is owed; 0: none is */
	int hears;			/* changes are told */
};

/** vmp_monitor_start() - Fork the helper; to be called before the device is open. Return: 0 or -errno. */
int vmp_monitor_start(struct vmp_monitor *m, const char *uri);

/** vmp_monitor_ask() - Return: 0; -EBUSY an answer is owed; -EPIPE no helper. */
int vmp_monitor_ask(struct vmp_monitor *m, enum vmp_monitor_what what,
		    const struct vmp_domain *domain);

/**
 * vmp_monitor_read() - fd is readable.
 * @a: Filled when 1 is returned.
 * Return: 1 an answer, or news; 0 not yet; -EPIPE the helper died.
 */
int vmp_monitor_read(struct vmp_monitor *m, struct vmp_monitor_answer *a);

void vmp_monitor_stop(struct vmp_monitor *m);

#endif
