/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * jitdump.h - functions of a jitdump file (the format of perf's JIT interface,
 * tools/perf/Documentation/jitdump-specification.txt), as lines of /tmp/perf-PID.map.
 *
 * Only loads and moves of code are looked at, in their order; the code itself, line
 * numbers and unwinding tables are passed over.  Little-endian, version 1.
 */
#ifndef VMP_JITDUMP_H
#define VMP_JITDUMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VMP_JITDUMP_NAME_MAX	1024U		/* with its NUL; longer ones are cut */
#define VMP_JITDUMP_LINE_MAX	(VMP_JITDUMP_NAME_MAX + 36)

/** vmp_jitdump_is() - Is this how a program calls its jitdump file?  @path: @len bytes. */
int vmp_jitdump_is(const char *path, size_t len);

/**
 * vmp_jitdump_lines() - Read on in the file.
 * @offset: 0 at first; moved over what was read.
 * @text:   Gets whole lines, in @room bytes, which must be VMP_JITDUMP_LINE_MAX or more.
 *
 * Return: bytes in @text, 0 (no whole record there), -EAGAIN (none of the records read is of
 * use, or the file was written anew: go on), -EBADMSG (no such file), -errno.
 */
ssize_t vmp_jitdump_lines(int fd, uint64_t *offset, char *text, size_t room);

#endif
