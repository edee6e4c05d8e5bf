// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_jitdump.c - a guest program's jitdump file as the agent reads it: what comes
 * out are lines that the host takes, whatever room there is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "guest-agent/daemon/jitdump.c"
#include "model/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(char *text, size_t len)
{
	struct vmp_perfmap_counts counts = { .room = UINT32_MAX };
	struct vmp_symtab t = { 0 };

	if (text[len - 1] != '\n' || vmp_perfmap_lines(&t, text, len, &counts) || counts.bad)
		abort();
	vmp_symtab_free(&t);
}

/* All of the file; the bytes that came */
static size_t read_all(int fd, size_t room)
{
	uint64_t offset = 0;
	size_t sum = 0;
	ssize_t n;

	do {
		char *text = malloc(room);

		n = text ? vmp_jitdump_lines(fd, &offset, text, room) : 0;
		if (n > 0) {
			check(text, (size_t)n);
			sum += (size_t)n;
		}
		free(text);
	} while (n > 0 || n == -EAGAIN);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (read_all(fd, VMP_JITDUMP_LINE_MAX) != read_all(fd, 32768))
		abort();
	close(fd);
	return 0;
}
