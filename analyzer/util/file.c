// SPDX-License-Identifier: GPL-2.0-only
/* file.c - whole files at once. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int read_all(int fd, size_t max, char **data, size_t *len)
{
	size_t room = 4096, n = 0;
	char *buf = NULL, *more;
	ssize_t got;
	int err;

	for (;;) {
		if (!buf || n == room) {
			room = buf ? room * 2 : room;
			more = realloc(buf, room + 1);
			err = -ENOMEM;
			if (!more)
				goto free_buf;
			buf = more;
		}
		got = read(fd, buf + n, room - n);
		if (got < 0 && errno == EINTR)
			continue;
		err = -errno;
		if (got < 0)
			goto free_buf;
		if (!got)
			break;
		n += got;
		err = -EFBIG;
		if (n > max)
			goto free_buf;
	}
	buf[n] = 0;
	*data = buf;
	*len = n;
	return 0;
free_buf:
	free(buf);
	return err;
}

int vmp_file_read(const char *path, size_t max, char **data, size_t *len)
{
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_all(fd, max, data, len);
	close(fd);
	return err;
}

int vmp_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= n;
	}
	return 0;
}

int vmp_file_write(const char *path, const void *data, size_t len)
{
	char temp[PATH_MAX];
	int fd, err;

	if (snprintf(temp, sizeof(temp), "%s.XXXXXX", path) >= (int)sizeof(temp))
		return -ENAMETOOLONG;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = vmp_write_all(fd, data, len);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(temp, path))
		err = -errno;
	if (err)
		unlink(temp);
	return err;
}
