// SPDX-License-Identifier: GPL-2.0-only
/* test_collect_agent.c - the conversation with an agent, played over a socket pair; fetched objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/control.h"
#include "collect/fetch.h"
#include "collect/housekeep.h"
#include "collect/logfile.h"
#include "collect/statedir.h"
#include "util/capdir.h"
#include "util/file.h"

#define SECOND 1000000000ULL

static struct vmp_agent agent;
static struct vmp_frame_decoder heard;	/* what the host sent */
static int guest = -1;			/* the guest's end */
static uint32_t guest_seq;
static uint64_t now_ns;
static int kept, objects, object_wanted, tasks_kept, tasks_unkept;
static uint16_t last_kept;

static void keep(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	struct vmprof_frame again;

	(void)arg;
	/* what is kept is a frame that checks */
	vmp_frame_build(&again, le16toh(wire->type), le32toh(wire->seq), payload, len);
	assert_memory_equal(&again, wire, sizeof(again));
	last_kept = le16toh(wire->type);
	kept++;
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
	uint64_t given = 0, sent = 0;
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
	assert_non_null(strstr(vmp_no_module_text(why, VMPROF_HELLO_NO_MODULE, 0), "does not tell why"));
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

/* ------------------------------------------------------------- objects */

static char cache[64];
static struct vmp_fetch fetch;

static int make_cache(void **state)
{
	(void)state;
	strcpy(cache, "/tmp/vmprof-test.XXXXXX");
	vmp_fetch_init(&fetch);
	return !mkdtemp(cache) || setenv("VMPROF_OBJCACHE", cache, 1);
}

static int remove_cache(void **state)
{
	char cmd[128];

	(void)state;
	vmp_fetch_free(&fetch);
	unsetenv("VMPROF_OBJCACHE");
	snprintf(cmd, sizeof(cmd), "rm -rf %s", cache);
	return system(cmd);
}

static int add(uint32_t file, uint64_t bytes, const uint8_t *build_id, size_t build_id_len, const char *key)
{
	const struct vmp_needed n = {
		.file = file, .bytes = bytes, .build_id = build_id, .build_id_len = build_id_len, .key = key,
		.path = "/usr/lib/lib.so",
	};

	return vmp_fetch_add(&fetch, &n);
}

static int files_in_cache(void)
{
	char cmd[128];
	FILE *f;
	int n = -1;

	snprintf(cmd, sizeof(cmd), "find %s -type f | wc -l", cache);
	f = popen(cmd, "r");
	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

static int piece(uint32_t file, uint64_t offset, uint64_t total, const char *data, uint32_t status)
{
	const struct vmp_msg_object o = {
		.file = file, .status = status, .offset = offset, .total = total,
		.data = { data, (uint32_t)strlen(data) },
	};

	return vmp_fetch_object(&fetch, &o, now_ns);
}

/* What is asked for now; 0 nothing */
static uint32_t asks(void)
{
	struct vmp_msg_get_object ask;

	return vmp_fetch_next(&fetch, now_ns, &ask) ? ask.file : 0;
}

static void test_fetch(void **state)
{
	char path[4096], *data;
	size_t len;

	(void)state;
	now_ns = SECOND;
	assert_int_equal(add(7, 8, (const uint8_t *)"\xab\xcd", 2, "u-1/abcd"), 0);
	assert_int_equal(add(8, 3, NULL, 0, "u-1/x0123"), 0);
	assert_string_equal(fetch.items[0].build_id, "abcd");
	assert_int_equal(asks(), 7);
	assert_int_equal(asks(), 0);			/* one at a time */
	assert_int_equal(piece(9, 0, 8, "other", 0), 0);	/* not asked for */
	assert_int_equal(piece(7, 0, 8, "half", 0), 1);
	assert_false(vmp_objcache_has("u-1/abcd"));		/* not before it is whole */
	assert_int_equal(piece(7, 4, 8, "full", 0), 1);
	assert_true(vmp_objcache_has("u-1/abcd"));
	vmp_objcache_path(path, sizeof(path), "u-1/abcd");
	assert_int_equal(vmp_file_read(path, 100, &data, &len), 0);
	assert_string_equal(data, "halffull");
	free(data);
	assert_int_equal(asks(), 8);
	assert_int_equal(piece(8, 0, 3, "xyz", 0), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.fetched, 2);
	/* known now: listed, not asked for */
	assert_int_equal(add(9, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
}

static void test_fetch_refuses(void **state)
{
	static const struct { uint64_t offset, total; const char *data; uint32_t status; } bad[] = {
		{ 0, 9, "x", 0 },	/* another size than was told */
		{ 4, 8, "x", 0 },	/* a hole */
		{ 0, 8, "", 2 },	/* the guest could not read it */
	};
	char text[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(add(1 + i, 8, NULL, 0, "u-1/abcd"), 0);
		assert_int_not_equal(asks(), 0);
		assert_int_equal(piece(1 + i, bad[i].offset, bad[i].total, bad[i].data,
				       bad[i].status), 1);
		assert_int_equal(fetch.failed, i + 1);
	}
	assert_int_equal(files_in_cache(), 0);
	assert_int_equal(add(1, VMPROF_OBJECT_BYTES_MAX + 1, NULL, 0, "u-1/ef01"),
			 -ENOBUFS);
	assert_int_equal(add(1, VMP_FETCH_SUM_BYTES, NULL, 0, "u-1/ef01"), -ENOBUFS);
	assert_int_equal(fetch.over, 2);
	assert_int_equal(fetch.why[VMP_FETCH_OTHER], 1);
	assert_int_equal(fetch.why[VMP_FETCH_ABSENT], 2);
	assert_int_equal(fetch.why[VMP_FETCH_OVER], 2);
	assert_string_equal(vmp_fetch_causes(&fetch, text, sizeof(text)),
			    "2 not there or not to be read, 1 of another build by now, 2 over the limits of one guest");
	assert_string_equal(vmp_fetch_causes(&fetch, text, 12), "2 not there");
}

/* --objects none: nothing is asked for, and that is no failure */
static void test_fetch_forbidden(void **state)
{
	char text[128];

	(void)state;
	assert_int_equal(add(1, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add(2, 8, NULL, 0, "u-1/abce"), 0);
	vmp_fetch_abort(&fetch, -EPERM);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(asks(), 0);
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(fetch.why[VMP_FETCH_FORBIDDEN], 2);
	assert_string_equal(vmp_fetch_causes(&fetch, text, sizeof(text)), "2 by --objects none");
}

/* A stripped library and its debug file, as a distribution makes them, from the compiler */
static struct {
	char *binary, *debug;
	size_t binary_len, debug_len;
} lib;

static void build_library(void)
{
	char path[128];

	assert_int_equal(setenv("DIR", cache, 1), 0);
	assert_int_equal(system("cd $DIR && echo 'static int f(int x) { return x; } int g(int x) { return f(x); }' > x.c && "
				"cc -g -shared -fPIC -Wl,--build-id=0xabcdef01 -o whole x.c && "
				"objcopy --only-keep-debug whole debug && strip -o stripped whole"), 0);
	snprintf(path, sizeof(path), "%s/stripped", cache);
	assert_int_equal(vmp_file_read(path, 1 << 20, &lib.binary, &lib.binary_len), 0);
	snprintf(path, sizeof(path), "%s/debug", cache);
	assert_int_equal(vmp_file_read(path, 1 << 20, &lib.debug, &lib.debug_len), 0);
	assert_true(lib.debug_len > 4096);
	assert_int_equal(system("rm $DIR/x.c $DIR/whole $DIR/stripped $DIR/debug"), 0);
}

static void free_library(void)
{
	free(lib.binary);
	free(lib.debug);
}

static int part(uint32_t file, uint64_t offset, uint64_t total, const char *data, size_t len)
{
	const struct vmp_msg_object o = {
		.file = file, .offset = offset, .total = total, .data = { data + offset, (uint32_t)len },
	};

	return vmp_fetch_object(&fetch, &o, now_ns);
}

/* The library has come; its debug file is asked for. */
static void fetch_library(void)
{
	struct vmp_msg_get_object ask;

	build_library();
	now_ns = SECOND;
	assert_int_equal(add(7, lib.binary_len, (const uint8_t *)"\xab\xcd\xef\x01", 4,
				       "u-1/abcdef01"), 0);
	assert_int_equal(asks(), 7);
	part(7, 0, lib.binary_len, lib.binary, lib.binary_len);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(ask.file, 7 | VMPROF_OBJECT_DEBUG);
	assert_int_equal(ask.offset, 0);
	assert_int_equal(ask.len, 4096);		/* its size is not known yet */
}

static void test_fetch_debug(void **state)
{
	const uint32_t debug = 7 | VMPROF_OBJECT_DEBUG;
	struct vmp_msg_get_object ask;
	char path[4096];

	(void)state;
	fetch_library();
	/* within the credit the agent may send less than was asked for */
	assert_int_equal(part(debug, 0, lib.debug_len, lib.debug, 1000), 1);
	assert_int_equal(asks(), 0);
	assert_int_equal(part(debug, 1000, lib.debug_len, lib.debug, 3096), 1);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(ask.file, debug);
	assert_int_equal(ask.offset, 4096);
	assert_int_equal(ask.len, lib.debug_len - 4096);
	assert_int_equal(asks(), 0);
	assert_false(vmp_fetch_done(&fetch));
	assert_int_equal(part(debug, 4096, lib.debug_len, lib.debug, lib.debug_len - 4096), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.debug_fetched, 1);
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(vmp_objcache_path(path, sizeof(path) - 6, "u-1/abcdef01"), 0);
	strcat(path, ".debug");
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(files_in_cache(), 2);

	/* the next session has both and asks for neither */
	vmp_fetch_free(&fetch);
	assert_int_equal(add(9, lib.binary_len, (const uint8_t *)"\xab\xcd\xef\x01", 4,
				       "u-1/abcdef01"), 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.failed, 0);
	free_library();
}

/* None there (an agent of an earlier version says the same), too large, or of something else:
   nothing is kept and no binary counts as missing. */
static void test_fetch_debug_refuses(void **state)
{
	const uint32_t debug = 7 | VMPROF_OBJECT_DEBUG;

	(void)state;
	fetch_library();
	assert_int_equal(piece(debug, 0, 0, "", ENOENT), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.debug_refused, 0);
	free_library();

	vmp_fetch_free(&fetch);
	assert_int_equal(remove_cache(NULL), 0);
	assert_int_equal(make_cache(NULL), 0);
	fetch_library();
	assert_int_equal(part(debug, 0, VMP_FETCH_DEBUG_BYTES + 1, lib.debug, 4096), 1);
	assert_int_equal(asks(), 0);
	assert_int_equal(fetch.debug_refused, 1);
	free_library();

	vmp_fetch_free(&fetch);
	assert_int_equal(remove_cache(NULL), 0);
	assert_int_equal(make_cache(NULL), 0);
	fetch_library();
	memset(memmem(lib.debug, 4096, "\xab\xcd\xef\x01", 4), 0, 4);
	part(debug, 0, lib.debug_len, lib.debug, 4096);
	assert_int_equal(asks(), debug);
	part(debug, 4096, lib.debug_len, lib.debug, lib.debug_len - 4096);
	assert_int_equal(fetch.debug_refused, 1);
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(files_in_cache(), 1);
	free_library();
}

static void test_fetch_timeout(void **state)
{
	(void)state;
	now_ns = SECOND;
	add(1, 8, NULL, 0, "u-1/abcd");
	add(2, 8, NULL, 0, "abce");
	assert_int_equal(asks(), 1);
	piece(1, 0, 8, "ha", 0);
	vmp_fetch_tick(&fetch, now_ns + VMP_FETCH_PATIENCE_NS);
	assert_int_equal(fetch.failed, 0);
	vmp_fetch_tick(&fetch, now_ns + VMP_FETCH_PATIENCE_NS + 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(piece(1, 2, 8, "late", 0), 0);
	vmp_fetch_abort(&fetch, -ECANCELED);
	assert_int_equal(fetch.failed, 2);
	assert_int_equal(files_in_cache(), 0);
}

/* An object or another file of the cache, last used @ago seconds before now */
static void put_object(const char *name, size_t bytes, time_t ago)
{
	struct timespec when[2] = { { time(NULL) - ago, 0 }, { time(NULL) - ago, 0 } };
	char file[4096], *zeros = calloc(1, bytes + 1);
	int fd;

	snprintf(file, sizeof(file), "%s/%s", cache, name);
	*strrchr(file, '/') = 0;
	assert_int_equal(vmp_make_dirs(file, 0700), 0);
	file[strlen(file)] = '/';
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(vmp_write_all(fd, zeros, bytes), 0);
	assert_int_equal(futimens(fd, when), 0);
	close(fd);
	free(zeros);
}

static int is_there(const char *name)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/%s", cache, name);
	return !access(file, F_OK);
}

static void test_cache_trim(void **state)
{
	(void)state;
	put_object("u-1/ab/cd", 1000, 5000);
	put_object("u-1/ab/ce", 1000, 9000);
	put_object("u-2/ab/cd", 1000, 7000);
	put_object("u-2/ff/00", 1000, 10);
	assert_int_equal(vmp_cache_trim(4000, time(NULL)), 4000);
	assert_int_equal(files_in_cache(), 4);
	/* one that is needed again is young again */
	assert_int_equal(add(1, 1000, NULL, 0, "u-1/abce"), 0);
	assert_int_equal(vmp_cache_trim(3500, time(NULL)), 3000);
	assert_false(is_there("u-2/ab/cd"));
	assert_int_equal(vmp_cache_trim(0, time(NULL)), 2000);
	assert_true(is_there("u-1/ab/ce") && is_there("u-2/ff/00"));
}

/* What does not fit any more is counted, and nothing is left of it. */
static void test_cache_is_full(void **state)
{
	uint64_t room = 10;

	(void)state;
	now_ns = SECOND;
	fetch.cache_room = &room;
	add(1, 8, NULL, 0, "u-1/abcd");
	add(2, 8, NULL, 0, "u-1/abce");
	add(3, UINT64_MAX / 2, NULL, 0, "u-1/abcf");	/* too much already */
	assert_int_equal(asks(), 1);
	assert_int_equal(room, 2);
	piece(1, 0, 8, "halffull", 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(files_in_cache(), 1);
}

static void test_leftovers(void **state)
{
	(void)state;
	setenv("VMPROF_DIR", cache, 1);
	put_object("u-1/ab/cd", 8, 5000);
	put_object("u-1/ab/cd.debug", 8, 5000);		/* lies there by hand */
	put_object("u-1/ab/cd.x0Y9zZ", 8, 5000);	/* its collector was killed */
	put_object("u-1/ab/ce.x0Y9zZ", 8, 5);		/* it may be arriving */
	put_object("web01/2026.vmprof", 8, 5000);
	put_object("web01/2026.vmprof.new", 8, 5000);
	put_object("web01/2027.vmprof.new", 8, 5);
	assert_int_equal(vmp_sweep_leftovers(time(NULL)), 2);
	assert_false(is_there("u-1/ab/cd.x0Y9zZ") || is_there("web01/2026.vmprof.new"));
	assert_int_equal(files_in_cache(), 5);
	unsetenv("VMPROF_DIR");
	setenv("VMPROF_OBJCACHE", "/nonexistent", 1);
	assert_int_equal(vmp_cache_trim(0, time(NULL)), 0);
}

/* ------------------------------------------------ messages, state, socket */

static void test_control(void **state)
{
	struct vmp_control_client *k = NULL;
	struct vmp_control c;
	struct pollfd p[1 + VMP_CONTROL_CLIENTS];
	char *json = NULL;
	int status;
	pid_t pid;

	(void)state;
	setenv("VMPROF_RUN_DIR", cache, 1);
	assert_true(vmp_control_ask("status", NULL) < 0);	/* nobody there */
	vmp_control_init(&c);
	assert_int_equal(vmp_control_open(&c), 0);
	pid = fork();
	if (!pid)
		_exit(vmp_control_ask("status", &json) == 3 && json && !strcmp(json, "{}") ? 0 : 1);
	assert_int_equal(vmp_control_fill(&c, p), 1);
	assert_int_equal(poll(p, 1, 5000), 1);
	vmp_control_accept(&c);
	assert_int_equal(vmp_control_fill(&c, p), 2);
	assert_int_equal(poll(p + 1, 1, 5000), 1);
	assert_int_equal(vmp_control_read(&c, p[1].fd, &k), VMP_CONTROL_STATUS);
	vmp_control_reply(k, 'J', "{}", 0);
	vmp_control_reply(k, 'X', "3", 1);
	assert_int_equal(vmp_control_fill(&c, p), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* a descriptor that was dropped meanwhile is no client */
	assert_int_equal(vmp_control_read(&c, p[1].fd, &k), VMP_CONTROL_NOTHING);
	vmp_control_close(&c);
	unsetenv("VMPROF_RUN_DIR");
}

static void test_log_has_an_end(void **state)
{
	struct vmp_logfile log;
	char path[128], *text;
	size_t len;
	int i;

	(void)state;
	snprintf(path, sizeof(path), "%s/log", cache);
	vmp_logfile_open(&log, path);
	for (i = 0; i < 100000; i++)
		vmp_logfile_line(&log, "warning: ", "the agent answers, guest kernel 6.12 (again)");
	vmp_logfile_close(&log);
	assert_int_equal(vmp_file_read(path, 16 << 20, &text, &len), 0);
	assert_true(len > VMP_LOGFILE_BYTES);
	assert_true(len < VMP_LOGFILE_BYTES + 4096);
	assert_non_null(strstr(text + len - 200, "the log ends here"));
	free(text);
	/* and none where there is no place for it */
	vmp_logfile_open(&log, "/nonexistent/log");
	vmp_logfile_line(&log, "", "nothing");
	vmp_logfile_close(&log);
}

static void test_state(void **state)
{
	char path[4096], last[4096], *json;
	int lock, status;
	pid_t pid, seen;

	(void)state;
	setenv("VMPROF_RUN_DIR", cache, 1);
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_NONE);
	lock = vmp_state_lock();
	assert_true(lock >= 0);
	pid = fork();
	if (!pid)
		_exit(vmp_state_lock() != -EBUSY || vmp_state_look(&seen, &json) !=
		      VMP_STATE_RUNNING || seen != getppid());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* killed: the lock went with it, session.json stays */
	vmp_file_write(vmp_state_path(path, sizeof(path), "session.json"), "{}", 2);
	close(lock);
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_STALE);
	assert_int_equal(seen, getpid());
	assert_string_equal(json, "{}");
	free(json);
	vmp_state_clean();
	assert_int_equal(vmp_state_look(&seen, &json), VMP_STATE_NONE);
	assert_int_equal(vmp_state_last(path, sizeof(path)), -ENOENT);
	vmp_state_path(last, sizeof(last), "last.json");
	vmp_file_write(last, "{\"file\":\"/tmp/a b.vmprof\"}", 26);
	assert_int_equal(vmp_state_last(path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/a b.vmprof");
	vmp_file_write(last, "{\"file\":7", 9);
	assert_int_equal(vmp_state_last(path, sizeof(path)), -ENOENT);
	unsetenv("VMPROF_RUN_DIR");
}

#define WITH_AGENT(t) cmocka_unit_test_setup_teardown(t, connect_pair, close_pair)
#define WITH_CACHE(t) cmocka_unit_test_setup_teardown(t, make_cache, remove_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_AGENT(test_whole_conversation),
		WITH_AGENT(test_agent_restarts),
		WITH_AGENT(test_old_agent_restarts),
		WITH_AGENT(test_slow_agent),
		WITH_AGENT(test_agent_dies_within_a_frame),
		WITH_AGENT(test_versions),
		WITH_AGENT(test_left_over_frames),
		WITH_AGENT(test_refused_messages),
		WITH_AGENT(test_losses_add_up),
		WITH_AGENT(test_credit),
		WITH_AGENT(test_talks_too_much),
		WITH_AGENT(test_false_headers),
		WITH_AGENT(test_hello_flood),
		WITH_AGENT(test_keeps_no_more),
		WITH_AGENT(test_module_refuses),
		WITH_AGENT(test_stop_without_agent),
		WITH_AGENT(test_port_closed_by_guest),
		WITH_AGENT(test_end_of_stream),
		WITH_CACHE(test_fetch),
		WITH_CACHE(test_fetch_refuses),
		WITH_CACHE(test_fetch_forbidden),
		WITH_CACHE(test_fetch_debug),
		WITH_CACHE(test_fetch_debug_refuses),
		WITH_CACHE(test_fetch_timeout),
		WITH_CACHE(test_cache_trim),
		WITH_CACHE(test_cache_is_full),
		WITH_CACHE(test_leftovers),
		WITH_CACHE(test_control),
		WITH_CACHE(test_log_has_an_end),
		WITH_CACHE(test_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
