/* SPDX-License-Identifier: GPL-2.0-only */
/* bulk.h - what the host gets within its credit: kernel symbols, then objects that it asked for. */
#ifndef VMP_BULK_H
#define VMP_BULK_H

#include <stdint.h>

#include "agent_msg.h"
#include "files.h"
#include "ksyms.h"
#include "out.h"
#include "read.h"

#define VMP_BULK_REQUESTS	4096U	/* GET_OBJECTs that wait; more are refused */

struct vmp_bulk {
	struct vmp_ksyms ksyms;
	uint64_t ksyms_sent;		/* bytes; that the host has, too */
	uint64_t kept_bytes;		/* that it says to have; 0 none */
	uint32_t kept_crc;
	int ksyms_active;
	struct vmp_msg_get_object request[VMP_BULK_REQUESTS];	/* a ring */
	uint32_t first, nr;
};

void vmp_bulk_init(struct vmp_bulk *bulk);

/** vmp_bulk_clear() - Forget requests and symbols. */
void vmp_bulk_clear(struct vmp_bulk *bulk);

/**
 * vmp_bulk_ksyms() - Send the kernel's symbols (again).
 * @module:     As vmp_ksyms_open().
 * @kept_bytes: Of the text's beginning, with the checksum @kept_crc, are left out; 0 none.
 */
void vmp_bulk_ksyms(struct vmp_bulk *bulk, int module, uint64_t kept_bytes, uint32_t kept_crc);

/** vmp_bulk_request() - Return: 0, or -ENOBUFS (too many wait). */
int vmp_bulk_request(struct vmp_bulk *bulk, const struct vmp_msg_get_object *request);

/**
 * vmp_bulk_step() - Read some of the kernel's symbols, or put one frame of them.
 * Return: 1 there is more that can be done now, 0 nothing (or no credit, no room).
 */
int vmp_bulk_step(struct vmp_bulk *bulk, struct vmp_out *out);

/**
 * vmp_bulk_ask() - The next piece of an object; what cannot be had is answered at once.
 * Return: 1 the request is filled, 0 nothing (or no credit, no room).
 */
int vmp_bulk_ask(struct vmp_bulk *bulk, const struct vmp_files *files, struct vmp_out *out,
		 struct vmp_read_request *r);

/** vmp_bulk_answer() - Put the piece into a frame. */
void vmp_bulk_answer(struct vmp_bulk *bulk, const struct vmp_read_request *r,
		     const struct vmp_read_answer *a, struct vmp_out *out);

#endif
