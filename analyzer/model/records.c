// SPDX-License-Identifier: GPL-2.0-only
/* records.c - records come from checked blocks, but a capture may come from anywhere: sizes are looked at. */
#include "model/records.h"

#include <stdint.h>
#include <string.h>

int vmp_records_walk(const void *data, size_t len,
		     int (*sample)(void *arg, const struct vmprof_sample *s),
		     int (*other)(void *arg, const struct vmprof_record *rec), void *arg)
{
	const uint8_t *p = data, *end = p + len;
	struct vmprof_sample s;
	int err = 0;

	while (!err && (size_t)(end - p) >= sizeof(struct vmprof_record)) {
		struct vmprof_record rec;

		memcpy(&rec, p, sizeof(rec));
		if (rec.size < sizeof(rec) || rec.size % 8 || rec.size > end - p)
			break;
		if (vmp_record_is_sample(&rec) && rec.size >= sizeof(s)) {
			if (sample) {
				memcpy(&s, p, sizeof(s));
				err = sample(arg, &s);
			}
		} else if (other && rec.type != VMPROF_REC_PAD) {
			err = other(arg, (const struct vmprof_record *)p);
		}
		p += rec.size;
	}
	return err;
}

size_t vmp_records_plain(const void *data, size_t len)
{
	const struct vmprof_sample *s = data;
	size_t n = len / sizeof(*s), i;

	if (len % sizeof(*s))
		return 0;
	for (i = 0; i < n; i++)
		if (!vmp_record_is_sample(&s[i].hdr) || s[i].hdr.size != sizeof(*s))
			return 0;
	return n;
}
