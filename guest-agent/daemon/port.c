// SPDX-License-Identifier: GPL-2.0-only
/* port.c - the virtio-serial port: is it there, does it have a host. */
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define WAIT_MIN_MS	50
#define WAIT_MAX_MS	1000

void vmp_port_init(struct vmp_port *port, const char *path)
{
	*port = (struct vmp_port){ .path = path, .fd = -1, .wait_ms = WAIT_MIN_MS };
}

void vmp_port_close(struct vmp_port *port)
{
	if (port->fd >= 0)
		close(port->fd);
	port->fd = -1;
	port->connected = 0;
}

static int open_port(struct vmp_port *port)
{
	port->fd = open(port->path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (port->fd >= 0) {
		port->complained = 0;
		return 1;
	}
	if (errno != port->complained)
		vmp_log(VMP_LOG_NOTICE, "waiting for the port %s: %s%s", port->path,
			strerror(errno), errno == EBUSY ? " (another program has it open)" : "");
	port->complained = errno;
	return 0;
}

int vmp_port_check(struct vmp_port *port)
{
	struct pollfd p;

	port->wait_ms = port->wait_ms * 2 > WAIT_MAX_MS ? WAIT_MAX_MS : port->wait_ms * 2;
	if (port->fd < 0 && !open_port(port))
		return 0;
	p = (struct pollfd){ .fd = port->fd, .events = POLLIN | POLLOUT };
	if (poll(&p, 1, 0) < 0 || p.revents & (POLLHUP | POLLERR | POLLNVAL)) {
		/* an unplugged port hangs up too, but cannot be read, not even nothing */
		if (read(port->fd, NULL, 0) < 0 && errno != EAGAIN)
			vmp_port_close(port);
		return 0;
	}
	port->connected = 1;
	port->wait_ms = WAIT_MIN_MS;
	return 1;
}

void vmp_port_lost(struct vmp_port *port, int error)
{
	port->wait_ms = WAIT_MIN_MS;
	port->connected = 0;
	if (error == -EPIPE)
		return;
	vmp_log(VMP_LOG_NOTICE, "the port %s failed: %s", port->path, strerror(-error));
	vmp_port_close(port);
}
