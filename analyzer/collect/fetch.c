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

#include "util/capdir.h"
#include "util/file.h"

void vmp_fetch_init(struct vmp_fetch *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
}

int vmp_fetch_add(struct vmp_fetch *f, uint32_t file, uint64_t bytes, const uint8_t *build_id,
		  size_t build_id_len, const char *key)
{
	struct vmp_fetch_item *items, *it;
	int have = vmp_objcache_has(key);
	size_t i;

	if (strlen(key) >= sizeof(it->key) || build_id_len > VMPROF_BUILD_ID_MAX)
		return -EINVAL;
	if (f->nr == VMP_FETCH_MAX ||
	    (!have && (bytes > VMPROF_OBJECT_BYTES_MAX ||
		       f->sum_bytes + bytes > VMP_FETCH_SUM_BYTES)))
		return -ENOBUFS;
	items = realloc(f->items, (f->nr + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	f->items = items;
	it = &items[f->nr++];
	memset(it, 0, sizeof(*it));
	it->file = file;
	it->bytes = bytes;
	it->have = have;
	strcpy(it->key, key);
	for (i = 0; i < build_id_len; i++)
		sprintf(it->build_id + 2 * i, "%02x", build_id[i]);
	f->sum_bytes += have ? 0 : bytes;
	return 0;
}

/* The current one is over; a temporary file that is still there goes. */
static void finish(struct vmp_fetch *f, int err)
{
	if (f->fd >= 0) {
		close(f->fd);
		unlink(f->temp);
	}
	f->fd = -1;
	if (err)
		f->failed++;
	else
		f->fetched++;
	f->items[f->at++].have = !err;
}

static int open_temp(struct vmp_fetch *f)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int err;

	err = vmp_objcache_path(path, sizeof(path), f->items[f->at].key);
	if (err)
		return err;
	strcpy(dir, path);
	err = vmp_make_dirs(dirname(dir), 0700);
	if (err)
		return err;
	if (snprintf(f->temp, sizeof(f->temp), "%s.XXXXXX", path) >= (int)sizeof(f->temp))
		return -ENAMETOOLONG;
	f->fd = mkostemp(f->temp, O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

const struct vmp_fetch_item *vmp_fetch_next(struct vmp_fetch *f, uint64_t now_ns)
{
	if (f->fd >= 0)
		return NULL;
	while (f->at < f->nr) {
		if (f->items[f->at].have) {
			f->at++;
			continue;
		}
		if (!f->full && !open_temp(f)) {
			f->got_bytes = 0;
			f->heard_ns = now_ns;
			return &f->items[f->at];
		}
		finish(f, -EIO);
	}
	return NULL;
}

static int keep(struct vmp_fetch *f)
{
	char path[PATH_MAX];
	int err;

	err = vmp_objcache_path(path, sizeof(path), f->items[f->at].key);
	if (err)
		return err;
	if (close(f->fd))
		err = -errno;
	f->fd = -1;
	if (!err && rename(f->temp, path))
		err = -errno;
	if (err)
		unlink(f->temp);
	return err;
}

int vmp_fetch_object(struct vmp_fetch *f, const struct vmp_msg_object *o, uint64_t now_ns)
{
	const struct vmp_fetch_item *it;
	int err;

	if (f->fd < 0 || o->file != f->items[f->at].file)
		return 0;
	it = &f->items[f->at];
	f->heard_ns = now_ns;
	if (o->status || o->total != it->bytes || o->offset != f->got_bytes) {
		finish(f, -EIO);
		return 1;
	}
	err = vmp_write_all(f->fd, o->data.p, o->data.len);
	f->got_bytes += o->data.len;
	if (err) {
		f->full = err == -ENOSPC || err == -EDQUOT;
		finish(f, err);
	} else if (f->got_bytes == it->bytes) {
		finish(f, keep(f));
	}
	return 1;
}

void vmp_fetch_tick(struct vmp_fetch *f, uint64_t now_ns)
{
	if (f->fd >= 0 && now_ns - f->heard_ns > VMP_FETCH_PATIENCE_NS)
		finish(f, -ETIMEDOUT);
}

int vmp_fetch_done(const struct vmp_fetch *f)
{
	return f->fd < 0 && f->at == f->nr;
}

void vmp_fetch_abort(struct vmp_fetch *f)
{
	if (f->fd >= 0)
		finish(f, -ECANCELED);
	for (; f->at < f->nr; f->at++)
		f->failed += !f->items[f->at].have;
}

void vmp_fetch_free(struct vmp_fetch *f)
{
	vmp_fetch_abort(f);
	free(f->items);
	vmp_fetch_init(f);
}
