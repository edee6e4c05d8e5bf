// SPDX-License-Identifier: GPL-2.0-only
/* block.c - byte order and checksums of capture headers; layout: include/vmprof/capture.h. */
#include "capture/block.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "crc32c.h"

void vmp_header_seal(struct vmprof_cap_header *h)
{
	h->magic = htole64(VMPROF_CAP_MAGIC);
	h->version = htole32(VMPROF_CAP_VERSION);
	h->compat = htole32(VMPROF_CAP_COMPAT);
	h->realtime_ns = htole64(h->realtime_ns);
	h->tsc = htole64(h->tsc);
	h->tsc_khz = htole32(h->tsc_khz);
	h->header_bytes = htole32(sizeof(*h));
	h->reserved = 0;
	h->crc = 0;
	h->crc = htole32(vmp_crc32c(0, h, sizeof(*h)));
}

int vmp_header_check(struct vmprof_cap_header *h)
{
	uint32_t crc = le32toh(h->crc);

	if (le64toh(h->magic) != VMPROF_CAP_MAGIC)
		return -EBADMSG;
	h->crc = 0;
	if (vmp_crc32c(0, h, sizeof(*h)) != crc)
		return -EBADMSG;
	h->crc = crc;
	h->magic = le64toh(h->magic);
	h->version = le32toh(h->version);
	h->compat = le32toh(h->compat);
	h->realtime_ns = le64toh(h->realtime_ns);
	h->tsc = le64toh(h->tsc);
	h->tsc_khz = le32toh(h->tsc_khz);
	h->header_bytes = le32toh(h->header_bytes);
	if (h->compat > VMPROF_CAP_VERSION)
		return -EPROTONOSUPPORT;
	if (h->header_bytes < sizeof(*h) || h->header_bytes % 8)
		return -EBADMSG;
	return 0;
}

void vmp_block_seal(struct vmprof_cap_block *b)
{
	b->magic = htole32(VMPROF_CAP_BLOCK_MAGIC);
	b->type = htole16(b->type);
	b->flags = htole16(b->flags);
	b->source = htole32(b->source);
	b->raw_bytes = htole32(b->raw_bytes);
	b->stored_bytes = htole32(b->stored_bytes);
	b->payload_crc = htole32(b->payload_crc);
	b->tsc_first = htole64(b->tsc_first);
	b->tsc_last = htole64(b->tsc_last);
	b->reserved = 0;
	b->crc = 0;
	b->crc = htole32(vmp_crc32c(0, b, sizeof(*b)));
}

int vmp_block_check(struct vmprof_cap_block *b)
{
	uint32_t crc = le32toh(b->crc);

	if (le32toh(b->magic) != VMPROF_CAP_BLOCK_MAGIC)
		return -EBADMSG;
	b->crc = 0;
	if (vmp_crc32c(0, b, sizeof(*b)) != crc)
		return -EBADMSG;
	b->crc = crc;
	b->magic = le32toh(b->magic);
	b->type = le16toh(b->type);
	b->flags = le16toh(b->flags);
	b->source = le32toh(b->source);
	b->raw_bytes = le32toh(b->raw_bytes);
	b->stored_bytes = le32toh(b->stored_bytes);
	b->payload_crc = le32toh(b->payload_crc);
	b->tsc_first = le64toh(b->tsc_first);
	b->tsc_last = le64toh(b->tsc_last);
	if (b->raw_bytes > VMPROF_CAP_RAW_MAX || b->stored_bytes > VMPROF_CAP_RAW_MAX)
		return -EBADMSG;
	if (!(b->flags & (VMPROF_CAP_ZSTD | VMPROF_CAP_WORDS)) && b->raw_bytes != b->stored_bytes)
		return -EBADMSG;
	return 0;
}
