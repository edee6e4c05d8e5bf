// SPDX-License-Identifier: GPL-2.0-only
/*
 * autofdo.c - branches for what makes profiles for compilers of them, a file for each binary:
 * sections of lines, each after the number of its lines.
 *
 *   START-END:COUNT     code that ran straight on
 *   ADDRESS:COUNT       samples, for AutoFDO alone
 *   FROM->TO:COUNT      branches
 *
 * Addresses are in hex: for AutoFDO how far behind the file's first segment, for llvm-profgen
 * link-time addresses (--use-offset=0).
 */
#include <inttypes.h>

#include "export/binaries.h"
#include "export/format.h"

static int wanted(const struct vmp_way *w, enum vmp_way_kind kind)
{
	return w->kind == kind && w->from != VMP_OUTSIDE && w->to != VMP_OUTSIDE;
}

static void section(FILE *out, const struct vmp_binary *b, uint64_t base, enum vmp_way_kind kind, const char *between)
{
	uint32_t i, n = 0;

	for (i = 0; i < b->ways.nr; i++)
		n += (uint32_t)wanted(&b->ways.v[i], kind);
	fprintf(out, "%" PRIu32 "\n", n);
	for (i = 0; i < b->ways.nr; i++) {
		const struct vmp_way *w = &b->ways.v[i];

		if (!wanted(w, kind))
			continue;
		fprintf(out, "%" PRIx64, w->from - base);
		if (between)
			fprintf(out, "%s%" PRIx64, between, w->to - base);
		fprintf(out, ":%" PRIu64 "\n", w->n);
	}
}

static void print_autofdo(FILE *out, const struct vmp_binary *b)
{
	uint64_t base = vmp_elf_base(b->code);

	section(out, b, base, VMP_WAY_STRAIGHT, "-");
	section(out, b, base, VMP_WAY_SAMPLE, NULL);
	section(out, b, base, VMP_WAY_BRANCH, "->");
}

static void print_profgen(FILE *out, const struct vmp_binary *b)
{
	section(out, b, 0, VMP_WAY_STRAIGHT, "-");
	section(out, b, 0, VMP_WAY_BRANCH, "->");
}

int vmp_write_autofdo(const char *folder, struct vmp_model *m, const struct vmp_choice *c)
{
	return vmp_write_binaries(folder, m, c, "afdo.txt", print_autofdo);
}

int vmp_write_profgen(const char *folder, struct vmp_model *m, const struct vmp_choice *c)
{
	return vmp_write_binaries(folder, m, c, "profgen.txt", print_profgen);
}
