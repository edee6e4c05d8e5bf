// SPDX-License-Identifier: GPL-2.0-only
/* elf_id.c - the GNU build-id of an ELF file; every byte of it is hostile. */
#include "elf_id.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cursor.h"

#define NOTES_MAX	(16U << 10)	/* bytes of one note segment that are looked at */

struct segment {
	uint32_t type;
	uint64_t offset;
	uint64_t bytes;
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

/* The notes of one segment: name size, descriptor size, type, name, descriptor */
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

static struct segment read_segment(struct vmp_cursor *c, int is64)
{
	struct segment s;

	s.type = vmp_cursor_u32(c);
	if (is64) {
		vmp_cursor_u32(c);		/* flags */
		s.offset = vmp_cursor_u64(c);
		vmp_cursor_bytes(c, 16);	/* addresses */
		s.bytes = vmp_cursor_u64(c);
		vmp_cursor_bytes(c, 16);	/* size in memory, alignment */
	} else {
		s.offset = vmp_cursor_u32(c);
		vmp_cursor_bytes(c, 8);
		s.bytes = vmp_cursor_u32(c);
		vmp_cursor_bytes(c, 12);
	}
	return s;
}

static int search_segments(const struct vmp_elf_source *src, struct vmp_cursor headers,
			   unsigned int nr, int is64, struct vmp_build_id *id)
{
	uint8_t notes[NOTES_MAX];
	struct segment s;
	ssize_t n;

	for (; nr; nr--) {
		s = read_segment(&headers, is64);
		if (headers.failed)
			return -ENOEXEC;
		if (s.type != PT_NOTE)
			continue;
		n = src->read(src->arg, notes, s.bytes < NOTES_MAX ? s.bytes : NOTES_MAX,
			      s.offset);
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
	uint8_t headers[VMP_ELF_PHDRS_MAX * sizeof(Elf64_Phdr)];
	unsigned int phentsize, phnum;
	struct vmp_cursor c;
	uint64_t phoff;
	ssize_t n;
	int is64;

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
	vmp_cursor_bytes(&c, is64 ? 16 : 12);	/* type, machine, version, entry */
	phoff = is64 ? vmp_cursor_u64(&c) : vmp_cursor_u32(&c);
	vmp_cursor_bytes(&c, is64 ? 14 : 10);	/* section headers, flags, header size */
	phentsize = vmp_cursor_u16(&c);
	phnum = vmp_cursor_u16(&c);
	if (c.failed || phentsize != (is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return -ENOEXEC;
	if (phnum > VMP_ELF_PHDRS_MAX)
		phnum = VMP_ELF_PHDRS_MAX;

	n = src->read(src->arg, headers, phnum * phentsize, phoff);
	if (n < 0)
		return (int)n;
	return search_segments(src, vmp_cursor_init(headers, (size_t)n), phnum, is64, id);
}
