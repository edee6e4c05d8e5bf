// SPDX-License-Identifier: GPL-2.0-only
/* test_fetch.c - objects and their debug files as they come from an agent, into the cache. */
#include "cached.h"

#define SECOND 1000000000ULL

static uint64_t now_ns;

static int piece(uint32_t file, uint64_t offset, uint64_t total, const char *data, uint32_t status)
{
	const struct vmp_msg_object o = {
		.file = file, .status = status, .offset = offset, .total = total,
		.data = { data, (uint32_t)strlen(data) },
	};

	return vmp_fetch_object(&fetch, &o, now_ns);
}

/* What is asked for now; 0 nothing */
static uint32_t asks(void)
{
	struct vmp_msg_get_object ask;

	return vmp_fetch_next(&fetch, now_ns, &ask) ? ask.file : 0;
}

static void test_fetch(void **state)
{
	char path[4096], *data;
	size_t len;

	(void)state;
	now_ns = SECOND;
	assert_int_equal(add(7, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add(8, 3, NULL, 0, "u-1/x0123"), 0);
	assert_int_equal(asks(), 7);
	assert_int_equal(asks(), 0);			/* one at a time */
	assert_int_equal(piece(9, 0, 8, "other", 0), 0);	/* not asked for */
	assert_int_equal(piece(7, 0, 8, "half", 0), 1);
	assert_false(vmp_objcache_has("u-1/abcd"));		/* not before it is whole */
	assert_int_equal(piece(7, 4, 8, "full", 0), 1);
	assert_true(vmp_objcache_has("u-1/abcd"));
	vmp_objcache_path(path, sizeof(path), "u-1/abcd");
	assert_int_equal(vmp_file_read(path, 100, &data, &len), 0);
	assert_string_equal(data, "halffull");
	free(data);
	assert_int_equal(asks(), 8);
	assert_int_equal(piece(8, 0, 3, "xyz", 0), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.fetched, 2);
	/* known now: listed, not asked for */
	assert_int_equal(add(9, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
}

static void test_fetch_refuses(void **state)
{
	static const struct { uint64_t offset, total; const char *data; uint32_t status; } bad[] = {
		{ 0, 9, "x", 0 },	/* another size than was told */
		{ 4, 8, "x", 0 },	/* a hole */
		{ 0, 8, "", ENOENT },	/* the guest could not read it */
		{ 0, 8, "", ENOEXEC },	/* it has another file there */
	};
	char text[128];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(add(1 + i, 8, NULL, 0, "u-1/abcd"), 0);
		assert_int_not_equal(asks(), 0);
		assert_int_equal(piece(1 + i, bad[i].offset, bad[i].total, bad[i].data,
				       bad[i].status), 1);
		assert_int_equal(fetch.failed, i + 1);
	}
	assert_int_equal(files_in_cache(), 0);
	assert_int_equal(add(1, VMPROF_OBJECT_BYTES_MAX + 1, NULL, 0, "u-1/ef01"),
			 -ENOBUFS);
	assert_int_equal(add(1, VMP_FETCH_SUM_BYTES, NULL, 0, "u-1/ef01"), -ENOBUFS);
	assert_int_equal(fetch.over, 2);
	assert_int_equal(fetch.why[VMP_FETCH_OTHER], 2);
	assert_int_equal(fetch.why[VMP_FETCH_ABSENT], 2);
	assert_int_equal(fetch.why[VMP_FETCH_OVER], 2);
	assert_string_equal(vmp_fetch_causes(&fetch, text, sizeof(text)),
			    "2 not there or not to be read, 2 of another build by now, or no ELF file, 2 over the limits of one guest");
	assert_string_equal(vmp_fetch_causes(&fetch, text, 12), "2 not there");
}

/* By ssh files have no number: what still comes of one that was refused is nothing of the next one, which waits for its turn */
static void test_fetch_next_waits(void **state)
{
	struct vmp_msg_get_object ask;

	(void)state;
	now_ns = SECOND;
	fetch.rate_bytes = fetch.burst_bytes = 8;
	assert_int_equal(add(0, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add(0, 4, NULL, 0, "u-1/ef01"), 0);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(piece(0, 0, 9, "", 0), 1);	/* its size tells that it is another */
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 0);
	assert_int_equal(piece(0, 0, 9, "otherone", 0), 0);
	assert_int_equal(piece(0, 0, 0, "", 1), 0);
	now_ns += SECOND;
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(piece(0, 0, 4, "next", 0), 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(fetch.fetched, 1);
	assert_true(vmp_objcache_has("u-1/ef01"));
}

/* The same content in another file of the guest */
static int add_elsewhere(uint32_t file, const char *key)
{
	const struct vmp_needed n = { .file = file, .bytes = 4, .key = key, .path = "/elsewhere", .elsewhere = 1 };

	return vmp_fetch_add(&fetch, &n);
}

/* A program whose first place is gone is fetched from the next; only where none has it, it failed. */
static void test_fetch_elsewhere(void **state)
{
	(void)state;
	now_ns = SECOND;
	assert_int_equal(add(1, 4, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add_elsewhere(2, "u-1/abcd"), 0);
	assert_int_equal(add_elsewhere(3, "u-1/abcd"), 0);
	assert_int_equal(add_elsewhere(4, "u-1/ffff"), -ENOBUFS);	/* whose first one is not there */
	assert_int_equal(add(5, 4, NULL, 0, "u-1/abce"), 0);
	assert_int_equal(add_elsewhere(6, "u-1/abce"), 0);
	assert_int_equal(asks(), 1);
	assert_int_equal(piece(1, 0, 4, "", 2), 1);
	assert_int_equal(asks(), 2);
	assert_int_equal(piece(2, 0, 4, "full", 0), 1);
	assert_true(vmp_objcache_has("u-1/abcd"));
	assert_int_equal(asks(), 5);		/* the third is not needed */
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(piece(5, 0, 4, "", 2), 1);
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(asks(), 6);
	assert_int_equal(piece(6, 0, 9, "full", 0), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(fetch.why[VMP_FETCH_OTHER], 1);
	assert_int_equal(fetch.why[VMP_FETCH_ABSENT], 0);
}

/* What is given up is one content, in however many files */
static void test_fetch_elsewhere_cut(void **state)
{
	(void)state;
	assert_int_equal(add(1, 4, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add_elsewhere(2, "u-1/abcd"), 0);
	assert_int_equal(add_elsewhere(3, "u-1/abcd"), 0);
	assert_int_equal(asks(), 1);
	vmp_fetch_abort(&fetch, -ECANCELED);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(fetch.why[VMP_FETCH_CUT], 1);
	assert_true(vmp_fetch_done(&fetch));
}

static void test_fetch_many(void **state)
{
	(void)state;
	assert_int_equal(add(1, 8, NULL, 0, "u-1/abcd"), 0);
	fetch.nr = VMP_FETCH_MAX;
	assert_int_equal(add(2, 8, NULL, 0, "u-1/abce"), -ENOBUFS);
	assert_int_equal(fetch.why[VMP_FETCH_OVER], 1);
	fetch.nr = 1;
	assert_int_equal(add(2, 8, NULL, 0, "u-1/abce"), 0);
}

/* --objects none: nothing is asked for, and that is no failure */
static void test_fetch_forbidden(void **state)
{
	char text[128];

	(void)state;
	assert_int_equal(add(1, 8, NULL, 0, "u-1/abcd"), 0);
	assert_int_equal(add(2, 8, NULL, 0, "u-1/abce"), 0);
	vmp_fetch_abort(&fetch, -EPERM);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(asks(), 0);
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(fetch.why[VMP_FETCH_FORBIDDEN], 2);
	assert_string_equal(vmp_fetch_causes(&fetch, text, sizeof(text)), "2 by --objects none");
}

/* A stripped library and its debug file, as a distribution makes them, from the compiler */
static struct {
	char *binary, *debug;
	size_t binary_len, debug_len;
} lib;

static void build_library(void)
{
	char path[128];

	assert_int_equal(setenv("DIR", cache, 1), 0);
	assert_int_equal(system("cd $DIR && echo 'static int f(int x) { return x; } int g(int x) { return f(x); }' > x.c && "
				"cc -g -shared -fPIC -Wl,--build-id=0xabcdef01 -o whole x.c && "
				"objcopy --only-keep-debug whole debug && strip -o stripped whole"), 0);
	snprintf(path, sizeof(path), "%s/stripped", cache);
	assert_int_equal(vmp_file_read(path, 1 << 20, &lib.binary, &lib.binary_len), 0);
	snprintf(path, sizeof(path), "%s/debug", cache);
	assert_int_equal(vmp_file_read(path, 1 << 20, &lib.debug, &lib.debug_len), 0);
	assert_true(lib.debug_len > 4096);
	assert_int_equal(system("rm $DIR/x.c $DIR/whole $DIR/stripped $DIR/debug"), 0);
}

static void free_library(void)
{
	free(lib.binary);
	free(lib.debug);
}

static int part(uint32_t file, uint64_t offset, uint64_t total, const char *data, size_t len)
{
	const struct vmp_msg_object o = {
		.file = file, .offset = offset, .total = total, .data = { data + offset, (uint32_t)len },
	};

	return vmp_fetch_object(&fetch, &o, now_ns);
}

static int add_library(uint32_t file)
{
	return add(file, lib.binary_len, (const uint8_t *)"\xab\xcd\xef\x01", 4, "u-1/abcdef01");
}

/* Whole, of the size that was told, and another build: it is not kept, and the next session asks again. */
static void test_fetch_other_build(void **state)
{
	char *id;

	(void)state;
	build_library();
	id = memmem(lib.binary, lib.binary_len, "\xab\xcd\xef\x01", 4);
	assert_non_null(id);
	now_ns = SECOND;
	*id = 0;
	assert_int_equal(add_library(7), 0);
	assert_string_equal(fetch.items[0].build_id, "abcdef01");
	assert_int_equal(asks(), 7);
	assert_int_equal(part(7, 0, lib.binary_len, lib.binary, lib.binary_len), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(fetch.why[VMP_FETCH_OTHER], 1);
	assert_int_equal(files_in_cache(), 0);

	vmp_fetch_free(&fetch);
	*id = '\xab';
	assert_int_equal(add_library(7), 0);
	assert_int_equal(asks(), 7);
	assert_int_equal(part(7, 0, lib.binary_len, lib.binary, lib.binary_len), 1);
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(files_in_cache(), 1);
	free_library();
}

/* The library has come; its debug file is asked for. */
static void fetch_library(void)
{
	struct vmp_msg_get_object ask;

	build_library();
	now_ns = SECOND;
	assert_int_equal(add_library(7), 0);
	assert_int_equal(asks(), 7);
	part(7, 0, lib.binary_len, lib.binary, lib.binary_len);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(ask.file, 7 | VMPROF_OBJECT_DEBUG);
	assert_int_equal(ask.offset, 0);
	assert_int_equal(ask.len, 4096);		/* its size is not known yet */
}

static void test_fetch_debug(void **state)
{
	const uint32_t debug = 7 | VMPROF_OBJECT_DEBUG;
	struct vmp_msg_get_object ask;
	char path[4096];

	(void)state;
	fetch_library();
	/* within the credit the agent may send less than was asked for */
	assert_int_equal(part(debug, 0, lib.debug_len, lib.debug, 1000), 1);
	assert_int_equal(asks(), 0);
	assert_int_equal(part(debug, 1000, lib.debug_len, lib.debug, 3096), 1);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_int_equal(ask.file, debug);
	assert_int_equal(ask.offset, 4096);
	assert_int_equal(ask.len, lib.debug_len - 4096);
	assert_int_equal(asks(), 0);
	assert_false(vmp_fetch_done(&fetch));
	assert_int_equal(part(debug, 4096, lib.debug_len, lib.debug, lib.debug_len - 4096), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.debug_fetched, 1);
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(vmp_objcache_path(path, sizeof(path) - 6, "u-1/abcdef01"), 0);
	strcat(path, ".debug");
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(files_in_cache(), 2);

	/* the next session has both and asks for neither */
	vmp_fetch_free(&fetch);
	assert_int_equal(add_library(9), 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.failed, 0);
	free_library();
}

/* A large file: no faster than the rate, and nothing that was not asked for */
static void test_fetch_rate(void **state)
{
	const uint64_t bytes = VMP_FETCH_BURST_BYTES + VMP_FETCH_RATE_BYTES / 2;
	char *data = calloc(1, bytes);
	struct vmp_msg_get_object ask;
	uint64_t begin_ns, came = 0;
	int i;

	(void)state;
	assert_non_null(data);
	begin_ns = now_ns = 5 * SECOND;
	assert_int_equal(add(7, bytes, NULL, 0, "u-1/x0123"), 0);
	for (i = 0; i < 1000 && !vmp_fetch_done(&fetch); i++, now_ns += SECOND / 200) {
		if (!vmp_fetch_next(&fetch, now_ns, &ask))
			continue;
		assert_int_equal(ask.offset, came);
		assert_true(ask.len >= 1 << 20 || came + ask.len == bytes);
		came += ask.len;
		assert_true(came <= VMP_FETCH_BURST_BYTES + VMP_FETCH_RATE_BYTES * (now_ns - begin_ns) / SECOND);
		assert_int_equal(part(7, ask.offset, bytes, data, ask.len / 2), 1);
		assert_int_equal(vmp_fetch_next(&fetch, now_ns + SECOND, &ask), 0);	/* not all of it is here */
		assert_int_equal(part(7, ask.offset + ask.len / 2, bytes, data, ask.len - ask.len / 2), 1);
	}
	assert_int_equal(came, bytes);
	assert_int_equal(fetch.fetched, 1);
	/* 500 ms for what is behind the burst; the last of it may wait for a MiB to be asked for, 20 ms */
	assert_in_range(now_ns - begin_ns, SECOND / 2, SECOND / 2 + SECOND / 40);

	vmp_fetch_free(&fetch);
	assert_int_equal(add(8, bytes, NULL, 0, "u-1/x0124"), 0);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 1);
	assert_true(ask.len < bytes);
	assert_int_equal(part(8, 0, bytes, data, ask.len + 1), 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(vmp_fetch_next(&fetch, now_ns, &ask), 0);
	assert_true(vmp_fetch_done(&fetch));
	free(data);
}

/* None there (an agent of an earlier version says the same), too large, or of something else:
   nothing is kept and no binary counts as missing. */
static void test_fetch_debug_refuses(void **state)
{
	const uint32_t debug = 7 | VMPROF_OBJECT_DEBUG;

	(void)state;
	fetch_library();
	assert_int_equal(piece(debug, 0, 0, "", ENOENT), 1);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.debug_refused, 0);
	free_library();

	vmp_fetch_free(&fetch);
	assert_int_equal(remove_cache(NULL), 0);
	assert_int_equal(make_cache(NULL), 0);
	fetch_library();
	assert_int_equal(piece(debug, 0, 0, "", ENOEXEC), 1);
	assert_int_equal(asks(), 0);
	assert_int_equal(fetch.debug_refused, 1);
	free_library();

	vmp_fetch_free(&fetch);
	assert_int_equal(remove_cache(NULL), 0);
	assert_int_equal(make_cache(NULL), 0);
	fetch_library();
	assert_int_equal(part(debug, 0, VMP_FETCH_DEBUG_BYTES + 1, lib.debug, 4096), 1);
	assert_int_equal(asks(), 0);
	assert_int_equal(fetch.debug_refused, 1);
	free_library();

	vmp_fetch_free(&fetch);
	assert_int_equal(remove_cache(NULL), 0);
	assert_int_equal(make_cache(NULL), 0);
	fetch_library();
	memset(memmem(lib.debug, 4096, "\xab\xcd\xef\x01", 4), 0, 4);
	part(debug, 0, lib.debug_len, lib.debug, 4096);
	assert_int_equal(asks(), debug);
	part(debug, 4096, lib.debug_len, lib.debug, lib.debug_len - 4096);
	assert_int_equal(fetch.debug_refused, 1);
	assert_int_equal(fetch.failed, 0);
	assert_int_equal(files_in_cache(), 1);
	free_library();
}

static void test_fetch_timeout(void **state)
{
	(void)state;
	now_ns = SECOND;
	add(1, 8, NULL, 0, "u-1/abcd");
	add(2, 8, NULL, 0, "abce");
	assert_int_equal(asks(), 1);
	piece(1, 0, 8, "ha", 0);
	vmp_fetch_tick(&fetch, now_ns + VMP_FETCH_PATIENCE_NS);
	assert_int_equal(fetch.failed, 0);
	vmp_fetch_tick(&fetch, now_ns + VMP_FETCH_PATIENCE_NS + 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(piece(1, 2, 8, "late", 0), 0);
	vmp_fetch_abort(&fetch, -ECANCELED);
	assert_int_equal(fetch.failed, 2);
	assert_int_equal(files_in_cache(), 0);
}

/* What does not fit any more is counted, and nothing is left of it. */
static void test_cache_is_full(void **state)
{
	uint64_t room = 10;

	(void)state;
	now_ns = SECOND;
	fetch.cache_room = &room;
	add(1, 8, NULL, 0, "u-1/abcd");
	add(2, 8, NULL, 0, "u-1/abce");
	add(3, UINT64_MAX / 2, NULL, 0, "u-1/abcf");	/* too much already */
	assert_int_equal(asks(), 1);
	assert_int_equal(room, 2);
	piece(1, 0, 8, "halffull", 0);
	assert_int_equal(asks(), 0);
	assert_true(vmp_fetch_done(&fetch));
	assert_int_equal(fetch.fetched, 1);
	assert_int_equal(fetch.failed, 1);
	assert_int_equal(files_in_cache(), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_cache, remove_cache)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_fetch), T(test_fetch_refuses), T(test_fetch_next_waits), T(test_fetch_elsewhere), T(test_fetch_elsewhere_cut), T(test_fetch_many), T(test_fetch_forbidden), T(test_fetch_rate),
		T(test_fetch_other_build), T(test_fetch_debug),
		T(test_fetch_debug_refuses), T(test_fetch_timeout), T(test_cache_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
