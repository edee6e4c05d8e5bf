// SPDX-License-Identifier: GPL-2.0-only
/*
 * unpack.c - packed sections of DWARF, put unpacked into an ELF file in memory;
 * every byte that is read here is hostile.
 *
 * Both forms: SHF_COMPRESSED with its header (zlib, zstd), and .zdebug_* with
 * "ZLIB" and a size before it.
 */
#include "model/unpack.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "util/share.h"

#define ZSTD		2U	/* ELFCOMPRESS_ZSTD, which old headers have not */
#define GNU_HEAD	12U	/* "ZLIB" and eight bytes of size, the highest first */
#define ALIGN		16U

/* What functions, inlining and lines are read from; each is .debug_NAME, or .zdebug_NAME */
static const char *const names[] = {
	"info", "types", "abbrev", "addr", "line", "line_str", "str", "str_offsets", "ranges", "rnglists",
};

#define PARTS	(sizeof(names) / sizeof(*names))

enum how { ABSENT, PLAIN, BY_ZLIB, BY_ZSTD, UNKNOWN };

struct part {
	enum how how;
	const uint8_t *data;
	uint64_t len;
	uint64_t bytes;		/* unpacked, as the file says */
};

static const struct {
	const char *key, *text;
} unread[VMP_UNREAD_NR] = {
	[VMP_UNREAD_LARGE] = { "too_large", "too large to be read" },
	[VMP_UNREAD_BROKEN] = { "broken", "damaged" },
};

const char *vmp_unread_key(enum vmp_unread why)
{
	return unread[why].key;
}

const char *vmp_unpack_unread(const struct vmp_unpack *u, char *buf, size_t size)
{
	size_t n = 0;
	int i;

	*buf = 0;
	for (i = 0; i < VMP_UNREAD_NR; i++) {
		if (u->unread[i])
			snprintf(buf + n, size - n, "%s%" PRIu64 "%s %s", n ? ", " : "debugging information: ",
				 u->unread[i], n ? "" : u->unread[i] == 1 ? " file" : " files", unread[i].text);
		n = strlen(buf);
	}
	return buf;
}

void vmp_unpack_tell(struct vmp_unpack *u, int err)
{
	if (u && (err == -EFBIG || err == -EBADMSG))
		u->unread[err == -EFBIG ? VMP_UNREAD_LARGE : VMP_UNREAD_BROKEN]++;
}

struct vmp_unpack *vmp_unpacks_of(struct vmp_unpacks *all, uint32_t vm)
{
	unsigned int i;

	if (!all->nr)
		all->of[all->nr++] = (struct vmp_unpack){ .all = all };
	for (i = 0; i < all->nr; i++)
		if (all->of[i].vm == vm)
			return &all->of[i];
	if (i == VMP_UNPACK_OWNERS)
		return &all->of[i - 1];
	all->of[i] = (struct vmp_unpack){ .vm = vm, .all = all };
	return &all->of[all->nr++];
}

struct vmp_unpack vmp_unpacks_sum(const struct vmp_unpacks *all)
{
	struct vmp_unpack sum = { 0 };
	unsigned int i, j;

	for (i = 0; i < all->nr; i++) {
		sum.held += all->of[i].held;
		for (j = 0; j < VMP_UNREAD_NR; j++)
			sum.unread[j] += all->of[i].unread[j];
	}
	return sum;
}

uint64_t vmp_unpack_room(const struct vmp_unpack *u)
{
	uint64_t held, left;

	if (!u)
		return VMP_UNPACK_OWN;
	held = u->all ? vmp_unpacks_sum(u->all).held : u->held;
	left = held < VMP_UNPACK_ALL ? VMP_UNPACK_ALL - held : 0;
	if (u->vm)
		left = vmp_share(left, u->held);
	return left < VMP_UNPACK_FILE ? left : VMP_UNPACK_FILE;
}

void vmp_unpack_hold(struct vmp_unpack *u, uint64_t bytes)
{
	if (u)
		u->held += bytes;
}

void vmp_unpack_release(struct vmp_unpack *u, uint64_t bytes)
{
	if (u)
		u->held -= bytes;
}

/* ------------------------------------------------------- what is packed how */

/* A section with SHF_COMPRESSED: behind its header */
static void take_compressed(struct part *p, int is_64)
{
	size_t head = is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	Elf64_Chdr h = { 0 };
	Elf32_Chdr h32;

	p->how = UNKNOWN;
	if (p->len < head)
		return;
	if (is_64) {
		memcpy(&h, p->data, sizeof(h));
	} else {
		memcpy(&h32, p->data, sizeof(h32));
		h.ch_type = h32.ch_type;
		h.ch_size = h32.ch_size;
	}
	if (h.ch_type == ELFCOMPRESS_ZLIB)
		p->how = BY_ZLIB;
	else if (h.ch_type == ZSTD)
		p->how = BY_ZSTD;
	p->data += head;
	p->len -= head;
	p->bytes = h.ch_size;
}

/* .zdebug_*: one without the head was unpacked by somebody already */
static void take_gnu(struct part *p)
{
	if (p->len < GNU_HEAD || memcmp(p->data, "ZLIB", 4))
		return;
	memcpy(&p->bytes, p->data + 4, sizeof(p->bytes));
	p->bytes = be64toh(p->bytes);
	p->how = BY_ZLIB;
	p->data += GNU_HEAD;
	p->len -= GNU_HEAD;
}

/* Which part a section is, PARTS none */
static size_t part_of(const char *name)
{
	size_t i;

	if (!name || *name != '.')
		return PARTS;
	name += name[1] == 'z' ? 2 : 1;
	if (strncmp(name, "debug_", 6))
		return PARTS;
	for (i = 0; i < PARTS && strcmp(name + 6, names[i]); i++)
		;
	return i;
}

/*
 * All parts, as the file says.  What libdw would pass over is passed over.
 * Return: is anything packed in the file, be it a part or not?
 */
static int take_parts(const struct vmp_elffile *f, struct part *parts)
{
	int packed = 0, is_64 = gelf_getclass(f->elf) == ELFCLASS64;
	Elf_Data *str = NULL;
	Elf_Scn *scn = NULL;
	size_t shstrndx, i;
	const char *name;
	GElf_Shdr sh;

	if (!elf_getshdrstrndx(f->elf, &shstrndx))
		str = elf_getdata(elf_getscn(f->elf, shstrndx), NULL);
	while ((scn = elf_nextscn(f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		name = vmp_elffile_string(str, sh.sh_name);
		packed |= (sh.sh_flags & SHF_COMPRESSED) || (name && !strncmp(name, ".zdebug", 7));
		i = part_of(name);
		if (i == PARTS || parts[i].how != ABSENT || sh.sh_type == SHT_NOBITS || (sh.sh_flags & SHF_GROUP) ||
		    sh.sh_offset > f->len || sh.sh_size > f->len - sh.sh_offset)
			continue;
		parts[i] = (struct part){
			.how = PLAIN, .data = (const uint8_t *)f->data + sh.sh_offset, .len = sh.sh_size, .bytes = sh.sh_size,
		};
		if (sh.sh_flags & SHF_COMPRESSED)
			take_compressed(&parts[i], is_64);
		else if (name[1] == 'z')
			take_gnu(&parts[i]);
	}
	return packed;
}

/* ---------------------------------------------------------------- unpacking */

/* Several streams may lie one behind the other. */
static int by_zlib(const struct part *p, uint8_t *out)
{
	z_stream z = { 0 };
	int ret;

	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	z.next_in = (Bytef *)(uintptr_t)p->data;
	z.avail_in = (uInt)p->len;
	z.next_out = out;
	z.avail_out = (uInt)p->bytes;
	do {
		ret = inflate(&z, Z_FINISH);
	} while (ret == Z_STREAM_END && z.avail_out && z.avail_in && inflateReset(&z) == Z_OK);
	inflateEnd(&z);
	if (ret == Z_MEM_ERROR)
		return -ENOMEM;
	return ret == Z_STREAM_END && !z.avail_out ? 0 : -EBADMSG;
}

/* What comes out is as long as it was said to be, or nothing counts. */
static int unpack(const struct part *p, uint8_t *out)
{
	switch (p->how) {
	case PLAIN:
		memcpy(out, p->data, p->bytes);
		return 0;
	case BY_ZLIB:
		return by_zlib(p, out);
	case BY_ZSTD:
		return ZSTD_decompress(out, p->bytes, p->data, p->len) == p->bytes ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

/* ------------------------------------------------------------------ the image */

static uint64_t aligned(uint64_t n)
{
	return (n + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

/*
 * An ELF file: its header, names of sections, the parts, headers of sections.
 * Of 64 bits whatever the file has: DWARF tells its addresses' size itself.
 */
static int build(const struct part *parts, unsigned int machine, uint64_t room, struct vmp_elffile *image)
{
	uint64_t str = sizeof(Elf64_Ehdr), at = str + 1 + sizeof(".shstrtab"), total, i;
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = (Elf64_Half)machine, .e_version = EV_CURRENT, .e_ehsize = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 2, .e_shstrndx = 1,
	};
	Elf64_Shdr sh[PARTS + 2] = { { 0 } };
	uint8_t *buf;
	int err = 0;

	for (i = 0; i < PARTS; i++)
		at += sizeof(".debug_") + strlen(names[i]);
	sh[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = str, .sh_size = at - str, .sh_addralign = 1 };
	total = aligned(at);
	for (i = 0; i < PARTS; i++) {
		if (parts[i].bytes > room || total > room - parts[i].bytes)
			return -EFBIG;
		total = aligned(total + parts[i].bytes);
	}
	total += sizeof(sh);
	buf = calloc(1, total);
	if (!buf)
		return -ENOMEM;

	memcpy(buf + str + 1, ".shstrtab", sizeof(".shstrtab"));
	at = str + 1 + sizeof(".shstrtab");
	total = aligned(str + sh[1].sh_size);
	for (i = 0; !err && i < PARTS; i++) {
		Elf64_Shdr *s = &sh[h.e_shnum];

		if (parts[i].how == ABSENT)
			continue;
		*s = (Elf64_Shdr){
			.sh_name = (Elf64_Word)(at - str), .sh_type = SHT_PROGBITS, .sh_offset = total,
			.sh_size = parts[i].bytes, .sh_addralign = 1,
		};
		at += 1 + (uint64_t)sprintf((char *)buf + at, ".debug_%s", names[i]);
		err = unpack(&parts[i], buf + total);
		total = aligned(total + parts[i].bytes);
		h.e_shnum++;
	}
	h.e_shoff = total;
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + total, sh, h.e_shnum * sizeof(*sh));
	total += h.e_shnum * sizeof(*sh);
	if (!err)
		err = vmp_elffile_memory(image, buf, total);
	if (err)
		free(buf);
	else
		image->heap = buf;
	return err;
}

int vmp_unpack_dwarf(const struct vmp_elffile *f, const struct vmp_unpack *u, struct vmp_elffile *image)
{
	struct part parts[PARTS] = { { 0 } };
	GElf_Ehdr h;

	if (!take_parts(f, parts))
		return -ENOENT;
	return build(parts, gelf_getehdr(f->elf, &h) ? h.e_machine : EM_NONE, vmp_unpack_room(u), image);
}

int vmp_unpack_nothing(struct vmp_elffile *image)
{
	static const uint8_t zeros[16];
	const struct part parts[PARTS] = { { .how = PLAIN, .data = zeros, .len = sizeof(zeros), .bytes = sizeof(zeros) } };

	return build(parts, EM_NONE, UINT64_MAX, image);
}
