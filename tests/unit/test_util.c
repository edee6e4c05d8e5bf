// SPDX-License-Identifier: GPL-2.0-only
/* test_util.c - analyzer/util: foreign text, amounts, sorting, options, the folder of captures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/capdir.h"
#include "util/file.h"
#include "util/log.h"
#include "util/opts.h"
#include "util/radix.h"
#include "util/room.h"
#include "util/text.h"
#include "util/units.h"

static char last_message[4096];

static void keep_message(void *arg, enum vmp_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(last_message, sizeof(last_message), "%s", text);
}

/* ---------------------------------------------------------------- text */

static void text_is(const char *src, size_t len, const char *want)
{
	char dst[256];

	assert_string_equal(vmp_text(dst, sizeof(dst), src, len), want);
}

static void test_text_for_terminals(void **state)
{
	(void)state;
	text_is("plain", 5, "plain");
	text_is("a\033[2Jb", 6, "a\\x1b[2Jb");
	text_is("nul\0in", 6, "nul\\x00in");
	text_is("gr\303\274n", 5, "gr\303\274n");
	text_is("\302\233", 2, "\\xc2\\x9b");		/* a control sequence of 8 bits */
	text_is("\342\200\256", 3, "\\xe2\\x80\\xae");	/* reverses what follows */
	text_is("\300\200", 2, "\\xc0\\x80");		/* overlong */
	text_is("\355\240\200", 3, "\\xed\\xa0\\x80");	/* half a surrogate pair */
	text_is("\303", 1, "\\xc3");			/* cut */
	text_is("", 0, "");
}

static void test_text_is_cut(void **state)
{
	char dst[8];

	(void)state;
	assert_string_equal(vmp_text(dst, sizeof(dst), "1234567890", 10), "1234567");
	/* neither a character nor an escape is cut in two */
	assert_string_equal(vmp_text(dst, sizeof(dst), "123456\303\274", 8), "123456");
	assert_string_equal(vmp_text(dst, sizeof(dst), "1234\n", 5), "1234");
	assert_string_equal(vmp_text(dst, 1, "x", 1), "");
}

static void test_file_part(void **state)
{
	char dst[16];

	(void)state;
	assert_string_equal(vmp_file_part(dst, sizeof(dst), "web01"), "web01");
	assert_string_equal(vmp_file_part(dst, sizeof(dst), "../etc"), "_._etc");
	assert_string_equal(vmp_file_part(dst, sizeof(dst), ".."), "_.");
	assert_string_equal(vmp_file_part(dst, sizeof(dst), "a b/c\n"), "a_b_c_");
	assert_string_equal(vmp_file_part(dst, sizeof(dst), ""), "_");
	assert_string_equal(vmp_file_part(dst, 4, "long"), "lon");
}

static void word_is(const char *src, const char *want)
{
	char dst[64], cmd[128], got[64] = "";
	FILE *f;

	assert_string_equal(vmp_shell_word(dst, sizeof(dst), src), want);
	/* and the shell makes of it what it was */
	snprintf(cmd, sizeof(cmd), "printf %%s %s", dst);
	setenv("WORD", cmd, 1);
	f = popen("bash -c \"$WORD\"", "r");
	assert_non_null(f);
	assert_int_equal(fread(got, 1, sizeof(got) - 1, f), strlen(src));
	pclose(f);
	assert_string_equal(got, src);
}

static void test_shell_word(void **state)
{
	char dst[8];

	(void)state;
	word_is("web-01.x", "web-01.x");
	word_is("", "''");
	word_is("my web", "'my web'");
	word_is("$(reboot);`x`", "'$(reboot);`x`'");
	word_is("gr\303\274n", "'gr\303\274n'");
	word_is("it's", "$'it\\x27s'");
	word_is("a\033[2J\n", "$'a\\x1b\\x5b2J\\x0a'");
	assert_string_equal(vmp_shell_word(dst, sizeof(dst), "too-long"), "");
	assert_string_equal(vmp_shell_word(dst, sizeof(dst), "too long"), "");
	assert_string_equal(vmp_shell_word(dst, sizeof(dst), "a'\n"), "");
}

static void json_is(const char *src, size_t len, const char *want)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	vmp_json_text(f, src, len);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void test_json_text(void **state)
{
	(void)state;
	json_is("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
	json_is("\n\0\177", 3, "\"\\u000a\\u0000\\u007f\"");
	/* C1 control characters move cursors, too; what follows them is text */
	json_is("\302\200\302\233\302\237\302\240", 8, "\"\\u0080\\u009b\\u009f\302\240\"");
	json_is("\303\274\377", 3, "\"\303\274\\ufffd\"");
}

/* ------------------------------------------------------------- amounts */

static void test_times(void **state)
{
	uint64_t ns = 42;

	(void)state;
	assert_int_equal(vmp_parse_time("1ms", &ns), 0);
	assert_int_equal(ns, 1000000);
	assert_int_equal(vmp_parse_time("1.5s", &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(vmp_parse_time("2min", &ns), 0);
	assert_int_equal(ns, 120000000000);
	assert_int_equal(vmp_parse_time("0.25us", &ns), 0);
	assert_int_equal(ns, 250);
	ns = 42;
	assert_int_equal(vmp_parse_time("1", &ns), -EINVAL);
	assert_int_equal(vmp_parse_time("-1s", &ns), -EINVAL);
	assert_int_equal(vmp_parse_time("1 s", &ns), -EINVAL);
	assert_int_equal(vmp_parse_time("1.s", &ns), -EINVAL);
	assert_int_equal(vmp_parse_time("ms", &ns), -EINVAL);
	assert_int_equal(vmp_parse_time("99999999999999999999s", &ns), -ERANGE);
	assert_int_equal(vmp_parse_time("18446744073709551615h", &ns), -ERANGE);
	assert_int_equal(ns, 42);
}

static void test_sizes_and_counts(void **state)
{
	uint64_t n = 42;

	(void)state;
	assert_int_equal(vmp_parse_size("4K", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(vmp_parse_size("1.5M", &n), 0);
	assert_int_equal(n, 1572864);
	assert_int_equal(vmp_parse_size("4k", &n), -EINVAL);
	assert_int_equal(vmp_parse_size("16777216G", &n), 0);
	assert_int_equal(vmp_parse_size("99999999999G", &n), -ERANGE);
	assert_int_equal(vmp_parse_count("1000003", &n), 0);
	assert_int_equal(n, 1000003);
	assert_int_equal(vmp_parse_count("1.5", &n), -EINVAL);
	assert_int_equal(vmp_parse_count("1e6", &n), -EINVAL);
	assert_int_equal(vmp_parse_count("", &n), -EINVAL);
}

/* Guests leave 100 MiB of a disk free, or a twentieth of a small one. */
static void test_room(void **state)
{
	(void)state;
	assert_int_equal(vmp_room_left(1ULL << 40, 1ULL << 30), (1ULL << 30) - VMP_ROOM_BYTES);
	assert_int_equal(vmp_room_left(1ULL << 40, VMP_ROOM_BYTES), 0);
	assert_int_equal(vmp_room_left(1ULL << 40, 5), 0);
	assert_int_equal(vmp_room_left(20 << 20, 3 << 20), 2 << 20);
	assert_true(vmp_room_at(-1) == UINT64_MAX);
	/* and a twentieth of all files that there can be */
	assert_true(vmp_room_for_files(1000, 51));
	assert_false(vmp_room_for_files(1000, 50));
	assert_true(vmp_room_for_files(0, 0));
	assert_true(vmp_room_for_files_at(-1));
}

static void test_amounts_for_people(void **state)
{
	char s[32];

	(void)state;
	assert_string_equal(vmp_format_size(s, sizeof(s), 1023), "1023 bytes");
	assert_string_equal(vmp_format_size(s, sizeof(s), 1536), "1.5 KiB");
	assert_string_equal(vmp_format_size(s, sizeof(s), UINT64_MAX), "16.0 EiB");
	assert_string_equal(vmp_format_time(s, sizeof(s), 999), "999 ns");
	assert_string_equal(vmp_format_time(s, sizeof(s), 1500000), "1.5 ms");
	assert_string_equal(vmp_format_time(s, sizeof(s), 20100000000), "20.1 s");
	assert_string_equal(vmp_format_time(s, sizeof(s), 125000000000), "2 min 5 s");
}

/* ------------------------------------------------------------- options */

static int flag, args;
static const char *str;
static struct vmp_opt_list list;

static int parse(int argc, char **argv)
{
	const struct vmp_opt opts[] = {
		{ "flag", 'f', VMP_OPT_FLAG, NULL, "", &flag },
		{ "str", 's', VMP_OPT_STR, "X", "", &str },
		{ "list", 0, VMP_OPT_LIST, "X", "", &list },
		{ 0 },
	};
	const struct vmp_cmdline cmd = { "", "", opts, NULL, 1 };

	flag = list.nr = args = 0;
	str = NULL;
	last_message[0] = 0;
	return vmp_opts_parse(&cmd, argc, argv, &args);
}

#define PARSE(...) parse(sizeof((char *[]){ "cmd", __VA_ARGS__ }) / sizeof(char *), \
			 (char *[]){ "cmd", __VA_ARGS__ })

static void test_options(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--flag", "--str", "a", "--list=b", "--list", "c", "file"), 0);
	assert_int_equal(flag, 1);
	assert_string_equal(str, "a");
	assert_int_equal(list.nr, 2);
	assert_string_equal(list.item[1], "c");
	assert_int_equal(args, 1);
	assert_int_equal(PARSE("-f", "-sx", "-s", "y"), 0);
	assert_string_equal(str, "y");
	assert_int_equal(PARSE("--str", "--flag"), 0);	/* a value, whatever it looks like */
	assert_string_equal(str, "--flag");
	assert_int_equal(PARSE("--", "--flag"), 0);
	assert_int_equal(flag, 0);
	assert_int_equal(args, 1);
}

static void test_options_refused(void **state)
{
	(void)state;
	vmp_log_set(keep_message, NULL);
	assert_int_equal(PARSE("--nothing"), -EINVAL);
	assert_string_equal(last_message, "cmd: unknown option '--nothing'; see vmprof cmd --help");
	assert_int_equal(PARSE("--fla"), -EINVAL);		/* no abbreviations */
	assert_int_equal(PARSE("--flagged"), -EINVAL);
	assert_int_equal(PARSE("-x"), -EINVAL);
	assert_int_equal(PARSE("--str"), -EINVAL);
	assert_int_equal(PARSE("--str="), -EINVAL);
	assert_int_equal(PARSE("--flag=1"), -EINVAL);
	assert_int_equal(PARSE("-f1"), -EINVAL);
	assert_int_equal(PARSE("one", "two"), -EINVAL);
	assert_string_equal(last_message, "cmd: unexpected argument 'two'; see vmprof cmd --help");
	vmp_log_set(NULL, NULL);
}

/* ------------------------------------------------------------- folders */

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/vmprof-test.XXXXXX");
	return !mkdtemp(dir) || setenv("VMPROF_DIR", dir, 1);
}

static int remove_dir(void **state)
{
	char cmd[128];

	(void)state;
	unsetenv("VMPROF_DIR");
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

static void test_capture_names(void **state)
{
	const char *names[] = { "web01", "a/../b" };
	char path[4096], want[4096];
	struct stat st;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	assert_int_equal(vmp_capture_name(path, sizeof(path), names, 2, 1000000000), 0);
	snprintf(want, sizeof(want), "%s/web01+a_.._b/2001-09-09T01-46-40.vmprof", dir);
	assert_string_equal(path, want);
	*strrchr(path, '/') = 0;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(vmp_capture_name(path, sizeof(path), NULL, 0, 0), 0);
	assert_non_null(strstr(path, "/all/1970-01-01T00-00-00.vmprof"));
	assert_int_equal(vmp_capture_name(path, 20, names, 2, 0), -ENAMETOOLONG);
}

static void put(const char *name, time_t mtime)
{
	struct timespec times[2] = { { mtime, 0 }, { mtime, 0 } };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(vmp_file_write(path, "x", 1), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_latest_capture(void **state)
{
	char path[4096], sub[4096];

	(void)state;
	assert_int_equal(vmp_latest_capture(NULL, path, sizeof(path)), -ENOENT);
	snprintf(sub, sizeof(sub), "%s/web01", dir);
	assert_int_equal(vmp_make_dirs(sub, 0700), 0);
	put("old.vmprof", 1000);
	put("web01/new.vmprof", 2000);
	put("web01/newest.txt", 3000);
	assert_int_equal(vmp_latest_capture(NULL, path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/web01/new.vmprof"));
	put("newer.vmprof", 2001);
	assert_int_equal(vmp_latest_capture(NULL, path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/newer.vmprof"));
	/* one that --output put elsewhere counts by its time too */
	put("elsewhere", 2002);
	snprintf(sub, sizeof(sub), "%s/elsewhere", dir);
	assert_int_equal(vmp_latest_capture(sub, path, sizeof(path)), 0);
	assert_string_equal(path, sub);
	put("elsewhere", 1999);
	assert_int_equal(vmp_latest_capture(sub, path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/newer.vmprof"));
	assert_int_equal(vmp_latest_capture("/removed", path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/newer.vmprof"));
	setenv("VMPROF_DIR", "/nowhere/at/all", 1);
	assert_int_equal(vmp_latest_capture(NULL, path, sizeof(path)), -ENOENT);
	assert_int_equal(vmp_latest_capture(sub, path, sizeof(path)), 0);
	assert_string_equal(path, sub);
	setenv("VMPROF_DIR", dir, 1);
}

static void test_files(void **state)
{
	char path[4096], *data = NULL;
	size_t len;

	(void)state;
	snprintf(path, sizeof(path), "%s/f", dir);
	assert_int_equal(vmp_file_write(path, "hello", 5), 0);
	assert_int_equal(vmp_file_read(path, 5, &data, &len), 0);
	assert_int_equal(len, 5);
	assert_string_equal(data, "hello");
	free(data);
	data = NULL;
	assert_int_equal(vmp_file_read(path, 4, &data, &len), -EFBIG);
	assert_null(data);
	assert_int_equal(vmp_file_read("/nowhere", 4, &data, &len), -ENOENT);
}

/* Few and many; of equal keys the first stays the first */
static void test_radix(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 31, 32, 33, 5000 }, masks[] = { 0, 3, 0xff00ff, UINT64_MAX };
	struct vmp_radix *a = calloc(10000, sizeof(*a)), *sorted;
	uint64_t i, k, n, x = 1;

	(void)state;
	assert_non_null(a);
	for (i = 0; i < 28; i++) {
		n = sizes[i / 4];
		for (k = 0; k < n; k++) {
			x = x * 6364136223846793005ULL + 1442695040888963407ULL;
			a[k] = (struct vmp_radix){ (x ^ x >> 31) & masks[i % 4], k };
		}
		sorted = vmp_radix_sort(a, a + n, n);
		assert_true(sorted == a || sorted == a + n);
		for (k = 1; k < n; k++)
			assert_true(sorted[k - 1].key < sorted[k].key ||
				    (sorted[k - 1].key == sorted[k].key && sorted[k - 1].value < sorted[k].value));
	}
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_for_terminals),
		cmocka_unit_test(test_text_is_cut),
		cmocka_unit_test(test_file_part),
		cmocka_unit_test(test_shell_word),
		cmocka_unit_test(test_json_text),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sizes_and_counts),
		cmocka_unit_test(test_amounts_for_people),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_radix),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_options_refused),
		cmocka_unit_test_setup_teardown(test_capture_names, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_latest_capture, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_files, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
