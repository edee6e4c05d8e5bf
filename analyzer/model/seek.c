// SPDX-License-Identifier: GPL-2.0-only
/* seek.c - see seek.h. */
#include "model/seek.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/elfdebug.h"
#include "util/below.h"
#include "util/text.h"

/* Distributions with RPM have links by build-id here, too */
#define ID_LINKS	"/usr/lib"

static const struct {
	const char *key, *text;
} sought[VMP_SOUGHT_NR] = {
	[VMP_SOUGHT_FOUND] = { "found", "found" },
	[VMP_SOUGHT_ABSENT] = { "absent", "not there" },
	[VMP_SOUGHT_OTHER] = { "other_build", "there, but of another build" },
	[VMP_SOUGHT_UNFIT] = { "unfit", "no ELF file that can be read" },
	[VMP_SOUGHT_NO_ID] = { "no_build_id", "without a build-id to compare" },
};

const char *vmp_sought_key(enum vmp_sought what)
{
	return sought[what].key;
}

static void add_count(char *line, size_t size, const char *head, uint64_t count, const char *text)
{
	size_t n = strlen(line);

	if (count)
		snprintf(line + n, size - n, "%s%" PRIu64 "%s %s", n ? ", " : head, count,
			 n ? "" : count == 1 ? " file" : " files", text);
}

const char *vmp_seek_below(const struct vmp_seek *s, char *buf, size_t size)
{
	int i;

	*buf = 0;
	for (i = 0; s && i < VMP_SOUGHT_NR; i++)
		add_count(buf, size, "--sysroot: ", s->sought[i], sought[i].text);
	return buf;
}

const char *vmp_seek_asked(const struct vmp_seek *s, char *buf, size_t size)
{
	int i;

	*buf = 0;
	for (i = 0; s && s->server && i < VMP_DEBUGINFOD_ANSWERS; i++)
		add_count(buf, size, "debuginfod: ", vmp_debuginfod_count(s->server, i), vmp_debuginfod_text(i));
	return buf;
}

const char *vmp_seek_unread(const struct vmp_seek *s, char *buf, size_t size)
{
	const struct vmp_unpack all = s ? vmp_unpacks_sum(&s->unpack) : (struct vmp_unpack){ 0 };

	return vmp_unpack_unread(&all, buf, size);
}

/* One file that is looked for */
struct search {
	struct vmp_seek *s;
	const struct vmp_file *f;
	struct vmp_elf_place place;	/* where it is tried next */
};

/* "FOLDER/.build-id/01/2345...": the file itself, or a link to it */
static int try_id(struct search *q, const char *folder, size_t len, struct vmp_elf **e)
{
	const struct vmp_file *f = q->f;
	char path[PATH_MAX];
	int n;

	if (len > PATH_MAX / 2)
		return -ENOENT;
	n = sprintf(path, "%.*s/.build-id/%02x/", (int)len, folder, f->build_id[0]);
	vmp_text_hex(path + n, f->build_id + 1, f->build_id_len - 1);
	q->place.path = path;
	return vmp_elf_open_place(e, &q->place);
}

/* Return: also -ESTALE, -ENOENT as the last one that was tried */
static int by_id(struct search *q, struct vmp_elf **e)
{
	const char *folder = vmp_elfdebug_path(q->place.folder);
	int err = -ENOENT;
	size_t len;

	if (q->f->build_id_len < 2)
		return -ENOENT;
	for (; err && err != -ENOMEM && *folder; folder += len + (folder[len] == ':')) {
		len = strcspn(folder, ":");
		if (len)
			err = try_id(q, folder, len, e);
	}
	if (err && err != -ENOMEM)
		err = try_id(q, ID_LINKS, strlen(ID_LINKS), e);
	return err;
}

static enum vmp_sought judge(int err)
{
	switch (err) {
	case 0:
		return VMP_SOUGHT_FOUND;
	case -ENOENT:
	case -ENOTDIR:
		return VMP_SOUGHT_ABSENT;
	case -ESTALE:
		return VMP_SOUGHT_OTHER;
	}
	return VMP_SOUGHT_UNFIT;
}

static int in_sysroot(struct search *q, struct vmp_elf **e)
{
	int err, by_path;

	q->place.folder = q->s ? q->s->sysroot : VMP_BELOW_HOST;
	/* "[vdso]" is no file */
	if (q->place.folder == VMP_BELOW_HOST || *q->place.name != '/')
		return -ENOENT;
	if (!q->f->build_id_len) {
		q->s->sought[VMP_SOUGHT_NO_ID]++;
		return -ENOENT;
	}
	q->place.path = q->place.name;
	by_path = err = vmp_elf_open_place(e, &q->place);
	if (err && err != -ENOMEM)
		err = by_id(q, e);
	if (err != -ENOMEM)
		q->s->sought[judge(err ? by_path : 0)]++;
	return err;
}

static int in_cache(struct search *q, struct vmp_elf **e)
{
	struct vmp_elf_place place = q->place;
	char path[4096];

	if (!*q->f->key || vmp_objcache_path(path, sizeof(path), q->f->key))
		return -ENOENT;
	place.path = path;
	/* its key says which build it is, and that was checked when it came */
	place.build_id_len = 0;
	return vmp_elf_open_place(e, &place);
}

static int on_host(struct search *q, struct vmp_elf **e)
{
	return q->f->build_id_len ? by_id(q, e) : -ENOENT;
}

static int on_server(struct search *q, struct vmp_elf **e)
{
	char path[PATH_MAX];
	int err;

	if (!q->place.server || !q->f->build_id_len || *q->place.name != '/')
		return -ENOENT;
	err = vmp_debuginfod_find(q->place.server, q->place.vm, VMP_DEBUGINFOD_PROGRAM, q->f->build_id,
				  q->f->build_id_len, q->place.name, path, sizeof(path));
	if (err)
		return err;
	q->place.path = path;
	return vmp_elf_open_place(e, &q->place);
}

int vmp_seek_guest(struct vmp_seek *s, uint32_t vm, const struct vmp_file *f, const char *name, int lines,
		   struct vmp_elf **e)
{
	static int (*const ways[])(struct search *q, struct vmp_elf **e) = {
		in_sysroot, in_cache, on_host, on_server,
	};
	struct search q = {
		.s = s, .f = f, .place = {
			.name = name, .sysroot = s ? s->sysroot : VMP_BELOW_HOST,
			.server = s ? s->server : NULL, .vm = vm, .lines = lines,
			.unpack = s ? vmp_unpacks_of(&s->unpack, vm) : NULL, .build_id = f->build_id, .build_id_len = f->build_id_len,
		},
	};
	int err = -ENOENT;
	size_t i;

	for (i = 0; err && err != -ENOMEM && i < sizeof(ways) / sizeof(*ways); i++) {
		q.place.folder = VMP_BELOW_HOST;
		err = ways[i](&q, e);
	}
	return err;
}

int vmp_seek_host(struct vmp_seek *s, const char *path, const uint8_t *id, size_t id_len, int lines, struct vmp_elf **e)
{
	const struct vmp_elf_place place = {
		.folder = VMP_BELOW_HOST, .path = path, .name = path, .sysroot = VMP_BELOW_HOST,
		.server = s ? s->server : NULL, .lines = lines, .unpack = s ? vmp_unpacks_of(&s->unpack, 0) : NULL,
		.build_id = id, .build_id_len = id_len,
	};

	return vmp_elf_open_place(e, &place);
}
