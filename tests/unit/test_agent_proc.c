// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_proc.c - what the agent reads in /proc that is long, or cannot be read to its end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/jitfile.c"
#include "guest-agent/daemon/procfs.c"
#include "guest-agent/daemon/worker.c"

int vmp_reader_is_held(const struct vmp_reader_page *page, uint32_t major, uint32_t minor)
{
	(void)page, (void)major, (void)minor;
	return 0;
}

static char path[] = "/tmp/vmprof-proc-XXXXXX";
static char text[2 << 20];

static void write_text(void)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
	fclose(f);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static const char *const wanted[] = { "Uid:", "NSpid:", NULL };
static char heard[64];

/* Text with so many groups of 11 bytes between the lines that are wanted */
static int read_with_groups(unsigned int groups)
{
	char *to = text + sprintf(text, "Name:\tUid:\nUid:\t1\t2\t3\t4\nGroups:\t");

	while (groups--)
		to += sprintf(to, "4000000001 ");
	strcpy(to, "\nNStgid:\t7\nNSpid:\t7\t3\nNSpgid:\t1\n");
	write_text();
	return vmp_lines_of(path, wanted, heard, sizeof(heard));
}

static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(read_with_groups(0), 0);
	assert_string_equal(heard, "\nUid:\t1\t2\t3\t4\nNSpid:\t7\t3\n");
	assert_int_equal(read_with_groups(560), 0);	/* 6 kB */
	assert_string_equal(heard, "\nUid:\t1\t2\t3\t4\nNSpid:\t7\t3\n");
	assert_int_equal(read_with_groups(65536), 0);	/* as many as the kernel allows */
	assert_string_equal(heard, "\nUid:\t1\t2\t3\t4\nNSpid:\t7\t3\n");
	assert_int_equal(read_with_groups(100000), -EFBIG);
	assert_string_equal(heard, "\nUid:\t1\t2\t3\t4\n");
	assert_int_equal(vmp_lines_of("/proc/self/no", wanted, heard, sizeof(heard)), -ENOENT);
	assert_string_equal(heard, "\n");
	assert_int_equal(vmp_lines_of("/proc/self", wanted, heard, sizeof(heard)), -EISDIR);
}

/* A line that does not fit, however it comes, is left out; those beside it are whole */
static void test_lines_too_long(void **state)
{
	char room[32], fives[1201], whole[2000];
	size_t len;

	(void)state;
	for (len = 0; len < sizeof(fives); len++) {
		memset(fives, '5', len);
		fives[len] = 0;
		sprintf(text, "NSpid:\t1\nUid:\t%s\nNSpid:\t2\nUid:\t6", fives);
		write_text();
		assert_int_equal(vmp_lines_of(path, wanted, room, sizeof(room)), 0);
		snprintf(whole, sizeof(whole), "\nNSpid:\t1\n%s%s%s%s", len <= 15 ? "Uid:\t" : "", len <= 15 ? fives : "",
			 len <= 15 ? "\n" : "", len <= 6 || len > 15 ? "NSpid:\t2\n" : "");
		assert_string_equal(room, whole);
	}
}

/* A process of a user with so many groups that nothing behind them is in the first pages */
static void test_groups_of_a_process(void **state)
{
	static gid_t groups[600];
	uint8_t place[sizeof(struct vmprof_place) + VMPROF_CGROUP_BYTES_MAX];
	char c;
	unsigned int i;
	int ready[2];
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();			/* it takes root's rights to join them */
	assert_int_equal(pipe(ready), 0);
	for (i = 0; i < 600; i++)
		groups[i] = 4000000000U + i;
	pid = fork();
	if (!pid)
		_exit(setgroups(600, groups) || write(ready[1], "r", 1) != 1 || pause());
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	vmp_procfs_read_place((uint32_t)pid, 1, place);
	assert_int_equal(le32toh(((struct vmprof_place *)place)->nspid), pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* -------------------------------------------- maps that cannot be read to their end */

static struct vmp_worker worker;
static struct vmp_read_request request;
static struct vmp_read_answer answer;
static struct vmp_procfs procfs;

/* What is read of it goes to the snapshot.  Return: mappings that it tells of */
static int go_on(void)
{
	static struct vmp_procfs_msg msg;
	int nr = 0;

	while (vmp_procfs_ask(&procfs, &request)) {
		vmp_worker_do(&worker, &request, &answer);
		vmp_procfs_answer(&procfs, &answer);
		while (next_map(&procfs, &msg))
			nr++;
	}
	return nr;
}

/* The child has this open as the maps of a process, and some of them were read before */
static void begin_with(int fd)
{
	memset(&procfs, 0, sizeof(procfs));
	assert_int_equal(vmp_procfs_begin(&procfs, 1), 0);
	procfs.tgid = 5;
	procfs.maps = VMP_MAPS_MORE;
	vmp_worker_init(&worker);
	worker.maps = fd;
	worker.maps_error = 0;
}

static void test_maps_whole(void **state)
{
	(void)state;
	strcpy(text, "1000-2000 r-xp 00000000 08:01 5 /a\n2000-3000 r-xp 00000000 08:01 6 /b\n");
	write_text();
	begin_with(open(path, O_RDONLY | O_CLOEXEC));
	assert_int_equal(go_on(), 2);
	assert_int_equal(procfs.unread, 0);
	vmp_procfs_end(&procfs);
}

/* An error behind some lines: they are told, and that there were more */
static void test_maps_error(void **state)
{
	static const char line[] = "1000-2000 r-xp 00000000 08:01 5 /a\n2000-30";
	int fd[2];

	(void)state;
	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(fd[1], line, strlen(line)), strlen(line));
	begin_with(fd[0]);
	assert_int_equal(go_on(), 1);
	assert_int_equal(procfs.unread, 1);
	vmp_procfs_end(&procfs);
	assert_int_equal(worker.maps, -1);

	/* another one's end is no loss; the child that had begun with it is gone: that is one */
	begin_with(-1);
	worker.maps_error = -ESRCH;
	assert_int_equal(go_on(), 0);
	assert_int_equal(procfs.unread, 0);
	vmp_procfs_end(&procfs);
	begin_with(-1);
	vmp_worker_clear(&worker);
	assert_int_equal(go_on(), 0);
	assert_int_equal(procfs.unread, 1);
	vmp_procfs_end(&procfs);
	close(fd[1]);
}

/* A path in which each byte is written as four is longer than what is kept of a line */
static void test_maps_long_line(void **state)
{
	size_t n = 0, i;

	(void)state;
	while (n < VMP_READ_DATA - 2 * VMP_WORKER_LINE_MAX)
		n += (size_t)sprintf(text + n, "1000-2000 r-xp 00000000 08:01 5 /a\n");
	n += (size_t)sprintf(text + n, "2000-3000 r-xp 00000000 08:01 6 /");
	for (i = 0; i < VMPROF_PATH_BYTES_MAX; i++)
		n += (size_t)sprintf(text + n, "\\012");
	sprintf(text + n, "\n3000-4000 r-xp 00000000 08:01 7 /c\n");
	write_text();
	begin_with(open(path, O_RDONLY | O_CLOEXEC));
	assert_true(go_on() > 600);
	assert_int_equal(procfs.unread, 1);
	vmp_procfs_end(&procfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_too_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_groups_of_a_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_maps_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_maps_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_maps_long_line, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
