// SPDX-License-Identifier: GPL-2.0-only
/* mapped.c - open the file behind a mapping; a name is a hint, the inode is the truth. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

int (*vmp_mapped_guard)(uint32_t major, uint32_t minor);

/* What is cached of a handle has its device: nobody is asked for it */
int vmp_mapped_may_touch(int handle)
{
	struct statx st;

	if (!vmp_mapped_guard || statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st))
		return 0;
	return vmp_mapped_guard(st.stx_dev_major, st.stx_dev_minor);
}

static int is_device(const struct vmp_mapped *m, uint32_t dev_major, uint32_t dev_minor)
{
	return dev_major == m->dev_major && dev_minor == m->dev_minor;
}

/* On these a map has the device of the whole, or of what lies below, and stat() that of a subvolume or a layer */
static int has_other_devices(int handle)
{
	struct statfs fs;

	return !fstatfs(handle, &fs) && (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

static int same_file(const struct vmp_mapped *m, int handle, const struct stat *st)
{
	return st->st_ino == m->ino &&
	       (is_device(m, major(st->st_dev), minor(st->st_dev)) || has_other_devices(handle));
}

/* From a handle that has touched nothing yet to one that can be read; without @m any file will do */
static int reopen_regular(int handle, const struct vmp_mapped *m, struct stat *st)
{
	char link[64];
	int fd = vmp_mapped_may_touch(handle);

	if (fd)
		return fd;
	if (fstat(handle, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (m && !same_file(m, handle, st))
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

/* Links on the way are followed as the process itself would follow them */
static int open_in(int dir, const char *path, uint64_t flags, const struct vmp_mapped *m,
		   struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int handle, fd;

	handle = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (handle < 0)
		return -errno;
	fd = reopen_regular(handle, m, st);
	close(handle);
	return fd;
}

static int open_root(const char *root)
{
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return dir < 0 ? -errno : dir;
}

static int open_below(const char *root, const char *path, const struct vmp_mapped *m,
		      struct stat *st)
{
	int dir = open_root(root), fd;

	if (dir < 0)
		return dir;
	fd = open_in(dir, path, 0, m, st);
	close(dir);
	return fd;
}

/* In the process's root, else in the guest's */
static int open_in_roots(uint32_t tgid, const char *path, const struct vmp_mapped *m,
			 struct stat *st)
{
	char root[32];
	int fd, below;

	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", tgid);
	below = open_below(root, path, m, st);
	if (below >= 0)
		return below;
	/* what the service's own root hides is there below that of PID 1 */
	fd = open_below("/proc/1/root", path, m, st);
	if (fd < 0)
		fd = open_below("/", path, m, st);
	/* "another file lies there" is worth more than "that process is gone" */
	return fd < 0 && below == -ESTALE ? below : fd;
}

int vmp_mapped_open(const struct vmp_mapped *m, struct stat *st)
{
	int fd;

	fd = open_mapping(m, st);
	if (fd >= 0 || m->path[0] != '/')
		return fd;
	return open_in_roots(m->tgid, m->path, m, st);
}

/* From memory alone: this is not worth waiting for a disk, or for a server that is dead.  Return: 1 it lies there, or nobody knows */
static int lies_below(const char *root, const struct vmp_mapped *m)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
	};
	int dir = open_root(root), handle, found;
	struct statx st;

	if (dir < 0)
		return 0;
	handle = (int)syscall(SYS_openat2, dir, m->path, &how, sizeof(how));
	close(dir);
	if (handle < 0)
		return errno == EINVAL;		/* before Linux 5.12 */
	found = !statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) && st.stx_ino == m->ino &&
		(!st.stx_dev_major || is_device(m, st.stx_dev_major, st.stx_dev_minor));
	close(handle);
	return found;
}

int vmp_mapped_is_fleeting(const struct vmp_mapped *m)
{
	return m->path[0] != '/' || (!lies_below("/proc/1/root", m) && !lies_below("/", m));
}

int vmp_mapped_open_beside(uint32_t tgid, const char *path, struct stat *st)
{
	return open_in_roots(tgid, path, NULL, st);
}

int vmp_mapped_root(uint32_t tgid)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%" PRIu32 "/root", tgid);
	return open_root(root);
}

int vmp_mapped_open_below(int root, const char *path, struct stat *st)
{
	int fd = open_in(root, path, O_NOFOLLOW, NULL, st);

	if (fd < 0 || st->st_nlink == 1)
		return fd;
	close(fd);
	return -EMLINK;
}
