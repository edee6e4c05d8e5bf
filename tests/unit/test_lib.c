// SPDX-License-Identifier: GPL-2.0-only
/* test_lib.c - lib/: checksum, frames as a hostile stream, payloads of the agent protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent_msg.h"
#include "crc32c.h"
#include "frame.h"

/* ------------------------------------------------------------ checksum */

static void test_crc_known_values(void **state)
{
	uint8_t zeros[32] = { 0 };

	(void)state;
	assert_int_equal(vmp_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(vmp_crc32c(0, zeros, 32), 0x8a9136aa);	/* RFC 3720 B.4 */
	assert_int_equal(vmp_crc32c(0, NULL, 0), 0);
}

static void test_crc_in_pieces(void **state)
{
	const char *s = "a checksum over a text that is cut anywhere";
	size_t i, len = strlen(s);

	(void)state;
	for (i = 0; i <= len; i++)
		assert_int_equal(vmp_crc32c(vmp_crc32c(0, s, i), s + i, len - i),
				 vmp_crc32c(0, s, len));
}

/* -------------------------------------------------------------- frames */

struct stream {
	uint8_t bytes[300000];
	size_t len;
};

static void add_bytes(struct stream *s, const void *p, size_t len)
{
	assert_true(s->len + len <= sizeof(s->bytes));
	memcpy(s->bytes + s->len, p, len);
	s->len += len;
}

static void add_frame(struct stream *s, uint16_t type, uint32_t seq, const void *p, size_t len)
{
	struct vmprof_frame f;

	assert_int_equal(vmp_frame_build(&f, type, seq, p, len), 0);
	add_bytes(s, &f, sizeof(f));
	add_bytes(s, p, len);
}

/* Feed the stream in pieces of @step; types of the frames that come out. */
static int decode(struct vmp_frame_decoder *d, const struct stream *s, size_t step,
		  uint16_t *types, int max)
{
	struct vmprof_frame f;
	const void *payload;
	size_t at = 0, room, n;
	int nr = 0;

	while (at < s->len) {
		void *to = vmp_frame_space(d, &room);

		n = s->len - at < step ? s->len - at : step;
		n = n < room ? n : room;
		assert_true(n > 0);
		memcpy(to, s->bytes + at, n);
		vmp_frame_fed(d, n);
		at += n;
		while (vmp_frame_next(d, &f, &payload)) {
			assert_true(nr < max);
			types[nr++] = f.type;
		}
	}
	return nr;
}

static struct vmp_frame_decoder decoder;
static struct stream stream;

static void start(void)
{
	vmp_frame_decoder_init(&decoder);
	stream.len = 0;
}

static void test_frames_in_any_pieces(void **state)
{
	struct vmprof_token t = { 7, 8 };
	uint16_t types[8];
	size_t step;

	(void)state;
	for (step = 1; step < 200; step++) {
		start();
		add_frame(&stream, VMPROF_MSG_SNAP_BEGIN, 0, &t, sizeof(t));
		add_frame(&stream, VMPROF_MSG_SNAP_END, 1, &t, sizeof(t));
		add_frame(&stream, VMPROF_MSG_DONE, 2, &t, sizeof(t));
		assert_int_equal(decode(&decoder, &stream, step, types, 8), 3);
		assert_int_equal(types[0], VMPROF_MSG_SNAP_BEGIN);
		assert_int_equal(types[2], VMPROF_MSG_DONE);
		assert_int_equal(decoder.stats.frames, 3);
		assert_int_equal(decoder.stats.bad_bytes, 0);
		assert_int_equal(decoder.stats.seq_gaps, 0);
	}
}

static void test_frames_of_full_size(void **state)
{
	static uint8_t payload[VMPROF_FRAME_MAX];
	struct vmprof_frame f;
	uint16_t types[8];

	(void)state;
	start();
	memset(payload, 0x56, sizeof(payload));
	add_frame(&stream, VMPROF_MSG_OBJECT, 0, payload, sizeof(payload));
	add_frame(&stream, VMPROF_MSG_OBJECT, 1, payload, sizeof(payload));
	assert_int_equal(decode(&decoder, &stream, 70000, types, 8), 2);
	assert_int_equal(vmp_frame_build(&f, 1, 0, payload, VMPROF_FRAME_MAX + 1), -EMSGSIZE);
}

static void test_frames_between_rubbish(void **state)
{
	struct vmprof_token t = { 7, 8 };
	uint16_t types[8];

	(void)state;
	start();
	add_bytes(&stream, "VMPAVMPAVMP rubbish", 19);
	add_frame(&stream, VMPROF_MSG_SNAP_BEGIN, 0, &t, sizeof(t));
	add_bytes(&stream, "more", 4);
	add_frame(&stream, VMPROF_MSG_DONE, 1, &t, sizeof(t));
	assert_int_equal(decode(&decoder, &stream, 13, types, 8), 2);
	assert_int_equal(decoder.stats.bad_bytes, 23);
	assert_int_equal(decoder.stats.bad_frames, 2);
}

static void test_frames_with_one_bit_wrong(void **state)
{
	struct vmprof_token t = { 7, 8 };
	uint16_t types[8];
	size_t bit, bits;

	(void)state;
	start();
	add_frame(&stream, VMPROF_MSG_SNAP_BEGIN, 0, &t, sizeof(t));
	bits = stream.len * 8;
	add_frame(&stream, VMPROF_MSG_DONE, 0, &t, sizeof(t));
	for (bit = 0; bit < bits; bit++) {
		static const uint8_t pad[VMP_FRAME_BYTES_MAX];
		struct stream *s = malloc(sizeof(*s));
		int nr;

		*s = stream;
		s->bytes[bit / 8] ^= 1 << (bit % 8);
		/* a length that became larger must not hide what follows for ever */
		add_bytes(s, pad, sizeof(pad));
		vmp_frame_decoder_init(&decoder);
		nr = decode(&decoder, s, 4096, types, 8);
		assert_int_equal(nr, 1);
		assert_int_equal(types[0], VMPROF_MSG_DONE);
		free(s);
	}
}

static void test_frames_gaps_and_hello(void **state)
{
	struct vmprof_hello hello = { 0 };
	struct vmprof_token t = { 7, 8 };
	uint16_t types[8];

	(void)state;
	start();
	add_frame(&stream, VMPROF_MSG_HELLO, 0, &hello, sizeof(hello));
	add_frame(&stream, VMPROF_MSG_SNAP_BEGIN, 4, &t, sizeof(t));	/* 3 missing */
	add_frame(&stream, VMPROF_MSG_HELLO, 0, &hello, sizeof(hello));	/* starts over */
	add_frame(&stream, VMPROF_MSG_SNAP_BEGIN, 1, &t, sizeof(t));
	assert_int_equal(decode(&decoder, &stream, 999, types, 8), 4);
	assert_int_equal(decoder.stats.seq_gaps, 3);
}

static void test_frames_too_short_or_unknown(void **state)
{
	uint16_t types[8];

	(void)state;
	start();
	add_frame(&stream, VMPROF_MSG_DONE, 0, "short", 5);	/* needs a token */
	add_frame(&stream, 0x4242, 1, "later", 5);
	assert_int_equal(decode(&decoder, &stream, 999, types, 8), 1);
	assert_int_equal(types[0], 0x4242);
	assert_int_equal(decoder.stats.unknown, 1);
	assert_int_equal(decoder.stats.bad_frames, 1);
}

static void test_frames_give_up(void **state)
{
	static const uint8_t big[5000];
	struct vmprof_token t = { 7, 8 };
	struct vmprof_frame f;
	const void *payload;
	uint16_t types[8];

	(void)state;
	start();
	/* the sender died with most of this frame unsent, another one came */
	add_frame(&stream, VMPROF_MSG_OBJECT, 0, big, sizeof(big));
	stream.len = 100;
	add_frame(&stream, VMPROF_MSG_DONE, 0, &t, sizeof(t));
	assert_int_equal(decode(&decoder, &stream, 999, types, 8), 0);
	vmp_frame_give_up(&decoder);
	assert_int_equal(vmp_frame_next(&decoder, &f, &payload), 1);
	assert_int_equal(f.type, VMPROF_MSG_DONE);
	assert_int_equal(decoder.stats.bad_bytes, 100);
	vmp_frame_give_up(&decoder);	/* nothing there: nothing happens */
	assert_int_equal(decoder.stats.bad_bytes, 100);
}

/* ------------------------------------------------------------ payloads */

static struct vmp_agent_msg msg;

static void test_msg_hello(void **state)
{
	struct { struct vmprof_hello h; char release[200]; } m = {
		.h = { .version = 1, .compat = 1, .nr_cpus = 2, .release_len = 5, .tsc = 99 },
		.release = "6.1.0",
	};

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 5, &msg), 0);
	assert_int_equal(msg.hello.tsc, 99);
	assert_int_equal(msg.hello.release.len, 5);
	assert_memory_equal(msg.hello.release.p, "6.1.0", 5);
	/* surplus of a later version */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m), &msg), 0);
	/* the release does not fit in the payload */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 4, &msg), -EBADMSG);
	/* behind it, why there is no module: an errno, or nothing */
	memcpy(m.release + 5, "\x10\0\0\0", 4);
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 9, &msg), 0);
	assert_int_equal(msg.hello.module_error, 0);
	m.h.flags = VMPROF_HELLO_NO_MODULE;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 9, &msg), 0);
	assert_int_equal(msg.hello.module_error, 16);
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 8, &msg), 0);
	assert_int_equal(msg.hello.module_error, 0);
	m.release[8] = 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m.h) + 9, &msg), 0);
	assert_int_equal(msg.hello.module_error, 0);
	m.h.release_len = VMPROF_RELEASE_MAX + 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m), &msg), -EBADMSG);
	m.h.release_len = 0;
	m.h.compat = 2;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_HELLO, &m, sizeof(m), &msg), -EBADMSG);
}

static void test_msg_comm_is_ended(void **state)
{
	struct vmprof_proc p = { .pid = 5, .tgid = 5, .nr_maps = 77 };

	(void)state;
	memset(p.comm, 'x', sizeof(p.comm));
	/* only EXIT has maps behind it */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_COMM, &p, sizeof(p), &msg), 0);
	assert_string_equal(msg.proc.comm, "xxxxxxxxxxxxxxx");
	assert_int_equal(msg.proc.nr_maps, 0);
	memcpy(p.comm, "a\0secret", 8);
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FORK, &p, sizeof(p), &msg), 0);
	assert_int_equal(msg.proc.comm[2], 0);	/* nothing behind the NUL */
}

/* Where a process is: bounded, whole, and not of EXIT */
static void test_msg_place(void **state)
{
	static struct {
		struct vmprof_proc p;
		struct vmprof_place place;
		char cgroup[VMPROF_CGROUP_BYTES_MAX];
	} m = { { .pid = 9, .tgid = 9 }, { .nspid = 3, .cgroup_len = 5 }, "/a b\n" };
	static const unsigned int types[] = { VMPROF_MSG_PROC, VMPROF_MSG_FORK, VMPROF_MSG_EXEC };
	const size_t with = sizeof(m.p) + sizeof(m.place);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(vmp_agent_msg_parse(types[i], &m, with + 5, &msg), 0);
		assert_int_equal(msg.proc.nspid, 3);
		assert_int_equal(msg.proc.cgroup.len, 5);
		assert_memory_equal(msg.proc.cgroup.p, "/a b\n", 5);
		assert_int_equal(vmp_agent_msg_parse(types[i], &m, with + 4, &msg), -EBADMSG);
		/* agents up to version 6 */
		assert_int_equal(vmp_agent_msg_parse(types[i], &m, sizeof(m.p), &msg), 0);
		assert_int_equal(msg.proc.nspid + msg.proc.cgroup.len, 0);
	}
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, with + 5, &msg), 0);
	assert_int_equal(msg.proc.nspid + msg.proc.cgroup.len, 0);
	m.place.cgroup_len = VMPROF_CGROUP_BYTES_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXEC, &m, sizeof(m), &msg), -EBADMSG);
	m.place.cgroup_len = VMPROF_CGROUP_BYTES_MAX - 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXEC, &m, sizeof(m), &msg), 0);
}

struct exit_msg {
	struct vmprof_proc p;
	struct vmprof_map a;
	char a_path[8];		/* 3 bytes, padded */
	struct vmprof_map b;
	char b_path[4];		/* the last one, not padded */
} __attribute__((packed));

static struct exit_msg make_exit(void)
{
	return (struct exit_msg){
		.p = { .pid = 9, .tgid = 9, .nr_maps = 2 },
		.a = { .start = 0x1000, .end = 0x2000, .path_len = 3 }, .a_path = "/a1",
		.b = { .start = 0x3000, .end = 0x4000, .path_len = 4 }, .b_path = "/bin",
	};
}

static void test_msg_exit_maps(void **state)
{
	struct exit_msg m = make_exit();
	struct vmp_msg_map map;

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, sizeof(m), &msg), 0);
	assert_int_equal(vmp_agent_msg_next_map(&msg.proc, &map), 1);
	assert_int_equal(map.start, 0x1000);
	assert_memory_equal(map.path.p, "/a1", 3);
	assert_int_equal(vmp_agent_msg_next_map(&msg.proc, &map), 1);
	assert_int_equal(map.end, 0x4000);
	assert_int_equal(map.path.len, 4);
	assert_memory_equal(map.path.p, "/bin", 4);
	assert_int_equal(vmp_agent_msg_next_map(&msg.proc, &map), 0);
}

static void test_msg_exit_limits(void **state)
{
	struct exit_msg m = make_exit();
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(m); len++)
		assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, len, &msg), -EBADMSG);
	m.p.nr_maps = 3;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, sizeof(m), &msg), -EBADMSG);
	m.p.nr_maps = UINT32_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, sizeof(m), &msg), -EBADMSG);
	m = make_exit();
	m.b.end = m.b.start;		/* an empty mapping */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, sizeof(m), &msg), -EBADMSG);
	m = make_exit();
	m.a.path_len = UINT32_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &m, sizeof(m), &msg), -EBADMSG);
}

/* More maps, or a longer path, than the protocol allows: all there, and refused. */
static void test_msg_exit_too_much(void **state)
{
	static struct { struct vmprof_proc p; struct vmprof_map map[VMPROF_EXIT_MAPS_MAX + 1]; } many;
	static struct { struct vmprof_map map; char path[VMPROF_PATH_BYTES_MAX]; } deep = {
		.map = { .start = 1, .end = 2 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i <= VMPROF_EXIT_MAPS_MAX; i++)
		many.map[i].end = 1;
	many.p.nr_maps = VMPROF_EXIT_MAPS_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &many, sizeof(many), &msg), 0);
	many.p.nr_maps++;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_EXIT, &many, sizeof(many), &msg), -EBADMSG);

	deep.map.path_len = VMPROF_PATH_BYTES_MAX - 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_MAP, &deep, sizeof(deep), &msg), 0);
	deep.map.path_len++;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_MAP, &deep, sizeof(deep), &msg), -EBADMSG);
}

static void test_msg_file_limits(void **state)
{
	static struct { struct vmprof_file f; char path[VMPROF_PATH_BYTES_MAX]; } deep = {
		.f = { .file = 1, .path_len = VMPROF_PATH_BYTES_MAX },
	};
	struct vmprof_file f = { .file = 1, .build_id_len = 20 };

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &deep, sizeof(deep), &msg), -EBADMSG);
	deep.f.path_len--;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &deep, sizeof(deep), &msg), 0);
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &f, sizeof(f), &msg), 0);
	assert_int_equal(msg.file.build_id_len, 20);
	f.build_id_len = VMPROF_BUILD_ID_MAX + 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &f, sizeof(f), &msg), -EBADMSG);
	f.build_id_len = 0;
	f.file = 0;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &f, sizeof(f), &msg), -EBADMSG);
	f.file = 1;
	f.path_len = 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_FILE, &f, sizeof(f), &msg), -EBADMSG);
}

static void test_msg_bulk_limits(void **state)
{
	struct { struct vmprof_ksyms k; char text[8]; } k = { .k = { .total = 8 } };
	struct { struct vmprof_object o; char data[8]; } o = { .o = { .file = 1, .total = 8 } };

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_KSYMS, &k, sizeof(k), &msg), 0);
	assert_int_equal(msg.ksyms.text.len, 8);
	k.k.offset = 1;			/* goes past the total */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_KSYMS, &k, sizeof(k), &msg), -EBADMSG);
	k.k.offset = UINT64_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_KSYMS, &k, sizeof(k), &msg), -EBADMSG);
	k.k.offset = 0;
	k.k.total = VMPROF_KSYMS_BYTES_MAX + 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_KSYMS, &k, sizeof(k), &msg), -EBADMSG);

	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_OBJECT, &o, sizeof(o), &msg), 0);
	assert_int_equal(msg.object.data.len, 8);
	o.o.status = ENOENT;		/* then no data belong to it */
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_OBJECT, &o, sizeof(o), &msg), 0);
	assert_int_equal(msg.object.data.len, 0);
	o.o.status = 1 << 20;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_OBJECT, &o, sizeof(o), &msg), -EBADMSG);
	o.o.status = 0;
	o.o.total = VMPROF_OBJECT_BYTES_MAX + 1;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_OBJECT, &o, sizeof(o), &msg), -EBADMSG);
}

static void test_msg_jitmap(void **state)
{
	struct { struct vmprof_jitmap j; char text[8]; } j = { .j = { .tsc = 5, .tgid = 6, .after = 7 }, .text = "1 1 abc\n" };
	size_t len;

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_JITMAP, &j, sizeof(j), &msg), 0);
	assert_int_equal(msg.jitmap.tsc, 5);
	assert_int_equal(msg.jitmap.tgid, 6);
	assert_int_equal(msg.jitmap.after, 7);
	assert_int_equal(msg.jitmap.text.len, 8);
	for (len = 0; len < sizeof(j); len++)	/* no text, or not whole lines */
		assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_JITMAP, &j, len, &msg), -EBADMSG);
	assert_true(vmp_msg_is_bulk(VMPROF_MSG_JITMAP) && vmp_msg_is_bulk(VMPROF_MSG_OBJECT));
	assert_false(vmp_msg_is_bulk(VMPROF_MSG_EXIT) || vmp_msg_is_bulk(0x4242));
}

static void test_msg_tasks(void **state)
{
	struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu[2]; } t = {
		.t = { .tsc = 5, .linear_base = 6, .linear_bytes = 7, .init_task = 8, .init_task_gpa = 9,
		       .flags_offset = 10, .pid_offset = 11, .tgid_offset = 12, .comm_offset = 13,
		       .kthread_flag = 14, .nr_cpus = 2 },
		.cpu = { { .apic_id = 3, .current_gpa = 4096 }, { .apic_id = 1, .current_gpa = 8192 } },
	};
	struct vmp_msg_task_cpu cpu;
	size_t len;

	(void)state;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, sizeof(t), &msg), 0);
	assert_int_equal(msg.tasks.tsc, 5);
	assert_int_equal(msg.tasks.linear_base, 6);
	assert_int_equal(msg.tasks.linear_bytes, 7);
	assert_int_equal(msg.tasks.init_task, 8);
	assert_int_equal(msg.tasks.init_task_gpa, 9);
	assert_int_equal(msg.tasks.flags_offset, 10);
	assert_int_equal(msg.tasks.pid_offset, 11);
	assert_int_equal(msg.tasks.tgid_offset, 12);
	assert_int_equal(msg.tasks.comm_offset, 13);
	assert_int_equal(msg.tasks.kthread_flag, 14);
	assert_int_equal(msg.tasks.lack, VMPROF_TASKS_LACK_NONE);
	assert_true(vmp_agent_msg_next_cpu(&msg.tasks, &cpu));
	assert_int_equal(cpu.apic_id, 3);
	assert_int_equal(cpu.current_gpa, 4096);
	assert_true(vmp_agent_msg_next_cpu(&msg.tasks, &cpu));
	assert_int_equal(cpu.apic_id, 1);
	assert_int_equal(cpu.current_gpa, 8192);
	assert_false(vmp_agent_msg_next_cpu(&msg.tasks, &cpu));
	for (len = 0; len < sizeof(t); len++)
		assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, len, &msg), -EBADMSG);
	t.t.nr_cpus = UINT32_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, sizeof(t), &msg), -EBADMSG);
	t.t.nr_cpus = 0;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, sizeof(t.t), &msg), 0);
}

/* One CPU more than there may be, and all of them sent */
static void test_msg_tasks_too_many(void **state)
{
	static struct { struct vmprof_task_layout t; struct vmprof_task_cpu cpu[VMPROF_TASKS_CPUS_MAX + 1]; } t;

	(void)state;
	t.t.nr_cpus = VMPROF_TASKS_CPUS_MAX;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, sizeof(t), &msg), 0);
	t.t.nr_cpus++;
	assert_int_equal(vmp_agent_msg_parse(VMPROF_MSG_TASKS, &t, sizeof(t), &msg), -EBADMSG);
}

static void test_msg_unknown(void **state)
{
	(void)state;
	assert_int_equal(vmp_agent_msg_parse(0x4242, "", 0, &msg), -ENOENT);
	assert_int_equal(vmp_msg_fixed(VMPROF_MSG_EXIT), sizeof(struct vmprof_proc));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc_known_values),
		cmocka_unit_test(test_crc_in_pieces),
		cmocka_unit_test(test_frames_in_any_pieces),
		cmocka_unit_test(test_frames_of_full_size),
		cmocka_unit_test(test_frames_between_rubbish),
		cmocka_unit_test(test_frames_with_one_bit_wrong),
		cmocka_unit_test(test_frames_gaps_and_hello),
		cmocka_unit_test(test_frames_too_short_or_unknown),
		cmocka_unit_test(test_frames_give_up),
		cmocka_unit_test(test_msg_hello),
		cmocka_unit_test(test_msg_comm_is_ended),
		cmocka_unit_test(test_msg_place),
		cmocka_unit_test(test_msg_exit_maps),
		cmocka_unit_test(test_msg_exit_limits),
		cmocka_unit_test(test_msg_exit_too_much),
		cmocka_unit_test(test_msg_file_limits),
		cmocka_unit_test(test_msg_bulk_limits),
		cmocka_unit_test(test_msg_jitmap),
		cmocka_unit_test(test_msg_tasks),
		cmocka_unit_test(test_msg_tasks_too_many),
		cmocka_unit_test(test_msg_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
