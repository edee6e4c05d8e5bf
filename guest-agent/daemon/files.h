/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * files.h - what lies behind the maps that were sent: one entry per file.
 *
 * A file is known by device, inode and generation; one that was written since
 * (size or mtime differ) is a new entry with a new handle.  Entries live as
 * long as the conversation with the host.
 */
#ifndef VMP_FILES_H
#define VMP_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"
#include "elf_id.h"
#include "read.h"

#define VMP_FILES_MAX		32768U		/* entries */
#define VMP_FILES_PATHS_BYTES	(16U << 20)	/* of all paths: any user may map files with the longest ones */
#define VMP_FILES_PATIENCE_MS	10000U		/* for one that may be looked at later, before it is told without */
#define VMP_FILES_CHECK_MS	1000U		/* a file is looked at again after this, where nobody says that it is as it was */

struct vmp_file {
	uint32_t flags;			/* VMPROF_FILE_* */
	uint32_t dev_major, dev_minor;
	uint32_t ino_generation;
	uint64_t ino;
	uint64_t bytes;
	uint64_t mtime_ns;
	uint64_t since_tsc;		/* the first mapping of it as it is; 0 all of them */
	uint64_t asked_tsc;		/* the mapping for which it is looked at */
	uint64_t checked_ms;
	uint64_t due_ms;		/* it is not looked at before that */
	uint64_t late_since_ms;		/* it could not be looked at then, nor since; 0 no */
	struct vmp_build_id id;
	char *path;
	/* a mapping of it, the last that was seen: a way to open it */
	uint64_t start, end;
	uint32_t tgid;
	uint32_t same_hash;		/* handle of the next entry in the chain; 0 none */
	uint32_t next_waiting;		/* the same for those that wait to be looked at */
	uint8_t waits;			/* to be looked at, or the child does it now */
	uint8_t unsure;			/* it may have been written since */
	uint8_t fleeting;		/* as it was looked at last: VMPROF_FILE_FLEETING */
	uint8_t looked_at;		/* once at least: what is known of it holds */
};

struct vmp_files_queue {
	uint32_t first, last;		/* handles */
};

struct vmp_files {
	struct vmp_file *file;		/* handle h is file[h - 1] */
	uint32_t nr, room;
	uint32_t sent;			/* the first this many were sent */
	size_t path_bytes;		/* of all entries */
	uint64_t overflow;		/* files that found no room */
	struct vmp_files_queue waiting;	/* to be looked at */
	struct vmp_files_queue late;	/* to be looked at once more, in a while */
	uint32_t bucket[4096];		/* handles */
};

/** vmp_files_init() - Empty table. */
void vmp_files_init(struct vmp_files *files);

/** vmp_files_clear() - Forget all; handles start from 1 again. */
void vmp_files_clear(struct vmp_files *files);

/* What is known of the file behind a map */
enum vmp_files_heard {
	VMP_FILES_UNSURE,		/* nobody says anything */
	VMP_FILES_TOLD,			/* it was told before, and not written since */
	VMP_FILES_FRESH,		/* it was not told before, or was written since */
};

/**
 * vmp_files_note() - A map goes to the host: know the file behind it.
 * @now_ms: A clock that does not go back.
 *
 * Where it is new, was written or, of those that nobody is sure of, was not looked at for a while, it
 * waits to be looked at.
 */
void vmp_files_note(struct vmp_files *files, const struct vmp_msg_map *map, enum vmp_files_heard heard,
		    uint64_t now_ms);

/**
 * vmp_files_tell_id() - The kernel told the build-id of the file behind a map that was noted.
 * It holds where the file cannot be opened.
 */
void vmp_files_tell_id(struct vmp_files *files, const struct vmp_msg_map *map, const struct vmp_build_id *id);

/** vmp_files_ask() - Take the next that waits.  Return: 1 the request is filled, 0 none waits, or not yet again. */
int vmp_files_ask(struct vmp_files *files, uint64_t now_ms, struct vmp_read_request *r);

/**
 * vmp_files_answer() - It was looked at; @handle is the request's number.
 * What could not be opened is an entry too (VMPROF_FILE_NO_ACCESS).
 * Return: 1 it waits to be looked at once more, else 0.
 */
int vmp_files_answer(struct vmp_files *files, uint32_t handle, const struct vmp_read_answer *a, uint64_t now_ms);

/** vmp_files_give_up() - There is no more time to look.  Return: entries that are told without. */
uint64_t vmp_files_give_up(struct vmp_files *files);

/** vmp_files_object() - Fill the request for a piece of an entry's file, but for offset and len. */
void vmp_files_object(const struct vmp_file *f, uint32_t number, struct vmp_read_request *r);

/** vmp_files_get() - Entry of a handle, or NULL. */
const struct vmp_file *vmp_files_get(const struct vmp_files *files, uint32_t handle);

/**
 * vmp_files_unsent() - The next entry to tell the host of, or NULL (none, or it waits).
 * @msg: Its message, in wire order; the path follows.
 */
const struct vmp_file *vmp_files_unsent(const struct vmp_files *files, struct vmprof_file *msg);

/** vmp_files_sent() - What vmp_files_unsent() gave went out. */
void vmp_files_sent(struct vmp_files *files);

#endif
