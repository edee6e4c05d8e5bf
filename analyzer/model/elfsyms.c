// SPDX-License-Identifier: GPL-2.0-only
/*
 * elfsyms.c - segments and function symbols of an ELF file by libelf.
 *
 * libelf bounds its own accesses by the image it was given; on top of that
 * we check the tables' places before it looks, count what we take, and use
 * strings only up to the end of their section.
 */
#include "model/elfsyms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/ehframe.h"

#define FILE_MAX	(2ULL << 30)
#define SEGMENTS_MAX	256
#define SECTIONS_MAX	65536
#define SYMBOLS_MAX	(8U << 20)
#define NAME_MAX_BYTES	8192

struct segment {
	uint64_t offset, vaddr, bytes;
};

struct section {
	uint64_t start, end;
	int exec;
};

struct vmp_elf {
	Elf *elf;		/* holds what names point to */
	void *map;
	size_t map_bytes;
	struct segment seg[SEGMENTS_MAX];
	int nr_seg;
	int stripped;
	struct vmp_symtab symtab;
	VMP_VEC(char *) made;	/* names that are not in the file */
};

/* What a parse needs besides the result */
struct parse {
	struct vmp_elf *e;
	Elf *elf;
	size_t shstrndx;
	VMP_VEC(struct section) sections;
};

/* Tables that lie outside of the file end the reading before libelf sees them. */
static int plausible(const uint8_t *data, size_t len)
{
	Elf64_Ehdr h;
	Elf32_Ehdr h32;

	if (len < sizeof(h32) || memcmp(data, ELFMAG, SELFMAG) ||
	    data[EI_DATA] != ELFDATA2LSB || data[EI_VERSION] != EV_CURRENT)
		return 0;
	if (data[EI_CLASS] == ELFCLASS64) {
		if (len < sizeof(h))
			return 0;
		memcpy(&h, data, sizeof(h));
		if (h.e_phnum && (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > len ||
				  h.e_phnum > (len - h.e_phoff) / sizeof(Elf64_Phdr)))
			return 0;
		return !h.e_shoff || (h.e_shentsize == sizeof(Elf64_Shdr) && h.e_shoff < len &&
				      h.e_shnum <= (len - h.e_shoff) / sizeof(Elf64_Shdr));
	}
	if (data[EI_CLASS] != ELFCLASS32)
		return 0;
	memcpy(&h32, data, sizeof(h32));
	if (h32.e_phnum && (h32.e_phentsize != sizeof(Elf32_Phdr) || h32.e_phoff > len ||
			    h32.e_phnum > (len - h32.e_phoff) / sizeof(Elf32_Phdr)))
		return 0;
	return !h32.e_shoff || (h32.e_shentsize == sizeof(Elf32_Shdr) && h32.e_shoff < len &&
				h32.e_shnum <= (len - h32.e_shoff) / sizeof(Elf32_Shdr));
}

static void read_segments(struct parse *p)
{
	size_t n = 0, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(p->elf, &n))
		return;
	for (i = 0; i < n && p->e->nr_seg < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(p->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || ph.p_offset + ph.p_filesz < ph.p_offset)
			continue;
		p->e->seg[p->e->nr_seg++] = (struct segment){ ph.p_offset, ph.p_vaddr, ph.p_filesz };
	}
}

static int read_sections(struct parse *p)
{
	Elf_Scn *scn = NULL;
	struct section s;
	GElf_Shdr sh;
	size_t n = 0;

	if (elf_getshdrnum(p->elf, &n) || n > SECTIONS_MAX)
		return 0;
	if (elf_getshdrstrndx(p->elf, &p->shstrndx))
		p->shstrndx = 0;
	s = (struct section){ 0 };
	if (n && vmp_vec_push(&p->sections, s))	/* number 0 is no section */
		return -ENOMEM;
	while ((scn = elf_nextscn(p->elf, scn))) {
		s = (struct section){ 0 };
		if (gelf_getshdr(scn, &sh) && sh.sh_addr + sh.sh_size >= sh.sh_addr) {
			s.start = sh.sh_addr;
			s.end = sh.sh_addr + sh.sh_size;
			s.exec = !!(sh.sh_flags & SHF_EXECINSTR);
		}
		if (vmp_vec_push(&p->sections, s))
			return -ENOMEM;
	}
	return 0;
}

/* String at @offset of a string section; NULL unless it ends inside it */
static const char *string_at(Elf_Data *str, uint64_t offset)
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

static Elf_Data *linked_strings(struct parse *p, const GElf_Shdr *sh)
{
	Elf_Scn *scn = elf_getscn(p->elf, sh->sh_link);
	GElf_Shdr str;

	if (!scn || !gelf_getshdr(scn, &str) || str.sh_type != SHT_STRTAB)
		return NULL;
	return elf_getdata(scn, NULL);
}

static int wanted(const struct parse *p, const GElf_Sym *sym, const char *name, struct vmp_symbol *out)
{
	int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	const struct section *sec;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= p->sections.nr)
		return 0;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	sec = &p->sections.v[sym->st_shndx];
	if (!sec->exec || sym->st_value < sec->start || sym->st_value >= sec->end)
		return 0;
	/* assembler labels and mapping symbols are not functions */
	if (type == STT_NOTYPE && (name[0] == '.' || name[0] == '$'))
		return 0;
	*out = (struct vmp_symbol){
		.start = sym->st_value, .limit = sec->end, .name = name,
		.rank = bind == STB_LOCAL ? VMP_SYM_LOCAL : bind == STB_WEAK ? VMP_SYM_WEAK : VMP_SYM_GLOBAL,
	};
	if (sym->st_size)
		out->end = sym->st_size > sec->end - sym->st_value ? sec->end : sym->st_value + sym->st_size;
	return 1;
}

static int read_symbols(struct parse *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL), *str = linked_strings(p, sh);
	struct vmp_symbol sym;
	size_t n, i;
	GElf_Sym s;

	if (!data || !str || !sh->sh_entsize)
		return 0;
	n = data->d_size / sh->sh_entsize;
	for (i = 1; i < n && p->e->symtab.sym.nr < SYMBOLS_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &s))
			break;
		name = string_at(str, s.st_name);
		if (name && wanted(p, &s, name, &sym) && vmp_vec_push(&p->e->symtab.sym, sym))
			return -ENOMEM;
	}
	return 0;
}

static Elf_Scn *find_section(struct parse *p, unsigned type, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *names = p->shstrndx ? elf_getscn(p->elf, p->shstrndx) : NULL;
	Elf_Data *str = names ? elf_getdata(names, NULL) : NULL;
	Elf_Scn *scn = NULL;
	const char *n;

	while ((scn = elf_nextscn(p->elf, scn))) {
		if (!gelf_getshdr(scn, sh) || (type && sh->sh_type != type))
			continue;
		if (!name)
			return scn;
		n = string_at(str, sh->sh_name);
		if (n && !strcmp(n, name))
			return scn;
	}
	return NULL;
}

/* A symbol that is not in the file; @name is from malloc() and taken over */
static int add_made(struct vmp_elf *e, uint64_t start, uint64_t end, char *name,
		    enum vmp_symbol_rank rank)
{
	struct vmp_symbol sym = {
		.start = start, .end = end, .limit = end, .name = name, .rank = rank,
	};

	if (vmp_vec_push(&e->made, name)) {
		free(name);
		return -ENOMEM;
	}
	return vmp_vec_push(&e->symtab.sym, sym);
}

/* One stub: "name@plt" */
static int add_stub(struct parse *p, uint64_t start, uint64_t size, const char *name)
{
	char *made;

	if (asprintf(&made, "%s@plt", name) < 0)
		return -ENOMEM;
	return add_made(p->e, start, start + size, made, VMP_SYM_MADE_UP);
}

/*
 * x86-64: the n-th relocation of .rela.plt belongs to the n-th stub of
 * .plt.sec, or where there is none to the one behind the first of .plt.
 */
static int read_plt(struct parse *p)
{
	GElf_Shdr plt, rela, dyn;
	Elf_Scn *scn, *dynsym;
	Elf_Data *data, *syms, *str;
	uint64_t at;
	size_t n, i;
	GElf_Rela r;
	GElf_Sym s;

	if (find_section(p, SHT_PROGBITS, ".plt.sec", &plt))
		at = plt.sh_addr;
	else if (find_section(p, SHT_PROGBITS, ".plt", &plt))
		at = plt.sh_addr + 16;
	else
		return 0;
	scn = find_section(p, SHT_RELA, ".rela.plt", &rela);
	dynsym = scn ? find_section(p, SHT_DYNSYM, NULL, &dyn) : NULL;
	if (!dynsym || plt.sh_addr + plt.sh_size < plt.sh_addr || !rela.sh_entsize)
		return 0;
	data = elf_getdata(scn, NULL);
	syms = elf_getdata(dynsym, NULL);
	str = linked_strings(p, &dyn);
	if (!data || !syms || !str)
		return 0;
	n = data->d_size / rela.sh_entsize;
	for (i = 0; i < n && at < plt.sh_addr + plt.sh_size && at >= plt.sh_addr; i++, at += 16) {
		const char *name;

		if (!gelf_getrela(data, (int)i, &r) || GELF_R_SYM(r.r_info) > INT32_MAX ||
		    !gelf_getsym(syms, (int)GELF_R_SYM(r.r_info), &s))
			continue;
		name = string_at(str, s.st_name);
		if (name && add_stub(p, at, 16, name))
			return -ENOMEM;
	}
	return 0;
}

struct unnamed {
	struct vmp_elf *e;
	const struct vmp_symtab *named;
};

/* A function that no symbol names is called by its address */
static int add_unnamed(void *arg, uint64_t start, uint64_t end)
{
	struct unnamed *u = arg;
	char *made;

	if (u->e->symtab.sym.nr >= SYMBOLS_MAX || vmp_symtab_find(u->named, start))
		return 0;
	if (asprintf(&made, "sub_%llx", (unsigned long long)start) < 0)
		return -ENOMEM;
	return add_made(u->e, start, end, made, VMP_SYM_UNNAMED);
}

/* What .eh_frame knows beyond the symbols, which are sorted already */
static int read_unnamed(struct parse *p)
{
	struct vmp_symtab named = p->e->symtab;
	struct unnamed u = { .e = p->e, .named = &named };
	Elf_Data *data;
	GElf_Shdr sh;
	Elf_Scn *scn;
	int err = 0;

	scn = find_section(p, 0, ".eh_frame", &sh);
	data = scn && sh.sh_type != SHT_NOBITS ? elf_getdata(scn, NULL) : NULL;
	if (!data || !data->d_buf)
		return 0;
	/* the walk looks names up in what it adds to: give it a table of its own */
	memset(&p->e->symtab, 0, sizeof(p->e->symtab));
	err = vmp_ehframe_walk(data->d_buf, data->d_size, sh.sh_addr, add_unnamed, &u);
	if (!err)
		err = vmp_symtab_merge(&p->e->symtab, &named);
	vmp_symtab_free(&named);
	return err;
}

static int parse(struct vmp_elf *e, const void *data, size_t len)
{
	struct parse p = { .e = e };
	GElf_Shdr sh;
	Elf_Scn *scn;
	int err;

	elf_version(EV_CURRENT);
	/* libelf only reads; its interface lacks the const */
	p.elf = elf_memory((char *)(uintptr_t)data, len);
	if (!p.elf)
		return errno == ENOMEM ? -ENOMEM : -ENOEXEC;
	e->elf = p.elf;
	if (elf_kind(p.elf) != ELF_K_ELF)
		return -ENOEXEC;
	read_segments(&p);
	err = read_sections(&p);
	scn = find_section(&p, SHT_SYMTAB, NULL, &sh);
	e->stripped = !scn;
	if (!err && scn)
		err = read_symbols(&p, scn, &sh);
	scn = find_section(&p, SHT_DYNSYM, NULL, &sh);
	if (!err && scn)	/* .symtab may have been cut down to less than this */
		err = read_symbols(&p, scn, &sh);
	if (!err)
		err = read_plt(&p);
	if (!err)
		err = vmp_symtab_sort(&e->symtab);
	if (!err)
		err = read_unnamed(&p);
	vmp_vec_free(&p.sections);
	return err;
}

int vmp_elf_open_memory(struct vmp_elf **out, const void *data, size_t len)
{
	struct vmp_elf *e;
	int err;

	if (!plausible(data, len))
		return -ENOEXEC;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	err = parse(e, data, len);
	if (err) {
		vmp_elf_close(e);
		return err;
	}
	*out = e;
	return 0;
}

int vmp_elf_open(struct vmp_elf **out, const char *path)
{
	struct stat st;
	void *map;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
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
	err = vmp_elf_open_memory(out, map, (size_t)st.st_size);
	if (err) {
		munmap(map, (size_t)st.st_size);
		return err;
	}
	(*out)->map = map;
	(*out)->map_bytes = (size_t)st.st_size;
	return 0;
}

int vmp_elf_vaddr_until(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr, uint64_t *same)
{
	int i;

	for (i = 0; i < e->nr_seg; i++) {
		/* the kernel maps whole pages: what lies before the segment in its
		   first page belongs to none */
		if (offset < e->seg[i].offset || offset - e->seg[i].offset >= e->seg[i].bytes)
			continue;
		*vaddr = e->seg[i].vaddr + (offset - e->seg[i].offset);
		*same = e->seg[i].offset + e->seg[i].bytes;
		return 0;
	}
	return -ENOENT;
}

int vmp_elf_vaddr(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr)
{
	uint64_t same;

	return vmp_elf_vaddr_until(e, offset, vaddr, &same);
}

struct vmp_symtab *vmp_elf_symtab(struct vmp_elf *e)
{
	return &e->symtab;
}

const struct vmp_symbol *vmp_elf_symbol(const struct vmp_elf *e, uint64_t vaddr)
{
	return vmp_symtab_find(&e->symtab, vaddr);
}

int vmp_elf_stripped(const struct vmp_elf *e)
{
	return e->stripped;
}

void vmp_elf_close(struct vmp_elf *e)
{
	uint32_t i;

	if (!e)
		return;
	for (i = 0; i < e->made.nr; i++)
		free(e->made.v[i]);
	vmp_vec_free(&e->made);
	vmp_symtab_free(&e->symtab);
	elf_end(e->elf);
	if (e->map)
		munmap(e->map, e->map_bytes);
	free(e);
}
