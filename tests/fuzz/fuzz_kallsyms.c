// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_kallsyms.c - kernel symbol text from a guest, and host text blocks' demangling of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"
#include "model/ksyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1), buf[256];
	struct vmp_symtab t = { 0 };
	struct vmp_strings strings;
	uint32_t i;

	if (!text || vmp_strings_init(&strings))
		abort();
	memcpy(text, data, size);
	if (vmp_ksyms_parse(&t, text, size, &strings))
		abort();
	for (i = 0; i < t.sym.nr; i++) {
		const struct vmp_symbol *s = &t.sym.v[i];

		if (s->start >= s->end)
			abort();
		/* the symbol is found where it begins */
		if (vmp_symtab_find(&t, s->start) != s)
			abort();
		vmp_demangle(buf, sizeof(buf), s->name);
		vmp_strings_get(&strings, s->module);
	}
	vmp_symtab_free(&t);
	vmp_strings_deinit(&strings);
	free(text);
	return 0;
}
