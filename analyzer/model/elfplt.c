// SPDX-License-Identifier: GPL-2.0-only
/* elfplt.c - decode "jmp *slot(%rip)" and look the slot up in the relocations. */
#include "model/elfplt.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define SLOTS_MAX	(1U << 20)

/* A word of the GOT, and whom the loader puts there */
struct slot {
	uint64_t at;
	const char *name;
};

struct plt {
	const struct vmp_elffile *f;
	const struct vmp_symtab *named;
	VMP_VEC(struct slot) slots;
	int (*fn)(void *arg, uint64_t start, uint64_t end, const char *name);
	void *arg;
};

static int add_slot(struct plt *p, const GElf_Rela *r, Elf_Data *syms, const Elf_Data *str)
{
	const struct vmp_symbol *sym;
	struct slot slot = { .at = r->r_offset };
	GElf_Sym s;

	switch (GELF_R_TYPE(r->r_info)) {
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		if (!syms || GELF_R_SYM(r->r_info) > INT32_MAX ||
		    !gelf_getsym(syms, (int)GELF_R_SYM(r->r_info), &s))
			return 0;
		slot.name = vmp_elffile_string(str, s.st_name);
		break;
	case R_X86_64_IRELATIVE:
		/* the resolver has the name that everybody calls */
		sym = vmp_symtab_find(p->named, (uint64_t)r->r_addend);
		slot.name = sym && sym->start == (uint64_t)r->r_addend ? sym->name : NULL;
		break;
	}
	return slot.name && p->slots.nr < SLOTS_MAX ? vmp_vec_push(&p->slots, slot) : 0;
}

/* Relocations of all tables: .rela.plt, .rela.dyn, .rela.iplt */
static int read_slots(struct plt *p)
{
	GElf_Shdr sh, dyn;
	Elf_Scn *dynsym = vmp_elffile_section(p->f, SHT_DYNSYM, NULL, &dyn), *scn = NULL;
	Elf_Data *syms = dynsym ? vmp_elffile_data(dynsym, &dyn) : NULL, *data;
	const Elf_Data *str = dynsym ? vmp_elffile_linked(p->f, &dyn) : NULL;
	GElf_Rela r;
	size_t i, n;
	int err = 0;

	while (!err && (scn = elf_nextscn(p->f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_entsize != sizeof(Elf64_Rela))
			continue;
		data = vmp_elffile_data(scn, &sh);
		n = data ? data->d_size / sh.sh_entsize : 0;
		for (i = 0; !err && i < n && i <= INT32_MAX && gelf_getrela(data, (int)i, &r); i++)
			err = add_slot(p, &r, syms, str);
	}
	return err;
}

static int by_place(const void *pa, const void *pb)
{
	const struct slot *a = pa, *b = pb;

	return a->at < b->at ? -1 : a->at > b->at;
}

static const char *slot_name(const struct plt *p, uint64_t at)
{
	struct slot key = { .at = at };
	const struct slot *s = p->slots.nr ? bsearch(&key, p->slots.v, p->slots.nr, sizeof(key), by_place) : NULL;

	return s ? s->name : NULL;
}

/* Slot that the stub of @len bytes at @addr jumps through, 0 none */
static uint64_t jump_slot(const uint8_t *code, size_t len, uint64_t addr)
{
	uint32_t disp;
	size_t i = 0;

	if (len >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4))	/* endbr64 */
		i = 4;
	if (i < len && code[i] == 0xf2)				/* bnd */
		i++;
	if (len - i < 6 || code[i] != 0xff || code[i + 1] != 0x25)
		return 0;
	memcpy(&disp, code + i + 2, sizeof(disp));
	return addr + i + 6 + (uint64_t)(int64_t)(int32_t)le32toh(disp);
}

/* Linkers do not tell it of a static program's, where stubs begin at once */
static size_t stub_bytes(const GElf_Shdr *sh, const Elf_Data *d)
{
	const uint8_t *code = d->d_buf;

	if (sh->sh_entsize == 8 || sh->sh_entsize == 16)
		return sh->sh_entsize;
	return d->d_size >= 16 && jump_slot(code, 8, sh->sh_addr) && jump_slot(code + 8, 8, sh->sh_addr + 8) ? 8 : 16;
}

static int walk_section(const struct plt *p, const char *name)
{
	GElf_Shdr sh;
	Elf_Data *d = vmp_elffile_data(vmp_elffile_section(p->f, SHT_PROGBITS, name, &sh), &sh);
	size_t step, at;
	int err = 0;

	if (!d)
		return 0;
	step = stub_bytes(&sh, d);
	for (at = 0; !err && d->d_size - at >= step; at += step) {
		uint64_t slot = jump_slot((const uint8_t *)d->d_buf + at, step, sh.sh_addr + at);
		const char *callee = slot ? slot_name(p, slot) : NULL;

		if (callee && sh.sh_addr + at + step > sh.sh_addr)
			err = p->fn(p->arg, sh.sh_addr + at, sh.sh_addr + at + step, callee);
	}
	return err;
}

int vmp_elfplt_walk(const struct vmp_elffile *f, const struct vmp_symtab *named,
		    int (*fn)(void *arg, uint64_t start, uint64_t end, const char *name), void *arg)
{
	static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct plt p = { .f = f, .named = named, .fn = fn, .arg = arg };
	GElf_Ehdr h;
	size_t i;
	int err;

	if (!gelf_getehdr(f->elf, &h) || h.e_machine != EM_X86_64)
		return 0;
	err = read_slots(&p);
	if (!err && p.slots.nr)
		qsort(p.slots.v, p.slots.nr, sizeof(*p.slots.v), by_place);
	for (i = 0; !err && p.slots.nr && i < sizeof(sections) / sizeof(sections[0]); i++)
		err = walk_section(&p, sections[i]);
	vmp_vec_free(&p.slots);
	return err;
}
