/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * words.h - records, packed as what differs from the record before.
 *
 * Most words of a sample are those of the sample before, or near to them. Telling the others by
 * their distance takes a tenth of what a compressor takes that knows nothing of records, and the
 * collector runs on the host that is measured. Layout: VMPROF_CAP_WORDS of vmprof/capture.h.
 */
#ifndef VMP_CAPTURE_WORDS_H
#define VMP_CAPTURE_WORDS_H

#include <stddef.h>

/** vmp_words_bound() - Bytes that packing @len bytes can take. */
size_t vmp_words_bound(size_t len);

/**
 * vmp_words_pack() - Pack whole records.
 * @to: Room for vmp_words_bound(@len).
 * Return: bytes; 0: these are no whole records.
 */
size_t vmp_words_pack(void *to, const void *data, size_t len);

/**
 * vmp_words_unpack() - Unpack; no byte of @packed is trusted.
 * @len: That come out, exactly.
 * Return: 0, or -EBADMSG.
 */
int vmp_words_unpack(void *to, size_t len, const void *packed, size_t packed_len);

#endif
