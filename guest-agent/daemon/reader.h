/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * reader.h - files of others are read by a child, for open() and read() may block for ever.
 *
 * A file on a dead network or FUSE file system holds whoever touches it. So a child touches it,
 * one request at a time, and the daemon waits for the answer with all else that it waits for. A
 * child that needs too long is killed and the request fails; its device is left alone for a while, which is short
 * at first, twice as long each time that it happens again, and short again after an answer in time.
 * One that cannot be killed (it sleeps in the kernel) is left behind; of those there are
 * VMP_READER_DYING at most, then nothing is read until one of them is gone.
 */
#ifndef VMP_READER_H
#define VMP_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "read.h"

#define VMP_READER_PATIENCE_MS	6000U	/* for one answer: a busy disk is slow, and the host waits for 10 s */
#define VMP_READER_HOLD_MS	1000U	/* then a device that was stuck is tried again; twice as long each time ... */
#define VMP_READER_HOLD_MAX_MS	60000U	/* ... up to this */
#define VMP_READER_HELD		16U	/* devices that are, or were last, left alone */
#define VMP_READER_DYING	4U	/* children that were killed and are not gone */

struct vmp_device {
	uint32_t major, minor;
};

/* A page that both sides see */
struct vmp_reader_page {
	struct vmp_device touched;	/* by the child for this request, the last; 0:0 none that is known */
	struct vmp_device held[VMP_READER_HELD];
	uint32_t hold_ms[VMP_READER_HELD];	/* how long it is, or was last, left alone; 0: free */
	uint64_t until_ms[VMP_READER_HELD];	/* 0: no more */
};

struct vmp_reader {
	int fd;				/* to the child, -1: none is there; what one held open, the next has not */
	pid_t child;
	pid_t dying[VMP_READER_DYING];	/* 0: free */
	uint32_t begun;			/* children so far */
	uint64_t asked_ms;		/* when the request was made; 0: none is under way */
	int answered;			/* without the child */
	struct vmp_reader_page *page;
	/* what the child does; for tests */
	void (*serve)(int fd, struct vmp_reader_page *page);
	struct vmp_read_request request;	/* the one under way, or the last */
	struct vmp_read_answer answer;
};

/** vmp_reader_init() - No child yet.  Return: 0 or -ENOMEM. */
int vmp_reader_init(struct vmp_reader *r);
void vmp_reader_deinit(struct vmp_reader *r);

/** vmp_reader_stop() - Forget the request, end the child and all that it holds open. */
void vmp_reader_stop(struct vmp_reader *r);

/** vmp_reader_reap() - See which killed children are gone. */
void vmp_reader_reap(struct vmp_reader *r);

/** vmp_reader_busy() - A request is under way: no other can be made. */
static inline int vmp_reader_busy(const struct vmp_reader *r)
{
	return r->asked_ms != 0;
}

/**
 * vmp_reader_ask() - Make the request that lies in @r->request; the reader is not busy.
 * @now_ms: A clock that does not go back, > 0.
 *
 * Return: 1 it is answered already (it cannot be done now), 0 wait for @r->fd.
 */
int vmp_reader_ask(struct vmp_reader *r, uint64_t now_ms);

/**
 * vmp_reader_answer() - The answer to @r->request, or NULL while there is none.
 * To be called when @r->fd can be read, and now and then.  Borrowed until the next request.
 */
const struct vmp_read_answer *vmp_reader_answer(struct vmp_reader *r, uint64_t now_ms);

/** vmp_reader_is_held() - Is this device left alone?  By the child, of what it meets. */
int vmp_reader_is_held(const struct vmp_reader_page *page, uint32_t major, uint32_t minor);

#endif
