/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fetch.h - guest binaries on their way into the host's object cache.
 *
 * One at a time per guest.  A file appears in the cache only when it arrived
 * whole, in order, with the size that the agent had told; until then it is a
 * temporary file beside its place.  A host's own limit bounds the sum.
 */
#ifndef VMP_FETCH_H
#define VMP_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "agent_msg.h"
#include "model/objcache.h"

#define VMP_FETCH_MAX		4096		/* files of one guest */
#define VMP_FETCH_SUM_BYTES	(1ULL << 30)	/* of one guest and session */
#define VMP_FETCH_PATIENCE_NS	10000000000ULL	/* without a byte: give this file up */

struct vmp_fetch_item {
	uint32_t file;		/* the agent's handle */
	uint64_t bytes;
	char key[VMP_OBJKEY_MAX];
	char build_id[2 * VMPROF_BUILD_ID_MAX + 1];	/* hex, "" none */
	int have;		/* it is in the cache */
};

struct vmp_fetch {
	struct vmp_fetch_item *items;
	int nr;
	int at;			/* the one that arrives; nr: all done */
	int fd;			/* its temporary file, -1: not asked for yet */
	char temp[4096];
	uint64_t got_bytes;	/* of it */
	uint64_t heard_ns;	/* last progress */
	uint64_t sum_bytes;
	int fetched, failed;	/* files */
	int full;		/* the cache's disk is full: no more are tried */
};

void vmp_fetch_init(struct vmp_fetch *f);

/**
 * vmp_fetch_add() - This file is needed; one that the cache has is only listed.
 * Return: 0, -ENOMEM, -ENOBUFS (too many, or too much), -EINVAL (no key).
 */
int vmp_fetch_add(struct vmp_fetch *f, uint32_t file, uint64_t bytes, const uint8_t *build_id,
		  size_t build_id_len, const char *key);

/**
 * vmp_fetch_next() - The file to ask for now.
 * Return: the item, once for each; NULL: one is arriving, or all are done.
 */
const struct vmp_fetch_item *vmp_fetch_next(struct vmp_fetch *f, uint64_t now_ns);

/** vmp_fetch_object() - A piece came. Return: 1 it belongs to what was asked for. */
int vmp_fetch_object(struct vmp_fetch *f, const struct vmp_msg_object *o, uint64_t now_ns);

/** vmp_fetch_tick() - Give up what does not come. */
void vmp_fetch_tick(struct vmp_fetch *f, uint64_t now_ns);

/** vmp_fetch_done() - Nothing arrives and nothing is left to ask for. */
int vmp_fetch_done(const struct vmp_fetch *f);

/** vmp_fetch_abort() - Count the rest as failed. */
void vmp_fetch_abort(struct vmp_fetch *f);

void vmp_fetch_free(struct vmp_fetch *f);

#endif
