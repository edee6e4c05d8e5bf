/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * control.h - the collector's UNIX socket: a command comes, lines.h goes back.
 *
 * A client sends "stop" or "status" and a newline.  status is answered at
 * once; stop gets every message until the session is over.
 */
#ifndef VMP_CONTROL_H
#define VMP_CONTROL_H

#include <poll.h>
#include <stddef.h>

#include "util/log.h"

#define VMP_CONTROL_CLIENTS	8

enum vmp_control_command {
	VMP_CONTROL_NOTHING,
	VMP_CONTROL_STATUS,
	VMP_CONTROL_STOP,
};

struct vmp_control_client {
	int fd;			/* -1 free */
	char in[16];
	size_t len;
	int waits;		/* it sent stop */
};

struct vmp_control {
	int fd;			/* listens; -1 not open */
	struct vmp_control_client client[VMP_CONTROL_CLIENTS];
};

void vmp_control_init(struct vmp_control *c);

/** vmp_control_open() - Listen in the state folder. Return: 0 or -errno. */
int vmp_control_open(struct vmp_control *c);

/** vmp_control_fill() - Add what is to be polled to @p (1 + VMP_CONTROL_CLIENTS). Return: how many. */
int vmp_control_fill(const struct vmp_control *c, struct pollfd *p);

/** vmp_control_accept() - The listening socket is readable. */
void vmp_control_accept(struct vmp_control *c);

/** vmp_control_read() - A client (descriptor @fd) is readable. @client: it, when a command came. */
enum vmp_control_command vmp_control_read(struct vmp_control *c, int fd,
					  struct vmp_control_client **client);

/** vmp_control_reply() - Send one line; @end: then close the client. */
void vmp_control_reply(struct vmp_control_client *client, char kind, const char *text, int end);

/** vmp_control_tell() - Send a line to all that wait for the stop; @end: and close them. */
void vmp_control_tell(struct vmp_control *c, char kind, const char *text, int end);

void vmp_control_close(struct vmp_control *c);

/**
 * vmp_control_ask() - Client's side: send a command, pass the answers on.
 * @json: As vmp_lines_relay().
 * Return: exit code; -errno when there is no collector or it died (-EPIPE).
 */
int vmp_control_ask(const char *command, char **json);

#endif
