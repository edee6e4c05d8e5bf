// SPDX-License-Identifier: GPL-2.0-only
/* test_ehframe.c - function bounds from .eh_frame, of hand-made bytes and of a stripped program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/ehframe.h"
#include "model/elfsyms.h"

#define ADDR	0x1000

/* A CIE "zR" with pc-relative signed 32 bits, and two FDEs: [0x500, 0x520), [0x600, 0x601) */
static const uint8_t good[] = {
	0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0, 0, 0,
	0x0c, 0, 0, 0, 0x18, 0, 0, 0, 0xe4, 0xf4, 0xff, 0xff, 0x20, 0, 0, 0,
	0x0c, 0, 0, 0, 0x28, 0, 0, 0, 0xd4, 0xf5, 0xff, 0xff, 0x01, 0, 0, 0,
	0, 0, 0, 0,
};

struct seen {
	uint64_t start[4], end[4];
	int n;
};

static int collect(void *arg, uint64_t start, uint64_t end)
{
	struct seen *s = arg;

	if (s->n < 4) {
		s->start[s->n] = start;
		s->end[s->n] = end;
	}
	s->n++;
	return 0;
}

static int stop(void *arg, uint64_t start, uint64_t end)
{
	(void)start;
	(void)end;
	++*(int *)arg;
	return -ENOSPC;
}

static void reads_pc_relative_ranges(void **state)
{
	struct seen s = { .n = 0 };

	(void)state;
	assert_int_equal(vmp_ehframe_walk(good, sizeof(good), ADDR, collect, &s), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.start[0], 0x500);
	assert_int_equal(s.end[0], 0x520);
	assert_int_equal(s.start[1], 0x600);
	assert_int_equal(s.end[1], 0x601);
}

static void the_callback_ends_the_walk(void **state)
{
	int calls = 0;

	(void)state;
	assert_int_equal(vmp_ehframe_walk(good, sizeof(good), ADDR, stop, &calls), -ENOSPC);
	assert_int_equal(calls, 1);
}

/* Cut at any byte: whole entries count, half ones do not, nothing is read behind the end */
static void a_cut_section_gives_whole_entries(void **state)
{
	size_t len;

	(void)state;
	for (len = 0; len <= sizeof(good); len++) {
		uint8_t *copy = malloc(len ? len : 1);
		struct seen s = { .n = 0 };

		memcpy(copy, good, len);
		assert_int_equal(vmp_ehframe_walk(copy, len, ADDR, collect, &s), 0);
		assert_int_equal(s.n, len >= 52 ? 2 : len >= 36 ? 1 : 0);
		free(copy);
	}
}

static void what_is_not_understood_is_left_out(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} breaks[] = {
		{ 8, 9 },	/* version */
		{ 9, 'e' },	/* augmentation without a length */
		{ 10, 'X' },	/* unknown letter */
		{ 16, 0x9b },	/* indirect pointers */
		{ 16, 0x01 },	/* uleb128 pointers */
		{ 4, 1 },	/* no CIE there */
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		uint8_t copy[sizeof(good)];
		struct seen s = { .n = 0 };

		memcpy(copy, good, sizeof(good));
		copy[breaks[i].at] = breaks[i].value;
		assert_int_equal(vmp_ehframe_walk(copy, sizeof(copy), ADDR, collect, &s), 0);
		assert_int_equal(s.n, 0);
	}
}

static uint64_t address_of(const char *tool, const char *name)
{
	char line[256] = "";
	FILE *f = popen(tool, "r");
	uint64_t addr = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, name))
			addr = strtoull(line, NULL, 16);
	pclose(f);
	return addr;
}

static void a_stripped_program_has_functions_by_address(void **state)
{
	char dir[] = "/tmp/vmprof-eh-XXXXXX", cmd[512], path[64], want[32];
	const struct vmp_symbol *sym;
	struct vmp_elf *e;
	uint64_t addr;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd),
		 "cd %s && printf 'int hidden(int x) { return x * 3; }\\n"
		 "int main(int c, char **v) { (void)v; return hidden(c); }\\n' > p.c && "
		 "cc -O0 -o p p.c && cp p s && strip s", dir);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof(cmd), "nm %s/p", dir);
	addr = address_of(cmd, " hidden");
	assert_true(addr != 0);

	snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(vmp_elf_open(&e, path), 0);
	sym = vmp_elf_symbol(e, addr + 4);
	assert_non_null(sym);
	snprintf(want, sizeof(want), "sub_%llx", (unsigned long long)addr);
	assert_string_equal(sym->name, want);
	assert_int_equal(sym->rank, VMP_SYM_UNNAMED);
	assert_int_equal(sym->start, addr);
	vmp_elf_close(e);

	/* where there is a name, it is the name */
	snprintf(path, sizeof(path), "%s/p", dir);
	assert_int_equal(vmp_elf_open(&e, path), 0);
	assert_string_equal(vmp_elf_symbol(e, addr + 4)->name, "hidden");
	vmp_elf_close(e);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_pc_relative_ranges),
		cmocka_unit_test(the_callback_ends_the_walk),
		cmocka_unit_test(a_cut_section_gives_whole_entries),
		cmocka_unit_test(what_is_not_understood_is_left_out),
		cmocka_unit_test(a_stripped_program_has_functions_by_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
