// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_bulk.c - what the agent sends within the host's credit: kernel symbols,
 * objects, JIT maps; and files that cannot be read.
 */
#include "agent_talk.h"
#include "tiny_elf.h"

static void long_ago(void)
{
	agent.symbols.looked_ms -= LOOK_MS;
}

/* A module that was loaded in the session: when that was, and all symbols once more, from their beginning */
static void test_modules_change(void **state)
{
	struct vmprof_credit credit = { .bytes = htole64(1 << 26) };
	struct vmp_agent_msg m;
	int begun = 0, whole = 0, told = 0, round;
	uint64_t looked = 0;

	(void)state;
	start(1 << 26);
	for (round = 1; round <= 2; round++) {
		do {
			m = hear();
			assert_int_not_equal(m.type, 0);
			if (m.type == VMPROF_MSG_MODULES) {
				told++;
				assert_int_equal(begun, round - 1);
				assert_in_range(m.modules.since_tsc, looked, m.modules.tsc);
			}
			if (m.type != VMPROF_MSG_KSYMS)
				continue;
			begun += !m.ksyms.offset;
			whole += m.ksyms.offset + m.ksyms.text.len == m.ksyms.total;
		} while (whole < round);
		assert_int_equal(begun, round);
		assert_int_equal(told, round - 1);
		long_ago();
		looked = vmp_tsc();
		assert_int_equal(hear().type, 0);	/* nothing has changed */
		agent.symbols.modules++;
		long_ago();
		agent.symbols.settles_ms = 0;
		assert_int_equal(hear().type, 0);	/* our module says that nothing came or went: nobody looks */
		fake_changes++;
		long_ago();
		tell(VMPROF_MSG_CREDIT, &credit, sizeof(credit));
	}
}

#define LASTING	"ffffffff81000000 T one\nffffffff81000010 t two\n"

/* One conversation with a host that says to have so much: what the agent sends, from where on */
static uint64_t symbols_sent(uint64_t kept_bytes, uint32_t kept_crc, char *text)
{
	struct {
		struct vmprof_token token;
		struct vmprof_kept kept;
	} s = { .kept = { htole64(kept_bytes), htole32(kept_crc), 0 } };
	uint64_t begin, at;
	struct vmp_agent_msg m;

	greet(1 << 20);
	hear_type(VMPROF_MSG_HELLO);
	tell(VMPROF_MSG_START, &s, sizeof(s));
	m = hear_type(VMPROF_MSG_KSYMS);
	begin = at = m.ksyms.offset;
	*text = 0;
	for (; m.type; m = hear()) {
		if (m.type != VMPROF_MSG_KSYMS)
			continue;
		assert_int_equal(m.ksyms.offset, at);
		assert_true(strlen(text) + m.ksyms.text.len < 256);
		strncat(text, m.ksyms.text.p, m.ksyms.text.len);
		at += m.ksyms.text.len;
		if (at == m.ksyms.total)
			break;
	}
	assert_int_equal(m.type, VMPROF_MSG_KSYMS);
	assert_clean();
	return begin;
}

/* What the host has kept is not sent again; anything else is. */
static void test_kept_symbols(void **state)
{
	static const char file[] = "/tmp/vmprof-kallsyms";
	static const char bpf[] = "ffffffff80000000 t bpf_prog_1\t[bpf]\n";
	const uint64_t len = strlen(LASTING);
	const uint32_t crc = vmp_crc32c(0, LASTING, len);
	char text[256];
	FILE *f;

	(void)state;
	kallsyms = file;
	f = fopen(file, "we");
	assert_non_null(f);
	fprintf(f, "%s%s", bpf, LASTING);
	fclose(f);
	assert_int_equal(symbols_sent(0, 0, text), 0);
	assert_string_equal(text, LASTING "ffffffff80000000 t bpf_prog_1\t[bpf]\n");
	assert_int_equal(symbols_sent(len, crc, text), len);
	assert_string_equal(text, bpf);
	assert_int_equal(symbols_sent(len, crc + 1, text), 0);
	assert_int_equal(symbols_sent(len - 1, crc, text), 0);
	assert_int_equal(symbols_sent(VMPROF_KSYMS_BYTES_MAX, crc, text), 0);	/* more than there is */

	/* nothing but that: a piece without text */
	f = fopen(file, "we");
	fputs(LASTING, f);
	fclose(f);
	assert_int_equal(symbols_sent(len, crc, text), len);
	assert_string_equal(text, "");

	/* modules that come later: all of it, from the beginning */
	agent.symbols.modules++;
	long_ago();
	assert_int_equal(hear_type(VMPROF_MSG_KSYMS).ksyms.offset, 0);
	unlink(file);
	kallsyms = "/proc/kallsyms";
}

static const char modules_file[] = "/tmp/vmprof-modules";

static void load(const char *line)
{
	FILE *f = fopen(modules_file, "ae");

	assert_non_null(f);
	fputs(line, f);
	fclose(f);
	modules_path = modules_file;
}

static const char kallsyms_file[] = "/tmp/vmprof-kallsyms";

/* A kernel with one module, and two symbols of its own */
static void begin_kernel(void)
{
	FILE *f = fopen(kallsyms_file, "we");

	assert_non_null(f);
	fputs(LASTING, f);
	fclose(f);
	kallsyms = kallsyms_file;
	load("one 4096 0 - Live 0xffffffffc0000000\n");
}

static void end_kernel(void)
{
	unlink(kallsyms_file);
	unlink(modules_file);
	kallsyms = "/proc/kallsyms";
	modules_path = "/proc/modules";
}

/* Symbols that were read while modules changed are not sent: they are of no time. */
static void test_modules_change_while_read(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	begin_kernel();
	greet(1 << 20);
	hear_type(VMPROF_MSG_HELLO);
	tell_token(VMPROF_MSG_START, 7);
	do
		assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
	while (!agent.symbols.active);
	assert_int_equal(vmp_ksyms_step(&agent.symbols.ksyms), 1);
	load("two 4096 0 - Live 0xffffffffc0002000\n");
	do
		m = hear();
	while (m.type != VMPROF_MSG_MODULES && m.type != VMPROF_MSG_KSYMS);
	assert_int_equal(m.type, VMPROF_MSG_MODULES);
	assert_int_equal(hear_type(VMPROF_MSG_KSYMS).ksyms.total, strlen(LASTING));
	assert_int_equal(hear().type, 0);

	/* one that was loaded last: the host hears of it before the end */
	load("three 4096 0 - Live 0xffffffffc0004000\n");
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_SNAP_END);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
	module_snapshot_end(8);
	do
		m = hear();
	while (m.type != VMPROF_MSG_MODULES && m.type != VMPROF_MSG_DONE);
	assert_int_equal(m.type, VMPROF_MSG_MODULES);
	hear_type(VMPROF_MSG_KSYMS);

	/* a host that does not know the message gets the symbols alone */
	start(1 << 20);
	agent.symbols.announces = 0;
	hear_type(VMPROF_MSG_KSYMS);
	load("four 4096 0 - Live 0xffffffffc0006000\n");
	long_ago();
	do
		m = hear();
	while (m.type == VMPROF_MSG_SNAP_BEGIN || m.type == VMPROF_MSG_TASKS);
	assert_int_equal(m.type, VMPROF_MSG_KSYMS);
	assert_clean();
	end_kernel();
}

/* How often the host hears of a change, and has all symbols behind it, until the agent has nothing to say */
static int changes_told(void)
{
	struct vmp_agent_msg m;
	int told = 0, whole = 0, silence = 0;

	for (m = hear(); m.type || (told != whole && silence++ < 100); m = hear()) {
		told += m.type == VMPROF_MSG_MODULES;
		whole += m.type == VMPROF_MSG_KSYMS && m.ksyms.offset + m.ksyms.text.len == m.ksyms.total;
	}
	assert_int_equal(told, whole);
	return told;
}

/* A BPF program that is loaded in the session: the symbols are read again, at times that get longer, and at the end */
static void test_made_code(void **state)
{
	(void)state;
	begin_kernel();
	start(1 << 20);
	module_snapshot_end(7);
	hear_type(VMPROF_MSG_KSYMS);
	passed_ms += MADE_MS;
	assert_int_equal(changes_told(), 0);	/* nothing came */
	fake_made++;
	passed_ms += LOOK_MS;
	assert_int_equal(changes_told(), 1);
	fake_made++;
	passed_ms += MADE_MS;
	assert_int_equal(changes_told(), 0);	/* not yet ... */
	passed_ms += MADE_MS;
	assert_int_equal(changes_told(), 1);	/* ... and not twice */
	made_error = -EOPNOTSUPP;		/* the module's kernel does not tell */
	fake_made++;
	passed_ms += 4 * MADE_MS;
	assert_int_equal(changes_told(), 0);
	made_error = 0;
	fake_made++;
	passed_ms += LOOK_MS;
	assert_int_equal(changes_told(), 1);
	fake_made++;
	passed_ms += LOOK_MS;
	assert_int_equal(changes_told(), 0);
	tell_token(VMPROF_MSG_STOP, 8);
	assert_int_equal(vmp_session_input(&agent, agent_fd), 0);
	module_snapshot_end(8);
	assert_int_equal(changes_told(), 1);
	assert_clean();
	end_kernel();
}

/* The vdso as an object, whole, in pieces, within the credit, and behind each event that came meanwhile */
static void test_object(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1), .len = htole32(UINT32_MAX) };
	struct vmprof_credit more = { .bytes = htole64(1000) };
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5) };
	struct {
		struct vmprof_map map;
		char path[6];
	} map_msg = {
		.map = { .start = htole64(1ULL << 40), .end = htole64((1ULL << 40) + 8192),
			 .flags = htole16(VMPROF_MAP_VDSO), .path_len = htole32(6) },
		.path = "[vdso]",
	};
	size_t got = 0, spent = 0, given = 0;
	struct vmp_agent_msg m;

	(void)state;
	if (!vmp_vdso_bytes())
		skip();
	start(0);
	agent.symbols.active = 0;
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 6);
	m = hear_type(VMPROF_MSG_FILE);
	assert_int_equal(m.file.bytes, vmp_vdso_bytes());
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	while (got < vmp_vdso_bytes()) {
		m = hear();
		if (!m.type) {
			assert_true(given <= vmp_vdso_bytes() + 100000);
			tell(VMPROF_MSG_CREDIT, &more, sizeof(more));
			given += 1000;
			module_put(VMPROF_MSG_FORK, &p, sizeof(p));
			assert_int_equal(hear().type, VMPROF_MSG_FORK);
			continue;
		}
		assert_int_equal(m.type, VMPROF_MSG_OBJECT);
		assert_int_equal(m.object.status, 0);
		assert_int_equal(m.object.offset, got);
		assert_memory_equal(m.object.data.p, vdso()->begin + got, m.object.data.len);
		got += m.object.data.len;
		spent += m.object.data.len + sizeof(struct vmprof_object);
		assert_true(spent <= given);
	}
	assert_int_equal(got, vmp_vdso_bytes());
	assert_int_equal(hear().type, 0);
	assert_clean();
}

static void write_debug_file(const void *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/.build-id/ab/ababab.debug", debug_root);
	f = fopen(path, "we");
	assert_non_null(f);
	fwrite(data, 1, len, f);
	fclose(f);
}

/* The symbols that a distribution stripped from a file and keeps below another folder */
static void test_debug_file(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1 | VMPROF_OBJECT_DEBUG), .len = htole32(6) };
	const struct tiny_elf elf = tiny_elf(0xab), another = tiny_elf(0xac);
	struct vmprof_credit credit = { .bytes = htole64(100000) };
	struct vmp_agent_msg m;
	char cmd[256];

	(void)state;
	strcpy(debug_root + sizeof(debug_root) - 7, "XXXXXX");
	assert_non_null(mkdtemp(debug_root));
	start(0);
	stopped_at_ms = vmp_now_ms();		/* no answer waits for others */
	agent.symbols.active = 0;
	tell(VMPROF_MSG_CREDIT, &credit, sizeof(credit));
	agent.files.file = calloc(1, sizeof(*agent.files.file));
	agent.files.nr = agent.files.room = agent.files.sent = 1;
	agent.files.file[0].path = strdup("/nowhere");
	agent.files.file[0].tgid = 0x7fffffff;	/* gone */
	agent.files.file[0].looked_at = 1;
	agent.files.file[0].flags = VMPROF_FILE_NO_ACCESS;
	agent.files.file[0].id.len = sizeof(elf.id);
	memcpy(agent.files.file[0].id.bytes, elf.id, sizeof(elf.id));

	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.file, 1 | VMPROF_OBJECT_DEBUG);
	assert_int_equal(m.object.status, ENOENT);

	/* what is none, or another binary's, is not handed over */
	snprintf(cmd, sizeof(cmd), "mkdir -p %s/.build-id/ab", debug_root);
	assert_int_equal(system(cmd), 0);
	write_debug_file("root:$y$j9T$secret:20000:0:99999:7:::\n", 38);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, ENOEXEC);
	assert_int_equal(m.object.data.len, 0);
	write_debug_file(&another, sizeof(another));
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, ENOEXEC);
	assert_int_equal(m.object.data.len, 0);

	write_debug_file(&elf, sizeof(elf));
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, 0);
	assert_int_equal(m.object.total, sizeof(elf));
	assert_int_equal(m.object.data.len, 6);
	assert_memory_equal(m.object.data.p, &elf, 6);
	get.offset = htole64(6);
	get.len = htole32(1000);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.offset, 6);
	assert_int_equal(m.object.data.len, sizeof(elf) - 6);
	assert_memory_equal(m.object.data.p, (const char *)&elf + 6, sizeof(elf) - 6);

	/* the file itself is another object */
	get.file = htole32(1);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	assert_int_equal(hear_type(VMPROF_MSG_OBJECT).object.status, EACCES);
	assert_clean();
	snprintf(cmd, sizeof(cmd), "rm -r %s", debug_root);
	assert_int_equal(system(cmd), 0);
}

/* A process that says to have code of its own making, and the map that it wrote */
static pid_t made_code(char path[64], const char *text)
{
	struct vmprof_map map = { .tsc = htole64(5), .start = htole64(0x1000), .end = htole64(0x2000),
				  .flags = htole16(VMPROF_MAP_ANON) };
	pid_t pid = fork();
	FILE *f;

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	snprintf(path, 64, "/tmp/perf-%d.map", pid);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	map.tgid = htole32((uint32_t)pid);
	module_put(VMPROF_MSG_MAP, &map, sizeof(map));
	return pid;
}

static void end_process(pid_t pid, const char *path)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
}

static void assert_jitmap(const char *text)
{
	const struct vmp_agent_msg m = hear_type(VMPROF_MSG_JITMAP);

	assert_int_equal(m.jitmap.tsc, 5);
	assert_int_equal(m.jitmap.text.len, strlen(text));
	assert_memory_equal(m.jitmap.text.p, text, strlen(text));
}

/* What a program appended is there before DONE, and what it wrote before its exit too */
static void test_jit_map(void **state)
{
	struct vmprof_proc gone = { .tgid = 0, .flags = htole32(VMPROF_PROC_LAST) };
	char one[64], two[64];
	pid_t first, second;
	FILE *f;

	(void)state;
	start(1 << 20);
	agent.symbols.active = 0;
	module_snapshot_end(7);
	first = made_code(one, "1000 10 one\n");
	assert_jitmap("1000 10 one\n");
	second = made_code(two, "2000 10 two\n");
	assert_jitmap("2000 10 two\n");

	f = fopen(two, "ae");
	fputs("2010 10 last words\n", f);
	fclose(f);
	end_process(second, two);
	gone.tgid = gone.pid = htole32((uint32_t)second);
	module_put(VMPROF_MSG_EXIT, &gone, sizeof(gone));
	assert_jitmap("2010 10 last words\n");

	f = fopen(one, "ae");
	fputs("1010 10 appended\n", f);
	fclose(f);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	assert_jitmap("1010 10 appended\n");
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_int_equal(agent.jit.nr, 0);
	assert_int_equal(agent.jit.lost, 0);
	assert_clean();
	end_process(first, one);
}

/* A host that gives no credit: the end is waited for, but not for ever, and the loss is told */
static void test_jit_map_without_credit(void **state)
{
	char path[64];
	pid_t pid;

	(void)state;
	start(0);
	module_snapshot_end(7);
	pid = made_code(path, "1000 10 one\n");
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 7);
	assert_int_equal(hear_type(VMPROF_MSG_SNAP_END).token.token, 8);
	assert_int_equal(hear().type, 0);
	assert_int_equal(agent.state, VMP_DRAINING);
	agent.drain_until_ms = 1;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_JIT], 1);
	assert_int_equal(hear().type, VMPROF_MSG_DONE);
	end_process(pid, path);
}

/* A host of version 1 would give no credit for them */
static void test_jit_map_unwanted(void **state)
{
	char path[64];
	pid_t pid;

	(void)state;
	replay("host-1-start");
	hear_type(VMPROF_MSG_SNAP_BEGIN);
	pid = made_code(path, "1000 10 one\n");
	assert_int_equal(hear_type(VMPROF_MSG_MAP).map.tgid, pid);
	assert_int_equal(agent.jit.nr, 0);
	end_process(pid, path);
}

static void serve_nobody(int fd, struct vmp_reader_page *page)
{
	(void)fd;
	(void)page;
	pause();
}

/* A file whose reading does not end: events pass it by, it is told without, the loss is told */
static void test_stuck_file(void **state)
{
	struct {
		struct vmprof_map map;
		char path[8];
	} map_msg = {
		.map = { .end = htole64(8192), .ino = htole64(3), .dev_minor = htole32(77), .path_len = htole32(8) },
		.path = "/no/file",
	};
	struct vmprof_proc p = { .pid = htole32(5), .tgid = htole32(5) };

	(void)state;
	agent.reader.serve = serve_nobody;
	start(0);
	module_snapshot_end(7);
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 8);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear_type(VMPROF_MSG_MAP).map.ino, 3);
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	module_put(VMPROF_MSG_FORK, &p, sizeof(p));
	assert_int_equal(hear().type, VMPROF_MSG_FORK);
	/* it is tried again for a while before that */
	agent.reader.asked_ms -= VMP_READER_PATIENCE_MS;
	assert_int_equal(hear().type, 0);
	assert_false(vmp_reader_busy(&agent.reader));
	passed_ms += VMP_FILES_PATIENCE_MS;
	while (!vmp_reader_busy(&agent.reader))
		work();
	agent.reader.asked_ms -= VMP_READER_PATIENCE_MS;
	assert_int_equal(hear_type(VMPROF_MSG_FILE).file.flags, VMPROF_FILE_NO_ACCESS);
	agent.lost_checked_ms = 0;
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_STUCK], 1);

	/* another one at the end: DONE does not wait for ever */
	map_msg.map.ino = htole64(4);
	map_msg.map.dev_minor = htole32(78);
	module_put(VMPROF_MSG_MAP, &map_msg, sizeof(map_msg.map) + 8);
	tell_token(VMPROF_MSG_STOP, 8);
	work();
	module_snapshot_end(8);
	work();
	assert_int_equal(agent.state, VMP_DRAINING);
	agent.drain_until_ms = 1;
	assert_int_equal(hear_type(VMPROF_MSG_FILE).file.ino, 4);
	assert_int_equal(hear_type(VMPROF_MSG_LOST).lost.count[VMPROF_GLOST_STUCK], 2);
	assert_int_equal(hear_type(VMPROF_MSG_DONE).token.token, 8);
	assert_clean();
}

static char object_path[] = "/tmp/vmprof-object-XXXXXX";

/* A file of which the host knows.  Return: its device */
static struct vmp_device known_object(void)
{
	const struct tiny_elf elf = tiny_elf(1);
	struct vmp_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int fd;

	assert_non_null(f);
	strcpy(object_path + sizeof(object_path) - 7, "XXXXXX");
	fd = mkstemp(object_path);
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	*f = (struct vmp_file){
		.ino = st.st_ino, .dev_major = major(st.st_dev), .dev_minor = minor(st.st_dev), .bytes = sizeof(elf),
		.mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec,
		.path = strdup(object_path), .tgid = 0x7fffffff, .looked_at = 1,
	};
	agent.files.file = f;
	agent.files.nr = agent.files.room = agent.files.sent = 1;
	return (struct vmp_device){ f->dev_major, f->dev_minor };
}

/* An object on a device that is left alone: the host waits for it, and has it when that is over, or hears that it cannot be had */
static void test_held_object(void **state)
{
	struct vmprof_get_object get = { .file = htole32(1), .len = htole32(1000) };
	struct vmp_device device;
	struct vmp_agent_msg m;
	uint64_t asked_ms;

	(void)state;
	greet(1 << 20);
	hear_type(VMPROF_MSG_HELLO);
	stopped_at_ms = vmp_now_ms();
	device = known_object();
	assert_int_equal(hold(agent.reader.page, device, stopped_at_ms), 1000);
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	assert_int_equal(hear().type, 0);
	assert_int_equal(vmp_session_timeout_ms(&agent), LOST_CHECK_MS);	/* it is not forgotten */
	stopped_at_ms += 999;
	assert_int_equal(hear().type, 0);
	stopped_at_ms++;
	m = hear_type(VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, 0);
	assert_int_equal(m.object.data.len, sizeof(struct tiny_elf));
	assert_int_equal(agent.reader.page->hold_ms[0], 0);

	while (hold(agent.reader.page, device, stopped_at_ms) < VMP_READER_HOLD_MAX_MS)
		;
	asked_ms = stopped_at_ms;
	tell(VMPROF_MSG_GET_OBJECT, &get, sizeof(get));
	for (m = hear(); !m.type; m = hear())
		stopped_at_ms += 100;
	assert_int_equal(m.type, VMPROF_MSG_OBJECT);
	assert_int_equal(m.object.status, ETIMEDOUT);
	assert_in_range(stopped_at_ms - asked_ms, 6000, VMP_BULK_PATIENCE_MS);
	assert_int_equal(agent.unread, 1);
	assert_int_equal(vmp_session_timeout_ms(&agent), -1);
	unlink(object_path);
	assert_clean();
}

/* The child ends: another one goes on with who lives, and who does not is counted, even if it is the first that is asked for */
static void test_jit_map_of_another_child(void **state)
{
	struct vmprof_proc gone = { .tgid = 0, .flags = htole32(VMPROF_PROC_LAST) };
	char path[64];
	pid_t pid;
	FILE *f;

	(void)state;
	start(1 << 20);
	agent.symbols.active = 0;
	module_snapshot_end(7);
	pid = made_code(path, "1000 10 one\n");
	assert_jitmap("1000 10 one\n");
	while (agent.jit.program[0].due_ms <= vmp_now_ms())
		work();
	kill(agent.reader.child, SIGKILL);
	f = fopen(path, "ae");
	fputs("2000 10 two\n", f);
	fclose(f);
	passed_ms += VMP_JIT_LOOK_MS;
	while (agent.reader.begun < 2 || vmp_reader_busy(&agent.reader))
		work();
	passed_ms += VMP_READ_LATE_MS;
	assert_jitmap("2000 10 two\n");
	assert_int_equal(agent.jit.lost, 0);

	while (agent.jit.program[0].due_ms <= vmp_now_ms() || vmp_reader_busy(&agent.reader))
		work();
	end_child(&agent.reader);
	end_process(pid, path);
	gone.tgid = gone.pid = htole32((uint32_t)pid);
	module_put(VMPROF_MSG_EXIT, &gone, sizeof(gone));
	while (agent.jit.nr)
		hear();
	assert_int_equal(agent.jit.lost, 1);
	assert_clean();
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_modules_change), T(test_modules_change_while_read), T(test_made_code), T(test_kept_symbols), T(test_object), T(test_debug_file),
		T(test_jit_map), T(test_jit_map_without_credit), T(test_jit_map_unwanted), T(test_stuck_file), T(test_held_object),
		T(test_jit_map_of_another_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
