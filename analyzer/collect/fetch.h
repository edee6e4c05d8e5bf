/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fetch.h - guest binaries on their way into the host's object cache.
 *
 * One at a time per guest.  A file appears in the cache only when it arrived
 * whole, in order, with the size and the build-id that the agent had told; until then it is a
 * temporary file beside its place.  The host's own limits bound the sum: of a
 * guest and session, of the cache (housekeep.h), of the disk (util/room.h).
 * They bound the rate, too: no more is asked for than may come now, and what
 * was not asked for is not taken.
 *
 * After the binaries come the debug files of those that were stripped, where the
 * guest has them: beside the binary, as KEY's path with .debug behind it, if the
 * build-id is the same.  A guest without them is no failure.
 *
 * Who carries the pieces (the agent, or ssh) is no matter here: the limits are
 * the same.  Where there is a second way, a binary that lies at its path no more, or is
 * another one there, is asked for once more.
 */
#ifndef VMP_FETCH_H
#define VMP_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"
#include "model/needed.h"
#include "model/objcache.h"

#define VMP_FETCH_MAX		4096		/* files of one guest */
#define VMP_FETCH_SUM_BYTES	(1ULL << 30)	/* of one guest and session */
#define VMP_FETCH_DEBUG_BYTES	(64ULL << 20)	/* of one debug file */
#define VMP_FETCH_RATE_BYTES	(64ULL << 20)	/* of one guest in a second ... */
#define VMP_FETCH_BURST_BYTES	(16ULL << 20)	/* ... this much at once */
#define VMP_FETCH_PATIENCE_NS	10000000000ULL	/* without a byte: give this file up */

/* Why a binary did not come */
enum vmp_fetch_cause {
	VMP_FETCH_ABSENT,	/* not there, or not to be read */
	VMP_FETCH_OTHER,	/* another build lies there by now */
	VMP_FETCH_SLOW,		/* it did not come in time */
	VMP_FETCH_ROOM,		/* the cache or its disk is full */
	VMP_FETCH_CUT,		/* the guest, or the way to it, was gone */
	VMP_FETCH_OVER,		/* over a limit of one guest */
	VMP_FETCH_FORBIDDEN,	/* --objects none */
	VMP_FETCH_BLIND,	/* nothing would tell that it is the right one */
	VMP_FETCH_LOCAL,	/* it could not be written */
	VMP_FETCH_CAUSES
};

struct vmp_fetch_item {
	uint32_t file;		/* the agent's handle; with VMPROF_OBJECT_DEBUG its debug file */
	uint64_t bytes;		/* of a debug file: 0 until the agent tells */
	char key[VMP_OBJKEY_MAX];
	char build_id[2 * VMPROF_BUILD_ID_MAX + 1];	/* hex, "" none */
	char *path;		/* in the guest */
	int have;		/* it is in the cache */
	int elsewhere;		/* the content of the one before, asked for only if that did not come */
};

struct vmp_fetch {
	struct vmp_fetch_item *items;
	int nr;
	int at;			/* the one that arrives; nr: all done */
	int fd;			/* its temporary file, -1: not asked for yet */
	char temp[4096];
	uint64_t got_bytes;	/* of it */
	uint64_t asked_bytes;	/* of it, those that came included */
	uint64_t budget_bytes;	/* that may be asked for now ... */
	uint64_t budget_ns;	/* ... as of then; 0: nothing was asked for yet */
	uint64_t heard_ns;	/* last progress */
	uint64_t sum_bytes;
	uint64_t rate_bytes, burst_bytes;	/* that may be asked for in a second, at once */
	uint64_t least_bytes;	/* for which a smaller file counts, in rooms and in a second: it costs a file of the host's, and work */
	uint64_t taken_bytes;	/* of the rooms for the one that arrives */
	uint64_t *cache_room;	/* bytes that the cache may still take, of all guests; NULL any */
	uint64_t *own_room;	/* ... of this guest, instead of a bound on what is listed; NULL any */
	int debug_listed;	/* debug files were added: nothing will be after them */
	int ask_rest;		/* what was asked for of it came: ask for more */
	int fetched, failed;	/* binaries */
	int over;		/* binaries that vmp_fetch_add() refused: over a limit */
	int debug_fetched, debug_refused;	/* debug files; refused: too large, or another one's */
	int full;		/* the cache's disk is full: no more are tried */
	int verify;		/* a binary without a build-id to check is not asked for */
	int second_way;		/* there is one: a binary that the first way does not find is asked for again */
	int second;		/* the one that arrives comes by it */
	uint32_t why[VMP_FETCH_CAUSES];
};

void vmp_fetch_init(struct vmp_fetch *f);

/**
 * vmp_fetch_add() - This file is needed; one that the cache has is only listed.
 * Return: 0, -ENOMEM, -ENOBUFS (too many, or too much), -EINVAL (no key).
 */
int vmp_fetch_add(struct vmp_fetch *f, const struct vmp_needed *n);

/**
 * vmp_fetch_next() - What to ask the agent for now.
 * Return: 1 @ask is set; 0: one is arriving, or all are done.
 */
int vmp_fetch_next(struct vmp_fetch *f, uint64_t now_ns, struct vmp_msg_get_object *ask);

/** vmp_fetch_path() - Where what was asked for last lies in the guest. */
const char *vmp_fetch_path(const struct vmp_fetch *f);

/** vmp_fetch_object() - A piece came. Return: 1 it belongs to what was asked for. */
int vmp_fetch_object(struct vmp_fetch *f, const struct vmp_msg_object *o, uint64_t now_ns);

/** vmp_fetch_goes_on() - Is more of what was asked for last to come, or to be asked for? */
int vmp_fetch_goes_on(const struct vmp_fetch *f);

/** vmp_fetch_tick() - Give up what does not come.  Return: 1 something was given up. */
int vmp_fetch_tick(struct vmp_fetch *f, uint64_t now_ns);

/** vmp_fetch_done() - Nothing arrives and nothing is left to ask for. */
int vmp_fetch_done(const struct vmp_fetch *f);

/** vmp_fetch_abort() - Count the rest as failed for the reason @err. */
void vmp_fetch_abort(struct vmp_fetch *f, int err);

/** vmp_fetch_cause_key() - "absent" */
const char *vmp_fetch_cause_key(enum vmp_fetch_cause cause);

/** vmp_fetch_causes() - "2 not there or not to be read, 1 of another build by now, or no ELF file" */
const char *vmp_fetch_causes(const struct vmp_fetch *f, char *buf, size_t size);

void vmp_fetch_free(struct vmp_fetch *f);

#endif
