/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * binaries.h - what is known of the branches of each binary of a guest, for formats with a
 * file for each, MODULE-BUILDID.SUFFIX in a folder.
 *
 * Addresses are link-time addresses.  Counts are those of the records, as tools take them from
 * perf, of all guests that have the binary.  What fits neither mappings nor code, or is of a binary that is not here, is
 * left out, which is told on standard error.
 */
#ifndef VMP_BINARIES_H
#define VMP_BINARIES_H

#include <stdio.h>

#include "export/table.h"
#include "model/elfsyms.h"

#define VMP_OUTSIDE	UINT64_MAX	/* an address in another binary */

enum vmp_way_kind {
	VMP_WAY_BRANCH,
	VMP_WAY_STRAIGHT,	/* code that ran from an address to the branch that ended it */
	VMP_WAY_SAMPLE,		/* a sample at an address, both are the same */
};

struct vmp_way {
	enum vmp_way_kind kind;
	uint64_t from, to;
	uint64_t n;
	uint64_t mispredicted;	/* branches */
	uint64_t entered;	/* straight code: as often it was entered from another binary */
};

struct vmp_binary {
	const struct vmp_elf *code;
	VMP_VEC(struct vmp_way) ways;	/* in order of kind and addresses, each once */
};

/**
 * vmp_write_binaries() - A file for each binary that is here.
 * @print: Writes one.
 * Return: as write_folder of struct vmp_format.
 */
int vmp_write_binaries(const char *folder, struct vmp_model *m, const struct vmp_choice *c, const char *suffix,
		       void (*print)(FILE *out, const struct vmp_binary *b));

#endif
