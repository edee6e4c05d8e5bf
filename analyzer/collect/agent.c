// SPDX-License-Identifier: GPL-2.0-only
/* agent.c - host's side of the conversation with one guest's agent. */
#include "collect/agent.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <x86intrin.h>

#include "crc32c.h"
#include "util/text.h"

#define CREDIT_BYTES	(1U << 20)	/* bulk on its way at most */
#define CREDIT_STEP	(CREDIT_BYTES / 4)
#define READS_AT_ONCE	8		/* before others are served */
#define HALF_FRAME_NS	5000000000ULL	/* the rest of a frame does not come any more */
#define HELLO_NS	1000000000ULL
#define UNASKED_VERSION	3		/* agents tell since then */
#define KEPT_VERSION	6		/* ... leave out kernel symbols that we have */
#define KSYMS_LINE	21		/* bytes of the shortest line of /proc/kallsyms */

void vmp_agent_init(struct vmp_agent *a, uint64_t session, const struct vmp_agent_ops *ops,
		    void *arg)
{
	memset(a, 0, sizeof(*a));
	a->fd = -1;
	a->session = session;
	a->ops = ops;
	a->arg = arg;
	a->budget_bytes = VMP_AGENT_BURST_BYTES;
	a->keep_bytes = VMP_AGENT_KEEP_BYTES;
	a->hello_budget_ns = VMP_AGENT_HELLOS * HELLO_NS;
	vmp_frame_decoder_init(&a->in);
}

static void set_state(struct vmp_agent *a, enum vmp_agent_state state)
{
	if (a->state == state)
		return;
	a->state = state;
	a->ops->changed(a->arg);
}

/* ---------------------------------------------------------- to the agent */

static void flush_out(struct vmp_agent *a)
{
	ssize_t n;

	if (!a->out_len)
		return;
	n = send(a->fd, a->out, a->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n <= 0)
		return;		/* later, or poll tells of the end */
	memmove(a->out, a->out + n, a->out_len - n);
	a->out_len -= n;
}

static void send_frame(struct vmp_agent *a, uint16_t type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	if (a->fd < 0)
		return;
	if (sizeof(f) + len > sizeof(a->out) - a->out_len) {
		a->counts.unsent++;
		return;
	}
	vmp_frame_build(&f, type, a->seq++, payload, len);
	memcpy(a->out + a->out_len, &f, sizeof(f));
	memcpy(a->out + a->out_len + sizeof(f), payload, len);
	a->out_len += sizeof(f) + len;
	flush_out(a);
}

static struct vmprof_token new_token(struct vmp_agent *a)
{
	a->token++;
	a->token_tsc = __rdtsc();
	return (struct vmprof_token){ htole64(a->token), htole64(a->token_tsc) };
}

/* The kernel's symbols of this boot.  Reading costs what hearing them would. */
static int read_kept(struct vmp_agent *a, char **text, size_t *len)
{
	int err = a->kept && a->version >= KEPT_VERSION ? vmp_kept_read(a->kept, a->boot_id, text, len) : -ENOENT;

	if (!err)
		a->budget_bytes -= (int64_t)*len;
	return err;
}

static void send_start(struct vmp_agent *a)
{
	struct {
		struct vmprof_token token;
		struct vmprof_kept kept;
	} start = { 0 };
	size_t len;
	char *text;

	a->offer_bytes = 0;
	a->ksyms_begun = 0;
	if (a->kept) {
		vmp_kept_store(a->kept);
		vmp_kept_drop(a->kept);
	}
	if (!read_kept(a, &text, &len)) {
		a->offer_bytes = len;
		a->offer_crc = vmp_crc32c(0, text, len);
		start.kept = (struct vmprof_kept){ htole64(len), htole32(a->offer_crc), 0 };
		free(text);
	}
	start.token = new_token(a);
	send_frame(a, VMPROF_MSG_START, &start, a->offer_bytes ? sizeof(start) : sizeof(start.token));
}

static void greet(struct vmp_agent *a)
{
	struct vmprof_host_hello h = {
		.version = htole32(VMPROF_PROTO_VERSION),
		.compat = htole32(VMPROF_PROTO_COMPAT),
		.session = htole64(a->session),
		.credit = htole64(CREDIT_BYTES),
	};

	a->seq = 0;
	a->bulk_taken = 0;
	a->hello_missed = 0;
	send_frame(a, VMPROF_MSG_HOST_HELLO, &h, sizeof(h));
	set_state(a, VMP_AGENT_GREETED);
}

static void give_credit(struct vmp_agent *a, uint32_t taken)
{
	struct vmprof_credit c;

	a->bulk_taken += taken;
	if (a->bulk_taken < CREDIT_STEP)
		return;
	c.bytes = htole64(a->bulk_taken);
	a->bulk_taken = 0;
	send_frame(a, VMPROF_MSG_CREDIT, &c, sizeof(c));
}

void vmp_agent_stop(struct vmp_agent *a)
{
	struct vmprof_token t;

	a->ending = 1;
	if (a->state != VMP_AGENT_STARTED && a->state != VMP_AGENT_RUNNING)
		return;
	t = new_token(a);
	send_frame(a, VMPROF_MSG_STOP, &t, sizeof(t));
	set_state(a, VMP_AGENT_STOPPING);
}

void vmp_agent_get(struct vmp_agent *a, const struct vmp_msg_get_object *ask)
{
	struct vmprof_get_object g = {
		.file = htole32(ask->file), .len = htole32(ask->len), .offset = htole64(ask->offset),
	};

	send_frame(a, VMPROF_MSG_GET_OBJECT, &g, sizeof(g));
}

/* -------------------------------------------------------- from the agent */

/* An agent that never saw our greeting has no credit; older ones do not say whether they saw it */
static int answers_greeting(const struct vmp_agent *a, const struct vmp_msg_hello *m)
{
	return m->version >= UNASKED_VERSION ? !(m->flags & VMPROF_HELLO_UNASKED) : a->state == VMP_AGENT_GREETED;
}

/* Other HELLOs ask for a greeting, or answer one before the last: the reader has no use for them */
static int begins_conversation(const struct vmp_agent *a, const struct vmp_msg_hello *m)
{
	return a->state == VMP_AGENT_GREETED && answers_greeting(a, m);
}

static void on_hello(struct vmp_agent *a, const struct vmp_msg_hello *m)
{
	int i;

	for (i = 0; i < VMPROF_GLOST_NR; i++)
		a->lost_now[i] = 0;
	a->counts.hellos++;
	a->version = m->version;
	a->flags = m->flags;
	a->module_error = m->module_error;
	a->ksyms_whole = 0;
	memcpy(a->boot_id, m->boot_id, sizeof(a->boot_id));
	vmp_text(a->release, sizeof(a->release), m->release.p, m->release.len);
	if (m->compat > VMPROF_PROTO_VERSION || m->version < VMPROF_PROTO_COMPAT) {
		set_state(a, VMP_AGENT_REFUSED);
		return;
	}
	if (a->ending) {
		set_state(a, VMP_AGENT_GREETED);
		return;
	}
	if (!answers_greeting(a, m)) {
		greet(a);
		return;
	}
	if (a->state != VMP_AGENT_GREETED)
		return;		/* the answer to a greeting before the last: START comes after both */
	send_start(a);
	set_state(a, VMP_AGENT_STARTED);
}

/* Each begins a conversation, which takes time of host and reader. */
static int hello_comes_too_fast(struct vmp_agent *a)
{
	if (a->hello_budget_ns >= HELLO_NS) {
		a->hello_budget_ns -= HELLO_NS;
		return 0;
	}
	a->counts.hellos_dropped++;
	a->hello_missed = 1;
	set_state(a, VMP_AGENT_GREETED);	/* the conversation before it is over */
	return 1;
}

static void on_lost(struct vmp_agent *a, const struct vmp_msg_lost *m)
{
	int i;

	for (i = 0; i < VMPROF_GLOST_NR; i++) {
		if (m->count[i] > a->lost_now[i])
			a->counts.lost[i] += m->count[i] - a->lost_now[i];
		a->lost_now[i] = m->count[i];
	}
}

static void on_token(struct vmp_agent *a, unsigned int type, const struct vmp_msg_token *m)
{
	if (m->token != a->token)
		return;
	if (type == VMPROF_MSG_SNAP_BEGIN) {
		a->echo.guest_tsc = m->tsc;
		a->echo.sent_tsc = a->token_tsc;
		a->echo.got_tsc = __rdtsc();
	}
	if (type == VMPROF_MSG_SNAP_END && a->state == VMP_AGENT_STARTED)
		set_state(a, VMP_AGENT_RUNNING);
	if (type == VMPROF_MSG_DONE && a->state == VMP_AGENT_STOPPING)
		set_state(a, VMP_AGENT_DONE);
}

static void on_message(struct vmp_agent *a, const struct vmp_agent_msg *m, int kept)
{
	switch (m->type) {
	case VMPROF_MSG_HELLO:
		on_hello(a, &m->hello);
		break;
	case VMPROF_MSG_LOST:
		on_lost(a, &m->lost);
		break;
	case VMPROF_MSG_SNAP_BEGIN:
	case VMPROF_MSG_SNAP_END:
	case VMPROF_MSG_DONE:
		on_token(a, m->type, &m->token);
		break;
	case VMPROF_MSG_KSYMS:
		a->ksyms_whole = m->ksyms.offset + m->ksyms.text.len == m->ksyms.total;
		break;
	case VMPROF_MSG_MODULES:
		a->ksyms_whole = 0;
		break;
	case VMPROF_MSG_TASKS:
		if (a->ops->tasks)
			a->ops->tasks(a->arg, kept ? &m->tasks : NULL);
		break;
	case VMPROF_MSG_FILE:
		if (a->ops->file && kept)
			a->ops->file(a->arg, &m->file);
		break;
	case VMPROF_MSG_OBJECT:
		if (a->ops->object(a->arg, &m->object))
			a->budget_bytes += (int64_t)m->object.data.len;
		break;
	default:
		break;
	}
}

static int is_from_agent(unsigned int type)
{
	return type >= VMPROF_MSG_HELLO;
}

static int keep(struct vmp_agent *a, const struct vmprof_frame *f, const void *payload)
{
	struct vmprof_frame wire;

	if (a->counts.kept_bytes + sizeof(wire) + f->len > a->keep_bytes) {
		a->counts.dropped++;
		return 0;
	}
	vmp_frame_build(&wire, f->type, f->seq, payload, f->len);
	a->ops->keep(a->arg, &wire, payload, f->len);
	a->counts.kept++;
	a->counts.kept_bytes += sizeof(wire) + f->len;
	return 1;
}

/* The agent leaves out what we have: into the capture with it, as if it had come. */
static void keep_kept(struct vmp_agent *a, uint32_t seq, uint64_t total)
{
	struct {
		struct vmprof_ksyms head;
		char text[VMPROF_FRAME_MAX - sizeof(struct vmprof_ksyms)];
	} piece = { .head.total = htole64(total) };
	struct vmprof_frame f = { .type = VMPROF_MSG_KSYMS, .seq = seq };
	size_t at, n, len;
	char *text;

	if (read_kept(a, &text, &len)) {
		a->counts.ksyms_gone++;
		return;
	}
	if (len != a->offer_bytes || vmp_crc32c(0, text, len) != a->offer_crc) {
		a->counts.ksyms_gone++;
		goto free_text;
	}
	for (at = 0; at < len; at += n) {
		n = len - at < sizeof(piece.text) ? len - at : sizeof(piece.text);
		piece.head.offset = htole64(at);
		memcpy(piece.text, text + at, n);
		f.len = (uint32_t)(sizeof(piece.head) + n);
		if (keep(a, &f, &piece))
			a->counts.ksyms_kept += n;
	}
free_text:
	free(text);
}

/* Return: 0, or -EBADMSG: less than a line, or a first piece that begins where we have nothing */
static int on_ksyms(struct vmp_agent *a, uint32_t seq, const struct vmp_msg_ksyms *m)
{
	if (m->total && m->total < KSYMS_LINE)
		return -EBADMSG;
	if (!a->ksyms_begun && m->offset) {
		if (m->offset != a->offer_bytes)
			return -EBADMSG;
		keep_kept(a, seq, m->total);
	}
	a->ksyms_begun = 1;
	if (a->kept)
		vmp_kept_take(a->kept, a->boot_id, m);
	return 0;
}

void vmp_agent_went_back(struct vmp_agent *a)
{
	if (vmp_agent_is_there(a) && !a->ending)
		greet(a);
}

static void on_frame(struct vmp_agent *a, const struct vmprof_frame *f, const void *payload)
{
	const int back = a->seq_back != a->in.stats.seq_back;
	struct vmp_agent_msg m;
	int err, kept = 0;

	a->seq_back = a->in.stats.seq_back;
	err = vmp_agent_msg_parse(f->type, payload, f->len, &m);
	if (err == -ENOENT)
		return;		/* a later version's; the decoder counts them */
	if (err || !is_from_agent(f->type)) {
		a->counts.refused++;
		return;
	}
	/* until it has said HELLO, what comes is left over from another conversation */
	if (!vmp_agent_is_there(a) && f->type != VMPROF_MSG_HELLO) {
		a->counts.stale++;
		return;
	}
	if (f->type == VMPROF_MSG_HELLO && hello_comes_too_fast(a))
		return;
	/* put back to a snapshot of this conversation, its agent goes on from there */
	if (back && !a->ending) {
		vmp_agent_went_back(a);
		return;
	}
	if (f->type == VMPROF_MSG_KSYMS && on_ksyms(a, f->seq, &m.ksyms)) {
		a->counts.refused++;
		return;
	}
	if (f->type == VMPROF_MSG_HELLO ? begins_conversation(a, &m.hello) : f->type != VMPROF_MSG_OBJECT)
		kept = keep(a, f, payload);
	on_message(a, &m, kept);
	if (vmp_msg_is_bulk(f->type))
		give_credit(a, f->len);
}

static void take_frames(struct vmp_agent *a)
{
	struct vmprof_frame f;
	const void *payload;

	while (vmp_frame_next(&a->in, &f, &payload))
		on_frame(a, &f, payload);
}

/* One read. Return: 1 there may be more, 0 not now, -errno the end. */
static int read_some(struct vmp_agent *a, uint64_t now_ns)
{
	uint64_t vain;
	size_t room;
	void *to;
	ssize_t n;

	to = vmp_frame_space(&a->in, &room);
	n = recv(a->fd, to, room, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	a->heard_ns = now_ns;
	vmp_frame_fed(&a->in, (size_t)n);
	vain = a->in.stats.vain_bytes;
	take_frames(a);
	a->budget_bytes -= (int64_t)((uint64_t)n + a->in.stats.vain_bytes - vain);
	return (size_t)n == room;
}

void vmp_agent_close(struct vmp_agent *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->out_len = 0;
	set_state(a, VMP_AGENT_CLOSED);
}

short vmp_agent_events(const struct vmp_agent *a)
{
	if (a->fd < 0)
		return 0;
	return (a->budget_bytes > 0 ? POLLIN : 0) | (a->out_len ? POLLOUT : 0);
}

void vmp_agent_ready(struct vmp_agent *a, short revents, uint64_t now_ns)
{
	int i, more = 1;

	if (revents & POLLOUT)
		flush_out(a);
	if (!(revents & (POLLIN | POLLHUP | POLLERR)))
		return;
	for (i = 0; i < READS_AT_ONCE && more == 1 && a->budget_bytes > 0 && a->fd >= 0; i++)
		more = read_some(a, now_ns);
	if (more < 0 || (revents & (POLLHUP | POLLERR) && a->budget_bytes <= 0))
		vmp_agent_close(a);
}

void vmp_agent_tick(struct vmp_agent *a, uint64_t now_ns)
{
	uint64_t gone_ns = now_ns - a->tick_ns;

	a->tick_ns = now_ns;
	if (gone_ns > 10000000000ULL)
		gone_ns = 10000000000ULL;
	a->budget_bytes += (int64_t)(gone_ns * VMP_AGENT_RATE_BYTES / 1000000000);
	if (a->budget_bytes > VMP_AGENT_BURST_BYTES)
		a->budget_bytes = VMP_AGENT_BURST_BYTES;
	a->hello_budget_ns += gone_ns;
	if (a->hello_budget_ns > VMP_AGENT_HELLOS * HELLO_NS)
		a->hello_budget_ns = VMP_AGENT_HELLOS * HELLO_NS;
	if (a->kept)
		vmp_kept_store(a->kept);
	if (a->fd >= 0 && a->hello_missed && a->hello_budget_ns >= HELLO_NS && !a->ending)
		greet(a);
	if (a->fd >= 0 && a->in.begin < a->in.end && now_ns - a->heard_ns > HALF_FRAME_NS) {
		a->heard_ns = now_ns;
		vmp_frame_give_up(&a->in);
		take_frames(a);
	}
}

void vmp_agent_adopt(struct vmp_agent *a, int fd, uint64_t now_ns)
{
	struct vmp_frame_stats stats = a->in.stats;

	a->fd = fd;
	vmp_frame_decoder_init(&a->in);
	a->in.stats = stats;
	a->heard_ns = a->tick_ns = now_ns;
	greet(a);
}

int vmp_agent_connect(struct vmp_agent *a, const char *path, uint64_t now_ns)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = -errno;
		close(fd);
		return err;
	}
	vmp_agent_adopt(a, fd, now_ns);
	return 0;
}

int vmp_agent_is_there(const struct vmp_agent *a)
{
	return a->state >= VMP_AGENT_STARTED;
}

void vmp_agent_gone(struct vmp_agent *a)
{
	/* what we told a dead agent stays in the pipe for the next one, which
	   says HELLO by itself when it hears nothing it understands */
	if (vmp_agent_is_there(a) && a->state != VMP_AGENT_DONE)
		greet(a);
}

const char *vmp_agent_state_name(const struct vmp_agent *a)
{
	static const char *const name[] = {
		[VMP_AGENT_CLOSED] = "no connection",
		[VMP_AGENT_GREETED] = "no answer",
		[VMP_AGENT_REFUSED] = "other version",
		[VMP_AGENT_STARTED] = "first snapshot",
		[VMP_AGENT_RUNNING] = "running",
		[VMP_AGENT_STOPPING] = "last snapshot",
		[VMP_AGENT_DONE] = "done",
	};

	return name[a->state];
}
