// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - vmprof-agent: tells the host's vmprof which processes live in this guest.
 *
 * One thread, one loop: the port, the module's device, the child that reads files, signals.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "port.h"
#include "session.h"

#define DEFAULT_PORT	"/dev/virtio-ports/" VMPROF_PORT_NAME

struct options {
	const char *port;
	int foreground;
	int no_objects;
	int verbose;
};

static const char help_text[] =
	"usage: vmprof-agent [OPTIONS]\n"
	"Tell the vmprof on this virtual machine's host which processes live here.\n"
	"\n"
	"  -p, --port PATH    port to the host (" DEFAULT_PORT ")\n"
	"  -f, --foreground   stay in the foreground, as systemd wants it\n"
	"      --no-objects   hand over no program and no library, whatever the host asks for\n"
	"  -v, --verbose      log more\n"
	"      --version      print the version\n"
	"      --help         print this\n";

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "port", required_argument, NULL, 'p' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "no-objects", no_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "p:fv", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			o->port = optarg;
			break;
		case 'f':
			o->foreground = 1;
			break;
		case 'n':
			o->no_objects = 1;
			break;
		case 'v':
			o->verbose = 1;
			break;
		case 'V':
			puts("vmprof-agent " VMPROF_VERSION);
			exit(0);
		case 'h':
			fputs(help_text, stdout);
			exit(0);
		default:
			fputs("Try vmprof-agent --help.\n", stderr);
			return -EINVAL;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "vmprof-agent: unexpected argument '%s'\nTry vmprof-agent --help.\n",
		argv[optind]);
	return -EINVAL;
}

/* SIGTERM and SIGINT arrive as something to read. */
static int catch_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* No host: wait for one.  Return: 1 a signal ends us. */
static int wait_for_host(struct vmp_port *port, struct vmp_session *s, int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };

	vmp_reader_reap(&s->reader);
	if (vmp_port_check(port))
		vmp_session_connected(s);
	else if (poll(&p, 1, port->wait_ms) > 0)
		return 1;
	return 0;
}

/* The longest wait, but no longer than so.  -1: without end */
static int wait_ms(const struct vmp_session *s, int longest_ms)
{
	int ms = vmp_session_timeout_ms(s);

	return longest_ms < 0 || (ms >= 0 && ms < longest_ms) ? ms : longest_ms;
}

/* One round with a host, and no longer than so.  Return: 1 a signal ends us. */
static int serve_host(struct vmp_port *port, struct vmp_session *s, int signals, int longest_ms)
{
	struct pollfd p[4] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = port->fd, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	int more = vmp_session_step(s);
	int ret = vmp_out_flush(&s->out, port->fd, s->ends ? UINT64_MAX : vmp_now_ms());

	if (ret > 0) {
		p[1].events |= POLLOUT;
		/* what needs no waiting has to wait for the port when much is queued */
		more = more && vmp_out_has_room(&s->out, VMPROF_FRAME_MAX) &&
		       vmp_out_pending(&s->out) < VMP_OUT_BULK_BELOW;
	}
	if (vmp_session_wants_records(s))
		p[2].fd = s->module;
	if (vmp_reader_busy(&s->reader))
		p[3].fd = s->reader.fd;
	if (ret >= 0 && poll(p, 4, more ? 0 : wait_ms(s, longest_ms)) < 0 && errno != EINTR)
		ret = -errno;
	if (ret >= 0 && p[1].revents & POLLIN)
		ret = vmp_session_input(s, port->fd);
	else if (ret >= 0 && p[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		ret = -EPIPE;
	if (ret < 0) {
		vmp_session_disconnected(s);
		vmp_port_lost(port, ret);
	}
	return p[0].revents != 0;
}

/* What the host has not heard yet goes out, as far as the port takes it in time. */
static void tell_the_rest(struct vmp_port *port, struct vmp_session *s)
{
	const uint64_t until_ms = vmp_now_ms() + VMP_SESSION_END_MS;
	uint64_t now_ms;

	vmp_session_told_to_end(s);
	while (port->connected && !vmp_session_has_ended(s) && (now_ms = vmp_now_ms()) < until_ms)
		serve_host(port, s, -1, (int)(until_ms - now_ms));
	vmp_session_leave(s);
	if (port->connected)
		vmp_out_flush(&s->out, port->fd, UINT64_MAX);
}

static int run(const struct options *o)
{
	static struct vmp_session session;
	struct vmp_port port;
	int signals, ended = 0;

	signals = catch_signals();
	if (signals < 0) {
		vmp_log(VMP_LOG_ERROR, "cannot catch signals: %s", strerror(errno));
		return 1;
	}
	if (vmp_session_init(&session)) {
		vmp_log(VMP_LOG_ERROR, "not enough memory");
		return 1;
	}
	session.bulk.forbidden = o->no_objects;
	vmp_port_init(&port, o->port);
	while (!ended)
		ended = port.connected ? serve_host(&port, &session, signals, -1) :
					 wait_for_host(&port, &session, signals);
	tell_the_rest(&port, &session);
	vmp_session_deinit(&session);
	vmp_port_close(&port);
	close(signals);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .port = DEFAULT_PORT };

	if (parse_options(argc, argv, &o))
		return 2;
	vmp_log_init(o.verbose);
	if (!o.foreground && daemon(0, 1)) {
		vmp_log(VMP_LOG_ERROR, "cannot go to the background: %s", strerror(errno));
		return 1;
	}
	return run(&o);
}
