// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_jit.c - the agent's way with /tmp/perf-PID.map: of real processes, which
 * live, end, or lie, with real files; through a real stream of frames.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define vmp_log agent_log
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/out.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/jitfile.c"
#include "guest-agent/daemon/jit.c"

void agent_log(enum vmp_log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

#define ENOUGH	(1ULL << 40)	/* credit */

static struct vmp_jit jit;
static struct vmp_jit_file files[VMP_JIT_PROGRAMS];
static struct vmp_read_request asked;
static struct vmp_read_answer answer;
static struct vmp_out out;
static struct vmp_frame_decoder in;
static int pair[2];
static uint64_t now_ms;
static pid_t child;
static char path[64], other[64];
static uint32_t heard_after;
static int refusal;			/* no request is carried out: why not */

static pid_t live(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void die(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	now_ms = 1000000;
	refusal = 0;
	vmp_jit_init(&jit);
	for (i = 0; i < VMP_JIT_PROGRAMS; i++)
		vmp_jit_file_init(&files[i]);
	vmp_frame_decoder_init(&in);
	assert_int_equal(vmp_out_init(&out), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	vmp_out_add_credit(&out, ENOUGH);
	child = live();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", child);
	snprintf(other, sizeof(other), "/tmp/vmprof-other-%d", child);
	return 0;
}

static int teardown(void **state)
{
	uint32_t i;

	(void)state;
	vmp_jit_clear(&jit);
	for (i = 0; i < VMP_JIT_PROGRAMS; i++)
		vmp_jit_file_close(&files[i]);
	vmp_out_deinit(&out);
	close(pair[0]);
	close(pair[1]);
	if (child)
		die(child);
	unlink(path);
	unlink(other);
	return 0;
}

static void write_at(const char *name, int flags, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int step(void);

static void note(pid_t pid, uint64_t tsc, uint32_t flags, const char *name)
{
	const struct vmp_msg_map map = {
		.tsc = tsc, .tgid = (uint32_t)pid, .start = 0x1000, .end = 0x2000,
		.flags = (uint16_t)flags, .path = { name, (uint32_t)strlen(name) },
	};

	vmp_jit_note(&jit, &map);
	if (jit.nr && !jit.program[jit.nr - 1].begun)
		step();
}

/* One request, as the child does it.  Return: 1, 0 nothing is asked for */
static int step(void)
{
	struct vmp_jit_file *f;
	ssize_t n = 0;

	if (!vmp_jit_ask_begin(&jit, now_ms, &asked) && !vmp_jit_ask(&jit, &out, now_ms, &asked))
		return 0;
	f = &files[asked.number];
	asked.m.path = asked.path;
	answer = (struct vmp_read_answer){ .offset = asked.offset, .status = -refusal };
	if (refusal) {
		vmp_jit_answer(&jit, &asked, &answer, &out, now_ms);
		return 1;
	}
	if (asked.what != VMP_READ_JIT)
		vmp_jit_file_close(f);
	if (asked.what == VMP_READ_JIT_BEGIN)
		n = asked.flags & VMP_READ_DUMP ? vmp_jit_file_open_dump(f, &asked.m) :
						  vmp_jit_file_meet(f, asked.m.tgid);
	else if (asked.what == VMP_READ_JIT)
		n = vmp_jit_file_read(f, !!(asked.flags & VMP_READ_ENDED), &answer.offset,
				      (char *)answer.data, asked.len);
	answer.status = n < 0 ? (int32_t)n : 0;
	answer.len = n > 0 ? (uint32_t)n : 0;
	vmp_jit_answer(&jit, &asked, &answer, &out, now_ms);
	return 1;
}

/* What the host gets now, of one program: all text as one string */
static const char *hear(pid_t pid, uint64_t tsc)
{
	static char text[4 << 20];
	struct vmp_agent_msg m;
	struct vmprof_frame f;
	const void *payload;
	size_t room, len = 0;
	int more;

	do {
		more = step();
		assert_true(vmp_out_flush(&out, pair[0], UINT64_MAX) >= 0);
		for (;;) {
			void *to = vmp_frame_space(&in, &room);
			ssize_t n = read(pair[1], to, room);

			if (n <= 0)
				break;
			vmp_frame_fed(&in, (size_t)n);
			while (vmp_frame_next(&in, &f, &payload)) {
				assert_int_equal(f.type, VMPROF_MSG_JITMAP);
				assert_int_equal(vmp_agent_msg_parse(f.type, payload, f.len, &m), 0);
				assert_int_equal(m.jitmap.tgid, pid);
				assert_int_equal(m.jitmap.tsc, tsc);
				heard_after = m.jitmap.after;
				assert_true(len + m.jitmap.text.len < sizeof(text));
				memcpy(text + len, m.jitmap.text.p, m.jitmap.text.len);
				len += m.jitmap.text.len;
			}
		}
	} while (more);
	text[len] = 0;
	return text;
}

/* The same about a second later */
static const char *hear_later(pid_t pid, uint64_t tsc)
{
	now_ms += VMP_JIT_LOOK_MS;
	return hear(pid, tsc);
}

/* Files that are open in this process */
static int nr_open(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* -------------------------------------------------------------- tests */

static void test_followed(void **state)
{
	int open_before = nr_open();

	(void)state;
	note(child, 77, 0, "/usr/bin/thing");
	assert_int_equal(jit.nr, 0);
	note(child, 77, VMPROF_MAP_ANON, "");
	note(child, 78, VMPROF_MAP_ANON, "");	/* the same program: the first MAP names it */
	assert_int_equal(jit.nr, 1);
	assert_string_equal(hear(child, 77), "");	/* no map yet */
	write_at(path, 0, "1000 10 one\n2000 10 two\n3000 10 thr");
	assert_string_equal(hear(child, 77), "");	/* not looked for so soon */
	assert_string_equal(hear_later(child, 77), "1000 10 one\n2000 10 two\n");
	assert_string_equal(hear_later(child, 77), "");
	write_at(path, O_APPEND, "ee\n4000 10 four\n5");
	assert_string_equal(hear_later(child, 77), "3000 10 three\n4000 10 four\n");

	/* what was written before the end is still read, though nobody lives and no name is there */
	write_at(path, O_APPEND, "000 10 five\n");
	die(child);
	unlink(path);
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 77), "5000 10 five\n");
	child = 0;
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 0);
	assert_int_equal(nr_open(), open_before);
}

/* It ends before its map was ever looked for */
static void test_found_after_the_end(void **state)
{
	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 short\n");
	die(child);
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "1000 10 short\n");
	child = 0;
	assert_int_equal(jit.nr, 0);
}

/* exec: the program before is read to its end, the one after is another */
static void test_exec(void **state)
{
	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 before\n");
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "1000 10 before\n");
	note(child, 6, 0, "/memfd:doublemapper");
	write_at(path, O_TRUNC, "1000 10 after\n");
	assert_string_equal(hear_later(child, 6), "1000 10 after\n");
}

/* Written anew, shorter and longer than what was read */
static void test_rewritten(void **state)
{
	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 some name\n");
	assert_string_equal(hear_later(child, 5), "1000 10 some name\n");
	write_at(path, O_TRUNC, "2000 10 a\n");
	assert_string_equal(hear_later(child, 5), "2000 10 a\n");
	write_at(path, O_TRUNC, "3000 10 a name that is longer\n4000 10 b\n");
	assert_string_equal(hear_later(child, 5), "3000 10 a name that is longer\n4000 10 b\n");
	assert_int_equal(jit.lost, 0);
}

/* Files that are not the program's own map: none is opened for reading */
static void test_not_its_own(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(other, 0, "1000 10 secret\n");
	assert_int_equal(symlink(other, path), 0);
	assert_string_equal(hear_later(child, 5), "");
	unlink(path);
	assert_int_equal(link(other, path), 0);
	assert_string_equal(hear_later(child, 5), "");
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(hear_later(child, 5), "");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_string_equal(hear_later(child, 5), "");
	rmdir(path);

	write_at(path, 0, "1000 10 of an earlier process with this number\n");
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	assert_string_equal(hear_later(child, 5), "");
	if (!geteuid()) {
		write_at(path, O_TRUNC, "1000 10 another user's\n");
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_string_equal(hear_later(child, 5), "");
		assert_int_equal(chown(path, 0, 0), 0);
	}
	write_at(path, O_TRUNC, "1000 10 its own\n");
	assert_string_equal(hear_later(child, 5), "1000 10 its own\n");
	assert_int_equal(jit.lost, 0);
}

/* Whole lines within the credit, in pieces */
static void test_credit(void **state)
{
	char line[80];
	size_t sent = 0, given = 0;
	int i;

	(void)state;
	vmp_out_restart(&out);
	note(child, 5, VMPROF_MAP_ANON, "");
	for (i = 0; i < 100; i++) {
		snprintf(line, sizeof(line), "%x 10 function_with_some_name_%d\n", 0x1000 + i * 16, i);
		write_at(path, O_APPEND, line);
	}
	assert_string_equal(hear_later(child, 5), "");
	for (i = 0; i < 200 && jit.program[0].due_ms <= now_ms; i++) {
		const char *text;

		vmp_out_add_credit(&out, 150);
		given += 150;
		text = hear(child, 5);
		assert_true(!*text || text[strlen(text) - 1] == '\n');
		sent += strlen(text);
		assert_true(sent <= given);
	}
	assert_true(i > 10 && i < 200);
	assert_int_equal(jit.sent, sent);
	assert_string_equal(hear_later(child, 5), "");
	assert_int_equal(jit.lost, 0);
}

/* No text of lines; and more of them than a program may send */
static void test_limits(void **state)
{
	char *big = malloc(VMP_OUT_BULK_PAYLOAD + 1);

	(void)state;
	assert_non_null(big);
	memset(big, 'x', VMP_OUT_BULK_PAYLOAD);
	big[VMP_OUT_BULK_PAYLOAD] = 0;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 first\n");
	write_at(path, O_APPEND, big);
	free(big);
	assert_string_equal(hear_later(child, 5), "1000 10 first\n");
	assert_int_equal(jit.lost, 1);
	note(child, 6, VMPROF_MAP_ANON, "");
	assert_int_equal(jit.nr, 1);		/* it is not begun anew */
	assert_string_equal(hear_later(child, 5), "");
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "");
	assert_int_equal(jit.nr, 0);

	write_at(path, O_TRUNC, "1000 10 second\n");
	note(child, 7, VMPROF_MAP_ANON, "");
	jit.program[0].sent = VMPROF_JITMAP_BYTES_MAX - 15;
	assert_string_equal(hear_later(child, 7), "1000 10 second\n");
	write_at(path, O_APPEND, "2000 1 x\n");
	assert_string_equal(hear_later(child, 7), "");
	assert_int_equal(jit.lost, 2);
}

static void test_full_table(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < VMP_JIT_PROGRAMS; i++)
		jit.program[i] = (struct vmp_jit_program){
			.tgid = 0x7f000000 + i, .slot = i, .begun = 1, .due_ms = NOT_DUE,
		};
	jit.nr = VMP_JIT_PROGRAMS;
	note(child, 5, VMPROF_MAP_ANON, "");
	note(child, 6, VMPROF_MAP_ANON, "");
	assert_int_equal(jit.nr, VMP_JIT_PROGRAMS);
	assert_int_equal(jit.lost, 1);
	vmp_jit_give_up(&jit);
	assert_int_equal(jit.lost, 1 + VMP_JIT_PROGRAMS);
}

/* A process that is gone already is nobody's loss that could be told of */
static void test_gone(void **state)
{
	(void)state;
	note(0x7fffffff, 5, VMPROF_MAP_ANON, "");
	assert_int_equal(jit.nr, 0);
	vmp_jit_ended(&jit, 0x7fffffff);
	assert_int_equal(jit.lost, 0);
}

/* ------------------------------------------------------------- jitdump */

static void put(FILE *f, const void *data, size_t len)
{
	assert_int_equal(fwrite(data, 1, len, f), len);
}

static FILE *begin_dump(const char *name)
{
	const struct file_head h = { .magic = htole32(MAGIC), .version = htole32(VERSION),
				     .bytes = htole32(sizeof(h)) };
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	put(f, &h, sizeof(h));
	fflush(f);
	return f;
}

static void put_head(FILE *f, uint32_t type, size_t bytes)
{
	const struct record_head h = { .type = htole32(type), .bytes = htole32((uint32_t)(sizeof(h) + bytes)) };

	put(f, &h, sizeof(h));
}

static void put_load_of(FILE *f, uint64_t index, uint64_t address, uint64_t bytes, const char *name, size_t name_len)
{
	const struct code_load l = { .address = htole64(address), .bytes = htole64(bytes), .index = htole64(index) };

	put_head(f, CODE_LOAD, sizeof(l) + name_len + 3);
	put(f, &l, sizeof(l));
	put(f, name, name_len);
	put(f, "\xc3\x90\n", 3);		/* the code */
	fflush(f);
}

static void put_load(FILE *f, uint64_t address, uint64_t bytes, const char *name, size_t name_len)
{
	put_load_of(f, 0, address, bytes, name, name_len);
}

static void put_move(FILE *f, uint64_t index, uint64_t to, uint64_t bytes)
{
	const struct code_move m = { .to = htole64(to), .bytes = htole64(bytes), .index = htole64(index) };

	put_head(f, CODE_MOVE, sizeof(m));
	put(f, &m, sizeof(m));
	fflush(f);
}

static void note_dump(const char *name, uint64_t tsc)
{
	struct vmp_msg_map map = { .tsc = tsc, .tgid = (uint32_t)child, .start = 0x1000, .end = 0x2000,
				   .path = { name, (uint32_t)strlen(name) } };
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	map.ino = st.st_ino;
	map.dev_major = major(st.st_dev);
	map.dev_minor = minor(st.st_dev);
	vmp_jit_note(&jit, &map);
	step();
}

static void test_dump(void **state)
{
	static char longer[3000];
	const char *heard;
	FILE *f;

	(void)state;
	snprintf(other, sizeof(other), "/tmp/jit-%d.dump", child);
	f = begin_dump(other);
	note_dump(other, 5);
	note(child, 5, VMPROF_MAP_ANON, "");	/* the same program has a map of the other kind, too */
	assert_int_equal(jit.nr, 2);
	put_load(f, 0x1000, 16, "one", 4);
	put_head(f, 2, 20);			/* lines of source: passed over */
	put(f, "12345678901234567890", 20);
	put_load(f, 0x2000, 16, "two\nlines", 10);
	put_load(f, 0x3000, 0, "empty", 6);
	put_load(f, 0x3000, 16, "", 1);
	put_load(f, UINT64_MAX, 16, "wraps", 6);
	write_at(path, 0, "9000 10 of the map\n");
	heard = hear(child, 5);
	assert_non_null(strstr(heard, "1000 10 one\n2000 10 two lines\n"));
	assert_non_null(strstr(heard, "9000 10 of the map\n"));
	assert_int_equal(strlen(heard), strlen("1000 10 one\n2000 10 two lines\n9000 10 of the map\n"));

	/* half a record waits for its other half; a long name is cut */
	put_head(f, CODE_LOAD, sizeof(struct code_load) + 5);
	fflush(f);
	assert_string_equal(hear_later(child, 5), "");
	put(f, &(struct code_load){ .address = htole64(0x4000), .bytes = htole64(1) }, sizeof(struct code_load));
	put(f, "late", 5);
	memset(longer, 'n', sizeof(longer) - 1);
	put_load(f, 0x5000, 16, longer, sizeof(longer));
	fclose(f);
	unlink(other);
	vmp_jit_ended(&jit, (uint32_t)child);
	heard = hear(child, 5);
	assert_memory_equal(heard, "4000 1 late\n5000 10 nnn", 23);
	assert_int_equal(strlen(heard), 12 + 8 + VMP_JITDUMP_NAME_MAX - 1 + 1);
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 0);
}

/* Code that is moved has the name that it was loaded with; of what was not loaded nothing is said */
static void test_moves(void **state)
{
	FILE *f;

	(void)state;
	snprintf(other, sizeof(other), "/tmp/jit-%d.dump", child);
	f = begin_dump(other);
	note_dump(other, 5);
	put_load_of(f, 1, 0x1000, 16, "one", 4);
	put_load_of(f, 2, 0x2000, 16, "two", 4);
	put_move(f, 1, 0x5000, 32);
	put_move(f, 3, 0x6000, 32);
	assert_string_equal(hear(child, 5), "1000 10 one\n2000 10 two\n5000 20 one\n");
	put_load_of(f, 1, 0x7000, 16, "another", 8);
	put_move(f, 1, 0x8000, 16);
	put_move(f, 2, 0x9000, 0);
	put_move(f, 1 + LOADS, 0xa000, 16);	/* another one's place, or none */
	fclose(f);
	assert_string_equal(hear_later(child, 5), "7000 10 another\n8000 10 another\n");
}

/* What appears later is told to have come after the look before */
static void test_after(void **state)
{
	(void)state;
	note(child, vmp_tsc(), VMPROF_MAP_ANON, "");
	assert_int_equal(after(&jit.program[0]), 0);
	write_at(path, 0, "1000 10 one\n");
	assert_string_equal(hear(child, jit.program[0].tsc), "1000 10 one\n");
	assert_true(jit.program[0].looked_tsc > jit.program[0].tsc);
	jit.program[0].looked_tsc = jit.program[0].tsc + (77ULL << VMPROF_JITMAP_AFTER_SHIFT);
	write_at(path, O_APPEND, "2000 10 two\n");
	now_ms += VMP_JIT_LOOK_MS;
	assert_string_equal(hear(child, jit.program[0].tsc), "2000 10 two\n");
	assert_int_equal(heard_after, 77);
	jit.program[0].looked_tsc = UINT64_MAX;
	assert_int_equal(after(&jit.program[0]), UINT32_MAX);
}

/* Files that are called so and are none, and one that ends to be one */
static void test_no_dump(void **state)
{
	FILE *f;

	(void)state;
	snprintf(other, sizeof(other), "/tmp/jit-%d.dump", child);
	write_at(other, 0, "0123456789012345678901234567890123456789 no dump");
	note_dump(other, 5);
	assert_string_equal(hear(child, 5), "");
	assert_int_equal(jit.lost, 1);
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "");

	f = begin_dump(other);
	put_load(f, 0x1000, 16, "good", 5);
	put(f, (char[16]){ 0 }, 16);		/* a record of no bytes */
	fclose(f);
	note_dump(other, 6);
	assert_string_equal(hear(child, 6), "1000 10 good\n");
	assert_int_equal(jit.lost, 2);

	assert_true(vmp_jitdump_is("/a/jit-1.dump", 13));
	assert_true(vmp_jitdump_is("jit-.dump", 9));
	assert_false(vmp_jitdump_is("/a/xjit-1.dump", 14));
	assert_false(vmp_jitdump_is("/jit-1.dump/x", 13));
	assert_false(vmp_jitdump_is("/jit-1.dum", 10));
	assert_false(vmp_jitdump_is("", 0));
}

/* The first process of a PID namespace, in a root of its own */
static int in_container(int ready)
{
	if (mkdir(other, 0700) || chdir(other) || mkdir("tmp", 0700) || chroot("."))
		return 1;
	write_at("/tmp/perf-1.map", 0, "1000 10 contained\n");
	if (write(ready, "x", 1) != 1)
		return 1;
	pause();
	return 0;
}

static pid_t start_container(int ready)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return -1;
	pid = fork();
	if (!pid)
		_exit(in_container(ready));
	return pid;
}

/* A helper makes it, since the namespace is for all children from then on. */
static void test_container(void **state)
{
	int ready[2], told[2];
	pid_t helper, inner;
	char c, cmd[128];

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(told), 0);
	helper = fork();
	if (!helper) {
		inner = start_container(ready[1]);
		_exit(write(told[1], &inner, sizeof(inner)) != sizeof(inner) || pause());
	}
	close(ready[1]);
	assert_int_equal(read(told[0], &inner, sizeof(inner)), sizeof(inner));
	if (inner > 0) {
		assert_int_equal(read(ready[0], &c, 1), 1);
		note(inner, 9, VMPROF_MAP_ANON, "");
		assert_string_equal(hear(inner, 9), "1000 10 contained\n");
		kill(inner, SIGKILL);
	}
	die(helper);
	close(ready[0]);
	close(told[0]);
	close(told[1]);
	if (inner < 0)
		skip();			/* it takes root's rights */
	snprintf(cmd, sizeof(cmd), "rm -r '%s'", other);
	assert_int_equal(system(cmd), 0);
}

static void test_proc_texts(void **state)
{
	struct vmp_jit_file p = { .own_pid = 0 };

	(void)state;
	assert_true(parse_status(&p, "Name:\tx\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t4711\t12\t3\nNSpgid:\t1\n"));
	assert_int_equal(p.own_pid, 3);
	assert_int_equal(p.uid, 1001);
	assert_true(parse_status(&p, "Name:\tx\nUid:\t0\t0\t0\t0\nNSpid:\t4711\n"));
	assert_int_equal(p.own_pid, 4711);
	assert_false(parse_status(&p, "Name:\tx\nUid:\t0\t0\t0\t0\n"));
	assert_false(parse_status(&p, "Name:\tx\nUid:\t0\t0\t0\t0\nNSpid:\t12"));
	assert_false(parse_status(&p, "NSpid:\t12\n"));
	assert_false(parse_status(&p, ""));
	assert_true(parse_stat(&p, "12 (a) b) (c) S 1 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 500 6 7"));
	assert_in_range(p.began_ns, vmp_realtime_ns() - ns_of(CLOCK_BOOTTIME) + 4000000000ULL,
			vmp_realtime_ns() - ns_of(CLOCK_BOOTTIME) + 6000000000ULL);
	assert_false(parse_stat(&p, "12 (a) S 1 1"));
	assert_false(parse_stat(&p, ""));
}

static void join_groups(void)
{
	static gid_t groups[600];
	unsigned int i;

	for (i = 0; i < 600; i++)
		groups[i] = 4000000000U + i;
	_exit(setgroups(600, groups) || pause());
}

/* A process's number in its namespace lies behind all of its groups */
static void test_many_groups(void **state)
{
	pid_t member = fork();
	char cmd[128];
	int tries;

	(void)state;
	if (!member)
		join_groups();
	assert_true(member > 0);
	snprintf(cmd, sizeof(cmd), "grep -q '^Groups:.*4000000599' /proc/%d/status", member);
	for (tries = 0; geteuid() == 0 && system(cmd) && tries < 1000; tries++)
		usleep(10000);
	note(member, 5, VMPROF_MAP_ANON, "");
	snprintf(other, sizeof(other), "/tmp/perf-%d.map", member);
	write_at(other, 0, "1000 10 of many groups\n");
	if (!geteuid())
		assert_string_equal(hear_later(member, 5), "1000 10 of many groups\n");
	die(member);
	if (geteuid())
		skip();			/* it takes root's rights to join them */
	assert_int_equal(jit.lost, 0);
}

/* A process that lives, of which not all can be learnt, is a loss */
static void test_cannot_be_met(void **state)
{
	(void)state;
	note(child, 5, 0, "/memfd:x");
	assert_int_equal(jit.nr, 1);
	asked.what = VMP_READ_JIT_BEGIN;
	asked.number = jit.program[0].slot;
	answer = (struct vmp_read_answer){ .status = -EBADMSG };
	vmp_jit_answer(&jit, &asked, &answer, &out, now_ms);
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 1);
}

/* What takes too long, or finds no child, is no end: it is read later, from where it was read to */
static void test_late(void **state)
{
	static const int late[] = { ETIMEDOUT, EBUSY, EIO };
	unsigned int i;

	(void)state;
	refusal = ETIMEDOUT;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 one\n");
	assert_int_equal(step(), 0);		/* not again at once */
	assert_string_equal(hear_later(child, 5), "");
	assert_int_equal(jit.program[0].begun, 0);
	refusal = 0;
	assert_string_equal(hear_later(child, 5), "1000 10 one\n");
	for (i = 0; i < 3; i++) {
		refusal = late[i];
		write_at(path, O_APPEND, "2000 10 more\n");
		assert_string_equal(hear_later(child, 5), "");
		assert_int_equal(step(), 0);
		assert_string_equal(hear_later(child, 5), "");
		refusal = 0;
		assert_string_equal(hear(child, 5), "");
		assert_string_equal(hear_later(child, 5), "2000 10 more\n");
	}
	assert_int_equal(jit.lost, 0);

	/* it ends meanwhile: what it wrote is still there; and when the session ends it is not waited for */
	refusal = ETIMEDOUT;
	write_at(path, O_APPEND, "3000 10 last\n");
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "");
	assert_int_equal(jit.nr, 1);
	refusal = 0;
	assert_string_equal(hear_later(child, 5), "3000 10 last\n");
	assert_int_equal(jit.nr, 0);
	refusal = EBUSY;
	note(child, 6, VMPROF_MAP_ANON, "");
	vmp_jit_finish(&jit);
	vmp_jit_give_up(&jit);
	assert_int_equal(jit.lost, 1);
}

/* One that could not be begun with and is gone when it could be is a loss */
static void test_gone_meanwhile(void **state)
{
	(void)state;
	refusal = EBUSY;
	note(child, 5, VMPROF_MAP_ANON, "");
	die(child);
	refusal = 0;
	assert_string_equal(hear_later(child, 5), "");
	child = 0;
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 1);
}

/* A file that ends each child that reads it is given up; its place is free when its program ends, whichever child that is told */
static void test_ends_each_child(void **state)
{
	unsigned int i;

	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 one\n");
	for (i = 1; i <= 2 * VMP_JIT_ERRORS_MAX; i++) {
		vmp_jit_begin_again(&jit);
		refusal = 0;
		if (!jit.program[0].given_up)
			step();
		refusal = EIO;
		assert_string_equal(hear_later(child, 5), "");
		assert_int_equal(jit.lost, i >= VMP_JIT_ERRORS_MAX);
	}
	refusal = 0;
	vmp_jit_begin_again(&jit);
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "");
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 1);
}

/* The child was killed: the next one begins anew with who lives, at the place where it was */
static void test_child_was_killed(void **state)
{
	(void)state;
	note(child, 5, VMPROF_MAP_ANON, "");
	write_at(path, 0, "1000 10 one\n");
	assert_string_equal(hear(child, 5), "1000 10 one\n");
	vmp_jit_file_close(&files[jit.program[0].slot]);
	vmp_jit_begin_again(&jit);
	write_at(path, O_APPEND, "2000 10 two\n");
	assert_string_equal(hear_later(child, 5), "2000 10 two\n");

	die(child);
	vmp_jit_file_close(&files[jit.program[0].slot]);
	vmp_jit_begin_again(&jit);
	vmp_jit_ended(&jit, (uint32_t)child);
	assert_string_equal(hear(child, 5), "");
	child = 0;
	assert_int_equal(jit.nr, 0);
	assert_int_equal(jit.lost, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_found_after_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rewritten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_credit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(test_after, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_container, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cannot_be_met, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_each_child, setup, teardown),
		cmocka_unit_test_setup_teardown(test_child_was_killed, setup, teardown),
		cmocka_unit_test(test_proc_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
