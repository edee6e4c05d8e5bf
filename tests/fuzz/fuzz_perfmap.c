// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_perfmap.c - JIT maps from a guest: what is found must be what the last line over an address says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The last of the lines that hold @addr, or NULL */
static const char *told(const struct vmp_symtab *lines, uint64_t addr)
{
	uint32_t i;

	for (i = lines->sym.nr; i--; )
		if (addr >= lines->sym.v[i].start && addr < lines->sym.v[i].end)
			return lines->sym.v[i].name;
	return NULL;
}

static void check(const struct vmp_symtab *t, const struct vmp_symtab *lines, uint64_t addr)
{
	const struct vmp_symbol *sym = vmp_symtab_find(t, addr);

	if ((sym ? sym->name : NULL) != told(lines, addr))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vmp_perfmap_counts counts = { .room = 300 }, again = counts;
	struct vmp_symtab t = { 0 }, lines = { 0 };
	char *text = malloc(size + 1);
	uint32_t i;

	if (!text)
		abort();
	memcpy(text, data, size);
	if (vmp_perfmap_lines(&t, text, size, &counts))
		abort();
	memcpy(text, data, size);		/* line ends have become NULs */
	if (vmp_perfmap_lines(&lines, text, size, &again) || again.bad != counts.bad)
		abort();
	if (vmp_perfmap_sort(&t))
		abort();
	for (i = 0; i < t.sym.nr; i++)
		if (t.sym.v[i].start >= t.sym.v[i].end || (i && t.sym.v[i - 1].end > t.sym.v[i].start))
			abort();
	for (i = 0; i < lines.sym.nr; i++) {
		check(&t, &lines, lines.sym.v[i].start);
		check(&t, &lines, lines.sym.v[i].start - 1);
		check(&t, &lines, lines.sym.v[i].end);
		check(&t, &lines, lines.sym.v[i].end - 1);
	}
	vmp_symtab_free(&t);
	vmp_symtab_free(&lines);
	free(text);
	return 0;
}
