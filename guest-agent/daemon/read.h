/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * read.h - what the daemon asks of the child that reads files of others, and the answers.
 *
 * Both sides are the same program, forked: the structs go over the socket as they are.
 */
#ifndef VMP_READ_H
#define VMP_READ_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_id.h"
#include "mapped.h"
#include "out.h"

enum vmp_read_what {
	VMP_READ_FILE,		/* size, time, build-id of a mapped file */
	VMP_READ_OBJECT,	/* a piece of it, or of its debug file */
	VMP_READ_MAPS,		/* /proc/TGID/maps: whole lines, as many as fit; offset 0 opens it */
	VMP_READ_JIT_BEGIN,	/* a program may write a JIT map: hold on to what leads to it */
	VMP_READ_JIT,		/* lines of it */
	VMP_READ_JIT_END,	/* let go of it */
};

/* vmp_read_request.flags */
#define VMP_READ_DEBUG	(1U << 0)	/* OBJECT: the debug file */
#define VMP_READ_DUMP	(1U << 1)	/* JIT_BEGIN: the mapped file is a jitdump file */
#define VMP_READ_ENDED	(1U << 2)	/* JIT: the process is gone */

/* Stands for the device of debug files, which may lie anywhere */
#define VMP_READ_DEBUG_DEV	UINT32_MAX

struct vmp_read_request {
	uint32_t what;
	uint32_t number;	/* handle of a file or object, slot of a program */
	uint32_t flags;
	uint32_t ino_generation;
	struct vmp_mapped m;	/* its path is set by the child */
	uint64_t offset;
	uint64_t bytes, mtime_ns;	/* OBJECT: the file as it must be */
	uint32_t len;		/* bytes wanted at most, <= VMP_READ_DATA */
	struct vmp_build_id id;	/* OBJECT: of the file, and so of its debug file */
	char path[VMPROF_PATH_BYTES_MAX];	/* the last: only what is used of it is sent */
};

#define VMP_READ_DATA	VMP_OUT_BULK_PAYLOAD

struct vmp_read_answer {
	int32_t status;		/* 0, or -errno: -ETIMEDOUT, it was given up */
	uint32_t len;		/* of data */
	uint64_t bytes, mtime_ns;
	uint64_t offset;	/* JIT: to read on from */
	uint32_t fleeting;	/* FILE: see vmp_mapped_is_fleeting() */
	struct vmp_build_id id;
	uint8_t data[VMP_READ_DATA];	/* the last: only what is used of it is sent */
};

#define VMP_READ_LATE_MS	1000U	/* then what may be read later is asked for again */

/** vmp_read_is_late() - It took too long, or its device is left alone, or no child could read it: it may be read later. */
static inline int vmp_read_is_late(const struct vmp_read_answer *a)
{
	return a->status == -ETIMEDOUT || a->status == -EBUSY || a->status == -EIO;
}

#endif
