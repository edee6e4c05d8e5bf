// SPDX-License-Identifier: GPL-2.0-only
/*
 * liar.c - an agent that speaks the protocol and lies, in the place of the real one.
 *
 *	liar PORT KIND SECONDS
 *
 * all: it says a session's messages with what a host must not believe (lengths, checksums, paths out of the root, escape
 * sequences, another guest's page tables, objects without an end), answers what the host asks
 * with something else, and sends messages of every type that hold random bytes.
 *
 * files: it lies in what it sends of files alone. It says that it has no module, and tells where burn-b, which must run,
 * truly has its code, with the build-id of burn-a, which another guest runs; so the host believes it, finds samples there,
 * and asks for the file. It gets so many bytes as were told, of no program; then what was not asked for, and more of it without an end.
 *
 * own: the same with burn-b's own build-id and size, whose place in the host's cache the lie would take.
 *
 * bombs: the same with /opt/storm/bomb, which is sent as it is, nothing besides, and unpacks to more than a host has; and as the next
 * file one of 8 MiB, whose sections lie on one another: to go over all of their notes is to go over 256 GiB.
 *
 * slow: it says what it says of own, and sends what is asked for of its files byte by byte, one each five seconds.
 *
 * floods: each of its messages makes sense; there are as many as the host takes, of the kinds that cost it most: new
 * processes, new places of the running task, and symbols of a kernel that begin anew with each.
 *
 * It ends as an honest agent does where the host asks it to, and begins anew where the host comes again.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <vmprof/agent_proto.h>
#include <x86intrin.h>

#include "frame.h"

#define EVIL		"\033]0;vmprof-evil\a\033[2J\x9b\x31m<script>alert(1)</script>\",=1+1\n%n%s"
#define EVIL_PATH	"/../../../../../../../../tmp/vmprof-evil/" EVIL

static struct vmp_frame_decoder in;
static uint32_t seq;
static int port;
static enum { ALL, FILES, OWN, BOMBS, SLOW, FLOODS } kind;

static void put(const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(port, at, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = port, .events = POLLOUT };

			poll(&p, 1, 100);
			continue;
		}
		if (n <= 0)
			return;	/* the host has left */
		at += n;
		len -= (size_t)n;
	}
}

static void say(unsigned int type, const void *a, size_t a_len, const void *b, size_t b_len)
{
	static uint8_t buf[VMP_FRAME_BYTES_MAX];
	struct vmprof_frame f;

	memcpy(buf + sizeof(f), a, a_len);
	if (b_len)
		memcpy(buf + sizeof(f) + a_len, b, b_len);
	if (vmp_frame_build(&f, (uint16_t)type, seq++, buf + sizeof(f), a_len + b_len))
		return;
	memcpy(buf, &f, sizeof(f));
	put(buf, sizeof(f) + a_len + b_len);
}

static void say_token(unsigned int type, uint64_t token)
{
	const struct vmprof_token t = { .token = token, .tsc = __rdtsc() };

	say(type, &t, sizeof(t), NULL, 0);
}

static void say_map(uint64_t cr3, uint32_t pid, uint64_t ino, const char *path, uint32_t path_len)
{
	const struct vmprof_map m = {
		.tsc = __rdtsc(), .cr3 = cr3, .start = 0x1000, .end = 0x7fffffffe000, .ino = ino,
		.dev_major = 254, .dev_minor = 1, .tgid = pid, .prot = 5, .path_len = path_len,
	};

	say(VMPROF_MSG_MAP, &m, sizeof(m), path, strlen(path));
}

#define FILES_MAX	64
static uint64_t told[FILES_MAX];	/* sizes of files */

/* @build_id: 20 bytes, or NULL: some */
static void say_file(uint32_t file, uint64_t ino, uint64_t bytes, const char *path, const uint8_t *build_id)
{
	struct vmprof_file f = {
		.file = file, .flags = kind == FILES || kind == OWN ? 0 : VMPROF_FILE_FLEETING, .ino = ino, .dev_major = 254, .dev_minor = 1, .bytes = bytes, .build_id_len = 20,
		.path_len = (uint32_t)strlen(path),
	};

	told[file % FILES_MAX] = bytes;
	memset(f.build_id, (int)file, sizeof(f.build_id));
	if (build_id)
		memcpy(f.build_id, build_id, 20);
	say(VMPROF_MSG_FILE, &f, sizeof(f), path, strlen(path));
}

static void say_hello(void)
{
	const struct vmprof_hello h = {
		.version = VMPROF_PROTO_VERSION, .compat = 1, .nr_cpus = UINT32_MAX, .tsc_khz = UINT32_MAX,
		.release_len = sizeof(EVIL) - 1, .tsc = __rdtsc(), .flags = kind == ALL || kind == FLOODS ? 0 : VMPROF_HELLO_NO_MODULE,
	};

	seq = 0;
	say(VMPROF_MSG_HELLO, &h, sizeof(h), EVIL, sizeof(EVIL) - 1);
}

/* Processes on all page tables that there may be, each with a name and a path that do harm where they are believed */
static void say_processes(void)
{
	struct vmprof_proc p = { .tsc = __rdtsc(), .ppid = UINT32_MAX };
	const struct {
		struct vmprof_proc proc;
		struct vmprof_place place;
	} in = { { .tsc = __rdtsc(), .cr3 = 0x1000, .pid = 1, .tgid = 1 }, { UINT32_MAX, sizeof(EVIL_PATH) - 1 } };
	uint64_t cr3;

	memcpy(p.comm, EVIL, sizeof(p.comm));
	say(VMPROF_MSG_PROC, &in, sizeof(in), EVIL_PATH, sizeof(EVIL_PATH) - 1);
	for (cr3 = 0; cr3 < 256 << 20; cr3 += 1 << 16) {
		p.cr3 = cr3;
		p.pid = p.tgid = (uint32_t)(cr3 >> 12);
		say(VMPROF_MSG_PROC, &p, sizeof(p), NULL, 0);
		say_map(cr3, p.pid, p.pid % 7 + 1, EVIL_PATH, sizeof(EVIL_PATH) - 1);
	}
}

/* Lengths that are not so, of what is small and comes first: the host reads at a limited rate */
static void say_lengths(void)
{
	const struct vmprof_proc p = { .tsc = __rdtsc(), .pid = 1, .tgid = 1, .nr_maps = UINT32_MAX };
	int i;

	for (i = 0; i < 20; i++) {
		say(VMPROF_MSG_EXIT, &p, sizeof(p), "x", 1);
		say_map(0x1000, 1, 1, "/long", UINT32_MAX);
	}
}

static void say_files(void)
{
	uint32_t i;

	for (i = 1; i <= 7; i++)
		say_file(i, i, i == 3 ? UINT64_MAX : 1ULL << (4 * i), EVIL_PATH, NULL);
	say_file(UINT32_MAX, 1, 1, "/etc/shadow", NULL);
}

static void say_symbols(void)
{
	static const char text[] = "ffffffff81000000 T " EVIL "\nffffffff81000000 T %n\nnonsense\n0 T all\nffffffffffffffff T end\n";
	static const char made[] = "0 ffffffffffffffff " EVIL "\n1000 1 x\n";
	const struct vmprof_ksyms endless = { .offset = UINT64_MAX - 2, .total = UINT64_MAX };
	const struct vmprof_ksyms k = { .total = sizeof(text) - 1 };
	const struct vmprof_jitmap j = { .tsc = __rdtsc(), .tgid = 1 };
	const struct vmprof_modules m = { .tsc = __rdtsc(), .since_tsc = 1 };

	say(VMPROF_MSG_KSYMS, &endless, sizeof(endless), "x", 1);
	say(VMPROF_MSG_KSYMS, &k, sizeof(k), text, sizeof(text) - 1);
	say(VMPROF_MSG_MODULES, &m, sizeof(m), NULL, 0);
	say(VMPROF_MSG_JITMAP, &j, sizeof(j), made, sizeof(made) - 1);
}

/* The host shall look for the running task all over its own memory */
static void say_tasks(void)
{
	struct {
		struct vmprof_task_layout l;
		struct vmprof_task_cpu cpu[2];
	} t = {
		.l = { .tsc = __rdtsc(), .linear_bytes = UINT64_MAX, .init_task = UINT64_MAX, .init_task_gpa = UINT64_MAX,
		       .flags_offset = UINT32_MAX, .pid_offset = UINT32_MAX - 3, .comm_offset = 1, .nr_cpus = 2 },
		.cpu = { { 0, 0, 0xfee00000 }, { 1, 0, UINT64_MAX - 7 } },
	};

	say(VMPROF_MSG_TASKS, &t, sizeof(t), NULL, 0);
}

static void say_noise(void)
{
	static const uint16_t types[] = {
#define X(name, number, size, bulk) number,
		VMPROF_MESSAGES(X)
#undef X
	};
	struct vmprof_frame f = { .magic = VMPROF_FRAME_MAGIC, .type = VMPROF_MSG_PROC, .len = UINT32_MAX };
	uint8_t bytes[2048];
	size_t i, len = (size_t)rand() % sizeof(bytes);
	uint16_t type = types[(size_t)rand() % (sizeof(types) / sizeof(types[0]))];

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(rand() >> 7);
	/* what ends the conversation would end the lies */
	if (type == VMPROF_MSG_DONE || type == VMPROF_MSG_HELLO)
		put(bytes, len);
	else
		say(type, bytes, len, NULL, 0);
	if (rand() % 16)
		return;
	put(&f, sizeof(f));
	f.len = (uint32_t)len;		/* as many bytes as follow, with another checksum */
	put(&f, sizeof(f));
	put(bytes, len);
}

static struct {
	uint8_t *bytes;
	size_t len;
} bomb;

static void read_bomb(void)
{
	FILE *f = fopen("/opt/storm/bomb", "re");

	bomb.bytes = malloc(1 << 20);
	bomb.len = f && bomb.bytes ? fread(bomb.bytes, 1, 1 << 20, f) : 0;
	if (!bomb.len) {
		printf("there is no bomb\n");
		exit(1);
	}
	fclose(f);
}

#define SECTIONS_BYTES	(8U << 20)

/* As many as a header tells of, all of the same half of the file, from an odd byte on */
static const uint8_t *file_of_sections(void)
{
	const uint64_t half = SECTIONS_BYTES / 2;
	const Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
		.e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(h), .e_shoff = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 65534,
	};
	const Elf64_Shdr sh = { .sh_type = SHT_NOTE, .sh_offset = half + 1, .sh_size = half - 1, .sh_addralign = 4 };
	static uint8_t bytes[SECTIONS_BYTES];
	int i;

	memcpy(bytes, &h, sizeof(h));
	for (i = 1; i < h.e_shnum; i++)
		memcpy(bytes + sizeof(h) + (size_t)i * sizeof(sh), &sh, sizeof(sh));
	return bytes;
}

/* What was asked for of it, in pieces */
static void answer_bytes(const struct vmprof_get_object *ask, const uint8_t *bytes, uint64_t len)
{
	struct vmprof_object o = { .file = ask->file, .offset = ask->offset, .total = len };
	uint64_t end = ask->offset + ask->len < len ? ask->offset + ask->len : len, n;

	for (; o.offset < end; o.offset += n) {
		n = end - o.offset < 30000 ? end - o.offset : 30000;
		say(VMPROF_MSG_OBJECT, &o, sizeof(o), bytes + o.offset, n);
	}
}

static struct {
	struct vmprof_object o;		/* what comes next */
	uint64_t left;
	time_t at;
} slow;

static void answer_slowly(void)
{
	if (!slow.left || time(NULL) < slow.at)
		return;
	say(VMPROF_MSG_OBJECT, &slow.o, sizeof(slow.o), "", 1);
	slow.o.offset++;
	slow.left--;
	slow.at = time(NULL) + 5;
}

/* A program that it is not, one whose tables lie anywhere, or no end */
static void answer(const struct vmprof_get_object *ask)
{
	static uint8_t data[1 << 15];
	struct vmprof_object o = { .file = ask->file, .offset = ask->offset, .total = told[ask->file % FILES_MAX] };
	Elf64_Ehdr *h = (Elf64_Ehdr *)data;
	uint64_t left, n;
	size_t i;

	if (kind == BOMBS && ask->file == 1) {
		answer_bytes(ask, bomb.bytes, bomb.len);
		return;
	}
	if (kind == BOMBS && ask->file == 2) {
		answer_bytes(ask, file_of_sections(), SECTIONS_BYTES);
		return;
	}
	if (kind == SLOW) {
		slow.o = o;
		slow.left = ask->len;
		return;
	}
	if (kind == ALL && ask->file % 2)
		o.total = UINT64_MAX;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(rand() >> 7);
	memcpy(h->e_ident, ELFMAG "\2\1\1", SELFMAG + 3);
	h->e_type = ET_DYN;
	h->e_machine = EM_X86_64;
	h->e_phentsize = sizeof(Elf64_Phdr);
	h->e_shentsize = sizeof(Elf64_Shdr);
	for (left = ask->len; left; left -= n, o.offset += n) {
		n = left < sizeof(data) ? left : sizeof(data);
		say(VMPROF_MSG_OBJECT, &o, sizeof(o), data, n);
	}
	if (kind == BOMBS)
		return;		/* a host that is told what it did not ask for takes no sample for the bomb's */
	o.file = ask->file + 1;
	say(VMPROF_MSG_OBJECT, &o, sizeof(o), "unasked", 7);
	o.file = ask->file;
	for (n = 0; kind == FILES && ask->file == 1 && n < 100; n++, o.offset += sizeof(data))
		say(VMPROF_MSG_OBJECT, &o, sizeof(o), data, sizeof(data));
}

/* The build-id of a program here: the bytes of its note.  Return: 20 bytes */
static const uint8_t *build_id_of(const char *path)
{
	static const uint8_t note[] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	static uint8_t bytes[4096];
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	const uint8_t *at = memmem(bytes, len, note, sizeof(note));

	if (f)
		fclose(f);
	if (!at || at + sizeof(note) + 20 > bytes + len) {
		printf("%s has no build-id\n", path);
		exit(1);
	}
	return at + sizeof(note);
}

static uint64_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* burn-b, with a file of a number of its own for each of its mappings, the first of which is its own */
static void say_burn(void)
{
	static const char *const as[] = { [FILES] = "/opt/burn/burn-a", [OWN] = "/opt/burn/burn-b", [BOMBS] = "/opt/storm/bomb", [SLOW] = "/opt/burn/burn-b" };
	const uint8_t *build_id = build_id_of(as[kind]);
	struct vmprof_proc p = { .tsc = __rdtsc(), .ppid = 1, .comm = "burn-b" };
	unsigned long long start, end, pgoff, ino;
	FILE *pids = popen("pidof -s burn-b", "r"), *maps;
	char path[64], line[4096], prot[5];
	uint32_t file = 0;

	if (!pids || fscanf(pids, "%u", &p.pid) != 1) {
		printf("burn-b does not run\n");
		exit(1);
	}
	pclose(pids);
	p.tgid = p.pid;
	say(VMPROF_MSG_PROC, &p, sizeof(p), NULL, 0);
	snprintf(path, sizeof(path), "/proc/%u/maps", p.pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		struct vmprof_map m = {
			.tsc = p.tsc, .dev_major = 254, .dev_minor = 1, .tgid = p.tgid, .prot = 5, .path_len = sizeof(EVIL_PATH) - 1,
		};

		if (sscanf(line, "%llx-%llx %4s %llx %*s %llu", &start, &end, prot, &pgoff, &ino) != 5 || prot[2] != 'x' || !ino)
			continue;
		m.start = start;
		m.end = end;
		m.pgoff = pgoff;
		m.ino = ++file;
		say(VMPROF_MSG_MAP, &m, sizeof(m), EVIL_PATH, sizeof(EVIL_PATH) - 1);
		say_file(file, file, file == 1 ? bytes_of(as[kind]) : file == 2 && kind == BOMBS ? SECTIONS_BYTES : 30000, EVIL_PATH,
			 file == 1 ? build_id : NULL);
	}
	if (maps)
		fclose(maps);
}

/* The running task lies elsewhere each time, and always in the guest's memory */
static void say_another_task(uint32_t nr)
{
	const struct {
		struct vmprof_task_layout l;
		struct vmprof_task_cpu cpu;
	} t = {
		.l = { .tsc = __rdtsc(), .linear_base = 0xffff888000000000, .linear_bytes = 256 << 20, .init_task = 0xffffffff82a00000,
		       .init_task_gpa = 32 << 20, .flags_offset = 44, .pid_offset = 1400, .tgid_offset = 1404, .comm_offset = 1800,
		       .kthread_flag = 0x200000, .nr_cpus = 1 },
		.cpu = { .current_gpa = (32 << 20) + 8ULL * (nr % (1U << 20)) },
	};

	say(VMPROF_MSG_TASKS, &t, sizeof(t), NULL, 0);
}

static void flood(void)
{
	static uint32_t nr;
	struct vmprof_proc p = { .tsc = __rdtsc(), .comm = "flood" };
	const struct vmprof_ksyms k = { .total = 1 };
	int i;

	for (i = 0; i < 256; i++, nr++) {
		p.pid = p.tgid = 1000 + nr;
		p.cr3 = (1ULL << 30) + ((uint64_t)nr << 12);
		say(VMPROF_MSG_FORK, &p, sizeof(p), NULL, 0);
		if (i % 4 == 0)
			say_another_task(nr);
		if (i % 4 == 1)
			say(VMPROF_MSG_KSYMS, &k, sizeof(k), &p.pid, 1);
	}
}

static void lie(void)
{
	say_token(VMPROF_MSG_SNAP_BEGIN, 1);
	switch (kind) {
	case ALL:
		say_lengths();
		say_tasks();
		say_processes();
		say_files();
		say_symbols();
		break;
	case FILES:
	case OWN:
	case BOMBS:
	case SLOW:
		say_burn();
		break;
	case FLOODS:
		flood();
	}
	say_token(VMPROF_MSG_SNAP_END, 1);
}

/* Return: 1 a session runs */
static int hear(int runs)
{
	const struct vmprof_token *token;
	struct vmprof_frame f;
	const void *payload;
	size_t room;
	ssize_t n;
	void *to;

	to = vmp_frame_space(&in, &room);
	n = read(port, to, room);
	vmp_frame_fed(&in, n > 0 ? (size_t)n : 0);
	while (vmp_frame_next(&in, &f, &payload)) {
		token = payload;
		if (f.type == VMPROF_MSG_HOST_HELLO)
			say_hello();
		if (f.type == VMPROF_MSG_START) {
			lie();
			runs = 1;
		}
		if (f.type == VMPROF_MSG_GET_OBJECT) {
			printf("asked for %u\n", ((const struct vmprof_get_object *)payload)->file);
			answer(payload);
		}
		if (f.type == VMPROF_MSG_STOP) {
			if (kind == ALL)
				say_token(VMPROF_MSG_DONE, ~token->token);
			else
				lie();
			say_token(VMPROF_MSG_DONE, token->token);
			runs = 0;
		}
	}
	return runs;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { [ALL] = "all", [FILES] = "files", [OWN] = "own", [BOMBS] = "bombs", [SLOW] = "slow", [FLOODS] = "floods" };
	time_t end;
	int runs = 0;

	if (argc != 4)
		return 2;
	while (strcmp(argv[2], kinds[kind]))
		if (kind++ == FLOODS)
			return 2;
	port = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (port < 0) {
		perror(argv[1]);
		return 1;
	}
	setlinebuf(stdout);
	read_bomb();
	end = time(NULL) + atoi(argv[3]);
	vmp_frame_decoder_init(&in);
	while (time(NULL) < end) {
		struct pollfd p = { .fd = port, .events = POLLIN };

		poll(&p, 1, runs ? 2 : 200);
		runs = hear(runs);
		answer_slowly();
		if (runs && kind == ALL)
			say_noise();
		if (runs && kind == FLOODS)
			flood();
	}
	return 0;
}
