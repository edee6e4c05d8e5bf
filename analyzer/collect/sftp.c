// SPDX-License-Identifier: GPL-2.0-only
/* sftp.c - see sftp.h; the protocol is draft-ietf-secsh-filexfer-02. */
#include "collect/sftp.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/child.h"
#include "util/text.h"

#define VERSION		3
#define CHUNK_BYTES	32768U		/* every server reads as much at once */
#define WINDOW		16U		/* chunks on their way */
#define PACKET_BYTES	(CHUNK_BYTES + 1024U)
#define HANDLE_BYTES	256U
#define ASKED_MAX	64U		/* requests without an answer */
#define OUT_BYTES	65536U
#define WRITES_BYTES	(1ULL << 20)	/* of files that ssh may write: known_hosts */

enum type {
	INIT = 1, VERSIONS = 2, OPEN = 3, CLOSE = 4, READ = 5, STAT = 17,
	STATUS = 101, HANDLE = 102, DATA = 103, ATTRS = 105,
};

#define OPEN_READ	1U
#define ATTR_SIZE	1U
#define ATTR_OWNER	2U
#define ATTR_MODE	4U

/* Something that was asked for */
struct request {
	enum type type;
	uint32_t id, turn;
	uint64_t offset;
	uint32_t len;
};

struct vmp_sftp {
	struct vmp_child child;
	int (*take)(void *arg, const struct vmp_msg_object *o);
	void *arg;
	uint64_t begin_ns;
	int is_ready, err;
	const char *broken;	/* how the guest broke the protocol */
	char said[512];		/* ssh's last words */

	struct request asked[ASKED_MAX];	/* answers come in order */
	uint32_t first, nr, reads, id;

	/* the file: turn tells it from those that were given up */
	uint32_t turn, file;
	char path[VMPROF_PATH_BYTES_MAX + 1];
	uint8_t handle[HANDLE_BYTES];
	uint32_t handle_len;	/* 0: it is not open */
	uint64_t total, next, until;

	uint8_t in[PACKET_BYTES + 4], out[OUT_BYTES];
	size_t in_len, out_len;
};

static void fail(struct vmp_sftp *s, int err, const char *broken)
{
	if (s->err)
		return;
	s->err = err;
	s->broken = broken;
	vmp_child_said(&s->child, s->said, sizeof(s->said));
}

/* -------------------------------------------------------------- requests */

static void flush_out(struct vmp_sftp *s)
{
	ssize_t n = s->out_len ? send(s->child.fd, s->out, s->out_len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (n <= 0)
		return;		/* later, or poll tells of the end */
	memmove(s->out, s->out + n, s->out_len - (size_t)n);
	s->out_len -= (size_t)n;
}

static void put(struct vmp_sftp *s, const void *data, size_t len)
{
	memcpy(s->out + s->out_len, data, len);
	s->out_len += len;
}

static void put32(struct vmp_sftp *s, uint32_t v)
{
	v = htobe32(v);
	put(s, &v, sizeof(v));
}

static void put64(struct vmp_sftp *s, uint64_t v)
{
	v = htobe64(v);
	put(s, &v, sizeof(v));
}

/* The head of a request that has @len bytes more; 0 there is no room for it */
static int begin(struct vmp_sftp *s, struct request r, const void *name, uint32_t name_len, uint32_t len)
{
	uint8_t type = (uint8_t)r.type;

	if (s->nr == ASKED_MAX || OUT_BYTES - s->out_len < 13 + name_len + len) {
		fail(s, -ENOBUFS, "its sftp server does not read");
		return 0;
	}
	r.id = s->id++;
	r.turn = s->turn;
	s->asked[(s->first + s->nr++) % ASKED_MAX] = r;
	put32(s, 9 + name_len + len);
	put(s, &type, 1);
	put32(s, r.id);
	put32(s, name_len);
	put(s, name, name_len);
	return 1;
}

static void close_handle(struct vmp_sftp *s, const void *handle, uint32_t len)
{
	begin(s, (struct request){ .type = CLOSE }, handle, len, 0);
}

static void ask_stat(struct vmp_sftp *s)
{
	begin(s, (struct request){ .type = STAT }, s->path, (uint32_t)strlen(s->path), 0);
}

static void ask_open(struct vmp_sftp *s)
{
	if (!begin(s, (struct request){ .type = OPEN }, s->path, (uint32_t)strlen(s->path), 8))
		return;
	put32(s, OPEN_READ);
	put32(s, 0);		/* no attributes */
}

static void ask_reads(struct vmp_sftp *s)
{
	uint64_t end = s->until < s->total ? s->until : s->total;
	struct request r = { .type = READ };

	while (!s->err && s->handle_len && s->next < end && s->reads < WINDOW) {
		r.offset = s->next;
		r.len = end - s->next < CHUNK_BYTES ? (uint32_t)(end - s->next) : CHUNK_BYTES;
		if (!begin(s, r, s->handle, s->handle_len, 12))
			return;
		put64(s, r.offset);
		put32(s, r.len);
		s->next += r.len;
		s->reads++;
	}
}

/* --------------------------------------------------------------- answers */

/* What is left of an answer */
struct answer {
	const uint8_t *p, *end;
	int bad;
};

static uint32_t get32(struct answer *a)
{
	uint32_t v = 0;

	if (a->end - a->p < 4) {
		a->bad = 1;
		return 0;
	}
	memcpy(&v, a->p, 4);
	a->p += 4;
	return be32toh(v);
}

static uint64_t get64(struct answer *a)
{
	uint64_t high = get32(a);

	return high << 32 | get32(a);
}

static const uint8_t *get_string(struct answer *a, uint32_t *len)
{
	const uint8_t *s;

	*len = get32(a);
	if (a->bad || *len > (size_t)(a->end - a->p)) {
		a->bad = 1;
		*len = 0;
	}
	s = a->p;
	a->p += *len;
	return s;
}

/* Answers that still come of this file are old */
static void forget(struct vmp_sftp *s)
{
	s->turn++;
	s->until = 0;
}

/* Return: 0 nobody waits for more of it */
static int give(struct vmp_sftp *s, uint32_t status, uint64_t offset, const void *data, uint32_t len)
{
	const struct vmp_msg_object o = {
		.file = s->file, .status = status, .offset = offset, .total = s->total, .data = { data, len },
	};
	int goes_on = s->take(s->arg, &o);

	if (!goes_on)
		forget(s);
	return goes_on;
}

/* This file is not to be had */
static void give_up(struct vmp_sftp *s)
{
	forget(s);
	give(s, 1, 0, NULL, 0);
}

static void on_stat(struct vmp_sftp *s, enum type type, struct answer *a)
{
	uint32_t flags = get32(a), mode = 0;

	if (type != ATTRS || (flags & (ATTR_SIZE | ATTR_MODE)) != (ATTR_SIZE | ATTR_MODE)) {
		give_up(s);
		return;
	}
	s->total = get64(a);
	if (flags & ATTR_OWNER)
		get64(a);
	mode = get32(a);
	if (a->bad || !S_ISREG(mode)) {
		give_up(s);
		return;
	}
	/* its size first: who takes the pieces may refuse it before one is sent */
	if (give(s, 0, 0, NULL, 0))
		ask_open(s);
}

static void on_open(struct vmp_sftp *s, enum type type, struct answer *a, int is_old)
{
	uint32_t len;
	const uint8_t *handle = type == HANDLE ? get_string(a, &len) : NULL;

	if (handle && (a->bad || !len || len > HANDLE_BYTES)) {
		fail(s, -EPROTO, "its sftp server sends an impossible handle");
	} else if (is_old) {
		if (handle)
			close_handle(s, handle, len);
	} else if (!handle) {
		give_up(s);
	} else {
		memcpy(s->handle, handle, len);
		s->handle_len = len;
		ask_reads(s);
	}
}

static void on_read(struct vmp_sftp *s, enum type type, struct answer *a, const struct request *r, int is_old)
{
	uint32_t len = 0;
	const uint8_t *data = type == DATA ? get_string(a, &len) : NULL;

	s->reads--;
	if (len > r->len) {
		fail(s, -EPROTO, "its sftp server sends more than it was asked for");
	} else if (!is_old) {
		if (len == r->len)
			give(s, 0, r->offset, data, len);
		else		/* the file is shorter than it was */
			give_up(s);
	}
	ask_reads(s);
}

static void on_answer(struct vmp_sftp *s, enum type type, struct answer *a)
{
	struct request r = s->asked[s->first];
	int is_old = r.turn != s->turn;

	if (!s->nr || get32(a) != r.id || a->bad) {
		fail(s, -EPROTO, "its sftp server answers what nobody asked");
		return;
	}
	s->first = (s->first + 1) % ASKED_MAX;
	s->nr--;
	if (r.type == STAT && !is_old)
		on_stat(s, type, a);
	else if (r.type == OPEN)
		on_open(s, type, a, is_old);
	else if (r.type == READ)
		on_read(s, type, a, &r, is_old);
}

static void on_packet(struct vmp_sftp *s, const uint8_t *data, uint32_t len)
{
	struct answer a = { data + 1, data + len, 0 };
	enum type type = (enum type)*data;

	if (s->is_ready)
		on_answer(s, type, &a);
	else if (type == VERSIONS && get32(&a) >= VERSION && !a.bad)
		s->is_ready = 1;
	else
		fail(s, -EPROTO, "what answers there is no sftp server");
}

static void take_packets(struct vmp_sftp *s)
{
	size_t at = 0;
	uint32_t len;

	while (!s->err && s->in_len - at >= 4) {
		memcpy(&len, s->in + at, 4);
		len = be32toh(len);
		if (!len || len > PACKET_BYTES) {
			fail(s, -EPROTO, s->is_ready ? "its sftp server sends impossible messages" :
			     "what answers there is no sftp server");
			return;
		}
		if (s->in_len - at - 4 < len)
			break;
		on_packet(s, s->in + at + 4, len);
		at += 4 + len;
	}
	memmove(s->in, s->in + at, s->in_len - at);
	s->in_len -= at;
}

void vmp_sftp_ready(struct vmp_sftp *s)
{
	ssize_t n;

	flush_out(s);
	while (!s->err) {
		n = read(s->child.fd, s->in + s->in_len, sizeof(s->in) - s->in_len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0)
			fail(s, -ECONNRESET, NULL);
		else
			s->in_len += (size_t)n;
		take_packets(s);
	}
	flush_out(s);
}

/* ------------------------------------------------------------ its life */

void vmp_sftp_get(struct vmp_sftp *s, const struct vmp_msg_get_object *ask, const char *path)
{
	if (!ask->offset) {
		if (s->handle_len)
			close_handle(s, s->handle, s->handle_len);
		s->handle_len = 0;
		s->turn++;
		s->file = ask->file;
		s->next = s->total = 0;
		if (strlen(path) >= sizeof(s->path)) {
			give_up(s);
			return;
		}
		strcpy(s->path, path);
		ask_stat(s);
	}
	s->until = ask->offset + ask->len;
	ask_reads(s);
	flush_out(s);
}

int vmp_sftp_fd(const struct vmp_sftp *s, short *events)
{
	*events = (short)(POLLIN | (s->out_len ? POLLOUT : 0));
	return s->err ? -1 : s->child.fd;
}

int vmp_sftp_state(const struct vmp_sftp *s, uint64_t now_ns)
{
	if (s->err)
		return s->err;
	return s->is_ready ? 1 : now_ns - s->begin_ns > VMP_SFTP_PATIENCE_NS ? -ETIMEDOUT : 0;
}

const char *vmp_sftp_why(const struct vmp_sftp *s, char *buf, size_t size)
{
	const char *why = s->broken ? s->broken : *s->said ? s->said :
			  s->err ? "ssh ended without a word" : "the guest does not answer";

	snprintf(buf, size, "%s", why);
	return buf;
}

static int run_ssh(struct vmp_sftp *s, const struct vmp_objects *to)
{
	const char *argv[40] = {
		"ssh", "-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "LogLevel=ERROR",
		"-o", "ClearAllForwardings=yes", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
		"-o", "ControlMaster=no", "-o", "ServerAliveInterval=5",
	};
	int n = 20;

	if (*to->port) {
		argv[n++] = "-p";
		argv[n++] = to->port;
	}
	if (*to->user) {
		argv[n++] = "-l";
		argv[n++] = to->user;
	}
	argv[n++] = "-s";
	argv[n++] = "--";
	argv[n++] = to->host;
	argv[n++] = "sftp";
	return vmp_child_start(&s->child, argv, WRITES_BYTES);
}

int vmp_sftp_open(struct vmp_sftp **out, const struct vmp_objects *to, uint64_t now_ns,
		  int (*take)(void *arg, const struct vmp_msg_object *o), void *arg)
{
	static const uint8_t hello[] = { 0, 0, 0, 5, INIT, 0, 0, 0, VERSION };
	struct vmp_sftp *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->take = take;
	s->arg = arg;
	s->begin_ns = now_ns;
	err = run_ssh(s, to);
	if (err) {
		free(s);
		return err;
	}
	put(s, hello, sizeof(hello));
	flush_out(s);
	*out = s;
	return 0;
}

void vmp_sftp_close(struct vmp_sftp *s)
{
	if (!s)
		return;
	vmp_child_end(&s->child, 0);
	free(s);
}
