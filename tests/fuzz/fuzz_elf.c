// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_elf.c - an ELF file from a guest: segments, symbols, stubs, debugging information, lookups. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"
#include "model/dwarf.h"
#include "model/elfsyms.h"
#include "model/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* That much may be unpacked here: a fuzzer has no time for more. */
#define ROOM	(1U << 20)

/* No string is longer than what the file can hold, be it packed. */
static const size_t size_limit = 1U << 30;

/* Whatever it says, it says it about strings that can be read. */
static void ask_dwarf(struct vmp_elf *e, uint64_t vaddr)
{
	struct vmp_frame frames[VMP_FRAMES_MAX];
	struct vmp_dwarf *d;
	uint64_t bias;
	int i, n;

	d = vmp_elf_dwarf(e, &bias);
	n = d ? vmp_dwarf_frames(d, vaddr - bias, frames) : 0;
	if (n > VMP_FRAMES_MAX)
		abort();
	for (i = 0; i < n; i++)
		if ((frames[i].name && strlen(frames[i].name) > size_limit) ||
		    (frames[i].file && strlen(frames[i].file) > 2 * size_limit))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vmp_unpack u = { .held = VMP_UNPACK_ALL - ROOM };
	const struct vmp_symbol *s;
	struct vmp_elf *e;
	uint64_t at, vaddr;
	char buf[256];

	if (vmp_elf_open_memory(&e, data, size, &u))
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
		if (s)
			ask_dwarf(e, vaddr);
	}
	if (u.held > VMP_UNPACK_ALL + 4096)
		abort();
	vmp_elf_close(e);
	if (u.held != VMP_UNPACK_ALL - ROOM)
		abort();
	return 0;
}
