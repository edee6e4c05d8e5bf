/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debuginfod.h - files by build-id from the servers that DEBUGINFOD_URLS names.
 *
 * debuginfod-find (elfutils) does it, in a process of its own that is bounded
 * in time and in what it writes; it keeps what it fetched in its own cache, as
 * the user who called.  All questions of a command share one budget: when it
 * is used up nothing more is asked for.  For the files of a VM, which may tell of
 * any, no more of it is spent than is left for all others.  Each file is asked for once.
 */
#ifndef VMP_DEBUGINFOD_H
#define VMP_DEBUGINFOD_H

#include <stddef.h>
#include <stdint.h>

#define VMP_DEBUGINFOD_ASK_NS	20000000000ULL	/* for one file */
#define VMP_DEBUGINFOD_ALL_NS	120000000000ULL	/* for all files */
#define VMP_DEBUGINFOD_FILES	512		/* that are asked for */
#define VMP_DEBUGINFOD_BYTES	(512ULL << 20)	/* of one file */

enum vmp_debuginfod_kind {
	VMP_DEBUGINFOD_PROGRAM,
	VMP_DEBUGINFOD_DEBUG,
};

/* What became of the questions */
enum vmp_debuginfod_answer {
	VMP_DEBUGINFOD_GOT,
	VMP_DEBUGINFOD_ABSENT,	/* the servers have it not */
	VMP_DEBUGINFOD_FAILED,	/* they could not be asked, or what came was too large */
	VMP_DEBUGINFOD_SLOW,	/* it took too long */
	VMP_DEBUGINFOD_UNASKED,	/* the budget was used up */
	VMP_DEBUGINFOD_ANSWERS
};

struct vmp_debuginfod;

/**
 * vmp_debuginfod_create() - Get ready to ask; nothing is asked yet.
 * Return: 0; -ENOENT DEBUGINFOD_URLS is not set; -ENOMEM.
 */
int vmp_debuginfod_create(struct vmp_debuginfod **d);
void vmp_debuginfod_destroy(struct vmp_debuginfod *d);

/** vmp_debuginfod_budget() - Others than VMP_DEBUGINFOD_ASK_NS, VMP_DEBUGINFOD_ALL_NS and VMP_DEBUGINFOD_BYTES. */
void vmp_debuginfod_budget(struct vmp_debuginfod *d, uint64_t ask_ns, uint64_t all_ns, uint64_t bytes);

/**
 * vmp_debuginfod_find() - Have a file fetched, unless it was before; says so.
 * @vm:   Whose it is, 0: the host's.
 * @name: What the user knows the file by.
 * @path: Where it lies; who reads it checks its build-id.
 * Return: 0, -ENOENT (see the counts), -ENOMEM.
 */
int vmp_debuginfod_find(struct vmp_debuginfod *d, uint32_t vm, enum vmp_debuginfod_kind kind,
			const uint8_t *build_id, size_t len, const char *name, char *path, size_t size);

/** vmp_debuginfod_key() - "got" */
const char *vmp_debuginfod_key(enum vmp_debuginfod_answer answer);

/** vmp_debuginfod_text() - "not on the servers" */
const char *vmp_debuginfod_text(enum vmp_debuginfod_answer answer);

/** vmp_debuginfod_count() - Questions by what became of them. */
uint64_t vmp_debuginfod_count(const struct vmp_debuginfod *d, enum vmp_debuginfod_answer answer);

#endif
