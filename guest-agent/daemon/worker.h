/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * worker.h - the child that reads files of others: one request, one answer; see reader.h.
 *
 * What it holds open (the object that is sent, the maps and programs that are followed) is gone
 * with it.  Nothing of what it reads decides what it opens.
 */
#ifndef VMP_WORKER_H
#define VMP_WORKER_H

#include "jitfile.h"
#include "read.h"
#include "reader.h"

#define VMP_WORKER_LINE_MAX	(VMPROF_PATH_BYTES_MAX + 128)	/* of /proc/PID/maps */

struct vmp_worker {
	int object;		/* the last one, -1: none, or the vdso */
	uint32_t object_number;	/* 0: none */
	uint64_t object_bytes;
	int maps;		/* /proc/TGID/maps that is being read, else -1 */
	int maps_error;		/* why the rest of them is not read; at first: another child began with them */
	size_t tail;		/* bytes of a line that was not whole */
	char tail_text[VMP_WORKER_LINE_MAX];
	struct vmp_jit_file jit[VMP_JIT_PROGRAMS];
};

void vmp_worker_init(struct vmp_worker *w);

/** vmp_worker_clear() - Close everything. */
void vmp_worker_clear(struct vmp_worker *w);

/** vmp_worker_do() - Carry one request out; may block for ever. */
void vmp_worker_do(struct vmp_worker *w, struct vmp_read_request *q, struct vmp_read_answer *a);

/** vmp_worker_serve() - Be the child: until the daemon closes its end of @fd. */
void vmp_worker_serve(int fd, struct vmp_reader_page *page);

#endif
