// SPDX-License-Identifier: GPL-2.0-only
/* mapped.c - open the file behind a mapping; a name is a hint, the inode is the truth. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int same_file(const struct vmp_mapped *m, const struct stat *st)
{
	if (st->st_ino != m->ino)
		return 0;
	/* some file systems give each subvolume a device of its own in stat() only */
	return !m->dev_major || !major(st->st_dev) ||
	       (major(st->st_dev) == m->dev_major && minor(st->st_dev) == m->dev_minor);
}

/* From a handle that has touched nothing yet to one that can be read */
static int reopen_regular(int handle, const struct vmp_mapped *m, struct stat *st)
{
	char link[64];
	int fd;

	if (fstat(handle, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (!same_file(m, st))
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_mapping(const struct vmp_mapped *m, struct stat *st)
{
	char link[96];
	int handle, fd;

	snprintf(link, sizeof(link), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 m->tgid, m->start, m->end);
	handle = open(link, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return -errno;
	/* an exec may have put another file there meanwhile */
	fd = reopen_regular(handle, m, st);
	close(handle);
	return fd;
}

static int open_below(const char *root, const struct vmp_mapped *m, struct stat *st)
{
	/* links are followed as the process itself would follow them */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int dir, handle, fd;

	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	handle = (int)syscall(SYS_openat2, dir, m->path, &how, sizeof(how));
	fd = handle < 0 ? -errno : 0;
	close(dir);
	if (fd)
		return fd;
	fd = reopen_regular(handle, m, st);
	close(handle);
	return fd;
}

int vmp_mapped_open(const struct vmp_mapped *m, struct stat *st)
{
	char root[32];
	int fd, below;

	fd = open_mapping(m, st);
	if (fd >= 0 || m->path[0] != '/')
		return fd;
	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", m->tgid);
	below = open_below(root, m, st);
	if (below >= 0)
		return below;
	fd = open_below("/", m, st);
	/* "another file lies there" is worth more than "that process is gone" */
	return fd < 0 && below == -ESTALE ? below : fd;
}
