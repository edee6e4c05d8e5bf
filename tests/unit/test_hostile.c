// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_hostile.c - guests against the collector's own code, over sockets, up to the reports.
 *
 * web01's agent is one of protocol version 1, or of 7, with its module or without: its bytes, and those of hosts of these versions, lie
 * in frozen/ and never change.  web02 lies in each way that it can.  It may spoil its own
 * profile; web01's rows, the host's files and the terminal must not know that it is there.
 */
#include "gen.h"

#include <endian.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "collect/session.h"
#include "model/needed.h"
#include "util/file.h"
#include "util/text.h"

#define WEB01		1000U
#define WEB02		2000U
#define SECOND		1000000000ULL
#define CR3		0x5000000ULL
#define EVIL		"\033\x7f\xc2\x9b" "1m\x9b]0;evil\a<script>alert(1)</script>"
#define EVIL_PATH	"/../../../../../../tmp/vmprof-evil/" EVIL

static char *dir, path[128], cache[128];
static struct gen g;
static struct vmp_session session;
static uint64_t now_ns;

/* ------------------------------------------------- the collector, two VMs */

struct peer {
	struct vmp_vm vm;
	int fd;			/* the guest's end */
	uint32_t seq;
	struct vmp_frame_decoder from_host;
	char heard[256];	/* types and lengths of what the host said */
};

static struct peer web01, web02;

static void keep_frame(void *arg, const struct vmprof_frame *wire, const void *payload, uint32_t len)
{
	vmp_store_frame(arg, wire, payload, len);
}

static int take_object(void *arg, const struct vmp_msg_object *o)
{
	return vmp_fetch_object(&((struct vmp_vm *)arg)->fetch, o, now_ns);
}

static void changed(void *arg)
{
	(void)arg;
}

static void join(struct peer *p, uint32_t id, const char *name)
{
	static const struct vmp_agent_ops ops = { keep_frame, take_object, changed };
	int pair[2];

	memset(p, 0, sizeof(*p));
	gen_vm(&g, id, name);
	p->vm.session = &session;
	p->vm.dom.pid = id;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	p->fd = pair[1];
	vmp_frame_decoder_init(&p->from_host);
	vmp_fetch_init(&p->vm.fetch);
	vmp_agent_init(&p->vm.agent, 0x1234, &ops, &p->vm);
	vmp_kept_init(&p->vm.kept, name);
	p->vm.agent.kept = &p->vm.kept;
	session.vms[session.nr_vms++] = &p->vm;
	vmp_agent_adopt(&p->vm.agent, pair[0], now_ns);
}

static void leave(struct peer *p)
{
	vmp_agent_close(&p->vm.agent);
	vmp_kept_drop(&p->vm.kept);
	vmp_fetch_free(&p->vm.fetch);
	free(p->vm.batch);
	close(p->fd);
}

/* The host takes what there is; time goes by, so that its limits of rate let it. */
static void host_works(struct peer *p)
{
	int i;

	for (i = 0; i < 4; i++) {
		now_ns += SECOND / 10;
		vmp_agent_tick(&p->vm.agent, now_ns);
		vmp_agent_ready(&p->vm.agent, POLLIN | POLLOUT, now_ns);
	}
}

static void say(struct peer *p, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len) {
		n = write(p->fd, at, len);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
		host_works(p);
		assert_true(p->vm.agent.fd >= 0);
	}
}

/* What the host said, thrown away */
static void drain(struct peer *p)
{
	char buf[4096];

	while (read(p->fd, buf, sizeof(buf)) > 0)
		;
}

/* ------------------------------------------- agents of older versions, frozen */

/* The oldest version that the host's greeting says it accepts is not newer than the agent */
static void check_greeting(const uint8_t *hello, unsigned int version)
{
	uint32_t compat;

	memcpy(&compat, hello + 4, sizeof(compat));
	assert_in_range(le32toh(compat), 1, version);
}

/* What the host said, into @heard: a frozen agent can neither complain nor be asked what it makes of it */
static void hear_host(struct peer *p, unsigned int version)
{
	const void *payload;
	struct vmprof_frame f;
	size_t room, at;
	ssize_t n;
	void *to;

	do {
		to = vmp_frame_space(&p->from_host, &room);
		n = read(p->fd, to, room);
		vmp_frame_fed(&p->from_host, n > 0 ? (size_t)n : 0);
		while (vmp_frame_next(&p->from_host, &f, &payload)) {
			at = strlen(p->heard);
			snprintf(p->heard + at, sizeof(p->heard) - at, "%#x:%u ", f.type, f.len);
			if (f.type == VMPROF_MSG_HOST_HELLO)
				check_greeting(payload, version);
		}
	} while (n > 0);
	assert_int_equal(p->from_host.stats.bad_bytes + p->from_host.stats.seq_gaps, 0);
}

static unsigned int frozen_version = 1;
static const char *frozen_kind = "";

/*
 * What the host says to each in a session, as TYPE:LENGTH of that version, in numbers: the header's structs may grow.
 * START is longer where the host has the boot's kernel symbols, but not to agents that do not know of that.
 */
#define SAID_BEFORE	"0x1:24 0x2:16 0x3:16 0x5:16 "		/* HOST_HELLO, START, STOP, GET_OBJECT */
#define SAID_AGAIN_TO_7	"0x1:24 0x2:32 0x3:16 0x5:16 "		/* the host has symbols of it */

static size_t frozen(const char *part, char **data)
{
	char file[512];
	size_t len;

	snprintf(file, sizeof(file), "%s/tests/unit/frozen/agent-%u%s-%s", getenv("SRC") ? getenv("SRC") : ".",
		 frozen_version, frozen_kind, part);
	assert_int_equal(vmp_file_read(file, 1 << 20, data, &len), 0);
	return len;
}

static void replay(struct peer *p, const char *part)
{
	char *data;
	size_t len = frozen(part, &data);

	say(p, data, len);
	free(data);
}

/* All of web01's conversation but the object */
static void honest(void)
{
	replay(&web01, "hello");
	assert_int_equal(web01.vm.agent.state, VMP_AGENT_STARTED);
	replay(&web01, "events");
	assert_int_equal(web01.vm.agent.state, VMP_AGENT_RUNNING);
	vmp_agent_stop(&web01.vm.agent);
	replay(&web01, "done");
	assert_int_equal(web01.vm.agent.state, VMP_AGENT_DONE);
}

/* --------------------------------------------------------- one that lies */

static void lie(unsigned int type, const void *a, size_t a_len, const void *b, size_t b_len)
{
	uint8_t buf[VMP_FRAME_BYTES_MAX];
	struct vmprof_frame f;

	memcpy(buf + sizeof(f), a, a_len);
	if (b_len)
		memcpy(buf + sizeof(f) + a_len, b, b_len);
	vmp_frame_build(&f, (uint16_t)type, web02.seq++, buf + sizeof(f), a_len + b_len);
	memcpy(buf, &f, sizeof(f));
	say(&web02, buf, sizeof(f) + a_len + b_len);
}

static void lie_token(unsigned int type, uint64_t token)
{
	struct vmprof_token t = { .token = token, .tsc = 1600 + GEN_OFFSET };

	lie(type, &t, sizeof(t), NULL, 0);
}

static void lie_map(uint64_t start, uint64_t end, uint64_t ino, const char *name, uint32_t name_len)
{
	struct vmprof_map m = {
		.tsc = 1600 + GEN_OFFSET, .cr3 = CR3, .start = start, .end = end, .ino = ino,
		.dev_major = 8, .dev_minor = 1, .tgid = 10, .prot = 5, .path_len = name_len,
	};

	lie(VMPROF_MSG_MAP, &m, sizeof(m), name, strlen(name));
}

static void lie_file(uint32_t file, uint64_t ino, uint64_t bytes, uint8_t id0, const char *name)
{
	struct vmprof_file f = {
		.file = file, .ino = ino, .dev_major = 8, .dev_minor = 1, .bytes = bytes,
		.build_id_len = 20, .path_len = (uint32_t)strlen(name),
	};
	int i;

	for (i = 0; i < 20; i++)
		f.build_id[i] = (uint8_t)(id0 + i);
	lie(VMPROF_MSG_FILE, &f, sizeof(f), name, strlen(name));
}

static void lie_with_frames(void)
{
	struct vmprof_frame f = { .magic = VMPROF_FRAME_MAGIC, .type = VMPROF_MSG_PROC, .len = UINT32_MAX };
	uint8_t garbage[8192];
	size_t i;

	say(&web02, &f, sizeof(f));			/* a length without end */
	f.len = sizeof(struct vmprof_proc);
	say(&web02, &f, sizeof(f));			/* a wrong checksum, and no payload */
	for (i = 0; i < sizeof(garbage); i++)
		garbage[i] = (uint8_t)(i * 2654435761U >> 13);
	say(&web02, garbage, sizeof(garbage));
}

static void lie_with_lengths(void)
{
	struct vmprof_hello hello = { .version = 1, .compat = 1, .release_len = UINT32_MAX };
	struct vmprof_proc exit = { .pid = 10, .tgid = 10, .nr_maps = UINT32_MAX };
	struct vmprof_file file = { .file = 5, .build_id_len = 255, .path_len = UINT32_MAX };
	struct vmprof_ksyms ksyms = { .offset = UINT64_MAX - 2, .total = UINT64_MAX };
	struct vmprof_object object = { .file = 1, .offset = UINT64_MAX, .total = UINT64_MAX };
	struct vmprof_jitmap jitmap = { .tgid = 10 };
	struct vmprof_task_layout tasks = { .nr_cpus = VMPROF_TASKS_CPUS_MAX };
	struct vmprof_modules modules = { .tsc = 1, .since_tsc = 2 };
	struct {
		struct vmprof_proc p;
		struct vmprof_place place;
	} in = { { .pid = 10, .tgid = 10 }, { 1, UINT32_MAX } };
	uint64_t refused = web02.vm.agent.counts.refused;

	lie(VMPROF_MSG_HELLO, &hello, sizeof(hello), "x", 1);
	lie(VMPROF_MSG_EXIT, &exit, sizeof(exit), "x", 1);
	lie(VMPROF_MSG_FILE, &file, sizeof(file), "x", 1);
	lie(VMPROF_MSG_KSYMS, &ksyms, sizeof(ksyms), "x", 1);
	lie(VMPROF_MSG_OBJECT, &object, sizeof(object), "x", 1);
	lie(VMPROF_MSG_JITMAP, &jitmap, sizeof(jitmap), "no end of line", 14);
	lie(VMPROF_MSG_TASKS, &tasks, sizeof(tasks), "x", 1);
	lie(VMPROF_MSG_MODULES, &modules, sizeof(modules), "x", 1);
	lie(VMPROF_MSG_PROC, &in, sizeof(in), "x", 1);
	lie_map(0x2000, 0x1000, 1, "/end/before/start", 17);
	lie_map(0x1000, 0x2000, 1, "/long", UINT32_MAX);
	lie_token(VMPROF_MSG_STOP, 1);		/* it is no host */
	assert_int_equal(web02.vm.agent.counts.refused, refused + 12);
}

/* Files whose debugging information is a bomb */
static uint64_t packed_g;		/* where their function g lies: two instructions, of 2 bytes and of 1 */
#define PACKED		4
#define PACKED_FILE(i)	(10 + (uint32_t)(i))
#define PACKED_ID	0x40	/* first byte of the first one's build-id, which each byte is one more than */
#define PACKED_BASE(i)	(0x10000000 + 0x100000 * (uint64_t)(i))

/* Up to its DONE: names of all kinds, web01's page tables, inode and build-id */
static void hostile(size_t bomb_bytes, size_t packed_bytes)
{
	static const char symbols[] = "ffffffff81000000 T " EVIL "\nffffffff81000000 T %n%s\nnonsense\n\n";
	struct vmprof_hello hello = {
		.version = VMPROF_PROTO_VERSION, .compat = 1, .nr_cpus = UINT32_MAX, .release_len = sizeof(EVIL) - 1,
		.tsc = 1500 + GEN_OFFSET,
	};
	struct vmprof_proc proc = { .tsc = 1600 + GEN_OFFSET, .cr3 = CR3, .pid = 10, .tgid = 10 };
	struct {
		struct vmprof_proc proc;
		struct vmprof_place place;
	} in = { .place = { .nspid = UINT32_MAX - 1, .cgroup_len = sizeof(EVIL_PATH) - 1 } };
	struct vmprof_ksyms ksyms = { .total = sizeof(symbols) - 1 };
	struct vmprof_ksyms kept = { .offset = 4096, .total = 4096 };
	static const char made[] = "0 ffffffffffffffff everything\n\nnonsense\na00000 2000 " EVIL "\n";
	struct vmprof_jitmap jitmap = { .tsc = 1600 + GEN_OFFSET, .tgid = 10 };
	struct vmprof_object object = { .file = 1, .total = 12 };
	struct vmprof_task_layout tasks = { .tsc = 1500 + GEN_OFFSET, .linear_bytes = UINT64_MAX };
	struct vmprof_agent_lost lost = { .count = { UINT64_MAX, 1 } };

	char name[32];
	int i;

	lie_with_frames();
	web02.seq = 0;
	lie(VMPROF_MSG_HELLO, &hello, sizeof(hello), EVIL, sizeof(EVIL) - 1);
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_STARTED);
	lie_token(VMPROF_MSG_SNAP_BEGIN, 1);
	lie(VMPROF_MSG_TASKS, &tasks, sizeof(tasks), NULL, 0);
	memcpy(proc.comm, EVIL, sizeof(proc.comm));	/* without a NUL */
	in.proc = proc;
	lie(VMPROF_MSG_PROC, &in, sizeof(in), EVIL_PATH, sizeof(EVIL_PATH) - 1);
	lie_map(0x400000, 0x500000, 100, EVIL_PATH, sizeof(EVIL_PATH) - 1);
	lie_file(1, 100, 12, 0xa0, EVIL_PATH);		/* web01's build-id */
	lie_map(0x600000, 0x700000, 200, "/bomb", 5);
	lie_file(2, 200, bomb_bytes, 0x20, "/bomb");
	for (i = 0; i < PACKED; i++) {
		snprintf(name, sizeof(name), "/packed%d", i);
		lie_map(PACKED_BASE(i), PACKED_BASE(i) + 0x100000, 500 + (uint64_t)i, name, (uint32_t)strlen(name));
		lie_file(PACKED_FILE(i), 500 + (uint64_t)i, packed_bytes, (uint8_t)(PACKED_ID + i), name);
	}
	lie_map(0x800000, 0x900000, 300, "/endless", 8);
	lie_file(3, 300, 4096, 0x30, "/endless");
	lie_map(0xa00000, 0xb00000, 400, "/memfd:" EVIL, sizeof("/memfd:" EVIL) - 1);
	lie(VMPROF_MSG_JITMAP, &jitmap, sizeof(jitmap), made, sizeof(made) - 1);
	lie(VMPROF_MSG_OBJECT, &object, sizeof(object), "unasked", 7);
	lie_with_lengths();
	lie(VMPROF_MSG_KSYMS, &kept, sizeof(kept), NULL, 0);	/* the host has nothing of it */
	assert_int_equal(web02.vm.agent.ksyms_whole, 0);
	lie(VMPROF_MSG_KSYMS, &ksyms, sizeof(ksyms), symbols, sizeof(symbols) - 1);
	lie(VMPROF_MSG_LOST, &lost, sizeof(lost), NULL, 0);
	lost.count[0] = 5;				/* it takes that back */
	lie(VMPROF_MSG_LOST, &lost, sizeof(lost), NULL, 0);
	lie_token(VMPROF_MSG_SNAP_END, 1);
	vmp_agent_stop(&web02.vm.agent);
	lie_token(VMPROF_MSG_DONE, 99);			/* another token */
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_STOPPING);
	lie_token(VMPROF_MSG_DONE, 2);
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_DONE);
	drain(&web02);
}

static void send_object(uint32_t file, const char *data, size_t len, uint64_t total)
{
	struct vmprof_object o = { .file = file, .total = total };
	size_t n;

	for (o.offset = 0; o.offset < len; o.offset += n) {
		n = len - o.offset < 30000 ? len - o.offset : 30000;
		lie(VMPROF_MSG_OBJECT, &o, sizeof(o), data + o.offset, n);
		drain(&web02);
	}
}

/* --------------------------------------------------------------- fetching */

static int need(void *arg, const struct vmp_needed *n)
{
	struct peer *p = n->vm == WEB01 ? &web01 : &web02;

	(void)arg;
	/* what was told before the last HELLO */
	return n->file ? vmp_fetch_add(&p->vm.fetch, n) : 0;
}

static char *bomb, *flood, *packed, *packed_id;
static size_t bomb_len, packed_len;
static uint64_t bomb_f;		/* where its function f lies: two instructions, of 2 bytes and of 1 */
#define FLOOD_BYTES	(4U << 20)

/* One file as several, each with the build-id that was told of it */
static void send_packed(uint32_t file)
{
	int i;

	for (i = 0; i < 20; i++)
		packed_id[i] = (char)(PACKED_ID + file - PACKED_FILE(0) + (uint32_t)i);
	send_object(file, packed, packed_len, packed_len);
}

/* web02 answers what it is asked for with something else. */
static void answer(uint32_t file)
{
	struct vmprof_object none = { .file = file, .status = file & VMPROF_OBJECT_DEBUG ? UINT32_MAX : ENOENT };

	if (file == 1)
		send_object(1, "\177ELF and lies", 12, 12);
	else if (file == 2)
		send_object(2, bomb, bomb_len, bomb_len);
	else if (file >= PACKED_FILE(0) && file < PACKED_FILE(PACKED))
		send_packed(file);
	else if (file == 3)
		send_object(3, flood, FLOOD_BYTES, 4096);
	else
		lie(VMPROF_MSG_OBJECT, &none, sizeof(none), NULL, 0);
}

static void fetch(struct peer *p)
{
	struct vmp_msg_get_object ask;
	int rounds = 0;

	while (vmp_fetch_next(&p->vm.fetch, now_ns, &ask)) {
		assert_true(rounds++ < 20);
		vmp_agent_get(&p->vm.agent, &ask);
		if (p == &web02)
			answer(ask.file);
		else if (ask.file == 1)
			replay(&web01, "object");
		else
			fail_msg("web01 is asked for %u", ask.file);
		host_works(p);
		now_ns += VMP_FETCH_PATIENCE_NS + 1;
		vmp_fetch_tick(&p->vm.fetch, now_ns);
	}
	assert_true(vmp_fetch_done(&p->vm.fetch));
}

/* Of the host, which worked for the guest's code at @ip, or for others while that waited */
static void host_sample(uint32_t vm, uint64_t tsc, uint8_t mode, uint32_t flags)
{
	struct vmprof_sample s = gen_guest_sample(vm, tsc, CR3, 3, 0x401000);

	s.mode = mode;
	s.flags |= flags;
	s.host_ip = 0xffffffff91000010;
	s.exit_reason = 0x7b;
	gen_record(&g, &s, sizeof(s));
}

static void samples_of(uint32_t vm)
{
	gen_clock(&g, vm);
	gen_guest(&g, vm, 2000, CR3, 3, 0x401000, 50);
	gen_guest(&g, vm, 2100, CR3, 0, GEN_KERNEL + 0x10, 10);
	gen_guest(&g, vm, 2200, 0x6000000, 3, 0x401000, 5);
	gen_guest(&g, vm, 2300, CR3, 3, 0x601000, 7);
	gen_guest(&g, vm, 2400, CR3, 3, 0x801000, 3);
	gen_guest(&g, vm, 2500, CR3, 3, 0xa01000, 4);
	host_sample(vm, 2510, VMPROF_MODE_VMM_KERNEL, 0);
	host_sample(vm, 2511, VMPROF_MODE_OTHER_KERNEL, VMPROF_SF_STEAL);
}

/* f again and again, whose name in the binary is no better than others */
static void branches_of(uint32_t vm, uint64_t f)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[4]; } rec = {
		.h = { .hdr = { VMPROF_REC_LBR, sizeof(rec), 0 }, .tsc = 2520, .branches = VMPROF_LBR_ALL,
		       .format = VMPROF_LBR_FROM_TO, .nr = 2 },
		.word = { f + 2, f, f + 2, f },
	};

	gen_guest(&g, vm, 2520, CR3, 3, f, 1);
	gen_record(&g, &rec, sizeof(rec));
}

/* What the driver finds in the memory of one that writes there what it likes: web01's threads, names of all kinds */
static void tasks_of(uint32_t vm)
{
	gen_task(&g, vm, 0, 2500, 10, 10, 0, EVIL);
	gen_thread(&g, vm, 2500, CR3, 0, GEN_KERNEL + 0x10, 10);
	gen_task(&g, vm, 0, 2501, 11, 11, VMPROF_TASK_KTHREAD, EVIL);
	gen_thread(&g, vm, 2501, CR3, 0, GEN_KERNEL + 0x10, 11);
	gen_task(&g, vm, 0, 2502, 12, UINT32_MAX, VMPROF_TASK_KTHREAD, "[VMM]");
	gen_thread(&g, vm, 2502, CR3, 3, 0x401000, 12);
}

/* A whole session; the capture is closed, its objects are in the cache. */
static void run_session(int with_hostile)
{
	static const struct vmp_session_opts opts;
	int i;

	memset(&session, 0, sizeof(session));
	session.opts = &opts;
	now_ns = SECOND;
	gen_begin(&g, path);
	session.writer = g.w;
	assert_int_equal(vmp_writer_place(g.w), 0);
	join(&web01, WEB01, "web01");
	if (with_hostile) {
		join(&web02, WEB02, "web02");
		hostile(bomb_len, packed_len);
	}
	honest();
	samples_of(WEB01);
	if (with_hostile) {
		samples_of(WEB02);
		tasks_of(WEB02);
		branches_of(WEB02, 0x600000 + bomb_f);
		for (i = 0; i < PACKED; i++)
			branches_of(WEB02, PACKED_BASE(i) + packed_g);
	}
	gen_records_flush(&g, 0, 2000, 2600);
	vmp_store_batch(&web01.vm);
	if (with_hostile)
		vmp_store_batch(&web02.vm);
	assert_int_equal(vmp_needed_objects(path, 0, need, NULL), 0);
	fetch(&web01);
	hear_host(&web01, frozen_version);
	if (with_hostile)
		fetch(&web02);
	gen_end(&g);
	session.writer = NULL;
}

/* ---------------------------------------------------------------- reports */

/* The command itself, as somebody would run it; its output is the caller's */
static char *vmprof(const char *args, long *max_kib)
{
	char cmd[1024], self[512], *out;
	struct rusage used;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t len;

	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	snprintf(cmd, sizeof(cmd), "cd %s && %s/../vmprof %s %s > out 2>&1", dir, self, args, path);
	assert_int_equal(system(cmd), 0);
	getrusage(RUSAGE_CHILDREN, &used);	/* the largest of all until now */
	*max_kib = used.ru_maxrss;
	snprintf(cmd, sizeof(cmd), "%s/out", dir);
	out = (char *)gen_read(cmd, &len);
	out[len] = 0;
	assert_int_equal(strlen(out), len);	/* no NUL either */
	return out;
}

/* Well-formed UTF-8 without control characters, those of eight bits too */
static void assert_harmless(const char *out, const char *what)
{
	const uint8_t *p, *end = (const uint8_t *)out + strlen(out);
	uint32_t c;
	size_t n;

	for (p = (const uint8_t *)out; p < end; p += n) {
		n = vmp_utf8_char(p, (size_t)(end - p), &c);
		if (!n)
			fail_msg("%s has the byte 0x%02x, which is no UTF-8", what, *p);
		if ((c < ' ' && !strchr("\n\t\r", (int)c)) || (c >= 0x7f && c < 0xa0))
			fail_msg("%s has the control character 0x%02x", what, c);
	}
	if (strstr(what, "xml") && strstr(out, "<script>"))
		fail_msg("%s has a guest's markup", what);
}

/* The part of a report that is about a domain */
static char *section(char *out, const char *name)
{
	char *begin = strstr(out, name), *end;

	assert_non_null(begin);
	end = strstr(begin, "\nDomain ");
	if (!end)
		end = strstr(begin, "\nNotes");
	assert_non_null(end);
	*end = 0;
	return begin;
}

static int files_seen;

static int in_its_place(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type != FTW_F)
		return 0;
	files_seen++;
	if (strchr(name, '.') && strncmp(strrchr(name, '.'), ".debug", 6))
		fail_msg("%s was left over", name);
	if (st->st_size > (off_t)(bomb_len > packed_len ? bomb_len : packed_len) + 4096)
		fail_msg("%s is too large", name);
	return 0;
}

static int setup(void **state)
{
	char file[256], *at;
	size_t len;

	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	setenv("VMPROF_OBJCACHE", cache, 1);
	setenv("DIR", dir, 1);
	/* 1.5 GiB of nothing in its mini-debuginfo: more than a report may take here */
	assert_int_equal(system("cd $DIR && echo 'int f(void) { return 0; }' > x.c && cc -c -O2 -fcf-protection=none -fPIC x.c && "
				"objcopy --redefine-sym f=\"$(printf 'f\\033\\177\\302\\2331m')\" x.o && cc -shared -Wl,--build-id=0x202122232425262728292a2b2c2d2e2f30313233 -o x x.o && "
				"nm -D x | sed -n 's/ T f.*//p' > at && "
				"head -c 1536M /dev/zero | xz -1 > z && objcopy --strip-all --add-section .gnu_debugdata=z x bomb"), 0);
	snprintf(file, sizeof(file), "%s/at", dir);
	at = (char *)gen_read(file, &len);
	bomb_f = strtoull(at, NULL, 16);
	assert_in_range(bomb_f, 1, 0xfffff);
	free(at);
	/* 200 MiB of nothing in the names of its debugging information: two such files are too much, many far too much */
	assert_int_equal(system("cd $DIR && echo 'int g(void) { return 0; }' > y.c && cc -O2 -g -fcf-protection=none -fPIC -shared -Wl,--build-id=0x404142434445464748494a4b4c4d4e4f50515253 y.c -o y && "
				"nm y | sed -n 's/ T g$//p' > at && objcopy -O binary -j .debug_str --set-section-flags .debug_str=alloc y z && "
				"truncate -s +200M z && objcopy --update-section .debug_str=z y && objcopy --compress-debug-sections=zlib y && rm z"), 0);
	at = (char *)gen_read(file, &len);
	packed_g = strtoull(at, NULL, 16);
	assert_in_range(packed_g, 1, 0xfffff);
	free(at);
	snprintf(file, sizeof(file), "%s/y", dir);
	packed = (char *)gen_read(file, &packed_len);
	packed_id = memmem(packed, packed_len, "@ABCDEFGHIJKLMNOPQRS", 20);
	assert_non_null(packed_id);
	snprintf(file, sizeof(file), "%s/bomb", dir);
	bomb = (char *)gen_read(file, &bomb_len);
	flood = calloc(1, FLOOD_BYTES);
	return !flood;
}

static int teardown(void **state)
{
	(void)state;
	free(bomb);
	free(flood);
	free(packed);
	gen_rmdir(dir);
	return 0;
}

/* @again: the host has its kernel symbols from the session before */
static void hears_old_agent(int again)
{
	long kib;
	char *out;

	run_session(0);
	assert_string_equal(web01.heard, !again || frozen_version < 7 ? SAID_BEFORE : SAID_AGAIN_TO_7);
	assert_int_equal(web01.vm.agent.counts.refused, 0);
	assert_int_equal(web01.vm.agent.counts.lost[VMPROF_GLOST_RING], 3);
	assert_int_equal(web01.vm.agent.in.stats.bad_bytes + web01.vm.agent.in.stats.seq_gaps, 0);
	/* it came whole; what was frozen is no program with the build-id that was told */
	assert_int_equal(web01.vm.fetch.failed, 1);
	assert_int_equal(web01.vm.fetch.why[VMP_FETCH_OTHER], 1);
	leave(&web01);
	assert_int_equal(web01.vm.agent.version, frozen_version);
	out = vmprof("report", &kib);
	gen_says(out, "[app+0x1000 ");
	gen_says(out, "do_syscall_64");
	if (*frozen_kind) {
		/* all is so short that no process can be told from the one that it forked */
		assert_int_equal(web01.vm.agent.module_error, ENOENT);
		gen_says(out, "the agent ran without its module, it is not loaded: nobody told");
		gen_says(out, "55 samples (69.62%) more have module and function");
		free(out);
		return;
	}
	gen_says(out, "short");
	if (frozen_version >= 7) {
		gen_says(out, "made_by_app");
		free(out);
		out = vmprof("report --group-by cgroup,nspid", &kib);
		gen_says(out, "/system.slice/app.service");
	}
	free(out);
}

static void talks_with_old_agent(void)
{
	hears_old_agent(0);
	hears_old_agent(1);
	gen_rmdir(cache);
}

/* Agents that were frozen are understood in all they say, and are told nothing that they do not know. */
static void test_old_agents(void **state)
{
	static const unsigned int versions[] = { 1, 7 };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		frozen_version = versions[i];
		talks_with_old_agent();
	}
	frozen_kind = "-alone";
	talks_with_old_agent();
	frozen_kind = "";
	/* a new version is frozen, too (frozen/make-7.py) */
	assert_int_equal(frozen_version, VMPROF_PROTO_VERSION);
	frozen_version = 1;
}

static void test_hostile_guest(void **state)
{
	static const char *const commands[] = {
		"report --limit 0", "report --json", "report --tree", "report --by process", "report --by module",
		"report --group-by process,cgroup,nspid", "report --tree --group-by cgroup,process", "report --json --group-by process,cgroup",
		"report --exits", "report --steal", "report --diff $DIR/alone.vmprof",
		"export -f folded", "export -f csv", "export -f perf-script", "export -f json",
		"export -f xml", "export -f speedscope", "export -f gecko", "export -f chrome",
	};
	static const char *const lines[] = { "report --inline", "report --srcline", "report --inline --srcline --limit 0", "annotate g" };
	char *alone, *beside, *out;
	size_t i;
	long kib;

	(void)state;
	run_session(0);
	leave(&web01);
	alone = vmprof("report --limit 0", &kib);
	gen_rmdir(cache);
	assert_int_equal(system("mv $DIR/a.vmprof $DIR/alone.vmprof"), 0);

	run_session(1);
	out = vmp_session_status(&session);
	assert_harmless(out, "status");
	gen_says(out, "\\\\x9b]0;evil");	/* as text, in JSON */
	free(out);
	assert_true(web02.vm.agent.counts.refused >= 11);
	assert_true(web02.vm.agent.in.stats.bad_bytes > 8192 / 2);
	assert_true(web02.vm.agent.in.stats.bad_frames >= 1);
	assert_true(web02.vm.agent.out_len < sizeof(web02.vm.agent.out));
	assert_int_equal(web02.vm.fetch.failed, 2);		/* what is not web01's binary, and the endless one */
	assert_int_equal(web02.vm.fetch.fetched, 1 + PACKED);
	leave(&web01);
	leave(&web02);

	/* files: each below its own domain, whole or not there, none elsewhere */
	files_seen = 0;
	assert_int_equal(nftw(cache, in_its_place, 8, FTW_PHYS), 0);
	assert_int_equal(files_seen, 3 + PACKED);		/* two are kernel symbols */
	assert_int_equal(access("/tmp/vmprof-evil", F_OK), -1);

	beside = vmprof("report --limit 0", &kib);
	assert_harmless(beside, "report");
	assert_true(kib < 1 << 20);
	assert_string_equal(section(beside, "Domain web01"), section(alone, "Domain web01"));
	free(alone);
	free(beside);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		out = vmprof(commands[i], &kib);
		assert_harmless(out, commands[i]);
		gen_says(out, "app");
		free(out);
	}
	/* one of the bombs is unpacked; the others, and the mini-debuginfo, are told of; names are there all the same */
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		out = vmprof(lines[i], &kib);
		assert_harmless(out, lines[i]);
		gen_says(out, "debugging information: 4 files too large to be read");
		gen_says(out, "packed3");
		if (i)
			gen_says(out, "y.c:1");
		free(out);
		assert_true(kib < 1 << 20);
	}
	out = vmprof("report --json --inline", &kib);
	gen_says(out, "\"unread\":{\"too_large\":4,\"broken\":0}");
	free(out);
	out = vmprof("blocks", &kib);
	assert_harmless(out, "blocks");
	gen_says(out, "f\\x1b\\x7f\\xc2\\x9b1m");
	free(out);
#ifdef VMP_HTML_FILE	/* else built without the page */
	out = vmprof("report --html page.html", &kib);
	free(out);
	assert_int_equal(system("! grep -q 'script>alert' $DIR/page.html"), 0);
#endif
}

/* A later version that still talks to us: longer payloads, other messages, other flags */
static void test_later_agent(void **state)
{
	struct {
		struct vmprof_hello h;
		char release_and_more[16];
	} hello = { .h = { .version = VMPROF_PROTO_VERSION + 1, .compat = 1, .flags = 0x80000000, .release_len = 3 }, .release_and_more = "7.0and more" };
	struct {
		struct vmprof_token t;
		uint64_t more;
	} token = { .t = { .token = 1 }, .more = 5 };

	(void)state;
	memset(&session, 0, sizeof(session));
	now_ns = SECOND;
	gen_begin(&g, path);
	session.writer = g.w;
	join(&web02, WEB02, "web02");
	lie(VMPROF_MSG_HELLO, &hello, sizeof(hello), NULL, 0);
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_STARTED);
	assert_string_equal(web02.vm.agent.release, "7.0");
	lie(0xfe, "what is this", 12, NULL, 0);
	lie(VMPROF_MSG_SNAP_BEGIN, &token, sizeof(token), NULL, 0);
	lie(VMPROF_MSG_SNAP_END, &token, sizeof(token), NULL, 0);
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_RUNNING);
	assert_int_equal(web02.vm.agent.counts.refused, 0);
	assert_int_equal(web02.vm.agent.in.stats.unknown, 1);

	/* one that does not */
	web02.seq = 0;
	hello.h.compat = VMPROF_PROTO_VERSION + 1;
	lie(VMPROF_MSG_HELLO, &hello, sizeof(hello), NULL, 0);
	assert_int_equal(web02.vm.agent.state, VMP_AGENT_REFUSED);
	vmp_store_batch(&web02.vm);
	leave(&web02);
	gen_end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_old_agents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_guest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_later_agent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
