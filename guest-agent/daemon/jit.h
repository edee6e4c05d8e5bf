/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jit.h - names of code that programs make while they run: /tmp/perf-PID.map
 * and jitdump files.
 *
 * A program with executable memory behind which no file lies is followed until it
 * has ended and all of its map was sent: what is appended goes out about once a second, and
 * when the program or the session ends.  The files themselves are the child's (jitfile.h);
 * each program has a slot there.
 */
#ifndef VMP_JIT_H
#define VMP_JIT_H

#include <stdint.h>

#include "agent_msg.h"
#include "jitfile.h"
#include "out.h"
#include "read.h"

#define VMP_JIT_LOOK_MS		1000U
#define VMP_JIT_ERRORS_MAX	8U	/* a file whose reading ends the child is not read for ever */

struct vmp_jit_program {
	uint64_t tsc;			/* of the MAP that made us look: see vmprof_jitmap */
	uint32_t tgid;
	uint32_t slot;
	int dump;			/* its map is a jitdump file */
	int begun;			/* the child holds on to what leads to it */
	int ended;			/* to be read once more */
	int read_to_end;		/* after the end: nothing of it is left */
	int given_up;			/* nothing more of it is read */
	struct vmp_mapped m;		/* that MAP, */
	char *path;			/* and its path */
	uint64_t offset;		/* in the map: all before was read and sent */
	uint64_t sent;			/* bytes */
	uint32_t too_small;		/* its next line does not fit this many bytes */
	int put_off;			/* it could not be begun with, but may be later */
	unsigned int errors;		/* in a row, behind which the child may have ended each time */
	uint64_t due_ms;
	uint64_t asked_tsc;		/* when it was asked for last, */
	uint64_t looked_tsc;		/* and when last nothing more was there */
};

struct vmp_jit {
	struct vmp_jit_program program[VMP_JIT_PROGRAMS];
	uint32_t nr;
	uint32_t turn;			/* who is looked at next */
	uint32_t refused;		/* the last process that found no room, 0 none */
	uint64_t sent;			/* bytes of all */
	uint64_t lost;			/* maps that were not sent, or not to their end */
};

/** vmp_jit_init() - Nobody is followed. */
void vmp_jit_init(struct vmp_jit *jit);

/** vmp_jit_clear() - Follow nobody any more, count from 0. */
void vmp_jit_clear(struct vmp_jit *jit);

/** vmp_jit_note() - A map goes to the host: is it of code that no file holds, or a jitdump file? */
void vmp_jit_note(struct vmp_jit *jit, const struct vmp_msg_map *map);

/** vmp_jit_ended() - A process ended, or runs another program now. */
void vmp_jit_ended(struct vmp_jit *jit, uint32_t tgid);

/** vmp_jit_finish() - The session ends: all maps are read once more. */
void vmp_jit_finish(struct vmp_jit *jit);

/** vmp_jit_give_up() - No time is left: what was not sent counts as lost. */
void vmp_jit_give_up(struct vmp_jit *jit);

/** vmp_jit_begin_again() - The child is another one: what it held is gone. */
void vmp_jit_begin_again(struct vmp_jit *jit);

/** vmp_jit_ask_begin() - Is there a program to begin with, while it lives?  Return: 1 the request is filled. */
int vmp_jit_ask_begin(const struct vmp_jit *jit, uint64_t now_ms, struct vmp_read_request *r);

/**
 * vmp_jit_ask() - The next program whose turn it is to be read.
 * @out:    What it may take is what is asked for.
 * @now_ms: A clock that does not go back.
 *
 * Return: 1 the request is filled, 0 nothing now (or no credit, no room).
 */
int vmp_jit_ask(struct vmp_jit *jit, const struct vmp_out *out, uint64_t now_ms, struct vmp_read_request *r);

/** vmp_jit_answer() - Put what was read into a frame; what may be read later is asked for again, later. */
void vmp_jit_answer(struct vmp_jit *jit, const struct vmp_read_request *r, const struct vmp_read_answer *a,
		    struct vmp_out *out, uint64_t now_ms);

#endif
