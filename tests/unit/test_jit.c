// SPDX-License-Identifier: GPL-2.0-only
/* test_jit.c - names of code that programs made: JIT maps as text, and through whole captures. */
#include "profiled.h"

#include "model/model.h"
#include "report/render.h"

#define CR3_A	0x5000000ULL
#define CR3_B	0x6000000ULL
#define JIT	0x7f0000000000ULL
#define ANON	JIT, JIT + 0x10000, 0, 0, ""

static int setup(void **state)
{
	(void)state;
	profiled_guest(1500, 0);
	return 0;
}

static void finish(void)
{
	struct vmp_options o = { .by = VMP_BY_FUNCTION | VMP_BY_MODULE | VMP_BY_PROCESS, .vcpu = -1, .pid = -1 };

	if (g.agent_len)
		gen_agent_flush(&g, GEN_VM, 0);
	gen_records_flush(&g, 0, 1000, 900000);
	profiled_load();
	profiled_make(&o);
}

/* Samples of a function of a process, in the module of made code */
static uint64_t samples(const char *comm, const char *function, const char *module)
{
	const struct vmp_domain *d = &profile->domains.v[0];
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < d->rows.nr; i++)
		if (!strcmp(vmp_model_name(model, d->rows.v[i].comm), comm) &&
		    !strcmp(vmp_model_name(model, d->rows.v[i].function), function) &&
		    !strcmp(vmp_model_name(model, d->rows.v[i].module), module))
			n += d->rows.v[i].samples;
	return n;
}

static void jit_program(uint64_t tsc, uint64_t cr3, uint32_t pid, const char *comm)
{
	gen_proc(&g, VMPROF_MSG_FORK, tsc, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 1, cr3, pid, 1, 0, "sh");
	gen_proc(&g, VMPROF_MSG_EXEC, tsc + 2, cr3, pid, 1, VMPROF_PROC_EXEC_DONE, comm);
	gen_map(&g, tsc + 3, cr3, pid, ANON);
}

/* ----------------------------------------------------------------- text */

static struct vmp_symtab table;
static struct vmp_perfmap_counts counts;
static char text[4096];

static void parse(const char *s)
{
	vmp_symtab_free(&table);
	counts = (struct vmp_perfmap_counts){ .room = 100 };
	strcpy(text, s);
	assert_int_equal(vmp_perfmap_lines(&table, text, strlen(s), &counts), 0);
	assert_int_equal(vmp_perfmap_sort(&table), 0);
}

static const char *at(uint64_t addr)
{
	const struct vmp_symbol *sym = vmp_symtab_find(&table, addr);

	return sym ? sym->name : "-";
}

static void test_lines(void **state)
{
	(void)state;
	parse("1000 10 LazyCompile:*add /srv/a b.js:1\n0x2000 0x8 with_prefix\nABCD 1 upper\n3000 10 no end of line");
	assert_string_equal(at(0x1000), "LazyCompile:*add /srv/a b.js:1");
	assert_string_equal(at(0x100f), "LazyCompile:*add /srv/a b.js:1");
	assert_string_equal(at(0x1010), "-");
	assert_string_equal(at(0xfff), "-");
	assert_string_equal(at(0x2007), "with_prefix");
	assert_string_equal(at(0xabcd), "upper");
	assert_string_equal(at(0x3000), "-");
	assert_int_equal(counts.bad, 0);
	assert_int_equal(counts.room, 97);
	parse("");
	assert_string_equal(at(0), "-");
	vmp_symtab_free(&table);
}

static void test_nonsense(void **state)
{
	(void)state;
	parse("\nx 1 a\n1000 y b\n1000 10\n1000 10 \n1000  10 c\n 1000 10 d\n1000 0 empty\n"
	      "ffffffffffffffff 1 wraps\n11111111111111111 1 long\n-1000 10 e\n5000 10 good\n");
	assert_int_equal(counts.bad, 11);
	assert_string_equal(at(0x1000), "-");
	assert_string_equal(at(0x5000), "good");
	vmp_symtab_free(&table);
}

/* Each address has the name that was told last */
static void test_overlaps(void **state)
{
	(void)state;
	parse("1000 100 old\n1040 20 middle\n1050 100 late\n1000 10 front\n2000 10 a\n2000 10 b\n3000 20 c\n2ff0 100 over_c\n");
	assert_string_equal(at(0x1000), "front");
	assert_string_equal(at(0x1010), "old");
	assert_string_equal(at(0x103f), "old");
	assert_string_equal(at(0x1040), "middle");
	assert_string_equal(at(0x104f), "middle");
	assert_string_equal(at(0x1050), "late");
	assert_string_equal(at(0x114f), "late");
	assert_string_equal(at(0x1150), "-");
	assert_string_equal(at(0x2000), "b");
	assert_string_equal(at(0x3010), "over_c");
	vmp_symtab_free(&table);
}

static void test_room(void **state)
{
	struct vmp_perfmap_counts few = { .room = 1 };

	(void)state;
	strcpy(text, "1000 10 a\nbad\n2000 10 b\n3000 10 c\n");
	assert_int_equal(vmp_perfmap_lines(&table, text, strlen(text), &few), 0);
	assert_int_equal(few.over, 2);
	assert_int_equal(few.bad, 1);
	assert_int_equal(table.sym.nr, 1);
	vmp_symtab_free(&table);
}

/* ------------------------------------------------------------- captures */

static void test_names(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "node");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 hot\n7f0000000100 100 cold\n");
	gen_jitmap(&g, 2003, 10, "7f0000000180 10 later\n");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, JIT + 0x10, 5);
	gen_guest(&g, GEN_VM, 3100, CR3_A, 3, JIT + 0xff, 2);
	gen_guest(&g, GEN_VM, 3200, CR3_A, 3, JIT + 0x100, 1);
	gen_guest(&g, GEN_VM, 3300, CR3_A, 3, JIT + 0x188, 4);
	gen_guest(&g, GEN_VM, 3400, CR3_A, 3, JIT + 0x190, 8);
	gen_guest(&g, GEN_VM, 3500, CR3_A, 3, JIT + 0x200, 16);	/* no line */
	finish();
	assert_int_equal(samples("node", "hot", "[jit]"), 7);
	assert_int_equal(samples("node", "cold", "[jit]"), 9);
	assert_int_equal(samples("node", "later", "[jit]"), 4);
	assert_int_equal(samples("node", "[anonymous code]", "[anon]"), 16);
	assert_int_equal(profile->domains.v[0].why[VMP_WHY_ANON], 16);
}

/* A number and an address space that two programs had, one after the other */
static void test_program_of_the_moment(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "first");
	gen_exit(&g, 4000, CR3_A, 10, "first", JIT, JIT + 0x10000, 0, "");
	jit_program(5000, CR3_A, 10, "second");
	gen_proc(&g, VMPROF_MSG_EXEC, 6000, CR3_B, 10, 1, 0, "second");
	gen_proc(&g, VMPROF_MSG_EXEC, 6001, CR3_B, 10, 1, VMPROF_PROC_EXEC_DONE, "third");
	gen_map(&g, 6002, CR3_B, 10, ANON);
	/* they come late, and in no order */
	gen_jitmap(&g, 6002, 10, "7f0000000000 100 of_third\n");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 of_first\n");
	gen_jitmap(&g, 5003, 10, "7f0000000000 100 of_second\n");
	gen_jitmap(&g, 1600, 10, "7f0000000000 100 of_nobody\n");
	gen_jitmap(&g, 2003, 11, "7f0000000000 100 of_nobody\n");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, JIT, 1);
	gen_guest(&g, GEN_VM, 5500, CR3_A, 3, JIT, 2);
	gen_guest(&g, GEN_VM, 7000, CR3_B, 3, JIT, 4);
	finish();
	assert_int_equal(samples("first", "of_first", "[jit]"), 1);
	assert_int_equal(samples("second", "of_second", "[jit]"), 2);
	assert_int_equal(samples("third", "of_third", "[jit]"), 4);
}

/* A child has its parent's code, and may tell of its own; another process has neither */
static void test_fork(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "parent");
	gen_proc(&g, VMPROF_MSG_FORK, 3000, CR3_B, 11, 10, 0, "child");
	gen_map(&g, 3001, CR3_B, 11, JIT + 0x20000, JIT + 0x30000, 0, 0, "");
	jit_program(3100, 0x8000000, 12, "other");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 shared\n");
	gen_jitmap(&g, 3001, 11, "7f0000020000 100 own\n7f0000000080 10 own_too\n");
	gen_guest(&g, GEN_VM, 4000, CR3_B, 3, JIT, 1);
	gen_guest(&g, GEN_VM, 4100, CR3_B, 3, JIT + 0x85, 2);
	gen_guest(&g, GEN_VM, 4200, CR3_B, 3, JIT + 0x20000, 4);
	gen_guest(&g, GEN_VM, 4300, 0x8000000, 3, JIT, 8);
	gen_guest(&g, GEN_VM, 4400, CR3_A, 3, JIT + 0x85, 16);
	finish();
	assert_int_equal(samples("child", "shared", "[jit]"), 1);
	assert_int_equal(samples("child", "own_too", "[jit]"), 2);
	assert_int_equal(samples("child", "own", "[jit]"), 4);
	assert_int_equal(samples("other", "[anonymous code]", "[anon]"), 8);
	assert_int_equal(samples("parent", "shared", "[jit]"), 16);
}

/* A line over a file's code names nothing, one over a memory file does */
static void test_files(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "dotnet");
	gen_map(&g, 2010, CR3_A, 10, 0x400000, 0x500000, 0, 77, "/usr/bin/dotnet");
	gen_map(&g, 2011, CR3_A, 10, 0x600000, 0x700000, 0, 78, "/memfd:doublemapper");
	gen_jitmap(&g, 2003, 10, "400000 100000 not_this\n600000 100 made\n");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, 0x401000, 1);
	gen_guest(&g, GEN_VM, 3100, CR3_A, 3, 0x600010, 2);
	finish();
	assert_int_equal(samples("dotnet", "not_this", "[jit]"), 0);
	assert_int_equal(samples("dotnet", "made", "[jit]"), 2);
}

/* A restarted agent sends all again, with a MAP of its own snapshot */
static void test_agent_began_anew(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "node");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 old\n7f0000000100 100 stays\n");
	gen_hello(&g, 4000, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 4001, CR3_A, 10, 1, 0, "node");
	gen_map(&g, 4002, CR3_A, 10, ANON);
	gen_jitmap(&g, 4002, 10, "7f0000000000 100 new\n");
	gen_guest(&g, GEN_VM, 5000, CR3_A, 3, JIT, 3);
	gen_guest(&g, GEN_VM, 5100, CR3_A, 3, JIT + 0x100, 4);
	finish();
	assert_int_equal(samples("node", "new", "[jit]"), 3);
	assert_int_equal(samples("node", "stays", "[jit]"), 4);
}

static void render(void)
{
	struct vmp_options o = { .by = VMP_BY_FUNCTION | VMP_BY_MODULE, .vcpu = -1, .pid = -1 };
	struct vmp_render r = { .path = path };
	size_t len;
	FILE *f;

	profiled_make(&o);
	f = open_memstream(&output, &len);
	vmp_render_text(f, profile, &o, &r);
	fclose(f);
}

/* Lines that make no sense, one over all addresses, and of a process that cannot be */
static void test_nonsense_told(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "evil");
	gen_jitmap(&g, 2003, 10, "no line at all\n0 ffffffffffffffff everything\n");
	gen_jitmap(&g, UINT64_MAX, UINT32_MAX, "7f0000000000 100 x\n");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, JIT, 1);
	finish();
	assert_int_equal(samples("evil", "everything", "[jit]"), 1);
	assert_int_equal(model->vms.v[0].jit.lines.bad, 1);
	render();
	gen_says(output, "everything");
	gen_says(output, "  1 lines of JIT maps made no sense and were left out\n");
}

/* A name that would move a terminal's cursor */
static void test_escaped(void **state)
{
	(void)state;
	jit_program(2000, CR3_A, 10, "evil");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 \033]0;evil\a\n");
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, JIT, 1);
	finish();
	render();
	gen_says(output, "\\x1b]0;evil\\x07");
	gen_says_not(output, "\033]0");
}

/* More texts than an agent can have: the rest is counted, and said */
static void test_too_many(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < VMP_JIT_TEXTS_MAX + 5; i++) {
		gen_jitmap(&g, 3000 + i, 10, "\n");
		if (g.agent_len > sizeof(g.agent) / 2)
			gen_agent_flush(&g, GEN_VM, 0);
	}
	gen_guest(&g, GEN_VM, 3000, CR3_A, 3, JIT, 1);
	finish();
	assert_int_equal(model->vms.v[0].jit.pieces_over, 5);
	render();
	gen_says(output, "0 lines and 5 messages of JIT maps were left out");
}

#define LATER(n)	(2003 + ((uint64_t)(n) << VMPROF_JITMAP_AFTER_SHIFT))

/* An address that came to mean something else means what it meant at the time */
static void test_times(void **state)
{
	int i;

	(void)state;
	jit_program(2000, CR3_A, 10, "node");
	gen_jitmap(&g, 2003, 10, "7f0000000000 100 old\n7f0000001000 100 still\n");
	gen_proc(&g, VMPROF_MSG_FORK, LATER(1), CR3_B, 11, 10, 0, "node");
	gen_jitmap_after(&g, 2003, 10, 2, "7f0000000080 100 new\n7f0000001000 100 still\n");
	gen_jitmap_after(&g, 2003, 10, 4, "7f0000000000 100 newest\n");
	for (i = 0; i < 6; i++) {
		gen_guest(&g, GEN_VM, LATER(i) + 500000, CR3_A, 3, JIT + 0x90, 1U << i);
		gen_guest(&g, GEN_VM, LATER(i) + 500000, CR3_A, 3, JIT + 0x1010, 1);
	}
	gen_guest(&g, GEN_VM, LATER(5), CR3_B, 3, JIT + 0x90, 64);
	finish();
	assert_int_equal(samples("node", "old", "[jit]"), 1 + 2 + 64);
	assert_int_equal(samples("node", "new", "[jit]"), 4 + 8);
	assert_int_equal(samples("node", "newest", "[jit]"), 16 + 32);
	assert_int_equal(samples("node", "still", "[jit]"), 6);
}

/* More changes than there are tables for: the last ones are right all the same */
static void test_many_times(void **state)
{
	char line[64];
	uint32_t i;

	(void)state;
	jit_program(2000, CR3_A, 10, "node");
	for (i = 0; i < 1000; i++) {
		snprintf(line, sizeof(line), "7f0000000000 100 f%u\n", i);
		gen_jitmap_after(&g, 2003, 10, i, line);
	}
	gen_guest(&g, GEN_VM, LATER(0) + 500000, CR3_A, 3, JIT, 1);
	gen_guest(&g, GEN_VM, LATER(2000), CR3_A, 3, JIT, 2);
	finish();
	assert_int_equal(model->vms.v[0].jit.texts.v[0].tables.nr, VMP_JIT_TABLES_MAX);
	assert_int_equal(samples("node", "f999", "[jit]"), 2);
	assert_int_equal(samples("node", "f0", "[jit]"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_room),
		cmocka_unit_test_setup_teardown(test_times, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_many_times, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_names, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_program_of_the_moment, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_fork, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_files, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_agent_began_anew, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense_told, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_escaped, setup, profiled_tear_down),
		cmocka_unit_test_setup_teardown(test_too_many, setup, profiled_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
