// SPDX-License-Identifier: GPL-2.0-only
/* words.c - see words.h. */
#include "capture/words.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <vmprof/uapi.h>

#define WORD		sizeof(uint64_t)
#define KINDS		8	/* records are kept apart by their type modulo this */
#define NEW_HEADER	0xff
#define MASK_BYTES(n)	(((n) + 6) / 8)		/* a bit for each word but the header */

/* The last record of each kind, as it is unpacked */
struct last {
	const uint8_t *of[KINDS];
};

static const uint8_t nothing[UINT16_MAX];

static uint64_t word_at(const uint8_t *p, size_t i)
{
	uint64_t v;

	memcpy(&v, p + i * WORD, sizeof(v));
	return v;
}

size_t vmp_words_bound(size_t len)
{
	return 2 * len;
}

/* ------------------------------------------------------------- to pack */

/* Distances are small on both sides of zero: the sign goes into the lowest bit. */
static uint8_t *put_distance(uint8_t *out, uint64_t d)
{
	d = d << 1 ^ -(d >> 63);
	for (; d >= 0x80; d >>= 7)
		*out++ = (uint8_t)(d | 0x80);
	*out++ = (uint8_t)d;
	return out;
}

/* Eight words, or fewer at the end, and the bits of those that differ. */
static inline uint8_t *put_words(uint8_t *out, uint8_t *mask, const uint8_t *rec, const uint8_t *before, size_t words)
{
	unsigned int bits = 0;
	size_t i;

	/* most are the same: three instructions each, if this is unrolled */
#pragma GCC unroll 8
	for (i = 0; i < 8; i++) {
		uint64_t d;

		if (i >= words)
			break;
		d = word_at(rec, i) - word_at(before, i);
		if (d) {
			bits |= 1U << i;
			out = put_distance(out, d);
		}
	}
	*mask = (uint8_t)bits;
	return out;
}

static uint8_t *put_record(uint8_t *out, const uint8_t *rec, unsigned int kind, size_t words,
			   struct last *last)
{
	const uint8_t *before = last->of[kind];
	uint8_t *mask;
	size_t i;

	if (before && word_at(before, 0) == word_at(rec, 0)) {
		*out++ = (uint8_t)kind;
	} else {
		*out++ = NEW_HEADER;
		memcpy(out, rec, WORD);
		out += WORD;
		before = nothing;
	}
	last->of[kind] = rec;
	mask = out;
	out += MASK_BYTES(words);
	for (i = 1; i + 8 <= words; i += 8)
		out = put_words(out, mask++, rec + i * WORD, before + i * WORD, 8);
	if (i < words)
		out = put_words(out, mask, rec + i * WORD, before + i * WORD, words - i);
	return out;
}

size_t vmp_words_pack(void *to, const void *data, size_t len)
{
	const uint8_t *p = data, *end = p + len;
	struct last last = { 0 };
	struct vmprof_record rec;
	uint8_t *out = to;

	for (; (size_t)(end - p) >= sizeof(rec); p += rec.size) {
		memcpy(&rec, p, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size % WORD || rec.size > end - p)
			return 0;
		out = put_record(out, p, rec.type % KINDS, rec.size / WORD, &last);
	}
	return p == end ? (size_t)(out - (uint8_t *)to) : 0;
}

/* ----------------------------------------------------------- to unpack */

/* What is left of the packed bytes */
struct bytes {
	const uint8_t *p, *end;
};

/* Seven bits of each byte, side by side; those behind the one whose eighth bit is clear do not count. */
static uint64_t seven_each(uint64_t v, uint64_t end)
{
	v &= end ^ (end - 1);
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
}

static int take_distance(struct bytes *in, uint64_t *d)
{
	uint64_t v = 0, end;
	unsigned int shift;

	if (in->end - in->p >= (ptrdiff_t)WORD) {
		v = le64toh(word_at(in->p, 0));
		end = ~v & 0x8080808080808080;
		if (end) {
			v = seven_each(v, end);
			in->p += __builtin_ctzll(end) / 8 + 1;
			*d = v >> 1 ^ -(v & 1);
			return 0;
		}
		v = 0;
	}
	for (shift = 0; shift < 64 && in->p < in->end; shift += 7) {
		uint8_t byte = *in->p++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*d = v >> 1 ^ -(v & 1);
			return 0;
		}
	}
	return -EBADMSG;
}

/* The record's header.  Return: the record that it is told by, NULL where there is none. */
static const uint8_t *take_header(struct bytes *in, uint8_t *rec, const struct last *last)
{
	uint8_t kind = *in->p++;

	if (kind < KINDS && last->of[kind]) {
		memcpy(rec, last->of[kind], WORD);
		return last->of[kind];
	}
	if (kind != NEW_HEADER || in->end - in->p < (ptrdiff_t)WORD)
		return NULL;
	memcpy(rec, in->p, WORD);
	in->p += WORD;
	return nothing;
}

static int take_words(struct bytes *in, uint8_t *rec, size_t words, const uint8_t *before)
{
	const uint8_t *mask = in->p;
	unsigned int bits;
	uint64_t v, d;
	size_t first;

	if ((size_t)(in->end - in->p) < MASK_BYTES(words))
		return -EBADMSG;
	in->p += MASK_BYTES(words);
	memcpy(rec + WORD, before + WORD, (words - 1) * WORD);
	for (first = 1; first < words; first += 8) {
		for (bits = *mask++; bits; bits &= bits - 1) {
			size_t i = first + (unsigned int)__builtin_ctz(bits);

			if (i >= words || take_distance(in, &d))
				return -EBADMSG;
			v = word_at(rec, i) + d;
			memcpy(rec + i * WORD, &v, sizeof(v));
		}
	}
	return 0;
}

int vmp_words_unpack(void *to, size_t len, const void *packed, size_t packed_len)
{
	struct bytes in = { .p = packed, .end = (const uint8_t *)packed + packed_len };
	uint8_t *p = to, *end = p + len;
	struct last last = { 0 };
	struct vmprof_record rec;
	const uint8_t *before;

	for (; in.p < in.end; p += rec.size) {
		if ((size_t)(end - p) < sizeof(rec))
			return -EBADMSG;
		before = take_header(&in, p, &last);
		if (!before)
			return -EBADMSG;
		memcpy(&rec, p, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size % WORD || rec.size > end - p ||
		    take_words(&in, p, rec.size / WORD, before))
			return -EBADMSG;
		last.of[rec.type % KINDS] = p;
	}
	return p == end ? 0 : -EBADMSG;
}
