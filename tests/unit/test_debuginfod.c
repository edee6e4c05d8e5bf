// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_debuginfod.c - files by build-id from servers: elfutils' own debuginfod and its client,
 * where they are installed, and servers of Python's that lie, hang or send too much.
 */
#include "free_port.h"
#include "gen.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "model/seek.h"
#include "util/below.h"
#include "util/log.h"

#define HEX "abcdef0102030405"

static char *dir, heard[8192];
static int port;
static pid_t server;
static struct vmp_seek seek;

static void hear(void *arg, enum vmp_log_level level, const char *text)
{
	size_t n = strlen(heard);

	(void)arg, (void)level;
	snprintf(heard + n, sizeof(heard) - n, "%s\n", text);
}

/* Run in the test's folder. */
#define sh(...) gen_sh(dir, __VA_ARGS__)

static void urls_are(const char *urls)
{
	vmp_debuginfod_destroy(seek.server);
	seek.server = NULL;
	setenv("DEBUGINFOD_URLS", urls, 1);
	assert_int_equal(vmp_debuginfod_create(&seek.server), 0);
	*heard = 0;
}

/* Run @script in the background, with $PORT, until something listens there */
static void serve(const char *script)
{
	char url[64], number[16];
	int i;

	port = free_port();
	snprintf(number, sizeof(number), "%d", port);
	setenv("PORT", number, 1);
	server = fork();
	if (!server) {
		setpgid(0, 0);
		if (!chdir(dir))
			execlp("sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	for (i = 0; i < 300; i++) {
		if (!gen_run(dir, "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %d))' 2> /dev/null", port))
			break;
		usleep(50000);
	}
	assert_true(i < 300);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	urls_are(url);
}

static int setup(void **state)
{
	char path[160];

	(void)state;
	seek = (struct vmp_seek){ .sysroot = VMP_BELOW_HOST };
	dir = gen_dir();
	sh("printf '__attribute__((noinline)) static int hidden(int x) { return x * 7; }\n"
	   "int visible(int x) { return hidden(x + 1) + 1; }\n' > x.c && mkdir -p files cache none client &&"
	   "${CC:-cc} -O2 -fPIC -shared -g -Wl,--build-id=0x" HEX " -o lib.so x.c &&"
	   "${CC:-cc} -O2 -fPIC -shared -g -Wl,--build-id=0xabcdef0102030406 -o other.so x.c &&"
	   "objcopy --only-keep-debug lib.so lib.debug && strip -o lib.stripped lib.so");
	snprintf(path, sizeof(path), "%s/cache", dir);
	setenv("VMPROF_OBJCACHE", path, 1);
	snprintf(path, sizeof(path), "%s/none", dir);
	setenv("VMPROF_DEBUG_PATH", path, 1);
	snprintf(path, sizeof(path), "%s/client", dir);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	vmp_log_set(hear, NULL);
	server = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (server > 0) {
		kill(-server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	vmp_debuginfod_destroy(seek.server);
	gen_rmdir(dir);
	return 0;
}

/* 2: found with all names, 1: with the exported ones, or why not */
static int look(int last)
{
	struct vmp_file f = {
		.build_id = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, (uint8_t)last }, .build_id_len = 8,
		.key = "u-1000/" HEX,
	};
	const struct vmp_symtab *t;
	struct vmp_elf *e;
	uint32_t i, n = 0;
	int err = vmp_seek_guest(&seek, 1, &f, "/usr/lib/a\nb\x1b[2J", 0, &e);

	if (err)
		return err;
	t = vmp_elf_symtab(e);
	for (i = 0; i < t->sym.nr; i++)
		n += !strcmp(t->sym.v[i].name, "visible") || !strcmp(t->sym.v[i].name, "hidden");
	vmp_elf_close(e);
	return (int)n;
}

static int count(enum vmp_debuginfod_answer answer)
{
	return (int)vmp_debuginfod_count(seek.server, answer);
}

static int has_client(void)
{
	return !system("command -v debuginfod-find > /dev/null");
}

/* ------------------------------------------------------ the real server */

static void start_debuginfod(void)
{
	int i;

	serve("exec debuginfod -p $PORT -d :memory: -F files > log 2>&1");
	for (i = 0; i < 600; i++) {	/* it has looked through its files */
		if (!gen_run(dir, "rm -rf probe && DEBUGINFOD_CACHE_PATH=$PWD/probe debuginfod-find debuginfo " HEX " > /dev/null 2>&1"))
			return;
		usleep(100000);
	}
	fail_msg("debuginfod does not serve its files");
}

static void test_server(void **state)
{
	(void)state;
	if (!has_client() || system("command -v debuginfod > /dev/null"))
		skip();
	sh("cp lib.stripped lib.debug files/");
	start_debuginfod();
	/* the program and its debug file */
	assert_int_equal(look(5), 2);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 2);
	assert_non_null(strstr(heard, "debuginfod: asking http://127.0.0.1"));
	/* each is asked for once; what a server has not, too */
	assert_int_equal(look(5), 2);
	assert_true(look(9) < 0);
	assert_true(look(9) < 0);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 2);
	assert_int_equal(count(VMP_DEBUGINFOD_ABSENT), 1);
	/* the debug file alone, for what the cache has; from debuginfod's own cache, as the server is gone */
	kill(server, SIGKILL);
	sh("mkdir -p cache/u-1000/ab && cp lib.stripped cache/u-1000/ab/cdef0102030405");
	urls_are(getenv("DEBUGINFOD_URLS"));
	assert_int_equal(look(5), 2);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 1);
	/* with names of its own nothing is asked for */
	sh("cp lib.so cache/u-1000/ab/cdef0102030405");
	urls_are(getenv("DEBUGINFOD_URLS"));
	assert_int_equal(look(5), 2);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 0);
	assert_string_equal(heard, "");
}

/* -------------------------------------------------- those that are not good */

static void test_wrong_build(void **state)
{
	(void)state;
	if (!has_client())
		skip();
	sh("mkdir -p files/buildid/" HEX " && cp other.so files/buildid/" HEX "/executable &&"
	   "cp other.so files/buildid/" HEX "/debuginfo");
	serve("cd files && exec python3 -m http.server --bind 127.0.0.1 $PORT > ../log 2>&1");
	assert_true(look(5) < 0);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 1);
	sh("mkdir -p cache/u-1000/ab && cp lib.stripped cache/u-1000/ab/cdef0102030405");
	assert_int_equal(look(5), 1);
	assert_int_equal(count(VMP_DEBUGINFOD_GOT), 2);
	/* no ELF file at all; a whole page of an error is none */
	sh("rm -rf client && echo '<html>' > files/buildid/" HEX "/debuginfo");
	urls_are(getenv("DEBUGINFOD_URLS"));
	assert_int_equal(look(5), 1);
}

static void test_too_large(void **state)
{
	(void)state;
	if (!has_client())
		skip();
	sh("mkdir -p files/buildid/" HEX " && cp lib.so files/buildid/" HEX "/executable &&"
	   "truncate -s 50M files/buildid/" HEX "/executable");
	serve("cd files && exec python3 -m http.server --bind 127.0.0.1 $PORT > ../log 2>&1");
	vmp_debuginfod_budget(seek.server, VMP_DEBUGINFOD_ASK_NS, VMP_DEBUGINFOD_ALL_NS, 1 << 20);
	assert_true(look(5) < 0);
	assert_int_equal(count(VMP_DEBUGINFOD_FAILED), 1);
	sh("test $(du -sk client | cut -f1) -lt 2048");
}

static void test_hangs(void **state)
{
	/* the last one that look() asks for */
	static const uint8_t id[8] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 0x19 };
	struct timespec a, b;
	char path[160];
	int i, slow;

	(void)state;
	if (!has_client())
		skip();
	serve("exec python3 -c 'import socket, os, time; s = socket.socket(); s.bind((\"127.0.0.1\", int(os.environ[\"PORT\"])));"
	      " s.listen(50); time.sleep(1000)'");
	vmp_debuginfod_budget(seek.server, 1500000000, 6000000000, VMP_DEBUGINFOD_BYTES);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (i = 0; i < 10; i++)
		assert_true(look(0x10 + i) < 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	assert_true(b.tv_sec - a.tv_sec < 20);
	/* one of them, where this machine stood still meanwhile */
	slow = count(VMP_DEBUGINFOD_SLOW);
	assert_in_range(slow, 1, 2);
	assert_int_equal(slow + count(VMP_DEBUGINFOD_UNASKED), 10);
	/* one VM's files, however many, leave time for another's, and both for the host's, and be it the same file */
	assert_int_equal(vmp_debuginfod_find(seek.server, 2, VMP_DEBUGINFOD_PROGRAM, id, 8, "b", path, sizeof(path)), -ENOENT);
	assert_int_equal(count(VMP_DEBUGINFOD_SLOW), slow + 1);
	assert_int_equal(vmp_debuginfod_find(seek.server, 0, VMP_DEBUGINFOD_DEBUG, id, 8, "c", path, sizeof(path)), -ENOENT);
	assert_int_equal(count(VMP_DEBUGINFOD_SLOW), slow + 2);
	/* what takes long is said; the name is the guest's */
	assert_non_null(strstr(heard, "debuginfod: fetching /usr/lib/a\\x0ab\\x1b[2J\n"));
}

static void test_down(void **state)
{
	(void)state;
	if (!has_client())
		skip();
	urls_are("http://127.0.0.1:1");
	assert_true(look(5) < 0);
	assert_true(look(6) < 0);
	assert_int_equal(count(VMP_DEBUGINFOD_FAILED), 2);
	assert_non_null(strstr(heard, "debuginfod: Server query failed: "));
	assert_ptr_equal(strstr(heard, "Server query failed"), strrchr(heard, 'S'));	/* once */
}

static void test_off(void **state)
{
	char *path = strdup(getenv("PATH"));
	struct vmp_debuginfod *d;

	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(vmp_debuginfod_create(&d), -ENOENT);
	setenv("DEBUGINFOD_URLS", "  ", 1);
	assert_int_equal(vmp_debuginfod_create(&d), -ENOENT);
	/* no client: said once, what to install */
	urls_are("http://127.0.0.1:1");
	setenv("PATH", dir, 1);
	assert_true(look(5) < 0);
	assert_true(look(6) < 0);
	setenv("PATH", path, 1);
	assert_int_equal(count(VMP_DEBUGINFOD_UNASKED), 2);
	assert_non_null(strstr(heard, "there is no debuginfod-find"));
	assert_null(strstr(strstr(heard, "there is no debuginfod-find") + 1, "there is no debuginfod-find"));
	free(path);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_server), T(test_wrong_build), T(test_too_large), T(test_hangs), T(test_down), T(test_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
