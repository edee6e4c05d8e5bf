/* SPDX-License-Identifier: GPL-2.0-only */
/* bulk.h - objects that the host asked for, within its credit. */
#ifndef VMP_BULK_H
#define VMP_BULK_H

#include <stdint.h>

#include "agent_msg.h"
#include "files.h"
#include "out.h"
#include "read.h"

#define VMP_BULK_REQUESTS	4096U	/* GET_OBJECTs that wait; more are refused */
#define VMP_BULK_PATIENCE_MS	8000U	/* for what may be read later: the host waits for 10 s */

struct vmp_bulk {
	struct vmp_msg_get_object request[VMP_BULK_REQUESTS];	/* a ring */
	uint32_t first, nr;
	uint64_t since_ms;		/* the next piece was asked for first; 0 not yet */
	uint64_t due_ms;		/* and is not asked for again before that */
	int forbidden;			/* by --no-objects: each is answered with EPERM */
};

void vmp_bulk_init(struct vmp_bulk *bulk);

/** vmp_bulk_clear() - Forget requests; what is forbidden stays so. */
void vmp_bulk_clear(struct vmp_bulk *bulk);

/** vmp_bulk_request() - Return: 0, or -ENOBUFS (too many wait). */
int vmp_bulk_request(struct vmp_bulk *bulk, const struct vmp_msg_get_object *request);

/**
 * vmp_bulk_ask() - The next piece of an object; what cannot be had is answered at once.
 * @now_ms: A clock that does not go back, > 0.
 *
 * Return: 1 the request is filled, 0 nothing (or no credit, no room, not yet again).
 */
int vmp_bulk_ask(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out, uint64_t now_ms,
		 struct vmp_read_request *r);

/** vmp_bulk_answer() - Put the piece into a frame, or wait where it may be read later.  Return: 1 it waits, else 0. */
int vmp_bulk_answer(struct vmp_bulk *bulk, const struct vmp_read_request *r, const struct vmp_read_answer *a,
		    struct vmp_out *out, uint64_t now_ms);

#endif
