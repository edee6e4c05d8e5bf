// SPDX-License-Identifier: GPL-2.0-only
/* fetch.c - guest binaries on their way into the host's object cache. */
#include "collect/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/elffile.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/room.h"
#include "util/text.h"

#define DEBUG_FILES	"/usr/lib/debug/.build-id"	/* in every distribution */
#define PROBE_BYTES	4096	/* of a debug file, until its size is known */
#define LEAST_BYTES	(1U << 20)	/* asked for at once, but for the end of a file */
#define NS_PER_S	1000000000ULL

static const struct {
	const char *key, *text;
} causes[VMP_FETCH_CAUSES] = {
	[VMP_FETCH_ABSENT] = { "absent", "not there or not to be read" },
	[VMP_FETCH_OTHER] = { "other_build", "of another build by now, or no ELF file" },
	[VMP_FETCH_SLOW] = { "slow", "not there in time" },
	[VMP_FETCH_ROOM] = { "no_room", "without room in the object cache or on its disk" },
	[VMP_FETCH_CUT] = { "cut", "when the guest or the way to it was gone" },
	[VMP_FETCH_OVER] = { "over", "over the limits of one guest" },
	[VMP_FETCH_FORBIDDEN] = { "forbidden", "by --objects none" },
	[VMP_FETCH_BLIND] = { "blind", "without a path, or a build-id to check" },
	[VMP_FETCH_LOCAL] = { "unwritten", "that could not be written" },
};

const char *vmp_fetch_cause_key(enum vmp_fetch_cause cause)
{
	return causes[cause].key;
}

const char *vmp_fetch_causes(const struct vmp_fetch *f, char *buf, size_t size)
{
	size_t n = 0;
	int i;

	*buf = 0;
	for (i = 0; i < VMP_FETCH_CAUSES && n < size; i++)
		if (f->why[i])
			n += (size_t)snprintf(buf + n, size - n, "%s%u %s", n ? ", " : "", f->why[i],
					      causes[i].text);
	return buf;
}

static enum vmp_fetch_cause cause_of(int err)
{
	switch (err) {
	case -EIO:
		return VMP_FETCH_ABSENT;
	case -ESTALE:
	case -ENOEXEC:
		return VMP_FETCH_OTHER;
	case -ETIMEDOUT:
		return VMP_FETCH_SLOW;
	case -ENOSPC:
	case -EDQUOT:
		return VMP_FETCH_ROOM;
	case -ECANCELED:
		return VMP_FETCH_CUT;
	case -EPERM:
		return VMP_FETCH_FORBIDDEN;
	case -ENOKEY:
		return VMP_FETCH_BLIND;
	}
	return VMP_FETCH_LOCAL;
}

void vmp_fetch_init(struct vmp_fetch *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->rate_bytes = VMP_FETCH_RATE_BYTES;
	f->burst_bytes = VMP_FETCH_BURST_BYTES;
}

static struct vmp_fetch_item *add_item(struct vmp_fetch *f, uint32_t file, const char *key, const char *guest_path)
{
	struct vmp_fetch_item *items, *it;
	char *path = strdup(guest_path);

	items = path ? realloc(f->items, (f->nr + 1) * sizeof(*items)) : NULL;
	if (!items) {
		free(path);
		return NULL;
	}
	f->items = items;
	it = &items[f->nr++];
	memset(it, 0, sizeof(*it));
	it->file = file;
	it->path = path;
	strcpy(it->key, key);
	return it;
}

/* Behind the one whose content it has, if that was taken */
static int add_elsewhere(struct vmp_fetch *f, const struct vmp_needed *n)
{
	struct vmp_fetch_item *it;

	if (!f->nr || strcmp(f->items[f->nr - 1].key, n->key) || f->nr == VMP_FETCH_MAX ||
	    f->items[f->nr - 1].bytes != n->bytes)
		return -ENOBUFS;
	it = add_item(f, n->file, n->key, n->path);
	if (!it)
		return -ENOMEM;
	it->bytes = n->bytes;
	it->elsewhere = 1;
	strcpy(it->build_id, it[-1].build_id);
	return 0;
}

int vmp_fetch_add(struct vmp_fetch *f, const struct vmp_needed *n)
{
	struct vmp_fetch_item *it;
	int have = vmp_objcache_has(n->key);

	if (strlen(n->key) >= sizeof(it->key) || n->build_id_len > VMPROF_BUILD_ID_MAX)
		return -EINVAL;
	if (n->elsewhere)
		return have ? 0 : add_elsewhere(f, n);
	if (f->nr == VMP_FETCH_MAX ||
	    (!have && (n->bytes > VMPROF_OBJECT_BYTES_MAX ||
		       (!f->own_room && f->sum_bytes + n->bytes > VMP_FETCH_SUM_BYTES)))) {
		f->over++;
		f->why[VMP_FETCH_OVER]++;
		return -ENOBUFS;
	}
	it = add_item(f, n->file, n->key, n->path);
	if (!it)
		return -ENOMEM;
	if (have)
		vmp_objcache_used(n->key);
	it->bytes = n->bytes;
	it->have = have;
	vmp_text_hex(it->build_id, n->build_id, n->build_id_len);
	f->sum_bytes += have ? 0 : n->bytes;
	return 0;
}

static int is_debug(const struct vmp_fetch_item *it)
{
	return !!(it->file & VMPROF_OBJECT_DEBUG);
}

/* Where it belongs in the cache */
static int path_of(const struct vmp_fetch_item *it, char path[PATH_MAX])
{
	/* room for what is put behind a path */
	int err = vmp_objcache_path(path, PATH_MAX - sizeof(".debug.XXXXXX"), it->key);

	if (!err && is_debug(it))
		strcat(path, ".debug");
	return err;
}

/* Does this binary lack names that a debug file would have? */
static int is_stripped(const struct vmp_fetch_item *it)
{
	struct vmp_elffile f;
	char path[PATH_MAX];
	int stripped;
	GElf_Shdr sh;

	if (path_of(it, path) || vmp_elffile_open(&f, path))
		return 0;
	stripped = !vmp_elffile_section(&f, SHT_SYMTAB, NULL, &sh) &&
		   !vmp_elffile_section(&f, SHT_PROGBITS, ".gnu_debugdata", &sh);
	vmp_elffile_close(&f);
	return stripped;
}

/* The binaries are there: list the debug files that would help. */
static void list_debug_files(struct vmp_fetch *f)
{
	char path[sizeof(DEBUG_FILES) + 2 * VMPROF_BUILD_ID_MAX + 32];
	struct vmp_fetch_item of, *it;
	int i, nr = f->nr;

	f->debug_listed = 1;
	for (i = 0; i < nr; i++) {
		of = f->items[i];
		if (!of.have || !*of.build_id || !is_stripped(&of))
			continue;
		snprintf(path, sizeof(path), DEBUG_FILES "/%.2s/%s.debug", of.build_id, of.build_id + 2);
		it = add_item(f, of.file | VMPROF_OBJECT_DEBUG, of.key, path);
		if (!it)
			return;
		strcpy(it->build_id, of.build_id);
	}
}

static void count(struct vmp_fetch *f, const struct vmp_fetch_item *it, int err)
{
	if (!is_debug(it)) {
		f->fetched += !err;
		f->failed += err && err != -EPERM;
		if (err)
			f->why[cause_of(err)]++;
	} else if (!err) {
		f->debug_fetched++;
	} else if (err == -EFBIG || err == -ENOEXEC) {
		f->debug_refused++;
	}
}

/* Of several files with one content, has one come, and is this the last one? */
static int has_come(const struct vmp_fetch *f, int i)
{
	for (; f->items[i].elsewhere; i--)
		if (f->items[i - 1].have)
			return 1;
	return f->items[i].have;
}

static int is_last_place(const struct vmp_fetch *f, int i)
{
	return i + 1 == f->nr || !f->items[i + 1].elsewhere;
}

static void drop_temp(struct vmp_fetch *f)
{
	if (f->fd >= 0) {
		close(f->fd);
		unlink(f->temp);
	}
	f->fd = -1;
}

static void give_room_back(struct vmp_fetch *f)
{
	if (f->cache_room)
		*f->cache_room += f->taken_bytes;
	if (f->own_room)
		*f->own_room += f->taken_bytes;
	f->taken_bytes = 0;
}

/* The current one is over; a temporary file that is still there goes. */
static void finish(struct vmp_fetch *f, int err)
{
	drop_temp(f);
	if (err)
		give_room_back(f);
	f->taken_bytes = 0;
	f->ask_rest = f->second = 0;
	if (!err || is_last_place(f, f->at))
		count(f, &f->items[f->at], err);
	f->items[f->at++].have = !err;
}

static uint64_t cost(const struct vmp_fetch *f, uint64_t bytes)
{
	return bytes < f->least_bytes ? f->least_bytes : bytes;
}

static int has_room(const struct vmp_fetch *f, uint64_t bytes)
{
	return (!f->cache_room || *f->cache_room >= bytes) && (!f->own_room || *f->own_room >= bytes);
}

/* For the file that is open: of the cache, of the guest's part and of the disk */
static int take_room(struct vmp_fetch *f, uint64_t bytes)
{
	bytes = cost(f, bytes);
	if (!has_room(f, bytes) || vmp_room_at(f->fd) < bytes || !vmp_room_for_files_at(f->fd))
		return -ENOSPC;
	if (f->cache_room)
		*f->cache_room -= bytes;
	if (f->own_room)
		*f->own_room -= bytes;
	f->taken_bytes += bytes;
	return 0;
}

static int open_temp(struct vmp_fetch *f)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int err;

	err = path_of(&f->items[f->at], path);
	if (err)
		return err;
	if (is_debug(&f->items[f->at]) && !access(path, F_OK))
		return -EEXIST;
	if (!has_room(f, cost(f, f->items[f->at].bytes)))
		return -ENOSPC;
	strcpy(dir, path);
	err = vmp_make_dirs(dirname(dir), 0700);
	if (err)
		return err;
	if (snprintf(f->temp, sizeof(f->temp), "%s.XXXXXX", path) >= (int)sizeof(f->temp))
		return -ENAMETOOLONG;
	f->fd = mkostemp(f->temp, O_CLOEXEC);
	/* where there is none, finish() removes it; of a debug file the size is not known yet */
	return f->fd < 0 ? -errno : take_room(f, f->items[f->at].bytes);
}

/* Its first piece is what comes next */
static void begin_file(struct vmp_fetch *f, uint64_t now_ns)
{
	f->got_bytes = f->asked_bytes = 0;
	f->ask_rest = 1;
	f->heard_ns = now_ns;
}

/* The current one did not come whole, or was another: by the second way if there is one, else it is over */
static void fail(struct vmp_fetch *f, int err, uint64_t now_ns)
{
	const struct vmp_fetch_item *it = &f->items[f->at];

	if (!f->second_way || f->second || is_debug(it) ||
	    (cause_of(err) != VMP_FETCH_ABSENT && cause_of(err) != VMP_FETCH_OTHER)) {
		finish(f, err);
		return;
	}
	drop_temp(f);
	give_room_back(f);
	f->second = 1;
	err = open_temp(f);
	if (err)
		finish(f, err);
	else
		begin_file(f, now_ns);
}

static int can_verify(const struct vmp_fetch_item *it)
{
	return *it->build_id && (*it->path == '/' || it->file);
}

static int begin_next(struct vmp_fetch *f, uint64_t now_ns)
{
	int err;

	while (f->at < f->nr) {
		/* another file of this content, of this session or another, may have come meanwhile */
		f->items[f->at].have |= !is_debug(&f->items[f->at]) && vmp_objcache_has(f->items[f->at].key);
		if (has_come(f, f->at)) {
			f->at++;
			continue;
		}
		err = f->full ? -ENOSPC : f->verify && !can_verify(&f->items[f->at]) ? -ENOKEY : open_temp(f);
		if (!err) {
			begin_file(f, now_ns);
			return 1;
		}
		finish(f, err);
	}
	return 0;
}

static void earn_budget(struct vmp_fetch *f, uint64_t now_ns)
{
	uint64_t gone_ns = f->budget_ns ? now_ns - f->budget_ns : NS_PER_S;

	f->budget_ns = now_ns;
	f->budget_bytes += (gone_ns < NS_PER_S ? gone_ns : NS_PER_S) * f->rate_bytes / NS_PER_S;
	if (f->budget_bytes > f->burst_bytes)
		f->budget_bytes = f->burst_bytes;
}

/* Of @left bytes, how many may come now? */
static uint64_t take_budget(struct vmp_fetch *f, uint64_t left, uint64_t now_ns)
{
	const uint64_t counts = f->got_bytes ? left : cost(f, left);
	uint64_t n;

	earn_budget(f, now_ns);
	n = counts < f->budget_bytes ? counts : f->budget_bytes;
	if (n < counts && n < LEAST_BYTES)
		return 0;
	f->budget_bytes -= n;
	return n < left ? n : left;
}

int vmp_fetch_next(struct vmp_fetch *f, uint64_t now_ns, struct vmp_msg_get_object *ask)
{
	const struct vmp_fetch_item *it;
	uint64_t left, n;

	if (f->fd >= 0 && !f->ask_rest)
		return 0;
	if (f->fd < 0 && !begin_next(f, now_ns)) {
		if (f->debug_listed)
			return 0;
		list_debug_files(f);
		if (!begin_next(f, now_ns))
			return 0;
	}
	it = &f->items[f->at];
	left = it->bytes ? it->bytes - f->got_bytes : PROBE_BYTES;
	n = take_budget(f, left, now_ns);
	if (!n)
		return 0;
	f->ask_rest = 0;
	f->asked_bytes = f->got_bytes + n;
	*ask = (struct vmp_msg_get_object){
		.file = it->file, .offset = f->got_bytes, .len = (uint32_t)n,
	};
	return 1;
}

/* Return: 1 it is an ELF file with the build-id that was told, of a debug file with its binary's */
static int has_build_id(const struct vmp_fetch_item *it, const char *path)
{
	char id[2 * VMP_BUILD_ID_BYTES + 1];
	struct vmp_elffile f;

	if (vmp_elffile_open(&f, path))
		return 0;
	vmp_text_hex(id, f.build_id, f.build_id_len);
	vmp_elffile_close(&f);
	return *id && !strcmp(id, it->build_id);
}

static int keep(struct vmp_fetch *f)
{
	const struct vmp_fetch_item *it = &f->items[f->at];
	char path[PATH_MAX];
	int err;

	err = path_of(it, path);
	if (err)
		return err;
	if (close(f->fd))
		err = -errno;
	f->fd = -1;
	if (!err && *it->build_id && !has_build_id(it, f->temp))
		err = -ENOEXEC;
	if (!err && rename(f->temp, path))
		err = -errno;
	if (err)
		unlink(f->temp);
	return err;
}

/* The first piece of a debug file tells its size; the rest is asked for if it is not too large. */
static int learn_size(struct vmp_fetch *f, const struct vmp_msg_object *o)
{
	struct vmp_fetch_item *it = &f->items[f->at];

	if (!is_debug(it) || it->bytes)
		return 0;
	if (o->total > VMP_FETCH_DEBUG_BYTES || f->sum_bytes + o->total > VMP_FETCH_SUM_BYTES)
		return -EFBIG;
	it->bytes = o->total;
	f->sum_bytes += o->total;
	return take_room(f, o->total);
}

/* Return: 0 this piece is the next one of what was asked for, no more than that, or -errno */
static int check_piece(struct vmp_fetch *f, const struct vmp_msg_object *o)
{
	/* what is not the file that was told of the agent does not hand over */
	int err = o->status ? o->status == ENOEXEC ? -ENOEXEC : -EIO : learn_size(f, o);

	if (!err && o->total != f->items[f->at].bytes)
		err = -ESTALE;
	if (!err && (o->offset != f->got_bytes || o->data.len > f->asked_bytes - f->got_bytes))
		err = -EIO;
	return err;
}

int vmp_fetch_goes_on(const struct vmp_fetch *f)
{
	return f->fd >= 0 && f->asked_bytes;
}

int vmp_fetch_object(struct vmp_fetch *f, const struct vmp_msg_object *o, uint64_t now_ns)
{
	int err, whole;

	/* the next one waits for its turn, and until then nothing is of it: by ssh most files have no number but 0 */
	if (!vmp_fetch_goes_on(f) || o->file != f->items[f->at].file)
		return 0;
	f->heard_ns = now_ns;
	err = check_piece(f, o);
	if (!err)
		err = vmp_write_all(f->fd, o->data.p, o->data.len);
	f->got_bytes += o->data.len;
	f->full |= err == -ENOSPC || err == -EDQUOT;
	whole = f->got_bytes == f->items[f->at].bytes;
	if (!err && whole)
		err = keep(f);
	if (err)
		fail(f, err, now_ns);
	else if (whole)
		finish(f, 0);
	else if (f->got_bytes == f->asked_bytes)
		f->ask_rest = 1;
	return 1;
}

const char *vmp_fetch_path(const struct vmp_fetch *f)
{
	return f->items[f->at].path;
}

int vmp_fetch_tick(struct vmp_fetch *f, uint64_t now_ns)
{
	if (f->fd < 0 || now_ns - f->heard_ns <= VMP_FETCH_PATIENCE_NS)
		return 0;
	finish(f, -ETIMEDOUT);
	return 1;
}

int vmp_fetch_done(const struct vmp_fetch *f)
{
	return f->fd < 0 && f->at == f->nr && f->debug_listed;
}

void vmp_fetch_abort(struct vmp_fetch *f, int err)
{
	if (f->fd >= 0)
		finish(f, err);
	for (; f->at < f->nr; f->at++)
		if (!has_come(f, f->at) && is_last_place(f, f->at))
			count(f, &f->items[f->at], err);
	f->debug_listed = 1;
}

void vmp_fetch_free(struct vmp_fetch *f)
{
	int i;

	vmp_fetch_abort(f, -ECANCELED);
	for (i = 0; i < f->nr; i++)
		free(f->items[i].path);
	free(f->items);
	vmp_fetch_init(f);
}
