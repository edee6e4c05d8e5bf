/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * items.h - an input as a list of things that a guest does, and a capture in memory.
 *
 * An item is kind u8, length u16, payload; the last one's length may be too large.
 */
#ifndef VMP_FUZZ_ITEMS_H
#define VMP_FUZZ_ITEMS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/block.h"
#include "crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct item {
	unsigned int kind;
	const uint8_t *p;
	size_t len;
};

/* Return: 1 @item is set, 0 there are no more */
static inline int next_item(const uint8_t **data, size_t *left, struct item *item)
{
	if (*left < 3)
		return 0;
	item->kind = **data;
	item->len = (*data)[1] | (size_t)(*data)[2] << 8;
	item->p = *data + 3;
	if (item->len > *left - 3)
		item->len = *left - 3;
	*data += 3 + item->len;
	*left -= 3 + item->len;
	return 1;
}

/* The first bytes of an item as a number, little end first */
static inline uint64_t item_number(const struct item *item, size_t at, size_t bytes)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < bytes && at + i < item->len; i++)
		v |= (uint64_t)item->p[at + i] << 8 * i;
	return v;
}

static inline void put(int fd, const void *data, size_t len)
{
	if (write(fd, data, len) != (ssize_t)len)
		abort();
}

static inline void put_header(int fd)
{
	struct vmprof_cap_header h = { .tsc = 1000, .tsc_khz = 1000000 };

	vmp_header_seal(&h);
	put(fd, &h, sizeof(h));
}

static inline void put_block(int fd, unsigned int type, unsigned int source, const void *data, size_t len)
{
	struct vmprof_cap_block b = { .type = (uint8_t)type, .source = source };
	static const uint8_t zeros[8];

	b.raw_bytes = b.stored_bytes = (uint32_t)len;
	b.payload_crc = vmp_crc32c(0, data, len);
	vmp_block_seal(&b);
	put(fd, &b, sizeof(b));
	put(fd, data, len);
	put(fd, zeros, vmp_padded(len) - len);
}

#define PATH_BYTES	32

/* An empty capture in memory, and its path; there is no cache of objects beside it */
static inline int new_capture(char path[PATH_BYTES])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	setenv("VMPROF_OBJCACHE", "/nonexistent", 1);
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
