// SPDX-License-Identifier: GPL-2.0-only
/* control.c - the collector's UNIX socket. */
#include "collect/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/lines.h"
#include "collect/statedir.h"

static int make_address(struct sockaddr_un *addr)
{
	char path[4096];

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	vmp_state_path(path, sizeof(path), "control");
	if (strlen(path) >= sizeof(addr->sun_path))
		return -ENAMETOOLONG;
	strcpy(addr->sun_path, path);
	return 0;
}

void vmp_control_init(struct vmp_control *c)
{
	int i;

	c->fd = -1;
	for (i = 0; i < VMP_CONTROL_CLIENTS; i++)
		c->client[i] = (struct vmp_control_client){ .fd = -1 };
}

int vmp_control_open(struct vmp_control *c)
{
	struct sockaddr_un addr;
	int err;

	err = make_address(&addr);
	if (err)
		return err;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	unlink(addr.sun_path);
	if (bind(c->fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(c->fd, 8)) {
		err = -errno;
		close(c->fd);
		c->fd = -1;
	}
	return err;
}

int vmp_control_fill(const struct vmp_control *c, struct pollfd *p)
{
	int i, nr = 0;

	p[nr++] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
	for (i = 0; i < VMP_CONTROL_CLIENTS; i++)
		if (c->client[i].fd >= 0)
			p[nr++] = (struct pollfd){ .fd = c->client[i].fd, .events = POLLIN };
	return nr;
}

void vmp_control_accept(struct vmp_control *c)
{
	int i, fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (i = 0; i < VMP_CONTROL_CLIENTS; i++) {
		if (c->client[i].fd >= 0)
			continue;
		c->client[i] = (struct vmp_control_client){ .fd = fd };
		return;
	}
	close(fd);
}

static void drop(struct vmp_control_client *client)
{
	close(client->fd);
	client->fd = -1;
}

enum vmp_control_command vmp_control_read(struct vmp_control *c, int fd,
					  struct vmp_control_client **client)
{
	struct vmp_control_client *k = c->client, *end = k + VMP_CONTROL_CLIENTS;
	ssize_t n;

	while (k < end && k->fd != fd)
		k++;
	if (k == end)
		return VMP_CONTROL_NOTHING;	/* dropped a moment ago */
	n = read(fd, k->in + k->len, sizeof(k->in) - 1 - k->len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return VMP_CONTROL_NOTHING;
	if (n <= 0) {
		drop(k);
		return VMP_CONTROL_NOTHING;
	}
	k->len += n;
	k->in[k->len] = 0;
	*client = k;
	if (!strcmp(k->in, "status\n"))
		return VMP_CONTROL_STATUS;
	if (!strcmp(k->in, "stop\n")) {
		k->waits = 1;
		return VMP_CONTROL_STOP;
	}
	if (k->len == sizeof(k->in) - 1 || strchr(k->in, '\n'))
		drop(k);
	return VMP_CONTROL_NOTHING;
}

void vmp_control_reply(struct vmp_control_client *client, char kind, const char *text, int end)
{
	if (vmp_lines_send(client->fd, kind, text) || end)
		drop(client);
}

void vmp_control_tell(struct vmp_control *c, char kind, const char *text, int end)
{
	int i;

	for (i = 0; i < VMP_CONTROL_CLIENTS; i++)
		if (c->client[i].fd >= 0 && c->client[i].waits)
			vmp_control_reply(&c->client[i], kind, text, end);
}

void vmp_control_close(struct vmp_control *c)
{
	int i;

	for (i = 0; i < VMP_CONTROL_CLIENTS; i++)
		if (c->client[i].fd >= 0)
			drop(&c->client[i]);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

int vmp_control_ask(const char *command, char **json)
{
	struct sockaddr_un addr;
	char line[16];
	int fd, err;

	err = make_address(&addr);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(line, sizeof(line), "%s\n", command);
	/* the collector may die in between: that is told, not died of */
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		err = -errno;
	if (!err)
		err = vmp_lines_relay(fd, json);
	close(fd);
	return err;
}
