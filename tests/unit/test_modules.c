// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_modules.c - kernel modules that come and go within a session: a function's name is that of
 * the module that lay there at the sample, or there is none.
 */
#include "modelled.h"

#include "model/kernel.h"

#define KERNEL	"ffffffff81000000 T _stext\nffffffff81001000 T do_work\nffffffff81002000 T _etext\n"
#define OLD	"ffffffffc0000000 t old_fn\t[old]\nffffffffc0001800 t old_exit\t[old]\n"
#define NEW	"ffffffffc0000000 t new_fn\t[new]\n"
#define STAYS	"ffffffffc0800000 t stays_fn\t[stays]\n"
#define AT_OLD	0xffffffffc0000100ULL
#define AT_EXIT	0xffffffffc0001900ULL
#define AT_STAY	0xffffffffc0800010ULL
#define NOBODY	"[vmlinux+0xffffffffc0000100]"

/* The name that a sample has */
static const char *name_at(uint64_t tsc, uint64_t ip)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, tsc, CR3_A, 0, ip);
	struct vmp_place place = { 0 };
	struct vmp_hit hit;

	assert_int_equal(vmp_classify(model, &s, &hit), 0);
	assert_int_equal(vmp_resolve_guest_kernel(model, &model->vms.v[0], hit.epoch, hit.era, ip, &place), 0);
	return vmp_model_name(model, place.function);
}

static void assert_name(uint64_t tsc, uint64_t ip, const char *name)
{
	assert_string_equal(name_at(tsc, ip), name);
}

/* A text, whose first piece has come by @seen */
static void text(uint64_t seen, const char *symbols)
{
	gen_ksyms(&g, symbols);
	gen_agent_flush(&g, GEN_VM, seen);
}

/* The first piece of one, whose others do not come */
static void text_begins(void)
{
	struct vmprof_ksyms part = { .total = 4096 };

	gen_frame(&g, VMPROF_MSG_KSYMS, &part, sizeof(part), KERNEL, strlen(KERNEL));
}

static void changed(uint64_t since, uint64_t tsc)
{
	gen_modules(&g, since, tsc);
}

static void begin(void)
{
	gen_hello(&g, 1500, 1, 0);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, CR3_A, 10, 1, 0, "app");
}

/* A large module goes and a small one comes to where it was, so that the later text is the shorter one */
static void test_another_one_at_its_place(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD STAYS);
	changed(10000, 12000);
	text(14000, KERNEL STAYS);
	changed(20000, 22000);
	text(24000, KERNEL NEW STAYS);
	finish();
	assert_name(1700, AT_OLD, "old_fn");
	assert_name(9999, AT_OLD, "old_fn");
	assert_name(11000, AT_OLD, "old_fn");	/* it went some time then; nothing else was there */
	assert_name(12000, AT_OLD, NOBODY);
	assert_name(19999, AT_OLD, NOBODY);
	assert_name(21000, AT_OLD, "new_fn");
	assert_name(23000, AT_OLD, "new_fn");	/* before its text has come */
	assert_name(90000, AT_OLD, "new_fn");
	assert_name(90000, AT_EXIT, "[vmlinux+0xffffffffc0001900]");
	assert_name(11000, AT_EXIT, "old_exit");
	for (uint64_t t = 1700; t < 30000; t += 100) {
		assert_name(t, AT_STAY, "stays_fn");
		assert_name(t, GEN_KERNEL + 0x1010, "do_work");
	}
}

/* Between two looks one came to where another one was: whose the code is nobody knows */
static void test_nobody_knows_when(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	changed(10000, 12000);
	text(14000, KERNEL NEW);
	finish();
	assert_name(9999, AT_OLD, "old_fn");
	assert_name(10000, AT_OLD, NOBODY);
	assert_name(11999, AT_OLD, NOBODY);
	assert_name(12000, AT_OLD, "new_fn");
	assert_name(11000, AT_EXIT, "old_exit");	/* the small one does not reach there */
	assert_name(11000, GEN_KERNEL + 0x1010, "do_work");
}

/* The same module again, at the same place */
static void test_comes_back(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	changed(10000, 12000);
	text(14000, KERNEL);
	changed(20000, 22000);
	text(24000, KERNEL OLD);
	finish();
	assert_name(5000, AT_OLD, "old_fn");
	assert_name(15000, AT_OLD, NOBODY);
	assert_name(25000, AT_OLD, "old_fn");
	assert_int_equal(model->vms.v[0].boots.v[0].kernel.whole, 3);
}

/* Agents up to version 6 do not say when: it was between the arrivals of the two */
static void test_by_arrival(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	text(14000, KERNEL);
	text(24000, KERNEL NEW);
	finish();
	assert_name(1900, AT_OLD, "old_fn");
	assert_name(13999, AT_OLD, "old_fn");
	assert_name(14001, AT_OLD, "new_fn");	/* and nothing was there before it came */
	assert_name(24000, AT_OLD, "new_fn");
	assert_name(14001, AT_EXIT, "[vmlinux+0xffffffffc0001900]");
}

/* Where two texts name the place, and nobody tells from when on the second holds, none is believed */
static void test_by_arrival_in_doubt(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	text(14000, KERNEL NEW);
	finish();
	assert_name(1900, AT_OLD, "old_fn");
	assert_name(2001, AT_OLD, NOBODY);
	assert_name(13999, AT_OLD, NOBODY);
	assert_name(14000, AT_OLD, "new_fn");
}

/* Of a text that did not come, or not to its end, it is known that another one was true */
static void test_text_is_missing(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD STAYS);
	changed(10000, 12000);
	text_begins();
	gen_agent_flush(&g, GEN_VM, 14000);
	finish();
	assert_name(9999, AT_OLD, "old_fn");
	assert_name(10000, AT_OLD, NOBODY);
	assert_name(90000, AT_STAY, "[vmlinux+0xffffffffc0800010]");
	assert_name(90000, GEN_KERNEL + 0x1010, "do_work");
}

/* Modules changed while the text was sent: the next one tells of both changes */
static void test_two_changes(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD STAYS);
	changed(10000, 12000);
	text_begins();
	changed(12000, 14000);
	text(16000, KERNEL NEW STAYS);
	finish();
	assert_name(9999, AT_OLD, "old_fn");
	assert_name(10001, AT_OLD, NOBODY);
	assert_name(13999, AT_OLD, NOBODY);
	assert_name(13999, AT_STAY, "stays_fn");
	assert_name(14000, AT_OLD, "new_fn");
}

/* A module that came before the first text was whole: what lay there before is not known */
static void test_change_before_the_first(void **state)
{
	(void)state;
	begin();
	text_begins();
	changed(3000, 4000);
	text(5000, KERNEL NEW);
	finish();
	assert_name(2000, AT_OLD, NOBODY);
	assert_name(2000, GEN_KERNEL + 0x1010, "do_work");
	assert_name(4000, AT_OLD, "new_fn");
}

/* A session that ended before its one text was there */
static void test_part_of_the_only_one(void **state)
{
	(void)state;
	begin();
	text_begins();
	finish();
	assert_name(2000, GEN_KERNEL + 0x1010, "do_work");
}

/* Each boot has its own */
static void test_boots(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	gen_clock_at(&g, GEN_VM, 0, 50000, GEN_OFFSET + 7000000);
	g.offset += 7000000;
	gen_hello(&g, 51000, 2, 0);
	text(52000, KERNEL NEW);
	finish();
	assert_name(40000, AT_OLD, "old_fn");
	assert_name(53000, AT_OLD, "new_fn");
}

/* A guest that never stops to tell of others: memory is bounded, and no name is wrong */
static void test_without_end(void **state)
{
	struct vmp_strings strings;
	struct vmp_kernel k = { 0 };
	struct vmp_msg_ksyms piece = { 0 };
	struct vmp_tsc_span valid = { 0, UINT64_MAX };
	struct vmp_symtab *t;
	char symbols[256];
	uint64_t i, same;

	(void)state;
	assert_int_equal(vmp_strings_init(&strings), 0);
	for (i = 0; i < 3 * VMP_KERNEL_TEXTS_MAX; i++) {
		snprintf(symbols, sizeof(symbols), KERNEL "ffffffffc0000000 t fn_%u\t[m]\n", (unsigned)i);
		piece.text = (struct vmp_span){ symbols, (uint32_t)strlen(symbols) };
		piece.total = piece.text.len;
		if (i)
			assert_int_equal(vmp_kernel_changed(&k, 1000 * i, 1000 * i + 1), 0);
		assert_int_equal(vmp_kernel_piece(&k, &piece, 1000 * i + 2, &strings), 0);
	}
	assert_int_equal(vmp_kernel_build(&k, &strings), 0);
	assert_true(k.texts.nr <= VMP_KERNEL_TEXTS_MAX);
	assert_string_equal(vmp_kernel_find(&k, vmp_kernel_era(&k, 5500, &valid), AT_OLD, &t, &same)->name, "fn_5");
	assert_int_equal(valid.from, 5001);
	assert_int_equal(valid.to, 6000);
	assert_null(vmp_kernel_find(&k, vmp_kernel_era(&k, 1000 * i, &valid), AT_OLD, &t, &same));
	assert_non_null(vmp_kernel_find(&k, vmp_kernel_era(&k, 1000 * i, &valid), GEN_KERNEL, &t, &same));
	vmp_kernel_free(&k);
	vmp_strings_deinit(&strings);
}

/* A report's rows: samples of one address are of two functions */
static void test_in_a_profile(void **state)
{
	(void)state;
	begin();
	text(2000, KERNEL OLD);
	changed(10000, 12000);
	text(14000, KERNEL NEW);
	gen_guest(&g, GEN_VM, 9000, CR3_A, 0, AT_OLD, 5);
	gen_guest(&g, GEN_VM, 11000, CR3_A, 0, AT_OLD, 2);
	gen_guest(&g, GEN_VM, 15000, CR3_A, 0, AT_OLD, 3);
	finish();
	run(VMP_BY_FUNCTION);
	assert_int_equal(of_function("web01", "old_fn", "[old]"), 5);
	assert_int_equal(of_function("web01", "new_fn", "[new]"), 3);
	assert_int_equal(of_function("web01", NOBODY, "vmlinux"), 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_another_one_at_its_place), T(test_nobody_knows_when), T(test_comes_back), T(test_by_arrival),
		T(test_by_arrival_in_doubt), T(test_text_is_missing), T(test_two_changes),
		T(test_change_before_the_first), T(test_part_of_the_only_one), T(test_boots),
		cmocka_unit_test(test_without_end), T(test_in_a_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
