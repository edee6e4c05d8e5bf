// SPDX-License-Identifier: GPL-2.0-only
/* test_capture.c - writer and reader of capture files: damage, cuts, a full disk. */
#include "gen.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <zstd.h>

#include "capture/block.h"
#include "capture/reader.h"
#include "crc32c.h"

static char *dir, path[128];

static int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gen_rmdir(dir);
	return 0;
}

static const struct vmprof_cap_header proto = {
	.session = "0123456789abcde", .realtime_ns = 12, .tsc = 34, .tsc_khz = 56,
};

/* Three blocks: small, one that zstd packs, one that it cannot; then the index */
static void write_some(void)
{
	static uint8_t zeros[5000], noise[3000];
	struct vmp_writer *w;
	uint32_t x = 1;
	size_t i;

	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_META, 0, "{}", 2, 0, 0), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_HOST_MAPS, 7, zeros, sizeof(zeros), 1, 2), 0);
	assert_int_equal(vmp_writer_block(w, 999, 8, noise, sizeof(noise), 3, 4), 0);
	assert_true(vmp_writer_bytes(w) < 5000);
	assert_int_equal(vmp_writer_close(w), 0);
}

static int walk_all(struct vmp_reader *r, int unpack)
{
	struct vmp_block b;
	const void *data;
	size_t len;
	int n = 0, ret;

	while ((ret = vmp_reader_next(r, &b)) > 0)
		n += !unpack || !vmp_reader_data(r, &data, &len);
	assert_int_equal(ret, 0);
	return n;
}

static void test_round_trip(void **state)
{
	struct vmp_reader *r;
	struct vmp_block b;
	struct stat st;
	const void *data;
	size_t len, i;

	(void)state;
	write_some();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(vmp_reader_open(&r, path), 0);
	assert_memory_equal(vmp_reader_header(r)->session, proto.session, 16);
	assert_int_equal(vmp_reader_header(r)->realtime_ns, 12);
	assert_int_equal(vmp_reader_header(r)->tsc, 34);
	assert_int_equal(vmp_reader_header(r)->tsc_khz, 56);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.type, VMPROF_CAP_META);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.type, VMPROF_CAP_HOST_MAPS);
	assert_int_equal(b.source, 7);
	assert_int_equal(b.tsc_first, 1);
	assert_int_equal(b.tsc_last, 2);
	assert_true(b.flags & VMPROF_CAP_ZSTD);
	assert_int_equal(vmp_reader_data(r, &data, &len), 0);
	assert_int_equal(len, 5000);
	for (i = 0; i < len; i++)
		assert_int_equal(((const uint8_t *)data)[i], 0);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.type, 999);
	assert_false(b.flags & VMPROF_CAP_ZSTD);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.type, VMPROF_CAP_INDEX);
	assert_int_equal(vmp_reader_next(r, &b), 0);
	assert_int_equal(vmp_reader_end(r).unread, 0);
	assert_true(vmp_reader_end(r).indexed);
	vmp_reader_rewind(r);
	assert_int_equal(walk_all(r, 1), 4);
	vmp_reader_close(r);
}

static void test_index(void **state)
{
	const struct vmprof_cap_index_entry *e;
	struct vmp_block walked[3], b;
	struct vmp_reader *r;
	const void *data;
	size_t len;
	int i;

	(void)state;
	write_some();
	assert_int_equal(vmp_reader_open(&r, path), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(vmp_reader_next(r, &walked[i]), 1);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(vmp_reader_data(r, &data, &len), 0);
	assert_int_equal(len, 3 * sizeof(*e));
	for (e = data, i = 0; i < 3; i++) {
		assert_int_equal(e[i].offset, walked[i].offset);
		assert_int_equal(e[i].type, walked[i].type);
		assert_int_equal(e[i].flags, walked[i].flags);
		assert_int_equal(e[i].source, walked[i].source);
		assert_int_equal(e[i].tsc_first, walked[i].tsc_first);
		assert_int_equal(e[i].tsc_last, walked[i].tsc_last);
	}
	vmp_reader_close(r);
}

/* Whole blocks stay readable wherever the file ends, and the rest is told. */
static void test_cut(void **state)
{
	uint64_t ends[5] = { 64 }, want;
	struct vmp_reader *r;
	struct vmp_block b;
	size_t len, cut;
	uint8_t *all;
	int n, i;

	(void)state;
	write_some();
	assert_int_equal(vmp_reader_open(&r, path), 0);
	for (i = 1; vmp_reader_next(r, &b) > 0; i++) {
		struct vmprof_cap_block raw;
		FILE *f = fopen(path, "rb");

		fseek(f, (long)b.offset, SEEK_SET);
		assert_int_equal(fread(&raw, sizeof(raw), 1, f), 1);
		fclose(f);
		ends[i] = b.offset + sizeof(raw) + raw.stored_bytes;	/* padding may lack */
	}
	vmp_reader_close(r);
	all = gen_read(path, &len);
	for (cut = 0; cut < len; cut++) {
		gen_write(path, all, cut);
		if (cut < 64) {
			assert_int_equal(vmp_reader_open(&r, path), 0);
			assert_int_equal(walk_all(r, 1), 0);
			assert_int_equal(vmp_reader_end(r).unread, cut);
			assert_string_equal(vmp_reader_end(r).why, "the file ends within its header");
			vmp_reader_close(r);
			continue;
		}
		assert_int_equal(vmp_reader_open(&r, path), 0);
		n = walk_all(r, 1);
		for (want = 0, i = 1; i < 5; i++)
			want += ends[i] <= cut;
		assert_int_equal(n, want);
		/* bytes of a block that is not whole are told */
		i = (int)want;
		if (cut > ((ends[i] + 7) & ~7ULL)) {
			assert_int_equal(vmp_reader_end(r).unread, cut - ((ends[i] + 7) & ~7ULL));
			assert_non_null(vmp_reader_end(r).why);
			assert_non_null(strstr(vmp_reader_end(r).why, "the file ends within"));
		}
		assert_false(vmp_reader_end(r).indexed && want < 4);
		vmp_reader_close(r);
	}
	free(all);
}

/* A flipped bit is noticed, whatever byte it is in; padding alone may hold one. */
static void test_flip(void **state)
{
	struct vmp_reader *r;
	uint8_t *all, *is_padding;
	struct vmp_block b;
	size_t len, i;
	int n, err;

	(void)state;
	write_some();
	all = gen_read(path, &len);
	is_padding = calloc(len, 1);
	assert_int_equal(vmp_reader_open(&r, path), 0);
	while (vmp_reader_next(r, &b) > 0) {
		struct vmprof_cap_block raw;

		memcpy(&raw, all + b.offset, sizeof(raw));
		for (i = raw.stored_bytes; i < vmp_padded(raw.stored_bytes); i++)
			is_padding[b.offset + sizeof(raw) + i] = 1;
	}
	vmp_reader_close(r);
	for (i = 0; i < len; i++) {
		all[i] ^= 0x10;
		gen_write(path, all, len);
		err = vmp_reader_open(&r, path);
		if (i < 64) {
			assert_int_equal(err, -EBADMSG);
		} else {
			assert_int_equal(err, 0);
			n = walk_all(r, 1);
			if (is_padding[i]) {
				assert_int_equal(n, 4);
			} else {
				assert_true(n < 4);
				assert_true(vmp_reader_end(r).unread > 0);
			}
			vmp_reader_close(r);
		}
		all[i] ^= 0x10;
	}
	free(is_padding);
	free(all);
}

/* Headers whose checksums are right, but whose content is not */
static void test_lies(void **state)
{
	static const struct {
		uint32_t raw, stored;
		uint16_t flags;
	} lies[] = {
		{ 16, 8, 0 },				/* raw, but of another size */
		{ VMPROF_CAP_RAW_MAX + 1, VMPROF_CAP_RAW_MAX + 1, 0 },
		{ UINT32_MAX, 8, VMPROF_CAP_ZSTD },
		{ 8, UINT32_MAX, VMPROF_CAP_ZSTD },
		{ 1000, 8, VMPROF_CAP_ZSTD },		/* no zstd frame */
		{ 1000, 8, VMPROF_CAP_WORDS },		/* no records */
	};
	struct vmprof_cap_header h;
	struct vmprof_cap_block b;
	struct vmp_reader *r;
	uint8_t file[64 + 48 + 8];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		h = proto;
		vmp_header_seal(&h);
		memset(file, 0, sizeof(file));
		memcpy(file, &h, sizeof(h));
		b = (struct vmprof_cap_block){
			.type = VMPROF_CAP_META, .flags = lies[i].flags, .raw_bytes = lies[i].raw,
			.stored_bytes = lies[i].stored,
			.payload_crc = vmp_crc32c(0, file + 112, 8),
		};
		vmp_block_seal(&b);
		memcpy(file + 64, &b, sizeof(b));
		gen_write(path, file, sizeof(file));
		assert_int_equal(vmp_reader_open(&r, path), 0);
		assert_int_equal(walk_all(r, 1), 0);
		assert_int_equal(vmp_reader_end(r).unread, sizeof(file) - 64);
		vmp_reader_close(r);
	}
}

/* A payload that unpacks well, but to more than a block may hold */
static void test_bomb(void **state)
{
	size_t raw = (size_t)VMPROF_CAP_RAW_MAX + 8, n;
	struct vmprof_cap_header h = proto;
	struct vmprof_cap_block b = { .type = VMPROF_CAP_META, .flags = VMPROF_CAP_ZSTD };
	uint8_t *zeros = calloc(1, raw), *file = malloc(1 << 20);
	struct vmp_reader *r;

	(void)state;
	n = ZSTD_compress(file + 112, (1 << 20) - 112, zeros, raw, 1);
	assert_false(ZSTD_isError(n));
	vmp_header_seal(&h);
	memcpy(file, &h, sizeof(h));
	b.raw_bytes = (uint32_t)raw;
	b.stored_bytes = (uint32_t)n;
	b.payload_crc = vmp_crc32c(0, file + 112, n);
	vmp_block_seal(&b);
	memcpy(file + 64, &b, sizeof(b));
	gen_write(path, file, 112 + n);
	assert_int_equal(vmp_reader_open(&r, path), 0);
	assert_int_equal(walk_all(r, 1), 0);
	vmp_reader_close(r);
	free(zeros);
	free(file);
}

static void test_versions(void **state)
{
	struct vmprof_cap_header h = proto;
	struct vmp_reader *r;

	(void)state;
	vmp_header_seal(&h);
	h.compat = VMPROF_CAP_VERSION + 1;
	h.crc = 0;
	h.crc = vmp_crc32c(0, &h, sizeof(h));
	gen_write(path, &h, sizeof(h));
	assert_int_equal(vmp_reader_open(&r, path), -EPROTONOSUPPORT);
	gen_write(path, "MPROG", 5);
	assert_int_equal(vmp_reader_open(&r, path), -EBADMSG);
	gen_write(path, "not one of ours, and longer than the header of a capture: it is refused", 71);
	assert_int_equal(vmp_reader_open(&r, path), -EBADMSG);
	assert_int_equal(vmp_reader_open(&r, dir), -EINVAL);
	assert_int_equal(vmp_reader_open(&r, "/nonexistent"), -ENOENT);
}

static void test_replaces_captures_only(void **state)
{
	struct vmp_writer *w;
	char link[160];

	(void)state;
	write_some();
	write_some();		/* over an earlier capture */
	gen_write(path, "", 0);
	write_some();		/* over an empty file */
	gen_write(path, "my thesis", 9);
	assert_int_equal(vmp_writer_create(&w, path, &proto), -EEXIST);
	assert_int_equal(vmp_writer_create(&w, dir, &proto), -EEXIST);
	unlink(path);
	write_some();
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(vmp_writer_create(&w, link, &proto), -EEXIST);
}

/* What was there stays until there is something to take its place. */
static void test_replaces_late(void **state)
{
	char temp[160];
	struct vmp_reader *r;
	struct vmp_writer *w;
	size_t len, before;

	(void)state;
	snprintf(temp, sizeof(temp), "%s.new", path);
	write_some();
	free(gen_read(path, &before));
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	vmp_writer_discard(w);
	free(gen_read(path, &len));
	assert_int_equal(len, before);
	assert_int_equal(access(temp, F_OK), -1);
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	free(gen_read(path, &len));
	assert_int_equal(len, before);
	assert_int_equal(vmp_writer_place(w), 0);
	free(gen_read(path, &len));
	assert_int_equal(len, sizeof(struct vmprof_cap_header));
	/* from now on nothing removes it */
	vmp_writer_discard(w);
	assert_int_equal(vmp_reader_open(&r, path), 0);
	vmp_reader_close(r);
	/* what a killed session left is no obstacle, another's file is */
	gen_write(temp, "", 0);
	write_some();
	gen_write(temp, "my thesis", 9);
	assert_int_equal(vmp_writer_create(&w, path, &proto), -EEXIST);
}

static void test_too_large(void **state)
{
	struct vmp_writer *w;
	uint64_t before;

	(void)state;
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	before = vmp_writer_bytes(w);
	/* the size is refused before the bytes are looked at */
	assert_int_equal(vmp_writer_block(w, 1, 0, "", (size_t)VMPROF_CAP_RAW_MAX + 1, 0, 0), -EMSGSIZE);
	assert_int_equal(vmp_writer_bytes(w), before);
	assert_int_equal(vmp_writer_close(w), 0);
}

/* A block that does not fit leaves no trace; a smaller one still goes in. */
static void test_full(void **state)
{
	struct rlimit old, small = { 4096, 0 };
	uint8_t noise[4096];
	struct vmp_writer *w;
	struct vmp_reader *r;
	struct vmp_block b;
	uint64_t before;
	struct stat st;
	uint32_t x = 1;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	assert_int_equal(vmp_writer_place(w), 0);
	assert_int_equal(vmp_writer_block(w, 900, 1, noise, 1000, 0, 0), 0);
	before = vmp_writer_bytes(w);
	assert_int_equal(vmp_writer_block(w, 900, 2, noise, sizeof(noise), 0, 0), -EFBIG);
	assert_int_equal(vmp_writer_bytes(w), before);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, before);
	assert_int_equal(vmp_writer_block(w, 900, 3, noise, 500, 0, 0), 0);
	assert_int_equal(vmp_writer_close(w), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);

	assert_int_equal(vmp_reader_open(&r, path), 0);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.source, 1);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.source, 3);
	assert_int_equal(vmp_reader_next(r, &b), 1);
	assert_int_equal(b.type, VMPROF_CAP_INDEX);
	assert_int_equal(vmp_reader_next(r, &b), 0);
	assert_int_equal(vmp_reader_end(r).unread, 0);
	vmp_reader_close(r);
}

static void test_samples_flag(void **state)
{
	struct vmprof_sample s = { .hdr = { VMPROF_REC_SAMPLE, sizeof(s), 0 } };
	struct vmprof_rec_clock c = { .hdr = { VMPROF_REC_CLOCK, sizeof(c), 0 } };
	struct { struct vmprof_rec_lbr h; uint64_t word[2]; } lbr = { .h.hdr = { VMPROF_REC_LBR, sizeof(lbr), 0 } };
	uint8_t both[sizeof(s) + sizeof(c)], branches[sizeof(s) + sizeof(lbr)];
	struct vmp_writer *w;
	struct vmp_reader *r;
	struct vmp_block b;
	int i;

	(void)state;
	memcpy(both, &s, sizeof(s));
	memcpy(both + sizeof(s), &c, sizeof(c));
	memcpy(branches, &s, sizeof(s));
	memcpy(branches + sizeof(s), &lbr, sizeof(lbr));
	assert_int_equal(vmp_writer_create(&w, path, &proto), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_RECORDS, 0, both, sizeof(s), 0, 0), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_RECORDS, 0, branches, sizeof(branches), 0, 0), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_RECORDS, 0, both, sizeof(both), 0, 0), 0);
	assert_int_equal(vmp_writer_block(w, VMPROF_CAP_RECORDS, 0, branches, sizeof(branches) - 8, 0, 0), 0);
	assert_int_equal(vmp_writer_close(w), 0);
	assert_int_equal(vmp_reader_open(&r, path), 0);
	for (i = 0; i < 4; i++) {
		assert_int_equal(vmp_reader_next(r, &b), 1);
		assert_int_equal(!!(b.flags & VMPROF_CAP_SAMPLES), i < 2);
	}
	vmp_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_index, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bomb, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaces_captures_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaces_late, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_large, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples_flag, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
