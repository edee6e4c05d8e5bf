// SPDX-License-Identifier: GPL-2.0-only
/*
 * elfsyms.c - function symbols of an ELF file: its own, those of
 * its mini-debuginfo and of its debug file, PLT stubs, and unnamed functions.
 *
 * Everything taken from the file is counted and bounded.
 */
#include "model/elfsyms.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/debuginfod.h"
#include "model/dwarf.h"
#include "model/ehframe.h"
#include "model/elfdebug.h"
#include "model/elfplt.h"
#include "util/below.h"

#define SYMBOLS_MAX	(8U << 20)

struct section {
	uint64_t start, end;
	int exec;
};

struct vmp_elf {
	struct vmp_elffile file;	/* these three hold what names point to */
	struct vmp_elffile mini, debug;
	uint64_t debug_bias;	/* address here less address in the debug file */
	struct vmp_elfsegs segs;
	int stripped;
	struct vmp_symtab symtab;
	VMP_VEC(char *) made;	/* names that are not in the file */
	struct vmp_dwarf *dwarf;
	uint64_t dwarf_bias;
	struct vmp_unpack *unpack;
	int dwarf_tried;
};

/* One file's part in the result */
struct parse {
	struct vmp_elf *e;
	const struct vmp_elffile *f;
	uint64_t bias;
	VMP_VEC(struct section) sections;
};

static int read_sections(struct parse *p)
{
	Elf_Scn *scn = NULL;
	struct section s;
	GElf_Shdr sh;
	size_t n = 0;

	if (elf_getshdrnum(p->f->elf, &n))
		return 0;
	s = (struct section){ 0 };
	if (n && vmp_vec_push(&p->sections, s))	/* number 0 is no section */
		return -ENOMEM;
	while ((scn = elf_nextscn(p->f->elf, scn))) {
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
		.start = sym->st_value + p->bias, .limit = sec->end + p->bias, .name = name,
		.rank = bind == STB_LOCAL ? VMP_SYM_LOCAL : bind == STB_WEAK ? VMP_SYM_WEAK : VMP_SYM_GLOBAL,
	};
	if (sym->st_size)
		out->end = p->bias + (sym->st_size > sec->end - sym->st_value ? sec->end :
				      sym->st_value + sym->st_size);
	return !out->end || out->end > out->start;	/* a bias may wrap */
}

/*
 * "name@VERSION" (old) or "name@@VERSION" (what is linked with today), as .symtab has them, is "name";
 * what others named "name@plt" is a stub, as those that we name.
 */
static int cut_version(struct vmp_elf *e, struct vmp_symbol *sym)
{
	const char *at = strchr(sym->name, '@');
	char *name;

	if (!at || at == sym->name || !strcmp(at, "@plt"))
		return 0;
	if (at[1] != '@')
		sym->rank = VMP_SYM_OLD;
	name = strndup(sym->name, (size_t)(at - sym->name));
	if (!name || vmp_vec_push(&e->made, name)) {
		free(name);
		return -ENOMEM;
	}
	sym->name = name;
	return 0;
}

/* Are versions told of @symbols apart from their names? */
static Elf_Data *versions_of(const struct vmp_elffile *f, Elf_Scn *symbols)
{
	GElf_Shdr sh;
	Elf_Scn *scn = vmp_elffile_section(f, SHT_GNU_versym, NULL, &sh);

	return scn && sh.sh_link == elf_ndxscn(symbols) ? vmp_elffile_data(scn, &sh) : NULL;
}

static int is_old(Elf_Data *versions, size_t i)
{
	GElf_Versym v;

	return versions && i < versions->d_size / sizeof(v) && gelf_getversym(versions, (int)i, &v) && v & 0x8000;
}

static int read_symbols(struct parse *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = vmp_elffile_data(scn, sh), *str = vmp_elffile_linked(p->f, sh);
	Elf_Data *versions = versions_of(p->f, scn);
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
		name = vmp_elffile_string(str, s.st_name);
		if (!name || !wanted(p, &s, name, &sym))
			continue;
		if (is_old(versions, i))
			sym.rank = VMP_SYM_OLD;
		if (cut_version(p->e, &sym) || vmp_vec_push(&p->e->symtab.sym, sym))
			return -ENOMEM;
	}
	return 0;
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
static int add_stub(void *arg, uint64_t start, uint64_t end, const char *name)
{
	char *made;

	if (asprintf(&made, "%s@plt", name) < 0)
		return -ENOMEM;
	return add_made(arg, start, end, made, VMP_SYM_MADE_UP);
}

struct unnamed {
	struct vmp_elf *e;
	const struct vmp_symtab *named;
	uint64_t plt;		/* where that section begins; 0 there is none */
};

/* A function that no symbol names is called by its address; what resolves a lazy stub, by its section */
static int add_unnamed(void *arg, uint64_t start, uint64_t end)
{
	struct unnamed *u = arg;
	char by_address[32];
	char *made;

	if (u->e->symtab.sym.nr >= SYMBOLS_MAX || vmp_symtab_find(u->named, start))
		return 0;
	snprintf(by_address, sizeof(by_address), "sub_%llx", (unsigned long long)start);
	made = strdup(u->plt && start == u->plt ? ".plt" : by_address);
	return made ? add_made(u->e, start, end, made, VMP_SYM_UNNAMED) : -ENOMEM;
}

/*
 * Let @add make symbols of what the file tells beyond those that are there,
 * which are sorted already: it looks them up while it adds.
 */
static int read_more(struct vmp_elf *e, int (*read)(struct vmp_elf *e, const struct vmp_symtab *named))
{
	struct vmp_symtab named = e->symtab;
	int err;

	memset(&e->symtab, 0, sizeof(e->symtab));
	err = read(e, &named);
	if (!err)
		err = vmp_symtab_merge(&e->symtab, &named);
	vmp_symtab_free(&named);
	return err;
}

static int read_stubs(struct vmp_elf *e, const struct vmp_symtab *named)
{
	return vmp_elfplt_walk(&e->file, named, add_stub, e);
}

static int read_unnamed(struct vmp_elf *e, const struct vmp_symtab *named)
{
	struct unnamed u = { .e = e, .named = named };
	GElf_Shdr sh;
	Elf_Data *data;

	if (vmp_elffile_section(&e->file, 0, ".plt", &sh))
		u.plt = sh.sh_addr;
	data = vmp_elffile_data(vmp_elffile_section(&e->file, 0, ".eh_frame", &sh), &sh);
	return data ? vmp_ehframe_walk(data->d_buf, data->d_size, sh.sh_addr, add_unnamed, &u) : 0;
}

/* Functions of one of the files, by both of its tables: .symtab may have been
   cut down to less than .dynsym */
static int read_file(struct vmp_elf *e, const struct vmp_elffile *f, uint64_t bias)
{
	struct parse p = { .e = e, .f = f, .bias = bias };
	GElf_Shdr sh;
	Elf_Scn *scn;
	int err;

	if (f == &e->file)
		vmp_elfsegs_read(&e->segs, f->elf);
	err = read_sections(&p);
	scn = vmp_elffile_section(f, SHT_SYMTAB, NULL, &sh);
	if (!err && scn)
		err = read_symbols(&p, scn, &sh);
	scn = vmp_elffile_section(f, SHT_DYNSYM, NULL, &sh);
	if (!err && scn)
		err = read_symbols(&p, scn, &sh);
	vmp_vec_free(&p.sections);
	return err;
}

/* A prelinked program has other addresses than its debug file. */
static uint64_t bias_of(const struct vmp_elffile *f, const struct vmp_elffile *debug)
{
	GElf_Shdr here, there;

	if (!vmp_elffile_section(f, 0, ".text", &here) || !vmp_elffile_section(debug, 0, ".text", &there))
		return 0;
	return here.sh_addr - there.sh_addr;
}

/* Nearest first: what its own machine has of it, beside it, on this host, and last what a server has */
static int find_debug(struct vmp_elf *e, const struct vmp_elf_place *place)
{
	const struct vmp_elffile *f = &e->file;
	char path[4096];
	int err = -ENOENT;

	if (place->sysroot != VMP_BELOW_HOST)
		err = vmp_elfdebug_find(f, place->sysroot, place->name, place->name, &e->debug);
	/* a path below the sysroot is none of the host's */
	if (err == -ENOENT)
		err = place->folder != VMP_BELOW_HOST ? vmp_elfdebug_by_id(f, &e->debug) :
		      vmp_elfdebug_find(f, VMP_BELOW_HOST, place->path, place->name, &e->debug);
	if (err != -ENOENT || !place->server || !f->build_id_len || !(place->lines || (e->stripped && !e->mini.elf)))
		return err;
	err = vmp_debuginfod_find(place->server, place->vm, VMP_DEBUGINFOD_DEBUG, f->build_id, f->build_id_len, place->name,
				  path, sizeof(path));
	return err ? -ENOENT : vmp_elfdebug_open(f, path, &e->debug);
}

static int read_all(struct vmp_elf *e, const struct vmp_elf_place *place)
{
	GElf_Shdr sh;
	int err;

	e->stripped = !vmp_elffile_section(&e->file, SHT_SYMTAB, NULL, &sh);
	err = read_file(e, &e->file, 0);
	if (!err && e->stripped) {
		err = vmp_elfdebug_mini(&e->file, e->unpack, &e->mini);
		vmp_unpack_hold(e->unpack, e->mini.len);
		vmp_unpack_tell(e->unpack, err);
		if (!err)
			err = read_file(e, &e->mini, 0);
		if (err == -ENOENT || err == -ENOEXEC || err == -EFBIG)
			err = 0;
	}
	if (!err && place && (e->stripped || !vmp_elffile_has_dwarf(&e->file))) {
		err = find_debug(e, place);
		if (!err) {
			e->debug_bias = bias_of(&e->file, &e->debug);
			err = e->stripped ? read_file(e, &e->debug, e->debug_bias) : 0;
		}
		if (err == -ENOENT)
			err = 0;
	}
	if (!err)
		err = vmp_symtab_sort(&e->symtab);
	if (!err)
		err = read_more(e, read_stubs);
	if (!err)
		err = read_more(e, read_unnamed);
	vmp_elffile_rest(&e->file);
	vmp_elffile_rest(&e->debug);
	return err;
}

/* The rest of opening, once e->file is there; takes @e over */
static int finish(struct vmp_elf **out, struct vmp_elf *e, const struct vmp_elf_place *place)
{
	int err = read_all(e, place);

	if (err) {
		vmp_elf_close(e);
		return err;
	}
	*out = e;
	return 0;
}

int vmp_elf_open_memory(struct vmp_elf **out, const void *data, size_t len, struct vmp_unpack *u)
{
	struct vmp_elf *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	err = vmp_elffile_memory(&e->file, data, len);
	if (err) {
		free(e);
		return err;
	}
	e->unpack = u;
	return finish(out, e, NULL);
}

static int is_wanted(const struct vmp_elffile *f, const struct vmp_elf_place *place)
{
	return !place->build_id_len || (f->build_id_len == place->build_id_len &&
					!memcmp(f->build_id, place->build_id, f->build_id_len));
}

int vmp_elf_open_place(struct vmp_elf **out, const struct vmp_elf_place *place)
{
	struct vmp_elf *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	err = vmp_elffile_open_below(&e->file, place->folder, place->path);
	if (!err && !is_wanted(&e->file, place)) {
		vmp_elffile_close(&e->file);
		err = -ESTALE;
	}
	if (err) {
		free(e);
		return err;
	}
	e->unpack = place->unpack;
	return finish(out, e, place);
}

int vmp_elf_open(struct vmp_elf **out, const char *path)
{
	const struct vmp_elf_place place = {
		.folder = VMP_BELOW_HOST, .path = path, .name = path, .sysroot = VMP_BELOW_HOST,
	};

	return vmp_elf_open_place(out, &place);
}

int vmp_elf_overlap(const struct vmp_elf *e, uint64_t offset)
{
	return vmp_elfsegs_overlap(&e->segs, offset);
}

int vmp_elf_vaddr_until(const struct vmp_elf *e, const struct vmp_elf_map *maps, unsigned int nr, uint64_t offset,
			uint64_t *vaddr, uint64_t *same)
{
	return vmp_elfsegs_vaddr(&e->segs, maps, nr, offset, vaddr, same);
}

int vmp_elf_vaddr(const struct vmp_elf *e, uint64_t offset, uint64_t *vaddr)
{
	uint64_t same;

	return vmp_elf_vaddr_until(e, NULL, 0, offset, vaddr, &same);
}

int vmp_elf_decodes(const struct vmp_elf *e)
{
	GElf_Ehdr h;

	return gelf_getehdr(e->file.elf, &h) && h.e_ident[EI_CLASS] == ELFCLASS64 && h.e_machine == EM_X86_64;
}

const uint8_t *vmp_elf_code(const struct vmp_elf *e, uint64_t vaddr, size_t *len)
{
	uint64_t offset = vmp_elfsegs_offset(&e->segs, vaddr, len);

	if (!*len || offset >= e->file.len) {
		*len = 0;
		return NULL;
	}
	if (*len > e->file.len - offset)
		*len = e->file.len - offset;
	return (const uint8_t *)e->file.data + offset;
}

uint64_t vmp_elf_base(const struct vmp_elf *e)
{
	return e->segs.base;
}

const uint8_t *vmp_elf_own_id(const struct vmp_elf *e, size_t *len)
{
	*len = e->file.build_id_len;
	return e->file.build_id;
}

struct vmp_dwarf *vmp_elf_dwarf(struct vmp_elf *e, uint64_t *bias)
{
	int err, other;

	if (!e->dwarf_tried) {
		err = vmp_dwarf_open(&e->dwarf, &e->file, e->unpack);
		if (err && e->debug.elf) {
			e->dwarf_bias = e->debug_bias;
			other = vmp_dwarf_open(&e->dwarf, &e->debug, e->unpack);
			err = other == -ENOENT ? err : other;
		}
		vmp_unpack_tell(e->unpack, err);
	}
	e->dwarf_tried = 1;
	*bias = e->dwarf_bias;
	return e->dwarf;
}

struct vmp_symtab *vmp_elf_symtab(struct vmp_elf *e)
{
	return &e->symtab;
}

const struct vmp_symbol *vmp_elf_symbol(const struct vmp_elf *e, uint64_t vaddr)
{
	return vmp_symtab_find(&e->symtab, vaddr);
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
	vmp_dwarf_close(e->dwarf);
	vmp_elffile_close(&e->debug);
	vmp_unpack_release(e->unpack, e->mini.len);
	vmp_elffile_close(&e->mini);
	vmp_elffile_close(&e->file);
	free(e);
}
