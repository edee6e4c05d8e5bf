// SPDX-License-Identifier: GPL-2.0-only
/* worker.c - the child that reads files of others. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vdso.h"

#ifndef VMP_DEBUG_ROOT
#define VMP_DEBUG_ROOT	"/usr/lib/debug"
#endif
#define DEBUG_PATH_BYTES	(64 + 2 * VMPROF_BUILD_ID_MAX)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void vmp_worker_init(struct vmp_worker *w)
{
	unsigned int i;

	w->object = w->maps = -1;
	w->object_number = 0;
	w->tail = 0;
	w->maps_error = -EIO;
	for (i = 0; i < VMP_JIT_PROGRAMS; i++)
		vmp_jit_file_init(&w->jit[i]);
}

void vmp_worker_clear(struct vmp_worker *w)
{
	unsigned int i;

	close_fd(&w->object);
	close_fd(&w->maps);
	for (i = 0; i < VMP_JIT_PROGRAMS; i++)
		vmp_jit_file_close(&w->jit[i]);
	vmp_worker_init(w);
}

/* ------------------------------------------------------------------ files */

/* It lies in our own memory, not in a file. */
static int is_vdso(const struct vmp_read_request *q)
{
	return !q->m.ino && !strcmp(q->path, "[vdso]");
}

static void stat_to_answer(struct vmp_read_answer *a, const struct stat *st)
{
	a->bytes = (uint64_t)st->st_size;
	a->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static void find_id(const struct vmp_elf_source *src, struct vmp_read_answer *a)
{
	if (vmp_elf_build_id(src, &a->id))
		a->id.len = 0;
}

static int look_at_vdso(const struct vmp_read_request *q, struct vmp_read_answer *a)
{
	struct vmp_elf_source src = vmp_vdso_source();

	/* generation 0 is the one of 64-bit processes, which is ours as well */
	if (q->ino_generation || !vmp_vdso_bytes())
		return -ENOENT;
	a->bytes = vmp_vdso_bytes();
	find_id(&src, a);
	return 0;
}

static int look_at_file(const struct vmp_read_request *q, struct vmp_read_answer *a)
{
	struct vmp_elf_source src;
	struct stat st;
	int fd;

	if (is_vdso(q))
		return look_at_vdso(q, a);
	fd = vmp_mapped_open(&q->m, &st);
	if (fd < 0)
		return fd;
	stat_to_answer(a, &st);
	src = vmp_elf_fd(&fd);
	find_id(&src, a);
	close(fd);
	a->fleeting = (uint32_t)vmp_mapped_is_fleeting(&q->m);
	return 0;
}

/* ---------------------------------------------------------------- objects */

static void debug_path(char path[DEBUG_PATH_BYTES], const struct vmp_build_id *id)
{
	uint32_t i;

	path += sprintf(path, "%s/.build-id/%02x/", VMP_DEBUG_ROOT, id->bytes[0]);
	for (i = 1; i < id->len; i++)
		path += sprintf(path, "%02x", id->bytes[i]);
	strcpy(path, ".debug");
}

/* /usr/lib/debug/.build-id/XX/REST.debug */
static int open_debug(const struct vmp_read_request *q, uint64_t *bytes)
{
	char path[DEBUG_PATH_BYTES];
	struct stat st;
	int fd;

	if (q->id.len < 2)
		return -ENOENT;
	debug_path(path, &q->id);
	fd = vmp_mapped_open_beside(q->m.tgid, path, &st);
	if (fd >= 0)
		*bytes = (uint64_t)st.st_size;
	return fd;
}

/* As it was when it was looked at, or not at all */
static int open_file(const struct vmp_read_request *q, uint64_t *bytes)
{
	struct vmp_read_answer now;
	struct stat st;
	int fd = vmp_mapped_open(&q->m, &st);

	if (fd < 0)
		return fd;
	stat_to_answer(&now, &st);
	*bytes = now.bytes;
	if (now.bytes == q->bytes && now.mtime_ns == q->mtime_ns)
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * Where a path led to it, users may have put any file there, also one that they may not read.
 * Return: 0 it is a program or a library, of the build-id that is known; -ENOEXEC it is not; -errno
 */
static int check_object(const struct vmp_read_request *q, int fd)
{
	const struct vmp_elf_source src = vmp_elf_fd(&fd);
	struct vmp_build_id id;
	int err = vmp_elf_build_id(&src, &id);

	if (err == -ENOENT)
		return q->id.len ? -ENOEXEC : 0;
	if (!err && q->id.len && (id.len != q->id.len || memcmp(id.bytes, q->id.bytes, id.len)))
		err = -ENOEXEC;
	return err;
}

/* Have the object open that a request is for.  Return: 0 or -errno */
static int open_object(struct vmp_worker *w, const struct vmp_read_request *q)
{
	int ret = 0;

	if (w->object_number == q->number)
		return 0;
	close_fd(&w->object);
	w->object_number = 0;
	if (q->flags & VMP_READ_DEBUG)
		ret = w->object = open_debug(q, &w->object_bytes);
	else if (is_vdso(q))
		w->object_bytes = vmp_vdso_bytes();
	else
		ret = w->object = open_file(q, &w->object_bytes);
	if (ret >= 0 && w->object_bytes > VMPROF_OBJECT_BYTES_MAX)
		ret = -EFBIG;
	if (ret >= 0 && w->object >= 0)
		ret = check_object(q, w->object);
	if (ret < 0) {
		close_fd(&w->object);
		return ret;
	}
	w->object_number = q->number;
	return 0;
}

/* Never past the size that was told first */
static int read_object(struct vmp_worker *w, const struct vmp_read_request *q, struct vmp_read_answer *a)
{
	struct vmp_elf_source src;
	uint64_t left;
	ssize_t n;
	int ret = open_object(w, q);

	if (ret)
		return ret;
	a->bytes = w->object_bytes;
	if (q->offset > a->bytes)
		return -EINVAL;
	left = a->bytes - q->offset;
	a->len = left < q->len ? (uint32_t)left : q->len;
	ret = w->object < 0 ? 0 : vmp_mapped_may_touch(w->object);
	if (ret)
		return ret;
	src = w->object < 0 ? vmp_vdso_source() : vmp_elf_fd(&w->object);
	n = src.read(src.arg, a->data, a->len, q->offset);
	if (n < 0)
		return (int)n;
	return (size_t)n < a->len ? -ESTALE : 0;		/* it became shorter */
}

/* ------------------------------------------------------------------- maps */

static int open_maps(struct vmp_worker *w, uint32_t tgid)
{
	char path[48];

	close_fd(&w->maps);
	w->tail = 0;
	w->maps_error = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", tgid);
	w->maps = open(path, O_RDONLY | O_CLOEXEC);
	return w->maps < 0 ? -errno : 0;
}

/*
 * Fill the answer up; what follows the last whole line is kept for the next one.  What ends the list before
 * its end is told when all before it was.
 */
static int read_maps(struct vmp_worker *w, const struct vmp_read_request *q, struct vmp_read_answer *a)
{
	int ret = q->offset ? 0 : open_maps(w, q->m.tgid);
	size_t len = w->tail;
	char *text = (char *)a->data, *end;
	ssize_t n = 1;

	if (ret || w->maps < 0)
		return ret ? ret : w->maps_error;
	memcpy(text, w->tail_text, len);
	while (n > 0 && VMP_READ_DATA - len >= VMP_WORKER_LINE_MAX) {
		n = read(w->maps, text + len, VMP_READ_DATA - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		w->maps_error = -errno;
	end = memrchr(text, '\n', len);
	a->len = end ? (uint32_t)(end + 1 - text) : 0;
	w->tail = len - a->len;
	if (n > 0 && w->tail > sizeof(w->tail_text))
		w->maps_error = -EMSGSIZE;
	if (n <= 0 || w->maps_error) {
		close_fd(&w->maps);
		w->tail = 0;
	}
	memcpy(w->tail_text, text + a->len, w->tail);
	a->offset = w->maps >= 0 || w->maps_error;	/* there is more */
	return 0;
}

/* -------------------------------------------------------------------- all */

static int jit_request(struct vmp_worker *w, const struct vmp_read_request *q, struct vmp_read_answer *a)
{
	struct vmp_jit_file *f = &w->jit[q->number % VMP_JIT_PROGRAMS];
	ssize_t n = 0;

	if (q->what == VMP_READ_JIT_END) {
		vmp_jit_file_close(f);
		return 0;
	}
	if (q->what == VMP_READ_JIT_BEGIN) {
		vmp_jit_file_close(f);
		return q->flags & VMP_READ_DUMP ? vmp_jit_file_open_dump(f, &q->m) :
						  vmp_jit_file_meet(f, q->m.tgid);
	}
	a->offset = q->offset;
	n = vmp_jit_file_read(f, !!(q->flags & VMP_READ_ENDED), &a->offset, (char *)a->data, q->len);
	a->len = n > 0 ? (uint32_t)n : 0;
	return n < 0 ? (int)n : 0;
}

void vmp_worker_do(struct vmp_worker *w, struct vmp_read_request *q, struct vmp_read_answer *a)
{
	memset(a, 0, offsetof(struct vmp_read_answer, data));
	q->m.path = q->path;
	if (q->len > VMP_READ_DATA)
		q->len = VMP_READ_DATA;
	switch (q->what) {
	case VMP_READ_FILE:
		a->status = look_at_file(q, a);
		break;
	case VMP_READ_OBJECT:
		a->status = read_object(w, q, a);
		break;
	case VMP_READ_MAPS:
		a->status = read_maps(w, q, a);
		break;
	default:
		a->status = jit_request(w, q, a);
		break;
	}
	if (a->status)
		a->len = 0;
}

/* What is touched now, for the daemon to see when we do not come back */
static struct vmp_reader_page *seen;

static int guard(uint32_t major, uint32_t minor)
{
	if (vmp_reader_is_held(seen, major, minor))
		return -ETIMEDOUT;
	seen->touched = (struct vmp_device){ major, minor };
	return 0;
}

void vmp_worker_serve(int fd, struct vmp_reader_page *page)
{
	static struct vmp_read_request request;
	static struct vmp_read_answer answer;
	static struct vmp_worker w;
	size_t len;

	seen = page;
	vmp_mapped_guard = guard;
	vmp_worker_init(&w);
	while (read(fd, &request, sizeof(request)) > 0) {
		vmp_worker_do(&w, &request, &answer);
		len = offsetof(struct vmp_read_answer, data) + answer.len;
		if (write(fd, &answer, len) != (ssize_t)len)
			break;
	}
}
