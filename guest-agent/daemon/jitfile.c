// SPDX-License-Identifier: GPL-2.0-only
/* jitfile.c - the file in which one program tells of code that it makes: found, and read. */
#include "jitfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "jitdump.h"
#include "lines.h"

#define CLOCK_SLACK_NS	1000000000ULL	/* file systems and /proc round times */

void vmp_jit_file_init(struct vmp_jit_file *f)
{
	f->root = f->map = -1;
}

void vmp_jit_file_close(struct vmp_jit_file *f)
{
	if (f->root >= 0)
		close(f->root);
	if (f->map >= 0)
		close(f->map);
	vmp_jit_file_init(f);
}

/* --------------------------------------------------- whose the map must be */

/* /proc/PID/status: the user, and the PID in the innermost of its namespaces.  Return: 1, or 0 */
static int parse_status(struct vmp_jit_file *f, const char *text)
{
	const char *user = strstr(text, "\nUid:\t"), *pids = strstr(text, "\nNSpid:\t"), *end;

	if (!user || !pids || sscanf(user, "\nUid:\t%*u\t%" SCNu32, &f->uid) != 1)
		return 0;
	end = strchr(pids + 1, '\n');
	while (end && end > pids && end[-1] != '\t')
		end--;
	return end && sscanf(end, "%" SCNu32, &f->own_pid) == 1;
}

/* What of it is asked for lies behind all groups of the process, of which there may be many.  Return: 0 or -errno */
static int learn_status(struct vmp_jit_file *f)
{
	static const char *const wanted[] = { "Uid:\t", "NSpid:\t", NULL };
	char path[48], text[1024];
	int err;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", f->tgid);
	err = vmp_lines_of(path, wanted, text, sizeof(text));
	return err ? err : parse_status(f, text) ? 0 : -EBADMSG;
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* /proc/PID/stat: when the process began, in ticks since boot.  Return: 1, or 0 */
static int parse_stat(struct vmp_jit_file *f, const char *text)
{
	const char *rest = strrchr(text, ')');
	uint64_t ticks, hz = (uint64_t)sysconf(_SC_CLK_TCK);

	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
				      " %*d %*d %*d %*d %" SCNu64, &ticks) != 1)
		return 0;
	f->began_ns = vmp_realtime_ns() - ns_of(CLOCK_BOOTTIME) + ticks * (1000000000u / hz);
	return 1;
}

/* One line, which may begin with any name.  Return: 0 or -errno */
static int learn_start(struct vmp_jit_file *f)
{
	static const char *const wanted[] = { "", NULL };
	char path[48], text[2048];
	int err;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", f->tgid);
	err = vmp_lines_of(path, wanted, text, sizeof(text));
	return err ? err : parse_stat(f, text) ? 0 : -EBADMSG;
}

static int is_its_own(struct vmp_jit_file *f, int ended, const struct stat *st)
{
	uint64_t written_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;

	/* it may have become another user since */
	if (!ended)
		learn_status(f);
	return st->st_uid == f->uid && written_ns + CLOCK_SLACK_NS >= f->began_ns;
}

/* Now, while the process lives; it may be gone when its map is looked for. */
int vmp_jit_file_meet(struct vmp_jit_file *f, uint32_t tgid)
{
	int err;

	f->dump = 0;
	f->tgid = tgid;
	err = learn_status(f);
	if (!err)
		err = learn_start(f);
	if (err)
		return err;
	f->root = vmp_mapped_root(f->tgid);
	return f->root < 0 ? f->root : 0;
}

/* -------------------------------------------------------------- its text */

static int open_map(struct vmp_jit_file *f, int ended)
{
	struct stat st;
	char path[48];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", f->own_pid);
	fd = vmp_mapped_open_below(f->root, path, &st);
	if (fd < 0)
		return fd;
	if (!is_its_own(f, ended, &st)) {
		close(fd);
		return -EPERM;
	}
	close(f->root);
	f->root = -1;
	f->map = fd;
	return 0;
}

/*
 * Read on in /tmp/perf-PID.map.  The byte before is read again: where no line
 * ends there any more the map was written anew, and is read from its beginning.
 * Return: bytes of whole lines in @text, 0 none there, -EAGAIN, -EFBIG (a line that does
 * not fit @room), -errno
 */
static ssize_t read_lines(int fd, uint64_t *offset, char *text, size_t room)
{
	char before = '\n', *end;
	ssize_t n;

	if (*offset) {
		n = pread(fd, &before, 1, (off_t)*offset - 1);
		if (n < 0)
			return -errno;
		if (!n || before != '\n') {
			*offset = 0;
			return -EAGAIN;
		}
	}
	n = pread(fd, text, room, (off_t)*offset);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	end = memrchr(text, '\n', (size_t)n);
	if (!end)
		return (size_t)n < room ? 0 : -EFBIG;
	*offset += (uint64_t)(end + 1 - text);
	return end + 1 - text;
}

static ssize_t read_dump(int fd, uint64_t *offset, char *text, size_t room)
{
	return room < VMP_JITDUMP_LINE_MAX ? -EFBIG : vmp_jitdump_lines(fd, offset, text, room);
}

int vmp_jit_file_open_dump(struct vmp_jit_file *f, const struct vmp_mapped *m)
{
	struct stat st;

	f->dump = 1;
	f->map = vmp_mapped_open(m, &st);
	return f->map < 0 ? f->map : 0;
}

ssize_t vmp_jit_file_read(struct vmp_jit_file *f, int ended, uint64_t *offset, char *text, size_t room)
{
	int ret = 0;

	if (f->map < 0)
		ret = open_map(f, ended);
	if (f->map < 0)
		return ret == -ETIMEDOUT ? ret : 0;
	ret = vmp_mapped_may_touch(f->map);
	if (ret)
		return ret;
	return f->dump ? read_dump(f->map, offset, text, room) : read_lines(f->map, offset, text, room);
}
