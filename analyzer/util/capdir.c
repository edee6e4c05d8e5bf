// SPDX-License-Identifier: GPL-2.0-only
/* capdir.c - where captures lie. */
#include "util/capdir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <vmprof/capture.h>

#include "util/text.h"

#define FOLDER_MAX 200		/* bytes of the joined names */

const char *vmp_capture_dir(void)
{
	const char *dir = getenv("VMPROF_DIR");

	return dir && *dir ? dir : VMP_CAPDIR;
}

int vmp_make_dirs(const char *path, unsigned int mode)
{
	char buf[PATH_MAX];
	size_t len = strlen(path);
	char *p;

	if (len >= sizeof(buf))
		return -ENAMETOOLONG;
	memcpy(buf, path, len + 1);
	for (p = buf + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		if (mkdir(buf, mode) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(buf, mode) && errno != EEXIST ? -errno : 0;
}

static void folder_name(char *buf, size_t size, const char *const *domains, int nr)
{
	char part[FOLDER_MAX];
	size_t n = 0;
	int i;

	if (!nr) {
		snprintf(buf, size, "all");
		return;
	}
	buf[0] = 0;
	for (i = 0; i < nr; i++) {
		int more;

		vmp_file_part(part, sizeof(part), domains[i]);
		more = snprintf(buf + n, size - n, "%s%s", i ? "+" : "", part);
		if (more < 0 || (size_t)more >= size - n)
			return;		/* cut: still a good name */
		n += more;
	}
}

int vmp_capture_name(char *buf, size_t size, const char *const *domains, int nr, time_t when)
{
	char folder[FOLDER_MAX], stamp[32];
	struct tm tm;
	int n, err;

	folder_name(folder, sizeof(folder), domains, nr);
	n = snprintf(buf, size, "%s/%s", vmp_capture_dir(), folder);
	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	err = vmp_make_dirs(buf, 0700);
	if (err)
		return err;
	localtime_r(&when, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H-%M-%S", &tm);
	n = snprintf(buf, size, "%s/%s/%s" VMPROF_CAP_SUFFIX, vmp_capture_dir(), folder, stamp);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

struct latest {
	char path[PATH_MAX];
	struct timespec mtime;
};

static int is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Captures lie in the root or one folder below it. */
static int scan(const char *dir, int depth, struct latest *latest)
{
	size_t len, suffix = strlen(VMPROF_CAP_SUFFIX);
	char path[PATH_MAX];
	struct dirent *e;
	struct stat st;
	DIR *d;

	d = opendir(dir);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path) ||
		    lstat(path, &st))
			continue;
		len = strlen(e->d_name);
		if (S_ISDIR(st.st_mode) && depth) {
			scan(path, depth - 1, latest);
		} else if (S_ISREG(st.st_mode) && len > suffix &&
			   !strcmp(e->d_name + len - suffix, VMPROF_CAP_SUFFIX) &&
			   (!latest->path[0] || is_newer(&st.st_mtim, &latest->mtime))) {
			strcpy(latest->path, path);
			latest->mtime = st.st_mtim;
		}
	}
	closedir(d);
	return 0;
}

int vmp_latest_capture(const char *also, char *buf, size_t size)
{
	struct latest latest = { "", { 0, 0 } };
	struct stat st;
	int err;

	err = scan(vmp_capture_dir(), 1, &latest);
	if (also && strlen(also) < sizeof(latest.path) && !stat(also, &st) &&
	    (!latest.path[0] || is_newer(&st.st_mtim, &latest.mtime)))
		strcpy(latest.path, also);
	if (!latest.path[0])
		return err ? err : -ENOENT;
	if (strlen(latest.path) >= size)
		return -ENAMETOOLONG;
	strcpy(buf, latest.path);
	return 0;
}
