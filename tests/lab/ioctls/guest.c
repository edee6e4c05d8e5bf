// SPDX-License-Identifier: GPL-2.0-only
/* guest.c - calls of /dev/vmprof_guest; those that do much work are rare. */
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"
#include "guest_uapi.h"

enum { QUERY, LOST, MODULES, MADE, SYMBOL, START, STOP, SNAPSHOT, READ, POLL, OTHER };

static const unsigned long requests[] = {
	VMPG_IOC_QUERY, VMPG_IOC_LOST, VMPG_IOC_MODULES, VMPG_IOC_MADE, VMPG_IOC_SYMBOL, VMPG_IOC_START, VMPG_IOC_STOP, VMPG_IOC_SNAPSHOT,
};

static unsigned int draw(struct fuzz_worker *w)
{
	uint64_t r = fuzz_any(w);

	if (r % 512 == 0)
		return START + (r >> 12) % 3;
	if (r % 16 == 1)
		return POLL;
	if (r % 8 == 2)
		return READ;
	return r % 4 ? (r >> 12) % START : OTHER;
}

/* Relatives of the device's own requests, and others of no family */
static unsigned long other(struct fuzz_worker *w)
{
	uint64_t r = fuzz_any(w);
	unsigned long request = r % 4 ? fuzz_relative(w, requests[(r >> 8) % (sizeof(requests) / sizeof(requests[0]))]) : (uint32_t)(r >> 8);

	return request == VMPG_IOC_START || request == VMPG_IOC_STOP || request == VMPG_IOC_SNAPSHOT ? 0 : request;
}

/* Where the kernel and its modules lie, so that some symbols are found */
static int do_symbol(struct fuzz_worker *w, int fd)
{
	uint64_t r = fuzz_any(w);
	struct vmpg_symbol s = { .address = 0xffffffff80000000UL + (r >> 8) % 0x40000000UL };

	if (r % 4 == 0)
		s.address = fuzz_address(w);
	else if (r % 4 == 1)
		s.address &= ~15UL;
	return !ioctl(fd, VMPG_IOC_SYMBOL, r & 4 ? fuzz_put(w, &s, sizeof(s), 0) : fuzz_address(w));
}

static int do_read(struct fuzz_worker *w, int fd)
{
	uint64_t r = fuzz_any(w);
	size_t len = r % 8 ? (r >> 8) % FUZZ_BUFFER : r >> 8;

	/* what fits is read into the buffer, so that the device has something to copy */
	return read(fd, r % 4 && len <= FUZZ_BUFFER ? w->buffer : (char *)fuzz_address(w), len) >= 0;
}

static int do_snapshot(struct fuzz_worker *w, int fd)
{
	uint64_t r = fuzz_any(w), token = r >> 8;

	return !ioctl(fd, VMPG_IOC_SNAPSHOT, r % 8 ? fuzz_put(w, &token, sizeof(token), 0) : fuzz_address(w));
}

static unsigned int call(struct fuzz_worker *w, int fd, int *ok)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int kind = draw(w);

	switch (kind) {
	case SYMBOL:
		*ok = do_symbol(w, fd);
		break;
	case SNAPSHOT:
		*ok = do_snapshot(w, fd);
		break;
	case READ:
		*ok = do_read(w, fd);
		break;
	case POLL:
		*ok = poll(&p, 1, 0) >= 0;
		break;
	case START:
	case STOP:
		*ok = !ioctl(fd, requests[kind], fuzz_any(w) % 8 ? 0 : fuzz_address(w));
		break;
	case OTHER:
		*ok = ioctl(fd, other(w), fuzz_address(w)) >= 0;
		break;
	default:
		*ok = !ioctl(fd, requests[kind], fuzz_address(w));
	}
	return kind;
}

const struct fuzz_device fuzz_guest = {
	.path = "/dev/" VMPG_DEVICE_NAME,
	.reopen = 20000,
	.names = { "query", "lost", "modules", "made", "symbol", "start", "stop", "snapshot", "read", "poll", "other" },
	.call = call,
};
