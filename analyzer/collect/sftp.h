/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sftp.h - read files of a guest through the OpenSSH client.
 *
 * ssh opens the guest's subsystem sftp, as for sftp(1), with the caller's own
 * configuration, keys and known hosts (util/child.h), and never asks for
 * anything.  The protocol (SFTP, version 3) is spoken here: so a path of the
 * guest is a string of a message, never a word of a command or a path of the
 * host, and what comes is bounded as it comes.  One file at a time; it arrives
 * in the pieces in which an agent sends one.
 */
#ifndef VMP_SFTP_H
#define VMP_SFTP_H

#include <stdint.h>

#include "agent_msg.h"
#include "collect/objects.h"

#define VMP_SFTP_PATIENCE_NS	30000000000ULL	/* until the guest lets us in */

struct vmp_sftp;

/**
 * vmp_sftp_open() - Begin a connection; nothing is waited for.
 * @take: Gets the pieces of files: in order, a failure as a status.  It says 0 where no more of the file is wanted.
 * Return: 0, -ENOMEM, -errno.
 */
int vmp_sftp_open(struct vmp_sftp **s, const struct vmp_objects *to, uint64_t now_ns,
		  int (*take)(void *arg, const struct vmp_msg_object *o), void *arg);

/** vmp_sftp_fd() - What to poll; @events: for what. */
int vmp_sftp_fd(const struct vmp_sftp *s, short *events);

/** vmp_sftp_ready() - poll() says that there is something. */
void vmp_sftp_ready(struct vmp_sftp *s);

/**
 * vmp_sftp_state() - How it stands.
 * Return: 1 files may be asked for; 0 not yet; -errno it is over.
 */
int vmp_sftp_state(const struct vmp_sftp *s, uint64_t now_ns);

/** vmp_sftp_get() - Ask for a file, or for more of the last one: @ask->offset is not 0.  The last one is given up. */
void vmp_sftp_get(struct vmp_sftp *s, const struct vmp_msg_get_object *ask, const char *path);

/** vmp_sftp_why() - Why it is over, for people. */
const char *vmp_sftp_why(const struct vmp_sftp *s, char *buf, size_t size);

/** vmp_sftp_close() - End it; NULL is fine. */
void vmp_sftp_close(struct vmp_sftp *s);

#endif
