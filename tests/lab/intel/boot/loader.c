// SPDX-License-Identifier: GPL-2.0-only
/*
 * loader.c - enter L1's uncompressed kernel through its PVH note.
 *
 * Bochs has put this and words (where kernel and initramfs are on the first disk, the command
 * line) into memory; sector.S has come here in 32-bit mode. Decompressing the kernel under Bochs,
 * or reading it through the BIOS, takes longer than all the rest of booting.
 */
#include <stdint.h>

struct ehdr {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum;
};

struct phdr {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, filesz, memsz, align;
};

struct note {
	uint32_t namesz, descsz, type, name, entry;
};

struct words {
	uint32_t kernel_sector, initrd_sector, initrd_bytes;
	char cmdline[];
};

/* The kernel's struct hvm_start_info and what it leads to */
struct memmap { uint64_t addr, size; uint32_t type, reserved; };
struct module { uint64_t addr, size, cmdline, reserved; };
struct start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline, rsdp, memmap;
	uint32_t memmap_entries, reserved;
};

enum { LOAD = 1, NOTE = 4, PVH_ENTRY = 18, MAGIC = 0x336ec578 };
#define XEN	0x006e6558		/* "Xen" */

static struct module module;
static struct start_info info;

static inline void copy(uint32_t to, uint32_t from, uint32_t n)
{
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (n) : : "memory");
}

static inline void clear(uint32_t to, uint32_t n)
{
	__asm__ volatile("rep stosb" : "+D" (to), "+c" (n) : "a" (0) : "memory");
}

static inline uint8_t in(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a" (value) : "d" (port) : "memory");
	return value;
}

static inline void out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a" (value), "d" (port) : "memory");
}

/* Sectors of the first disk, by ATA's READ SECTORS and LBA28; 256 is the most that one takes */
static void read_disk(uint32_t to, uint32_t sector, uint32_t sectors)
{
	uint32_t i, n;

	for (; sectors; sectors -= n, sector += n) {
		n = sectors < 256 ? sectors : 256;
		out(0x1f6, 0xe0 | sector >> 24);
		out(0x1f2, n);
		out(0x1f3, sector);
		out(0x1f4, sector >> 8);
		out(0x1f5, sector >> 16);
		out(0x1f7, 0x20);
		for (i = 0; i < n; i++) {
			uint32_t words = 256;

			while ((in(0x1f7) & 0x88) != 0x08)	/* busy, data ready */
				;
			__asm__ volatile("rep insw" : "+D" (to), "+c" (words) : "d" (0x1f0) : "memory");
		}
	}
}

/* The linker puts .text.startup before .text, and sector.S jumps to what is first */
__attribute__((section(".text.startup")))
void load(void)
{
	const struct ehdr *elf = (void *)KERNEL;
	const struct words *words = (void *)WORDS;
	const struct memmap *memmap = (void *)0x1000;
	const struct phdr *segment;
	uint32_t entry = 0, i, at, end;

	read_disk(KERNEL, words->kernel_sector, words->initrd_sector - words->kernel_sector);
	read_disk(INITRD, words->initrd_sector, (words->initrd_bytes + 511) / 512);
	segment = (void *)(KERNEL + (uint32_t)elf->phoff);
	for (i = 0; i < elf->phnum; i++) {
		at = KERNEL + (uint32_t)segment[i].offset;
		end = at + (uint32_t)segment[i].filesz;
		if (segment[i].type == LOAD) {
			copy(segment[i].paddr, at, segment[i].filesz);
			clear(segment[i].paddr + segment[i].filesz, segment[i].memsz - segment[i].filesz);
		}
		while (segment[i].type == NOTE && at < end) {
			const struct note *note = (void *)at;

			if (note->name == XEN && note->type == PVH_ENTRY)
				entry = note->entry;
			at += 12 + ((note->namesz + 3) & ~3U) + ((note->descsz + 3) & ~3U);
		}
	}
	module.addr = INITRD;
	module.size = words->initrd_bytes;
	info.magic = MAGIC;
	info.version = 1;
	info.nr_modules = 1;
	info.modules = (uint32_t)&module;
	info.cmdline = (uint32_t)words->cmdline;
	info.memmap = (uint32_t)memmap;
	while (memmap[info.memmap_entries].size)
		info.memmap_entries++;
	__asm__ volatile("cld; jmp *%0" : : "r" (entry), "b" (&info));
}
