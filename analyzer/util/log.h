/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * log.h - where messages for people go.
 *
 * Everything below the commands reports through here and returns -errno; who
 * shows the message (a terminal, the collector's log, a pipe) is the caller's
 * choice.  A message has no newline at its end; lines after its first one, if
 * any, begin with two spaces and say what to do.  Its text is safe for a
 * terminal already: foreign strings go through vmp_text() first.
 */
#ifndef VMP_LOG_H
#define VMP_LOG_H

enum vmp_log_level {
	VMP_LOG_INFO,		/* what is being done */
	VMP_LOG_WARN,		/* goes on, but the user should know */
	VMP_LOG_ERROR,		/* what failed, to what, and what to do next */
	VMP_LOG_ASIDE,		/* what is being done, where standard output is for a result */
};

typedef void (*vmp_log_fn)(void *arg, enum vmp_log_level level, const char *text);

/** vmp_log_set() - Send messages to @fn from now on; NULL: terminal, as at start. */
void vmp_log_set(vmp_log_fn fn, void *arg);

/** vmp_log() - One message; cut at 4095 bytes. */
void vmp_log(enum vmp_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define vmp_info(...)	vmp_log(VMP_LOG_INFO, __VA_ARGS__)
#define vmp_warn(...)	vmp_log(VMP_LOG_WARN, __VA_ARGS__)
#define vmp_err(...)	vmp_log(VMP_LOG_ERROR, __VA_ARGS__)
#define vmp_aside(...)	vmp_log(VMP_LOG_ASIDE, __VA_ARGS__)

#endif
