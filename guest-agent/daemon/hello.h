/* SPDX-License-Identifier: GPL-2.0-only */
/* hello.h - what the agent says of its guest first. */
#ifndef VMP_HELLO_H
#define VMP_HELLO_H

#include <stddef.h>
#include <stdint.h>
#include <vmprof/agent_proto.h>

/* HELLO with its variable part */
struct vmp_hello_msg {
	struct vmprof_hello fixed;
	char release_and_error[VMPROF_RELEASE_MAX + sizeof(__le32)];
};

/**
 * vmp_hello_build() - Fill it in.
 * @module: The module's device, or -errno of why there is none: degraded.
 *
 * Return: bytes of payload.
 */
size_t vmp_hello_build(struct vmp_hello_msg *msg, int module);

/** vmp_hello_parse_uuid() - "xxxxxxxx-xxxx-..." as 16 bytes.  Return: 1, or 0 (it is none). */
int vmp_hello_parse_uuid(const char *text, uint8_t uuid[16]);

#endif
