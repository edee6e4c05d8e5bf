// SPDX-License-Identifier: GPL-2.0-only
/* vdso.c - the kernel's vdso as it lies in our own memory: its extent from /proc/self/maps. */
#include "vdso.h"

#include <stdio.h>
#include <string.h>

struct extent {
	const uint8_t *begin;
	size_t bytes;
};

static struct extent find_vdso(void)
{
	unsigned long start, end;
	struct extent e = { NULL, 0 };
	char line[512];
	FILE *maps;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return e;
	while (!e.bytes && fgets(line, sizeof(line), maps)) {
		if (strstr(line, " [vdso]\n") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			e = (struct extent){ (const uint8_t *)start, end - start };
	}
	fclose(maps);
	return e;
}

static const struct extent *vdso(void)
{
	static struct extent e;

	if (!e.bytes)
		e = find_vdso();
	return &e;
}

size_t vmp_vdso_bytes(void)
{
	return vdso()->bytes;
}

static ssize_t vdso_read(void *arg, void *buf, size_t len, uint64_t offset)
{
	const struct extent *e = arg;

	if (offset >= e->bytes)
		return 0;
	if (len > e->bytes - offset)
		len = e->bytes - offset;
	memcpy(buf, e->begin + offset, len);
	return (ssize_t)len;
}

struct vmp_elf_source vmp_vdso_source(void)
{
	return (struct vmp_elf_source){ vdso_read, (void *)vdso() };
}
