// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_session.c - the agent's conversation with a host: order, restarts,
 * nonsense, a full port, other versions.
 */
#include "agent_talk.h"

static void test_conversation(void **state)
{
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5), .comm = "sh" };
	struct vmp_agent_msg m;

	(void)state;
	greet(0);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.version, VMPROF_PROTO_VERSION);
	assert_int_equal(m.hello.tsc_khz, 1234);
	assert_int_equal(m.hello.flags & VMPROF_HELLO_NO_MODULE, 0);
	assert_int_equal(module.tracing, 0);

	assert_int_equal(m.hello.module_error, 0);
	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear().type, VMPROF_MSG_TASKS);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_BEGIN);
	assert_int_equal(module.tracing, 1);
	module_put(VMPROF_MSG_PROC, &p, sizeof(p));
	module_snapshot_end(7);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_PROC);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);

	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear().token.token, 8);
	module_snapshot_end(8);
	module_put(VMPROF_MSG_EXIT, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_int_equal(hear().type, VMPROF_MSG_EXIT);	/* what the ring still holds */
	assert_int_equal(module.tracing, 0);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_DONE);
	assert_int_equal(m.token.token, 8);
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* It runs, its snapshot was heard, and it waits for what comes */
static void start_and_read(void)
{
	start(0);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
	agent.gather_until_ms = 0;
}

/* Events that come right after others are read with more of their kind, but STOP does not wait for that. */
static void test_events_are_read_together(void **state)
{
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5), .comm = "sh" };

	(void)state;
	start_and_read();
	assert_true(vmp_session_wants_records(&agent));
	assert_int_equal(vmp_session_timeout_ms(&agent), LOST_CHECK_MS);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	hear_type(VMPROF_MSG_FORK);
	assert_in_range(agent.gather_until_ms, 1, vmp_now_ms() + GATHER_MS);
	agent.gather_until_ms = vmp_now_ms() + 10 * LOST_CHECK_MS;	/* however slow this test is */
	assert_false(vmp_session_wants_records(&agent));
	assert_in_range(vmp_session_timeout_ms(&agent), 1, 10 * LOST_CHECK_MS);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	assert_true(vmp_session_wants_records(&agent));
}

/* What the module keeps together itself is not waited for once more: each wait is a wake-up */
static void test_told_is_not_gathered(void **state)
{
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5), .comm = "sh" };

	(void)state;
	start_and_read();
	module.flags = VMPG_RECORD_TOLD;
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	hear_type(VMPROF_MSG_FORK);
	assert_int_equal(agent.gather_until_ms, 0);
	assert_true(vmp_session_wants_records(&agent));
	module.flags = VMPG_RECORD_FRESH;
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	hear_type(VMPROF_MSG_FORK);
	assert_true(agent.gather_until_ms > 0);
	module.flags = 0;
}

static void fork_of(uint32_t pid)
{
	struct vmprof_proc p = { .pid = htole32(pid), .tgid = htole32(pid), .comm = "sh" };

	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
}

/* One round of the agent's loop.  Return: how long it would wait then, events or not */
static int round_of_loop(void)
{
	int more = vmp_session_step(&agent);

	assert_true(vmp_out_flush(&agent.out, agent_fd, vmp_now_ms()) >= 0);
	if (more || (vmp_session_wants_records(&agent) && module.at < module.end))
		return 0;
	return vmp_session_timeout_ms(&agent);
}

/* An event each 5 ms for a second: each is read in time, and comes in time, with few writes */
static void test_few_writes(void **state)
{
	uint64_t begin, next, unread = 0, unsent = 0;	/* since when events are */
	uint32_t nr = 0, heard = 0;
	unsigned int rounds;

	(void)state;
	start(0);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
	begin = next = stopped_at_ms = vmp_now_ms();
	writes = 0;
	for (rounds = 0; nr < 200 || unsent; rounds++) {
		int wait;

		while (nr < 200 && next <= stopped_at_ms) {
			unread = unread ? unread : next;
			unsent = unsent ? unsent : next;
			fork_of(++nr);
			next += 5;
		}
		wait = round_of_loop();
		assert_true(wait >= 0 && rounds < 2000);
		/* files of short lives are looked at when events are read */
		assert_true(!unread || stopped_at_ms - unread <= 10);
		assert_true(!unsent || stopped_at_ms - unsent <= 120);
		if (module.at == module.end)
			unread = 0;
		if (!unread && !vmp_out_pending(&agent.out))
			unsent = 0;
		/* the next event wakes it only where it waits for one */
		if (nr < 200 && vmp_session_wants_records(&agent) && stopped_at_ms + (uint64_t)wait > next)
			wait = (int)(next - stopped_at_ms);
		stopped_at_ms += (uint64_t)wait;
	}
	assert_in_range(stopped_at_ms - begin, 995, 2000);
	assert_in_range(writes, 8, 11);
	while (heard < 200)
		assert_int_equal(hear().proc.pid, ++heard);
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* What the host waits for goes out at once, and what lies before it, too; the clock is stopped */
static void test_no_wait(void **state)
{
	(void)state;
	stopped_at_ms = vmp_now_ms();
	start(0);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
	fork_of(1);
	assert_int_equal(hear().type, 0);
	assert_in_range(vmp_session_timeout_ms(&agent), 1, VMP_OUT_HOLD_MS);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_BEGIN);
	fork_of(2);
	module_snapshot_end(8);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_int_equal(hear().type, VMPROF_MSG_DONE);

	/* HELLO takes the place of what was not sent */
	tell_token(VMPROF_MSG_START, 9);
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	fork_of(3);
	assert_int_equal(hear().type, 0);
	greet(0);
	assert_int_equal(hear().type, VMPROF_MSG_HELLO);
	assert_int_equal(hear().type, 0);
	assert_clean();
}

/* STOP while the first snapshot is being made, whose end may lie in the ring already */
static void test_early_stop(void **state)
{
	(void)state;
	start(0);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	assert_int_equal(module.snapshots, 1);
	module_snapshot_end(7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	work();
	assert_int_equal(module.snapshots, 2);
	assert_int_equal(module.tracing, 1);
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);

	/* its end is read while it still runs */
	start(0);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(7);
	module.busy_behind = 2;
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	work();
	work();
	assert_int_equal(module.snapshots, 2);
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);

	/* the same with the first end not read when the second is asked for */
	start(0);
	module_snapshot_end(7);
	assert_int_equal(vmp_module_snapshot(0, 8), 0);
	module.busy = 0;
	agent.snapshots++;
	agent.state = VMP_STOPPING;
	agent.stop_snapshot = 1;
	agent.stop_token = 8;
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	work();
	assert_int_equal(module.tracing, 1);
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
}

static void test_stop_of_nothing(void **state)
{
	(void)state;
	greet(0);
	tell_token(VMPROF_MSG_STOP, 3);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 3);
}

/* A new collector greets while the port is full of the old one's frames. */
static void test_restart(void **state)
{
	static uint8_t big[60000];
	struct vmp_agent_msg m;
	int i, exits = 0;

	(void)state;
	start(0);
	for (i = 0; i < 16; i++)
		module_put(VMPROF_MSG_EXIT, big, sizeof(big));
	work();
	assert_true(vmp_out_pending(&agent.out) > 0);
	greet(0);
	work();
	assert_int_equal(module.tracing, 0);
	do {
		m = hear();
		exits += m.type == VMPROF_MSG_EXIT;
	} while (m.type != VMPROF_MSG_HELLO);
	assert_in_range(exits, 1, 15);
	tell_token(VMPROF_MSG_START, 9);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 9);
	assert_clean();
}

/* Nobody reads: the agent holds a bounded amount and loses nothing of it. */
static void test_frozen_host(void **state)
{
	struct vmprof_proc p = { .tgid = htole32(1) };
	uint32_t i, seen;

	(void)state;
	start(0);
	for (i = 0; i < 40000; i++) {
		p.pid = htole32(i);
		module_put(VMPROF_MSG_FORK, &p, sizeof(p));
		if (i % 1000 == 0)
			work();
	}
	work();
	assert_true(vmp_out_pending(&agent.out) <= VMP_OUT_BYTES);
	for (seen = 0; seen < 40000; seen++)
		assert_int_equal(hear_type(VMPROF_MSG_FORK).proc.pid, seen);
	assert_clean();
}

static void test_nonsense(void **state)
{
	struct vmprof_get_object get = { .file = htole32(99), .len = htole32(10) };
	struct vmp_agent_msg m;
	unsigned int type;
	uint8_t junk[4096];

	(void)state;
	tell_token(VMPROF_MSG_START, 1);	/* without a greeting */
	tell_token(VMPROF_MSG_STOP, 1);
	work();
	assert_int_equal(module.tracing, 0);

	start(1 << 20);
	memset(junk, 'V', sizeof(junk));
	assert_int_equal(write(host_fd, junk, sizeof(junk)), sizeof(junk));
	for (type = 0; type < 300; type++) {
		if (type != VMPROF_MSG_HOST_HELLO && type != VMPROF_MSG_STOP)
			tell(type, junk, 64);
		work();
	}
	tell_token(VMPROF_MSG_START, 5);	/* again */
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, ENOENT);
	agent.bad_input++;		/* on a slow machine the others have been told of */
	agent.lost_checked_ms = 0;
	m = hear_type(VMPROF_MSG_LOST);
	assert_true(m.lost.count[VMPROF_GLOST_PROTO] > 0);
	assert_int_equal(agent.state, VMP_RUNNING);
	assert_clean();
}

/* With --no-objects: files are told of and none is handed over, in the next conversation neither */
static void test_no_objects(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1), .len = htole32(UINT32_MAX) };
	struct {
		struct vmprof_map map;
		char path[6];
	} map_msg = {
		.map = { .start = htole64(1ULL << 40), .end = htole64((1ULL << 40) + 8192),
			 .flags = htole16(VMPROF_MAP_VDSO), .path_len = htole32(6) },
		.path = "[vdso]",
	};
	struct vmp_agent_msg m;
	int round;

	(void)state;
	if (!vmp_vdso_bytes())
		skip();
	agent.bulk.forbidden = 1;
	for (round = 0; round < 2; round++) {
		start(1 << 20);
		agent.symbols.active = 0;
		module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 6);
		m = hear_type(VMPROF_MSG_FILE);
		assert_int_equal(m.file.file, 1);
		assert_int_equal(m.file.bytes, vmp_vdso_bytes());
		for (get.file = htole32(1); get.file != htole32(3); get.file = htole32(le32toh(get.file) + 1)) {
			tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
			m = hear_type(VMPROF_MSG_OBJECT);
			assert_int_equal(m.object.file, le32toh(get.file));
			assert_int_equal(m.object.status, EPERM);
			assert_int_equal(m.object.data.len, 0);
		}
		get.file = htole32(1 | VMPROF_OBJECT_DEBUG);
		tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
		assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.status, EPERM);
	}
	assert_clean();
}

/* LOST tells what grew, and only then. */
static void test_lost(void **state)
{
	(void)state;
	start(0);
	module.lost.count[VMPROF_GLOST_RING] = 12;
	agent.lost_checked_ms = 0;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_RING], 12);
	agent.lost_checked_ms = 0;
	assert_int_equal(hear().type, 0);
}

/* A host that greeted an agent before us does not greet again by itself. */
static void test_speaks_first(void **state)
{
	struct vmprof_credit c = { .bytes = htole64(5) };

	(void)state;
	tell(VMPROF_MSG_CREDIT, &c, sizeof(c));
	assert_int_equal(hear().type, 0);
	agent.silent_since_ms -= SILENCE_MS;
	assert_true(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_UNASKED);
	assert_int_equal(hear().type, 0);
	greet(0);
	assert_false(hear_type(VMPROF_MSG_HELLO).hello.flags & VMPROF_HELLO_UNASKED);
}

/* The host hears our versions and how many of its requests were dropped; whoever reads the agent's log, what to do */
static void refuses_host(uint32_t version, uint32_t compat)
{
	struct vmp_agent_msg m;
	char expected[128];

	complaint[0] = 0;
	greet_as(version, compat, 1 << 20);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.version, VMPROF_PROTO_VERSION);
	assert_int_equal(m.hello.compat, VMPROF_PROTO_COMPAT);
	snprintf(expected, sizeof(expected), "speaks protocol version %u (oldest %u), we speak %u (oldest %u): update the older",
		 version, compat, VMPROF_PROTO_VERSION, VMPROF_PROTO_COMPAT);
	assert_non_null(strstr(complaint, expected));
	tell_token(VMPROF_MSG_START, 1);
	tell_token(VMPROF_MSG_STOP, 2);
	agent.lost_checked_ms = 0;
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_LOST);
	assert_int_equal(m.lost.count[VMPROF_GLOST_PROTO], 2);
	assert_int_equal(hear().type, 0);
	assert_int_equal(module.tracing, 0);
	assert_clean();
}

static void serves_host(uint32_t version, uint32_t compat)
{
	complaint[0] = 0;
	greet_as(version, compat, 0);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 7);
	assert_int_equal(module.tracing, 1);
	assert_string_equal(complaint, "");
	assert_clean();
}

/* Too new for us and too old; the one that comes after an update is served */
static void test_other_versions(void **state)
{
	(void)state;
	refuses_host(VMPROF_PROTO_VERSION + 2, VMPROF_PROTO_VERSION + 1);
	serves_host(VMPROF_PROTO_VERSION + 2, VMPROF_PROTO_VERSION);
	refuses_host(VMPROF_PROTO_COMPAT - 1, VMPROF_PROTO_COMPAT - 1);
	serves_host(VMPROF_PROTO_COMPAT, VMPROF_PROTO_COMPAT);
}

/* The next message of this type, with none before it that version 1 did not know */
static struct vmp_agent_msg hear_known(unsigned int type)
{
	struct vmp_agent_msg m;

	do {
		m = hear();
		assert_in_range(m.type, VMPROF_MSG_HELLO, VMPROF_MSG_OBJECT);
	} while (m.type != type);
	return m;
}

/* A host that was frozen with version 1: its bytes do not change, and are understood. */
static void test_old_host(void **state)
{
	const struct vmprof_task_layout t = { .pid_offset = htole32(2400) };
	struct vmp_agent_msg m;

	(void)state;
	replay("host-1-start");
	m = hear_known(VMPROF_MSG_HELLO);
	assert_int_equal(m.hello.compat, 1);
	assert_int_equal(hear_known(VMPROF_MSG_SNAP_BEGIN).token.token, 1);
	assert_false(agent.symbols.announces);
	module_put(VMPROF_MSG_TASKS, &t, sizeof(t));	/* a CPU came up */
	module_snapshot_end(1);
	hear_known(VMPROF_MSG_SNAP_END);
	replay("host-1-stop");
	assert_int_equal(hear_known(VMPROF_MSG_SNAP_BEGIN).token.token, 2);
	module_snapshot_end(2);
	assert_int_equal(hear_known(VMPROF_MSG_DONE).token.token, 2);
	assert_int_equal(agent.bad_input + agent.in.stats.bad_bytes + agent.in.stats.seq_gaps, 0);
	agent.symbols.active = 0;		/* they may have used up the credit */
	vmp_out_add_credit(&agent.out, 1000);
	assert_int_equal(hear_known(VMPROF_MSG_OBJECT).object.status, ENOENT);
	assert_string_equal(complaint, "");
	assert_clean();
}

/* One of version 7 hears of all that this version told of, and its questions are understood. */
static void test_old_host_7(void **state)
{
	(void)state;
	replay("host-7-start");
	assert_int_equal(hear_type(VMPROF_MSG_HELLO).hello.compat, 1);
	assert_int_equal(agent.host_version, 7);
	hear_type(VMPROF_MSG_TASKS);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 1);
	assert_true(agent.symbols.announces);
	assert_int_equal(agent.symbols.kept_bytes, 56);
	module_snapshot_end(1);
	hear_type(VMPROF_MSG_SNAP_END);
	replay("host-7-stop");
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_BEGIN).token.token, 2);
	module_snapshot_end(2);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 2);
	assert_int_equal(agent.bad_input + agent.in.stats.bad_bytes + agent.in.stats.seq_gaps, 0);
	agent.symbols.active = 0;		/* they may have used up the credit */
	vmp_out_add_credit(&agent.out, 1000);
	assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.file, 1);
	assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.file, 1 | VMPROF_OBJECT_DEBUG);
	assert_string_equal(complaint, "");
	assert_clean();
}

/* Where the kernel keeps its tasks: only for hosts that know the message */
static void test_tasks(void **state)
{
	const struct vmprof_task_layout t = { .pid_offset = htole32(2400) };

	(void)state;
	start(0);
	module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
	assert_int_equal(hear().type, VMPROF_MSG_TASKS);
	agent.host_version = TASKS_VERSION - 1;
	module_put(VMPROF_MSG_TASKS, &t, sizeof(t));
	module_snapshot_end(7);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_clean();
}

/* A module that could not tell of them: the host hears that, once and before the snapshot is over */
static void test_tasks_lost(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	module.no_tasks = 1;
	start(0);
	module_snapshot_end(7);
	m = hear();
	assert_int_equal(m.type, VMPROF_MSG_TASKS);
	assert_int_equal(m.tasks.lack, VMPROF_TASKS_LACK_LOST);
	assert_int_equal(m.tasks.nr_cpus, 0);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_BEGIN);
	module_snapshot_end(8);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	/* hosts that know of no such lack */
	start(0);
	agent.host_version = LACK_VERSION - 1;
	module_snapshot_end(7);
	assert_int_equal(hear().type, VMPROF_MSG_SNAP_END);
	assert_clean();
}

static void test_host_leaves(void **state)
{
	(void)state;
	start(0);
	close(host_fd);
	assert_int_equal(vmp_session_input(&agent, agent_fd), -EPIPE);
	vmp_session_disconnected(&agent);
	assert_int_equal(agent.module, -1);
	assert_int_equal(vmp_out_pending(&agent.out), 0);
	host_fd = -1;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_conversation), T(test_events_are_read_together), T(test_told_is_not_gathered), T(test_few_writes), T(test_no_wait), T(test_early_stop), T(test_stop_of_nothing),
		T(test_restart), T(test_frozen_host), T(test_nonsense), T(test_no_objects), T(test_lost), T(test_speaks_first),
		T(test_other_versions), T(test_old_host), T(test_old_host_7), T(test_tasks), T(test_tasks_lost), T(test_host_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
