/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lines.h - messages from the collector to the command that waits for it.
 *
 * A stream of: one byte kind, text, NUL.  Kinds: 'I' 'W' 'E' messages for
 * people, 'J' a JSON document, 'X' the end, its text the exit code.
 */
#ifndef VMP_LINES_H
#define VMP_LINES_H

#include "util/log.h"

/** vmp_lines_kind() - Kind of a message of this level. */
char vmp_lines_kind(enum vmp_log_level level);

/** vmp_lines_send() - Send one without waiting. Return: 0 or -errno; then the reader is lost. */
int vmp_lines_send(int fd, char kind, const char *text);

/**
 * vmp_lines_relay() - Pass messages on until the end.
 * @json: Gets a copy of the 'J' text, the caller's to free; may be NULL.
 * Return: the exit code; -EPIPE when the stream ends without one.
 */
int vmp_lines_relay(int fd, char **json);

#endif
