// SPDX-License-Identifier: GPL-2.0-only
/* below.c - see below.h. */
#include "util/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RACES	16	/* a folder that is being renamed makes the kernel ask for another try */

static int open_in(int folder, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int i, fd = -1;

	if (folder == VMP_BELOW_HOST) {
		fd = open(path, flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	for (i = 0; i < RACES; i++) {
		fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int vmp_below_folder(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), probe;

	if (fd < 0)
		return -errno;
	probe = open_in(fd, ".", O_PATH);
	if (probe < 0) {
		close(fd);
		return probe;
	}
	close(probe);
	return fd;
}

int vmp_below_open(int folder, const char *path)
{
	int fd = open_in(folder, path, O_PATH), err = 0;
	struct stat st;

	if (fd < 0)
		return fd;
	/* to open a device may already do something to it */
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -ENOEXEC;
	close(fd);
	return err ? err : open_in(folder, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}
