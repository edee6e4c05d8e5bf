// SPDX-License-Identifier: GPL-2.0-only
/* refuse.c - what the guest's module refuses, and with which error: one line of TAP each. Root, and nobody else has the device open. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest_uapi.h"

#define DEVICE	"/dev/" VMPG_DEVICE_NAME

static void *volatile nowhere = (void *)8;	/* which the compiler shall not know */
static int nr, failed;

static void expect(const char *what, long result, int want)
{
	int got = result < 0 ? errno : 0;

	failed += got != want;
	printf("%s %d - %s%s%s\n", got == want ? "ok" : "not ok", ++nr, what, got == want ? "" : ": ", got == want ? "" : strerror(got));
}

/* Where a function begins that no kernel lacks; 0: /proc/kallsyms does not tell */
static uint64_t function(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	uint64_t address, found = 0;
	char name[512];

	while (f && !found && fscanf(f, "%" SCNx64 " %*c %511s%*[^\n]", &address, name) == 2)
		if (!strcmp(name, "vfs_read"))
			found = address;
	if (f)
		fclose(f);
	return found;
}

static void refuse_pointers(int fd)
{
	expect("QUERY into nowhere", ioctl(fd, VMPG_IOC_QUERY, nowhere), EFAULT);
	expect("LOST into nowhere", ioctl(fd, VMPG_IOC_LOST, nowhere), EFAULT);
	expect("MODULES into nowhere", ioctl(fd, VMPG_IOC_MODULES, nowhere), EFAULT);
	expect("MADE into nowhere", ioctl(fd, VMPG_IOC_MADE, nowhere), EFAULT);
	expect("SYMBOL from nowhere", ioctl(fd, VMPG_IOC_SYMBOL, nowhere), EFAULT);
	expect("SNAPSHOT with a token from nowhere", ioctl(fd, VMPG_IOC_SNAPSHOT, nowhere), EFAULT);
}

static void refuse_strangers(int fd)
{
	char page[4096];

	expect("a request of its family that it does not know", ioctl(fd, _IO('V', 0x7f)), ENOTTY);
	expect("QUERY of another size", ioctl(fd, _IOR('V', 0x40, uint32_t), page), ENOTTY);
	expect("QUERY that writes", ioctl(fd, _IOW('V', 0x40, struct vmpg_query), page), ENOTTY);
	expect("a terminal's request", ioctl(fd, 0x5401, page), ENOTTY);
	expect("write()", write(fd, page, 1), EINVAL);
	expect("mmap()", mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, ENODEV);
}

static void refuse_symbols(int fd)
{
	struct vmpg_symbol s = { .address = function() };

	expect("SYMBOL of a function is no such thing", ioctl(fd, VMPG_IOC_SYMBOL, &s), 0);
	expect("... and it is longer than an instruction", s.bytes > 1 ? 0 : -1, 0);
	s.address++;
	expect("SYMBOL in the middle of it", ioctl(fd, VMPG_IOC_SYMBOL, &s), ENOENT);
	s.address = 0;
	expect("SYMBOL of nothing", ioctl(fd, VMPG_IOC_SYMBOL, &s), ENOENT);
	s.address = (uint64_t)(uintptr_t)&s;
	expect("SYMBOL of a user's address", ioctl(fd, VMPG_IOC_SYMBOL, &s), ENOENT);
}

/* Of few processes one may be over before the next call: asked until that comes in time. */
static int snapshot_meanwhile(int fd)
{
	uint64_t token = 8;
	int i;

	for (i = 0; i < 10000; i++)
		if (ioctl(fd, VMPG_IOC_SNAPSHOT, &token))
			return -1;
	return 0;
}

int main(void)
{
	uint64_t token = 7;
	char small[1], page[4096];
	int fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC), other;

	if (fd < 0) {
		perror(DEVICE);
		return 1;
	}
	expect("a second open()", open(DEVICE, O_RDWR | O_CLOEXEC), EBUSY);
	expect("START with an argument", ioctl(fd, VMPG_IOC_START, 1), EINVAL);
	expect("STOP with an argument", ioctl(fd, VMPG_IOC_STOP, 1), EINVAL);
	expect("STOP before START is no such thing", ioctl(fd, VMPG_IOC_STOP, 0), 0);
	expect("SNAPSHOT before START", ioctl(fd, VMPG_IOC_SNAPSHOT, &token), EINVAL);
	expect("read() of nothing", read(fd, page, sizeof(page)), EAGAIN);
	refuse_pointers(fd);
	refuse_strangers(fd);
	refuse_symbols(fd);
	expect("START is no such thing", ioctl(fd, VMPG_IOC_START, 0), 0);
	expect("a second one neither: nothing begins anew", ioctl(fd, VMPG_IOC_START, 0), 0);
	expect("nor is SNAPSHOT", ioctl(fd, VMPG_IOC_SNAPSHOT, &token), 0);
	expect("SNAPSHOT while one is made", snapshot_meanwhile(fd), EBUSY);
	usleep(200000);
	expect("read() into less than a record", read(fd, small, sizeof(small)), EMSGSIZE);
	expect("read() into nowhere", read(fd, nowhere, sizeof(page)), EFAULT);
	expect("... after which all is there still", read(fd, page, sizeof(page)) > 0 ? 0 : -1, 0);
	close(fd);
	other = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	expect("the next one may open it", other, 0);
	expect("... and finds nothing of the one before", read(other, page, sizeof(page)), EAGAIN);
	printf("1..%d\n", nr);
	return failed != 0;
}
