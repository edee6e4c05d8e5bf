// SPDX-License-Identifier: GPL-2.0-only
/* test_elf_id.c - the reader of build-ids on good, short and lying ELF files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_id.h"

struct image {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	struct {
		Elf64_Nhdr first;	/* another note before the one that is wanted */
		char first_name[8];
		uint8_t first_desc[4];
		Elf64_Nhdr nh;
		char name[4];
		uint8_t desc[20];
	} notes;
};

/* A source over memory that ends where len says */
struct memory {
	const uint8_t *p;
	size_t len;
	unsigned int reads;
};

static ssize_t memory_read(void *arg, void *buf, size_t len, uint64_t offset)
{
	struct memory *m = arg;

	m->reads++;
	if (offset >= m->len)
		return 0;
	if (len > m->len - offset)
		len = m->len - offset;
	memcpy(buf, m->p + offset, len);
	return (ssize_t)len;
}

static struct image good_image(void)
{
	struct image im = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64,
			.e_phoff = offsetof(struct image, ph),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 3,
		},
		.ph = {
			{ .p_type = PT_LOAD, .p_filesz = 1 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct image, notes),
			  .p_filesz = sizeof(im.notes) },
			{ .p_type = PT_GNU_STACK },
		},
		.notes = {
			.first = { 5, 4, 1 }, .first_name = "Some", .nh = { 4, 20, NT_GNU_BUILD_ID },
			.name = "GNU",
		},
	};
	int i;

	for (i = 0; i < 20; i++)
		im.notes.desc[i] = (uint8_t)(i + 1);
	return im;
}

static int read_id(const void *p, size_t len, struct vmp_build_id *id)
{
	struct memory m = { p, len, 0 };
	struct vmp_elf_source src = { memory_read, &m };
	int ret = vmp_elf_build_id(&src, id);

	/* header twice, both tables, at most one read for each entry */
	assert_true(m.reads <= 4 + 2 * VMP_ELF_ENTRIES_MAX);
	return ret;
}

static void test_good(void **state)
{
	struct image im = good_image();
	struct vmp_build_id id;

	(void)state;
	assert_int_equal(read_id(&im, sizeof(im), &id), 0);
	assert_int_equal(id.len, 20);
	assert_memory_equal(id.bytes, im.notes.desc, 20);
}

static void test_32bit(void **state)
{
	struct {
		Elf32_Ehdr eh;
		Elf32_Phdr ph;
		Elf32_Nhdr nh;
		char name[4];
		uint8_t desc[8];
	} im = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC, .e_phoff = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr),
			.e_phnum = 1,
		},
		.nh = { 4, 8, NT_GNU_BUILD_ID }, .name = "GNU", .desc = { 9, 8, 7, 6, 5, 4, 3, 2 },
	};
	struct vmp_build_id id;

	(void)state;
	im.ph = (Elf32_Phdr){ .p_type = PT_NOTE, .p_filesz = 24,
			      .p_offset = sizeof(im.eh) + sizeof(im.ph) };
	assert_int_equal(read_id(&im, sizeof(im), &id), 0);
	assert_int_equal(id.len, 8);
	assert_memory_equal(id.bytes, im.desc, 8);
}

/* As eu-strip makes debug files: what moved is where the sections say, not where the segments do */
static void test_moved_notes(void **state)
{
	struct {
		struct image im;
		Elf64_Shdr sh[3];
	} file = { .im = good_image(), .sh = { { 0 }, { .sh_type = SHT_NOBITS }, { .sh_type = SHT_NOTE } } };
	struct vmp_build_id id;
	size_t len;

	(void)state;
	file.im.ph[1].p_offset -= 16;
	assert_int_equal(read_id(&file, sizeof(file), &id), -ENOENT);
	file.im.eh.e_shoff = offsetof(__typeof__(file), sh);
	file.im.eh.e_shentsize = sizeof(Elf64_Shdr);
	file.im.eh.e_shnum = 3;
	file.sh[2].sh_offset = offsetof(struct image, notes);
	file.sh[2].sh_size = sizeof(file.im.notes);
	assert_int_equal(read_id(&file, sizeof(file), &id), 0);
	assert_int_equal(id.len, 20);
	assert_memory_equal(id.bytes, file.im.notes.desc, 20);
	for (len = 0; len < offsetof(__typeof__(file), sh[2].sh_link); len++)
		assert_int_not_equal(read_id(&file, len, &id), 0);
	file.im.eh.e_shentsize--;
	assert_int_equal(read_id(&file, sizeof(file), &id), -ENOENT);
	file.im.eh.e_shentsize++;
	file.im.eh.e_shoff = UINT64_MAX - 8;
	assert_int_equal(read_id(&file, sizeof(file), &id), -ENOENT);
}

static void test_moved_notes_32bit(void **state)
{
	struct {
		Elf32_Ehdr eh;
		Elf32_Shdr sh;
		Elf32_Nhdr nh;
		char name[4];
		uint8_t desc[8];
	} im = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_phentsize = sizeof(Elf32_Phdr),
			.e_shoff = sizeof(Elf32_Ehdr), .e_shentsize = sizeof(Elf32_Shdr), .e_shnum = 1,
		},
		.sh = { .sh_type = SHT_NOTE, .sh_offset = sizeof(Elf32_Ehdr) + sizeof(Elf32_Shdr), .sh_size = 24 },
		.nh = { 4, 8, NT_GNU_BUILD_ID }, .name = "GNU", .desc = { 9, 8, 7, 6, 5, 4, 3, 2 },
	};
	struct vmp_build_id id;

	(void)state;
	assert_int_equal(read_id(&im, sizeof(im), &id), 0);
	assert_int_equal(id.len, 8);
	assert_memory_equal(id.bytes, im.desc, 8);
}

/* Memory of a process that died, and other files that nothing maps as code */
static void test_other_types(void **state)
{
	static const uint16_t types[] = { ET_NONE, ET_REL, ET_CORE, 0xfe00 };
	struct image im = good_image();
	struct vmp_build_id id;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		im.eh.e_type = types[i];
		assert_int_equal(read_id(&im, sizeof(im), &id), -ENOEXEC);
	}
	im.eh.e_type = ET_EXEC;
	assert_int_equal(read_id(&im, sizeof(im), &id), 0);
}

/* Cut at every byte: never an id unless its last byte is there */
static void test_cut(void **state)
{
	struct image im = good_image();
	struct vmp_build_id id;
	size_t len;

	(void)state;
	for (len = 0; len < offsetof(struct image, notes.desc) + sizeof(im.notes.desc); len++)
		assert_int_not_equal(read_id(&im, len, &id), 0);
	assert_int_equal(read_id(&im, 0, &id), -ENOEXEC);
	assert_int_equal(read_id("#!/bin/sh\nexit 0 # long enough", 30, &id), -ENOEXEC);
}

static void test_lies(void **state)
{
	struct image im = good_image();
	struct vmp_build_id id;

	(void)state;
	im = good_image();
	im.notes.first.n_namesz = UINT32_MAX;
	assert_int_equal(read_id(&im, sizeof(im), &id), -ENOENT);

	im = good_image();
	im.notes.first.n_descsz = UINT32_MAX - 2;
	assert_int_equal(read_id(&im, sizeof(im), &id), -ENOENT);

	im = good_image();
	im.notes.nh.n_descsz = 0;
	assert_int_equal(read_id(&im, sizeof(im), &id), -ENOENT);

	im = good_image();
	im.eh.e_phoff = UINT64_MAX - 8;
	assert_int_not_equal(read_id(&im, sizeof(im), &id), 0);

	im = good_image();
	im.eh.e_phentsize = 1;
	assert_int_equal(read_id(&im, sizeof(im), &id), -ENOEXEC);

	im = good_image();
	im.ph[1].p_offset = UINT64_MAX;
	assert_int_equal(read_id(&im, sizeof(im), &id), -ENOENT);

}

/* Lengths that the file does have, but that are beyond what the reader takes */
static void test_too_long(void **state)
{
	size_t len = 1 << 20;
	struct image *im = calloc(1, len);
	struct vmp_build_id id;

	(void)state;
	assert_non_null(im);
	*im = good_image();
	im->ph[1].p_filesz = len - offsetof(struct image, notes);
	assert_int_equal(read_id(im, len, &id), 0);
	im->notes.nh.n_descsz = VMPROF_BUILD_ID_MAX + 1;
	assert_int_equal(read_id(im, len, &id), -ENOENT);

	*im = good_image();
	im->eh.e_phnum = UINT16_MAX;
	assert_int_equal(read_id(im, len, &id), 0);
	free(im);
}

/* Each byte of the file in turn set to each extreme: must end, within its bounds */
static void test_flipped(void **state)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
	struct image im;
	struct vmp_build_id id;
	size_t i, v;

	(void)state;
	for (i = 0; i < sizeof(im); i++) {
		for (v = 0; v < sizeof(values); v++) {
			im = good_image();
			((uint8_t *)&im)[i] = values[v];
			if (!read_id(&im, sizeof(im), &id))
				assert_in_range(id.len, 1, VMPROF_BUILD_ID_MAX);
		}
	}
}

static void test_own_file(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct vmp_elf_source src = vmp_elf_fd(&fd);
	struct vmp_build_id id;
	int ret;

	(void)state;
	assert_true(fd >= 0);
	ret = vmp_elf_build_id(&src, &id);
	close(fd);
	assert_true(ret == 0 || ret == -ENOENT);

	ret = vmp_elf_build_id(&src, &id);	/* closed: read() fails */
	assert_int_equal(ret, -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_32bit),
		cmocka_unit_test(test_moved_notes),
		cmocka_unit_test(test_moved_notes_32bit),
		cmocka_unit_test(test_other_types),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_flipped),
		cmocka_unit_test(test_own_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
