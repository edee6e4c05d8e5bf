// SPDX-License-Identifier: GPL-2.0-only
/* fuzz_import.c - profiles of others: .cubex archives and XML, packed or not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/cubex.h"
#include "import/xmlin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void cubex(int fd, struct vmp_xml *x)
{
	struct vmp_cube c;

	if (vmp_cube_open(&c, fd))
		return;
	vmp_cube_write(&c, x);
	vmp_cube_close(&c);
}

static void xml(int fd, size_t size, struct vmp_xml *x)
{
	struct vmp_source *s;

	if (vmp_source_open(&s, fd, 0, size))
		return;
	/* what is taken must be whole: the writer is back where it began */
	if (!vmp_xmlin_copy(s, x) && x->depth)
		abort();
	vmp_source_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	FILE *out = fopen("/dev/null", "w");
	struct vmp_xml x;

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	vmp_xml_init(&x, out, 1);
	if (vmp_tar_is(fd))
		cubex(fd, &x);
	else
		xml(fd, size, &x);
	fclose(out);
	close(fd);
	return 0;
}
