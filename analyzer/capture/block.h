/* SPDX-License-Identifier: GPL-2.0-only */
/* block.h - headers of a capture file and of its blocks in host order: seal for writing, check on reading. */
#ifndef VMP_CAPTURE_BLOCK_H
#define VMP_CAPTURE_BLOCK_H

#include <stdint.h>
#include <vmprof/capture.h>

/** vmp_padded() - Bytes that a payload of @stored bytes takes in the file. */
static inline uint64_t vmp_padded(uint64_t stored)
{
	return (stored + 7) & ~7ULL;
}

/** vmp_header_seal() - Fill magic, versions, size and checksum; turn to file order. */
void vmp_header_seal(struct vmprof_cap_header *h);

/**
 * vmp_header_check() - Check a file's header and turn it to host order.
 * Return: 0, -EBADMSG (no capture, or damaged), -EPROTONOSUPPORT (needs a newer reader).
 */
int vmp_header_check(struct vmprof_cap_header *h);

/** vmp_block_seal() - Fill magic and checksum of a block's header; turn to file order. */
void vmp_block_seal(struct vmprof_cap_block *b);

/**
 * vmp_block_check() - Check a block's header and turn it to host order.
 * The payload and its checksum are the caller's to look at.
 * Return: 0, or -EBADMSG.
 */
int vmp_block_check(struct vmprof_cap_block *b);

#endif
