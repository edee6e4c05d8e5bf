// SPDX-License-Identifier: GPL-2.0-only
/*
 * folded.c - a stack and its number of samples a line, as flamegraph.pl reads it:
 * domain;process;module;function SAMPLES
 */
#include <inttypes.h>

#include "export/format.h"
#include "export/stacks.h"

/* ';' ends a frame */
static void frame(FILE *out, const char *s)
{
	vmp_format_word(out, s, ';', ':');
}

int vmp_write_folded(FILE *out, struct vmp_table *t, struct vmp_format_options *o)
{
	struct vmp_stacks stacks = { 0 };
	int err = vmp_stacks_create(&stacks, t);
	uint32_t i;

	(void)o;
	for (i = 0; !err && i < stacks.v.nr; i++) {
		const struct vmp_stack *s = &stacks.v.v[i];

		frame(out, vmp_table_domain_name(t, t->tasks.v[s->task].domain));
		fputc(';', out);
		frame(out, vmp_table_comm(t, &t->lines.v[s->line]));
		fputc(';', out);
		frame(out, vmp_table_str(t, t->sites.v[s->site].module));
		fputc(';', out);
		frame(out, vmp_table_str(t, t->sites.v[s->site].function));
		fprintf(out, " %" PRIu64 "\n", s->samples);
	}
	vmp_stacks_free(&stacks);
	return err;
}
