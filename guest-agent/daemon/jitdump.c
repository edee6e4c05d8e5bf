// SPDX-License-Identifier: GPL-2.0-only
/* jitdump.c - functions of a jitdump file as lines of text; every byte of it is foreign. */
#include "jitdump.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC		0x4a695444U
#define VERSION		1
#define CODE_LOAD	0
#define CODE_MOVE	1
#define LOADS		16384U		/* functions of all files of which we know where they were loaded */
#define RECORDS_AT_ONCE	1024		/* of other kinds, before others have their turn */

/* In wire order */
struct file_head {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t timestamp, flags;
};

struct record_head {
	uint32_t type, bytes;
	uint64_t timestamp;
};

/* What follows the head in a CODE_LOAD: this, the name with its NUL, the code */
struct code_load {
	uint32_t pid, tid;
	uint64_t vma, address, bytes, index;
};

struct code_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, bytes, index;
};

struct record {
	struct record_head head;
	struct code_load load;
	char name[VMP_JITDUMP_NAME_MAX];
};

/* Where the record of a function's loading lies; a newer one takes the place of an older one.
   A hint: the record itself is asked. */
static struct {
	uint64_t index, offset;
	int fd;
} loads[LOADS];

int vmp_jitdump_is(const char *path, size_t len)
{
	static const char begin[] = "jit-", end[] = ".dump";
	const char *slash = memrchr(path, '/', len), *name = slash ? slash + 1 : path;
	size_t n = len - (size_t)(name - path);

	return n >= sizeof(begin) + sizeof(end) - 2 && !memcmp(name, begin, sizeof(begin) - 1) &&
	       !memcmp(path + len - (sizeof(end) - 1), end, sizeof(end) - 1);
}

static int read_file_head(int fd, uint64_t *offset)
{
	struct file_head h;
	ssize_t n = pread(fd, &h, sizeof(h), 0);

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(h))
		return 0;
	if (le32toh(h.magic) != MAGIC || le32toh(h.version) != VERSION || le32toh(h.bytes) < sizeof(h))
		return -EBADMSG;
	*offset = le32toh(h.bytes);
	return 1;
}

/* The record at @offset, if it is whole.  Return: bytes read of it, 0 none, -errno */
static ssize_t read_record(int fd, uint64_t offset, uint64_t end, struct record *r)
{
	ssize_t n = pread(fd, r, sizeof(*r), (off_t)offset);
	uint32_t bytes;

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(r->head))
		return 0;
	bytes = le32toh(r->head.bytes);
	if (bytes < sizeof(r->head))
		return -EBADMSG;
	if (bytes > end - offset)
		return 0;
	return n < bytes ? n : (ssize_t)bytes;
}

/* A line for @bytes at @address by the name in a load's record, of which @len bytes were read */
static size_t put_line(char *text, struct record *r, size_t len, uint64_t address, uint64_t bytes)
{
	char *p;

	if (len <= offsetof(struct record, name) || !bytes || bytes > UINT64_MAX - address)
		return 0;
	r->name[len - offsetof(struct record, name) - 1] = 0;
	for (p = r->name; *p; p++)
		if (*p == '\n')
			*p = ' ';
	if (!r->name[0])
		return 0;
	return (size_t)sprintf(text, "%" PRIx64 " %" PRIx64 " %s\n", address, bytes, r->name);
}

static unsigned int place_of(int fd, uint64_t index)
{
	return (unsigned int)(((index + 1) * 0x9e3779b97f4a7c15ULL ^ (uint64_t)(unsigned int)fd << 40) >> 40) % LOADS;
}

static void note_load(int fd, uint64_t offset, const struct record *r)
{
	uint64_t index = le64toh(r->load.index);
	unsigned int i = place_of(fd, index);

	loads[i].index = index;
	loads[i].offset = offset;
	loads[i].fd = fd;
}

/* Another file has this number now, or the file begins anew. */
static void forget_loads(int fd)
{
	unsigned int i;

	for (i = 0; i < LOADS; i++)
		if (loads[i].fd == fd)
			loads[i].offset = 0;
}

/* Code that was moved keeps the name that it was loaded with, as long as we know where that stands. */
static size_t moved(int fd, uint64_t offset, const struct code_move *m, char *text)
{
	unsigned int i = place_of(fd, le64toh(m->index));
	struct record r;
	ssize_t n;

	if (loads[i].fd != fd || !loads[i].offset || loads[i].index != le64toh(m->index) ||
	    loads[i].offset >= offset)
		return 0;
	n = read_record(fd, loads[i].offset, offset, &r);
	if (n <= 0 || le32toh(r.head.type) != CODE_LOAD || r.load.index != m->index)
		return 0;
	return put_line(text, &r, (size_t)n, le64toh(m->to), le64toh(m->bytes));
}

/* The line of the record at @offset, of which @len bytes were read; 0 where it names nothing */
static size_t line_of(int fd, uint64_t offset, char *text, struct record *r, size_t len)
{
	struct code_move move;

	if (le32toh(r->head.type) == CODE_MOVE && len >= sizeof(r->head) + sizeof(move)) {
		memcpy(&move, (const uint8_t *)r + sizeof(r->head), sizeof(move));
		return moved(fd, offset, &move, text);
	}
	if (le32toh(r->head.type) != CODE_LOAD || len <= offsetof(struct record, name))
		return 0;
	note_load(fd, offset, r);
	return put_line(text, r, len, le64toh(r->load.address), le64toh(r->load.bytes));
}

ssize_t vmp_jitdump_lines(int fd, uint64_t *offset, char *text, size_t room)
{
	struct record r;
	struct stat st;
	size_t len = 0;
	ssize_t n;
	int i;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size < *offset)
		*offset = 0;
	if (!*offset) {
		forget_loads(fd);
		n = read_file_head(fd, offset);
		if (n <= 0)
			return n;
	}
	for (i = 0; i < RECORDS_AT_ONCE && room - len >= VMP_JITDUMP_LINE_MAX; i++) {
		if (*offset >= (uint64_t)st.st_size)
			return (ssize_t)len;
		n = read_record(fd, *offset, (uint64_t)st.st_size, &r);
		if (n <= 0)
			return len ? (ssize_t)len : n;
		len += line_of(fd, *offset, text + len, &r, (size_t)n);
		*offset += le32toh(r.head.bytes);
	}
	return len ? (ssize_t)len : -EAGAIN;
}
