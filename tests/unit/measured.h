/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * measured.h - what tests of blocks share: a capture with branches of a program whose every
 * instruction is known, and what is decoded and measured of it.
 */
#ifndef VMP_TEST_MEASURED_H
#define VMP_TEST_MEASURED_H

#include "program.h"

#include "blocks/estimate.h"

#define OTHER_VM	(GEN_VM + 100)
#define OTHER_PID	(PROG_PID + 1)

static char *dir, path[128];
static struct gen g;
static struct prog prog;
static struct vmp_model *model;
static struct vmp_set *set;
static struct vmp_measure *measure;
static struct vmp_estimates *estimates;

static inline void begin(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s.vmprof", dir, name);
	memset(&prog, 0, sizeof(prog));
	gen_begin(&g, path);
	gen_vm(&g, GEN_VM, "web01");
	gen_clock(&g, GEN_VM);
}

static inline int setup(void **state)
{
	(void)state;
	dir = gen_dir();
	setenv("VMPROF_OBJCACHE", dir, 1);
	begin("a");
	return 0;
}

static inline void forget(void)
{
	vmp_estimate_destroy(estimates);
	vmp_measure_destroy(measure);
	vmp_set_destroy(set);
	vmp_model_close(model);
	estimates = NULL;
	measure = NULL;
	set = NULL;
	model = NULL;
}

static inline int teardown(void **state)
{
	(void)state;
	forget();
	unsetenv("VMPROF_THREADS");
	gen_rmdir(dir);
	return 0;
}

/* A folder below @folder for the capture @name and its object cache */
static inline char *own_folder(const char *folder, const char *name)
{
	static char own[100];

	gen_sh(folder, "mkdir %s", name);
	snprintf(own, sizeof(own), "%s/%s", folder, name);
	return own;
}

#define AT(i)		(PROG_BASE + prog.insn[i].addr)

/* A user sample whose youngest branches are given, in a program of plain code and two jumps; it begins with @first */
static inline void begin_small_with(enum prog_op first)
{
	prog_plain(&prog, 4, 1, 1);			/* 0 .. 3 */
	prog.insn[0].op = first;
	prog.insn[0].function = "small";
	prog_jump(&prog, PROG_COND, 0, 2, 0);		/* 4 */
	prog_plain(&prog, 3, 1, 1);			/* 5 .. 7 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 8 */
	prog_plain(&prog, 2, 1, 1);			/* 9, 10 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 11 */
	prog_plain(&prog, 6, 1, 1);			/* 12 .. 17 */
	prog_jump(&prog, PROG_JUMP, 11, 0, 0);		/* 18 */
	prog_jump(&prog, PROG_CALL, 0, 0, 0);		/* 19 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_ksyms(&g, "ffffffff81000000 T _stext\nffffffff81001000 T do_work\n"
		      "ffffffff81002000 T __switch_to_asm\nffffffff81003000 T after\nffffffff81004000 T _etext\n");
	gen_agent_flush(&g, GEN_VM, 3000);
}

static inline void begin_small(void)
{
	begin_small_with(PROG_PLAIN);
}

static inline void load_small(void)
{
	struct vmp_set_choice all = { .vcpu = -1, .pid = -1 };

	gen_records_flush(&g, 0, 10000, 20000);
	gen_end(&g);
	assert_int_equal(vmp_model_open(&model, path), 0);
	assert_int_equal(vmp_set_create(&set, model, &all), 0);
}

static inline void load_again(const struct vmp_set_choice *choice)
{
	vmp_set_destroy(set);
	set = NULL;
	assert_int_equal(vmp_set_create(&set, model, choice), 0);
}

/* One sample with two branches between which instructions 0 to 4 ran, as gen_guest() or gen_host() made it */
static inline void put_loop(uint64_t tsc, uint64_t base)
{
	const struct prog_branch b[] = {
		{ base + prog.insn[4].addr, base + prog.insn[0].addr }, { base + prog.insn[8].addr, base + prog.insn[0].addr },
	};

	gen_lbr(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, b, 2, 1);
}

static inline const struct vmp_block_code *only_block(void)
{
	assert_int_equal(set->totals.steps, 1);
	assert_int_equal(set->blocks.nr, 1);
	return &set->blocks.v[0];
}

static inline int insn_at(uint32_t point)
{
	int i;

	for (i = 0; i < prog.nr; i++)
		if (prog.insn[i].addr == set->points.points.v[point].addr)
			return i;
	fail_msg("no instruction at %#llx", (unsigned long long)set->points.points.v[point].addr);
	return -1;
}

#endif
