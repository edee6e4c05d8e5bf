// SPDX-License-Identifier: GPL-2.0-only
/* debugfs.c - what KVM's debugfs tells of a VM's vCPUs. */
#include "collect/debugfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file with one decimal number; signed ones come back as two's complement. */
static int read_number(int dir, const char *name, uint64_t *out)
{
	char buf[64], *end;
	ssize_t n;
	int fd;

	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return n < 0 ? -EIO : -EBADMSG;
	buf[n] = 0;
	errno = 0;
	*out = buf[0] == '-' ? (uint64_t)strtoll(buf, &end, 10) : strtoull(buf, &end, 10);
	if (errno || end == buf || (*end && *end != '\n'))
		return -EBADMSG;
	return 0;
}

static int read_vcpu(int vm_dir, const char *name, struct vmp_debugfs_vcpu *v)
{
	uint64_t offset, ratio = 0, bits = 0, tid = 0;
	int dir, err;

	dir = openat(vm_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	err = read_number(dir, "tsc-offset", &offset);
	if (err)
		goto close_dir;
	/* without TSC scaling the other two files are not there */
	if (read_number(dir, "tsc-scaling-ratio", &ratio) ||
	    read_number(dir, "tsc-scaling-ratio-frac-bits", &bits) || bits > 63)
		ratio = bits = 0;
	if (read_number(dir, "pid", &tid) || tid > INT_MAX)
		tid = 0;
	v->tid = (uint32_t)tid;
	v->tsc_offset = (int64_t)offset;
	v->tsc_ratio = ratio;
	v->frac_bits = (uint32_t)bits;
close_dir:
	close(dir);
	return err;
}

static int open_vm(const char *root, uint32_t pid)
{
	int fd = -ENOENT;
	char prefix[16];
	struct dirent *e;
	DIR *d;

	d = opendir(root);
	if (!d)
		return -errno;
	snprintf(prefix, sizeof(prefix), "%u-", pid);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = fd < 0 ? -errno : fd;
		break;
	}
	closedir(d);
	return fd;
}

static int by_id(const void *a, const void *b)
{
	const struct vmp_debugfs_vcpu *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int vmp_debugfs_vcpus(const char *root, uint32_t pid, struct vmp_debugfs_vcpu *out, int max)
{
	int fd, err = 0, nr = 0;
	struct dirent *e;
	DIR *d;

	fd = open_vm(root, pid);
	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		err = -errno;
		close(fd);
		return err;
	}
	while (nr < max && (e = readdir(d))) {
		char *end;
		unsigned long id;

		if (strncmp(e->d_name, "vcpu", 4) || e->d_name[4] < '0' || e->d_name[4] > '9')
			continue;
		id = strtoul(e->d_name + 4, &end, 10);
		if (*end || id > UINT32_MAX)
			continue;
		err = read_vcpu(fd, e->d_name, &out[nr]);
		if (err)
			break;
		out[nr++].id = (uint32_t)id;
	}
	closedir(d);
	if (err)
		return err;
	qsort(out, nr, sizeof(*out), by_id);
	return nr;
}
