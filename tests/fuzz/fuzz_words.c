// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_words.c - records packed as distances: what unpacks is packed again, and unpacks to the same.
 * The first byte is how many words come out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *raw, *again, *packed;
	size_t len, n;

	if (!size)
		return 0;
	len = 8U * *data;
	raw = malloc(len);
	again = malloc(len);
	packed = malloc(vmp_words_bound(len));
	if (len && (!raw || !again || !packed))
		abort();
	if (!vmp_words_unpack(raw, len, data + 1, size - 1) && len) {
		n = vmp_words_pack(packed, raw, len);
		if (!n || n > vmp_words_bound(len) || vmp_words_unpack(again, len, packed, n) ||
		    memcmp(raw, again, len))
			abort();
	}
	free(raw);
	free(again);
	free(packed);
	return 0;
}
