// SPDX-License-Identifier: GPL-2.0-only
/* crc32c.c - CRC-32C: by the CPU's instruction where it has one, else four bits at a time. */
#include "crc32c.h"

#include <string.h>

static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t len)
{
	/* remainders of the 16 values of four bits, reflected 0x1edc6f41 */
	static const uint32_t nibble[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	for (; len; len--, p++) {
		crc ^= *p;
		crc = (crc >> 4) ^ nibble[crc & 15];
		crc = (crc >> 4) ^ nibble[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2")))
static uint32_t crc_sse42(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t c = crc, v;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&v, p, 8);
		c = __builtin_ia32_crc32di(c, v);
	}
	for (; len; len--, p++)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p);
	return (uint32_t)c;
}

static int have_sse42(void)
{
	return __builtin_cpu_supports("sse4.2");
}
#else
#define crc_sse42 crc_table
static int have_sse42(void)
{
	return 0;
}
#endif

uint32_t vmp_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (have_sse42())
		return ~crc_sse42(~crc, data, len);
	return ~crc_table(~crc, data, len);
}
