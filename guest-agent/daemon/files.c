// SPDX-License-Identifier: GPL-2.0-only
/* files.c - what lies behind the maps that were sent: one entry per file. */
#include "files.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapped.h"
#include "vdso.h"

void vmp_files_init(struct vmp_files *files)
{
	memset(files, 0, sizeof(*files));
}

void vmp_files_clear(struct vmp_files *files)
{
	uint32_t i;

	for (i = 0; i < files->nr; i++)
		free(files->file[i].path);
	free(files->file);
	vmp_files_init(files);
}

int vmp_file_is_vdso(const struct vmp_file *file)
{
	return !file->ino && !strcmp(file->path, "[vdso]");
}

static uint32_t *bucket_of(struct vmp_files *files, const struct vmp_msg_map *map)
{
	uint64_t h = map->ino * 0x9e3779b97f4a7c15ULL;

	h ^= ((uint64_t)map->dev_major << 32 | map->dev_minor) + map->ino_generation;
	h *= 0xff51afd7ed558ccdULL;
	return &files->bucket[h >> 52];
}

/* The youngest entry of the inode: it is in front of older ones. */
static struct vmp_file *find(struct vmp_files *files, const struct vmp_msg_map *map)
{
	uint32_t handle = *bucket_of(files, map);
	struct vmp_file *f;

	for (; handle; handle = f->same_hash) {
		f = &files->file[handle - 1];
		if (f->ino == map->ino && f->dev_major == map->dev_major &&
		    f->dev_minor == map->dev_minor && f->ino_generation == map->ino_generation)
			return f;
	}
	return NULL;
}

static void stat_to_file(struct vmp_file *f, const struct stat *st)
{
	f->bytes = (uint64_t)st->st_size;
	f->mtime_ns = (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

static struct vmp_mapped where(const struct vmp_file *f)
{
	return (struct vmp_mapped){
		.start = f->start, .end = f->end, .ino = f->ino,
		.dev_major = f->dev_major, .dev_minor = f->dev_minor,
		.tgid = f->tgid, .path = f->path,
	};
}

static void inspect_vdso(struct vmp_file *f)
{
	struct vmp_elf_source src = vmp_vdso_source();

	/* generation 0 is the one of 64-bit processes, which is ours as well */
	if (f->ino_generation || !vmp_vdso_bytes()) {
		f->flags = VMPROF_FILE_NO_ACCESS;
		return;
	}
	f->bytes = vmp_vdso_bytes();
	if (vmp_elf_build_id(&src, &f->id))
		f->id.len = 0;
}

/* Open the file behind f and fill in what it is. */
static void inspect(struct vmp_file *f)
{
	const struct vmp_mapped m = where(f);
	struct vmp_elf_source src;
	struct stat st;
	int fd;

	if (vmp_file_is_vdso(f)) {
		inspect_vdso(f);
		return;
	}
	fd = vmp_mapped_open(&m, &st);
	if (fd < 0) {
		f->flags = VMPROF_FILE_NO_ACCESS | (fd == -ESTALE ? VMPROF_FILE_CHANGED : 0);
		return;
	}
	stat_to_file(f, &st);
	src = vmp_elf_fd(&fd);
	if (vmp_elf_build_id(&src, &f->id))
		f->id.len = 0;
	close(fd);
}

static int grow(struct vmp_files *files)
{
	uint32_t room = files->room ? 2 * files->room : 256;
	struct vmp_file *file;

	if (files->nr < files->room)
		return 0;
	if (files->nr == VMP_FILES_MAX)
		return -ENOSPC;
	file = realloc(files->file, room * sizeof(*file));
	if (!file)
		return -ENOMEM;
	files->file = file;
	files->room = room;
	return 0;
}

static void add(struct vmp_files *files, const struct vmp_msg_map *map, struct vmp_file *f)
{
	uint32_t *bucket = bucket_of(files, map);

	if (grow(files)) {
		files->overflow++;
		free(f->path);
		return;
	}
	f->same_hash = *bucket;
	files->file[files->nr++] = *f;
	*bucket = files->nr;
}

void vmp_files_note(struct vmp_files *files, const struct vmp_msg_map *map, uint64_t now_ms)
{
	struct vmp_file *known, f = {
		.dev_major = map->dev_major, .dev_minor = map->dev_minor,
		.ino_generation = map->ino_generation, .ino = map->ino,
		.checked_ms = now_ms,
		.start = map->start, .end = map->end, .tgid = map->tgid,
	};

	if (map->flags & VMPROF_MAP_ANON)
		return;
	known = find(files, map);
	if (known) {
		known->start = map->start;
		known->end = map->end;
		known->tgid = map->tgid;
		if (now_ms - known->checked_ms < VMP_FILES_CHECK_MS)
			return;
		known->checked_ms = now_ms;
	} else if (files->nr == VMP_FILES_MAX) {
		files->overflow++;
		return;
	}
	f.path = strndup(map->path.p, map->path.len);
	if (!f.path) {
		files->overflow++;
		return;
	}
	inspect(&f);
	/* that it cannot be opened any more does not undo what is known of it */
	if (known && (f.flags || (known->bytes == f.bytes && known->mtime_ns == f.mtime_ns &&
				  !known->flags)))
		free(f.path);
	else
		add(files, map, &f);
}

const struct vmp_file *vmp_files_get(const struct vmp_files *files, uint32_t handle)
{
	return handle && handle <= files->nr ? &files->file[handle - 1] : NULL;
}

const struct vmp_file *vmp_files_unsent(const struct vmp_files *files, struct vmprof_file *msg)
{
	const struct vmp_file *f;

	if (files->sent == files->nr)
		return NULL;
	f = &files->file[files->sent];
	memset(msg, 0, sizeof(*msg));
	msg->file = htole32(files->sent + 1);
	msg->flags = htole32(f->flags);
	msg->ino = htole64(f->ino);
	msg->dev_major = htole32(f->dev_major);
	msg->dev_minor = htole32(f->dev_minor);
	msg->ino_generation = htole32(f->ino_generation);
	msg->build_id_len = htole32(f->id.len);
	msg->bytes = htole64(f->bytes);
	msg->mtime_ns = htole64(f->mtime_ns);
	memcpy(msg->build_id, f->id.bytes, f->id.len);
	msg->path_len = htole32((uint32_t)strlen(f->path));
	return f;
}

void vmp_files_sent(struct vmp_files *files)
{
	files->sent++;
}

int vmp_file_open(const struct vmp_file *file)
{
	const struct vmp_mapped m = where(file);
	struct vmp_file now;
	struct stat st;
	int fd;

	fd = vmp_mapped_open(&m, &st);
	if (fd < 0)
		return fd;
	stat_to_file(&now, &st);
	if (now.bytes == file->bytes && now.mtime_ns == file->mtime_ns)
		return fd;
	close(fd);
	return -ESTALE;
}
