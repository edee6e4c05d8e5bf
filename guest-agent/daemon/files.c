// SPDX-License-Identifier: GPL-2.0-only
/* files.c - what lies behind the maps that were sent: one entry per file. */
#include "files.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Return: NULL where there is no room for it */
static char *keep_path(struct vmp_files *files, const char *from, size_t len)
{
	char *path = files->path_bytes + len < VMP_FILES_PATHS_BYTES ? strndup(from, len) : NULL;

	if (path)
		files->path_bytes += strlen(path) + 1;
	return path;
}

static void drop_path(struct vmp_files *files, char *path)
{
	if (path)
		files->path_bytes -= strlen(path) + 1;
	free(path);
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

/* Return: its handle, 0: no room */
static uint32_t add(struct vmp_files *files, uint32_t *bucket, struct vmp_file *f)
{
	if (grow(files)) {
		files->overflow++;
		drop_path(files, f->path);
		return 0;
	}
	f->same_hash = *bucket;
	files->file[files->nr++] = *f;
	*bucket = files->nr;
	return files->nr;
}

/* It waits to be looked at. */
static void enqueue(struct vmp_files *files, struct vmp_files_queue *q, uint32_t handle)
{
	struct vmp_file *f = &files->file[handle - 1];

	f->waits = 1;
	f->next_waiting = 0;
	if (q->last)
		files->file[q->last - 1].next_waiting = handle;
	else
		q->first = handle;
	q->last = handle;
}

/* Return: its first, 0 none, or not yet */
static uint32_t dequeue(struct vmp_files *files, struct vmp_files_queue *q, uint64_t now_ms)
{
	const uint32_t handle = q->first;
	const struct vmp_file *f = handle ? &files->file[handle - 1] : NULL;

	if (!f || f->due_ms > now_ms)
		return 0;
	q->first = f->next_waiting;
	if (!q->first)
		q->last = 0;
	return handle;
}

static void note_new(struct vmp_files *files, const struct vmp_msg_map *map, uint64_t now_ms)
{
	struct vmp_file f = {
		.dev_major = map->dev_major, .dev_minor = map->dev_minor,
		.ino_generation = map->ino_generation, .ino = map->ino, .checked_ms = now_ms,
		.start = map->start, .end = map->end, .tgid = map->tgid,
	};
	uint32_t handle;

	f.path = keep_path(files, map->path.p, map->path.len);
	files->overflow += !f.path;
	handle = f.path ? add(files, bucket_of(files, map), &f) : 0;
	if (handle)
		enqueue(files, &files->waiting, handle);
}

/* Where there is no room for a path that is another one the mapping alone leads to the file, while its process lives. */
static void change_path(struct vmp_files *files, struct vmp_file *f, const struct vmp_span *to)
{
	char *path;

	if (strlen(f->path) == to->len && !memcmp(f->path, to->p, to->len))
		return;
	path = keep_path(files, to->p, to->len);
	if (!path)
		return;
	drop_path(files, f->path);
	f->path = path;
}

/* The last mapping that was seen is the way to open it, with the path that it has there. */
static void note_known(struct vmp_files *files, struct vmp_file *f, const struct vmp_msg_map *map,
		       enum vmp_files_heard heard, uint64_t now_ms)
{
	f->start = map->start;
	f->end = map->end;
	f->tgid = map->tgid;
	f->unsure |= heard != VMP_FILES_TOLD;
	/* one that could not be opened may be opened now */
	if (f->waits || (!f->unsure && !f->flags) ||
	    (heard != VMP_FILES_FRESH && now_ms - f->checked_ms < VMP_FILES_CHECK_MS))
		return;
	change_path(files, f, &map->path);
	f->checked_ms = now_ms;
	f->unsure = 0;
	f->asked_tsc = map->tsc;
	enqueue(files, &files->waiting, (uint32_t)(f - files->file) + 1);
}

void vmp_files_note(struct vmp_files *files, const struct vmp_msg_map *map, enum vmp_files_heard heard,
		    uint64_t now_ms)
{
	struct vmp_file *known;

	if (map->flags & VMPROF_MAP_ANON)
		return;
	known = find(files, map);
	if (known)
		note_known(files, known, map, heard, now_ms);
	else if (files->nr == VMP_FILES_MAX)
		files->overflow++;
	else
		note_new(files, map, now_ms);
}

void vmp_files_tell_id(struct vmp_files *files, const struct vmp_msg_map *map, const struct vmp_build_id *id)
{
	struct vmp_file *f = find(files, map);

	if (f && !f->looked_at)
		f->id = *id;
}

/* ------------------------------------------------------- looked at by the child */

/* What leads to the file */
static void request_of(const struct vmp_file *f, uint32_t what, uint32_t number, struct vmp_read_request *r)
{
	r->what = what;
	r->number = number;
	r->flags = 0;
	r->ino_generation = f->ino_generation;
	r->m = (struct vmp_mapped){
		.start = f->start, .end = f->end, .ino = f->ino, .dev_major = f->dev_major,
		.dev_minor = f->dev_minor, .tgid = f->tgid,
	};
	r->bytes = f->bytes;
	r->mtime_ns = f->mtime_ns;
	r->id = f->id;
	strcpy(r->path, f->path);
}

void vmp_files_object(const struct vmp_file *f, uint32_t number, struct vmp_read_request *r)
{
	request_of(f, VMP_READ_OBJECT, number, r);
	if (!(number & VMPROF_OBJECT_DEBUG))
		return;
	r->flags = VMP_READ_DEBUG;
	r->m.dev_major = r->m.dev_minor = VMP_READ_DEBUG_DEV;
}

int vmp_files_ask(struct vmp_files *files, uint64_t now_ms, struct vmp_read_request *r)
{
	uint32_t handle = dequeue(files, &files->waiting, now_ms);

	if (!handle)
		handle = dequeue(files, &files->late, now_ms);
	if (!handle)
		return 0;
	request_of(&files->file[handle - 1], VMP_READ_FILE, handle, r);
	return 1;
}

static uint32_t flags_of(int32_t status)
{
	return !status ? 0 : VMPROF_FILE_NO_ACCESS | (status == -ESTALE ? VMPROF_FILE_CHANGED : 0);
}

/* All wait equally long, so who comes later is due later.  Return: 1, 0 it has waited long enough */
static int put_off(struct vmp_files *files, uint32_t handle, uint64_t now_ms)
{
	struct vmp_file *f = &files->file[handle - 1];

	if (!f->late_since_ms)
		f->late_since_ms = now_ms;
	if (now_ms - f->late_since_ms >= VMP_FILES_PATIENCE_MS)
		return 0;
	f->due_ms = now_ms + VMP_READ_LATE_MS;
	enqueue(files, &files->late, handle);
	return 1;
}

int vmp_files_answer(struct vmp_files *files, uint32_t handle, const struct vmp_read_answer *a, uint64_t now_ms)
{
	struct vmp_file *known = &files->file[handle - 1], f;
	struct vmp_msg_map same = {
		.ino = known->ino, .dev_major = known->dev_major, .dev_minor = known->dev_minor,
		.ino_generation = known->ino_generation,
	};

	if (vmp_read_is_late(a) && put_off(files, handle, now_ms))
		return 1;
	known->waits = 0;
	known->due_ms = known->late_since_ms = 0;
	f = *known;
	f.looked_at = 1;
	f.flags = flags_of(a->status);
	f.fleeting = !a->status && a->fleeting;
	f.bytes = a->bytes;
	f.mtime_ns = a->mtime_ns;
	if (!f.flags)
		f.id = a->id;
	if (!known->looked_at) {
		*known = f;
		return 0;
	}
	/* that it cannot be opened any more does not undo what is known of it */
	if (f.flags || (known->bytes == f.bytes && known->mtime_ns == f.mtime_ns && !known->flags))
		return 0;
	f.path = keep_path(files, known->path, strlen(known->path));
	f.since_tsc = known->asked_tsc;
	if (f.path)
		add(files, bucket_of(files, &same), &f);
	else
		files->overflow++;
	return 0;
}

uint64_t vmp_files_give_up(struct vmp_files *files)
{
	uint64_t n = 0;
	uint32_t i;

	while ((i = dequeue(files, &files->waiting, UINT64_MAX)) || (i = dequeue(files, &files->late, UINT64_MAX)))
		files->file[i - 1].waits = 0;
	for (i = files->sent; i < files->nr; i++) {
		struct vmp_file *f = &files->file[i];

		if (f->looked_at)
			continue;
		f->looked_at = 1;
		f->flags = VMPROF_FILE_NO_ACCESS;
		n++;
	}
	return n;
}

/* --------------------------------------------------------- told to the host */

const struct vmp_file *vmp_files_get(const struct vmp_files *files, uint32_t handle)
{
	return handle && handle <= files->nr ? &files->file[handle - 1] : NULL;
}

const struct vmp_file *vmp_files_unsent(const struct vmp_files *files, struct vmprof_file *msg)
{
	const struct vmp_file *f;

	if (files->sent == files->nr || !files->file[files->sent].looked_at)
		return NULL;
	f = &files->file[files->sent];
	memset(msg, 0, sizeof(*msg));
	msg->file = htole32(files->sent + 1);
	msg->flags = htole32(f->flags | (f->fleeting ? VMPROF_FILE_FLEETING : 0));
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
