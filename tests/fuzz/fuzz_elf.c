// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_elf.c - an ELF file from a guest: segments, symbols, stubs, lookups. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"
#include "model/elfsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct vmp_symbol *s;
	struct vmp_elf *e;
	uint64_t at, vaddr;
	char buf[256];

	if (vmp_elf_open_memory(&e, data, size))
		return 0;
	for (at = 0; at < size + 4096; at += 16) {
		if (vmp_elf_vaddr(e, at, &vaddr))
			continue;
		s = vmp_elf_symbol(e, vaddr);
		/* never a name outside of its bounds */
		if (s && (vaddr < s->start || vaddr >= s->end || !strlen(s->name)))
			abort();
		if (s)
			vmp_demangle(buf, sizeof(buf), s->name);
	}
	vmp_elf_close(e);
	return 0;
}
