// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls.c - nonsense for the guest module's device: COUNT calls, the same for the same SEED.
 *
 *	ioctls COUNT SEED
 *
 * Prints how many calls succeeded; that the kernel still runs is for others to see.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest_uapi.h"

#define DEVICE	"/dev/" VMPG_DEVICE_NAME

static uint64_t state;
static char buffer[1 << 17];

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Numbers of the device's own and others near them; those that do much work are rare. */
static unsigned long request(void)
{
	static const unsigned long quick[] = { VMPG_IOC_QUERY, VMPG_IOC_LOST, VMPG_IOC_SYMBOL };
	static const unsigned long slow[] = { VMPG_IOC_START, VMPG_IOC_STOP, VMPG_IOC_SNAPSHOT };
	uint64_t r = any();

	if (r % 4096 == 0)
		return slow[(r >> 12) % 3];
	if (r % 4 == 0)
		return quick[(r >> 12) % 3];
	if (r % 4 == 1)
		return quick[(r >> 12) % 3] ^ (0x10000UL << (r >> 20) % 14);	/* another size, direction */
	r = any();
	return (_IOC_NR(r) & ~7UL) == 0x40 && _IOC_TYPE(r) == 'V' ? 0 : r;
}

/* Ours, nobody's, the kernel's, the edge of a mapping */
static unsigned long argument(const char *edge)
{
	uint64_t r = any();

	switch (r % 6) {
	case 0:
		return 0;
	case 1:
		return (unsigned long)edge - (r >> 8) % 16;
	case 2:
		return 0xffff888000000000UL | r >> 20;
	case 3:
		return r;
	default:
		return (unsigned long)buffer + (r >> 8) % 4096;
	}
}

static int call(int fd, const char *edge)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t r = any();

	if (r % 64 == 0)
		return read(fd, (void *)argument(edge), (r >> 8) % (r % 128 ? sizeof(buffer) : SIZE_MAX)) < 0 ? -1 : 0;
	if (r % 64 == 1)
		return poll(&p, 1, 0);
	return ioctl(fd, request(), argument(edge));
}

int main(int argc, char **argv)
{
	unsigned long count, i, good = 0;
	const char *edge;
	int fd = -1;

	if (argc != 3)
		return 2;
	count = strtoul(argv[1], NULL, 10);
	state = strtoul(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ULL + 1;
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (edge == MAP_FAILED || munmap((char *)edge + 4096, 4096))
		return 1;
	edge += 4096;
	for (i = 0; i < count; i++) {
		if (fd < 0 || any() % 20000 == 0) {
			if (fd >= 0)
				close(fd);
			fd = open(DEVICE, O_RDWR | O_NONBLOCK);
			if (fd < 0) {
				perror(DEVICE);
				return 1;
			}
		}
		good += call(fd, edge) >= 0;
	}
	printf("%lu calls, %lu of them succeeded\n", count, good);
	return 0;
}
