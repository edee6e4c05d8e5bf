// SPDX-License-Identifier: GPL-2.0-only
/*
 * bolt.c - branches in the pre-aggregated text of BOLT, a file for each binary:
 *
 *   B FROM TO COUNT MISPREDICTED     a branch
 *   F START END COUNT                code that ran straight on
 *   f START END COUNT                the same, entered from another binary
 *
 * Addresses are link-time addresses, in hex; X:0 is any place in another binary.
 */
#include <inttypes.h>

#include "export/binaries.h"
#include "export/format.h"

static void address(FILE *out, uint64_t addr)
{
	if (addr == VMP_OUTSIDE)
		fputs(" X:0", out);
	else
		fprintf(out, " %" PRIx64, addr);
}

static void put(FILE *out, char type, const struct vmp_way *w, uint64_t n)
{
	if (!n)
		return;
	fputc(type, out);
	address(out, w->from);
	address(out, w->to);
	fprintf(out, " %" PRIu64, n);
	if (type == 'B')
		fprintf(out, " %" PRIu64, w->mispredicted);
	fputc('\n', out);
}

static void print(FILE *out, const struct vmp_binary *b)
{
	const struct vmp_way *w = b->ways.v, *end = w + b->ways.nr, *straight;

	for (; w < end && w->kind == VMP_WAY_BRANCH; w++)
		put(out, 'B', w, w->n);
	for (straight = w; w < end && w->kind == VMP_WAY_STRAIGHT; w++)
		put(out, 'F', w, w->n - w->entered);
	for (w = straight; w < end && w->kind == VMP_WAY_STRAIGHT; w++)
		put(out, 'f', w, w->entered);
}

int vmp_write_bolt(const char *folder, struct vmp_model *m, const struct vmp_choice *c)
{
	return vmp_write_binaries(folder, m, c, "preagg", print);
}
