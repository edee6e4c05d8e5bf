// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_sftp.c - binaries by ssh, where the guest's sftp server says anything.
 *
 * Two numbers of two bytes are the sizes of the binaries; the upper bits of the second say whether there is
 * an agent, too (the second way), and whether the second binary is one that only an agent has.  Then items: kind 0 are bytes as they
 * are, 1 time that passes, 2 (VERSION) a message, 3 an OBJECT of the agent, 4 its end, and others messages that
 * answer the oldest question.  Instead of ssh there is a socket (the linker's --wrap, in the Makefile).
 */
#include <endian.h>
#include <poll.h>
#include <sys/socket.h>

#include "collect/clock.h"
#include "util/child.h"
#include "cached.h"

enum kind { BYTES = 0, TIME = 1, VERSION = 2, OBJECT = 3, GONE = 4 };

#define WITH_AGENT	0x8000U		/* of the second size */
#define VDSO		0x4000U
#define ROOM_BYTES	(1ULL << 36)	/* never too little */

static uint64_t skew_ns;
static int server;		/* its end of the socket */
static uint8_t asked[65536];	/* what it did not look at yet */
static size_t asked_len;

int __wrap_vmp_child_start(struct vmp_child *c, const char *const argv[], uint64_t file_bytes);
const char *__wrap_vmp_child_said(const struct vmp_child *c, char *buf, size_t size);
int __wrap_vmp_child_end(struct vmp_child *c, int done);

int __wrap_vmp_child_start(struct vmp_child *c, const char *const argv[], uint64_t file_bytes)
{
	int pair[2];

	(void)argv, (void)file_bytes;
	if (server >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		return -EIO;
	c->fd = pair[0];
	server = pair[1];
	return 0;
}

const char *__wrap_vmp_child_said(const struct vmp_child *c, char *buf, size_t size)
{
	(void)c, (void)size;
	return strcpy(buf, "");
}

int __wrap_vmp_child_end(struct vmp_child *c, int done)
{
	(void)done;
	close(c->fd);
	return 0;
}

/* Number of the oldest question, which is answered; its length is the collector's, and so right */
static uint32_t next_id(void)
{
	ssize_t n = recv(server, asked + asked_len, sizeof(asked) - asked_len, 0);
	uint32_t len, id;

	if (n > 0)
		asked_len += (size_t)n;
	if (asked_len < 9)
		return 0;
	memcpy(&len, asked, 4);
	memcpy(&id, asked + 5, 4);
	len = 4 + be32toh(len);
	if (len > asked_len)
		abort();
	asked_len -= len;
	memmove(asked, asked + len, asked_len);
	return id;
}

static void send_all(const void *data, size_t len)
{
	if (len && send(server, data, len, MSG_NOSIGNAL) < 0 && errno != EAGAIN && errno != EPIPE && errno != ECONNRESET)
		abort();
}

static void send_message(const struct item *item)
{
	const int is_version = item->kind == VERSION;
	uint32_t len = htobe32((uint32_t)(1 + (is_version ? 0 : 4) + item->len));
	const uint8_t type = (uint8_t)item->kind;
	const uint32_t id = next_id();	/* INIT, which VERSION answers, has none */
	uint8_t head[9];

	memcpy(head, &len, 4);
	head[4] = type;
	memcpy(head + 5, &id, 4);
	send_all(head, is_version ? 5 : 9);
	send_all(item->p, item->len);
}

/* Return: 1 all is done */
static int host_works(void)
{
	struct pollfd p = vmp_carry_poll(&vm);

	if (p.fd >= 0)
		vmp_carry_ready(&vm);
	return vmp_carry_step(&vm, vmp_now_ns() + skew_ns);
}

/* In a frame of the agent's; whether it was asked is the collector's to judge */
static void send_object(const struct item *item)
{
	struct vmp_agent_msg m;

	if (vm.agent.state == VMP_AGENT_DONE && !vmp_agent_msg_parse(VMPROF_MSG_OBJECT, item->p, item->len, &m))
		vmp_fetch_object(&vm.fetch, &m.object, vmp_now_ns() + skew_ns);
}

static void happen(const struct item *item)
{
	if (item->kind == TIME)
		skew_ns += item_number(item, 0, 2) * 1000000;
	else if (item->kind == BYTES)
		send_all(item->p, item->len);
	else if (item->kind == OBJECT)
		send_object(item);
	else if (item->kind == GONE)
		vm.agent.state = VMP_AGENT_CLOSED;
	else
		send_message(item);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t second, room = ROOM_BYTES;
	struct item item;
	int is_done;

	if (size < 4)
		return 0;
	begin_vm();
	vm.objects = (struct vmp_objects){ .way = VMP_OBJECTS_SSH, .host = "guest" };
	vm.fetch.verify = 1;
	vm.fetch.cache_room = &room;
	need(0, data[0] | (uint64_t)data[1] << 8);
	second = data[2] | (uint64_t)data[3] << 8;
	need_at(1, second & ~(uint64_t)(WITH_AGENT | VDSO), second & VDSO ? "[vdso]" : "/bin/x");
	vm.agent.state = second & WITH_AGENT ? VMP_AGENT_DONE : VMP_AGENT_CLOSED;
	data += 4;
	size -= 4;
	skew_ns = asked_len = 0;
	server = -1;
	is_done = host_works();
	while (!is_done && next_item(&data, &size, &item)) {
		happen(&item);
		is_done = host_works();
	}
	end_vm();
	if (vm.sftp || room > ROOM_BYTES)
		abort();
	if (server >= 0)
		close(server);
	return 0;
}
