/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sideband.h - what the kernel's perf tells of tasks, for a guest without the module.
 *
 * A dummy event on each CPU samples nothing, but its ring gets a record for each fork, exec,
 * name, executable mapping and exit.  A second one on the same ring has the build-id in the place of
 * the inode, where the kernel knows how; the two records of a mapping become one message.
 * There is no CR3 in any of them, and a forked task's name is its parent's.
 *
 * The rings are read some milliseconds behind the time, so that what several CPUs tell
 * can be put in order.
 *
 * A CPU that goes takes its event along, for good: what is done there once it is back has no record
 * until it has a new ring, within two seconds.  That something may be missing is counted.
 */
#ifndef VMP_SIDEBAND_H
#define VMP_SIDEBAND_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "elf_id.h"
#include "procfs.h"

#define VMP_SIDEBAND_LOOK_MS	10	/* how often the rings want to be read */
#define VMP_SIDEBAND_RECORD	(VMPROF_PATH_BYTES_MAX + 256)	/* the longest that is understood */

struct vmp_sideband_ring {
	int cpu;
	int fd, fd_ids;			/* -1 none */
	uint64_t on_ns;			/* how long its event had been on, at the last look */
	uint64_t known_tsc;		/* it was on then: what the CPU did before has a record */
	uint64_t event_ids;		/* the kernel's number of fd_ids's event; 0 none */
	struct perf_event_mmap_page *page;
	uint64_t next_ns;		/* time of the record at its tail; 0 not looked at */
	uint64_t last_ns;		/* of the one before it; 0 there was none */
};

/* Two readings of the clock of the records and of the TSC */
struct vmp_sideband_clock {
	uint64_t ns, tsc;
};

struct vmp_sideband {
	struct vmp_sideband_ring *ring;
	uint32_t nr;			/* rings; 0: closed */
	uint32_t cpus;			/* that there may be */
	struct vmp_sideband_clock begin, now;
	struct vmp_sideband_clock cpus_seen;	/* when it was last looked which CPUs have a ring */
	uint64_t until_ns;		/* records before it are handed out */
	int flush;			/* until_ns does not move any more */
	uint64_t lost;			/* records that found no room in a ring */
	uint64_t made;			/* how often the kernel told of code that it makes */
	uint64_t missed;		/* records that made no sense; CPUs that came, or went, meanwhile */
	uint64_t lost_since_tsc;	/* nothing was lost before; 0 nothing at all */
	struct vmp_build_id id;		/* of the file of the last MAP, if the kernel told it */
	union {
		struct perf_event_header head;
		uint64_t word[VMP_SIDEBAND_RECORD / 8];
	} record, second;
};

/** vmp_sideband_init() - Closed. */
void vmp_sideband_init(struct vmp_sideband *sb);

/** vmp_sideband_open() - Begin to listen.  Return: 0 or -errno (then it is closed). */
int vmp_sideband_open(struct vmp_sideband *sb);
void vmp_sideband_close(struct vmp_sideband *sb);

/** vmp_sideband_next() - Return: 1 a message (FORK, EXEC, COMM, MAP, EXIT), 0 none now. */
int vmp_sideband_next(struct vmp_sideband *sb, struct vmp_procfs_msg *msg);

/** vmp_sideband_flush() - Hand out all that was recorded up to now, and nothing more. */
void vmp_sideband_flush(struct vmp_sideband *sb);

#endif
