// SPDX-License-Identifier: GPL-2.0-only
/* outfile.c - a result in place of an old file, or into a stream. */
#include "util/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_beside(struct vmp_outfile *o, mode_t mode)
{
	int err;

	if (asprintf(&o->temp, "%s.XXXXXX", o->path) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
	o->fd = mkostemp(o->temp, O_CLOEXEC);
	if (o->fd < 0)
		return -errno;
	if (!fchmod(o->fd, mode))
		return 0;
	err = -errno;
	close(o->fd);
	unlink(o->temp);
	return err;
}

static int open_path(struct vmp_outfile *o)
{
	mode_t mode = 0600;
	struct stat st;

	if (!lstat(o->path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			o->fd = open(o->path, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
			return o->fd < 0 ? -errno : 0;
		}
		/* another one's file does not say who may read ours */
		if (st.st_uid == geteuid())
			mode = st.st_mode & 0777;
	}
	return open_beside(o, mode);
}

int vmp_outfile_open(struct vmp_outfile *o, const char *path)
{
	int err;

	*o = (struct vmp_outfile){ .fd = STDOUT_FILENO };
	if (!path)
		return 0;
	o->path = strdup(path);
	err = o->path ? open_path(o) : -ENOMEM;
	if (err) {
		free(o->path);
		free(o->temp);
	}
	return err;
}

int vmp_outfile_close(struct vmp_outfile *o, int failed)
{
	int err = 0;

	if (o->temp && !failed && fsync(o->fd))
		err = -errno;
	if (o->path && close(o->fd) && !err)
		err = -errno;
	if (o->temp && !failed && !err && rename(o->temp, o->path))
		err = -errno;
	if (o->temp && (failed || err))
		unlink(o->temp);
	free(o->path);
	free(o->temp);
	return err;
}
