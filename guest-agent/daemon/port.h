/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * port.h - the virtio-serial port: is it there, does it have a host.
 *
 * A port without a host always polls POLLHUP, so it is looked at from time to
 * time instead; it stays open, since QEMU tells its clients of each opening.
 * A port that was unplugged is closed and waited for again.
 */
#ifndef VMP_PORT_H
#define VMP_PORT_H

struct vmp_port {
	const char *path;
	int fd;			/* -1: not there */
	int connected;		/* it has a host */
	int wait_ms;		/* back-off */
	int complained;		/* errno that was logged last */
};

void vmp_port_init(struct vmp_port *port, const char *path);
void vmp_port_close(struct vmp_port *port);

/**
 * vmp_port_check() - Without a host: is there one now?
 * Return: 1 @port->connected has become true, 0 wait @port->wait_ms and ask again.
 */
int vmp_port_check(struct vmp_port *port);

/** vmp_port_lost() - The host left (-EPIPE) or the port failed with @error. */
void vmp_port_lost(struct vmp_port *port, int error);

#endif
