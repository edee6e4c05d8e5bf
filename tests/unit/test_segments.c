// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_segments.c - which function an address in a mapped file is: prelinked
 * and moved programs, split mappings, segments that overlap in the file.
 */
#include "gen.h"

#include <elf.h>
#include <errno.h>

#include "model/elfsyms.h"
#include "model/model.h"
#include "report/profile.h"

#define CR3	0x5000000ULL

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

struct piece {
	uint64_t start, end, pgoff;
};

/* What a sample at @ip of a program with these mappings of DIR/file is called */
static const char *called(const struct piece *maps, int nr, uint64_t ip)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	static char name[128];
	char path[128];
	struct vmp_profile *p;
	struct vmp_model *m;
	static struct gen g;
	int i;

	gen_sh(dir, "mkdir -p u-1000/ab && cp file u-1000/ab/cdef0102030405");
	setenv("VMPROF_OBJCACHE", dir, 1);
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3, 10, 1, 0, "app");
	for (i = 0; i < nr; i++)
		gen_map(&g, 1600, CR3, 10, maps[i].start, maps[i].end, maps[i].pgoff, 100, "/usr/lib/file");
	gen_file(&g, 1, 100, 1000, id, sizeof(id), "/usr/lib/file");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, CR3, 3, ip, 1);
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].rows.nr, 1);
	assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[0].module), "file");
	snprintf(name, sizeof(name), "%s", vmp_model_name(m, p->domains.v[0].rows.v[0].function));
	vmp_profile_destroy(p);
	vmp_model_close(m);
	return name;
}

/* ---------------------------------------------------------- linked programs */

/* Functions on pages of their own */
static const char source[] =
	"#define ON_A_PAGE __attribute__((noinline, aligned(4096)))\n"
	"ON_A_PAGE int one(int x) { return x * 3; }\n"
	"ON_A_PAGE int two(int x) { return x * 5; }\n"
	"ON_A_PAGE int three(int x) { return x * 7; }\n"
	"__attribute__((section(\"far\"))) int away(int x) { return x * 9; }\n"
	"int main(int c, char **v) { (void)v; return one(c) + two(c) + three(c) + away(c); }\n";

/* By nm, which is not ours */
static uint64_t nm(const char *symbol)
{
	char cmd[256], line[256];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s/file | grep ' %s$'", dir, symbol);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoull(line, NULL, 16);
}

/* As the loader maps the executable segments of a program that it moves by @by. Return: how many */
static int load(uint64_t by, struct piece *maps, int max)
{
	unsigned long long offset, vaddr, bytes;
	char line[512];
	int nr = 0;
	FILE *f;

	snprintf(line, sizeof(line), "readelf -lW %s/file", dir);
	f = popen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " LOAD %llx %llx %*x %llx", &offset, &vaddr, &bytes) != 3 || !strstr(line, " E 0x"))
			continue;
		assert_true(nr < max);
		maps[nr++] = (struct piece){ by + (vaddr & ~0xfffULL), by + ((vaddr + bytes + 0xfff) & ~0xfffULL),
					     offset & ~0xfffULL };
	}
	pclose(f);
	assert_true(nr > 0);
	return nr;
}

/* All functions have their names, and nothing else has one */
static void check_names(const struct piece *maps, int nr, uint64_t by)
{
	static const char *const names[] = { "one", "two", "three", "away", "main" };
	char expected[128];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(called(maps, nr, by + nm(names[i])), names[i]);
		assert_string_equal(called(maps, nr, by + nm(names[i]) + 2), names[i]);
	}
	/* padding between two functions; what is told is its address in the file's own terms */
	snprintf(expected, sizeof(expected), "[file+0x%llx build-id abcdef0102030405]",
		 (unsigned long long)nm("two") + 0x800);
	assert_string_equal(called(maps, nr, by + nm("two") + 0x800), expected);
}

static void check_linked(const char *flags, const uint64_t *moves, int nr_moves)
{
	struct piece maps[8];
	int i, nr;

	gen_sh(dir, "cat > x.c << 'END'\n%sEND\n${CC:-cc} -O1 %s -o file x.c", source, flags);
	for (i = 0; i < nr_moves; i++) {
		nr = load(moves[i], maps, 8);
		check_names(maps, nr, moves[i]);
	}
}

static void test_layouts(void **state)
{
	static const uint64_t moves[] = { 0x555555550000 };

	(void)state;
	check_linked("-fPIE -pie -Wl,-z,separate-code", moves, 1);
	check_linked("-fPIE -pie -Wl,-z,noseparate-code", moves, 1);
	/* a second executable segment, far behind the first one */
	check_linked("-fPIE -pie -Wl,--section-start=far=0x4000000", moves, 1);
}

/* Its addresses do not begin at 0: where it was linked to, and elsewhere */
static void test_prelinked(void **state)
{
	static const uint64_t fixed[] = { 0 }, moves[] = { 0, 0x7f1234560000, -0x3000000ULL };

	(void)state;
	check_linked("-fno-pie -no-pie", fixed, 1);
	check_linked("-fPIE -pie -Wl,-Ttext-segment=0x7000000", moves, 3);
	check_linked("-fPIE -pie -Wl,-Ttext-segment=0x7000000 -Wl,-z,noseparate-code", moves, 3);
}

/* mprotect() of a page in the middle makes three mappings of one. */
static void test_split(void **state)
{
	static const uint64_t moves[] = { 0x555555550000 };
	struct piece whole[8], maps[3];

	(void)state;
	check_linked("-fPIE -pie -Wl,-z,separate-code", moves, 1);
	assert_int_equal(load(moves[0], whole, 8), 1);
	maps[0] = maps[1] = maps[2] = whole[0];
	maps[0].end = maps[1].start = moves[0] + nm("two");
	maps[1].end = maps[2].start = moves[0] + nm("three");
	maps[1].pgoff += maps[1].start - whole[0].start;
	maps[2].pgoff += maps[2].start - whole[0].start;
	check_names(maps, 3, moves[0]);
}

/* ---------------------------------------------------- overlapping segments */

/*
 * Two executable segments have offsets 0x1400 to 0x1800 in common, which are
 * 0x11400 in the first and 0x31400 in the second, where other functions are.
 */
struct image {
	Elf64_Ehdr h;
	Elf64_Phdr p[2];
	Elf64_Shdr s[6];
	Elf64_Sym sym[4];
	char str[32], names[64];
	uint8_t rest[0x3000];
};

static const struct image overlapping = {
	.h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
	       .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(Elf64_Ehdr),
	       .e_phoff = offsetof(struct image, p), .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr),
	       .e_shoff = offsetof(struct image, s), .e_shnum = 6, .e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = 5 },
	.p = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0, .p_vaddr = 0x10000,
		  .p_filesz = 0x1800, .p_memsz = 0x1800, .p_align = 0x1000 },
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1400, .p_vaddr = 0x31400,
		  .p_filesz = 0x1000, .p_memsz = 0x1000, .p_align = 0x1000 },
	},
	.s = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = 0x11000, .sh_offset = 0x1000, .sh_size = 0x800 },
		[2] = { .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = 0x31400, .sh_offset = 0x1400, .sh_size = 0x1000 },
		[3] = { .sh_name = 13, .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct image, sym), .sh_link = 4,
			.sh_size = 4 * sizeof(Elf64_Sym), .sh_entsize = sizeof(Elf64_Sym), .sh_info = 1 },
		[4] = { .sh_name = 21, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, str), .sh_size = 32 },
		[5] = { .sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names), .sh_size = 64 },
	},
	.sym = {
		[1] = { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
			.st_value = 0x11400, .st_size = 0x400 },
		[2] = { .st_name = 7, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2,
			.st_value = 0x31400, .st_size = 0x400 },
		[3] = { .st_name = 14, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 2,
			.st_value = 0x31800, .st_size = 0x400 },
	},
	.str = "\0first\0second\0behind",
	.names = "\0.text\0.more\0.symtab\0.strtab\0.shstrtab",
};

static void test_overlap(void **state)
{
	static const struct piece whole[] = {
		{ 0x50010000, 0x50012000, 0 }, { 0x50031000, 0x50033000, 0x1000 },
	};
	/* what begins at a page where the second segment begins is of the first one */
	static const struct piece split[] = {
		{ 0x50010000, 0x50011000, 0 }, { 0x50011000, 0x50012000, 0x1000 }, { 0x50031000, 0x50033000, 0x1000 },
	};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	gen_write(path, &overlapping, sizeof(overlapping));
	assert_string_equal(called(whole, 2, 0x50011500), "first");
	assert_string_equal(called(whole, 2, 0x50031500), "second");
	assert_string_equal(called(whole, 2, 0x50031900), "behind");
	assert_string_equal(called(split, 3, 0x50011500), "first");
	assert_string_equal(called(split, 3, 0x50031500), "second");
	assert_string_equal(called(split, 3, 0x50031900), "behind");
	/* nobody told of the other mapping: it may be either */
	assert_string_equal(called(split + 1, 1, 0x50011500), "[file+0x1500 build-id abcdef0102030405]");
	assert_string_equal(called(split + 2, 1, 0x50031500), "[file+0x1500 build-id abcdef0102030405]");
	assert_string_equal(called(split + 2, 1, 0x50031900), "behind");
}

/* QEMU may be such a program, too. */
static void test_overlap_of_host(void **state)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	char path[128], maps[1024];
	struct vmp_profile *p;
	struct vmp_model *m;
	static struct gen g;

	(void)state;
	snprintf(path, sizeof(path), "%s/file", dir);
	gen_write(path, &overlapping, sizeof(overlapping));
	snprintf(maps, sizeof(maps), "50010000-50011000 r-xp 00000000 08:01 55 %s\n50011000-50012000 r-xp 00001000 08:01 55 %s\n"
		 "50031000-50033000 r-xp 00001000 08:01 55 %s\n50040000-50043000 r-xp 00001000 08:01 56 /other\n", path, path, path);
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_text(&g, VMPROF_CAP_HOST_MAPS, GEN_VM, maps);
	gen_host(&g, GEN_VM, 2000, VMPROF_MODE_VMM_USER, 0, 0, 0x50011500, 3);
	gen_host(&g, GEN_VM, 3000, VMPROF_MODE_VMM_USER, 0, 0, 0x50031500, 2);
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].rows.nr, 2);
	assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[0].function), "first");
	assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[1].function), "second");
	vmp_profile_destroy(p);
	vmp_model_close(m);
}

/* At fixed addresses one mapping is enough. */
static void test_overlap_fixed(void **state)
{
	static const struct piece first = { 0x11000, 0x12000, 0x1000 }, second = { 0x31000, 0x33000, 0x1000 };
	struct image img = overlapping;
	char path[128];

	(void)state;
	img.h.e_type = ET_EXEC;
	snprintf(path, sizeof(path), "%s/file", dir);
	gen_write(path, &img, sizeof(img));
	assert_string_equal(called(&first, 1, 0x11500), "first");
	assert_string_equal(called(&second, 1, 0x31500), "second");
}

static void test_bounds(void **state)
{
	struct vmp_elf_map maps[] = { { 0x50031000, 0x1000 }, { 0x50010000, 0 } };
	struct image img = overlapping;
	uint64_t vaddr, same;
	struct vmp_elf *e;

	(void)state;
	assert_int_equal(vmp_elf_open_memory(&e, &img, sizeof(img), NULL), 0);
	assert_int_equal(vmp_elf_vaddr_until(e, maps + 1, 1, 0x1200, &vaddr, &same), 0);
	assert_int_equal(vaddr, 0x11200);
	assert_int_equal(same, 0x1400);		/* there the other one begins */
	assert_int_equal(vmp_elf_vaddr_until(e, maps, 2, 0x1500, &vaddr, &same), 0);
	assert_int_equal(vaddr, 0x31500);
	assert_int_equal(same, 0x2400);
	assert_int_equal(vmp_elf_vaddr_until(e, maps, 2, 0x2400, &vaddr, &same), -ENOENT);
	assert_int_equal(vmp_elf_vaddr(e, 0x1500, &vaddr), -ENOENT);
	assert_int_equal(vmp_elf_vaddr(e, 0x1300, &vaddr), 0);
	assert_int_equal(vaddr, 0x11300);
	vmp_elf_close(e);
	/* the same twice is one */
	img.p[1] = img.p[0];
	assert_int_equal(vmp_elf_open_memory(&e, &img, sizeof(img), NULL), 0);
	assert_int_equal(vmp_elf_vaddr_until(e, maps + 1, 1, 0x1500, &vaddr, &same), 0);
	assert_int_equal(vaddr, 0x11500);
	vmp_elf_close(e);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_layouts), T(test_prelinked), T(test_split), T(test_overlap), T(test_overlap_of_host),
		T(test_overlap_fixed),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
