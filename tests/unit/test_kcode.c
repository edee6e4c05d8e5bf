// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_kcode.c - a kernel's code out of memory: page tables of a made-up guest, whose memory is this
 * process's, what a hostile guest writes into them, the file that is made of it, and /proc/kcore.
 */
#include "cached.h"

#include <elf.h>
#include <sys/syscall.h>

#include "collect/guestmem.h"
#include "collect/kcode.h"
#include "collect/session.h"
#include "model/elfsyms.h"
#include "util/log.h"

#define RAM_BYTES	(4U << 20)	/* each of two pieces */
#define HIGH		0x100000000ULL	/* gpa of the second one */
#define TEXT		0xffffffff81000000ULL
#define MODULE		0xffffffffc0200000ULL

#define P		1ULL
#define PS		(1ULL << 7)
#define NX		(1ULL << 63)

/* Tables, by gpa; the code lies behind them */
#define ROOT5		0x1000ULL
#define ROOT		0x2000ULL
#define TABLE3		0x3000ULL
#define TABLE2		0x4000ULL
#define TABLE1		0x5000ULL
#define MODULE_TABLE2	0x6000ULL
#define MODULE_TABLE	0x7000ULL
#define CODE		0x200000ULL

static uint8_t low[RAM_BYTES], high[RAM_BYTES];
static struct vmp_qmp_ram ram[2];
static struct vmp_guestmem mem;
static struct vmp_kcode code;
static const struct vmp_kcode_reader guest = { vmp_guestmem_code, &mem };

static void put(uint64_t table, uint64_t gva, int level, uint64_t entry)
{
	memcpy(low + table + ((gva >> (12 + 9 * level)) & 511) * 8, &entry, 8);
}

/* Each page of code begins with its own gpa */
static void number_pages(uint8_t *piece, uint64_t gpa)
{
	uint64_t at;

	for (at = 0; at < RAM_BYTES; at += 4096, gpa += 4096)
		memcpy(piece + at, &gpa, 8);
}

/* Four levels down to a 2 MiB page of text; ROOT5 is above them */
static int setup(void **state)
{
	memset(low, 0, sizeof(low));
	memset(high, 0, sizeof(high));
	number_pages(low, 0);
	number_pages(high, HIGH);
	memset(low, 0, CODE);
	put(ROOT5, TEXT, 4, ROOT | P);
	put(ROOT, TEXT, 3, TABLE3 | P);
	put(TABLE3, TEXT, 2, TABLE2 | P);
	put(TABLE2, TEXT, 1, CODE | P | PS);
	put(TABLE3, MODULE, 2, MODULE_TABLE2 | P);
	put(MODULE_TABLE2, MODULE, 1, MODULE_TABLE | P);
	ram[0] = (struct vmp_qmp_ram){ 0, RAM_BYTES, (uintptr_t)low };
	ram[1] = (struct vmp_qmp_ram){ HIGH, RAM_BYTES, (uintptr_t)high };
	mem = (struct vmp_guestmem){ .pid = (uint32_t)getpid(), .ram = ram, .nr_ram = 2, .cr3 = ROOT };
	code = (struct vmp_kcode){ 0 };
	return make_cache(state);
}

static int teardown(void **state)
{
	free(code.elf);
	return remove_cache(state);
}

/* --------------------------------------------------------------- page tables */

static void leads_to(uint64_t gva, uint64_t gpa, uint64_t bytes)
{
	uint64_t at = 1, run = 1;

	assert_int_equal(vmp_guestmem_walk(&mem, gva, &at, &run), 0);
	assert_int_equal(at, gpa);
	assert_int_equal(run, bytes);
}

static int walk(uint64_t gva)
{
	uint64_t at, run;

	return vmp_guestmem_walk(&mem, gva, &at, &run);
}

static void test_pages(void **state)
{
	(void)state;
	leads_to(TEXT + 0x12345, CODE + 0x12345, 0x200000 - 0x12345);
	put(TABLE2, TEXT, 1, TABLE1 | P);
	put(TABLE1, TEXT + 0x7000, 0, (HIGH + 0x3000) | P);
	leads_to(TEXT + 0x7008, HIGH + 0x3008, 0x1000 - 8);
	assert_int_equal(walk(TEXT + 0x8000), -ENOENT);
	/* a page of 1 GiB: what of it is memory can be read */
	put(TABLE3, TEXT, 2, HIGH | P | PS);
	leads_to(TEXT + 0x1000, HIGH + (TEXT & 0x3fffffff) + 0x1000, 0x40000000 - (TEXT & 0x3fffffff) - 0x1000);
	leads_to(0xffffffff80000010, HIGH + 0x10, 0x40000000 - 0x10);
	/* bits of PCID, and those that software has, are no address; nor are large pages' low bits */
	mem.cr3 = ROOT | 0x8000000000000fffULL;
	put(TABLE3, TEXT, 2, TABLE2 | P | 0x7ff0000000000e00ULL);
	put(TABLE2, TEXT, 1, CODE | P | PS | (1ULL << 12));
	leads_to(TEXT + 5, CODE + 5, 0x200000 - 5);
}

static void test_five_levels(void **state)
{
	(void)state;
	mem.cr3 = ROOT5;
	assert_int_not_equal(walk(TEXT), 0);
	mem.la57 = 1;
	leads_to(TEXT + 0x12345, CODE + 0x12345, 0x200000 - 0x12345);
	put(ROOT5, TEXT, 4, 0);
	assert_int_equal(walk(TEXT), -ENOENT);
}

/* What is not there, is no code, or cannot be, at each level */
static void test_holes(void **state)
{
	static const struct { uint64_t table, entry; int level; } at[] = {
		{ ROOT5, ROOT, 4 }, { ROOT, TABLE3, 3 }, { TABLE3, TABLE2, 2 }, { TABLE2, TABLE1, 1 }, { TABLE1, CODE, 0 },
	};
	size_t i;

	(void)state;
	mem.cr3 = ROOT5;
	mem.la57 = 1;
	put(TABLE2, TEXT, 1, TABLE1 | P);
	put(TABLE1, TEXT, 0, CODE | P);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		leads_to(TEXT, CODE, 4096);
		put(at[i].table, TEXT, at[i].level, at[i].entry);
		assert_int_equal(walk(TEXT), -ENOENT);
		put(at[i].table, TEXT, at[i].level, at[i].entry | P | NX);
		assert_int_equal(walk(TEXT), -EACCES);
		put(at[i].table, TEXT, at[i].level, (1ULL << 40) | P);	/* no memory is there */
		assert_int_equal(walk(TEXT), at[i].level ? -EFAULT : 0);
		assert_int_equal(vmp_guestmem_code(&mem, TEXT, (uint8_t[8]){ 0 }, 8), 0);
		put(at[i].table, TEXT, at[i].level, at[i].entry | P);
	}
	put(ROOT5, TEXT, 4, ROOT | P | PS);
	assert_int_equal(walk(TEXT), -ENOENT);
	put(ROOT5, TEXT, 4, ROOT | P);
	put(ROOT, TEXT, 3, TABLE3 | P | PS);
	assert_int_equal(walk(TEXT), -ENOENT);
}

/* Tables that lead back to themselves end after as many steps as there are levels */
static void test_loops(void **state)
{
	uint64_t all = ROOT | P;
	int i;

	(void)state;
	for (i = 0; i < 512; i++)
		memcpy(low + ROOT + 8 * i, &all, 8);
	leads_to(TEXT + 0x10, ROOT + 0x10, 4096 - 0x10);
	put(ROOT, TEXT, 3, ROOT5 | P);
	put(ROOT5, TEXT, 2, ROOT | P);
	mem.la57 = 1;
	mem.cr3 = ROOT5;
	put(ROOT5, TEXT, 4, ROOT5 | P);
	walk(TEXT);
	mem.cr3 = UINT64_MAX;
	assert_int_equal(walk(TEXT), -EFAULT);
}

static void test_memory(void **state)
{
	uint64_t page;
	uint8_t two[8192];

	(void)state;
	assert_int_equal(vmp_guestmem_read(&mem, HIGH + 0x3000, &page, 8), 0);
	assert_int_equal(page, HIGH + 0x3000);
	/* from one piece into what is none, or into the next */
	assert_int_equal(vmp_guestmem_read(&mem, RAM_BYTES - 4, &page, 8), -EFAULT);
	assert_int_equal(vmp_guestmem_read(&mem, RAM_BYTES, &page, 8), -EFAULT);
	assert_int_equal(vmp_guestmem_read(&mem, UINT64_MAX - 3, &page, 8), -EFAULT);
	ram[1].gpa = RAM_BYTES;
	assert_int_equal(vmp_guestmem_read(&mem, RAM_BYTES - 4096, two, 8192), -EFAULT);
	/* QEMU says so, but has no memory there */
	ram[1].hva = 0x1000;
	assert_int_equal(vmp_guestmem_read(&mem, RAM_BYTES, &page, 8), -EFAULT);
	ram[1] = (struct vmp_qmp_ram){ HIGH, UINT64_MAX, UINT64_MAX - 16 };
	assert_int_equal(vmp_guestmem_read(&mem, HIGH, two, 8192), -EFAULT);
	mem.nr_ram = 0;
	assert_int_equal(walk(TEXT), -EFAULT);
}

/* ------------------------------------------------------------------ the file */

static int make(const char *text)
{
	static char copy[1 << 20];

	free(code.elf);
	code = (struct vmp_kcode){ 0 };
	assert_true(strlen(text) < sizeof(copy));
	strcpy(copy, text);
	return vmp_kcode_make(copy, strlen(text), &guest, &code);
}

/* The page at @vaddr has in the file what it has at @gpa */
static void has_page(const struct vmp_elf *e, uint64_t vaddr, uint64_t gpa)
{
	const uint8_t *p;
	uint64_t page;
	size_t len;

	p = vmp_elf_code(e, vaddr, &len);
	assert_non_null(p);
	assert_true(len >= 4096);
	memcpy(&page, p, 8);
	assert_int_equal(page, gpa);
}

static int has_none(const struct vmp_elf *e, uint64_t vaddr)
{
	size_t len;

	return !vmp_elf_code(e, vaddr, &len);
}

static const char lines[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81003000 t schedule\n"
	"ffffffff81005808 T _etext\n"
	"ffffffff82000000 t free_when_booted\n"
	"ffffffffc0200000 t first\t[mod]\n"
	"ffffffffc0202800 t last\t[mod]\n"
	"ffffffffc0205000 t bpf_prog_1\t[bpf]\t100\n"
	"ffffffffc0208000 t gone\t[other]\n"
	"ffffffffc0208100 t too\t[other]\n";

static void test_file(void **state)
{
	struct vmp_elf *e;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		put(MODULE_TABLE, MODULE + 0x1000 * (uint64_t)i, 0, (HIGH + 0x9000 - 0x1000 * (uint64_t)i) | P);
	assert_int_equal(make(lines), 0);
	assert_int_equal(code.bytes, 0x9000);		/* six pages of its own, three of the module */
	assert_int_equal(code.missing, 0x1000);		/* of what is gone */
	assert_int_equal(vmp_elf_open_memory(&e, code.elf, code.len, NULL), 0);
	for (i = 0; i < 6; i++)
		has_page(e, TEXT + 0x1000 * (uint64_t)i, CODE + 0x1000 * (uint64_t)i);
	for (i = 0; i < 3; i++)
		has_page(e, MODULE + 0x1000 * (uint64_t)i, HIGH + 0x9000 - 0x1000 * (uint64_t)i);
	assert_true(has_none(e, TEXT - 1) && has_none(e, TEXT + 0x6000) && has_none(e, 0xffffffff82000000));
	assert_true(has_none(e, MODULE + 0x3000) && has_none(e, MODULE + 0x5000) && has_none(e, MODULE + 0x8000));
	assert_int_equal(vmp_elf_symtab(e)->sym.nr, 0);
	vmp_elf_close(e);
	if (getenv("KEEP"))
		vmp_file_write(getenv("KEEP"), code.elf, code.len);
}

/* The kernel's own code is whole, or there is no file */
static void test_not_whole(void **state)
{
	int i;

	(void)state;
	put(TABLE2, TEXT, 1, TABLE1 | P);
	for (i = 0; i < 5; i++)
		put(TABLE1, TEXT + 0x1000 * (uint64_t)i, 0, (CODE + 0x1000 * (uint64_t)i) | P);
	assert_int_equal(make(lines), -EFAULT);
	assert_null(code.elf);
	put(TABLE1, TEXT + 0x5000, 0, CODE | P | NX);
	assert_int_equal(make(lines), -EFAULT);
	put(TABLE1, TEXT + 0x5000, 0, (HIGH + RAM_BYTES) | P);
	assert_int_equal(make(lines), -EFAULT);
	put(TABLE1, TEXT + 0x5000, 0, CODE | P);
	assert_int_equal(make(lines), 0);
	assert_int_equal(code.bytes, 0x6000);
	assert_int_equal(code.missing, 0x4000);
}

static void test_no_sense(void **state)
{
	(void)state;
	assert_int_equal(make(""), -ESRCH);
	assert_int_equal(make("ffffffff81000000 T _stext\n"), -ESRCH);
	assert_int_equal(make("ffffffff81000000 T _stext\nffffffff81001000 T _etext"), -ESRCH);
	assert_int_equal(make("ffffffff81000000 T _stext\nffffffff81001000 T not_etext\n"), -ESRCH);
	assert_int_equal(make("ffffffff81000000 T _stext\n _etext\n"), -ESRCH);
	assert_int_equal(make("ffffffff81000000 T _stext\nffffffff81000000 T _etext\n"), -ESRCH);
	assert_int_equal(make("ffffffff81001000 T _stext\nffffffff81000000 T _etext\n"), -ESRCH);
	assert_int_equal(make("0000000000401000 T _stext\nffffffff81000000 T _etext\n"), -ESRCH);
	assert_int_equal(make("8000000000000000 T _stext\nffffffffffffffff T _etext\n"), -EFBIG);
	assert_int_equal(make("ffffffff81000000 T _stext\nffffffff85000000 T _etext\n"), -EFBIG);
	assert_int_equal(make("ffffffffffffe000 T _stext\nffffffffffffffff T _etext\n"), -EFBIG);
	assert_int_equal(make("ffffffff81000000 T _stext\nffffffff81000001 T _etext\n"), 0);
	assert_int_equal(code.bytes, 0x1000);
}

/* Modules without end: bytes and pieces are bounded, and what is left out is counted */
static void test_many_modules(void **state)
{
	struct vmp_elf *e;
	char *text;
	size_t len;
	FILE *f;
	int i;

	(void)state;
	f = open_memstream(&text, &len);
	fputs("ffffffff81000000 T _stext\nffffffff81001000 T _etext\n", f);
	for (i = 0; i < 600; i++)
		fprintf(f, "%llx t f%d\t[m%d]\n%llx t g%d\t[m%d]\n", MODULE + 0x2000ULL * (unsigned)i, i, i,
			MODULE + 0x2000ULL * (unsigned)i + 0x100, i, i);
	fclose(f);
	for (i = 0; i < 512; i++) {
		put(MODULE_TABLE2, MODULE + 0x200000 * (uint64_t)i, 1, MODULE_TABLE | P);
		put(MODULE_TABLE, MODULE + 0x1000 * (uint64_t)i, 0, CODE | P);
	}
	assert_int_equal(make(text), 0);
	free(text);
	assert_int_equal(code.bytes, VMP_KCODE_SEGMENTS * 0x1000);
	assert_int_equal(code.bytes + code.missing, 601 * 0x1000);
	assert_int_equal(vmp_elf_open_memory(&e, code.elf, code.len, NULL), 0);
	has_page(e, MODULE + 0x2000 * (VMP_KCODE_SEGMENTS - 2), CODE);
	assert_true(has_none(e, MODULE + 0x2000 * (VMP_KCODE_SEGMENTS - 1)));
	vmp_elf_close(e);

	f = open_memstream(&text, &len);
	fputs("ffffffff81000000 T _stext\nffffffff81001000 T _etext\n", f);
	for (i = 0; i < 200; i++)	/* of one module, one after the other, up to 1 MiB each */
		fprintf(f, "%llx t g%d\t[mod]\n", 0xffffffffd0000100ULL + 0x100000ULL * (unsigned)i, i);
	fclose(f);
	assert_int_equal(make(text), 0);
	free(text);
	assert_in_range(code.bytes, VMP_KCODE_BYTES_MAX - 0x200000, VMP_KCODE_BYTES_MAX);
	assert_in_range(code.bytes + code.missing, 0x1000 + 199 * 0x100000, 0x1000 + 201 * 0x100000);
}

/* ------------------------------------------------------------------ the copy */

static struct vmp_session session;
static struct vmp_session_opts opts;
static struct vmp_vm vm;
static char said[512];

static void hear(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(said, sizeof(said), "%s", text);
}

/* A domain whose QEMU is this process, with @text for its kernel's symbols */
static void begin_vm(const char *text)
{
	const struct vmp_msg_ksyms m = { .total = strlen(text), .text = { text, strlen(text) } };

	memset(&session, 0, sizeof(session));
	memset(&vm, 0, sizeof(vm));
	opts = (struct vmp_session_opts){ .lbr.branches = VMPROF_LBR_ALL };
	session.opts = &opts;
	session.cache_room = 1ULL << 30;
	vm.session = &session;
	vm.dom.pid = (uint32_t)getpid();
	strcpy(vm.dom.shown, "web01");
	strcpy(vm.dom.uuid, "4dea22b3-1d52-d8f3-2516-782e98ab3fa0");
	vm.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	vm.ram = ram;
	vm.nr_ram = 2;
	memset(vm.agent.boot_id, 0x5a, 16);
	vmp_kept_init(&vm.kept, vm.dom.uuid);
	vmp_kept_take(&vm.kept, vm.agent.boot_id, &m);
	vmp_kept_store(&vm.kept);
	vmp_log_set(hear, NULL);
}

static void end_vm(void)
{
	vmp_log_set(NULL, NULL);
	close(vm.pidfd);
	vmp_kept_drop(&vm.kept);
}

static char *json(void)
{
	static char text[512];
	FILE *f = fmemopen(text, sizeof(text), "w");

	vmp_kcopy_json(&vm.kcopy, f);
	fclose(f);
	return text;
}

static void is_copied(void)
{
	unsigned int seconds, tenths;
	char path[256], line[256];
	struct vmp_elf *e;

	vmp_kcopy_guest(&vm);
	assert_string_equal(vm.kcopy.why, "");
	assert_int_equal(sscanf(said, "web01: copied its kernel's code, 24.0 KiB in %u.%1u s;", &seconds, &tenths), 2);
	snprintf(line, sizeof(line), "web01: copied its kernel's code, 24.0 KiB in %u.%u s; not there or too much: 12.0 KiB",
		 seconds, tenths);
	assert_string_equal(said, line);
	assert_true(seconds < 60);
	assert_int_equal(vmp_objcache_path(path, sizeof(path), vm.kcopy.key), 0);
	assert_int_equal(vmp_elf_open(&e, path), 0);
	has_page(e, TEXT + 0x5000, CODE + 0x5000);
	vmp_elf_close(e);
}

static void is_lacking(const char *why)
{
	char line[512];

	vmp_kcopy_guest(&vm);
	assert_string_equal(vm.kcopy.key, "");
	snprintf(line, sizeof(line), "web01: no copy of its kernel's code, blocks of it have no instructions: %s", why);
	assert_string_equal(said, line);
	snprintf(line, sizeof(line), "{\"why\":\"%s\"}", why);
	assert_string_equal(json(), line);
}

#define UNMAPPED	"not all of its code is mapped where its symbols are, or it is not to be read"

static void test_copy(void **state)
{
	char was[VMP_OBJKEY_MAX], line[512];
	int i;

	(void)state;
	begin_vm(lines);
	assert_true(vmp_kcopy_wanted(&session));
	assert_string_equal(json(), "null");
	for (i = 0; i < 5; i++)		/* one has ended, and its table is something else */
		vmp_kcopy_sample(&vm.kcopy, i % 2 ? ROOT | 0x123 : TABLE1);
	assert_int_equal(vm.kcopy.at, 5);
	is_copied();
	snprintf(line, sizeof(line), "{\"path\":\"%s\",\"boot_id\":\"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\",\"bytes\":24576,\"missing_bytes\":12288}",
		 vm.kcopy.key);
	assert_string_equal(json(), line);
	assert_int_equal(session.cache_room, (1ULL << 30) - 0x4000 - 0x6000);
	/* the same again has the same name, and takes no more room */
	strcpy(was, vm.kcopy.key);
	is_copied();
	assert_string_equal(vm.kcopy.key, was);
	assert_int_equal(files_in_cache(), 2);
	assert_int_equal(session.cache_room, (1ULL << 30) - 0x4000 - 0x6000);
	low[CODE + 0x5fff] ^= 1;	/* a static key */
	is_copied();
	assert_string_not_equal(vm.kcopy.key, was);
	low[CODE + 0x5fff] ^= 1;
	is_copied();
	assert_string_equal(vm.kcopy.key, was);
	memcpy(low + CODE + 0x100, "one word" "and that", 16);
	is_copied();
	strcpy(was, vm.kcopy.key);
	memcpy(low + CODE + 0x100, "and that" "one word", 16);
	is_copied();
	assert_string_not_equal(vm.kcopy.key, was);
	end_vm();
}

/* init's tables, as the agent tells; else what samples had, without the bit of the user's half */
static void test_roots(void **state)
{
	struct vmprof_frame f = { .type = VMPROF_MSG_EXIT };
	struct vmprof_proc p = { .cr3 = ROOT, .tgid = 1 };
	int i;

	(void)state;
	begin_vm(lines);
	is_lacking(UNMAPPED);
	vmp_kcopy_frame(&vm.kcopy, &f, &p, sizeof(p));
	f.type = VMPROF_MSG_PROC;
	vmp_kcopy_frame(&vm.kcopy, &f, &p, sizeof(p) - 1);
	p.tgid = 2;
	vmp_kcopy_frame(&vm.kcopy, &f, &p, sizeof(p));
	is_lacking(UNMAPPED);
	p.tgid = 1;
	vmp_kcopy_frame(&vm.kcopy, &f, &p, sizeof(p));
	p.cr3 = 0;			/* without its module it tells none */
	vmp_kcopy_frame(&vm.kcopy, &f, &p, sizeof(p));
	vm.kcopy.why[0] = 0;
	is_copied();

	vm.kcopy = (struct vmp_kcopy){ .init_cr3 = TABLE1 };
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	for (i = 1; i < VMP_KCOPY_CR3S; i++)
		vmp_kcopy_sample(&vm.kcopy, TABLE1 + (uint64_t)i);
	is_copied();
	vm.kcopy = (struct vmp_kcopy){ 0 };
	vmp_kcopy_sample(&vm.kcopy, ROOT | 0x1000);
	is_lacking(UNMAPPED);
	vm.agent.flags = VMPROF_HELLO_PTI;
	vm.kcopy.why[0] = 0;
	is_copied();
	end_vm();
	begin_vm(lines);
	vm.agent.flags = VMPROF_HELLO_LA57;
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	is_lacking(UNMAPPED);
	vmp_kcopy_sample(&vm.kcopy, ROOT5);
	vm.kcopy.why[0] = 0;
	is_copied();
	end_vm();
}

static void test_lacks(void **state)
{
	(void)state;
	begin_vm(lines);
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	session.cache_room = 0x9fff;
	is_lacking("there is no room in the object cache");
	assert_int_equal(files_in_cache(), 1);
	session.cache_room = 0xa000;
	vm.agent.boot_id[0] ^= 1;
	is_lacking("its agent did not tell its symbols");
	vm.nr_ram = 0;
	is_lacking("its QEMU does not tell where its memory is (query-vmprof)");
	vm.objects.way = VMP_OBJECTS_NONE;
	is_lacking("it was left in the guest (--objects none)");
	vm.gone = 1;
	is_lacking("the domain ended before");
	end_vm();
	begin_vm("ffffffff81000000 T startup_64\n");
	is_lacking(UNMAPPED);		/* without a CR3 nothing is asked */
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	is_lacking("its symbols do not tell where its code is");
	end_vm();
	begin_vm("ffffffff81000000 T _stext\nffffffff8f000000 T _etext\n");
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	is_lacking("its symbols tell of more code than a kernel has");
	opts.no_kernel_text = 1;
	assert_false(vmp_kcopy_wanted(&session));
	opts = (struct vmp_session_opts){ .lbr.branches = VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL };
	assert_false(vmp_kcopy_wanted(&session));
	end_vm();
}

/* Another process has the number of its QEMU by now */
static void test_other_process(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	begin_vm(lines);
	close(vm.pidfd);
	vm.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	waitpid(pid, NULL, 0);
	vmp_kcopy_sample(&vm.kcopy, ROOT);
	is_lacking(UNMAPPED);
	assert_int_equal(files_in_cache(), 1);
	end_vm();
}

/* -------------------------------------------------------------------- kcore */

static void test_kcore(void **state)
{
	struct { Elf64_Ehdr h; Elf64_Phdr ph[3]; } head = {
		.h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 }, .e_phoff = sizeof(Elf64_Ehdr),
		       .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3 },
		.ph = { { .p_type = PT_NOTE, .p_vaddr = TEXT, .p_memsz = 0x10000 },
			{ .p_type = PT_LOAD, .p_vaddr = MODULE, .p_memsz = 0x3000, .p_offset = 0x10000 },
			{ .p_type = PT_LOAD, .p_vaddr = TEXT, .p_memsz = 0x200000, .p_offset = 0x2000 } },
	};
	struct vmp_kcore k;
	const struct vmp_kcode_reader reader = { vmp_kcore_code, &k };
	char path[128], text[sizeof(lines)];
	struct vmp_elf *e;

	(void)state;
	snprintf(path, sizeof(path), "%s/kcore", cache);
	memcpy(low, &head, sizeof(head));
	assert_int_equal(vmp_file_write(path, low, 0x12800), 0);
	assert_int_equal(vmp_kcore_open(&k, path), 0);
	strcpy(text, lines);
	assert_int_equal(vmp_kcode_make(text, strlen(text), &reader, &code), 0);
	vmp_kcore_close(&k);
	assert_int_equal(code.bytes, 0x8000);
	assert_int_equal(code.missing, 0x2000);		/* half a page is none, and the other module is not there */
	assert_int_equal(vmp_elf_open_memory(&e, code.elf, code.len, NULL), 0);
	assert_int_equal(vmp_elf_code(e, MODULE + 0x1000, &(size_t){ 0 })[0], low[0x11000]);
	assert_memory_equal(vmp_elf_code(e, TEXT, &(size_t){ 0 }), low + 0x2000, 0x6000);
	vmp_elf_close(e);
	assert_int_equal(vmp_file_write(path, low, 100), 0);
	assert_int_equal(vmp_kcore_open(&k, path), -ENOEXEC);
	head.h.e_phnum = 5000;
	assert_int_equal(vmp_file_write(path, &head, sizeof(head)), 0);
	assert_int_equal(vmp_kcore_open(&k, path), -ENOEXEC);
	head.h.e_ident[0] = 0;
	assert_int_equal(vmp_file_write(path, &head, sizeof(head)), 0);
	assert_int_equal(vmp_kcore_open(&k, path), -ENOEXEC);
	assert_int_equal(vmp_kcore_open(&k, "/nowhere/kcore"), -ENOENT);
	assert_int_equal(k.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_five_levels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_sense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_roots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kcore, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
