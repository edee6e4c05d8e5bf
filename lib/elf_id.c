// SPDX-License-Identifier: GPL-2.0-only
/* elf_id.c - the GNU build-id of an ELF file; every byte of it is hostile. */
#include "elf_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cursor.h"

#define NOTES_MAX	(16U << 10)	/* bytes of notes in one place that are looked at */

struct entry {
	uint32_t type;
	uint64_t offset;
	uint64_t bytes;
};

/* One of the two that say where notes lie */
struct table {
	uint64_t offset;
	unsigned int entry_bytes, nr;
	uint32_t notes;			/* the type of those entries */
	struct entry (*read)(struct vmp_cursor *c, int is64);
};

static ssize_t fd_read(void *arg, void *buf, size_t len, uint64_t offset)
{
	ssize_t n;

	if (offset > INT64_MAX)
		return 0;
	do {
		n = pread(*(int *)arg, buf, len, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

struct vmp_elf_source vmp_elf_fd(int *fd)
{
	return (struct vmp_elf_source){ fd_read, fd };
}

/* The notes of one place: name size, descriptor size, type, name, descriptor */
static int find_in_notes(struct vmp_cursor c, struct vmp_build_id *id)
{
	uint32_t name_len, desc_len, type;
	const uint8_t *name, *desc;

	while (vmp_cursor_left(&c) >= 12) {
		name_len = vmp_cursor_u32(&c);
		desc_len = vmp_cursor_u32(&c);
		type = vmp_cursor_u32(&c);
		name = vmp_cursor_bytes(&c, name_len);
		vmp_cursor_bytes(&c, -name_len & 3);
		desc = vmp_cursor_bytes(&c, desc_len);
		if (c.failed)
			break;
		if (type == NT_GNU_BUILD_ID && name_len == 4 && !memcmp(name, "GNU", 4) &&
		    desc_len && desc_len <= VMPROF_BUILD_ID_MAX) {
			id->len = desc_len;
			memset(id->bytes, 0, sizeof(id->bytes));
			memcpy(id->bytes, desc, desc_len);
			return 0;
		}
		vmp_cursor_bytes(&c, -desc_len & 3);
	}
	return -ENOENT;
}

static struct entry read_segment(struct vmp_cursor *c, int is64)
{
	struct entry e;

	e.type = vmp_cursor_u32(c);
	if (is64) {
		vmp_cursor_u32(c);		/* flags */
		e.offset = vmp_cursor_u64(c);
		vmp_cursor_bytes(c, 16);	/* addresses */
		e.bytes = vmp_cursor_u64(c);
		vmp_cursor_bytes(c, 16);	/* size in memory, alignment */
	} else {
		e.offset = vmp_cursor_u32(c);
		vmp_cursor_bytes(c, 8);
		e.bytes = vmp_cursor_u32(c);
		vmp_cursor_bytes(c, 12);
	}
	return e;
}

static struct entry read_section(struct vmp_cursor *c, int is64)
{
	struct entry e;

	vmp_cursor_u32(c);			/* name */
	e.type = vmp_cursor_u32(c);
	vmp_cursor_bytes(c, is64 ? 16 : 8);	/* flags, address */
	e.offset = is64 ? vmp_cursor_u64(c) : vmp_cursor_u32(c);
	e.bytes = is64 ? vmp_cursor_u64(c) : vmp_cursor_u32(c);
	vmp_cursor_bytes(c, is64 ? 24 : 16);	/* link, information, alignment, size of entries */
	return e;
}

/* Behind the end of the file entries are zeros */
static int search(const struct vmp_elf_source *src, const struct table *t, int is64, struct vmp_build_id *id)
{
	uint8_t entries[VMP_ELF_ENTRIES_MAX * sizeof(Elf64_Shdr)], notes[NOTES_MAX];
	unsigned int nr = t->nr < VMP_ELF_ENTRIES_MAX ? t->nr : VMP_ELF_ENTRIES_MAX;
	struct vmp_cursor c;
	struct entry e;
	ssize_t n;

	n = src->read(src->arg, entries, nr * t->entry_bytes, t->offset);
	if (n < 0)
		return (int)n;
	for (c = vmp_cursor_init(entries, (size_t)n); nr; nr--) {
		e = t->read(&c, is64);
		if (e.type != t->notes)
			continue;
		n = src->read(src->arg, notes, e.bytes < NOTES_MAX ? e.bytes : NOTES_MAX, e.offset);
		if (n < 0)
			return (int)n;
		if (!find_in_notes(vmp_cursor_init(notes, (size_t)n), id))
			return 0;
	}
	return -ENOENT;
}

int vmp_elf_build_id(const struct vmp_elf_source *src, struct vmp_build_id *id)
{
	uint8_t ident[EI_NIDENT], rest[sizeof(Elf64_Ehdr) - EI_NIDENT];
	struct table segments = { .notes = PT_NOTE, .read = read_segment };
	struct table sections = { .notes = SHT_NOTE, .read = read_section };
	struct vmp_cursor c;
	unsigned int type;
	ssize_t n;
	int is64, err;

	n = src->read(src->arg, ident, sizeof(ident), 0);
	if (n < 0)
		return (int)n;
	if (n < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) || ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32))
		return -ENOEXEC;
	is64 = ident[EI_CLASS] == ELFCLASS64;

	n = src->read(src->arg, rest, sizeof(rest), sizeof(ident));
	if (n < 0)
		return (int)n;
	c = vmp_cursor_init(rest, (size_t)n);
	type = vmp_cursor_u16(&c);
	vmp_cursor_bytes(&c, is64 ? 14 : 10);	/* machine, version, entry */
	segments.offset = is64 ? vmp_cursor_u64(&c) : vmp_cursor_u32(&c);
	sections.offset = is64 ? vmp_cursor_u64(&c) : vmp_cursor_u32(&c);
	vmp_cursor_bytes(&c, 6);		/* flags, header size */
	segments.entry_bytes = vmp_cursor_u16(&c);
	segments.nr = vmp_cursor_u16(&c);
	sections.entry_bytes = vmp_cursor_u16(&c);
	sections.nr = vmp_cursor_u16(&c);
	if (c.failed || (type != ET_EXEC && type != ET_DYN) ||
	    segments.entry_bytes != (is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return -ENOEXEC;

	err = search(src, &segments, is64, id);
	if (err == -ENOENT && sections.entry_bytes == (is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		err = search(src, &sections, is64, id);
	return err;
}
