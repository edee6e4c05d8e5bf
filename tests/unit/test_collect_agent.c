// SPDX-License-Identifier: GPL-2.0-only
/* test_collect_agent.c - the conversation with an agent, played over a socket pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent.h"
#include "crc32c.h"
#include "gen.h"
#include "util/file.h"

#define SECOND 1000000000ULL

static struct vmp_agent agent;
static struct vmp_frame_decoder heard;	/* what the host sent */
static int guest = -1;			/* the guest's end */
static uint32_t guest_seq;
static uint64_t now_ns;
static int kept, objects, object_wanted, tasks_kept, tasks_unkept;
static uint16_t last_kept;

/* Text of the kernel's symbols, put together as a reader does */
static char symbols[1 << 21];
static size_t symbols_len;

static void keep_symbols(const void *payload, uint32_t len)
{
	const struct vmprof_ksyms *k = payload;
	const uint64_t offset = le64toh(k->offset);

	if (!offset)
		symbols_len = 0;
	if (offset != symbols_len || offset + len >= sizeof(symbols))
		return;
	memcpy(symbols + offset, k + 1, len - sizeof(*k));
	symbols_len += len - sizeof(*k);
	symbols[symbols_len] = 0;
}

static void keep(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	struct vmprof_frame again;

	(void)arg;
	/* what is kept is a frame that checks */
	vmp_frame_build(&again, le16toh(wire->type), le32toh(wire->seq), payload, len);
	assert_memory_equal(&again, wire, sizeof(again));
	last_kept = le16toh(wire->type);
	kept++;
	if (last_kept == VMPROF_MSG_KSYMS)
		keep_symbols(payload, len);
}

static int object(void *arg, const struct vmp_msg_object *o)
{
	(void)arg;
	(void)o;
	objects++;
	return object_wanted;
}

static void changed(void *arg)
{
	(void)arg;
}

static void tasks(void *arg, const struct vmp_msg_tasks *m)
{
	(void)arg;
	tasks_kept += !!m;
	tasks_unkept += !m;
}

static int connect_pair(void **state)
{
	static const struct vmp_agent_ops ops = { keep, object, changed, tasks };
	int pair[2];

	(void)state;
	kept = objects = object_wanted = tasks_kept = tasks_unkept = 0;
	guest_seq = 0;
	now_ns = SECOND;
	vmp_frame_decoder_init(&heard);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return -1;
	guest = pair[1];
	vmp_agent_init(&agent, 0x1234, &ops, NULL);
	vmp_agent_adopt(&agent, pair[0], now_ns);
	return 0;
}

static int close_pair(void **state)
{
	(void)state;
	vmp_agent_close(&agent);
	if (guest >= 0)
		close(guest);
	guest = -1;
	return 0;
}

static void host_reads(void)
{
	vmp_agent_ready(&agent, POLLIN, now_ns);
}

static void say(uint16_t type, const void *payload, size_t len)
{
	struct vmprof_frame f;

	vmp_frame_build(&f, type, guest_seq++, payload, len);
	assert_int_equal(write(guest, &f, sizeof(f)), sizeof(f));
	assert_int_equal(write(guest, payload, len), len);
	host_reads();
}

static void say_hello_with(uint32_t version, uint32_t flags)
{
	struct vmprof_hello h = {
		.version = htole32(version), .compat = htole32(version), .flags = htole32(flags), .tsc = htole64(5),
	};

	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &h, sizeof(h));
}

static void say_hello(uint32_t version)
{
	say_hello_with(version, 0);
}

static void say_hello_unasked(void)
{
	say_hello_with(VMPROF_PROTO_VERSION, VMPROF_HELLO_UNASKED);
}

static void say_token(uint16_t type, uint64_t token)
{
	struct vmprof_token t = { htole64(token), htole64(9) };

	say(type, &t, sizeof(t));
}

/* The next frame that the host sent; 0 none. */
static unsigned int hear(struct vmp_agent_msg *m)
{
	struct vmprof_frame f;
	const void *payload;
	size_t room;
	ssize_t n;

	if (!vmp_frame_next(&heard, &f, &payload)) {
		void *to = vmp_frame_space(&heard, &room);

		n = read(guest, to, room);
		if (n <= 0)
			return 0;
		vmp_frame_fed(&heard, n);
		if (!vmp_frame_next(&heard, &f, &payload))
			return 0;
	}
	assert_int_equal(vmp_agent_msg_parse(f.type, payload, f.len, m), 0);
	return f.type;
}

/* Up to the first whole snapshot */
static void get_running(void)
{
	struct vmp_agent_msg m;

	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	say_token(VMPROF_MSG_SNAP_BEGIN, m.token.token);
	say_token(VMPROF_MSG_SNAP_END, m.token.token);
	assert_int_equal(agent.state, VMP_AGENT_RUNNING);
}

static void test_whole_conversation(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	assert_int_equal(m.host_hello.session, 0x1234);
	assert_true(m.host_hello.credit > 0);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(agent.state, VMP_AGENT_STARTED);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	say_token(VMPROF_MSG_SNAP_BEGIN, m.token.token);
	assert_int_equal(agent.echo.guest_tsc, 9);
	assert_true(agent.echo.sent_tsc <= agent.echo.got_tsc);
	say_token(VMPROF_MSG_SNAP_END, m.token.token);
	assert_int_equal(agent.state, VMP_AGENT_RUNNING);
	vmp_agent_stop(&agent);
	assert_int_equal(hear(&m), VMPROF_MSG_STOP);
	say_token(VMPROF_MSG_DONE, m.token.token - 1);	/* of another one */
	assert_int_equal(agent.state, VMP_AGENT_STOPPING);
	say_token(VMPROF_MSG_DONE, m.token.token);
	assert_int_equal(agent.state, VMP_AGENT_DONE);
	assert_int_equal(kept, 5);
	assert_int_equal(hear(&m), 0);
}

static void test_agent_restarts(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	get_running();
	/* a new agent says HELLO by itself: it has neither credit nor START */
	say_hello_unasked();
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	assert_int_equal(agent.counts.hellos, 3);
}

/* One of version 2 does not say so */
static void test_old_agent_restarts(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	get_running();
	say_hello(2);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(2);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	assert_int_equal(agent.state, VMP_AGENT_STARTED);
}

/* It spoke before it read the greeting, which it answers all the same: one START is enough. */
static void test_slow_agent(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello_unasked();
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), 0);
	assert_int_equal(agent.state, VMP_AGENT_STARTED);
	assert_int_equal(kept, 1);	/* the one that began the conversation */
	say_token(VMPROF_MSG_SNAP_END, agent.token);
	assert_int_equal(agent.state, VMP_AGENT_RUNNING);
}

static void test_agent_dies_within_a_frame(void **state)
{
	static const uint8_t half[2000];
	struct vmprof_frame f;

	(void)state;
	get_running();
	vmp_frame_build(&f, VMPROF_MSG_MAP, guest_seq, half, sizeof(half));
	assert_int_equal(write(guest, &f, sizeof(f)), sizeof(f));
	host_reads();
	say_hello_unasked();	/* swallowed by the half frame */
	assert_int_equal(agent.counts.hellos, 1);
	now_ns += 2 * SECOND;
	vmp_agent_tick(&agent, now_ns);
	assert_int_equal(agent.counts.hellos, 1);	/* the rest may still come */
	now_ns += 5 * SECOND;
	vmp_agent_tick(&agent, now_ns);
	assert_int_equal(agent.counts.hellos, 2);
	assert_int_equal(agent.in.stats.bad_frames, 1);
}

static void test_versions(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	hear(&m);
	say_hello(VMPROF_PROTO_VERSION + 1);
	assert_int_equal(agent.state, VMP_AGENT_REFUSED);
	assert_false(vmp_agent_is_there(&agent));
	say_token(VMPROF_MSG_SNAP_BEGIN, 1);
	assert_int_equal(agent.counts.stale, 1);
	assert_int_equal(hear(&m), 0);
}

static void test_left_over_frames(void **state)
{
	(void)state;
	/* from the conversation with a collector before us */
	say_token(VMPROF_MSG_SNAP_END, 1);
	assert_int_equal(kept, 0);
	assert_int_equal(agent.counts.stale, 1);
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
}

static void test_refused_messages(void **state)
{
	struct vmprof_proc p = { .nr_maps = htole32(100) };
	struct vmprof_credit c = { .bytes = 1 };
	int before;

	(void)state;
	get_running();
	before = kept;
	say(VMPROF_MSG_EXIT, &p, sizeof(p));		/* 100 maps that are not there */
	say(VMPROF_MSG_CREDIT, &c, sizeof(c));		/* only a host says that */
	say(0x7777, "?", 1);
	assert_int_equal(agent.counts.refused, 2);
	assert_int_equal(agent.in.stats.unknown, 1);
	assert_int_equal(kept, before);
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(kept, before + 1);
	assert_int_equal(last_kept, VMPROF_MSG_COMM);
}

static void test_losses_add_up(void **state)
{
	struct vmprof_agent_lost l = { .count = { htole64(5) } };
	struct vmp_agent_msg m;

	(void)state;
	get_running();
	say(VMPROF_MSG_LOST, &l, sizeof(l));
	l.count[0] = htole64(7);
	say(VMPROF_MSG_LOST, &l, sizeof(l));
	assert_int_equal(agent.counts.lost[0], 7);
	say_hello_unasked();	/* counts begin anew */
	hear(&m);
	say_hello(VMPROF_PROTO_VERSION);
	l.count[0] = htole64(2);
	say(VMPROF_MSG_LOST, &l, sizeof(l));
	assert_int_equal(agent.counts.lost[0], 9);
}

static void test_credit(void **state)
{
	static struct { struct vmprof_ksyms k; char text[60000]; } k;
	struct vmp_agent_msg m;
	const struct vmprof_modules modules = { .tsc = htole64(9), .since_tsc = htole64(8) };
	uint64_t given = 0, sent = 0, kept;
	unsigned int type;
	int i;

	(void)state;
	get_running();
	k.k.total = htole64(20 * sizeof(k.text));
	for (i = 0; i < 20; i++) {
		k.k.offset = htole64(i * sizeof(k.text));
		assert_false(agent.ksyms_whole);
		say(VMPROF_MSG_KSYMS, &k, sizeof(k));
		sent += sizeof(k);
		while ((type = hear(&m))) {
			assert_int_equal(type, VMPROF_MSG_CREDIT);
			given += m.credit.bytes;
		}
	}
	assert_true(agent.ksyms_whole);
	assert_true(given <= sent);
	assert_true(sent - given < 1 << 18);
	/* modules came or went: another text is to come, and is kept behind what tells of it */
	kept = agent.counts.kept;
	say(VMPROF_MSG_MODULES, &modules, sizeof(modules));
	assert_int_equal(agent.counts.kept, kept + 1);
	assert_false(agent.ksyms_whole);
}

static void test_talks_too_much(void **state)
{
	static struct { struct vmprof_ksyms k; char text[60000]; } k;
	uint64_t said = 0;

	(void)state;
	get_running();
	k.k.total = htole64(sizeof(k.text));
	while (vmp_agent_events(&agent) & POLLIN) {
		say(VMPROF_MSG_KSYMS, &k, sizeof(k));
		said += sizeof(k);
		assert_true(said <= VMP_AGENT_BURST_BYTES + sizeof(k));
	}
	/* it is heard again, but no faster than the rate */
	now_ns += SECOND;
	vmp_agent_tick(&agent, now_ns);
	assert_true(agent.budget_bytes > 0);
	assert_true(agent.budget_bytes <= (int64_t)(VMP_AGENT_RATE_BYTES + SECOND / 1000000));
}

/* Headers inside what others call their payload: each costs a checksum of 60,000 bytes. */
static void test_false_headers(void **state)
{
	static struct vmprof_frame f[5000];
	uint64_t said = 0, begin_ns;
	int64_t debt;
	ssize_t n;
	size_t i;

	(void)state;
	get_running();
	for (i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		f[i] = (struct vmprof_frame){ .magic = htole32(VMPROF_FRAME_MAGIC), .len = htole32(60000) };
	while (vmp_agent_events(&agent) & POLLIN) {
		n = write(guest, f, sizeof(f));
		said += n > 0 ? (uint64_t)n : 0;
		host_reads();
		assert_true(said <= VMP_AGENT_BURST_BYTES / 100);
	}
	/* what was checksummed is paid for before it is heard again */
	debt = -agent.budget_bytes;
	assert_true(debt > VMP_AGENT_RATE_BYTES);
	begin_ns = now_ns;
	while (!(vmp_agent_events(&agent) & POLLIN)) {
		now_ns += SECOND / 10;
		vmp_agent_tick(&agent, now_ns);
	}
	assert_true((now_ns - begin_ns) / (SECOND / 10) >= (uint64_t)debt / (VMP_AGENT_RATE_BYTES / 10));
}

/* Each HELLO would be answered. */
static void test_hello_flood(void **state)
{
	struct vmp_agent_msg m;
	int i;

	(void)state;
	get_running();
	for (i = 0; i < 1000; i++) {
		say_hello_unasked();
		while (hear(&m))
			;
	}
	assert_int_equal(agent.counts.hellos, VMP_AGENT_HELLOS);
	assert_int_equal(agent.counts.hellos_dropped, 1001 - VMP_AGENT_HELLOS);
	assert_int_equal(kept, 3);	/* none of them */
	assert_false(vmp_agent_is_there(&agent));
	say_token(VMPROF_MSG_SNAP_END, 1);
	assert_int_equal(agent.counts.stale, 1);
	/* one that was only too fast is asked to say it again */
	now_ns += SECOND;
	vmp_agent_tick(&agent, now_ns);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(agent.counts.hellos, VMP_AGENT_HELLOS + 1);
}

static void test_keeps_no_more(void **state)
{
	struct vmprof_task_layout layout = { .lack = 0 };
	struct vmprof_proc p = { .pid = htole32(1) };
	struct vmp_agent_msg m;
	int before;

	(void)state;
	assert_true(agent.keep_bytes >= 1ULL << 30);
	get_running();
	say(VMPROF_MSG_TASKS, &layout, sizeof(layout));
	assert_int_equal(tasks_kept, 1);
	before = kept;
	agent.keep_bytes = agent.counts.kept_bytes + sizeof(struct vmprof_frame) + sizeof(p);
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(kept, before + 1);
	assert_int_equal(agent.counts.dropped, 1);
	assert_true(agent.counts.kept_bytes <= agent.keep_bytes);
	/* no report could know of it: it is not acted upon */
	say(VMPROF_MSG_TASKS, &layout, sizeof(layout));
	assert_int_equal(tasks_kept, 1);
	assert_int_equal(tasks_unkept, 1);
	/* it is still heard */
	vmp_agent_stop(&agent);
	assert_int_equal(hear(&m), VMPROF_MSG_STOP);
	say_token(VMPROF_MSG_DONE, m.token.token);
	assert_int_equal(agent.state, VMP_AGENT_DONE);
}

/* Its module fails at START: greeted again, and what it says then holds */
static void test_module_refuses(void **state)
{
	const uint32_t flags = VMPROF_HELLO_NO_MODULE | VMPROF_HELLO_REFUSED;
	struct {
		struct vmprof_hello h;
		uint8_t error[4];
	} hello = {
		.h = { .version = htole32(5), .compat = htole32(1), .flags = htole32(flags | VMPROF_HELLO_UNASKED) },
		.error = { ENOMEM },
	};
	struct vmp_agent_msg m;
	char why[128];

	(void)state;
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	assert_int_equal(agent.flags, 0);
	assert_int_equal(kept, 1);
	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &hello, sizeof(hello.h) + sizeof(hello.error));
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	assert_int_equal(m.host_hello.session, 0x1234);		/* the same */
	hello.h.flags = htole32(flags);
	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &hello, sizeof(hello.h) + sizeof(hello.error));
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	assert_int_equal(agent.state, VMP_AGENT_STARTED);
	assert_int_equal(agent.flags, flags);
	assert_int_equal(kept, 2);
	assert_non_null(strstr(vmp_no_module_text(why, agent.flags, agent.module_error), "it did not start: Cannot allocate memory"));
	assert_non_null(strstr(vmp_no_module_text(why, VMPROF_HELLO_NO_MODULE, ENOENT), "it is not loaded"));
	assert_non_null(strstr(vmp_no_module_text(why, VMPROF_HELLO_NO_MODULE, EKEYREJECTED), "not loaded, the guest's kernel loads signed modules only"));
	assert_non_null(strstr(vmp_no_module_text(why, VMPROF_HELLO_NO_MODULE, 0), "does not tell why"));
}

/* A snapshot of the conversation is loaded: what its agent says goes on from there, and is of no use. */
static void test_guest_goes_back(void **state)
{
	struct vmprof_proc p = { .tsc = htole64(1000) };
	struct vmp_agent_msg m;

	(void)state;
	get_running();
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	p.tsc = htole64(900);		/* another vCPU's clock */
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	guest_seq++;			/* a lost message */
	p.tsc = htole64(2000);
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(kept, 6);
	assert_int_equal(hear(&m), 0);
	guest_seq -= 3;
	p.tsc = htole64(3000);	/* after the guest has been quiet for longer than it was put back */
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(kept, 6);
	assert_int_equal(agent.counts.stale, 1);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	say(VMPROF_MSG_COMM, &p, sizeof(p));
	assert_int_equal(kept, 8);
	assert_int_equal(hear(&m), 0);
	assert_int_equal(agent.in.stats.seq_gaps, 2);	/* not four billion */
}

static void test_stop_without_agent(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	hear(&m);
	vmp_agent_stop(&agent);
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	say_hello(VMPROF_PROTO_VERSION);	/* too late: nothing begins */
	assert_int_equal(hear(&m), 0);
	assert_false(vmp_agent_is_there(&agent));
}

static void test_port_closed_by_guest(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	get_running();
	vmp_agent_gone(&agent);
	assert_int_equal(agent.state, VMP_AGENT_GREETED);
	assert_int_equal(hear(&m), VMPROF_MSG_HOST_HELLO);	/* for the next one */
}

static void test_end_of_stream(void **state)
{
	(void)state;
	get_running();
	close(guest);
	guest = -1;
	host_reads();
	assert_int_equal(agent.state, VMP_AGENT_CLOSED);
	assert_int_equal(agent.fd, -1);
	assert_int_equal(vmp_agent_events(&agent), 0);
}

/* ------------------------------------------------- kernel symbols that are kept */

#define LASTING	"ffffffff81000000 T one\nffffffff81000010 t two\n"
#define ANOTHER	"ffffffff81000000 T another\n"
#define MADE	"ffffffff80000000 t bpf_prog_1\t[bpf]\n"
#define MADE2	"ffffffff80000040 t tramp\t[__builtin__ftrace]\t40\n"

static char *cache;
static struct vmp_kept store_of[2];
static int renames;		/* files that came into the cache, or anywhere */

int rename(const char *from, const char *to)
{
	renames++;
	return (int)syscall(SYS_rename, from, to);
}

static void symbols_piece(uint64_t offset, uint64_t total, const char *text)
{
	struct {
		struct vmprof_ksyms k;
		char text[60000];
	} m = { .k = { htole64(offset), htole64(total) } };

	strcpy(m.text, text);
	say(VMPROF_MSG_KSYMS, &m, sizeof(m.k) + strlen(text));
}

/* A new conversation of a boot, up to START, which says what the host has of it */
static struct vmp_msg_token begin_again(uint32_t version, uint8_t boot)
{
	struct vmprof_hello h = {
		.version = htole32(version), .compat = htole32(1), .flags = htole32(VMPROF_HELLO_UNASKED), .boot_id = { boot },
	};
	struct vmp_agent_msg m;

	symbols_len = 0;
	symbols[0] = 0;
	now_ns += 2 * SECOND;
	vmp_agent_tick(&agent, now_ns);
	if (version < 3)
		h.flags = 0;
	while (hear(&m))
		;
	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &h, sizeof(h));
	while (hear(&m) != VMPROF_MSG_HOST_HELLO)
		;
	h.flags = 0;
	guest_seq = 0;
	say(VMPROF_MSG_HELLO, &h, sizeof(h));
	assert_int_equal(hear(&m), VMPROF_MSG_START);
	return m.token;
}

static int connect_kept(void **state)
{
	cache = gen_dir();
	setenv("VMPROF_OBJCACHE", cache, 1);
	vmp_kept_init(&store_of[0], "uuid-1");
	vmp_kept_init(&store_of[1], "uuid-2");
	if (connect_pair(state))
		return -1;
	agent.kept = &store_of[0];
	return 0;
}

static int close_kept(void **state)
{
	vmp_kept_drop(&store_of[0]);
	vmp_kept_drop(&store_of[1]);
	gen_rmdir(cache);
	return close_pair(state);
}

static void test_symbols_are_kept(void **state)
{
	const uint64_t len = strlen(LASTING);
	struct vmp_msg_token start;
	int64_t budget;

	(void)state;
	start = begin_again(VMPROF_PROTO_VERSION, 1);
	assert_int_equal(start.kept_bytes, 0);
	symbols_piece(0, len + strlen(MADE), LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 0);	/* it was not whole */
	symbols_piece(0, len + strlen(MADE), LASTING);
	symbols_piece(len, len + strlen(MADE), MADE);
	assert_true(agent.ksyms_whole);

	/* what comes and goes is sent each time */
	start = begin_again(VMPROF_PROTO_VERSION, 1);
	assert_int_equal(start.kept_bytes, len);
	assert_int_equal(start.kept_crc, vmp_crc32c(0, LASTING, len));
	assert_false(agent.ksyms_whole);
	budget = agent.budget_bytes;
	symbols_piece(len, len + strlen(MADE2), MADE2);
	assert_string_equal(symbols, LASTING MADE2);
	assert_true(agent.ksyms_whole);
	assert_int_equal(agent.counts.ksyms_kept, len);
	assert_int_equal(budget - agent.budget_bytes, len + strlen(MADE2) +	/* as if it had come */
			 sizeof(struct vmprof_ksyms) + sizeof(struct vmprof_frame));

	/* nothing else is there */
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, len);
	symbols_piece(len, len, "");
	assert_string_equal(symbols, LASTING);
	assert_true(agent.ksyms_whole);

	/* a module was loaded meanwhile, and one more in the session */
	begin_again(VMPROF_PROTO_VERSION, 1);
	symbols_piece(0, strlen(LASTING LASTING), LASTING LASTING);
	assert_string_equal(symbols, LASTING LASTING);
	symbols_piece(0, strlen(LASTING LASTING LASTING), LASTING LASTING LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 3 * len);

	/* with a gap it is not whole */
	symbols_piece(0, 4 * len, LASTING);
	symbols_piece(2 * len, 4 * len, LASTING);
	symbols_piece(2 * len, 4 * len, LASTING LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 3 * len);
	assert_int_equal(agent.counts.refused + agent.counts.ksyms_gone + agent.counts.dropped, 0);
}

/* More than one message holds */
static void test_many_symbols_are_kept(void **state)
{
	static char half[31 * 1900 + 1];
	size_t i;

	(void)state;
	for (i = 0; i + 1 < sizeof(half); i += 31)
		snprintf(half + i, 32, "ffffffff81%06zx T function%03zx\n", i, i % 0xfff);
	begin_again(VMPROF_PROTO_VERSION, 1);
	symbols_piece(0, 117800, half);
	symbols_piece(58900, 117800, half);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 117800);
	symbols_piece(117800, 117800, "");
	assert_int_equal(symbols_len, 117800);
	assert_memory_equal(symbols, half, 58900);
	assert_memory_equal(symbols + 58900, half, 58900);
}

/* Of another boot, another domain, to an agent that would not understand: not told */
static void test_symbols_of_others(void **state)
{
	(void)state;
	begin_again(VMPROF_PROTO_VERSION, 1);
	symbols_piece(0, strlen(LASTING), LASTING);
	assert_int_equal(begin_again(5, 1).kept_bytes, 0);
	assert_int_equal(begin_again(1, 1).kept_bytes, 0);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 2).kept_bytes, 0);
	agent.kept = &store_of[1];
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 0);
	agent.kept = NULL;
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 0);
	agent.kept = &store_of[0];
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, strlen(LASTING));
	/* another boot takes its place; of an old agent's text, whose order is another, nothing is of use */
	begin_again(5, 2);
	symbols_piece(0, strlen(MADE LASTING), MADE LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, strlen(LASTING));
	begin_again(VMPROF_PROTO_VERSION, 2);
	symbols_piece(0, strlen(LASTING), LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, 0);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 2).kept_bytes, strlen(LASTING));
	/* what is no domain's name is no folder */
	vmp_kept_init(&store_of[0], "../uuid-2");
	begin_again(VMPROF_PROTO_VERSION, 3);
	symbols_piece(0, strlen(LASTING), LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 3).kept_bytes, 0);
}

/* It counts on what the host does not have: no symbols, which is counted, and nothing else */
static void test_symbols_that_are_not_kept(void **state)
{
	char path[512];

	(void)state;
	begin_again(VMPROF_PROTO_VERSION, 1);
	symbols_piece(4096, 4096, "");
	symbols_piece(4096, 4096 + strlen(MADE), MADE);
	assert_int_equal(agent.counts.refused, 2);
	assert_false(agent.ksyms_whole);
	assert_int_equal(symbols_len, 0);
	symbols_piece(0, strlen(LASTING), LASTING);
	assert_true(agent.ksyms_whole);

	begin_again(VMPROF_PROTO_VERSION, 1);
	symbols_piece(strlen(LASTING) - 1, strlen(LASTING), "\n");
	assert_int_equal(agent.counts.refused, 3);
	symbols_piece(strlen(LASTING), strlen(LASTING), "");
	assert_string_equal(symbols, LASTING);
	symbols_piece(strlen(LASTING), strlen(LASTING), "");	/* again: once is enough */
	assert_int_equal(agent.counts.ksyms_kept, strlen(LASTING));

	/* it was replaced, then removed, after START had told of it */
	assert_int_equal(vmp_objcache_path(path, sizeof(path), store_of[0].key), 0);
	begin_again(VMPROF_PROTO_VERSION, 1);
	assert_int_equal(vmp_file_write(path, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" ANOTHER, 16 + strlen(ANOTHER)), 0);
	symbols_piece(strlen(LASTING), strlen(LASTING), "");
	assert_int_equal(agent.counts.ksyms_gone, 1);
	assert_int_equal(symbols_len, 0);
	begin_again(VMPROF_PROTO_VERSION, 1);
	assert_int_equal(unlink(path), 0);
	symbols_piece(strlen(ANOTHER), strlen(ANOTHER), "");
	assert_int_equal(agent.counts.ksyms_gone, 2);
	assert_int_equal(symbols_len, 0);
	assert_true(agent.ksyms_whole);		/* nothing more is waited for */
}

/* Whatever a guest says how often, its symbols are written once a tick, and only if they are others. */
static void test_many_texts(void **state)
{
	char text[64];
	int i, kept_before;

	(void)state;
	begin_again(VMPROF_PROTO_VERSION, 1);
	renames = 0;
	kept_before = kept;
	for (i = 0; i < 1000; i++)
		symbols_piece(0, 1, i % 2 ? "a" : "b");
	assert_int_equal(agent.counts.refused, 1000);	/* that is no line */
	assert_int_equal(kept, kept_before);
	for (i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "ffffffff81%06x T x\n", i);
		symbols_piece(0, strlen(text), text);
	}
	assert_int_equal(kept, kept_before + 1000);
	assert_true(agent.ksyms_whole);
	assert_int_equal(renames, 0);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_crc, vmp_crc32c(0, text, strlen(text)));
	assert_int_equal(renames, 1);

	/* the same once more; the same in what lasts; another one */
	symbols_piece(0, strlen(text), text);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, strlen(text));
	strcat(text, MADE);
	symbols_piece(0, strlen(text), text);
	begin_again(VMPROF_PROTO_VERSION, 1);
	assert_int_equal(renames, 1);
	symbols_piece(0, strlen(LASTING), LASTING);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, strlen(LASTING));
	assert_int_equal(renames, 2);

	/* the next conversation begins before the tick */
	symbols_piece(0, strlen(LASTING LASTING), LASTING LASTING);
	say_hello_unasked();
	say_hello(VMPROF_PROTO_VERSION);
	assert_int_equal(renames, 3);
	assert_int_equal(begin_again(VMPROF_PROTO_VERSION, 1).kept_bytes, strlen(LASTING LASTING));
}

#define T(name) cmocka_unit_test_setup_teardown(name, connect_pair, close_pair)
#define K(name) cmocka_unit_test_setup_teardown(name, connect_kept, close_kept)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whole_conversation), T(test_agent_restarts), T(test_old_agent_restarts),
		T(test_slow_agent), T(test_agent_dies_within_a_frame), T(test_versions),
		T(test_left_over_frames), T(test_refused_messages), T(test_losses_add_up), T(test_credit),
		T(test_talks_too_much), T(test_false_headers), T(test_hello_flood), T(test_keeps_no_more),
		T(test_module_refuses), T(test_guest_goes_back), T(test_stop_without_agent), T(test_port_closed_by_guest),
		T(test_end_of_stream), K(test_symbols_are_kept), K(test_many_symbols_are_kept),
		K(test_symbols_of_others), K(test_symbols_that_are_not_kept), K(test_many_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
