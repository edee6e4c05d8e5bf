// SPDX-License-Identifier: GPL-2.0-only
/* elffile.c - map, check and open ELF files; find sections and build-ids in them. */
#include "model/elffile.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_id.h"
#include "util/below.h"

#define FILE_MAX	(2ULL << 30)
#define NAME_MAX_BYTES	8192
#define NOTES_MAX	(1U << 20)	/* bytes of notes in which a build-id is looked for; some compilers make large ones of their own */

/* Where a file has its tables, whatever its class */
struct tables {
	int is_64;
	uint64_t phoff, shoff;
	unsigned int phnum, phentsize, shnum, shentsize;
};

#define TABLES(h, is64) ((struct tables){ \
	.is_64 = (is64), .phoff = (h).e_phoff, .shoff = (h).e_shoff, .phnum = (h).e_phnum, \
	.phentsize = (h).e_phentsize, .shnum = (h).e_shnum, .shentsize = (h).e_shentsize })

static int read_header(const uint8_t *data, size_t len, struct tables *t)
{
	Elf64_Ehdr h;
	Elf32_Ehdr h32;

	if (len < sizeof(h32) || memcmp(data, ELFMAG, SELFMAG) ||
	    data[EI_DATA] != ELFDATA2LSB || data[EI_VERSION] != EV_CURRENT)
		return 0;
	if (data[EI_CLASS] == ELFCLASS64 && len >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		*t = TABLES(h, 1);
		return 1;
	}
	if (data[EI_CLASS] != ELFCLASS32)
		return 0;
	memcpy(&h32, data, sizeof(h32));
	*t = TABLES(h32, 0);
	return 1;
}

static void read_section(const uint8_t *at, int is_64, uint32_t *type, uint64_t *offset, uint64_t *bytes)
{
	Elf64_Shdr sh;
	Elf32_Shdr sh32;

	if (is_64) {
		memcpy(&sh, at, sizeof(sh));
		*type = sh.sh_type;
		*offset = sh.sh_offset;
		*bytes = sh.sh_size;
	} else {
		memcpy(&sh32, at, sizeof(sh32));
		*type = sh32.sh_type;
		*offset = sh32.sh_offset;
		*bytes = sh32.sh_size;
	}
}

static int within(size_t len, uint64_t offset, uint64_t nr, size_t entry)
{
	return offset <= len && nr <= (len - offset) / entry;
}

/*
 * Tables that lie outside of the file end the reading before libelf sees them, and so do sections that lie on one
 * another: libelf copies each that is not aligned, and we walk through them, so that of a few MiB could be any number.
 */
static int plausible(const uint8_t *data, size_t len)
{
	uint64_t nr, offset, bytes, sum = 0;
	size_t entry;
	struct tables t;
	uint32_t type;

	if (!read_header(data, len, &t))
		return 0;
	entry = t.is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (t.phnum && (t.phentsize != entry || !within(len, t.phoff, t.phnum, entry)))
		return 0;
	if (!t.shoff)
		return 1;
	entry = t.is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	if (t.shentsize != entry || !within(len, t.shoff, 1, entry))
		return 0;
	nr = t.shnum;
	if (!nr)	/* the header cannot tell so many: the first section does */
		read_section(data + t.shoff, t.is_64, &type, &offset, &nr);
	if (nr > VMP_ELFFILE_SECTIONS_MAX || !within(len, t.shoff, nr, entry))
		return 0;
	for (data += t.shoff; nr; nr--, data += entry) {
		read_section(data, t.is_64, &type, &offset, &bytes);
		if (type != SHT_NULL && type != SHT_NOBITS && within(len, offset, bytes, 1))
			sum += bytes;
	}
	return sum / 2 <= len;
}

const char *vmp_elffile_string(const Elf_Data *str, uint64_t offset)
{
	const char *s, *end;
	size_t left;

	if (!str || !str->d_buf || offset >= str->d_size)
		return NULL;
	s = (const char *)str->d_buf + offset;
	left = str->d_size - offset;
	end = memchr(s, 0, left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
	return end && end != s ? s : NULL;
}

Elf_Scn *vmp_elffile_section(const struct vmp_elffile *f, unsigned int type, const char *name, GElf_Shdr *sh)
{
	size_t names = 0;
	Elf_Data *str = NULL;
	Elf_Scn *scn = NULL;
	const char *n;

	if (name && !elf_getshdrstrndx(f->elf, &names) && names)
		str = elf_getdata(elf_getscn(f->elf, names), NULL);
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, sh) || (type && sh->sh_type != type))
			continue;
		if (!name)
			return scn;
		n = vmp_elffile_string(str, sh->sh_name);
		if (n && !strcmp(n, name))
			return scn;
	}
	return NULL;
}

int vmp_elffile_has_dwarf(const struct vmp_elffile *f)
{
	GElf_Shdr sh;

	return (vmp_elffile_section(f, 0, ".debug_info", &sh) || vmp_elffile_section(f, 0, ".zdebug_info", &sh)) &&
	       sh.sh_type != SHT_NOBITS;
}

Elf_Data *vmp_elffile_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = scn && sh->sh_type != SHT_NOBITS ? elf_getdata(scn, NULL) : NULL;

	return d && d->d_buf ? d : NULL;
}

Elf_Data *vmp_elffile_linked(const struct vmp_elffile *f, const GElf_Shdr *sh)
{
	Elf_Scn *scn = elf_getscn(f->elf, sh->sh_link);
	GElf_Shdr str;

	if (!scn || !gelf_getshdr(scn, &str) || str.sh_type != SHT_STRTAB)
		return NULL;
	return elf_getdata(scn, NULL);
}

/* Return: 1 when it is among a section's notes */
static int take_build_id(struct vmp_elffile *f, Elf_Data *d)
{
	size_t at = 0, name, desc;
	GElf_Nhdr n;

	while (d && (at = gelf_getnote(d, at, &n, &name, &desc))) {
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 || n.n_descsz > VMP_BUILD_ID_BYTES ||
		    memcmp((const char *)d->d_buf + name, "GNU", 4))
			continue;
		memcpy(f->build_id, (const char *)d->d_buf + desc, n.n_descsz);
		f->build_id_len = n.n_descsz;
		return 1;
	}
	return 0;
}

static ssize_t image_read(void *arg, void *buf, size_t len, uint64_t offset)
{
	const struct vmp_elffile *f = arg;

	if (offset >= f->len)
		return 0;
	if (len > f->len - offset)
		len = f->len - offset;
	memcpy(buf, (const uint8_t *)f->data + offset, len);
	return (ssize_t)len;
}

/* Linkers give it a section of its own; the vdso has one for all notes; a file without sections has it in a segment */
static void read_build_id(struct vmp_elffile *f)
{
	struct vmp_build_id id;
	uint64_t left = NOTES_MAX;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE || sh.sh_size > left)
			continue;
		left -= sh.sh_size;
		if (take_build_id(f, vmp_elffile_data(scn, &sh)))
			return;
	}
	if (!vmp_elf_build_id(&(struct vmp_elf_source){ image_read, f }, &id)) {
		memcpy(f->build_id, id.bytes, id.len);
		f->build_id_len = id.len;
	}
}

int vmp_elffile_memory(struct vmp_elffile *f, const void *data, size_t len)
{
	memset(f, 0, sizeof(*f));
	if (!plausible(data, len))
		return -ENOEXEC;
	elf_version(EV_CURRENT);
	/* libelf only reads; its interface lacks the const */
	f->elf = elf_memory((char *)(uintptr_t)data, len);
	if (!f->elf)
		return elf_errno() && errno == ENOMEM ? -ENOMEM : -ENOEXEC;
	if (elf_kind(f->elf) != ELF_K_ELF) {
		vmp_elffile_close(f);
		return -ENOEXEC;
	}
	f->data = data;
	f->len = len;
	read_build_id(f);
	return 0;
}

int vmp_elffile_open_below(struct vmp_elffile *f, int folder, const char *path)
{
	struct stat st;
	void *map;
	int fd, err;

	fd = vmp_below_open(folder, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || !st.st_size)
		err = -ENOEXEC;
	else
		err = (uint64_t)st.st_size > FILE_MAX ? -EFBIG : 0;
	if (err) {
		close(fd);
		return err;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -errno;
	err = vmp_elffile_memory(f, map, (size_t)st.st_size);
	if (err)
		munmap(map, (size_t)st.st_size);
	else
		f->map = map;
	return err;
}

int vmp_elffile_open(struct vmp_elffile *f, const char *path)
{
	return vmp_elffile_open_below(f, VMP_BELOW_HOST, path);
}

void vmp_elffile_rest(const struct vmp_elffile *f)
{
	if (f->map)
		madvise(f->map, f->len, MADV_DONTNEED);
}

void vmp_elffile_close(struct vmp_elffile *f)
{
	elf_end(f->elf);
	if (f->map)
		munmap(f->map, f->len);
	free(f->heap);
	memset(f, 0, sizeof(*f));
}
