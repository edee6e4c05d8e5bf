// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_seek.c - guests' files found below a sysroot, in the cache, among the host's by build-id;
 * paths that want to get out of the sysroot.  Objects are made by the compiler and binutils.
 */
#include "gen.h"

#include <errno.h>
#include <limits.h>

#include "model/elffile.h"
#include "model/seek.h"
#include "report/profile.h"
#include "report/render.h"
#include "util/below.h"

static char *dir;
static struct vmp_seek seek;

/* Run in the test's folder. */
#define sh(...) gen_sh(dir, __VA_ARGS__)

/* lib.so: one build, with all its symbols; lib.stripped and lib.debug of it; other.so: another one */
static int setup(void **state)
{
	char path[160];

	(void)state;
	dir = gen_dir();
	sh("printf '__attribute__((noinline)) static int hidden(int x) { return x * 7; }\n"
	   "int visible(int x) { return hidden(x + 1) + 1; }\n' > x.c && mkdir -p root/usr/lib cache none &&"
	   "${CC:-cc} -O2 -fPIC -shared -Wl,--build-id=0xabcdef0102030405 -o lib.so x.c &&"
	   "${CC:-cc} -O2 -fPIC -shared -Wl,--build-id=0xabcdef0102030406 -o other.so x.c &&"
	   "objcopy --only-keep-debug lib.so lib.debug && strip -o lib.stripped lib.so");
	snprintf(path, sizeof(path), "%s/root", dir);
	seek = (struct vmp_seek){ .sysroot = vmp_below_folder(path) };
	assert_true(seek.sysroot >= 0);
	snprintf(path, sizeof(path), "%s/cache", dir);
	setenv("VMPROF_OBJCACHE", path, 1);
	snprintf(path, sizeof(path), "%s/none", dir);
	setenv("VMPROF_DEBUG_PATH", path, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(seek.sysroot);
	gen_rmdir(dir);
	return 0;
}

static struct vmp_file of_guest(void)
{
	return (struct vmp_file){
		.build_id = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 }, .build_id_len = 8,
		.key = "u-1000/abcdef0102030405", .bytes = 10000,
	};
}

static int has(const struct vmp_elf *e, const char *name)
{
	const struct vmp_symtab *t = vmp_elf_symtab((struct vmp_elf *)e);
	uint32_t i;

	for (i = 0; i < t->sym.nr; i++)
		if (!strcmp(t->sym.v[i].name, name))
			return 1;
	return 0;
}

/* 2: found with all names, 1: with the exported ones, or why not */
static int look(const char *name)
{
	struct vmp_file f = of_guest();
	struct vmp_elf *e;
	int err = vmp_seek_guest(&seek, 1, &f, name, 0, &e), ret;

	if (err)
		return err;
	ret = has(e, "visible") + has(e, "hidden");
	vmp_elf_close(e);
	return ret;
}

/* What was counted since the last time: the one cause, once */
static enum vmp_sought cause(void)
{
	int i, found = VMP_SOUGHT_NR;

	for (i = 0; i < VMP_SOUGHT_NR; i++) {
		if (!seek.sought[i])
			continue;
		assert_int_equal(found, VMP_SOUGHT_NR);
		assert_int_equal(seek.sought[i], 1);
		found = i;
	}
	memset(seek.sought, 0, sizeof(seek.sought));
	return (enum vmp_sought)found;
}

static void is_refused(const char *name, enum vmp_sought why)
{
	assert_true(look(name) < 0);
	assert_int_equal(cause(), why);
}

/* --------------------------------------------------------------- places */

static void test_by_path(void **state)
{
	(void)state;
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_ABSENT);
	sh("cp lib.so root/usr/lib/lib.so");
	assert_int_equal(look("/usr/lib/lib.so"), 2);
	assert_int_equal(cause(), VMP_SOUGHT_FOUND);
	/* as a usr-merged guest has it, and by an absolute link, which leads into the sysroot */
	sh("ln -s usr/lib root/lib && ln -s /usr/lib root/lib64 && ln -s ../../../usr/lib root/usr/up");
	assert_int_equal(look("/lib/lib.so"), 2);
	assert_int_equal(look("/lib64/lib.so"), 2);
	assert_int_equal(look("/usr/up/lib.so"), 2);
	assert_int_equal(look("//usr/./lib/../lib/lib.so"), 2);
}

static void test_by_build_id(void **state)
{
	(void)state;
	/* the guest's path says nothing */
	sh("mkdir -p root/usr/lib/.build-id/ab root/opt && cp lib.so root/opt/ &&"
	   "ln -s ../../../../opt/lib.so root/usr/lib/.build-id/ab/cdef0102030405");
	assert_int_equal(look("/in/a/container/lib.so"), 2);
	assert_int_equal(cause(), VMP_SOUGHT_FOUND);
	sh("rm -r root/usr/lib/.build-id && mkdir -p root/usr/lib/debug/.build-id/ab &&"
	   "ln -s /opt/lib.so root/usr/lib/debug/.build-id/ab/cdef0102030405");
	assert_int_equal(look("/in/a/container/lib.so"), 2);
	assert_int_equal(cause(), VMP_SOUGHT_FOUND);
	/* a link by build-id is only believed if the file says so, too */
	sh("cp other.so root/opt/lib.so");
	is_refused("/in/a/container/lib.so", VMP_SOUGHT_ABSENT);
}

static void test_debug_below(void **state)
{
	char own[160];

	(void)state;
	sh("cp lib.stripped root/usr/lib/lib.so");
	assert_int_equal(look("/usr/lib/lib.so"), 1);
	sh("mkdir -p root/usr/lib/debug/.build-id/ab && cp lib.debug root/usr/lib/debug/.build-id/ab/cdef0102030405.debug");
	assert_int_equal(look("/usr/lib/lib.so"), 2);
	/* or on the host, by build-id; beside a file of the host that happens to have the guest's path is nothing of the guest's */
	sh("mkdir -p none/.build-id/ab && mv root/usr/lib/debug/.build-id/ab/cdef0102030405.debug none/.build-id/ab/");
	assert_int_equal(look("/usr/lib/lib.so"), 2);
	sh("mkdir -p root$PWD && cp lib.stripped root$PWD/ && cp lib.debug lib.stripped.debug && mv none/.build-id/ab/*.debug root/usr/lib/debug/.build-id/ab/x");
	snprintf(own, sizeof(own), "%s/lib.stripped", dir);
	assert_int_equal(look(own), 1);
	sh("mv root/usr/lib/debug/.build-id/ab/x root/usr/lib/debug/.build-id/ab/cdef0102030405.debug");
	/* also for the copy that lies in the cache */
	sh("rm root/usr/lib/lib.so && mkdir -p cache/u-1000/ab && cp lib.stripped cache/u-1000/ab/cdef0102030405");
	assert_int_equal(look("/usr/lib/lib.so"), 2);
	sh("rm -r root/usr/lib/debug");
	assert_int_equal(look("/usr/lib/lib.so"), 1);
	/* by .gnu_debuglink */
	sh("mkdir -p root/usr/lib/debug/usr/lib && cp lib.debug root/usr/lib/debug/usr/lib/l.dbg && cp lib.debug l.dbg &&"
	   "objcopy --add-gnu-debuglink=l.dbg lib.stripped root/usr/lib/lib.so");
	assert_int_equal(look("/usr/lib/lib.so"), 2);
	sh("rm -r root/usr/lib/debug && cp other.so root/usr/lib/l.dbg");
	assert_int_equal(look("/usr/lib/lib.so"), 1);
}

static void test_on_host(void **state)
{
	struct vmp_file f = of_guest();
	struct vmp_elf *e;
	char own[160];

	(void)state;
	assert_int_equal(vmp_seek_guest(NULL, 1, &f, "/usr/lib/lib.so", 0, &e), -ENOENT);
	sh("mkdir -p none/.build-id/ab && cp lib.so none/.build-id/ab/cdef0102030405");
	assert_int_equal(vmp_seek_guest(NULL, 1, &f, "/usr/lib/lib.so", 0, &e), 0);
	assert_true(has(e, "hidden"));
	vmp_elf_close(e);
	sh("cp other.so none/.build-id/ab/cdef0102030405");
	assert_int_equal(vmp_seek_guest(NULL, 1, &f, "/usr/lib/lib.so", 0, &e), -ENOENT);
	/* the host's own file of that name is nobody's */
	sh("cp lib.so own.so");
	snprintf(f.key, sizeof(f.key), "%s", "");
	snprintf(own, sizeof(own), "%s/own.so", dir);
	assert_int_equal(vmp_seek_guest(NULL, 1, &f, own, 0, &e), -ENOENT);
}

/* -------------------------------------------------------------- refusals */

static void test_unfit(void **state)
{
	struct vmp_file f = of_guest();
	struct vmp_elf *e;

	(void)state;
	sh("cp other.so root/usr/lib/lib.so");
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_OTHER);
	sh("objcopy --remove-section=.note.gnu.build-id lib.so root/usr/lib/lib.so");
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_OTHER);
	sh("echo no program > root/usr/lib/lib.so");
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_UNFIT);
	sh("rm root/usr/lib/lib.so && mkfifo root/usr/lib/lib.so");	/* nobody waits for a writer */
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_UNFIT);
	sh("rm root/usr/lib/lib.so && mkdir root/usr/lib/lib.so");
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_UNFIT);
	is_refused("/usr/lib/lib.so/x", VMP_SOUGHT_ABSENT);
	sh("rmdir root/usr/lib/lib.so && cp lib.so root/usr/lib/lib.so && truncate -s 3G root/usr/lib/lib.so");
	is_refused("/usr/lib/lib.so", VMP_SOUGHT_UNFIT);
	sh("cp lib.so root/usr/lib/lib.so");
	f.build_id_len = 0;
	assert_true(vmp_seek_guest(&seek, 1, &f, "/usr/lib/lib.so", 0, &e) < 0);
	assert_int_equal(cause(), VMP_SOUGHT_NO_ID);
	/* what lies in no file is not looked for */
	assert_int_equal(look("[vdso]"), -ENOENT);
	assert_int_equal(look(""), -ENOENT);
	assert_int_equal(look("usr/lib/lib.so"), -ENOENT);
	assert_int_equal(cause(), VMP_SOUGHT_NR);
}

/* A good file lies outside; nothing may reach it. */
static void test_no_way_out(void **state)
{
	static const char *const names[] = {
		"/../lib.so", "/../../../../../../../../lib.so", "/usr/lib/../../../lib.so", "/usr/lib/out.so",
		"/usr/lib/abs.so", "/usr/lib/up/lib.so", "/proc/self/cwd/lib.so", "/usr/lib/magic/lib.so",
		"/usr/lib/loop", "/usr/lib/lib.so\n", "/-rf", "/*", "/usr/lib/\"'`$(touch x)`", "/\x1b[2J", "/..", "/",
	};
	char name[PATH_MAX + 10];
	size_t i;

	(void)state;
	sh("ln -s ../../../lib.so root/usr/lib/out.so && ln -s %s/lib.so root/usr/lib/abs.so && ln -s ../../.. root/usr/lib/up &&"
	   "ln -s /proc/self/cwd root/usr/lib/magic && ln -s loop root/usr/lib/loop", dir);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_true(look(names[i]) < 0);
		assert_int_not_equal(cause(), VMP_SOUGHT_FOUND);
	}
	snprintf(name, sizeof(name), "%s/lib.so", dir);
	is_refused(name, VMP_SOUGHT_ABSENT);
	memset(name, '/', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	is_refused(name, VMP_SOUGHT_UNFIT);
	/* names that are odd and nothing else */
	sh("cp lib.so root/-rf && cp lib.so 'root/*' && cp lib.so \"root/a\nb\"");
	assert_int_equal(look("/-rf"), 2);
	assert_int_equal(look("/*"), 2);
	assert_int_equal(look("/a\nb"), 2);
}

/* A magic link of the kernel leads anywhere, even where the sysroot is "/". */
static void test_folders(void **state)
{
	char path[160];

	(void)state;
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	assert_int_equal(vmp_below_folder(path), -ENOTDIR);
	assert_int_equal(vmp_below_folder("/nonexistent"), -ENOENT);
	close(seek.sysroot);
	seek.sysroot = vmp_below_folder("/");
	assert_int_equal(look(path), 2);
	snprintf(path, sizeof(path), "/proc/self/root%s/lib.so", dir);
	assert_true(look(path) < 0);
}

/* ------------------------------------------------------------ in a report */

static char *report(const char *path, const struct vmp_options *o)
{
	struct vmp_profile *p;
	struct vmp_model *m;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct vmp_render r = { .path = path };

	assert_int_equal(vmp_model_open(&m, path), 0);
	m->seek = &seek;
	assert_int_equal(vmp_profile_create(&p, m, o), 0);
	vmp_render_text(f, p, o, &r);
	vmp_render_json(f, p, o, &r);
	fclose(f);
	vmp_profile_destroy(p);
	vmp_model_close(m);
	return text;
}

static void test_report(void **state)
{
	static const uint8_t id[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	uint64_t base = 0x7f1234560000;
	static struct gen g;
	char path[160], *text;

	(void)state;
	sh("cp lib.so root/usr/lib/ && cp other.so root/usr/lib/new.so");
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	gen_text(&g, VMPROF_CAP_VM, GEN_VM, "{\"name\":\"web01\",\"uuid\":\"u-1000\",\"pid\":1000,"
		 "\"vcpus\":[{\"id\":0,\"tid\":1001}],\"agent\":true,\"objects\":\"none\"}");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x5000000, 10, 1, 0, "app");
	gen_map(&g, 1600, 0x5000000, 10, base, base + 0x10000, 0, 100, "/usr/lib/lib.so");
	gen_file(&g, 1, 100, 1000, id, sizeof(id), "/usr/lib/lib.so");
	gen_map(&g, 1600, 0x5000000, 10, base + 0x10000, base + 0x20000, 0, 101, "/usr/lib/new.so");
	gen_file(&g, 2, 101, 1000, id, sizeof(id) - 1, "/usr/lib/new.so");
	gen_agent_flush(&g, GEN_VM, 0);
	gen_guest(&g, GEN_VM, 2000, 0x5000000, 3, base + 0x1000, 3);
	gen_guest(&g, GEN_VM, 2000, 0x5000000, 3, base + 0x11000, 3);
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	text = report(path, &o);
	assert_non_null(strstr(text, "--sysroot: 1 file found, 1 there, but of another build\n"));
	assert_non_null(strstr(text, "\"files\":{\"sysroot\":{\"found\":1,\"absent\":0,\"other_build\":1,"));
	assert_non_null(strstr(text, "[new.so+0x1000 build-id abcdef01020304]"));
	assert_null(strstr(text, "[lib.so+0x1000"));
	assert_non_null(strstr(text, "\"objects\":\"none\""));
	assert_non_null(strstr(text, "its binaries were left in the guest (vmprof start --objects none)"));
	free(text);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_by_path), T(test_by_build_id), T(test_debug_below), T(test_on_host), T(test_unfit),
		T(test_no_way_out), T(test_folders), T(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
