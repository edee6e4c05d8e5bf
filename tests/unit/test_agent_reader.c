// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_agent_reader.c - the child that reads files of others: real processes, a FIFO that
 * nobody writes, and a FUSE file system that does not answer.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define vmp_log agent_log
#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/jitfile.c"
#include "guest-agent/daemon/worker.c"
#include "guest-agent/daemon/reader.c"

void agent_log(enum vmp_log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

static struct vmp_reader reader;
static char dir[32], path[64];
static uint64_t now_ms;

static int setup(void **state)
{
	FILE *f;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	strcpy(dir, "/tmp/vmprof-reader-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("some bytes", f);
	fclose(f);
	now_ms = 1000;
	assert_int_equal(vmp_reader_init(&reader), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vmp_reader_deinit(&reader);
	unlink(path);
	rmdir(dir);
	return 0;
}

static void want(uint32_t what, const char *name, dev_t dev, ino_t ino)
{
	memset(&reader.request, 0, offsetof(struct vmp_read_request, path));
	reader.request.what = what;
	reader.request.number = 1;
	reader.request.m = (struct vmp_mapped){
		.tgid = 0x7fffffff, .ino = ino, .dev_major = major(dev), .dev_minor = minor(dev),
	};
	strcpy(reader.request.path, name);
}

static void want_file(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	want(VMP_READ_FILE, name, st.st_dev, st.st_ino);
}

/* The answer, within so much of real time; the reader's own clock stands still */
static const struct vmp_read_answer *answer(int wait_ms)
{
	struct pollfd p = { .fd = reader.fd, .events = POLLIN };

	poll(&p, 1, wait_ms);
	return vmp_reader_answer(&reader, now_ms);
}

static int32_t ask_and_hear(void)
{
	const struct vmp_read_answer *a;

	vmp_reader_ask(&reader, now_ms);
	assert_true(vmp_reader_busy(&reader));
	a = answer(20000);
	assert_non_null(a);
	assert_false(vmp_reader_busy(&reader));
	return a->status;
}

/* The child has come so far as to touch a file on a device of this number. */
static void wait_for_touch(uint32_t device_minor)
{
	const volatile struct vmp_device *touched = &reader.page->touched;
	int tries;

	for (tries = 0; touched->minor != device_minor && tries < 20000; tries++)
		usleep(1000);
	assert_int_equal(touched->minor, device_minor);
}

/* All that were killed are gone, within some seconds */
static void assert_none_dying(void)
{
	unsigned int i, tries, left = 1;

	for (tries = 0; left && tries < 20000; tries++) {
		vmp_reader_reap(&reader);
		for (i = left = 0; i < VMP_READER_DYING; i++)
			left += reader.dying[i] != 0;
		if (left)
			usleep(1000);
	}
	assert_int_equal(left, 0);
}

static void test_answers(void **state)
{
	(void)state;
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	assert_int_equal(reader.answer.bytes, 10);
	want_file(path);
	reader.request.m.ino++;
	assert_int_equal(ask_and_hear(), -ESTALE);
	want(VMP_READ_FILE, "/nowhere", 0, 1);
	assert_int_equal(ask_and_hear(), -ENOENT);
	assert_int_equal(reader.begun, 1);
	vmp_reader_stop(&reader);
	assert_none_dying();
}

/* The child must not keep open what the daemon closes: the port, the module's device */
static void test_holds_nothing_of_ours(void **state)
{
	int fd[2];
	char c;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 0);
	close(fd[0]);
}

/* Somebody kills it: that request fails, the next one is answered by another child */
static void test_child_dies(void **state)
{
	(void)state;
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	kill(reader.child, SIGKILL);
	want_file(path);
	assert_int_equal(ask_and_hear(), -EIO);
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	assert_int_equal(reader.begun, 2);
	assert_none_dying();
}

/* ----------------------------------------------- a FIFO that nobody writes */

/* Opens what the request names: of a FIFO without a writer that does not return */
static void serve_fifo(int fd, struct vmp_reader_page *page)
{
	static struct vmp_read_request q;
	static struct vmp_read_answer a;

	while (read(fd, &q, sizeof(q)) > 0) {
		page->touched = (struct vmp_device){ 0, q.flags };
		a.status = open(q.path, O_RDONLY | O_CLOEXEC) < 0 ? -errno : 0;
		if (write(fd, &a, offsetof(struct vmp_read_answer, data)) < 0)
			break;
	}
}

/* A file that is never answered, and the child that reads it */
static void begin_fifo(char fifo[64])
{
	snprintf(fifo, 64, "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	reader.serve = serve_fifo;
}

static void test_fifo(void **state)
{
	char fifo[64];
	unsigned int i;

	(void)state;
	begin_fifo(fifo);
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);

	/* more often than there are places for children that do not die: this one does */
	for (i = 1; i <= 2 * VMP_READER_DYING; i++) {
		want(VMP_READ_FILE, fifo, 0, 1);
		reader.request.flags = i;	/* the device that it says to touch */
		assert_int_equal(vmp_reader_ask(&reader, now_ms), 0);
		wait_for_touch(i);
		assert_null(answer(100));
		now_ms += VMP_READER_PATIENCE_MS - 1;
		assert_null(vmp_reader_answer(&reader, now_ms));
		now_ms++;
		assert_non_null(vmp_reader_answer(&reader, now_ms));
		assert_int_equal(reader.answer.status, -ETIMEDOUT);
		assert_true(vmp_reader_is_held(reader.page, 0, i));
		assert_none_dying();
		want_file(path);
		assert_int_equal(ask_and_hear(), 0);	/* others go on */
	}
	unlink(fifo);
}

/* A request for something on a device of this number, whose answer comes too late.  Return: for how long it is left alone */
static uint32_t too_late(const char *fifo, uint32_t device_minor)
{
	uint32_t ms = 0;

	want(VMP_READ_FILE, fifo, 0, 1);
	reader.request.flags = device_minor;
	assert_int_equal(vmp_reader_ask(&reader, now_ms), 0);
	wait_for_touch(device_minor);
	now_ms += VMP_READER_PATIENCE_MS;
	assert_non_null(vmp_reader_answer(&reader, now_ms));
	assert_int_equal(reader.answer.status, -ETIMEDOUT);
	for (; vmp_reader_is_held(reader.page, 0, device_minor); ms += 500)
		release_held(reader.page, now_ms + ms);
	now_ms += ms;
	assert_none_dying();
	return ms - 500;
}

/* Left alone for a moment at first, longer each time, and for a moment again once it has answered in time */
static void test_hold_grows(void **state)
{
	static const uint32_t seconds[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	char fifo[64];
	unsigned int i;

	(void)state;
	begin_fifo(fifo);
	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++)
		assert_int_equal(too_late(fifo, 5), seconds[i] * 1000);
	assert_int_equal(too_late(fifo, 6), 1000);
	/* others' answers do not say anything of it */
	want(VMP_READ_FILE, path, 0, 1);
	reader.request.flags = 7;
	assert_int_equal(ask_and_hear(), 0);
	assert_int_equal(too_late(fifo, 6), 2000);
	want(VMP_READ_FILE, path, 0, 1);
	reader.request.flags = 5;
	assert_int_equal(ask_and_hear(), 0);
	assert_int_equal(too_late(fifo, 5), 1000);
	assert_int_equal(too_late(fifo, 6), 4000);
	unlink(fifo);
}

/* A device that was stuck is not tried, until its time is over; of many the oldest goes first */
static void test_held(void **state)
{
	struct stat st;
	unsigned int i;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	hold(reader.page, (struct vmp_device){ major(st.st_dev), minor(st.st_dev) }, now_ms);
	want_file(path);
	assert_int_equal(vmp_reader_ask(&reader, now_ms), 1);
	assert_int_equal(vmp_reader_answer(&reader, now_ms)->status, -ETIMEDOUT);
	assert_int_equal(reader.begun, 0);

	/* the map did not know its device: the child meets it */
	want_file(path);
	reader.request.m.dev_major = reader.request.m.dev_minor = 0;
	assert_int_equal(ask_and_hear(), -ETIMEDOUT);
	assert_int_equal(reader.begun, 1);

	now_ms += VMP_READER_HOLD_MS;
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	for (i = 1; i <= VMP_READER_HELD + 1; i++)
		hold(reader.page, (struct vmp_device){ 77, i }, now_ms + i);
	assert_false(vmp_reader_is_held(reader.page, 77, 1));
	assert_true(vmp_reader_is_held(reader.page, 77, 2));
	assert_true(vmp_reader_is_held(reader.page, 77, VMP_READER_HELD + 1));
}

/* Children that cannot be killed: no more than there are places for them */
static void test_undead(void **state)
{
	unsigned int i;
	pid_t undead = fork();

	(void)state;
	if (!undead) {
		pause();
		_exit(0);
	}
	for (i = 0; i < VMP_READER_DYING; i++)
		reader.dying[i] = undead;
	want_file(path);
	assert_int_equal(vmp_reader_ask(&reader, now_ms), 1);
	assert_int_equal(vmp_reader_answer(&reader, now_ms)->status, -EBUSY);
	kill(undead, SIGKILL);
	assert_none_dying();
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
}

/* -------------------------------------------- FUSE that does not answer */

#define FUSE_INO	2

static void reply(int fd, uint64_t unique, const void *data, size_t len)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + len), .unique = unique };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)data, len } };

	if (writev(fd, iov, 2) < 0)
		_exit(1);
}

/* One file, found and described like any other, which nobody can open: who tries is told of to @opens, and waits */
static void serve_fuse(int fd, int opens)
{
	static char in[1 << 20];
	const struct fuse_in_header *h = (const struct fuse_in_header *)in;
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = 3600 };
	struct fuse_entry_out entry = { .nodeid = FUSE_INO, .entry_valid = 3600, .attr_valid = 3600 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);	/* whoever waits for us is let go when a test fails */
	entry.attr = (struct fuse_attr){ .ino = FUSE_INO, .size = 10, .mode = S_IFREG | 0444, .nlink = 1 };
	while (read(fd, in, sizeof(in)) > 0) {
		attr.attr = entry.attr;
		if (h->nodeid == FUSE_ROOT_ID)
			attr.attr = (struct fuse_attr){ .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
		if (h->opcode == FUSE_INIT)
			reply(fd, h->unique, &init, sizeof(init));
		else if (h->opcode == FUSE_LOOKUP)
			reply(fd, h->unique, &entry, sizeof(entry));
		else if (h->opcode == FUSE_GETATTR)
			reply(fd, h->unique, &attr, sizeof(attr));
		else if (h->opcode == FUSE_OPEN && write(opens, "o", 1) < 0)
			_exit(1);
	}
	_exit(0);
}

/* Return: the server, or -1: no FUSE here */
static pid_t mount_fuse(const char *where, int opens)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];
	pid_t pid;

	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (fd < 0 || mount("vmprof", where, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(fd);
		return -1;
	}
	pid = fork();
	if (!pid)
		serve_fuse(fd, opens);
	close(fd);
	return pid;
}

static void test_fuse(void **state)
{
	char mounted[64], file[80];
	struct stat st;
	pid_t server;
	int opens[2];
	char c;

	(void)state;
	snprintf(mounted, sizeof(mounted), "%s/mounted", dir);
	snprintf(file, sizeof(file), "%s/program", mounted);
	assert_int_equal(mkdir(mounted, 0700), 0);
	assert_int_equal(pipe(opens), 0);
	server = mount_fuse(mounted, opens[1]);
	close(opens[1]);
	if (server < 0) {
		close(opens[0]);
		rmdir(mounted);
		skip();			/* it takes root's rights and /dev/fuse */
	}
	assert_int_equal(stat(file, &st), 0);
	want(VMP_READ_FILE, file, st.st_dev, st.st_ino);
	assert_int_equal(vmp_reader_ask(&reader, now_ms), 0);
	wait_for_touch(minor(st.st_dev));
	assert_int_equal(read(opens[0], &c, 1), 1);	/* the server has its request: nothing ends that but an answer */
	assert_null(answer(100));
	now_ms += VMP_READER_PATIENCE_MS;
	assert_int_equal(vmp_reader_answer(&reader, now_ms)->status, -ETIMEDOUT);
	assert_true(vmp_reader_is_held(reader.page, major(st.st_dev), minor(st.st_dev)));

	/* it sleeps in the kernel until the request is answered: all else goes on without it */
	usleep(50000);
	vmp_reader_reap(&reader);
	assert_int_equal(!!reader.dying[0] + !!reader.dying[1], 1);
	want_file(path);
	assert_int_equal(ask_and_hear(), 0);
	want(VMP_READ_FILE, file, st.st_dev, st.st_ino);
	assert_int_equal(vmp_reader_ask(&reader, now_ms), 1);
	assert_int_equal(vmp_reader_answer(&reader, now_ms)->status, -ETIMEDOUT);

	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	close(opens[0]);
	assert_none_dying();
	umount2(mounted, MNT_DETACH);
	rmdir(mounted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holds_nothing_of_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_child_dies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold_grows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_undead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fuse, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
