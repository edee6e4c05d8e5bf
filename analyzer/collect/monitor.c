// SPDX-License-Identifier: GPL-2.0-only
/* monitor.c - a helper process that talks to libvirt for the collector. */
#include "collect/monitor.h"

#include <errno.h>
#include <libvirt/libvirt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/clock.h"
#include "util/log.h"

/* ------------------------------------------------------ in the helper */

static void say_nothing(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

static void ask_qmp(virConnectPtr conn, struct vmp_monitor_answer *a)
{
	char *reply = NULL;
	size_t len;

	a->tsc_before = vmp_tsc_now();
	a->err = vmp_domain_qmp(conn, &a->domain, "{\"execute\":\"query-vmprof\"}", &reply);
	a->tsc_after = vmp_tsc_now();
	if (a->err)
		return;
	len = strlen(reply);
	if (len > sizeof(a->text)) {
		a->err = -EMSGSIZE;
	} else {
		memcpy(a->text, reply, len);
		a->len = (uint32_t)len;
	}
	free(reply);
}

static int find_pid(virConnectPtr conn, struct vmp_domain *d)
{
	struct vmp_domain *list = NULL;
	int i, nr = vmp_domain_list(conn, &list), err = nr < 0 ? nr : -ENOENT;

	for (i = 0; i < nr; i++) {
		if (list[i].pid != d->pid)
			continue;
		*d = list[i];
		err = 0;
		break;
	}
	if (nr >= 0)
		free(list);
	return err;
}

static void find(virConnectPtr conn, const struct vmp_monitor_question *q, struct vmp_monitor_answer *a)
{
	if (q->domain.pid)
		a->err = find_pid(conn, &a->domain);
	else if (vmp_domain_find(conn, q->domain.name, &a->domain))
		a->err = -ENOENT;	/* not yet: that is no matter of the connection */
	if (!a->err)
		vmp_domain_attach(conn, &a->domain);	/* without a channel it goes on without an agent */
}

struct helper {
	int fd;
	const char *uri;
	virConnectPtr conn;
	int events;		/* libvirt tells changes by this connection; -1 it does not */
	int news;		/* there was one */
	struct vmp_monitor_answer answer;
};

static void on_change(void *arg)
{
	struct helper *h = arg;

	h->news = 1;
}

/* What is not heard any more is to be asked for. */
static void look_at_connection(struct helper *h)
{
	if (!h->conn || virConnectIsAlive(h->conn) == 1)
		return;
	if (h->events >= 0)
		vmp_domain_events_end(h->conn, h->events);
	virConnectClose(h->conn);
	h->conn = NULL;
	h->events = -1;
	h->news = 1;
}

static void answer(struct helper *h, const struct vmp_monitor_question *q)
{
	struct vmp_monitor_answer *a = &h->answer;

	a->what = q->what;
	a->domain = q->domain;
	a->len = 0;
	look_at_connection(h);
	if (!h->conn) {
		h->conn = vmp_libvirt_open(h->uri);
		h->events = h->conn ? vmp_domain_events(h->conn, on_change, h) : -1;
	}
	a->err = h->conn ? 0 : -ENOTCONN;
	a->hears = h->events >= 0;
	if (a->err)
		return;
	if (q->what == VMP_MONITOR_QMP)
		ask_qmp(h->conn, a);
	else if (q->what == VMP_MONITOR_PORT)
		a->err = vmp_domain_refresh(h->conn, &a->domain);
	else
		find(h->conn, q, a);
}

static size_t answer_bytes(const struct vmp_monitor_answer *a)
{
	return offsetof(struct vmp_monitor_answer, text) + a->len;
}

static int tell(const struct helper *h)
{
	return send(h->fd, &h->answer, answer_bytes(&h->answer), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int tell_news(struct helper *h)
{
	h->news = 0;
	memset(&h->answer, 0, offsetof(struct vmp_monitor_answer, text));
	h->answer.what = VMP_MONITOR_NEWS;
	h->answer.hears = h->events >= 0;
	return tell(h);
}

static void ignore_handle(int watch, int fd, int events, void *arg)
{
	(void)watch;
	(void)fd;
	(void)events;
	(void)arg;
}

static void helper(int fd, const char *uri)
{
	static struct helper h;
	struct vmp_monitor_question q;
	ssize_t n;

	h.fd = fd;
	h.uri = uri;
	h.events = -1;
	vmp_log_set(say_nothing, NULL);
	if (virEventRegisterDefaultImpl() ||
	    virEventAddHandle(fd, VIR_EVENT_HANDLE_READABLE, ignore_handle, NULL, NULL) < 0)
		return;
	while (!virEventRunDefaultImpl()) {
		n = recv(fd, &q, sizeof(q), MSG_DONTWAIT);
		if (n == sizeof(q)) {
			answer(&h, &q);
			if (tell(&h))
				return;
		} else if (n >= 0 || errno != EAGAIN) {
			return;
		}
		look_at_connection(&h);
		if (h.news && tell_news(&h))
			return;
	}
}

/* --------------------------------------------------- in the collector */

int vmp_monitor_start(struct vmp_monitor *m, const char *uri)
{
	const int room = 2 * VMP_MONITOR_TEXT_MAX;
	pid_t parent = getpid();
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	m->pid = fork();
	if (m->pid < 0) {
		err = -errno;
		close(pair[0]);
		close(pair[1]);
		return err;
	}
	if (!m->pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGINT, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* nothing of the collector may stay open here: its lock, its device */
		if (getppid() == parent && dup2(pair[1], 3) == 3) {
			close_range(4, ~0U, 0);
			helper(3, uri);
		}
		_exit(0);
	}
	close(pair[1]);
	m->fd = pair[0];
	m->asked_ns = 0;
	m->hears = 0;
	return 0;
}

int vmp_monitor_ask(struct vmp_monitor *m, enum vmp_monitor_what what,
		    const struct vmp_domain *domain)
{
	struct vmp_monitor_question q;

	if (m->fd < 0)
		return -EPIPE;
	if (m->asked_ns)
		return -EBUSY;
	memset(&q, 0, sizeof(q));
	q.what = what;
	q.domain = *domain;
	if (send(m->fd, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(q))
		return -EPIPE;
	m->asked_ns = vmp_now_ns();
	return 0;
}

int vmp_monitor_read(struct vmp_monitor *m, struct vmp_monitor_answer *a)
{
	ssize_t n = recv(m->fd, a, sizeof(*a), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < (ssize_t)offsetof(struct vmp_monitor_answer, text) ||
	    (size_t)n != answer_bytes(a)) {
		vmp_monitor_stop(m);
		return -EPIPE;
	}
	m->hears = a->hears;
	if (a->what != VMP_MONITOR_NEWS)
		m->asked_ns = 0;
	return 1;
}

void vmp_monitor_stop(struct vmp_monitor *m)
{
	if (m->fd < 0)
		return;
	close(m->fd);
	m->fd = -1;
	m->asked_ns = 0;
	m->hears = 0;
	if (m->pid <= 0)
		return;		/* 0 would be all of our own group */
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
}
