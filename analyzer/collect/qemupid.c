// SPDX-License-Identifier: GPL-2.0-only
/* qemupid.c - which process is a domain's QEMU. */
#include "collect/qemupid.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"

int vmp_cmdline_has_uuid(const char *args, size_t len, const char *uuid)
{
	const char *end = args + len, *next;
	int after_uuid = 0;

	for (; args < end; args = next) {
		size_t n = strnlen(args, end - args);

		next = args + n + 1;
		if (after_uuid && n == strlen(uuid) && !memcmp(args, uuid, n))
			return 1;
		after_uuid = n == 5 && !memcmp(args, "-uuid", 5);
	}
	return 0;
}

static int is_qemu_of(uint32_t pid, const char *uuid)
{
	char path[64];
	char *args;
	size_t len;
	int found;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	if (vmp_file_read(path, 1 << 20, &args, &len))
		return 0;
	found = vmp_cmdline_has_uuid(args, len, uuid);
	free(args);
	return found;
}

static uint32_t from_pid_file(const char *name)
{
	char path[PATH_MAX];
	unsigned long pid;
	char *text;
	size_t len;

	if (strchr(name, '/') ||
	    snprintf(path, sizeof(path), "/run/libvirt/qemu/%s.pid", name) >= (int)sizeof(path) ||
	    vmp_file_read(path, 64, &text, &len))
		return 0;
	pid = strtoul(text, NULL, 10);
	free(text);
	return pid && pid <= INT_MAX ? (uint32_t)pid : 0;
}

int vmp_qemu_pid(const char *name, const char *uuid, uint32_t *pid)
{
	uint32_t p = from_pid_file(name);
	struct dirent *e;
	int found = 0;
	DIR *d;

	if (p && is_qemu_of(p, uuid)) {
		*pid = p;
		return 0;
	}
	d = opendir("/proc");
	if (!d)
		return -errno;
	while (!found && (e = readdir(d))) {
		p = (uint32_t)strtoul(e->d_name, NULL, 10);
		found = p && is_qemu_of(p, uuid);
	}
	closedir(d);
	if (!found)
		return -ESRCH;
	*pid = p;
	return 0;
}
