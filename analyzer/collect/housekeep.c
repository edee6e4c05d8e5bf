// SPDX-License-Identifier: GPL-2.0-only
/* housekeep.c - what sessions leave on the host's disk. */
#include "collect/housekeep.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vmprof/capture.h>

#include "model/objcache.h"
#include "model/vec.h"
#include "util/capdir.h"
#include "util/file.h"
#include "util/room.h"

#define OBJECT_LEVEL	3	/* OWNER/KK/REST */
#define TEMP_SUFFIX	7	/* .XXXXXX */
#define LEAST_BYTES	4096U	/* of a disk, that a smaller file takes */

/* Call @fn for each regular file below @root that is no link. */
static void each_file(const char *root, void (*fn)(void *arg, const FTSENT *e), void *arg)
{
	char *const roots[] = { (char *)root, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	FTSENT *e;

	while (fts && (e = fts_read(fts)))
		if (e->fts_info == FTS_F)
			fn(arg, e);
	if (fts)
		fts_close(fts);
}

static int is_fresh(const FTSENT *e, time_t now)
{
	return e->fts_statp->st_mtime > now - VMP_FRESH_SECONDS;
}

/* ---------------------------------------------------------- leftovers */

struct sweep {
	time_t now;
	int removed;
};

/* No other file has a dot there: keys are hex, debug files end in .debug. */
static void sweep_object(void *arg, const FTSENT *e)
{
	struct sweep *s = arg;

	if (e->fts_level == OBJECT_LEVEL && e->fts_namelen > TEMP_SUFFIX &&
	    e->fts_name[e->fts_namelen - TEMP_SUFFIX] == '.' && !is_fresh(e, s->now))
		s->removed += !unlink(e->fts_path);
}

static void sweep_capture(void *arg, const FTSENT *e)
{
	static const char suffix[] = VMPROF_CAP_SUFFIX ".new";
	struct sweep *s = arg;

	if (e->fts_namelen >= sizeof(suffix) &&
	    !strcmp(e->fts_name + e->fts_namelen - strlen(suffix), suffix) && !is_fresh(e, s->now))
		s->removed += !unlink(e->fts_path);
}

int vmp_sweep_leftovers(time_t now)
{
	struct sweep s = { .now = now };

	each_file(vmp_objcache_dir(), sweep_object, &s);
	each_file(vmp_capture_dir(), sweep_capture, &s);
	return s.removed;
}

/* --------------------------------------------------------- the cache */

struct object {
	char *path;
	uint64_t bytes;
	time_t used;
};

struct cache {
	VMP_VEC(struct object) old;	/* that may go */
	uint64_t bytes;			/* of all */
	time_t now;
};

static void see_object(void *arg, const FTSENT *e)
{
	struct cache *c = arg;
	struct object o = { .bytes = (uint64_t)e->fts_statp->st_size, .used = e->fts_statp->st_mtime };

	if (e->fts_level != OBJECT_LEVEL)
		return;
	if (o.bytes < LEAST_BYTES)
		o.bytes = LEAST_BYTES;
	c->bytes += o.bytes;
	if (is_fresh(e, c->now))
		return;
	o.path = strdup(e->fts_path);
	if (!o.path || vmp_vec_push(&c->old, o))
		free(o.path);	/* it stays for now */
}

static int by_use(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->used != y->used ? (x->used < y->used ? -1 : 1) : strcmp(x->path, y->path);
}

uint64_t vmp_cache_trim(uint64_t max, time_t now)
{
	struct cache c = { .now = now };
	uint32_t i;

	each_file(vmp_objcache_dir(), see_object, &c);
	if (c.old.nr)
		qsort(c.old.v, c.old.nr, sizeof(*c.old.v), by_use);
	for (i = 0; i < c.old.nr; i++) {
		if (c.bytes > max && !unlink(c.old.v[i].path))
			c.bytes -= c.old.v[i].bytes;
		free(c.old.v[i].path);
	}
	vmp_vec_free(&c.old);
	return c.bytes;
}

int vmp_cache_put(const char *key, const void *data, size_t len)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int err, fd;

	err = vmp_objcache_path(path, sizeof(path), key);
	if (err)
		return err;
	strcpy(dir, path);
	err = vmp_make_dirs(dirname(dir), 0700);
	if (err)
		return err;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = vmp_room_at(fd) < len || !vmp_room_for_files_at(fd) ? -ENOSPC : 0;
	close(fd);
	return err ? err : vmp_file_write(path, data, len);
}
