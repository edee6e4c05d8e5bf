// SPDX-License-Identifier: GPL-2.0-only
/* test_agent_files.c - the agent's table of mapped files, and how it opens them, on real files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>

#include "tiny_elf.h"

#include "guest-agent/daemon/vdso.c"
#include "guest-agent/daemon/mapped.c"
#include "guest-agent/daemon/jitdump.c"
#include "guest-agent/daemon/lines.c"
#include "guest-agent/daemon/jitfile.c"
#include "guest-agent/daemon/worker.c"
#include "guest-agent/daemon/files.c"

int vmp_reader_is_held(const struct vmp_reader_page *page, uint32_t major, uint32_t minor)
{
	(void)page, (void)major, (void)minor;
	return 0;
}

static struct vmp_worker worker;
static struct vmp_read_request request;
static struct vmp_read_answer answer;

/* A map goes to the host, and the file is looked at as the child does it.  Return: how many were */
static int note_as(struct vmp_files *files, const struct vmp_msg_map *map, enum vmp_files_heard heard, uint64_t now_ms)
{
	int looks = 0;

	vmp_files_note(files, map, heard, now_ms);
	while (vmp_files_ask(files, now_ms, &request)) {
		vmp_worker_do(&worker, &request, &answer);
		vmp_files_answer(files, request.number, &answer, now_ms);
		looks++;
	}
	return looks;
}

static int note(struct vmp_files *files, const struct vmp_msg_map *map, uint64_t now_ms)
{
	return note_as(files, map, VMP_FILES_UNSURE, now_ms);
}

/* Return: 0, or why no byte of it can be had */
static int read_byte(struct vmp_files *files, uint32_t handle)
{
	const struct vmp_file *f = vmp_files_get(files, handle);

	vmp_files_object(f, handle, &request);
	request.offset = 0;
	request.len = 1;
	vmp_worker_do(&worker, &request, &answer);
	return answer.status ? answer.status : (int)answer.len - 1;
}

static char dir[] = "/tmp/vmprof-files-XXXXXX";
static char path[64], other[64];

static void write_bytes(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

static void write_elf(const char *name, uint8_t id)
{
	const struct tiny_elf elf = tiny_elf(id);

	write_bytes(name, &elf, sizeof(elf));
}

static int setup(void **state)
{
	struct vmp_files *files = malloc(sizeof(*files));

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_file(path, "some bytes");
	vmp_files_init(files);
	vmp_worker_init(&worker);
	*state = files;
	return 0;
}

static int teardown(void **state)
{
	vmp_files_clear(*state);
	vmp_worker_clear(&worker);
	free(*state);
	unlink(path);
	unlink(other);
	rmdir(dir);
	return 0;
}

/* A map of the file, by a process that is gone */
static struct vmp_msg_map map_of(const char *name)
{
	struct vmp_msg_map m = { .start = 0x1000, .end = 0x2000, .tgid = 0x7fffffff,
				 .path = { name, (uint32_t)strlen(name) } };
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	m.ino = st.st_ino;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	return m;
}

/* The flags of the one FILE that must wait now */
static uint32_t take_file(struct vmp_files *files, uint32_t handle)
{
	struct vmprof_file msg;

	assert_non_null(vmp_files_unsent(files, &msg));
	assert_int_equal(le32toh(msg.file), handle);
	vmp_files_sent(files);
	assert_null(vmp_files_unsent(files, &msg));
	return le32toh(msg.flags);
}

static void test_once(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	struct vmprof_file msg;

	note(files, &m, 0);
	assert_non_null(vmp_files_unsent(files, &msg));
	assert_int_equal(le64toh(msg.bytes), 10);
	assert_int_equal(le64toh(msg.ino), m.ino);
	assert_int_equal(le32toh(msg.path_len), strlen(path));
	assert_int_equal(take_file(files, 1), 0);

	m.start += 0x10000;
	m.end += 0x10000;
	note(files, &m, VMP_FILES_CHECK_MS - 1);
	note(files, &m, 5 * VMP_FILES_CHECK_MS);
	assert_null(vmp_files_unsent(files, &msg));
	assert_int_equal(vmp_files_get(files, 1)->start, m.start);
}

/* Who is told that a file is as it was does not look; who is told that it was written does, at once */
static void test_heard(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	uint64_t now_ms = 0;

	assert_int_equal(note_as(files, &m, VMP_FILES_FRESH, now_ms), 1);
	assert_int_equal(take_file(files, 1), 0);
	for (; now_ms < 10 * VMP_FILES_CHECK_MS; now_ms += VMP_FILES_CHECK_MS / 2)
		assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms), 0);
	assert_int_equal(note_as(files, &m, VMP_FILES_FRESH, now_ms), 1);
	assert_int_equal(note_as(files, &m, VMP_FILES_FRESH, now_ms), 1);
	/* where nobody said anything meanwhile it is looked at, later */
	assert_int_equal(note_as(files, &m, VMP_FILES_UNSURE, ++now_ms), 0);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms + VMP_FILES_CHECK_MS - 2), 0);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms += VMP_FILES_CHECK_MS), 1);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms += 2 * VMP_FILES_CHECK_MS), 0);
	/* and where it was written while it waited to be looked at */
	vmp_files_note(files, &m, VMP_FILES_FRESH, now_ms);
	assert_true(vmp_files_ask(files, now_ms, &request));
	vmp_worker_do(&worker, &request, &answer);
	vmp_files_note(files, &m, VMP_FILES_FRESH, now_ms);
	vmp_files_answer(files, request.number, &answer, now_ms);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms), 0);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms += VMP_FILES_CHECK_MS), 1);
	/* one that cannot be opened may be later */
	rename(path, other);
	m.ino++;
	note_as(files, &m, VMP_FILES_FRESH, now_ms);
	assert_int_equal(note_as(files, &m, VMP_FILES_TOLD, now_ms += VMP_FILES_CHECK_MS), 1);
	rename(other, path);
}

/* Written since: a new handle, and the old one no longer gives its bytes */
static void test_rewritten(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	struct tiny_elf elf[2] = { tiny_elf(1), tiny_elf(1) };

	write_elf(path, 1);
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), 0);
	assert_int_equal(read_byte(files, 1), 0);

	assert_int_equal(vmp_files_get(files, 1)->since_tsc, 0);
	write_bytes(path, elf, sizeof(elf));
	m.tsc = 7000;
	note(files, &m, VMP_FILES_CHECK_MS);
	assert_int_equal(vmp_files_get(files, 2)->since_tsc, 7000);
	assert_int_equal(take_file(files, 2), 0);
	vmp_worker_clear(&worker);
	assert_int_equal(read_byte(files, 1), -ESTALE);
	assert_int_equal(read_byte(files, 2), 0);
}

/* Another file lies at the path: nothing of it is told */
static void test_replaced(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);

	write_file(other, "an impostor");
	assert_int_equal(rename(other, path), 0);
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED);
	assert_int_equal(vmp_files_get(files, 1)->bytes, 0);
	assert_int_equal(read_byte(files, 1), -ESTALE);
}

/* Whoever made the map chose the inode's number, on a file system that has no device: the file at the path is another one */
static void test_other_device(void **state)
{
	static const uint32_t devices[][2] = { { 0, 0xfffff }, { 1, 0xfffff } };
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	uint32_t i;

	write_elf(path, 1);
	for (i = 0; i < 2; i++) {
		m.dev_major = devices[i][0];
		m.dev_minor = devices[i][1];
		note(files, &m, 0);
		assert_int_equal(take_file(files, i + 1), VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED);
		assert_int_equal(read_byte(files, i + 1), -ESTALE);
	}
}

/* Maps have the device of an overlay or of what lies below it, as the kernel is; stat() may have a third one */
static void test_overlay(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m;
	char cmd[256], options[256], merged[96];
	int ret;

	snprintf(cmd, sizeof(cmd), "cd %s && mkdir low up work merged && mv lib.so low && ln low/lib.so lib.so", dir);
	assert_int_equal(system(cmd), 0);
	write_elf(path, 1);
	snprintf(options, sizeof(options), "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work", dir, dir, dir);
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	ret = mount("overlay", merged, "overlay", 0, options);
	if (!ret) {
		strcat(merged, "/lib.so");
		m = map_of(merged);
		note(files, &m, 0);
		m.dev_minor ^= 0xfffff;
		note(files, &m, 0);
		m = map_of(path);
		m.path = (struct vmp_span){ merged, (uint32_t)strlen(merged) };
		note(files, &m, 0);
		m.ino ^= 1;
		note(files, &m, 0);
		*strrchr(merged, '/') = 0;
		umount(merged);
	}
	snprintf(cmd, sizeof(cmd), "cd %s && rm -r low up work merged", dir);
	assert_int_equal(system(cmd), 0);
	if (ret)
		skip();			/* it takes root's rights */
	assert_int_equal(files->nr, 4);
	assert_int_equal(vmp_files_get(files, 1)->flags, 0);
	assert_int_equal(vmp_files_get(files, 2)->flags, 0);
	assert_int_equal(vmp_files_get(files, 3)->flags, 0);
	assert_int_equal(vmp_files_get(files, 4)->flags, VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED);
}

/* Nothing but programs and libraries is handed over, whatever is mapped */
static void test_no_program(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);

	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), 0);
	assert_int_equal(read_byte(files, 1), -ENOEXEC);
	assert_int_equal(answer.len, 0);
}

/* Another one took its place, as old and as long, and of the same inode number */
static void test_other_build(void **state)
{
	struct vmp_files *files = *state;
	struct tiny_elf nameless = tiny_elf(1);
	struct vmp_msg_map m = map_of(path);
	struct timespec times[2];
	struct stat st;

	write_elf(path, 1);
	assert_int_equal(stat(path, &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), 0);
	write_elf(path, 2);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(read_byte(files, 1), -ENOEXEC);
	nameless.nh.n_type++;
	write_bytes(path, &nameless, sizeof(nameless));
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(read_byte(files, 1), -ENOEXEC);
	write_elf(path, 1);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(read_byte(files, 1), 0);

	/* one that has none is what it is */
	write_bytes(path, &nameless, sizeof(nameless));
	note(files, &m, VMP_FILES_CHECK_MS);
	assert_int_equal(take_file(files, 2), 0);
	vmp_worker_clear(&worker);
	assert_int_equal(read_byte(files, 2), 0);
}

/* A FIFO at the path, with the map's own inode number: must neither hang nor open */
static void test_fifo(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m;

	assert_int_equal(mkfifo(other, 0600), 0);
	m = map_of(other);
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), VMPROF_FILE_NO_ACCESS);
}

static void test_gone_and_back(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path), moved = m;

	assert_int_equal(rename(path, other), 0);
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), VMPROF_FILE_NO_ACCESS);
	moved.path = (struct vmp_span){ other, (uint32_t)strlen(other) };
	note(files, &moved, VMP_FILES_CHECK_MS);
	assert_int_equal(take_file(files, 2), 0);

	/* what is known stays known when it cannot be looked at any more */
	unlink(other);
	note(files, &moved, 3 * VMP_FILES_CHECK_MS);
	assert_int_equal(files->nr, 2);
	assert_int_equal(vmp_files_get(files, 2)->flags, 0);
}

/* Paths that are none, or lead out: nothing is opened, nothing breaks */
static void test_paths(void **state)
{
	static const char *const names[] = { "", "relative", "[heap]", "/", "/dev/zero",
					     "/proc/self/exe", "/../../etc", "//\001\377" };
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		m.ino += 1000;
		m.path = (struct vmp_span){ names[i], (uint32_t)strlen(names[i]) };
		note(files, &m, 0);
		assert_true(take_file(files, i + 1) & VMPROF_FILE_NO_ACCESS);
	}
	m.flags = VMPROF_MAP_ANON;
	m.ino += 1000;
	note(files, &m, 0);
	assert_int_equal(files->nr, i);
}

/* Mapped from @path, where another file, or none, lies soon.  @m: that mapping */
static void *map_own(struct vmp_msg_map *m)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	close(fd);
	assert_ptr_not_equal(p, MAP_FAILED);
	*m = map_of(path);
	m->tgid = (uint32_t)getpid();
	m->start = (uint64_t)(uintptr_t)p;
	m->end = m->start + 4096;
	return p;
}

/* Whom the kernel lets, by the mapping itself */
static int may_follow(const struct vmp_msg_map *m)
{
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/map_files/%llx-%llx", (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The mapping itself is found where the file has no name any more */
static void test_deleted(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m;
	void *p = map_own(&m);
	int may = may_follow(&m);
	uint32_t flags;

	unlink(path);
	note(files, &m, 0);
	flags = take_file(files, 1);
	munmap(p, 4096);
	if (!geteuid())
		assert_true(may);
	assert_int_equal(flags, may ? VMPROF_FILE_FLEETING : VMPROF_FILE_NO_ACCESS);
	assert_int_equal(vmp_files_get(files, 1)->bytes, may ? 10 : 0);
}

/* ... or where another one has it, whether that lies on the same file system or not */
static void test_fleeting(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m;
	void *p = map_own(&m);
	int may = may_follow(&m);

	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), 0);
	write_file(other, "an impostor");
	assert_int_equal(rename(other, path), 0);
	m.ino_generation++;			/* it is met anew */
	note(files, &m, 0);
	assert_int_equal(take_file(files, 2), may ? VMPROF_FILE_FLEETING : VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED);
	munmap(p, 4096);
}

static void test_vdso(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = { .start = 0x1000, .end = 0x3000, .flags = VMPROF_MAP_VDSO,
				 .path = { "[vdso]", 6 } };

	if (!vmp_vdso_bytes())
		skip();
	note(files, &m, 0);
	assert_int_equal(take_file(files, 1), 0);
	assert_int_equal(vmp_files_get(files, 1)->bytes, vmp_vdso_bytes());
	assert_true(vmp_files_get(files, 1)->id.len > 0);
	m.ino_generation = 1;		/* that of 32-bit processes, which we do not have */
	note(files, &m, 0);
	assert_int_equal(take_file(files, 2), VMPROF_FILE_NO_ACCESS);
}

/* What waits is told in its order, once it was looked at; what there is no time for, without */
static void test_waiting(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path), n = m;
	struct vmprof_file msg;

	n.ino++;
	vmp_files_note(files, &m, VMP_FILES_UNSURE, 0);
	vmp_files_note(files, &n, VMP_FILES_UNSURE, 0);
	vmp_files_note(files, &m, VMP_FILES_UNSURE, 2 * VMP_FILES_CHECK_MS);	/* it waits already */
	assert_null(vmp_files_unsent(files, &msg));
	assert_true(vmp_files_ask(files, 0, &request));
	assert_int_equal(request.number, 1);
	assert_true(vmp_files_ask(files, 0, &request));
	assert_int_equal(request.number, 2);
	assert_false(vmp_files_ask(files, 0, &request));
	vmp_worker_do(&worker, &request, &answer);
	vmp_files_answer(files, 2, &answer, 0);
	assert_null(vmp_files_unsent(files, &msg));

	assert_int_equal(vmp_files_give_up(files), 1);
	assert_non_null(vmp_files_unsent(files, &msg));
	assert_int_equal(le32toh(msg.flags), VMPROF_FILE_NO_ACCESS);
	vmp_files_sent(files);
	assert_int_equal(take_file(files, 2), VMPROF_FILE_NO_ACCESS | VMPROF_FILE_CHANGED);
}

/* The next that waits is looked at with this result.  Return: its handle, 0 none is due */
static uint32_t look(struct vmp_files *files, int32_t status, uint64_t now_ms)
{
	if (!vmp_files_ask(files, now_ms, &request))
		return 0;
	answer = (struct vmp_read_answer){ .status = status, .bytes = 10 };
	vmp_files_answer(files, request.number, &answer, now_ms);
	return request.number;
}

/* What may be looked at later is, and others do not wait for that; at last it is told without */
static void test_late(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path), n = m;
	struct vmprof_file msg;
	uint64_t now_ms = 50000, since_ms = now_ms;

	n.ino++;
	vmp_files_note(files, &m, VMP_FILES_FRESH, now_ms);
	assert_int_equal(look(files, -ETIMEDOUT, now_ms), 1);
	assert_int_equal(look(files, 0, now_ms + VMP_READ_LATE_MS - 1), 0);
	vmp_files_note(files, &n, VMP_FILES_FRESH, now_ms);
	vmp_files_note(files, &m, VMP_FILES_FRESH, now_ms += VMP_FILES_CHECK_MS - 1);
	assert_int_equal(look(files, -EBUSY, now_ms), 2);
	assert_null(vmp_files_unsent(files, &msg));
	assert_int_equal(look(files, 0, ++now_ms), 1);
	assert_int_equal(take_file(files, 1), 0);
	while (now_ms - since_ms < VMP_FILES_PATIENCE_MS) {
		assert_null(vmp_files_unsent(files, &msg));
		assert_int_equal(look(files, -EIO, now_ms), 0);
		assert_int_equal(look(files, -EIO, now_ms += VMP_READ_LATE_MS), 2);
	}
	assert_int_equal(look(files, -EIO, now_ms + VMP_READ_LATE_MS), 2);
	assert_int_equal(take_file(files, 2), VMPROF_FILE_NO_ACCESS);
	assert_int_equal(look(files, 0, now_ms + 10 * VMP_FILES_PATIENCE_MS), 0);

	/* at the end of a session, and at the beginning of the next */
	vmp_files_note(files, &n, VMP_FILES_FRESH, now_ms);
	assert_int_equal(look(files, -ETIMEDOUT, now_ms), 2);
	assert_int_equal(vmp_files_give_up(files), 0);
	assert_int_equal(look(files, 0, now_ms + VMP_READ_LATE_MS), 0);
	vmp_files_note(files, &n, VMP_FILES_FRESH, now_ms += VMP_READ_LATE_MS);
	assert_int_equal(look(files, 0, now_ms), 2);
	assert_int_equal(take_file(files, 3), 0);
}

static void test_full(void **state)
{
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path);
	uint32_t i;

	m.path = (struct vmp_span){ "x", 1 };
	for (i = 0; i < VMP_FILES_MAX + 3; i++) {
		m.ino++;
		vmp_files_note(files, &m, VMP_FILES_UNSURE, 0);
	}
	assert_int_equal(files->nr, VMP_FILES_MAX);
	assert_int_equal(files->overflow, 3);
	assert_null(vmp_files_get(files, 0));
	assert_null(vmp_files_get(files, VMP_FILES_MAX + 1));
	assert_int_equal(files->path_bytes, 2 * VMP_FILES_MAX);
}

/* Paths as long as they can be: their bytes are bounded, too, and what finds no room is counted */
static void test_full_of_paths(void **state)
{
	static char longest[VMPROF_PATH_BYTES_MAX];
	struct vmp_files *files = *state;
	struct vmp_msg_map m = map_of(path), known = m;
	uint64_t now_ms = 0;
	size_t sum = 0;
	uint32_t i, full;

	memset(longest, 'x', sizeof(longest) - 1);
	note(files, &m, now_ms);
	m.path = (struct vmp_span){ longest, sizeof(longest) - 1 };
	for (i = 0; i < VMP_FILES_MAX; i++) {
		m.ino++;
		vmp_files_note(files, &m, VMP_FILES_UNSURE, now_ms);
	}
	full = files->nr;
	assert_int_equal(full, 1 + (VMP_FILES_PATHS_BYTES - (strlen(path) + 1)) / sizeof(longest));
	assert_in_range(files->path_bytes, VMP_FILES_PATHS_BYTES - sizeof(longest), VMP_FILES_PATHS_BYTES);
	assert_int_equal(files->overflow, VMP_FILES_MAX - (full - 1));
	while (vmp_files_ask(files, now_ms, &request))
		vmp_files_answer(files, request.number, &answer, now_ms);

	/* a known file goes on being looked at, by the way that was known, while there is no room for another one */
	write_file(path, "other bytes");
	known.path = (struct vmp_span){ longest, sizeof(longest) - 1 };
	assert_int_equal(note(files, &known, now_ms += VMP_FILES_CHECK_MS), 1);
	assert_string_equal(files->file[0].path, path);
	/* ... and with a shorter one there is */
	known.path = (struct vmp_span){ other, (uint32_t)strlen(other) };
	rename(path, other);
	write_file(other, "and others again");
	assert_int_equal(note(files, &known, now_ms += VMP_FILES_CHECK_MS), 1);
	assert_int_equal(files->nr, full + 2);
	assert_string_equal(vmp_files_get(files, full + 2)->path, other);
	for (i = 0; i < files->nr; i++)
		sum += strlen(files->file[i].path) + 1;
	assert_int_equal(files->path_bytes, sum);
	vmp_files_clear(files);
	assert_int_equal(files->path_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rewritten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overlay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_build, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fleeting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waiting, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_of_paths, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
