// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_sideband.c - what the agent hears of the kernel's perf: from this machine's
 * kernel, where it lets us, and from rings that are made up.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* How many CPUs this machine may have, unless a test says so */
static long cpus_said = -1;

static long said(int name)
{
	return name == _SC_NPROCESSORS_CONF && cpus_said >= 0 ? cpus_said : sysconf(name);
}

#define sysconf said
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/procfs.c"
#include "guest-agent/daemon/sideband.c"
#include "agent_msg.h"

static struct vmp_sideband sb;
static struct vmp_procfs_msg msg;

static struct vmp_agent_msg parsed(void)
{
	struct vmp_agent_msg m;

	assert_int_equal(vmp_agent_msg_parse(msg.type, msg.payload, msg.len, &m), 0);
	return m;
}

/* ---------------------------------------------------------- a real kernel */

struct heard {
	int fork, exec, exit, maps, ids;
	uint64_t ino;
	uint64_t first_tsc, last_tsc;
	int disorder;
};

static uint64_t tsc_of_message(const struct vmp_agent_msg *m)
{
	return m->type == VMPROF_MSG_MAP ? m->map.tsc : m->proc.tsc;
}

static void note_message(struct heard *h, pid_t pid, uint64_t ino)
{
	const struct vmp_agent_msg m = parsed();
	uint64_t tsc = tsc_of_message(&m);

	h->disorder += tsc < h->last_tsc;
	h->last_tsc = tsc;
	if (m.type == VMPROF_MSG_MAP && m.map.tgid == (uint32_t)pid && m.map.ino == ino) {
		h->maps++;
		h->ids += sb.id.len == 20;
	}
	if (m.type == VMPROF_MSG_MAP || m.proc.tgid != (uint32_t)pid)
		return;
	if (!h->first_tsc)
		h->first_tsc = tsc;
	h->fork += m.type == VMPROF_MSG_FORK && m.proc.ppid == (uint32_t)getpid();
	h->exec += m.type == VMPROF_MSG_EXEC && !strcmp(m.proc.comm, "true");
	h->exit += m.type == VMPROF_MSG_EXIT && m.proc.flags & VMPROF_PROC_LAST;
}

static void test_kernel(void **state)
{
	struct vmp_build_id id = { 0 };
	struct vmp_elf_source src;
	struct heard h = { 0 };
	uint64_t begin, end;
	struct stat st;
	int err = vmp_sideband_open(&sb), fd;
	pid_t pid;

	(void)state;
	if (err == -EACCES || err == -EPERM || err == -ENOENT || err == -ENOSYS) {
		print_message("perf_event_open: %s\n", strerror(-err));
		skip();
	}
	assert_int_equal(err, 0);
	assert_int_equal(stat("/bin/true", &st), 0);
	begin = vmp_tsc();
	pid = fork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	end = vmp_tsc();
	vmp_sideband_flush(&sb);
	while (vmp_sideband_next(&sb, &msg))
		note_message(&h, pid, st.st_ino);
	assert_int_equal(h.fork, 1);
	assert_int_equal(h.exec, 1);
	assert_int_equal(h.exit, 1);
	assert_true(h.maps > 0);
	assert_int_equal(h.disorder, 0);
	assert_true(h.first_tsc >= begin - (end - begin) && h.first_tsc <= end);
	assert_int_equal(sb.lost, 0);

	fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	src = vmp_elf_fd(&fd);
	if (sb.ring[0].fd_ids >= 0 && !vmp_elf_build_id(&src, &id))
		assert_int_equal(h.ids, h.maps);
	close(fd);
	vmp_sideband_close(&sb);
}

/* ------------------------------------------------------ rings that are made up */

#define DATA	8192U
#define IDS_EVENT	2
#define GONE		0x7ffffff0U	/* no process has such a number */

static struct vmp_sideband_ring rings[2];
static struct {
	struct perf_event_mmap_page page;
	uint8_t pad[PAGE - sizeof(struct perf_event_mmap_page)];
	uint8_t data[DATA];
} made[2];

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	vmp_sideband_init(&sb);
	memset(made, 0, sizeof(made));
	memset(rings, 0, sizeof(rings));
	for (i = 0; i < 2; i++) {
		made[i].page.data_offset = PAGE;
		made[i].page.data_size = DATA;
		rings[i].page = &made[i].page;
		rings[i].event_ids = IDS_EVENT;
	}
	sb.ring = rings;
	sb.nr = 2;
	/* 2 ticks are a nanosecond; records up to 1000000 ns are old enough */
	sb.begin = (struct vmp_sideband_clock){ 1000, 50000 };
	sb.now = (struct vmp_sideband_clock){ 1000000, 50000 + 2 * 999000 };
	sb.until_ns = sb.now.ns;
	sb.flush = 1;
	return 0;
}

static void put(int ring, const void *record, size_t len)
{
	const uint8_t *p = record;
	size_t i;

	for (i = 0; i < len; i++)
		made[ring].data[made[ring].page.data_head++ % DATA] = p[i];
}

/* A record with its time and its event's number behind it */
static void put_from(uint64_t event, int ring, uint32_t type, uint16_t misc, const void *body, size_t len,
		     uint64_t ns)
{
	const size_t whole = (len + 7) & ~(size_t)7;
	struct perf_event_header h = { .type = type, .misc = misc, .size = (uint16_t)(sizeof(h) + whole + 16) };
	const uint64_t zero = 0;

	put(ring, &h, sizeof(h));
	put(ring, body, len);
	put(ring, &zero, whole - len);
	put(ring, &ns, sizeof(ns));
	put(ring, &event, sizeof(event));
}

static void put_timed(int ring, uint32_t type, uint16_t misc, const void *body, size_t len, uint64_t ns)
{
	put_from(1, ring, type, misc, body, len, ns);
}

static void put_task(int ring, uint32_t type, uint32_t pid, uint32_t tid, uint64_t ns)
{
	const struct task_record t = { .pid = pid, .tid = tid, .ppid = 7, .ptid = 7, .time = ns };

	put_timed(ring, type, 0, &t.pid, sizeof(t) - sizeof(t.head), ns);
}

static void put_map(int ring, int with_id, const char *name, uint64_t ino, uint32_t prot, uint64_t ns)
{
	union {
		struct mmap2_record m;
		uint8_t bytes[sizeof(struct mmap2_record) + 128];
	} r = { .m = { .pid = 5, .tid = 5, .addr = 0x400000, .len = 0x2000, .pgoff = 0x1000, .prot = prot } };

	if (with_id) {
		r.m.id_len = 20;
		memset(r.m.id, 0xab, 20);
	} else {
		r.m.maj = 8;
		r.m.min = 1;
		r.m.ino = ino;
	}
	strcpy(r.m.name, name);
	/* some kernels leave the bit in the other event's record, too */
	put_from(with_id ? IDS_EVENT : 1, ring, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &r.m.pid,
		 sizeof(r.m) - sizeof(r.m.head) + strlen(name) + 1, ns);
}

static void put_comm_of(uint32_t pid, int ring, uint16_t misc, const char *comm, uint64_t ns)
{
	struct {
		uint32_t pid, tid;
		char comm[16];
	} c = { .pid = pid, .tid = pid };

	strcpy(c.comm, comm);
	put_timed(ring, PERF_RECORD_COMM, misc, &c, sizeof(c), ns);
}

static void put_comm(int ring, uint16_t misc, const char *comm, uint64_t ns)
{
	put_comm_of(GONE, ring, misc, comm, ns);
}

static struct vmp_agent_msg next(unsigned int type)
{
	assert_int_equal(vmp_sideband_next(&sb, &msg), 1);
	assert_int_equal(msg.type, type);
	return parsed();
}

/* Of two CPUs in the order of time, none that is too young */
static void test_order(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	put_task(0, PERF_RECORD_FORK, 10, 10, 5000);
	put_task(1, PERF_RECORD_FORK, 10, 11, 2000);
	put_from(IDS_EVENT, 1, PERF_RECORD_FORK, 0, &(uint64_t[4]){ 10 }, 32, 2001);	/* the second event's */
	put_task(1, PERF_RECORD_EXIT, 10, 11, 7000);
	put_task(0, PERF_RECORD_FORK, 12, 12, sb.until_ns);
	m = next(VMPROF_MSG_FORK);
	assert_int_equal(m.proc.pid, 11);
	assert_int_equal(m.proc.tgid, 10);
	assert_int_equal(m.proc.ppid, 7);
	assert_int_equal(m.proc.cr3, 0);
	assert_int_equal(m.proc.tsc, 50000 + 2 * 1000);
	assert_int_equal(next(VMPROF_MSG_FORK).proc.pid, 10);
	assert_int_equal(next(VMPROF_MSG_EXIT).proc.tsc, 50000 + 2 * 6000);
	assert_int_equal(vmp_sideband_next(&sb, &msg), 0);
	assert_int_equal(made[1].page.data_tail, made[1].page.data_head);
	sb.until_ns++;
	assert_int_equal(next(VMPROF_MSG_FORK).proc.pid, 12);
}

/* Code that the kernel makes is no message, but is counted */
static void test_made(void **state)
{
	const uint64_t body[3] = { 0xffffffffc0200000, 64, 0x706f72705f667062 };

	(void)state;
	put_timed(0, PERF_RECORD_KSYMBOL, 0, body, sizeof(body), 2000);
	put_task(0, PERF_RECORD_FORK, 10, 10, 3000);
	put_timed(1, PERF_RECORD_KSYMBOL, 0, body, sizeof(body), 4000);
	next(VMPROF_MSG_FORK);
	assert_int_equal(vmp_sideband_next(&sb, &msg), 0);
	assert_int_equal(sb.made, 2);
}

/* An exit is the last of a process that is there no more, not of one that lives */
static void test_exits(void **state)
{
	(void)state;
	put_task(0, PERF_RECORD_EXIT, GONE, GONE, 2000);
	put_task(0, PERF_RECORD_EXIT, (uint32_t)getpid(), GONE, 3000);
	assert_true(next(VMPROF_MSG_EXIT).proc.flags & VMPROF_PROC_LAST);
	assert_false(next(VMPROF_MSG_EXIT).proc.flags & VMPROF_PROC_LAST);
}

static void test_names(void **state)
{
	struct vmp_agent_msg m;

	(void)state;
	put_comm(0, PERF_RECORD_MISC_COMM_EXEC, "sleep", 2000);
	put_comm(0, 0, "0123456789abcde", 3000);
	m = next(VMPROF_MSG_EXEC);
	assert_string_equal(m.proc.comm, "sleep");
	assert_int_equal(m.proc.flags & VMPROF_PROC_EXEC_DONE, 0);
	assert_string_equal(next(VMPROF_MSG_COMM).proc.comm, "0123456789abcde");
}

/* What @word begins in a file of /proc/self, without it and the newline */
static void own(const char *file, const char *word, char *text, size_t size)
{
	FILE *f = fopen(file, "re");
	int found = 0;

	assert_non_null(f);
	while (!found && fgets(text, (int)size, f))
		found = !strncmp(text, word, strlen(word));
	fclose(f);
	memmove(text, text + strlen(word), strlen(text + strlen(word)) + 1);
	text[found ? strcspn(text, "\n") : 0] = 0;
}

static void assert_place(const struct vmp_agent_msg *m, unsigned long nspid, const char *cgroup)
{
	assert_int_equal(m->proc.nspid, nspid);
	assert_int_equal(m->proc.cgroup.len, strlen(cgroup));
	assert_memory_equal(m->proc.cgroup.p, cgroup, strlen(cgroup));
}

/* A child has its number in its container, a program its cgroup, too; a thread, a name and what has ended tell neither. */
static void test_places(void **state)
{
	char nspid[256], cgroup[1024];
	const uint32_t pid = (uint32_t)getpid();
	unsigned long number;
	struct vmp_agent_msg m;

	(void)state;
	own("/proc/self/status", "NSpid:", nspid, sizeof(nspid));
	number = strtoul(strrchr(nspid, '\t') + 1, NULL, 10);
	assert_int_not_equal(number, 0);
	own("/proc/self/cgroup", "0::", cgroup, sizeof(cgroup));
	put_task(0, PERF_RECORD_FORK, pid, pid, 2000);
	put_task(0, PERF_RECORD_FORK, pid, pid + 1, 3000);
	put_task(0, PERF_RECORD_FORK, GONE, GONE, 4000);
	put_comm_of(pid, 0, PERF_RECORD_MISC_COMM_EXEC, "program", 5000);
	put_comm_of(pid, 0, 0, "name", 6000);
	put_comm_of(GONE, 0, PERF_RECORD_MISC_COMM_EXEC, "short", 7000);
	m = next(VMPROF_MSG_FORK);
	assert_place(&m, number, "");
	m = next(VMPROF_MSG_FORK);
	assert_place(&m, 0, "");
	m = next(VMPROF_MSG_FORK);
	assert_place(&m, 0, "");
	m = next(VMPROF_MSG_EXEC);
	assert_string_equal(m.proc.comm, "program");
	assert_place(&m, number, cgroup);
	m = next(VMPROF_MSG_COMM);
	assert_place(&m, 0, "");
	m = next(VMPROF_MSG_EXEC);
	assert_string_equal(m.proc.comm, "short");
	assert_place(&m, 0, "");
}

/* Inode and build-id of one mapping come in two records, in either order, or one alone */
static void test_maps(void **state)
{
	struct vmp_agent_msg m;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		if (i == 0)
			put_map(0, 1, "/bin/prog", 0, PROT_READ | PROT_EXEC, 2000);
		put_map(0, 0, "/bin/prog", 77, PROT_READ | PROT_EXEC, 2001);
		if (i == 1)
			put_map(0, 1, "/bin/prog", 0, PROT_READ | PROT_EXEC, 2002);
		put_map(0, 0, "/bin/data", 78, PROT_READ, 2003);	/* nothing that runs */
		m = next(VMPROF_MSG_MAP);
		assert_int_equal(m.map.ino, 77);
		assert_int_equal(m.map.dev_major, 8);
		assert_int_equal(m.map.start, 0x400000);
		assert_int_equal(m.map.end, 0x402000);
		assert_int_equal(m.map.pgoff, 0x1000);
		assert_int_equal(m.map.path.len, 9);
		assert_int_equal(sb.id.len, i == 2 ? 0 : 20);
		assert_int_equal(vmp_sideband_next(&sb, &msg), 0);
	}
	put_map(0, 0, "//anon", 0, PROT_EXEC, 3000);
	m = next(VMPROF_MSG_MAP);
	assert_int_equal(m.map.flags, VMPROF_MAP_ANON);
	assert_int_equal(m.map.path.len, 0);
	put_map(0, 0, "[vdso]", 0, PROT_EXEC, 3000);
	assert_int_equal(next(VMPROF_MSG_MAP).map.flags, VMPROF_MAP_VDSO);
	put_map(0, 0, "/tmp/gone (deleted)", 5, PROT_EXEC, 3000);
	m = next(VMPROF_MSG_MAP);
	assert_int_equal(m.map.flags, VMPROF_MAP_DELETED);
	assert_int_equal(m.map.path.len, 9);
}

/* What found no room is counted, from the last record before it on; records wrap around */
static void test_loss(void **state)
{
	const uint64_t lost[2] = { 1, 42 };
	int i;

	(void)state;
	for (i = 0; i < 500; i++) {		/* round and round */
		put_task(0, PERF_RECORD_FORK, 10, 10 + (uint32_t)i, 2000 + (uint64_t)i);
		assert_int_equal(next(VMPROF_MSG_FORK).proc.tgid, 10);
	}
	assert_int_equal(sb.lost_since_tsc, 0);
	put_timed(0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 9000);
	put_timed(0, 4711, 0, lost, sizeof(lost), 9001);		/* of a kind unknown here */
	put_task(0, PERF_RECORD_EXIT, 10, 10, 9500);
	assert_int_equal(next(VMPROF_MSG_EXIT).proc.tgid, 10);
	assert_int_equal(sb.lost, 42);
	assert_int_equal(sb.lost_since_tsc, 50000 + 2 * (2499 - 1000));
	put_timed(0, PERF_RECORD_LOST, 0, lost, sizeof(lost), 9900);
	assert_int_equal(vmp_sideband_next(&sb, &msg), 0);
	assert_int_equal(sb.lost, 84);
	assert_int_equal(sb.lost_since_tsc, 50000 + 2 * (2499 - 1000));
	assert_int_equal(sb.missed, 0);
}

/* A file that is read as an event would be, look by look: how long it has been on */
static int event_with(const uint64_t *on_ns, size_t nr)
{
	uint64_t counted[2] = { 0 };
	int fd = memfd_create("event", MFD_CLOEXEC);
	size_t i;

	assert_true(fd >= 0);
	for (i = 0; i < nr; i++) {
		counted[1] = on_ns[i];
		assert_int_equal(write(fd, counted, sizeof(counted)), sizeof(counted));
	}
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* A ring as the kernel's would be, to be closed */
static void give_ring(int i, int fd)
{
	void *page = mmap(NULL, PAGE + DATA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	sb.ring[i] = (struct vmp_sideband_ring){ .cpu = i, .fd = fd, .fd_ids = -1, .page = page, .known_tsc = 7 };
	sb.ring[i].page->data_offset = PAGE;
	sb.ring[i].page->data_size = DATA;
}

static int setup_events(void **state)
{
	setup(state);
	sb.ring = calloc(2, sizeof(*sb.ring));
	sb.cpus_seen = sb.now;
	cpus_said = 0;			/* none is opened */
	return sb.ring ? 0 : -1;
}

static int teardown_events(void **state)
{
	(void)state;
	vmp_sideband_close(&sb);
	cpus_said = -1;
	return 0;
}

static void look_after_ms(uint64_t ms)
{
	sb.now.ns += ms * 1000000;
	sb.now.tsc += 2 * ms * 1000000;
	look_for_cpus(&sb);
}

/* A CPU that went has taken its event along: that is seen, and told from the last time on at which it was known to be there. */
static void test_cpu_went(void **state)
{
	const uint64_t on[] = { 10, 20, 30, 40 }, went[] = { 10, 20, 25, 25 };
	uint64_t known;

	(void)state;
	give_ring(0, event_with(on, 4));
	give_ring(1, event_with(went, 4));
	look_after_ms(999);			/* not yet */
	assert_int_equal(sb.ring[0].on_ns, 0);
	look_after_ms(1);
	look_after_ms(1000);
	known = sb.cpus_seen.tsc;
	look_after_ms(1000);			/* it went behind the last look, and was back before this one */
	assert_int_equal(sb.nr, 2);
	assert_int_equal(sb.missed, 0);
	look_after_ms(1000);
	assert_int_equal(sb.nr, 1);
	assert_int_equal(sb.ring[0].cpu, 0);
	assert_int_equal(sb.missed, 1);
	assert_int_equal(sb.lost_since_tsc, known);
}

/* A CPU that has none gets one, of this machine's kernel where it lets us; what it did before is missing */
static void test_cpu_came(void **state)
{
	const uint64_t on[] = { 10 };
	uint64_t before;
	int fd = open_event(0, 0);

	(void)state;
	if (fd < 0) {
		print_message("perf_event_open: %s\n", strerror(-fd));
		skip();
	}
	close(fd);
	sb.nr = 1;
	give_ring(0, event_with(on, 1));
	sb.ring[0].cpu = 1;
	cpus_said = 3;				/* more than there is room for */
	before = sb.cpus_seen.tsc;
	look_after_ms(1000);
	assert_int_equal(sb.cpus, 3);
	assert_true(sb.nr == 2 || sb.nr == 3);	/* where there is a third one */
	assert_int_equal(sb.ring[1].cpu, 0);
	assert_true(event_on_ns(sb.ring[1].fd) > 0);
	assert_int_equal(sb.missed, sb.nr - 1);
	assert_int_equal(sb.lost_since_tsc, before);
}

/* One that can be read no more is no event, either */
static void test_cpu_ends(void **state)
{
	const uint64_t on[] = { 10 };

	(void)state;
	give_ring(0, event_with(on, 1));
	give_ring(1, event_with(on, 1));
	look_after_ms(1000);
	assert_int_equal(sb.nr, 2);
	look_after_ms(1000);
	assert_int_equal(sb.nr, 0);
	assert_int_equal(sb.missed, 2);
	assert_int_equal(vmp_sideband_next(&sb, &msg), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test_setup(test_order, setup),
		cmocka_unit_test_setup(test_made, setup),
		cmocka_unit_test_setup(test_exits, setup),
		cmocka_unit_test_setup(test_names, setup),
		cmocka_unit_test_setup(test_places, setup),
		cmocka_unit_test_setup(test_maps, setup),
		cmocka_unit_test_setup(test_loss, setup),
		cmocka_unit_test_setup_teardown(test_cpu_went, setup_events, teardown_events),
		cmocka_unit_test_setup_teardown(test_cpu_came, setup_events, teardown_events),
		cmocka_unit_test_setup_teardown(test_cpu_ends, setup_events, teardown_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
