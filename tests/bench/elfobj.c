// SPDX-License-Identifier: GPL-2.0-only
/* elfobj.c - writes ET_DYN files: note and .text in one segment, .symtab behind them. */
#include "elfobj.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_AT	0x200

enum { SEC_NULL, SEC_NOTE, SEC_TEXT, SEC_SYMTAB, SEC_STRTAB, SEC_SHSTRTAB, SEC_NR };

static const char names[] = "\0.note.gnu.build-id\0.text\0.symtab\0.strtab\0.shstrtab";

static void write_note(FILE *f, const struct world_image *im)
{
	Elf64_Nhdr n = { .n_namesz = 4, .n_descsz = sizeof(im->build_id), .n_type = NT_GNU_BUILD_ID };

	fseek(f, NOTE_AT, SEEK_SET);
	fwrite(&n, sizeof(n), 1, f);
	fwrite("GNU", 4, 1, f);
	fwrite(im->build_id, sizeof(im->build_id), 1, f);
}

/* Return: bytes of .strtab */
static size_t write_symbols(FILE *f, const struct world_image *im)
{
	size_t at = 1;
	char name[96];
	uint32_t i;
	Elf64_Sym s = { 0 };

	fwrite(&s, sizeof(s), 1, f);
	for (i = 0; i < im->nr_symbols; i++) {
		world_symbol_name(name, im, i);
		s = (Elf64_Sym){
			.st_name = (Elf64_Word)at, .st_shndx = SEC_TEXT,
			.st_info = ELF64_ST_INFO(i % 3 ? STB_GLOBAL : STB_LOCAL, STT_FUNC),
			.st_value = WORLD_TEXT_AT + im->symbol[i].offset, .st_size = im->symbol[i].bytes,
		};
		fwrite(&s, sizeof(s), 1, f);
		at += strlen(name) + 1;
	}
	putc(0, f);
	for (i = 0; i < im->nr_symbols; i++) {
		world_symbol_name(name, im, i);
		fwrite(name, strlen(name) + 1, 1, f);
	}
	return at;
}

/* Code of every slot, in blocks */
static void write_code(FILE *f, const struct world_image *im, const uint8_t *code, uint32_t bytes)
{
	uint32_t at;

	fseek(f, (long)WORLD_TEXT_AT, SEEK_SET);
	for (at = 0; at < im->text_bytes; at += bytes)
		fwrite(code, 1, bytes, f);
}

int elfobj_write(const char *path, const struct world_image *im, const uint8_t *code, uint32_t bytes)
{
	uint64_t note = sizeof(Elf64_Nhdr) + 4 + sizeof(im->build_id);
	uint64_t sym_at = (WORLD_TEXT_AT + im->text_bytes + 7) & ~7ULL;
	uint64_t sym_bytes = (im->nr_symbols + 1) * sizeof(Elf64_Sym), str_bytes, sh_at;
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_phoff = sizeof(h), .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SEC_NR, .e_shstrndx = SEC_SHSTRTAB,
	};
	Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = WORLD_TEXT_AT + im->text_bytes,
		  .p_memsz = WORLD_TEXT_AT + im->text_bytes, .p_align = WORLD_PAGE },
		{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = NOTE_AT, .p_vaddr = NOTE_AT,
		  .p_filesz = note, .p_memsz = note, .p_align = 4 },
	};
	Elf64_Shdr sh[SEC_NR] = {
		[SEC_NOTE] = { .sh_name = 1, .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_addr = NOTE_AT,
			       .sh_offset = NOTE_AT, .sh_size = note, .sh_addralign = 4 },
		[SEC_TEXT] = { .sh_name = 20, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			       .sh_addr = WORLD_TEXT_AT, .sh_offset = WORLD_TEXT_AT,
			       .sh_size = im->text_bytes, .sh_addralign = 16 },
		[SEC_SYMTAB] = { .sh_name = 26, .sh_type = SHT_SYMTAB, .sh_offset = sym_at, .sh_size = sym_bytes,
				 .sh_link = SEC_STRTAB, .sh_info = 1, .sh_entsize = sizeof(Elf64_Sym),
				 .sh_addralign = 8 },
		[SEC_STRTAB] = { .sh_name = 34, .sh_type = SHT_STRTAB, .sh_offset = sym_at + sym_bytes,
				 .sh_addralign = 1 },
		[SEC_SHSTRTAB] = { .sh_name = 42, .sh_type = SHT_STRTAB, .sh_size = sizeof(names), .sh_addralign = 1 },
	};
	FILE *f = fopen(path, "wb");
	int err;

	if (!f)
		return -errno;
	write_note(f, im);
	if (code)
		write_code(f, im, code, bytes);
	fseek(f, (long)sym_at, SEEK_SET);
	str_bytes = write_symbols(f, im);
	sh[SEC_STRTAB].sh_size = str_bytes;
	sh[SEC_SHSTRTAB].sh_offset = sym_at + sym_bytes + str_bytes;
	fwrite(names, sizeof(names), 1, f);
	sh_at = (sh[SEC_SHSTRTAB].sh_offset + sizeof(names) + 7) & ~7ULL;
	h.e_shoff = sh_at;
	fseek(f, (long)sh_at, SEEK_SET);
	fwrite(sh, sizeof(sh), 1, f);
	rewind(f);
	fwrite(&h, sizeof(h), 1, f);
	fwrite(ph, sizeof(ph), 1, f);
	err = ferror(f) ? -EIO : 0;
	return fclose(f) ? -errno : err;
}
