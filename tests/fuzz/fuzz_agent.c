// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_agent.c - the host's side of a conversation with a guest's agent, over a socket:
 * its state, its limits, kernel symbols that are kept, binaries that it sends.
 *
 * Items: a kind from 0x80 on is a message in a frame with the right checksum; others
 * are bytes as they are, time that passes, or what the collector does meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "cached.h"

enum kind { BYTES, TIME, STOP, GONE, AGAIN, NEED, GAP, KINDS };

#define MILLISECOND	1000000ULL

static uint64_t now_ns;
static uint32_t seq;
static int guest;	/* its end of the socket */

/* What is kept can be read again. */
static void keep(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	struct vmp_agent_msg m;

	(void)arg;
	if (vmp_agent_msg_parse(le16toh(wire->type), payload, len, &m))
		abort();
}

static int object(void *arg, const struct vmp_msg_object *o)
{
	(void)arg;
	return vmp_fetch_object(&vm.early, o, now_ns) || vmp_fetch_object(&vm.fetch, o, now_ns);
}

static void file(void *arg, const struct vmp_msg_file *m)
{
	vmp_early_take(arg, m);
}

static void changed(void *arg)
{
	(void)arg;
}

static void tasks(void *arg, const struct vmp_msg_tasks *m)
{
	struct vmp_msg_tasks copy;
	struct vmp_msg_task_cpu cpu;

	(void)arg;
	if (!m)
		return;
	copy = *m;
	while (vmp_agent_msg_next_cpu(&copy, &cpu))
		;
}

static void connect_guest(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		abort();
	if (guest >= 0)
		close(guest);
	guest = pair[0];
	seq = 0;
	vmp_agent_adopt(&vm.agent, pair[1], now_ns);
}

static void host_works(void)
{
	char said[4096];

	if (vm.agent.fd >= 0)
		vmp_agent_ready(&vm.agent, (short)(vmp_agent_events(&vm.agent) & (POLLIN | POLLOUT)), now_ns);
	while (read(guest, said, sizeof(said)) > 0)
		;
	if (vm.agent.state == VMP_AGENT_DONE) {
		vmp_early_forget(&vm);
		vmp_carry_step(&vm, now_ns);
	} else {
		vmp_early_step(&vm, now_ns, vm.agent.state != VMP_AGENT_STOPPING);
	}
	if (vm.agent.counts.kept_bytes > vm.agent.keep_bytes || vm.agent.out_len > sizeof(vm.agent.out))
		abort();
}

/* In pieces, as far as the host takes them */
static void send_bytes(const void *data, size_t len)
{
	const char *p = data;
	ssize_t n = 1;

	for (; len && n > 0; p += n, len -= (size_t)n) {
		n = send(guest, p, len, MSG_NOSIGNAL);
		if (n < 0)
			n = 0;
		host_works();
	}
}

static void send_message(const struct item *item)
{
	uint8_t buf[VMP_FRAME_BYTES_MAX];
	struct vmprof_frame f;

	vmp_frame_build(&f, (uint16_t)item->kind, seq++, item->p, item->len);
	memcpy(buf, &f, sizeof(f));
	memcpy(buf + sizeof(f), item->p, item->len);
	send_bytes(buf, sizeof(f) + item->len);
}

static void happen(const struct item *item)
{
	switch ((enum kind)(item->kind % KINDS)) {
	case BYTES:
		send_bytes(item->p, item->len);
		break;
	case TIME:
		now_ns += item_number(item, 0, 2) * MILLISECOND;
		vmp_agent_tick(&vm.agent, now_ns);
		break;
	case STOP:
		vmp_agent_stop(&vm.agent);
		break;
	case GONE:
		vmp_agent_gone(&vm.agent);
		break;
	case AGAIN:
		vmp_agent_close(&vm.agent);
		connect_guest();
		break;
	case NEED:
		need((unsigned int)item_number(item, 0, 1), item_number(item, 1, 4));
		break;
	case GAP:
		seq += (uint32_t)item_number(item, 0, 4);
		break;
	case KINDS:
		break;
	}
	host_works();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct vmp_agent_ops ops = { keep, object, changed, tasks, file };
	struct item item;

	begin_vm();
	now_ns = 1000 * MILLISECOND;
	guest = -1;
	vmp_agent_init(&vm.agent, 0x1234, &ops, &vm);
	vm.agent.keep_bytes = 1 << 16;
	vmp_kept_init(&vm.kept, GUEST);
	vm.agent.kept = &vm.kept;
	connect_guest();
	while (next_item(&data, &size, &item)) {
		if (item.kind >= 0x80)
			send_message(&item);
		else
			happen(&item);
	}
	vmp_agent_close(&vm.agent);
	vmp_kept_drop(&vm.kept);
	close(guest);
	end_vm();
	return 0;
}
