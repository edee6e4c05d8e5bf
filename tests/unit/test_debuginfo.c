// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_debuginfo.c - symbols that are not where a program's own are: in
 * mini-debuginfo, debug files, PLT stubs, DWARF.  Objects are made by the
 * compiler and binutils; nm, objdump and addr2line are the judges.
 *
 *   test_debuginfo --capture DIR    make a library there and a capture with samples in it, for
 *                                   inline.t; prints where they are
 */
#include "gen.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/inotify.h>
#include <sys/resource.h>

#include "model/dwarf.h"
#include "model/elfsyms.h"
#include "model/resolve.h"
#include "model/unpack.h"
#include "report/profile.h"
#include "util/below.h"

static char *dir, file[128], debug_path[144];

/* Run in the test's folder. */
#define sh(...) gen_sh(dir, __VA_ARGS__)

static const char source[] =
	"#include <stdio.h>\n"
	"extern int other(int);\n"
	"__attribute__((noinline)) static int hidden(int x) { return x * 7; }\n"
	"static inline __attribute__((always_inline)) int leaf(int x)\n"
	"{\n"
	"	return x * x + puts(\"leaf\");\n"
	"}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n"
	"{\n"
	"	return leaf(x) + 3;\n"
	"}\n"
	"__attribute__((noinline)) int visible(int x)\n"
	"{\n"
	"	int y = middle(x);\n"
	"	return hidden(y) + 1;\n"
	"}\n"
	"static int fast_one(int x) { return x; }\n"
	"static int (*pick(void))(int) { return fast_one; }\n"
	"__attribute__((visibility(\"hidden\"), ifunc(\"pick\"))) int fast(int x);\n"
	"int call_fast(int x) { return fast(x) + 1; }\n"
	"int (*taken)(const char *) = puts;\n"
	"int both(int (**p)(int)) { *p = other; return other(1); }\n";

static void compile(const char *flags)
{
	snprintf(file, sizeof(file), "%s/x.c", dir);
	gen_write(file, source, sizeof(source) - 1);
	sh("${CC:-cc} -O2 -g -fPIC -shared -o lib.so %s x.c", flags);
	snprintf(file, sizeof(file), "%s/lib.so", dir);
}

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(debug_path, sizeof(debug_path), "%s/none:%s/dbg", dir, dir);
	setenv("VMPROF_DEBUG_PATH", debug_path, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gen_rmdir(dir);
	return 0;
}

static uint64_t nm_of(const char *name, const char *symbol)
{
	char cmd[256], line[256];
	uint64_t addr;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s/%s | grep ' %s$'", dir, name, symbol);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	addr = strtoull(line, NULL, 16);
	pclose(f);
	assert_true(addr > 0);
	return addr;
}

static uint64_t nm(const char *symbol)
{
	return nm_of("lib.so", symbol);
}

/* What the file, which lies at @name in its guest, calls an address */
static const char *called_as(uint64_t addr, const char *name)
{
	static char buf[256];
	const struct vmp_elf_place place = {
		.folder = VMP_BELOW_HOST, .path = file, .name = name, .sysroot = VMP_BELOW_HOST,
	};
	const struct vmp_symbol *s;
	struct vmp_elf *e;

	assert_int_equal(vmp_elf_open_place(&e, &place), 0);
	s = vmp_elf_symbol(e, addr);
	snprintf(buf, sizeof(buf), "%s", s ? s->name : "(none)");
	vmp_elf_close(e);
	return buf;
}

static const char *called(uint64_t addr)
{
	return called_as(addr, "/usr/lib/lib.so");
}

static const char *unnamed(uint64_t addr)
{
	static char buf[32];

	snprintf(buf, sizeof(buf), "sub_%llx", (unsigned long long)addr);
	return buf;
}

/* ------------------------------------------------------- mini-debuginfo */

static void test_mini(void **state)
{
	uint64_t hidden;

	(void)state;
	compile("");
	hidden = nm("hidden");
	sh("objcopy --only-keep-debug lib.so full && echo hidden > keep &&"
	   "objcopy -S --keep-symbols=keep full mini && xz -k mini && strip lib.so");
	assert_string_equal(called(hidden), unnamed(hidden));
	sh("objcopy --add-section .gnu_debugdata=mini.xz lib.so with && cp with lib.so");
	assert_string_equal(called(hidden), "hidden");
	assert_string_equal(called(hidden + 1), "hidden");
	/* cut short: as if it were not there */
	sh("head -c 100 mini.xz > cut && objcopy --update-section .gnu_debugdata=cut lib.so");
	assert_string_equal(called(hidden), unnamed(hidden));
	/* with a lot of nothing behind it, up to the limit and beyond */
	sh("(cat mini && head -c 100000000 /dev/zero) | xz -0 > large && objcopy --update-section .gnu_debugdata=large with lib.so");
	assert_string_equal(called(hidden), "hidden");
	sh("(cat mini && head -c 140000000 /dev/zero) | xz -0 > bomb && objcopy --update-section .gnu_debugdata=bomb with lib.so");
	assert_string_equal(called(hidden), unnamed(hidden));
}

/* ---------------------------------------------------------- debug files */

/* Where a debug file with this library's build-id belongs */
static void put_by_build_id(const char *debug)
{
	sh("id=$(readelf -n lib.so | sed -n 's/.*Build ID: //p') && d=dbg/.build-id/$(echo $id | cut -c1-2) &&"
	   "mkdir -p $d && cp %s $d/$(echo $id | cut -c3-).debug", debug);
}

static void test_by_build_id(void **state)
{
	uint64_t hidden;

	(void)state;
	compile("-Wl,--build-id=sha1");
	hidden = nm("hidden");
	sh("objcopy --only-keep-debug lib.so full && strip lib.so");
	assert_string_equal(called(hidden), unnamed(hidden));
	put_by_build_id("full");
	assert_string_equal(called(hidden), "hidden");
	/* another program's debug file at that place is not believed */
	sh("sed 's/hidden(/secret(/g' x.c > y.c && ${CC:-cc} -O2 -g -fPIC -shared -Wl,--build-id=sha1 -o y.so y.c");
	put_by_build_id("y.so");
	assert_string_equal(called(hidden), unnamed(hidden));
}

/* Beside an object in the cache */
static void test_beside(void **state)
{
	uint64_t hidden;

	(void)state;
	compile("");
	hidden = nm("hidden");
	sh("objcopy --only-keep-debug lib.so lib.so.debug && strip lib.so");
	assert_string_equal(called(hidden), "hidden");
}

static void test_by_link(void **state)
{
	static const char *const places[] = { ".", ".debug", "dbg/opt/app" };
	uint64_t hidden;
	size_t i;

	(void)state;
	compile("-Wl,--build-id=none");
	hidden = nm("hidden");
	sh("objcopy --only-keep-debug lib.so full && strip lib.so && cp full here &&"
	   "objcopy --add-gnu-debuglink=here lib.so && rm here");
	assert_string_equal(called(hidden), unnamed(hidden));
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		sh("mkdir -p %s && cp full %s/here", places[i], places[i]);
		assert_string_equal(called_as(hidden, "/opt/app/lib.so"), "hidden");
		sh("echo >> %s/here", places[i]);	/* not what was linked to */
		assert_string_equal(called_as(hidden, "/opt/app/lib.so"), unnamed(hidden));
		sh("rm %s/here", places[i]);
	}
	/* a guest's path does not lead out of the debug folder */
	sh("mkdir -p dbg secret && cp full secret/here");
	assert_string_equal(called_as(hidden, "/../secret/lib.so"), unnamed(hidden));
}

/* The program was moved after its debug file was made, as prelink does. */
static void test_moved(void **state)
{
	uint64_t hidden;
	struct vmp_frame frames[VMP_FRAMES_MAX];
	struct vmp_dwarf *d;
	struct vmp_elf *e;
	uint64_t bias;

	(void)state;
	compile("");
	hidden = nm("hidden");
	/* the debug file's sections, symbols and DWARF are of the place before */
	sh("${CC:-cc} -O2 -g -fPIC -shared -Wl,--image-base=0x200000 -o moved.so x.c 2>/dev/null ||"
	   "${CC:-cc} -O2 -g -fPIC -shared -Wl,-Ttext-segment=0x200000 -o moved.so x.c");
	sh("objcopy --only-keep-debug lib.so debug && objcopy -R .note.gnu.build-id debug && mv moved.so lib.so");
	hidden = nm("hidden");
	sh("objcopy -R .note.gnu.build-id lib.so && strip lib.so && cp debug here &&"
	   "objcopy --add-gnu-debuglink=here lib.so");
	assert_true(hidden > 0x200000);
	assert_string_equal(called(hidden), "hidden");
	assert_int_equal(vmp_elf_open(&e, file), 0);
	d = vmp_elf_dwarf(e, &bias);
	assert_non_null(d);
	assert_int_equal(vmp_dwarf_frames(d, hidden - bias, frames), 1);
	assert_string_equal(frames[0].name, "hidden");
	assert_int_equal(frames[0].line, 3);
	vmp_elf_close(e);
}

/* ---------------------------------------------------------------- stubs */

/* Every stub that objdump names has the same name with us. Return: how many. */
static int same_stubs(void)
{
	char cmd[256], line[256], name[128];
	unsigned long long at;
	int n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "objdump -d %s | grep '@plt>:$'", file);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx <%127[^>]>:", &at, name) != 2 || strstr(name, "*ABS*"))
			continue;
		assert_string_equal(called(at), name);
		n++;
	}
	pclose(f);
	return n;
}

static void test_stubs(void **state)
{
	(void)state;
	compile("-fcf-protection=none -Wl,-z,lazy");
	assert_true(same_stubs() >= 2);		/* .plt.got has one of them */
	compile("-fcf-protection=full -Wl,-z,ibtplt -Wl,-z,lazy");
	assert_true(same_stubs() >= 2);		/* .plt.sec */
	compile("-fcf-protection=none -Wl,-z,now");
	assert_true(same_stubs() >= 1);
}

static void test_ifunc(void **state)
{
	char line[256], cmd[256];
	uint64_t at;
	FILE *f;

	(void)state;
	compile("-fcf-protection=none");
	/* the name that callers use, not the resolver's */
	assert_string_equal(called(nm("fast")), "fast");
	assert_string_equal(called(nm("fast_one")), "fast_one");
	snprintf(cmd, sizeof(cmd), "objdump -d %s | grep 'ABS.*@plt>:$'", file);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	at = strtoull(line, NULL, 16);
	pclose(f);
	assert_string_equal(called(at), "fast@plt");
}

/* A static program's stubs, whose size is told nowhere: objdump knows the slots that they jump through, readelf
   the slots' resolvers, nm what these are called by. Return: how many */
static int same_resolvers(int stripped)
{
	unsigned long long stub, resolver;
	char cmd[256], line[256], *name;
	int n = 0, len;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "join %s/stubs %s/slots", dir, dir);
	f = popen(cmd, "r");
	assert_non_null(f);
	for (; fgets(line, sizeof(line), f); n++) {
		assert_int_equal(sscanf(line, "%*s %llx %llx", &stub, &resolver), 2);
		if (stripped) {
			assert_null(strchr(called(stub), '@'));
			continue;
		}
		name = strdup(called(stub));
		assert_string_equal(called(stub + 7), name);
		len = (int)strcspn(name, "@");
		assert_string_equal(name + len, "@plt");
		sh("nm whole | grep -q '^0*%llx i %.*s$'", resolver, len, name);
		free(name);
	}
	pclose(f);
	return n;
}

static void test_ifunc_static(void **state)
{
	(void)state;
	compile("");
	sh("cat > main.c << 'END'\nint other(int x) { return x; }\nint call_fast(int x);\n"
	   "int main(int c, char **v) { (void)v; return call_fast(c); }\nEND\n"
	   "${CC:-cc} -O2 -static -fno-pie -no-pie -o lib.so x.c main.c && cp lib.so whole");
	sh("objdump -d -j .plt whole | sed -n 's/^ *\\([0-9a-f]*\\):.*jmp .*# \\([0-9a-f]*\\) .*/\\2 \\1/p' | sort > stubs &&"
	   "readelf -rW whole | sed -n 's/^0*\\([0-9a-f]*\\) .*IRELATIVE* *\\([0-9a-f]*\\)$/\\1 \\2/p' | sort > slots");
	assert_true(same_resolvers(0) > 2);		/* ours, and those of the C library */
	assert_string_equal(called(nm("fast_one")), "fast_one");
	sh("strip lib.so");
	assert_true(same_resolvers(1) > 2);
}

/* ---------------------------------------------------------------- DWARF */

/* All addresses of visible(): functions and lines as addr2line has them */
static void check_frames(const char *judge)
{
	struct vmp_frame frames[VMP_FRAMES_MAX];
	uint64_t start, end, at, bias;
	char cmd[256], name[128], where[256];
	const struct vmp_symbol *sym;
	int i, n, inlined = 0, line;
	struct vmp_dwarf *d;
	struct vmp_elf *e;
	FILE *f;

	assert_int_equal(vmp_elf_open(&e, file), 0);
	sym = vmp_elf_symbol(e, nm_of(judge, "visible"));
	assert_non_null(sym);
	start = sym->start;
	end = sym->end;
	d = vmp_elf_dwarf(e, &bias);
	assert_non_null(d);
	assert_true(end - start > 8);
	for (at = start; at < end; at++) {
		n = vmp_dwarf_frames(d, at - bias, frames);
		snprintf(cmd, sizeof(cmd), "cd %s && addr2line -f -i -e %s %llx", dir, judge, (unsigned long long)at);
		f = popen(cmd, "r");
		assert_non_null(f);
		for (i = 0; fscanf(f, "%127s %255[^\n]", name, where) == 2; i++) {
			assert_true(i < n);
			assert_string_equal(frames[i].name, name);
			assert_int_equal(frames[i].inlined, i + 1 < n);
			line = strrchr(where, ':') ? atoi(strrchr(where, ':') + 1) : 0;
			assert_int_equal(frames[i].line, line);
			assert_non_null(strstr(frames[i].file, "x.c"));
		}
		pclose(f);
		assert_int_equal(i, n);
		inlined += n == 3;
	}
	assert_true(inlined > 0);
	vmp_elf_close(e);
}

static void test_frames(void **state)
{
	(void)state;
	compile("");
	check_frames("lib.so");
	/* the symbols stay here, DWARF goes elsewhere */
	sh("cp lib.so whole && objcopy --only-keep-debug lib.so lib.so.debug && strip -g lib.so");
	check_frames("whole");
	compile("-gdwarf-4");
	check_frames("lib.so");
}

/* ------------------------------------------------------------------ packed */

/* Open the library as a guest's. */
static struct vmp_elf *opened(struct vmp_unpack *u)
{
	const struct vmp_elf_place place = {
		.folder = VMP_BELOW_HOST, .path = file, .name = "/usr/lib/lib.so", .sysroot = VMP_BELOW_HOST, .unpack = u,
	};
	struct vmp_elf *e;

	assert_int_equal(vmp_elf_open_place(&e, &place), 0);
	return e;
}

/* The library has no DWARF that is read, for one reason; its symbols are there. */
static void check_refused(enum vmp_unread why)
{
	struct vmp_unpack u = { 0 };
	struct vmp_elf *e = opened(&u);
	uint64_t bias;

	assert_non_null(vmp_elf_symbol(e, nm("visible")));
	assert_null(vmp_elf_dwarf(e, &bias));
	assert_null(vmp_elf_dwarf(e, &bias));
	assert_int_equal(u.unread[why], 1);
	assert_int_equal(u.unread[VMP_UNREAD_LARGE] + u.unread[VMP_UNREAD_BROKEN], 1);
	vmp_elf_close(e);
	assert_int_equal(u.held, 0);
}

/* Change a section of the library: its bytes and its header. */
static void change(const char *section, void (*fn)(Elf64_Shdr *sh, uint8_t *data, uint64_t arg), uint64_t arg)
{
	size_t len, i;
	uint8_t *img = gen_read(file, &len);
	Elf64_Ehdr *h = (Elf64_Ehdr *)img;
	Elf64_Shdr *sh = (Elf64_Shdr *)(img + h->e_shoff);
	const char *names = (const char *)img + sh[h->e_shstrndx].sh_offset;
	int found = 0;

	for (i = 1; i < h->e_shnum; i++) {
		if (section && strcmp(names + sh[i].sh_name, section))
			continue;
		fn(&sh[i], img + sh[i].sh_offset, arg);
		found++;
	}
	assert_true(found > 0);
	gen_write(file, img, len);
	free(img);
}

static void claims(Elf64_Shdr *sh, uint8_t *data, uint64_t bytes)
{
	assert_true(sh->sh_flags & SHF_COMPRESSED);
	((Elf64_Chdr *)data)->ch_size += bytes;
}

static void claims_gnu(Elf64_Shdr *sh, uint8_t *data, uint64_t bytes)
{
	(void)sh;
	assert_memory_equal(data, "ZLIB", 4);
	for (bytes += data[11]; bytes > 255; bytes = 0)
		data[4] = 1;			/* 2^56 bytes */
	data[11] = (uint8_t)bytes;
}

static void is_packed_by(Elf64_Shdr *sh, uint8_t *data, uint64_t how)
{
	assert_true(sh->sh_flags & SHF_COMPRESSED);
	((Elf64_Chdr *)data)->ch_type = (Elf64_Word)how;
}

static void is_shorter(Elf64_Shdr *sh, uint8_t *data, uint64_t bytes)
{
	(void)data;
	sh->sh_size -= bytes;
}

static void has_only(Elf64_Shdr *sh, uint8_t *data, uint64_t bytes)
{
	(void)data;
	sh->sh_size = bytes;
}

static void is_damaged(Elf64_Shdr *sh, uint8_t *data, uint64_t at)
{
	data[sh->sh_size - at] ^= 0x55;
}

static void says_packed(Elf64_Shdr *sh, uint8_t *data, uint64_t size)
{
	const Elf64_Chdr h = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1 };

	if (sh->sh_flags & SHF_ALLOC && sh->sh_type != SHT_NOTE)
		return;			/* else it is another program */
	sh->sh_flags |= SHF_COMPRESSED;
	if (sh->sh_type != SHT_NOBITS && sh->sh_size >= sizeof(h))
		memcpy(data, &h, sizeof(h));
}

static const struct {
	const char *how, *looks;
} forms[] = {
	{ "zlib-gabi", "debug_info .* C " }, { "zlib-gnu", "zdebug_info" }, { "zstd", "debug_info .* C " },
};

/* Make it anew, packed; "whole" is the same, not packed.  Return: 0 objcopy knows no such way. */
static int pack(const char *flags, const char *how, const char *looks)
{
	compile(flags);
	sh("cp lib.so whole");
	if (gen_run(dir, "objcopy --compress-debug-sections=%s lib.so 2>/dev/null", how)) {
		assert_string_equal(how, "zstd");
		return 0;
	}
	sh("readelf -SW lib.so | grep -q '%s'", looks);
	return 1;
}

/* Functions and lines are those of a file that is not packed. */
static void test_packed(void **state)
{
	static const char *const dwarfs[] = { "-gdwarf-5", "-gdwarf-4" };
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		for (j = 0; j < 2; j++) {
			if (!pack(dwarfs[j], forms[i].how, forms[i].looks))
				break;
			check_frames("whole");
			/* as a debug file, with and without the symbols in it */
			sh("objcopy --only-keep-debug lib.so lib.so.debug && strip -g lib.so");
			check_frames("whole");
			sh("strip lib.so");
			check_frames("whole");
			sh("rm lib.so.debug");
		}
	}
	/* .zdebug_* that somebody has unpacked already */
	compile("");
	sh("cp lib.so whole && for s in info abbrev line str; do objcopy --rename-section .debug_$s=.zdebug_$s lib.so; done");
	check_frames("whole");
}

/* What cannot be unpacked to what it says is refused as a whole. */
static void test_packed_badly(void **state)
{
	(void)state;
	pack("", "zlib-gabi", "");
	change(".debug_str", claims, 1);
	check_refused(VMP_UNREAD_BROKEN);
	change(".debug_str", claims, (uint64_t)-2);
	check_refused(VMP_UNREAD_BROKEN);
	change(".debug_str", claims, 1);
	check_frames("whole");
	change(".debug_str", claims, 200 << 20);
	check_refused(VMP_UNREAD_BROKEN);
	change(".debug_str", claims, 1ULL << 40);
	check_refused(VMP_UNREAD_LARGE);
	change(".debug_str", claims, UINT64_MAX - (1ULL << 40) - (300 << 20));
	check_refused(VMP_UNREAD_LARGE);
	pack("", "zlib-gabi", "");
	change(".debug_line", claims, 300 << 20);
	check_refused(VMP_UNREAD_LARGE);
	pack("", "zlib-gabi", "");
	change(".debug_info", is_shorter, 5);
	check_refused(VMP_UNREAD_BROKEN);
	pack("", "zlib-gabi", "");
	change(".debug_info", has_only, sizeof(Elf64_Chdr) - 1);
	check_refused(VMP_UNREAD_BROKEN);
	pack("", "zlib-gabi", "");
	change(".debug_info", is_damaged, 20);
	check_refused(VMP_UNREAD_BROKEN);
	pack("", "zlib-gabi", "");
	change(".debug_abbrev", is_packed_by, 7);
	check_refused(VMP_UNREAD_BROKEN);

	pack("", "zlib-gnu", "");
	change(".zdebug_str", claims_gnu, 1);
	check_refused(VMP_UNREAD_BROKEN);
	change(".zdebug_str", claims_gnu, 1000);
	check_refused(VMP_UNREAD_LARGE);
	pack("", "zlib-gnu", "");
	change(".zdebug_line", is_shorter, 5);
	check_refused(VMP_UNREAD_BROKEN);

	if (pack("", "zstd", "")) {
		change(".debug_str", claims, 1);
		check_refused(VMP_UNREAD_BROKEN);
		change(".debug_str", claims, (uint64_t)-2);
		check_refused(VMP_UNREAD_BROKEN);
		change(".debug_str", claims, 1);
		change(".debug_info", is_shorter, 5);
		check_refused(VMP_UNREAD_BROKEN);
	}
}

/* Make the library one that unpacks to @mib MiB of nothing in a section. */
static void make_bomb(const char *section, int mib, const char *how)
{
	compile("");
	sh("cp lib.so whole && objcopy -O binary -j %s --set-section-flags %s=alloc lib.so long && truncate -s +%dM long && "
	   "objcopy --update-section %s=long lib.so && objcopy --compress-debug-sections=%s lib.so && rm long && test $(stat -c %%s lib.so) -lt 1000000",
	   section, section, mib, section, how);
}

static long peak_mib(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss >> 10;
}

static void test_bomb(void **state)
{
	struct vmp_unpack u = { 0 };
	struct vmp_elf *e[5];
	char line[128];
	uint64_t bias;
	int i;

	(void)state;
	make_bomb(".debug_str", 300, "zlib-gabi");
	check_refused(VMP_UNREAD_LARGE);
	/* a little of each is too much together */
	make_bomb(".debug_str", 130, "zlib-gabi");
	check_frames("whole");
	change(".debug_line", claims, 130 << 20);
	check_refused(VMP_UNREAD_LARGE);
	/* what is not read does not count */
	make_bomb(".debug_aranges", 600, "zlib-gabi");
	check_frames("whole");
	assert_in_range(peak_mib(), 1, 500);

	/* all files together have a bound, too; what is closed does not count */
	make_bomb(".debug_str", 250, "zlib-gabi");
	for (i = 0; i < 5; i++)
		e[i] = opened(&u);
	assert_non_null(vmp_elf_dwarf(e[0], &bias));
	assert_non_null(vmp_elf_dwarf(e[1], &bias));
	assert_non_null(vmp_elf_dwarf(e[2], &bias));
	assert_null(vmp_elf_dwarf(e[3], &bias));
	assert_string_equal(vmp_unpack_unread(&u, line, sizeof(line)), "debugging information: 1 file too large to be read");
	vmp_elf_close(e[0]);
	assert_non_null(vmp_elf_dwarf(e[4], &bias));
	assert_int_equal(u.unread[VMP_UNREAD_LARGE], 1);
	for (i = 1; i < 5; i++)
		vmp_elf_close(e[i]);
	assert_int_equal(u.held, 0);
	assert_in_range(peak_mib(), 1, 1023);
}

/* The library has mini-debuginfo that unpacks to 100 MB.  Return: a function that is in it alone */
static uint64_t make_mini_bomb(void)
{
	uint64_t hidden;

	compile("");
	hidden = nm("hidden");
	sh("objcopy --only-keep-debug lib.so full && echo hidden > keep && objcopy -S --keep-symbols=keep full mini && strip lib.so &&"
	   "(cat mini && head -c 100000000 /dev/zero) | xz -0 > large && objcopy --add-section .gnu_debugdata=large lib.so");
	return hidden;
}

/* Mini-debuginfo of many files has the same bound. */
static void test_mini_bombs(void **state)
{
	struct vmp_unpack u = { 0 };
	struct vmp_elf *e[9];
	uint64_t hidden;
	int i;

	(void)state;
	hidden = make_mini_bomb();
	for (i = 0; i < 9; i++) {
		e[i] = opened(&u);
		assert_string_equal(vmp_elf_symbol(e[i], hidden)->name, i < 8 ? "hidden" : unnamed(hidden));
	}
	assert_int_equal(u.unread[VMP_UNREAD_LARGE], 1);
	for (i = 0; i < 9; i++)
		vmp_elf_close(e[i]);
	assert_int_equal(u.held, 0);
}

/* A guest's never take all: there is room for those of the next, and of the host. */
static void test_bombs_of_one_guest(void **state)
{
	static const struct {
		uint32_t vm;
		int files;	/* of 100 MB that have room; one more has not */
	} in_turn[] = { { 7, 4 }, { 8, 2 }, { 0, 2 } };
	struct vmp_unpacks all = { .nr = 0 };
	struct vmp_unpack *u, sum;
	struct vmp_elf *e[11];
	unsigned int i, n = 0;
	uint64_t hidden;
	int j;

	(void)state;
	hidden = make_mini_bomb();
	for (i = 0; i < 3; i++) {
		u = vmp_unpacks_of(&all, in_turn[i].vm);
		for (j = 0; j <= in_turn[i].files; j++, n++) {
			e[n] = opened(u);
			assert_string_equal(vmp_elf_symbol(e[n], hidden)->name, j < in_turn[i].files ? "hidden" : unnamed(hidden));
		}
		assert_int_equal(u->unread[VMP_UNREAD_LARGE], 1);
	}
	sum = vmp_unpacks_sum(&all);
	assert_int_equal(sum.unread[VMP_UNREAD_LARGE], 3);
	assert_ptr_equal(vmp_unpacks_of(&all, 7), &all.of[1]);
	while (n)
		vmp_elf_close(e[--n]);
	sum = vmp_unpacks_sum(&all);
	assert_int_equal(sum.held, 0);
}

/* Sections that nobody packs say that they are packed, and of what size: nothing is unpacked. */
static void test_all_packed(void **state)
{
	struct vmp_unpack u = { 0 };
	struct vmp_elf *e;
	uint64_t bias;

	(void)state;
	compile("");
	change(".symtab", says_packed, 1ULL << 40);
	change(".strtab", says_packed, 1ULL << 40);
	change(".note.gnu.build-id", says_packed, 1ULL << 40);
	e = opened(&u);
	vmp_elf_symbol(e, 0x1000);
	assert_non_null(vmp_elf_dwarf(e, &bias));
	vmp_elf_close(e);
	compile("");
	change(NULL, says_packed, 200 << 20);
	e = opened(&u);
	vmp_elf_symbol(e, 0x1000);
	assert_null(vmp_elf_dwarf(e, &bias));
	vmp_elf_close(e);
}

/* ---------------------------------------------------------- other files */

/* A function f whose name lies elsewhere: in what the file shares with others, or in a file that a skeleton names */
#define UNIT(attrs, values, children) \
	".text\n.globl f\nf: ret\nfe: nop\n" \
	".section .debug_abbrev,\"\",@progbits\n" \
	".uleb128 1, 0x11\n.byte 1\n.uleb128 0x11, 1, 0x12, 7, 0, 0\n" \
	attrs \
	".uleb128 0\n" \
	".section .debug_info,\"\",@progbits\n" \
	".long e - s\ns: .value 4\n.long 0\n.byte 8\n" \
	".uleb128 1\n.quad f, fe - f\n" \
	children \
	".byte 0\ne:\n" \
	values \
	".section .note.GNU-stack,\"\",@progbits\n"

static const char shares[] = UNIT(
	".uleb128 2, 0x2e\n.byte 0\n.uleb128 3, 0x1f21, 0x11, 1, 0x12, 7, 0, 0\n", "",
	".uleb128 2\n.long 1\n.quad f, fe - f\n");
static const char shared[] = UNIT("", ".section .debug_str,\"\",@progbits\n.asciz \"\"\n.asciz \"shared_name\"\n", "");
static const char skeleton[] = UNIT(
	".uleb128 2, 0x2e\n.byte 0\n.uleb128 0x31, 0x10, 0x11, 1, 0x12, 7, 0, 0\n"
	".uleb128 3, 0x11\n.byte 0\n.uleb128 0x2130, 8, 0x2131, 7, 0x11, 1, 0x12, 7, 0, 0\n",
	".long e2 - s2\ns2: .value 4\n.long 0\n.byte 8\nk: .uleb128 3\n.asciz \"" "@DIR@/secret\"\n.quad 1\n.quad fe, 1\ne2:\n",
	".uleb128 2\n.long k\n.quad f, fe - f\n");

/* Make lib.so of it; @DIR@ in it is this folder. */
static void assemble(const char *out, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/y.s", dir);
	gen_write(path, text, strlen(text));
	sh("sed -i \"s,@DIR@,$(pwd),\" y.s && ${CC:-cc} -shared -nostdlib -Wl,--build-id=sha1 -o %s y.s", out);
	snprintf(file, sizeof(file), "%s/lib.so", dir);
}

/* What DWARF calls f; was @secret opened? */
static const char *called_f(int *secret)
{
	static char buf[64];
	char path[160], events[4096];
	struct vmp_frame frames[VMP_FRAMES_MAX];
	int watch = inotify_init1(IN_NONBLOCK);
	struct vmp_dwarf *d;
	struct vmp_elf *e;
	uint64_t bias;

	snprintf(path, sizeof(path), "%s/secret", dir);
	assert_true(watch >= 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_int_equal(vmp_elf_open(&e, file), 0);
	d = vmp_elf_dwarf(e, &bias);
	assert_non_null(d);
	assert_int_equal(vmp_dwarf_frames(d, nm("f"), frames), 1);
	vmp_dwarf_frames(d, nm("f") + 1, frames + 1);
	snprintf(buf, sizeof(buf), "%s", frames[0].name ? frames[0].name : "(none)");
	vmp_elf_close(e);
	*secret = read(watch, events, sizeof(events)) > 0;
	close(watch);
	return buf;
}

/* The link to what is shared, with its build-id */
static void link_to(const char *name)
{
	sh("(printf '%s\\0'; readelf -n common | sed -n 's/.*Build ID: //p' | sed 's/../\\\\x&/g' | xargs -0 printf | head -c 20) > link &&"
	   "objcopy --add-section .gnu_debugaltlink=link --set-section-flags .gnu_debugaltlink=readonly lib.so", name);
}

/* Files that a file names are not opened, but for those that the host's administrator has put below its debug folders. */
static void test_other_files(void **state)
{
	static const char *const forms_[] = { "none", "zlib-gabi" };
	char secret[160];
	int seen;
	size_t i;

	(void)state;
	snprintf(secret, sizeof(secret), "%s/secret", dir);
	assemble("common", shared);
	sh("cp common secret");
	for (i = 0; i < 2; i++) {
		sh("rm -rf dbg && mkdir -p dbg/.dwz/sub");
		assemble("lib.so", shares);
		sh("objcopy --compress-debug-sections=%s lib.so", forms_[i]);
		link_to(secret);
		assert_string_equal(called_f(&seen), "(none)");
		assert_false(seen);
		sh("id=$(readelf -n common | sed -n 's/.*Build ID: //p') && d=dbg/.build-id/$(echo $id | cut -c1-2) &&"
		   "mkdir -p $d && cp common $d/$(echo $id | cut -c3-).debug");
		assert_string_equal(called_f(&seen), "shared_name");
		assert_false(seen);
		/* by name in .dwz; not another file that lies there */
		sh("rm -r dbg/.build-id");
		assemble("lib.so", shares);
		link_to("/usr/lib/debug/.dwz/sub/x.debug");
		assert_string_equal(called_f(&seen), "(none)");
		sh("cp common dbg/.dwz/sub/x.debug");
		assert_string_equal(called_f(&seen), "shared_name");
		sh("objcopy -R .note.gnu.build-id dbg/.dwz/sub/x.debug");
		assert_string_equal(called_f(&seen), "(none)");
		sh("cp common dbg/x.debug");
		assemble("lib.so", shares);
		link_to("/usr/lib/debug/.dwz/../x.debug");
		assert_string_equal(called_f(&seen), "(none)");
	}
	assemble("lib.so", skeleton);
	assert_string_equal(called_f(&seen), "(none)");
	assert_false(seen);
}

/* --------------------------------------------------------------- places */

/* A capture with samples at @addrs of the library, most at the first */
static void write_capture(const char *path, const uint64_t *addrs, int nr)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6 };
	uint64_t base = 0x7f1234560000;
	static struct gen g;
	int i;

	sh("mkdir -p u-1000/ab && cp lib.so u-1000/ab/cdef010203040506");
	setenv("VMPROF_OBJCACHE", dir, 1);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x5000000, 10, 1, 0, "app");
	gen_map(&g, 1600, 0x5000000, 10, base, base + 0x10000, 0, 100, "/usr/lib/lib.so");
	gen_file(&g, 1, 100, 1000, id, sizeof(id), "/usr/lib/lib.so");
	gen_agent_flush(&g, GEN_VM, 0);
	for (i = 0; i < nr; i++)
		gen_guest(&g, GEN_VM, 2000, 0x5000000, 3, base + addrs[i], (unsigned)(nr - i));
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
}

/* The functions of a profile of it */
static void profile(const uint64_t *addrs, int nr, unsigned int detail, const char *const *expected)
{
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	struct vmp_profile *p;
	char path[128];
	struct vmp_model *m;
	int i;

	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	write_capture(path, addrs, nr);
	assert_int_equal(vmp_model_open(&m, path), 0);
	m->detail = detail;
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].rows.nr, nr);
	for (i = 0; i < nr; i++)
		assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[i].function), expected[i]);
	vmp_profile_destroy(p);
	vmp_model_close(m);
}

/* The first address of visible() that is in leaf(), in middle() */
static uint64_t inlined_leaf(struct vmp_frame *leaf)
{
	struct vmp_frame frames[VMP_FRAMES_MAX];
	uint64_t at, bias;
	struct vmp_elf *e;

	assert_int_equal(vmp_elf_open(&e, file), 0);
	for (at = nm("visible"); vmp_dwarf_frames(vmp_elf_dwarf(e, &bias), at, frames) < 3; )
		at++;
	*leaf = frames[0];
	vmp_elf_close(e);
	return at;
}

static void test_details(void **state)
{
	uint64_t at[2];
	struct vmp_frame leaf;
	char line[64], inline_line[64];
	const char *plain[] = { "hidden", "visible" }, *inner[] = { "hidden", "leaf (inlined)" };
	const char *lines[] = { line, inline_line };

	(void)state;
	compile("-Wl,-z,noseparate-code");
	at[0] = nm("hidden");
	at[1] = inlined_leaf(&leaf);
	snprintf(line, sizeof(line), "hidden x.c:3");
	snprintf(inline_line, sizeof(inline_line), "leaf (inlined) x.c:%d", leaf.line);
	profile(at, 2, 0, plain);
	profile(at, 2, VMP_DETAIL_INLINE, inner);
	profile(at, 2, VMP_DETAIL_INLINE | VMP_DETAIL_LINE, lines);
}

static void test_unknown(void **state)
{
	const char *expected[] = { "[lib.so+0x9000 build-id abcdef0102030405]" };
	const uint64_t at[] = { 0x9000 };

	(void)state;
	compile("-Wl,-z,noseparate-code");
	profile(at, 1, 0, expected);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void capture(const char *folder)
{
	char path[512];
	struct vmp_frame leaf;
	uint64_t at[2];

	dir = (char *)folder;
	compile("-Wl,-z,noseparate-code");
	at[0] = nm("hidden");
	at[1] = inlined_leaf(&leaf);
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	write_capture(path, at, 2);
	printf("%" PRIx64 " %" PRIx64 "\n", at[0], at[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(test_mini), T(test_by_build_id), T(test_beside), T(test_by_link), T(test_moved),
		T(test_stubs), T(test_ifunc), T(test_ifunc_static), T(test_frames), T(test_packed), T(test_packed_badly),
		T(test_bomb), T(test_mini_bombs), T(test_bombs_of_one_guest), T(test_all_packed), T(test_other_files), T(test_details),
		T(test_unknown),
	};

	if (argc == 3 && !strcmp(argv[1], "--capture")) {
		capture(argv[2]);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
