// SPDX-License-Identifier: GPL-2.0-only
/* statedir.c - /run/vmprof: who collects, and how to reach it. */
#include "collect/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"

static const char *state_dir(void)
{
	const char *dir = getenv("VMPROF_RUN_DIR");

	return dir && *dir ? dir : "/run/vmprof";
}

const char *vmp_state_path(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "%s/%s", state_dir(), name);
	return buf;
}

int vmp_state_look(pid_t *pid, char **json)
{
	char path[PATH_MAX], *text;
	int fd, locked;
	size_t len;

	*pid = 0;
	*json = NULL;
	fd = open(vmp_state_path(path, sizeof(path), "lock"), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? VMP_STATE_NONE : -errno;
	locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	if (!vmp_file_read(path, 64, &text, &len)) {
		*pid = (pid_t)strtol(text, NULL, 10);
		free(text);
	}
	if (vmp_file_read(vmp_state_path(path, sizeof(path), "session.json"), 1 << 20, json, &len))
		*json = NULL;
	if (locked)
		return VMP_STATE_RUNNING;
	return *json ? VMP_STATE_STALE : VMP_STATE_NONE;
}

int vmp_state_last(char *buf, size_t size)
{
	struct json_object *o, *file;
	char path[PATH_MAX], *text;
	size_t len;
	int err;

	err = vmp_file_read(vmp_state_path(path, sizeof(path), "last.json"), 1 << 20, &text, &len);
	if (err)
		return err;
	text[len] = 0;
	o = json_tokener_parse(text);
	free(text);
	err = -ENOENT;
	if (json_object_object_get_ex(o, "file", &file) &&
	    json_object_is_type(file, json_type_string) &&
	    (size_t)json_object_get_string_len(file) < size) {
		strcpy(buf, json_object_get_string(file));
		err = 0;
	}
	json_object_put(o);
	return err;
}

int vmp_state_lock(void)
{
	char path[PATH_MAX], pid[16];
	int fd, n, err;

	if (mkdir(state_dir(), 0700) && errno != EEXIST)
		return -errno;
	fd = open(vmp_state_path(path, sizeof(path), "lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return err;
	}
	n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) || pwrite(fd, pid, n, 0) != n) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

void vmp_state_clean(void)
{
	char path[PATH_MAX];

	unlink(vmp_state_path(path, sizeof(path), "session.json"));
	unlink(vmp_state_path(path, sizeof(path), "control"));
}
