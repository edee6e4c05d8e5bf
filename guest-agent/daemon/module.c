// SPDX-License-Identifier: GPL-2.0-only
/* module.c - the guest module's device, as far as the daemon uses it. */
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEVICE_PATH	"/dev/" VMPG_DEVICE_NAME

static int open_device(void)
{
	int fd = open(DEVICE_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Does a file of the kernel's have this word? */
static int says(const char *path, const char *word)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	return strstr(text, word) != NULL;
}

static int signed_only(void)
{
	return says("/sys/module/module/parameters/sig_enforce", "Y") ||
	       says("/sys/kernel/security/lockdown", "[integrity]") ||
	       says("/sys/kernel/security/lockdown", "[confidentiality]");
}

int vmp_module_open(int *fd)
{
	struct vmpg_query query;
	int ret = open_device();

	if (ret < 0)
		return ret == -ENOENT && signed_only() ? -EKEYREJECTED : ret;
	*fd = ret;
	ret = vmp_module_query(*fd, &query);
	if (!ret && query.version != VMPG_UAPI_VERSION)
		ret = -EPROTO;
	if (ret)
		close(*fd);
	return ret;
}

static int control(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

int vmp_module_query(int fd, struct vmpg_query *query)
{
	return control(fd, VMPG_IOC_QUERY, query);
}

int vmp_module_start(int fd)
{
	return control(fd, VMPG_IOC_START, NULL);
}

int vmp_module_stop(int fd)
{
	return control(fd, VMPG_IOC_STOP, NULL);
}

int vmp_module_snapshot(int fd, uint64_t token)
{
	return control(fd, VMPG_IOC_SNAPSHOT, &token);
}

int vmp_module_lost(int fd, struct vmpg_lost *lost)
{
	return control(fd, VMPG_IOC_LOST, lost);
}

int vmp_module_symbol(int fd, uint64_t address, uint64_t *bytes)
{
	struct vmpg_symbol symbol = { .address = address };
	int ret = control(fd, VMPG_IOC_SYMBOL, &symbol);

	*bytes = symbol.bytes;
	return ret;
}

int vmp_module_changes(int fd, uint64_t *changes)
{
	return control(fd, VMPG_IOC_MODULES, changes);
}

int vmp_module_made(int fd, uint64_t *made)
{
	return control(fd, VMPG_IOC_MADE, made);
}

ssize_t vmp_module_read(int fd, void *buf, size_t len)
{
	ssize_t n = read(fd, buf, len);

	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}
