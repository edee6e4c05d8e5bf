/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jitfile.h - the file in which one program tells of code that it makes.
 *
 * /tmp/perf-PID.map is looked for below the program's own root, which is held from when the
 * program is met; only one that is the program's own is read: a regular file with one name, of the
 * program's user, written since the process began.  A jitdump file is one that the program has
 * mapped as executable, as its format wants it.  May block: for the child that reads (worker.h).
 */
#ifndef VMP_JITFILE_H
#define VMP_JITFILE_H

#include <stdint.h>
#include <sys/types.h>

#include "mapped.h"

#define VMP_JIT_PROGRAMS	256U	/* followed at a time; each has one file open */

struct vmp_jit_file {
	uint32_t tgid;
	uint32_t own_pid;	/* as the program itself sees it */
	uint32_t uid;
	int dump;		/* it is a jitdump file */
	int root;		/* while the map is not found, else -1 */
	int map;		/* -1: not found (yet) */
	uint64_t began_ns;	/* wall clock */
};

/** vmp_jit_file_init() - Nobody's. */
void vmp_jit_file_init(struct vmp_jit_file *f);
void vmp_jit_file_close(struct vmp_jit_file *f);

/**
 * vmp_jit_file_meet() - Learn what leads to a program's map while the process lives; it may
 * be gone when its map is looked for.  Return: 0, -ENOENT or -ESRCH (it is gone already), -errno.
 */
int vmp_jit_file_meet(struct vmp_jit_file *f, uint32_t tgid);

/** vmp_jit_file_open_dump() - It is a mapped jitdump file.  Return: 0 or -errno. */
int vmp_jit_file_open_dump(struct vmp_jit_file *f, const struct vmp_mapped *m);

/**
 * vmp_jit_file_read() - Read on.
 * @ended:  The process is gone.
 * @offset: 0 at first; moved over what was read.
 * @text:   Gets whole lines, in @room bytes.
 *
 * Return: bytes in @text, 0 (nothing more is there now), -EAGAIN (go on), -EFBIG (a line
 * that does not fit), -EBADMSG (no such file), -errno.
 */
ssize_t vmp_jit_file_read(struct vmp_jit_file *f, int ended, uint64_t *offset, char *text, size_t room);

#endif
