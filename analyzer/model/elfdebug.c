// SPDX-License-Identifier: GPL-2.0-only
/*
 * elfdebug.c - .gnu_debugdata through liblzma; debug files by build-id and .gnu_debuglink.
 *
 * A guest chooses the link's name and its own path: neither leaves the
 * folders that are looked in.
 */
#include "model/elfdebug.h"
#include "util/below.h"
#include "util/text.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINI_MAX	(128ULL << 20)	/* unpacked */
#define MINI_MEMORY	(128ULL << 20)	/* for unpacking */

static int unpack(const Elf_Data *packed, size_t max, uint8_t **out, size_t *len)
{
	lzma_stream s = LZMA_STREAM_INIT;
	size_t room = packed->d_size < max / 8 ? packed->d_size * 4 + 4096 : max, larger;
	uint8_t *buf = malloc(room + !room), *more;
	lzma_ret ret = LZMA_OK;

	if (!buf || lzma_stream_decoder(&s, MINI_MEMORY, 0) != LZMA_OK) {
		free(buf);
		return -ENOMEM;
	}
	s.next_in = packed->d_buf;
	s.avail_in = packed->d_size;
	s.next_out = buf;
	s.avail_out = room;
	while (ret == LZMA_OK) {
		if (!s.avail_out && room < max) {
			larger = room < max / 2 ? 2 * room : max;
			more = realloc(buf, larger);
			if (!more) {
				ret = LZMA_MEM_ERROR;
				break;
			}
			buf = more;
			s.next_out = buf + room;
			s.avail_out = larger - room;
			room = larger;
		}
		ret = lzma_code(&s, LZMA_FINISH);
	}
	*len = s.total_out;
	lzma_end(&s);
	if (ret != LZMA_STREAM_END) {
		free(buf);
		return ret == LZMA_MEM_ERROR ? -ENOMEM : ret == LZMA_BUF_ERROR && *len == max ? -EFBIG : -ENOEXEC;
	}
	*out = buf;
	return 0;
}

int vmp_elfdebug_mini(const struct vmp_elffile *f, const struct vmp_unpack *u, struct vmp_elffile *mini)
{
	uint64_t room = vmp_unpack_room(u);
	GElf_Shdr sh;
	Elf_Scn *scn = vmp_elffile_section(f, SHT_PROGBITS, ".gnu_debugdata", &sh);
	Elf_Data *packed = vmp_elffile_data(scn, &sh);
	uint8_t *buf;
	size_t len;
	int err;

	if (!packed)
		return -ENOENT;
	err = unpack(packed, room < MINI_MAX ? room : MINI_MAX, &buf, &len);
	if (err)
		return err;
	err = vmp_elffile_memory(mini, buf, len);
	if (err)
		free(buf);
	else
		mini->heap = buf;
	return err;
}

/* What a debug file must have */
struct wanted {
	const struct vmp_elffile *of;
	int folder;		/* all paths are below it */
	const char *link;	/* .gnu_debuglink's name, NULL none */
	uint32_t crc;
};

static int fits(const struct wanted *w, const struct vmp_elffile *f)
{
	/* an ELF file without sections for it has nothing to tell */
	GElf_Shdr sh;

	if (!vmp_elffile_section(f, SHT_SYMTAB, NULL, &sh) && !vmp_elffile_has_dwarf(f))
		return 0;
	if (w->of->build_id_len && f->build_id_len)
		return w->of->build_id_len == f->build_id_len &&
		       !memcmp(w->of->build_id, f->build_id, f->build_id_len);
	return w->link && lzma_crc32(f->data, f->len, 0) == w->crc;
}

/* 0: it is the one; -ENOENT, -ENOMEM */
static int try(const struct wanted *w, struct vmp_elffile *debug, const char *path)
{
	int err = vmp_elffile_open_below(debug, w->folder, path);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (fits(w, debug))
		return 0;
	vmp_elffile_close(debug);
	return -ENOENT;
}

/* As try(), for a path of several parts */
static int try_join(const struct wanted *w, struct vmp_elffile *debug, const char *a, size_t a_len,
		    const char *b, const char *c)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s%s%s", (int)a_len, a, b, c) >= (int)sizeof(path))
		return -ENOENT;
	return try(w, debug, path);
}

static int by_build_id(const struct wanted *w, struct vmp_elffile *debug, const char *root, size_t len)
{
	char rest[2 * VMP_BUILD_ID_BYTES + 32];
	int n;

	if (w->of->build_id_len < 2)
		return -ENOENT;
	n = sprintf(rest, "/.build-id/%02x/", w->of->build_id[0]);
	vmp_text_hex(rest + n, w->of->build_id + 1, w->of->build_id_len - 1);
	return try_join(w, debug, root, len, rest, ".debug");
}

/* @name is a guest's word for where its file lies: it must not lead out of @root. */
static int by_place(const struct wanted *w, struct vmp_elffile *debug, const char *root, size_t len,
		    const char *name)
{
	const char *slash = strrchr(name, '/');
	char folder[PATH_MAX];

	if (!w->link || *name != '/' || strstr(name, "/../") || (size_t)(slash - name) >= sizeof(folder) - 1)
		return -ENOENT;
	memcpy(folder, name, (size_t)(slash - name) + 1);
	folder[slash - name + 1] = 0;
	return try_join(w, debug, root, len, folder, w->link);
}

static void read_link(const struct vmp_elffile *f, struct wanted *w)
{
	GElf_Shdr sh;
	Elf_Data *d = vmp_elffile_data(vmp_elffile_section(f, SHT_PROGBITS, ".gnu_debuglink", &sh), &sh);
	const char *name = vmp_elffile_string(d, 0);
	size_t crc_at;

	if (!name || strchr(name, '/') || !strcmp(name, "."))
		return;
	crc_at = (strlen(name) + 4) & ~3UL;
	if (crc_at > d->d_size || d->d_size - crc_at < sizeof(w->crc))
		return;
	memcpy(&w->crc, (const char *)d->d_buf + crc_at, sizeof(w->crc));
	w->crc = le32toh(w->crc);
	w->link = name;
}

const char *vmp_elfdebug_path(int folder)
{
	const char *path = folder == VMP_BELOW_HOST ? getenv("VMPROF_DEBUG_PATH") : NULL;

	return path ? path : VMP_DEBUG_PATH;
}

/* In each folder of the debug path.  Return: as try(). */
static int in_roots(const struct wanted *w, struct vmp_elffile *debug, const char *name)
{
	const char *root = vmp_elfdebug_path(w->folder);
	int err = -ENOENT;
	size_t len;

	for (; err == -ENOENT && *root; root += len + (root[len] == ':')) {
		len = strcspn(root, ":");
		if (!len)
			continue;
		err = name ? by_place(w, debug, root, len, name) : by_build_id(w, debug, root, len);
	}
	return err;
}

int vmp_elfdebug_open(const struct vmp_elffile *f, const char *path, struct vmp_elffile *debug)
{
	struct wanted w = { .of = f, .folder = VMP_BELOW_HOST };

	return try(&w, debug, path);
}

int vmp_elfdebug_by_id(const struct vmp_elffile *f, struct vmp_elffile *debug)
{
	struct wanted w = { .of = f, .folder = VMP_BELOW_HOST };

	return in_roots(&w, debug, NULL);
}

/* Where the link says, but for the folders before: "/usr/lib/debug/.dwz/NAME", "../../.dwz/NAME" */
static int in_dwz(const struct wanted *w, struct vmp_elffile *shared, const char *name)
{
	const char *root = vmp_elfdebug_path(w->folder), *rest = strstr(name, "/.dwz/");
	int err = -ENOENT;
	size_t len;

	if (!rest || strstr(rest, "/../"))
		return -ENOENT;
	for (; err == -ENOENT && *root; root += len + (root[len] == ':')) {
		len = strcspn(root, ":");
		if (len)
			err = try_join(w, shared, root, len, rest, "");
	}
	return err;
}

int vmp_elfdebug_shared(const struct vmp_elffile *f, struct vmp_elffile *shared)
{
	GElf_Shdr sh;
	Elf_Data *d = vmp_elffile_data(vmp_elffile_section(f, SHT_PROGBITS, ".gnu_debugaltlink", &sh), &sh);
	const char *name = vmp_elffile_string(d, 0);
	struct vmp_elffile of = { 0 };
	const struct wanted w = { .of = &of, .folder = VMP_BELOW_HOST };
	size_t id_at;
	int err;

	if (!name)
		return -ENOENT;
	id_at = strlen(name) + 1;
	of.build_id_len = d->d_size - id_at;
	if (!of.build_id_len || of.build_id_len > VMP_BUILD_ID_BYTES)
		return -ENOENT;
	memcpy(of.build_id, (const char *)d->d_buf + id_at, of.build_id_len);
	err = in_roots(&w, shared, NULL);
	return err == -ENOENT ? in_dwz(&w, shared, name) : err;
}

int vmp_elfdebug_find(const struct vmp_elffile *f, int folder, const char *path, const char *name,
		      struct vmp_elffile *debug)
{
	const char *slash = strrchr(path, '/');
	size_t beside = slash ? (size_t)(slash - path) + 1 : 0;
	struct wanted w = { .of = f, .folder = folder };
	int err;

	read_link(f, &w);
	err = try_join(&w, debug, path, strlen(path), ".debug", "");
	if (err == -ENOENT)
		err = in_roots(&w, debug, NULL);
	if (err != -ENOENT || !w.link)
		return err;
	err = try_join(&w, debug, path, beside, w.link, "");
	if (err == -ENOENT)
		err = try_join(&w, debug, path, beside, ".debug/", w.link);
	return err == -ENOENT ? in_roots(&w, debug, name) : err;
}
