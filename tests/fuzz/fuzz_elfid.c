// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_elfid.c - the build-id of any file that somebody maps, as the agent and the collector read it: in few reads, whatever the file says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf_id.h"

#define READS_MAX	(4 + 2 * VMP_ELF_ENTRIES_MAX)	/* header twice, both tables, one for each entry */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
	const uint8_t *data;
	size_t size;
	unsigned int reads;
};

static ssize_t give(void *arg, void *buf, size_t len, uint64_t offset)
{
	struct bytes *b = arg;
	size_t n;

	if (++b->reads > READS_MAX)
		abort();
	if (offset >= b->size)
		return 0;
	n = b->size - offset < len ? b->size - (size_t)offset : len;
	memcpy(buf, b->data + offset, n);
	return (ssize_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, size, 0 };
	const struct vmp_elf_source src = { give, &b };
	struct vmp_build_id id = { 0 };

	if (!vmp_elf_build_id(&src, &id) && (!id.len || id.len > VMPROF_BUILD_ID_MAX))
		abort();
	return 0;
}
