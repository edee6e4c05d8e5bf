/* SPDX-License-Identifier: GPL-2.0-only */
/* conversation.h - what the three files of the conversation (session.c, requests.c, carry.c) have of each other. */
#ifndef VMP_CONVERSATION_H
#define VMP_CONVERSATION_H

#include "session.h"

/** vmp_session_put() - A message for the host.  Return: 0 or -ENOBUFS. */
int vmp_session_put(struct vmp_session *s, unsigned int type, const void *payload, size_t len);

/** vmp_session_reset() - Stop tracing and forget what was said; what is on its way stays. */
void vmp_session_reset(struct vmp_session *s);

/**
 * vmp_session_hello() - (Re)start the conversation: seq starts at 0 with HELLO.
 * @flags: More of VMPROF_HELLO_*.
 */
void vmp_session_hello(struct vmp_session *s, uint32_t flags);

/** vmp_session_tell_lost() - What was lost since HELLO, if that is more than what was told. */
void vmp_session_tell_lost(struct vmp_session *s);

/** vmp_session_ask_stop_snapshot() - Ask for the last snapshot; while another one is being made, later. */
void vmp_session_ask_stop_snapshot(struct vmp_session *s);

/** vmp_session_put_files() - FILE messages that wait.  Return: 1 all are out. */
int vmp_session_put_files(struct vmp_session *s);

/** vmp_session_carry() - Some of what the guest did.  Return: 1 more at once, 0 nothing left, -ENOBUFS the buffer is full. */
int vmp_session_carry(struct vmp_session *s);

/** vmp_session_drop() - Read on and carry nothing.  Return: how many events were left. */
uint64_t vmp_session_drop(struct vmp_session *s);

#endif
