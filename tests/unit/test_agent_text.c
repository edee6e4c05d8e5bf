// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_text.c - what the agent reads as text: kallsyms, /proc/PID/maps and stat, the boot id. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_msg.h"
#include "guest-agent/daemon/ksyms.c"
static uint32_t module_version;	/* of the device, if it is opened */
static int module_fd;

static int module_open(const char *path, int flags)
{
	if (strcmp(path, "/dev/" VMPG_DEVICE_NAME))
		return open(path, flags);
	return module_fd = open("/dev/null", flags);
}

/* The module of a kernel with made code at one address */
static int module_ioctl(int fd, unsigned long request, void *arg)
{
	struct vmpg_symbol *symbol = arg;

	if (request == VMPG_IOC_QUERY) {
		*(struct vmpg_query *)arg = (struct vmpg_query){ .version = module_version };
		return 0;
	}
	if (fd != 3 || request != VMPG_IOC_SYMBOL || symbol->address != 0xffffffffc0200100) {
		errno = ENOENT;
		return -1;
	}
	symbol->bytes = 0x1234;
	return 0;
}
#define ioctl module_ioctl
#define open(path, flags) module_open(path, flags)
#include "guest-agent/daemon/module.c"
#undef ioctl
#undef open
#include "guest-agent/daemon/hello.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/procfs.c"
#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/jitfile.c"
#include "guest-agent/daemon/worker.c"

int vmp_reader_is_held(const struct vmp_reader_page *page, uint32_t major, uint32_t minor)
{
	(void)page, (void)major, (void)minor;
	return 0;
}

static char *ksyms_of(const char *text, size_t *bytes)
{
	char name[] = "/tmp/vmprof-ksyms-XXXXXX";
	int fd = mkstemp(name);
	struct vmp_ksyms k;
	char *copy;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	vmp_ksyms_init(&k);
	assert_int_equal(vmp_ksyms_open(&k, name, 3), 0);
	unlink(name);
	while (vmp_ksyms_step(&k) == 1)
		;
	assert_int_equal(k.ready, 1);
	copy = malloc(k.bytes + 1);
	if (k.bytes)
		memcpy(copy, k.text, k.bytes);
	copy[k.bytes] = 0;
	*bytes = k.bytes;
	vmp_ksyms_clear(&k);
	return copy;
}

static void test_ksyms(void **state)
{
	size_t bytes;
	char *text = ksyms_of("ffffffff81000010 T second\n"
			      "ffffffff81000000 T first\n"
			      "ffffffff81000000 t first_alias\n"
			      "ffffffff82000000 D data\n"
			      "0000000000000000 A fixed_percpu_data\n"
			      "0000000000000000 T hidden\n"
			      "ffffffffc0001000 t in_module\t[mod]\n"
			      "ffffffff81000008 W weak\n"
			      "no address\n"
			      "ffffffff81000001 t\n"
			      "\n"
			      "ffffffff81000020 T cut_off_without_newline", &bytes);

	(void)state;
	assert_string_equal(text, "ffffffff81000000 T first\n"
				  "ffffffff81000000 t first_alias\n"
				  "ffffffff81000008 W weak\n"
				  "ffffffff81000010 T second\n"
				  "ffffffffc0001000 t in_module\t[mod]\n");
	free(text);
}

/* The module is asked about what kallsyms does not end; it comes last, for it comes and goes. */
static void test_ksyms_made(void **state)
{
	size_t bytes;
	char *text = ksyms_of("ffffffffc0200100 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
			      "ffffffffc0200100 t in_module\t[mod]\n"
			      "ffffffffc0200100 t bpf_in_kernel\n"
			      "ffffffffc0200080 t bpf_prog_03e7f62b2a9c4a12\t[bpf]\n"
			      "ffffffffc0200100 t ftrace_trampoline\t[__builtin__ftrace]\n", &bytes);

	(void)state;
	assert_string_equal(text, "ffffffffc0200100 t in_module\t[mod]\n"
				  "ffffffffc0200100 t bpf_in_kernel\n"
				  "ffffffffc0200080 t bpf_prog_03e7f62b2a9c4a12\t[bpf]\n"
				  "ffffffffc0200100 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\t1234\n"
				  "ffffffffc0200100 t ftrace_trampoline\t[__builtin__ftrace]\t1234\n");
	assert_int_equal(bytes, strlen(text));
	free(text);
}

/* One that an upgrade left loaded is not spoken to, and not kept open */
static void test_module_version(void **state)
{
	int fd = -1;

	(void)state;
	module_version = VMPG_UAPI_VERSION;
	assert_int_equal(vmp_module_open(&fd), 0);
	assert_int_equal(fd, module_fd);
	close(fd);
	module_version = VMPG_UAPI_VERSION - 1;
	assert_int_equal(vmp_module_open(&fd), -EPROTO);
	assert_int_equal(fcntl(module_fd, F_GETFD), -1);
	module_version = VMPG_UAPI_VERSION + 1;
	assert_int_equal(vmp_module_open(&fd), -EPROTO);
}

static uint64_t modules_of(const char *text)
{
	char name[] = "/tmp/vmprof-modules-XXXXXX";
	int fd = mkstemp(name);
	uint64_t sum;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	sum = vmp_ksyms_modules(name);
	unlink(name);
	return sum;
}

static void test_modules(void **state)
{
	uint64_t two = modules_of("a 100 1 b, Live 0xffffffffc0001000\nb 200 0 - Live 0xffffffffc0002000\n");

	(void)state;
	assert_int_not_equal(two, 0);
	/* other users, another order: the same modules */
	assert_int_equal(two, modules_of("b 200 7 x,y, Live 0xffffffffc0002000 (OE)\na 100 0 - Live 0xffffffffc0001000\n"));
	assert_int_not_equal(two, modules_of("a 100 1 b, Live 0xffffffffc0001000\n"));
	/* gone and come back elsewhere */
	assert_int_not_equal(two, modules_of("a 100 1 b, Live 0xffffffffc0001000\nb 200 0 - Live 0xffffffffc0003000\n"));
	assert_int_equal(vmp_ksyms_modules("/nonexistent"), 0);
}

/* Lines that span two reads stay whole */
static void test_ksyms_long(void **state)
{
	size_t n = 20000, i, bytes, at = 0;
	char *in = malloc(n * 32), *text;

	(void)state;
	for (i = 0; i < n; i++)
		at += (size_t)sprintf(in + at, "%016zx %c f%zu\n", (size_t)0x1000000 + i,
				      i & 1 ? 't' : 'd', i);
	text = ksyms_of(in, &bytes);
	for (i = 1, at = 0; i < n; i += 2) {
		char want[64];
		size_t len = (size_t)sprintf(want, "%016zx t f%zu\n", (size_t)0x1000000 + i, i);

		assert_memory_equal(text + at, want, len);
		at += len;
	}
	assert_int_equal(at, bytes);
	free(in);
	free(text);
}

static void test_ksyms_empty(void **state)
{
	size_t bytes;
	char *text = ksyms_of("0000000000000000 T hidden\n", &bytes);

	(void)state;
	assert_int_equal(bytes, 0);
	free(text);
}

static const struct vmprof_map *parse_map(struct vmp_procfs_msg *msg, const char *line)
{
	memset(msg, 0xee, sizeof(*msg));
	return vmp_procfs_parse_map(line, 7, msg) ? (struct vmprof_map *)msg->payload : NULL;
}

static void test_maps(void **state)
{
	struct vmp_procfs_msg msg;
	const struct vmprof_map *map;
	char line[VMPROF_PATH_BYTES_MAX + 512];

	(void)state;
	assert_null(parse_map(&msg, "55d0-55e0 r--p 00000000 fe:01 12 /bin/x\n"));
	assert_null(parse_map(&msg, "55e0-55d0 r-xp 00000000 fe:01 12 /bin/x\n"));
	assert_null(parse_map(&msg, "nonsense\n"));
	assert_null(parse_map(&msg, "55d0-55e0 r-xp\n"));

	map = parse_map(&msg, "55d0000-55e0000 r-xp 00002000 fe:01 1234   /bin/with space\n");
	assert_non_null(map);
	assert_int_equal(map->start, 0x55d0000);
	assert_int_equal(map->pgoff, 0x2000);
	assert_int_equal(map->dev_major, 0xfe);
	assert_int_equal(map->ino, 1234);
	assert_int_equal(map->prot, PROT_READ | PROT_EXEC);
	assert_int_equal(map->path_len, 15);
	assert_memory_equal(map + 1, "/bin/with space", 15);
	assert_int_equal(msg.len, sizeof(*map) + 15);

	map = parse_map(&msg, "1000-2000 r-xp 0 fe:01 5 /a\\012b (deleted)\n");
	assert_memory_equal(map + 1, "/a\nb", 4);
	assert_int_equal(map->path_len, 4);
	assert_int_equal(map->flags, VMPROF_MAP_DELETED);

	map = parse_map(&msg, "7ffff7fc0000-7ffff7fc2000 r-xp 0 00:00 0    [vdso]\n");
	assert_int_equal(map->flags, VMPROF_MAP_VDSO);
	assert_int_equal(map->ino_generation, 0);
	map = parse_map(&msg, "f7fc0000-f7fc2000 r-xp 0 00:00 0    [vdso]\n");
	assert_int_equal(map->ino_generation, 1);
	map = parse_map(&msg, "1000-2000 rwxp 0 00:00 0 \n");
	assert_int_equal(map->flags, VMPROF_MAP_ANON);
	assert_int_equal(map->path_len, 0);

	strcpy(line, "1000-2000 r-xp 0 fe:01 5 ");
	memset(line + strlen(line), '/', VMPROF_PATH_BYTES_MAX + 100);
	line[25 + VMPROF_PATH_BYTES_MAX + 100] = 0;
	map = parse_map(&msg, line);
	assert_int_equal(map->path_len, VMPROF_PATH_BYTES_MAX - 1);
}

static void test_stat(void **state)
{
	struct vmprof_proc p;

	(void)state;
	assert_int_equal(vmp_procfs_parse_stat("42 (sh) S 1 42 42 0 -1 4194560 10\n", &p), 1);
	assert_int_equal(p.pid, 42);
	assert_int_equal(p.ppid, 1);
	assert_int_equal(p.flags, 0);
	assert_string_equal((char *)p.comm, "sh");

	assert_int_equal(vmp_procfs_parse_stat("3 (a) R (b)) S 2 0 0 0 -1 2129984 0\n", &p), 1);
	assert_string_equal((char *)p.comm, "a) R (b)");
	assert_int_equal(p.flags, VMPROF_PROC_KTHREAD);

	assert_int_equal(vmp_procfs_parse_stat("3 (0123456789abcdefghijklmnop) S 2 0 0 0 -1 0 0\n", &p), 1);
	assert_string_equal((char *)p.comm, "0123456789abcde");

	assert_int_equal(vmp_procfs_parse_stat("", &p), 0);
	assert_int_equal(vmp_procfs_parse_stat("3 )( S 2", &p), 0);
	assert_int_equal(vmp_procfs_parse_stat("3 (x) S", &p), 0);
}

/* A child in which @life runs */
static pid_t child_of(void (*life)(void))
{
	pid_t pid = fork();

	if (!pid) {
		life();
		_exit(0);
	}
	return pid;
}

static void end_child_of(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void lives(void)
{
	pause();
}

static void ends(void)
{
}

static void *other_thread(void *arg)
{
	pause();
	return arg;
}

/* Its first thread ends, another one goes on. */
static void lives_in_a_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, other_thread, NULL))
		pthread_exit(NULL);
}

/* The state in /proc/PID/stat, waited for */
static void wait_for_state(pid_t pid, char want)
{
	char path[64], text[512] = "";
	int i;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (i = 0; i < 5000; i++, usleep(1000)) {
		FILE *f = fopen(path, "re");
		const char *close;

		assert_non_null(f);
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		close = strrchr(text, ')');
		if (close[2] == want)
			return;
	}
	fail_msg("never %c: %s", want, text);
}

/* A process is over when none of its threads runs, waited for or not. */
static void test_is_over(void **state)
{
	unsigned int threads;
	pid_t pid;

	(void)state;
	pid = child_of(lives);
	assert_int_equal(vmp_procfs_is_over((uint32_t)pid), 0);
	end_child_of(pid);
	assert_int_equal(vmp_procfs_is_over((uint32_t)pid), 1);

	pid = child_of(ends);
	wait_for_state(pid, 'Z');
	assert_int_equal(vmp_procfs_is_over((uint32_t)pid), 1);
	end_child_of(pid);

	pid = child_of(lives_in_a_thread);
	wait_for_state(pid, 'Z');
	assert_int_equal(vmp_procfs_is_over((uint32_t)pid), 0);
	end_child_of(pid);

	/* perf tells of an exit while the task still runs to its end */
	assert_int_equal(is_exiting("42 (x) R 1 42 42 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 2 0", &threads), 1);
	assert_int_equal(threads, 2);
	assert_int_equal(is_exiting("42 (x) R 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0", &threads), 0);
	assert_int_equal(is_exiting("5 (a) b) Z 1 5 5 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 9", &threads), 1);
	assert_int_equal(threads, 3);
	assert_int_equal(is_exiting("42 (x) R 1 42 42 0 -1 4194308", &threads), 0);
	assert_int_equal(is_exiting("", &threads), 0);
}

static void assert_place(const char *status, const char *cgroup, uint32_t nspid, const char *path)
{
	struct {
		struct vmprof_place place;
		char path[VMPROF_CGROUP_BYTES_MAX];
	} p;

	assert_int_equal(vmp_procfs_parse_place(status, cgroup, &p), sizeof(p.place) + strlen(path));
	assert_int_equal(p.place.nspid, nspid);
	assert_int_equal(p.place.cgroup_len, strlen(path));
	assert_memory_equal(p.path, path, strlen(path));
}

static void test_place(void **state)
{
	char cgroup[VMPROF_CGROUP_BYTES_MAX + 8] = "0::/", path[VMPROF_CGROUP_BYTES_MAX] = "";

	(void)state;
	assert_place("Name:\tx\nNSpid:\t4711\t12\t3\nNSpgid:\t1\n", "0::/system.slice/x.service\n", 3, "/system.slice/x.service");
	assert_place("Name:\tx\nNSpid:\t4711\nNSpgid:\t1\n", "1:name=systemd:/a\n0::/b c\n", 4711, "/b c");
	assert_place("Name:\tx\nNSpid:\t12", "1:name=systemd:/a\n", 0, "");
	assert_place("", "", 0, "");
	assert_place("\nNSpid:\n", "0::\n", 0, "");
	/* one that is too long is not told at all */
	memset(cgroup + 4, 'x', VMPROF_CGROUP_BYTES_MAX - 1);
	strcpy(cgroup + 3 + VMPROF_CGROUP_BYTES_MAX, "\n");
	assert_place("", cgroup, 0, "");
	memset(path, 'x', VMPROF_CGROUP_BYTES_MAX - 1);
	path[0] = '/';
	strcpy(cgroup + 2 + VMPROF_CGROUP_BYTES_MAX, "\n");
	assert_place("", cgroup, 0, path);
}

/* The next one, with what the child reads */
static int next_message(struct vmp_procfs *p, struct vmp_procfs_msg *msg)
{
	static struct vmp_worker w = { .object = -1, .maps = -1 };
	static struct vmp_read_request q;
	static struct vmp_read_answer a;

	while (!vmp_procfs_next(p, msg)) {
		if (!vmp_procfs_ask(p, &q))
			return 0;
		vmp_worker_do(&w, &q, &a);
		vmp_procfs_answer(p, &a);
	}
	return 1;
}

/* A process with more maps than one answer holds: all of them, each once */
static void test_many_maps(void **state)
{
	static struct vmp_procfs p;
	struct vmp_procfs_msg msg;
	uint64_t last = 0;
	const size_t page = 4096;
	int i, nr = 0;
	char *area = mmap(NULL, 4000 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(area, MAP_FAILED);
	for (i = 0; i < 2000; i++)
		assert_int_equal(mprotect(area + 2 * (size_t)i * page, page, PROT_EXEC), 0);
	assert_int_equal(vmp_procfs_begin(&p, 1), 0);
	p.begun = 1;
	p.maps = VMP_MAPS_FIRST;
	p.tgid = (uint32_t)getpid();
	while ((p.maps != VMP_MAPS_NONE || p.at < p.len) && next_message(&p, &msg)) {
		const struct vmprof_map *map = (const struct vmprof_map *)msg.payload;

		assert_int_equal(msg.type, VMPROF_MSG_MAP);
		if (p.tgid != (uint32_t)getpid())
			break;
		assert_true(map->start > last);
		last = map->start;
		nr += map->start >= (uintptr_t)area && map->start < (uintptr_t)area + 4000 * page;
		if (nr == 2000)
			break;
	}
	vmp_procfs_end(&p);
	munmap(area, 4000 * page);
	assert_int_equal(nr, 2000);
}

/* Is it this process, with its number and cgroup? */
static int is_told_of_us(const struct vmp_procfs_msg *msg)
{
	struct vmp_agent_msg m;

	assert_int_equal(vmp_agent_msg_parse(msg->type, msg->payload, msg->len, &m), 0);
	if (m.proc.tgid != (uint32_t)getpid())
		return 0;
	assert_int_equal(m.proc.nspid, getpid());
	return 1;
}

/* This machine's own /proc, from SNAP_BEGIN to SNAP_END, with ourselves in it */
static void test_snapshot(void **state)
{
	static struct vmp_procfs p;
	struct vmp_procfs_msg msg;
	uint16_t last = 0;
	int self = 0, maps = 0;

	(void)state;
	assert_int_equal(vmp_procfs_begin(&p, 99), 0);
	assert_int_equal(vmp_procfs_begin(&p, 100), -EBUSY);
	while (next_message(&p, &msg)) {
		if (!last)
			assert_int_equal(msg.type, VMPROF_MSG_SNAP_BEGIN);
		last = msg.type;
		if (msg.type == VMPROF_MSG_PROC)
			self += is_told_of_us(&msg);
		if (msg.type == VMPROF_MSG_MAP)
			maps += ((struct vmprof_map *)msg.payload)->tgid == (uint32_t)getpid();
	}
	assert_int_equal(last, VMPROF_MSG_SNAP_END);
	assert_int_equal(self, 1);
	assert_true(maps > 1);
}

/* One that began behind the first piece of /proc is told of, too, once. */
static void test_forked_meanwhile(void **state)
{
	static struct vmp_procfs p;
	struct vmp_procfs_msg msg;
	pid_t child = 0;
	int told = 0;

	(void)state;
	assert_int_equal(vmp_procfs_begin(&p, 1), 0);
	while (next_message(&p, &msg)) {
		if (msg.type != VMPROF_MSG_PROC)
			continue;
		if (!child)
			child = child_of(lives);
		told += p.tgid == (uint32_t)child;
	}
	end_child_of(child);
	assert_int_equal(told, 1);
}

static void test_uuid(void **state)
{
	static const uint8_t want[16] = { 0x54, 0xba, 0xbf, 0xaa, 0x55, 0xce, 0x43, 0x68,
					  0x96, 0x64, 0xdf, 0x58, 0x0f, 0xe6, 0x15, 0x10 };
	uint8_t id[16];

	(void)state;
	assert_int_equal(vmp_hello_parse_uuid("54babfaa-55ce-4368-9664-df580fe61510\n", id), 1);
	assert_memory_equal(id, want, 16);
	assert_int_equal(vmp_hello_parse_uuid("54babfaa-55ce-4368-9664-df580fe6151\n", id), 0);
	assert_int_equal(vmp_hello_parse_uuid("", id), 0);
	assert_int_equal(vmp_hello_parse_uuid("+1 1-1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ksyms),
		cmocka_unit_test(test_ksyms_made),
		cmocka_unit_test(test_ksyms_long),
		cmocka_unit_test(test_modules), cmocka_unit_test(test_module_version),
		cmocka_unit_test(test_ksyms_empty),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_stat), cmocka_unit_test(test_is_over), cmocka_unit_test(test_place),
		cmocka_unit_test(test_snapshot), cmocka_unit_test(test_forked_meanwhile),
		cmocka_unit_test(test_many_maps),
		cmocka_unit_test(test_uuid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
