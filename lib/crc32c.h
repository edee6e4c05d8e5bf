/* SPDX-License-Identifier: GPL-2.0-only */
/* crc32c.h - CRC-32C (Castagnoli, RFC 3720 appendix B.4), the checksum of frames and capture blocks. */
#ifndef VMP_CRC32C_H
#define VMP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/**
 * vmp_crc32c() - Checksum of a byte string, in pieces if need be.
 * @crc:  0 for the first piece, else the result for the pieces before.
 * @data: Bytes; may be NULL when @len is 0.
 * @len:  Their number.
 *
 * Return: the CRC of all pieces so far; "123456789" gives 0xe3069283.
 */
uint32_t vmp_crc32c(uint32_t crc, const void *data, size_t len);

#endif
