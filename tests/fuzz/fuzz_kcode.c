// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_kcode.c - a copy of a guest kernel's code, where its symbols and page tables are anything.
 *
 * A byte: 1 says that there are five levels. A number of two bytes is how many of those behind it are
 * the text of symbols; then come page tables' entries of eleven bytes: table, index (two), value. They are written
 * over tables that map KERNEL_BEGIN's 2 MiB, and MODULE_BEGIN's as pages.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/guestmem.h"
#include "collect/kcode.h"

#define PAGE		4096ULL
#define TABLES		8
#define RAM_BYTES	(4ULL << 20)
#define CODE		(2ULL << 20)
#define KERNEL_BEGIN	0xffffffff81000000ULL
#define MODULE_BEGIN	0xffffffffc0200000ULL
#define PRESENT		1ULL
#define LARGE		(1ULL << 7)
#define ENTRY_BYTES	11

enum table { ROOT5, ROOT, TABLE3, TABLE2, MODULE_TABLE2, MODULE_TABLE };

static uint8_t ram[RAM_BYTES];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(unsigned int table, unsigned int index, uint64_t value)
{
	memcpy(ram + table * PAGE + index * 8, &value, 8);
}

static unsigned int index_of(uint64_t gva, int level)
{
	return (gva >> (12 + 9 * level)) & 511;
}

static void build_tables(void)
{
	unsigned int i;

	memset(ram, 0, TABLES * PAGE);
	put(ROOT5, index_of(KERNEL_BEGIN, 4), ROOT * PAGE | PRESENT);
	put(ROOT, index_of(KERNEL_BEGIN, 3), TABLE3 * PAGE | PRESENT);
	put(TABLE3, index_of(KERNEL_BEGIN, 2), TABLE2 * PAGE | PRESENT);
	put(TABLE2, index_of(KERNEL_BEGIN, 1), CODE | PRESENT | LARGE);
	put(TABLE3, index_of(MODULE_BEGIN, 2), MODULE_TABLE2 * PAGE | PRESENT);
	put(MODULE_TABLE2, index_of(MODULE_BEGIN, 1), MODULE_TABLE * PAGE | PRESENT);
	for (i = 0; i < 512; i += 2)
		put(MODULE_TABLE, i, (CODE + i * PAGE) | PRESENT);
}

static void check(const struct vmp_kcode *code)
{
	uint64_t bytes = 0, at;
	const Elf64_Phdr *s;
	Elf64_Ehdr h;
	unsigned int i;

	if (code->len < sizeof(h))
		abort();
	memcpy(&h, code->elf, sizeof(h));
	s = (const Elf64_Phdr *)(code->elf + h.e_phoff);
	if (!h.e_phnum || h.e_phnum > VMP_KCODE_SEGMENTS)
		abort();
	at = s[0].p_offset;
	if (at < sizeof(h) + h.e_phnum * sizeof(*s))
		abort();
	for (i = 0; i < h.e_phnum; at += s[i].p_filesz, bytes += s[i].p_filesz, i++)
		if (s[i].p_offset != at || !s[i].p_filesz || s[i].p_memsz != s[i].p_filesz || !(s[i].p_vaddr >> 63))
			abort();
	if (at != code->len || bytes != code->bytes || bytes > VMP_KCODE_BYTES_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct vmp_qmp_ram piece = { 0, RAM_BYTES, (uintptr_t)ram };
	struct vmp_guestmem mem = { .pid = (uint32_t)getpid(), .ram = &piece, .nr_ram = 1 };
	const struct vmp_kcode_reader reader = { vmp_guestmem_code, &mem };
	struct vmp_kcode code;
	size_t len;
	char *text;

	if (size < 3)
		return 0;
	mem.la57 = data[0] & 1;
	mem.cr3 = (mem.la57 ? ROOT5 : ROOT) * PAGE;
	len = data[1] | (size_t)data[2] << 8;
	data += 3;
	size -= 3;
	if (len > size)
		len = size;
	text = malloc(len + 1);
	if (!text)
		abort();
	memcpy(text, data, len);
	build_tables();
	for (data += len, size -= len; size >= ENTRY_BYTES; data += ENTRY_BYTES, size -= ENTRY_BYTES)
		memcpy(ram + data[0] % TABLES * PAGE + (data[1] | (data[2] & 1U) << 8) * 8, data + 3, 8);
	if (!vmp_kcode_make(text, len, &reader, &code)) {
		check(&code);
		free(code.elf);
	}
	free(text);
	return 0;
}
