// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_symbols.c - names for addresses: real ELF files made by the compiler
 * (PIE, shared, stripped), demangling.
 */
#include "gen.h"

#include <elf.h>
#include <errno.h>

#include "model/demangle.h"
#include "model/elfsyms.h"
#include "model/objcache.h"
#include "report/profile.h"

static char *dir;

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gen_rmdir(dir);
	return 0;
}

static const char source[] =
	"#include <stdio.h>\n"
	"__attribute__((noinline)) static int hidden(int x) { return x * 7; }\n"
	"__attribute__((noinline, noclone)) int visible(int x) { return hidden(x) + puts(\"a\"); }\n"
	"__attribute__((alias(\"visible\"))) int __visible_alias(int x);\n"
	"__attribute__((weak, alias(\"visible\"))) int a(int x);\n"
	"asm(\".text\\n.globl no_size\\nno_size:\\n.skip 64, 0x90\\n.globl after\\n\"\n"
	"    \".type after, @function\\nafter:\\n ret\\n.size after, 1\\n\");\n"
	"#ifdef MAIN\nint main(int c, char **v) { (void)v; return visible(c); }\n#endif\n";

/* Compile it with @flags; the result is DIR/NAME. */
static char *build(const char *name, const char *flags)
{
	static char out[128];
	char cmd[512], src[128];

	snprintf(src, sizeof(src), "%s/x.c", dir);
	snprintf(out, sizeof(out), "%s/%s", dir, name);
	gen_write(src, source, sizeof(source) - 1);
	snprintf(cmd, sizeof(cmd), "${CC:-cc} -O1 -o %s %s %s", out, flags, src);
	assert_int_equal(system(cmd), 0);
	return out;
}

/* Link-time address by nm, which is not ours */
static uint64_t nm(const char *file, const char *symbol, const char *flag)
{
	char cmd[256], line[256];
	uint64_t addr = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s %s | grep ' %s$'", flag, file, symbol);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	addr = strtoull(line, NULL, 16);
	pclose(f);
	assert_true(addr > 0);
	return addr;
}

static const char *name_at(struct vmp_elf *e, uint64_t vaddr)
{
	const struct vmp_symbol *s = vmp_elf_symbol(e, vaddr);

	return s ? s->name : "(none)";
}

static void check_common(const char *file, const char *nm_flag)
{
	uint64_t visible = nm(file, "visible", nm_flag);
	struct vmp_elf *e;

	assert_int_equal(vmp_elf_open(&e, file), 0);
	assert_string_equal(name_at(e, visible), "visible");	/* not an alias of it */
	assert_string_equal(name_at(e, visible + 1), "visible");
	/* a symbol without a size reaches to the next one */
	assert_string_equal(name_at(e, nm(file, "no_size", nm_flag)), "no_size");
	assert_string_equal(name_at(e, nm(file, "no_size", nm_flag) + 63), "no_size");
	assert_string_equal(name_at(e, nm(file, "after", nm_flag)), "after");
	vmp_elf_close(e);
}

static void test_pie(void **state)
{
	const char *file = build("pie", "-DMAIN -fPIE -pie");
	uint64_t hidden = nm(file, "hidden", ""), vaddr;
	struct vmp_elf *e;

	(void)state;
	check_common(file, "");
	assert_int_equal(vmp_elf_open(&e, file), 0);
	assert_string_equal(name_at(e, hidden), "hidden");
	/* a PIE's text lies at the same offset as address here */
	assert_int_equal(vmp_elf_vaddr(e, hidden, &vaddr), 0);
	assert_int_equal(vaddr, hidden);
	assert_int_equal(vmp_elf_vaddr(e, 1ULL << 40, &vaddr), -ENOENT);
	vmp_elf_close(e);
}

/* At a fixed address offsets and addresses differ. */
static void test_fixed_address(void **state)
{
	const char *file = build("exe", "-DMAIN -fno-pie -no-pie");
	uint64_t visible = nm(file, "visible", ""), vaddr;
	struct vmp_elf *e;

	(void)state;
	check_common(file, "");
	assert_int_equal(vmp_elf_open(&e, file), 0);
	assert_int_equal(vmp_elf_vaddr(e, visible - 0x400000, &vaddr), 0);
	assert_int_equal(vaddr, visible);
	vmp_elf_close(e);
}

static void test_stripped_library(void **state)
{
	const char *file = build("lib.so", "-fPIC -shared");
	uint64_t hidden = nm(file, "hidden", ""), visible = nm(file, "visible", "");
	char cmd[256];
	struct vmp_elf *e;

	(void)state;
	check_common(file, "");
	snprintf(cmd, sizeof(cmd), "strip %s", file);
	assert_int_equal(system(cmd), 0);
	check_common(file, "-D");
	assert_int_equal(vmp_elf_open(&e, file), 0);
	assert_string_equal(name_at(e, visible), "visible");
	/* never the neighbour's name: its own address */
	snprintf(cmd, sizeof(cmd), "sub_%llx", (unsigned long long)hidden);
	assert_string_equal(name_at(e, hidden), cmd);
	vmp_elf_close(e);
}

static void test_plt(void **state)
{
	const char *file = build("lib.so", "-fPIC -shared -fcf-protection=none");
	struct vmp_elf *e;
	uint64_t at, plt = 0;
	char cmd[256], line[256];
	int found = 0;
	FILE *f;

	(void)state;
	/* objdump names stubs on its own account */
	snprintf(cmd, sizeof(cmd), "objdump -d %s | grep '<puts@plt>:'", file);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	plt = strtoull(line, NULL, 16);
	pclose(f);
	assert_int_equal(vmp_elf_open(&e, file), 0);
	for (at = plt; at < plt + 16; at++)
		found += !strcmp(name_at(e, at), "puts@plt");
	assert_int_equal(found, 16);
	/* what they jump to first lies before all of them */
	for (found = 0, at = plt - 0x200; at < plt; at++)
		found += !strcmp(name_at(e, at), ".plt");
	assert_int_equal(found, 16);
	vmp_elf_close(e);
}

/* As libc has it: what is linked with today, and what was once; and a function that has its old name only */
static void test_versions(void **state)
{
	static const char code[] =
		"__asm__(\".symver release_old, released@V1\\n.symver release_new, freed@@V2\\n"
		".symver gone_old, gone@V1\");\n"
		"__attribute__((noinline)) void release_new(void) { __asm__(\"nop\"); }\n"
		"extern __typeof__(release_new) release_old __attribute__((alias(\"release_new\")));\n"
		"void gone_old(void) { __asm__(\"nop; nop\"); }\n";
	static const char script[] = "V1 { global: released; gone; local: *; };\nV2 { global: freed; } V1;\n";
	char cmd[512], file[128], name[128];
	uint64_t freed, gone;
	struct vmp_elf *e;
	int stripped;

	(void)state;
	snprintf(name, sizeof(name), "%s/v.c", dir);
	gen_write(name, code, sizeof(code) - 1);
	snprintf(name, sizeof(name), "%s/v.map", dir);
	gen_write(name, script, sizeof(script) - 1);
	snprintf(file, sizeof(file), "%s/v.so", dir);
	snprintf(cmd, sizeof(cmd), "${CC:-cc} -O1 -fPIC -shared -Wl,--version-script=%s -o %s %s/v.c", name, file, dir);
	assert_int_equal(system(cmd), 0);
	freed = nm(file, "freed@@V2", "-D");
	gone = nm(file, "gone@V1", "-D");
	assert_int_equal(nm(file, "released@V1", ""), freed);
	for (stripped = 0; stripped < 2; stripped++) {
		assert_int_equal(vmp_elf_open(&e, file), 0);
		assert_string_equal(name_at(e, freed), "freed");
		assert_string_equal(name_at(e, gone), stripped ? "gone" : "gone_old");
		vmp_elf_close(e);
		snprintf(cmd, sizeof(cmd), "strip %s", file);
		assert_int_equal(system(cmd), 0);
	}
}

static void test_no_elf(void **state)
{
	struct vmp_elf *e;
	char file[128];

	(void)state;
	snprintf(file, sizeof(file), "%s/x", dir);
	gen_write(file, "#!/bin/sh\necho this is no ELF file at all, but long enough\n", 60);
	assert_int_equal(vmp_elf_open(&e, file), -ENOEXEC);
	gen_write(file, "", 0);
	assert_int_equal(vmp_elf_open(&e, file), -ENOEXEC);
	assert_int_equal(vmp_elf_open(&e, dir), -ENOEXEC);
	assert_int_equal(vmp_elf_open(&e, "/nonexistent"), -ENOENT);
}

/* Tables that lie outside of the file */
static void test_impossible_elf(void **state)
{
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(h),
	};
	struct vmp_elf *e;

	(void)state;
	assert_int_equal(vmp_elf_open_memory(&e, &h, sizeof(h), NULL), 0);
	vmp_elf_close(e);
	h.e_phnum = 1;
	h.e_phentsize = sizeof(Elf64_Phdr);
	h.e_phoff = 1ULL << 40;
	assert_int_equal(vmp_elf_open_memory(&e, &h, sizeof(h), NULL), -ENOEXEC);
	h.e_phoff = sizeof(h);	/* just behind the end */
	assert_int_equal(vmp_elf_open_memory(&e, &h, sizeof(h), NULL), -ENOEXEC);
	h.e_phnum = 0;
	h.e_shoff = 1ULL << 40;
	h.e_shentsize = sizeof(Elf64_Shdr);
	assert_int_equal(vmp_elf_open_memory(&e, &h, sizeof(h), NULL), -ENOEXEC);
}

static int opened(uint8_t *image, size_t bytes)
{
	struct vmp_elffile f;
	int err = vmp_elffile_memory(&f, image, bytes);

	if (!err)
		vmp_elffile_close(&f);
	free(image);
	return err;
}

/*
 * What comes of a file of @bytes with @nr sections, each of @each bytes at @offset.  @in_first: the first section tells how many,
 * for the header cannot
 */
#define SECTIONS(bits, class, machine) \
static int sections##bits(uint64_t nr, uint32_t type, uint64_t offset, uint64_t each, size_t bytes, int in_first) \
{ \
	const Elf##bits##_Ehdr h = { \
		.e_ident = { 0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT }, \
		.e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT, .e_ehsize = sizeof(h), \
		.e_shoff = sizeof(h), .e_shentsize = sizeof(Elf##bits##_Shdr), .e_shnum = in_first ? 0 : (uint16_t)nr, \
	}; \
	Elf##bits##_Shdr sh = { .sh_size = in_first ? (uint##bits##_t)nr : 0 }; \
	uint8_t *image = calloc(1, bytes); \
	uint64_t i; \
\
	assert_non_null(image); \
	memcpy(image, &h, sizeof(h)); \
	for (i = 0; i < nr && sizeof(h) + (i + 1) * sizeof(sh) <= bytes; i++) { \
		memcpy(image + sizeof(h) + i * sizeof(sh), &sh, sizeof(sh)); \
		sh = (Elf##bits##_Shdr){ .sh_type = type, .sh_offset = (uint##bits##_t)offset, .sh_size = (uint##bits##_t)each, \
					 .sh_addralign = 4 }; \
	} \
	return opened(image, bytes); \
}

SECTIONS(64, ELFCLASS64, EM_X86_64)
SECTIONS(32, ELFCLASS32, EM_386)

/* A few MiB that are many GiB of sections, for they lie on one another, or that are nothing but sections */
static void test_bomb_of_sections(void **state)
{
	static int (*const sections[])(uint64_t nr, uint32_t type, uint64_t offset, uint64_t each, size_t bytes, int in_first) = {
		sections64, sections32,
	};
	static const uint32_t types[] = { SHT_NOTE, SHT_RELA, SHT_PROGBITS };
	const size_t room = 8U << 20;
	size_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		/* the first is none; the others have no more than the file, twice over, or one too many */
		for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
			assert_int_equal(sections[k](17, types[i], 1U << 20, 1U << 20, room, 0), 0);
			assert_int_equal(sections[k](18, types[i], 1U << 20, 1U << 20, room, 0), -ENOEXEC);
			assert_int_equal(sections[k](65535, types[i], (4U << 20) + 1, 3U << 20, room, 0), -ENOEXEC);
			assert_int_equal(sections[k](65535, types[i], (4U << 20) + 1, 3U << 20, room, 1), -ENOEXEC);
		}
		/* what has no bytes in the file is no burden, as those of debug files */
		assert_int_equal(sections[k](18, SHT_NOBITS, 1U << 20, 1U << 30, room, 0), 0);
		assert_int_equal(sections[k](VMP_ELFFILE_SECTIONS_MAX, SHT_PROGBITS, 0, 0, room, 1), 0);
		assert_int_equal(sections[k](VMP_ELFFILE_SECTIONS_MAX + 1, SHT_PROGBITS, 0, 0, room, 1), -ENOEXEC);
	}
	assert_int_equal(sections64(1ULL << 58, SHT_PROGBITS, 0, 0, room, 1), -ENOEXEC);
}

/* A note; returns where the next one begins */
static uint8_t *put_note(uint8_t *at, uint32_t type, uint32_t bytes)
{
	const Elf64_Nhdr h = { 4, bytes, type };

	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), "GNU", 4);
	memset(at + sizeof(h) + 4, 0xab, bytes);
	return at + sizeof(h) + 4 + bytes;
}

/* A build-id is looked for in a MiB of sections' notes, of which compilers make large ones of their own; without sections in segments */
static void test_build_id(void **state)
{
	static const struct { uint32_t section, segment, before; size_t len; } cases[] = {
		{ 36, 0, 0, 20 }, { 1U << 20, 0, 1U << 19, 20 }, { (1U << 20) + 4, 0, 1U << 19, 0 }, { 0, 36, 0, 20 }, { 0, 0, 0, 0 },
	};
	struct image {
		Elf64_Ehdr h;
		Elf64_Phdr ph;
		Elf64_Shdr sh[2];
		uint8_t notes[2 << 20];
	} *m = calloc(1, sizeof(*m));
	struct vmp_elffile f;
	uint8_t *at;
	size_t i;

	(void)state;
	assert_non_null(m);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		m->h = (Elf64_Ehdr){
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(m->h),
			.e_phoff = offsetof(struct image, ph), .e_phentsize = sizeof(m->ph), .e_phnum = 1,
			.e_shoff = cases[i].section ? offsetof(struct image, sh) : 0, .e_shentsize = sizeof(m->sh[0]),
			.e_shnum = cases[i].section ? 2 : 0,
		};
		m->ph = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = offsetof(struct image, notes), .p_filesz = cases[i].segment };
		m->sh[1] = (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_offset = offsetof(struct image, notes), .sh_size = cases[i].section,
					 .sh_addralign = 4 };
		at = m->notes;
		if (cases[i].before)
			at = put_note(at, NT_GNU_BUILD_ID + 1, cases[i].before);
		put_note(at, NT_GNU_BUILD_ID, 20);
		assert_int_equal(vmp_elffile_memory(&f, m, sizeof(*m)), 0);
		assert_int_equal(f.build_id_len, cases[i].len);
		if (f.build_id_len)
			assert_int_equal(f.build_id[19], 0xab);
		vmp_elffile_close(&f);
	}
	free(m);
}

/* Several names for one function: which one people know */
static void test_aliases(void **state)
{
	static const struct vmp_symbol given[] = {
		{ .start = 0x100, .end = 0x110, .name = "weak_one", .rank = VMP_SYM_WEAK },
		{ .start = 0x100, .end = 0x110, .name = "local_one", .rank = VMP_SYM_LOCAL },
		{ .start = 0x100, .name = "no_size", .rank = VMP_SYM_GLOBAL },
		{ .start = 0x100, .end = 0x110, .name = "__global", .rank = VMP_SYM_GLOBAL },
		{ .start = 0x100, .end = 0x110, .name = "global", .rank = VMP_SYM_GLOBAL },
		{ .start = 0x200, .end = 0x210, .name = "open", .rank = VMP_SYM_WEAK },
		{ .start = 0x200, .end = 0x210, .name = "open64", .rank = VMP_SYM_WEAK },
		{ .start = 0x300, .end = 0x310, .name = "SyS_read", .rank = VMP_SYM_GLOBAL },
		{ .start = 0x300, .end = 0x310, .name = "sys_read", .rank = VMP_SYM_GLOBAL },
		{ .start = 0x400, .end = 0x410, .name = "an_old_one", .rank = VMP_SYM_OLD },
		{ .start = 0x400, .end = 0x410, .name = "local_one", .rank = VMP_SYM_LOCAL },
		{ .start = 0x400, .end = 0x410, .name = "weak_one", .rank = VMP_SYM_WEAK },
	};
	struct vmp_symtab t = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		assert_int_equal(vmp_vec_push(&t.sym, given[i]), 0);
	assert_int_equal(vmp_symtab_sort(&t), 0);
	assert_int_equal(t.sym.nr, 4);
	assert_string_equal(vmp_symtab_find(&t, 0x100)->name, "global");
	assert_string_equal(vmp_symtab_find(&t, 0x200)->name, "open64");
	assert_string_equal(vmp_symtab_find(&t, 0x300)->name, "sys_read");
	assert_string_equal(vmp_symtab_find(&t, 0x400)->name, "weak_one");
	vmp_symtab_free(&t);
}

/* Asked in any order, near and far: as when asked anew each time */
static void test_find_in_steps(void **state)
{
	struct vmp_symtab t = { 0 };
	uint64_t x = 7, addr, same, i;

	(void)state;
	for (i = 0; i < 3000; i++) {
		uint64_t start = 0x10000 + i * 32 + (i > 2000 ? 1ULL << 40 : 0);	/* one far away */
		struct vmp_symbol s = { .start = start, .end = start + 8 + i % 3 * 12, .name = "f" };

		assert_int_equal(vmp_vec_push(&t.sym, s), 0);
	}
	assert_int_equal(vmp_symtab_sort(&t), 0);
	for (i = 0; i < 100000; i++) {
		const struct vmp_symbol *s;

		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		addr = 0xff00 + (x >> 40) % (3010 * 32) + (x & (1ULL << 39) ? 1ULL << 40 : 0);
		s = vmp_symtab_find_until(&t, addr, &same);
		assert_ptr_equal(s, vmp_symtab_find(&t, addr));
		assert_true(same > addr);
		assert_ptr_equal(s, vmp_symtab_find(&t, same - 1));
		assert_true(vmp_symtab_find(&t, same) != s || same == UINT64_MAX ||
			    (!s && same == t.sym.v[0].start));
	}
	vmp_symtab_free(&t);
}

/* A function inside another: behind the inner one it is the outer one again. */
static void test_nested_symbols(void **state)
{
	struct vmp_symbol outer = { .start = 0x100, .end = 0x200, .name = "outer" };
	struct vmp_symbol inner = { .start = 0x120, .end = 0x130, .name = "inner" };
	struct vmp_symtab t = { 0 };

	(void)state;
	assert_int_equal(vmp_vec_push(&t.sym, inner), 0);
	assert_int_equal(vmp_vec_push(&t.sym, outer), 0);
	assert_int_equal(vmp_symtab_sort(&t), 0);
	assert_string_equal(vmp_symtab_find(&t, 0x110)->name, "outer");
	assert_string_equal(vmp_symtab_find(&t, 0x12f)->name, "inner");
	assert_string_equal(vmp_symtab_find(&t, 0x130)->name, "outer");
	assert_null(vmp_symtab_find(&t, 0x200));
	assert_null(vmp_symtab_find(&t, 0xff));
	vmp_symtab_free(&t);
}

/* From a guest's address to a name, through the object cache */
static void test_guest_function(void **state)
{
	const uint8_t id[] = { 0xab, 0xcd, 0xef };
	const char *file = build("lib.so", "-fPIC -shared -Wl,-z,separate-code");
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	uint64_t visible = nm(file, "visible", ""), base = 0x7f1234560000;
	char cmd[512], path[128];
	struct vmp_profile *p;
	struct vmp_model *m;
	static struct gen g;

	(void)state;
	snprintf(cmd, sizeof(cmd), "mkdir -p %s/u-1000/ab && cp %s %s/u-1000/ab/cdef", dir, file, dir);
	assert_int_equal(system(cmd), 0);
	setenv("VMPROF_OBJCACHE", dir, 1);
	assert_true(vmp_objcache_has("u-1000/abcdef"));
	assert_false(vmp_objcache_has("u-1000/abcdee"));
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x5000000, 10, 1, 0, "app");
	/* as the loader does: the text segment's pages, at their file offset */
	gen_map(&g, 1600, 0x5000000, 10, base + 0x1000, base + 0x2000, 0x1000, 100, "/usr/lib/lib.so");
	gen_file(&g, 1, 100, 1000, id, sizeof(id), "/usr/lib/lib.so");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, 0x5000000, 3, base + visible + 2, 3);
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].rows.nr, 1);
	assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[0].function), "visible");
	assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[0].module), "lib.so");
	assert_int_equal(p->domains.v[0].with_function, 3);
	vmp_profile_destroy(p);
	vmp_model_close(m);
}

/* What one guest sent under a build-id names nothing in another that claims the same. */
static void test_objects_by_domain(void **state)
{
	const uint8_t id[] = { 0xab, 0xcd, 0xef };
	const char *file = build("lib.so", "-fPIC -shared -Wl,-z,separate-code");
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	uint64_t visible = nm(file, "visible", ""), base = 0x7f1234560000;
	char cmd[512], path[128];
	struct vmp_profile *p;
	struct vmp_model *m;
	static struct gen g;
	uint32_t vm;

	(void)state;
	snprintf(cmd, sizeof(cmd), "mkdir -p %s/u-2000/ab && cp %s %s/u-2000/ab/cdef", dir, file, dir);
	assert_int_equal(system(cmd), 0);
	setenv("VMPROF_OBJCACHE", dir, 1);
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	for (vm = 1000; vm <= 2000; vm += 1000) {
		gen_vm(&g, vm, vm == 1000 ? "web01" : "web02");
		gen_clock(&g, vm);
		gen_hello(&g, 1500, 1, 0);
		gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x5000000, 10, 1, 0, "app");
		gen_map(&g, 1600, 0x5000000, 10, base + 0x1000, base + 0x2000, 0x1000, 100, "/usr/lib/lib.so");
		gen_file(&g, 1, 100, 1000, id, sizeof(id), "/usr/lib/lib.so");
		gen_agent_flush(&g, vm, 0);
		gen_guest(&g, vm, 2000, 0x5000000, 3, base + visible, 1);
	}
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].with_function, 0);
	assert_int_equal(p->domains.v[0].why[VMP_WHY_NO_OBJECT], 1);
	assert_int_equal(p->domains.v[1].with_function, 1);
	vmp_profile_destroy(p);
	vmp_model_close(m);
}

static void test_cache_keys(void **state)
{
	struct vmp_msg_file f = { .file = 1, .ino = 5, .bytes = 7, .path = { "/a", 2 } };
	uint8_t boot[16] = { 1 };
	char key[VMP_OBJKEY_MAX], other[VMP_OBJKEY_MAX], path[256];

	(void)state;
	vmp_objcache_key(key, boot, &f);
	assert_int_equal(key[0], 'x');
	assert_int_equal(strlen(key), 33);
	f.mtime_ns = 1;
	vmp_objcache_key(other, boot, &f);
	assert_string_not_equal(key, other);
	f.build_id_len = 20;
	memset(f.build_id, 0x2f, 20);	/* '/' */
	vmp_objcache_key(key, boot, &f);
	assert_string_equal(key, "2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f");
	setenv("VMPROF_OBJCACHE", "/c", 1);
	assert_int_equal(vmp_objcache_path(path, sizeof(path), "u-1/abcdef"), 0);
	assert_string_equal(path, "/c/u-1/ab/cdef");
	assert_int_equal(vmp_objcache_path(path, sizeof(path), "abcdef"), -EINVAL);	/* nobody's */
	assert_int_equal(vmp_objcache_path(path, sizeof(path), "u-1/../../etc/passwd"), -EINVAL);
	assert_int_equal(vmp_objcache_path(path, sizeof(path), "../abcdef"), -EINVAL);
	assert_int_equal(vmp_objcache_path(path, sizeof(path), "u-1/ab"), -EINVAL);
	assert_int_equal(vmp_objcache_path(path, 5, "u-1/abcdef"), -ENAMETOOLONG);
	vmp_objcache_own(key, "u-1");
	assert_string_equal(key, "u-1/2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f2f");
	strcpy(other, "abcdef");
	vmp_objcache_own(other, "../..");
	assert_string_equal(other, "");
}

#ifdef HAVE_DEMANGLE
/* n::n::...::f(), whose name has 2 @n + 7 bytes */
static void check_length(int n, int readable)
{
	char name[2048] = "_ZN", wanted[2048] = "", buf[VMP_READABLE_BYTES];
	int i;

	for (i = 0; i < n; i++) {
		strcat(name, "1n");
		strcat(wanted, "n::");
	}
	strcat(name, "1fEv");
	strcat(wanted, "f()");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), name), readable ? wanted : name);
}
#endif

static void test_demangle(void **state)
{
	char buf[256], bomb[500] = "_Z1f";
	int i;

	(void)state;
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "quantum_toffoli"), "quantum_toffoli");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_Znonsense"), "_Znonsense");
#ifdef HAVE_DEMANGLE
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_ZN3foo3barEi"), "foo::bar(int)");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_RNvCs1234_7mycrate3foo"), "mycrate::foo");
	assert_string_equal(vmp_demangle(buf, sizeof(buf),
					 "_ZN7mycrate3foo17h0123456789abcdefE"), "mycrate::foo");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_D8demangle4testFiZv"),
			    "demangle.test(int)");
	assert_string_equal(vmp_demangle(buf, 4, "_ZN3foo3barEi"), "_ZN3foo3barEi");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_ZN3foo3barEi@plt"), "foo::bar(int)@plt");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_RNvCs1234_7mycrate3foo@plt"), "mycrate::foo@plt");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_ZN3foo3barEi@@LIB_1.0"), "foo::bar(int)");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_ZN3foo3barEi@LIB_1.0"), "foo::bar(int)");
	assert_string_equal(vmp_demangle(buf, 18, "_ZN3foo3barEi@plt"), "foo::bar(int)@plt");
	assert_string_equal(vmp_demangle(buf, 17, "_ZN3foo3barEi@plt"), "_ZN3foo3barEi@plt");
	assert_string_equal(vmp_demangle(buf, 4, "_ZN3foo3barEi@plt"), "_ZN3foo3barEi@plt");
	check_length(508, 1);
	check_length(509, 0);
#endif
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "_Znonsense@plt"), "_Znonsense@plt");
	assert_string_equal(vmp_demangle(buf, sizeof(buf), "@plt"), "@plt");
	/* f(a<int, int>, a<#1, #1>, a<#2, #2>, ...): 2^34 times int at the end */
	strcat(bomb, "1aIiiE");
	for (i = 0; i < 34; i++)
		sprintf(bomb + strlen(bomb), i < 10 ? "S_IS%d_S%d_E" : "S_IS%c_S%c_E",
			i < 10 ? i : 'A' + i - 10, i < 10 ? i : 'A' + i - 10);
	assert_ptr_equal(vmp_demangle(buf, sizeof(buf), bomb), bomb);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_pie), T(test_fixed_address), T(test_stripped_library), T(test_plt), T(test_versions),
		T(test_no_elf), cmocka_unit_test(test_impossible_elf),
		cmocka_unit_test(test_bomb_of_sections), cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_nested_symbols), cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_find_in_steps), T(test_guest_function), T(test_objects_by_domain), cmocka_unit_test(test_cache_keys),
		cmocka_unit_test(test_demangle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
