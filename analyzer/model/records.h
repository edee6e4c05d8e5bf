/* SPDX-License-Identifier: GPL-2.0-only */
/* records.h - walk the driver's records in a RECORDS block; broken sizes end it. */
#ifndef VMP_RECORDS_H
#define VMP_RECORDS_H

#include <stddef.h>
#include <vmprof/uapi.h>

/** vmp_record_is_sample() - Is it a struct vmprof_sample, of either event? */
static inline int vmp_record_is_sample(const struct vmprof_record *rec)
{
	return rec->type == VMPROF_REC_SAMPLE || rec->type == VMPROF_REC_INSTRUCTIONS;
}

/**
 * vmp_records_walk() - Each record in turn.
 * @data:   @len bytes, 8-aligned.
 * @sample: For samples of either event, see hdr.type; NULL not wanted.
 * @other:  For all others but pads; NULL not wanted.
 * Return: 0, or the first non-zero result.
 */
int vmp_records_walk(const void *data, size_t len,
		     int (*sample)(void *arg, const struct vmprof_sample *s),
		     int (*other)(void *arg, const struct vmprof_record *rec), void *arg);

/**
 * vmp_records_plain() - Is the block an array of struct vmprof_sample?
 * Return: how many, 0 when there is anything else in it.
 */
size_t vmp_records_plain(const void *data, size_t len);

#endif
