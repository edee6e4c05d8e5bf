// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_ksyms.c - kallsyms text: the kernel's functions, modules', and code that
 * the kernel made.
 */
#include "gen.h"

#include "model/ksyms.h"
#include "model/model.h"
#include "report/profile.h"

static struct vmp_symtab table;
static struct vmp_strings strings;
static char *text;

static void parse(const char *s)
{
	text = strdup(s);
	assert_int_equal(vmp_strings_init(&strings), 0);
	assert_int_equal(vmp_ksyms_parse(&table, text, strlen(text), &strings), 0);
}

static void put_back(void)
{
	vmp_symtab_free(&table);
	vmp_strings_deinit(&strings);
	free(text);
}

static const char *ksym(uint64_t addr)
{
	const struct vmp_symbol *s = vmp_symtab_find(&table, addr);

	return s ? s->name : "(none)";
}

static void test_kallsyms(void **state)
{
	(void)state;
	parse("ffffffff81000000 T startup_64\n"
	      "ffffffff81000000 T _stext\n"
	      "ffffffff81000100 t local\n"
	      "ffffffff81000100 W weak\n"
	      "ffffffff81000200 D data\n"
	      "garbage\n"
	      "ffffffff8100030z T broken\n"
	      "ffffffff81000300 T \n"
	      "ffffffff81000400 T last\n"
	      "ffffffffc0000ff0 t mod_end\t[mod]\n"
	      "ffffffffc0009000 t other_fn\t[other]\n"
	      "ffffffffc000a000 t cut_li");
	assert_string_equal(ksym(0xffffffff81000000), "startup_64");
	assert_string_equal(ksym(0xffffffff810000ff), "startup_64");
	assert_string_equal(ksym(0xffffffff81000150), "weak");
	assert_string_equal(ksym(0xffffffff81000250), "weak");	/* data is no end */
	assert_string_equal(ksym(0xffffffff81000450), "last");
	assert_string_equal(ksym(0xffffffffc0000ff8), "mod_end");
	assert_string_equal(ksym(0xffffffffc0001000), "(none)");	/* behind the module */
	assert_string_equal(ksym(0xffffffffc0009100), "other_fn");
	assert_string_equal(ksym(0xffffffffc000a000), "(none)");
	assert_string_equal(ksym(0x1000), "(none)");
	assert_string_equal(vmp_strings_get(&strings, vmp_symtab_find(&table, 0xffffffffc0009100)->module),
			    "[other]");
	put_back();
}

/* The init function of a module, whose memory is another one's by now, says nothing of that one's code. */
static void test_remainders(void **state)
{
	(void)state;
	parse("ffffffffc0001000 t ovl_open\t[overlay]\n"
	      "ffffffffc0001100 t ovl_close\t[overlay]\n"
	      "ffffffffc0003000 t rmd160_transform\t[rmd160]\n"
	      "ffffffffc0003010 t ovl_init\t[overlay]\n"
	      "ffffffffc0004000 t rmd160_update\t[rmd160]\n"
	      "ffffffffc0004000 t fuse_init\t[fuse]\n"		/* where one of its functions begins */
	      "ffffffffc0004100 t rmd160_final\t[rmd160]\n"
	      "ffffffffc0006000 t af_alg_init\t[af_alg]\n"	/* and where its first one does */
	      "ffffffffc0006000 t wp512_first\t[wp512]\n"
	      "ffffffffc0006080 t wp512_second\t[wp512]\n"
	      "ffffffffc0007000 t bpf_prog_1_in_between\t[bpf]\n"	/* made code lies anywhere */
	      "ffffffffc0006200 t wp512_last\t[wp512]\n"
	      "ffffffffc0008000 t lone_init\t[lone]\n"		/* the only one of its module */
	      "ffffffffc0009000 t wp512_init\t[wp512]\n"	/* nobody's code yet */
	      "ffffffffc0009000 t init_module\t[wp512]\n"
	      "ffffffffc000a000 t other\t[other]\n"
	      "ffffffffc000a100 t other_too\t[other]\n"
	      "ffffffffc000a100 t cleanup_module\t[other]\n"
	      "ffffffffc000c010 t other_init\t[other]\n");	/* next to its module, and yet apart */
	assert_string_not_equal(ksym(0xffffffffc000a110), "(none)");
	assert_string_equal(ksym(0xffffffffc000b000), "(none)");	/* behind its last function, which has two names */
	assert_string_equal(ksym(0xffffffffc000c020), "(none)");
	assert_string_equal(ksym(0xffffffffc0003900), "rmd160_transform");
	assert_string_equal(ksym(0xffffffffc0004010), "rmd160_update");
	assert_string_equal(ksym(0xffffffffc0006010), "wp512_first");
	assert_string_equal(ksym(0xffffffffc0007010), "bpf_prog_1_in_between");
	assert_string_equal(ksym(0xffffffffc0006210), "wp512_last");
	assert_string_equal(ksym(0xffffffffc0008010), "lone_init");
	assert_string_equal(ksym(0xffffffffc0001110), "ovl_close");
	assert_string_equal(ksym(0xffffffffc0009010), "(none)");
	assert_int_equal(table.sym.nr, 12);
	put_back();
}

/* A guest may put any number of them at one address: that takes no longer than elsewhere, and all stay one. */
static void test_many_at_one_address(void **state)
{
	char *many = malloc(3 * 100000 * 48 + 1), *p = many;
	int i;

	(void)state;
	for (i = 0; i < 300000; i++)
		p += sprintf(p, "ffffffffc000%d000 t f%d\t[m%d]\n", 1 + i / 100000, i, i);
	parse(many);
	free(many);
	assert_int_equal(table.sym.nr, 3);
	put_back();
}

/* A host that hides addresses gives zeros: no symbols, not one at 0. */
static void test_hidden_kallsyms(void **state)
{
	(void)state;
	parse("0000000000000000 T startup_64\n0000000000000000 T other\n");
	assert_int_equal(table.sym.nr, 0);
	assert_string_equal(ksym(0), "(none)");
	put_back();
}

static const char *kmodule(uint64_t addr)
{
	const struct vmp_symbol *s = vmp_symtab_find(&table, addr);

	return s ? vmp_strings_get(&strings, s->module) : "(none)";
}

/* BPF programs, trampolines and pages of probes, as the kernel lists them behind its modules */
static const char made[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000100 T schedule\n"
	"ffffffff81000200 T _etext\n"
	"ffffffffc0801000 t mod_fn\t[mod]\n"
	"ffffffffc0801040 t mod_exit\t[mod]\n"
	"ffffffffc0600000 t ftrace_trampoline\t[__builtin__ftrace]\n"
	"ffffffffc0200080 t bpf_prog_6deef7357e7b4530_sd_fw_egress\t[bpf]\n"
	"ffffffffc0200100 t bpf_prog_6deef7357e7b4530_sd_fw_ingress\t[bpf]\n"
	"ffffffffc0203000 t bpf_prog_03e7f62b2a9c4a12\t[bpf]\n"
	"ffffffffc0900000 t bpf_trampoline_6442508829\t[bpf]\n"
	"ffffffffc0a00000 t kprobe_insn_page\t[__builtin__kprobes]\n"
	"ffffffffc0a02000 t kprobe_insn_page\t[__builtin__kprobes]\n"
	"ffffffffc0a03000 t kprobe_optinsn_page\t[__builtin__kprobes]\n";

static void test_made_code(void **state)
{
	(void)state;
	parse(made);
	assert_string_equal(ksym(0xffffffffc0200080), "bpf_prog_6deef7357e7b4530_sd_fw_egress");
	assert_string_equal(ksym(0xffffffffc02000ff), "bpf_prog_6deef7357e7b4530_sd_fw_egress");
	assert_string_equal(ksym(0xffffffffc0200100), "bpf_prog_6deef7357e7b4530_sd_fw_ingress");
	assert_string_equal(kmodule(0xffffffffc0200100), "[bpf]");
	assert_string_equal(ksym(0xffffffffc0200fff), "bpf_prog_6deef7357e7b4530_sd_fw_ingress");
	/* there may be programs that have no symbol */
	assert_string_equal(ksym(0xffffffffc020007f), "(none)");
	assert_string_equal(ksym(0xffffffffc0201000), "(none)");
	assert_string_equal(ksym(0xffffffffc0203000), "bpf_prog_03e7f62b2a9c4a12");
	assert_string_equal(ksym(0xffffffffc0204000), "(none)");
	assert_string_equal(ksym(0xffffffffc0900010), "bpf_trampoline_6442508829");
	assert_string_equal(kmodule(0xffffffffc0900010), "[bpf]");
	assert_string_equal(ksym(0xffffffffc0901000), "(none)");
	assert_string_equal(ksym(0xffffffffc0600abc), "ftrace_trampoline");
	assert_string_equal(kmodule(0xffffffffc0600abc), "[__builtin__ftrace]");
	assert_string_equal(ksym(0xffffffffc0601000), "(none)");
	assert_string_equal(ksym(0xffffffffc0a00fff), "kprobe_insn_page");
	assert_string_equal(kmodule(0xffffffffc0a00fff), "[__builtin__kprobes]");
	assert_string_equal(ksym(0xffffffffc0a01000), "(none)");
	assert_string_equal(ksym(0xffffffffc0a02000), "kprobe_insn_page");
	assert_string_equal(ksym(0xffffffffc0a03010), "kprobe_optinsn_page");
	assert_string_equal(ksym(0xffffffffc0801010), "mod_fn");
	assert_string_equal(kmodule(0xffffffffc0801010), "[mod]");
	put_back();
}

/* An agent that knows how long it is: no name behind it, and names behind its page. */
static void test_made_code_with_bytes(void **state)
{
	(void)state;
	parse("ffffffffc0200080 t bpf_prog_6deef7357e7b4530_short\t[bpf]\t40\n"
	      "ffffffffc0200f00 t bpf_prog_03e7f62b2a9c4a12_long\t[bpf]\t2200\n"
	      "ffffffffc0301000 t bpf_prog_1\t[bpf]\t0\n"
	      "ffffffffc0302000 t bpf_prog_2\t[bpf]\tffffffffffffffff\n"
	      "ffffffffc0303000 t bpf_prog_3\t[bpf]\t40 and\n"
	      "ffffffffc0304000 t in_module\t[mod]\t40\n"
	      "ffffffffd0000000 t bpf_prog_4\t[bpf]\t100001\n");
	assert_string_equal(ksym(0xffffffffc02000bf), "bpf_prog_6deef7357e7b4530_short");
	assert_string_equal(ksym(0xffffffffc02000c0), "(none)");
	assert_string_equal(ksym(0xffffffffc02030ff), "bpf_prog_03e7f62b2a9c4a12_long");
	assert_string_equal(kmodule(0xffffffffc02030ff), "[bpf]");
	assert_string_equal(ksym(0xffffffffc0203100), "(none)");
	/* what makes no sense is not told */
	assert_string_equal(ksym(0xffffffffc0301fff), "bpf_prog_1");
	assert_string_equal(ksym(0xffffffffc0302fff), "bpf_prog_2");
	assert_string_equal(ksym(0xffffffffc0303fff), "bpf_prog_3");
	assert_string_equal(ksym(0xffffffffc0304fff), "in_module");
	assert_string_equal(ksym(0xffffffffd0000fff), "bpf_prog_4");
	assert_string_equal(ksym(0xffffffffd0001000), "(none)");
	put_back();
}

/* The last page that there is has an end, too. */
static void test_made_at_the_end(void **state)
{
	(void)state;
	parse("fffffffffffff000 t bpf_prog_6deef7357e7b4530\t[bpf]\n"
	      "fffffffffffff800 t last_of_module\t[mod]\n");
	assert_string_equal(ksym(0xfffffffffffff000), "bpf_prog_6deef7357e7b4530");
	assert_string_equal(ksym(0xfffffffffffffffe), "last_of_module");
	put_back();
}

/* What a report calls them */
static void test_made_code_in_a_profile(void **state)
{
	static const struct { uint64_t ip; const char *function, *module; } at[] = {
		{ 0xffffffffc0200090, "bpf_prog_6deef7357e7b4530_sd_fw_egress", "[bpf]" },
		{ 0xffffffffc0a00fff, "kprobe_insn_page", "[__builtin__kprobes]" },
		{ 0xffffffff81000110, "schedule", "vmlinux" },
		{ 0xffffffffc0201000, "[vmlinux+0xffffffffc0201000]", "vmlinux" },
	};
	const unsigned int nr = sizeof(at) / sizeof(at[0]);
	struct vmp_options o = { .vcpu = -1, .pid = -1 };
	char *dir = gen_dir(), path[128];
	struct vmp_profile *p;
	struct vmp_model *m;
	static struct gen g;
	unsigned int i;

	(void)state;
	snprintf(path, sizeof(path), "%s/a.vmprof", dir);
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
	gen_hello(&g, 1500, 1, 0);
	gen_ksyms(&g, made);
	gen_proc(&g, VMPROF_MSG_PROC, 1600, 0x5000000, 10, 1, 0, "app");
	gen_agent_flush(&g, GEN_VM, 0);
	for (i = 0; i < nr; i++)
		gen_guest(&g, GEN_VM, 2000, 0x5000000, 0, at[i].ip, nr - i);
	gen_records_flush(&g, 0, 0, 0);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&m, path), 0);
	assert_int_equal(vmp_profile_create(&p, m, &o), 0);
	assert_int_equal(p->domains.v[0].rows.nr, nr);
	for (i = 0; i < nr; i++) {
		assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[i].function), at[i].function);
		assert_string_equal(vmp_model_name(m, p->domains.v[0].rows.v[i].module), at[i].module);
	}
	assert_int_equal(p->domains.v[0].why[VMP_WHY_NO_KSYM], 1);
	vmp_profile_destroy(p);
	vmp_model_close(m);
	gen_rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms), cmocka_unit_test(test_remainders), cmocka_unit_test(test_many_at_one_address), cmocka_unit_test(test_hidden_kallsyms), cmocka_unit_test(test_made_code),
		cmocka_unit_test(test_made_code_with_bytes),
		cmocka_unit_test(test_made_at_the_end), cmocka_unit_test(test_made_code_in_a_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
