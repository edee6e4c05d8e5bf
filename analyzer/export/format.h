/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * format.h - the formats that a table is exported in: one table, one file each.
 *
 * A writer escapes every string that may come from a guest as its format
 * wants it, writes as it goes, and keeps nothing that grows with the samples.
 * Errors of the stream are found when it is closed.
 */
#ifndef VMP_FORMAT_H
#define VMP_FORMAT_H

#include <stdio.h>

#include "export/stream.h"
#include "export/table.h"

struct vmp_format_options {
	int indent;		/* for people (XML) */
	int brstack;		/* mappings, addresses and branches alone (perf-script) */
	struct vmp_stream_losses losses;	/* out */
	uint64_t streamed;	/* out: samples that were written as they came */
};

enum vmp_format_flags {
	VMP_FORMAT_GZIP = 1,		/* packed by definition */
	VMP_FORMAT_XML = 2,		/* can be indented */
	VMP_FORMAT_OFFSETS = 4,		/* shows addresses, if asked to: vmp_choice.addresses */
	VMP_FORMAT_ADDRESSES = 8,	/* needs them */
	VMP_FORMAT_FOLDER = 16,		/* files in a folder, by write_folder */
	VMP_FORMAT_THREADS = 32,	/* shows the guest's threads */
	VMP_FORMAT_SAMPLES = 64,	/* holds single samples: vmp_choice.samples */
	VMP_FORMAT_STREAM = 128,	/* holds them as they come: vmp_choice.streamed */
	VMP_FORMAT_CONTAINERS = 256,	/* shows where processes are: vmp_choice.containers */
};

struct vmp_format {
	const char *name;
	const char *about;	/* which tools open it */
	unsigned int flags;	/* enum vmp_format_flags */
	/* Return: 0, -ENODATA (nothing to write, told), -ENOMEM, -errno of reading the capture or of a temporary file */
	int (*write)(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
	/* Return: 0, -ENOENT (nothing to write, told), -ENOMEM, -errno of reading or writing */
	int (*write_folder)(const char *folder, struct vmp_model *m, const struct vmp_choice *c);
};

/** vmp_format_find() - By name, or NULL. */
const struct vmp_format *vmp_format_find(const char *name);

/** vmp_format_at() - The @i-th, NULL behind the last. */
const struct vmp_format *vmp_format_at(unsigned int i);

/**
 * vmp_format_word() - A foreign string as a word of a line of text.
 * @bad, @instead: One more character that must not be in it, and its stand-in.
 */
void vmp_format_word(FILE *out, const char *s, char bad, char instead);

int vmp_write_pprof(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_folded(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_speedscope(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_gecko(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_chrome(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_perf_script(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_bolt(const char *folder, struct vmp_model *m, const struct vmp_choice *c);
int vmp_write_autofdo(const char *folder, struct vmp_model *m, const struct vmp_choice *c);
int vmp_write_profgen(const char *folder, struct vmp_model *m, const struct vmp_choice *c);
int vmp_write_csv(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_json(FILE *out, struct vmp_table *t, struct vmp_format_options *o);
int vmp_write_xml(FILE *out, struct vmp_table *t, struct vmp_format_options *o);

#endif
