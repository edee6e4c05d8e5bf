// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_pieces.c - what the judge of tests/truth takes for a block's exact cost, and for runs of its instructions, by counts of
 * the emulator that are made up. What it says of such figures, test_judge_blocks.c and test_judge_loops.c show.
 */
#include "measured.h"

#include <math.h>

#include "tests/truth/pieces.c"

#define OTHER_CR3	(PROG_CR3 + 0x5000)
#define OTHER_BASE	0x7f1200000000ULL	/* where the other process has the program */
#define TWIN_BASE	0x7f1300000000ULL	/* ... and the same code in another file */
#define QEMU_CR3	(PROG_CR3 + 0x7000)	/* on the host */
#define QEMU_BASE	0x500000000000ULL	/* where QEMU has the program */
#define HOST_KERNEL_AT	0xffffffffc0001000ULL
#define EXITS		15000			/* when it exits: a third process has its CR3 then */

enum { OURS, OTHERS, ENDED, NEXTS, NOBODYS, QUIET, HOSTS, KERNEL, QEMUS, HOST_KERNEL, NMI, SPACES };

static const struct exact_space spaces[SPACES] = {
	[OURS] = { 0, EXACT_GUEST | EXACT_USER | EXACT_COUNTING, PROG_CR3, 0, EXACT_NO_EXIT, 10000, 20000 },
	[OTHERS] = { 0, EXACT_GUEST | EXACT_USER | EXACT_COUNTING, OTHER_CR3, 0, EXACT_NO_EXIT, 10000, EXITS - 1000 },
	[ENDED] = { 0, EXACT_GUEST | EXACT_USER | EXACT_COUNTING, OTHER_CR3, 0, EXACT_NO_EXIT, EXITS + 10, EXITS + 50 },	/* nobody told whose */
	[NEXTS] = { 0, EXACT_GUEST | EXACT_USER | EXACT_COUNTING, OTHER_CR3, 0, EXACT_NO_EXIT, EXITS - 500, EXITS + 1000 },
	[NOBODYS] = { 0, EXACT_GUEST | EXACT_USER | EXACT_COUNTING, PROG_CR3 + 0x9000, 0, EXACT_NO_EXIT, 10000, 20000 },
	[QUIET] = { 0, EXACT_GUEST | EXACT_USER, PROG_CR3, 0, EXACT_NO_EXIT, 10000, 20000 },
	[HOSTS] = { 0, EXACT_USER | EXACT_COUNTING, PROG_CR3, 0, EXACT_NO_EXIT, 10000, 20000 },
	[QEMUS] = { 0, EXACT_USER | EXACT_COUNTING, QEMU_CR3, 0, 0x78, 10000, 20000 },
	[HOST_KERNEL] = { 0, EXACT_COUNTING, 0, 0, 0x78, 10000, 20000 },
	[NMI] = { 0, EXACT_NMI | EXACT_COUNTING, 0, 0, 0x61, 10000, 20000 },
	[KERNEL] = { 0, EXACT_GUEST | EXACT_COUNTING, 0, 0, EXACT_NO_EXIT, 10000, 20000 },
};

static struct exact exact;
static struct pieces pieces;

/* A piece, by its instructions */
struct counts {
	int first, last;
	uint32_t runs, cycles, cycles_at;
	uint32_t entries[2], led[2];
};

/*
 * 1,000 runs of 0 to 4: 10 cycles for 0 to 3, then 2 where code goes on behind 4, 400 times, and 5 where that branches back.
 * Behind it 400 of 5 to 8: 9 cycles, and 4 to go back.
 */
static const struct counts first_piece = { 0, 4, 1000, 10000 + 800 + 3000, 10000 + 3000 + 1600, { 0, 1000 }, { 0, 3000 + 1600 } };
static const struct counts second_piece = { 5, 8, 400, 3600 + 1600, 3600 + 800, { 400, 0 }, { 800, 0 } };

static void count_at(uint32_t space, uint64_t pc, uint32_t size, uint32_t insns, const struct counts *c)
{
	const struct exact_block b = {
		.pc = pc, .space = space, .size = size, .insns = insns, .insns_at = insns,
		.cycles = c->cycles, .cycles_at = c->cycles_at, .entries = { c->entries[0], c->entries[1] },
		.led = { c->led[0], c->led[1] },
	};

	assert_int_equal(vmp_vec_push(&exact.blocks, b), 0);
}

static void count_in(uint32_t space, uint64_t base, const struct counts *c)
{
	const struct prog_insn *first = &prog.insn[c->first], *last = &prog.insn[c->last];

	count_at(space, base + first->addr, (uint32_t)(last->addr + last->bytes - first->addr),
		 c->runs * (uint32_t)(c->last - c->first + 1), c);
}

static void count(const struct counts *c)
{
	count_in(OURS, PROG_BASE, c);
}

static void begin_program(void)
{
	prog_plain(&prog, 4, 1, 1);			/* 0 .. 3 */
	prog.insn[0].function = "small";
	prog_jump(&prog, PROG_COND, 0, 0, 0);		/* 4 */
	prog_plain(&prog, 3, 1, 1);			/* 5 .. 7 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 8 */
	prog_plain(&prog, 2, 1, 1);			/* 9, 10 */
	prog_jump(&prog, PROG_RET, 0, 0, 0);		/* 11: of one byte */
	prog_jump(&prog, PROG_CALL, 0, 0, 0);		/* 12 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_ksyms(&g, "ffffffff81000000 T _stext\nffffffff81001000 T do_work\nffffffff81002000 T _etext\n");
	gen_agent_flush(&g, GEN_VM, 3000);
}

static void map_other(uint64_t tsc, uint64_t base, uint32_t ino, const char *file)
{
	gen_map(&g, tsc, OTHER_CR3, OTHER_PID, base + PROG_VADDR, base + PROG_VADDR + 0x1000, PROG_VADDR, ino, file);
}

/* The program in two processes, of which the second has a file with the same code, too, where it had the program before */
static void load_two(void)
{
	static const uint8_t twin[20] = { 0xcd };
	uint32_t i;
	char file[160], maps[320];

	begin_program();
	gen_sh(dir, "mkdir -p u-%u/cd", GEN_VM);
	snprintf(file, sizeof(file), "%s/u-%u/cd/%038d", dir, GEN_VM, 0);
	prog_write(&prog, file, twin);
	gen_file(&g, 2, PROG_INO + 1, 0x8000, twin, sizeof(twin), "/usr/bin/twin");
	gen_proc(&g, VMPROF_MSG_PROC, 2000, OTHER_CR3, OTHER_PID, 1, 0, "prog");
	map_other(2000, OTHER_BASE, PROG_INO, "/usr/bin/prog");
	map_other(2000, TWIN_BASE, PROG_INO, "/usr/bin/prog");
	map_other(12000, TWIN_BASE, PROG_INO + 1, "/usr/bin/twin");
	gen_exit(&g, EXITS, OTHER_CR3, OTHER_PID, "prog", 0, 0, 0, "");
	gen_proc(&g, VMPROF_MSG_FORK, EXITS + 100, OTHER_CR3, OTHER_PID + 1, 1, 0, "next");
	gen_agent_flush(&g, GEN_VM, EXITS + 200);
	snprintf(file, sizeof(file), "%s/qemu", dir);
	prog_write(&prog, file, NULL);
	snprintf(maps, sizeof(maps), "%llx-%llx r-xp 00001000 08:01 5   %s\n", QEMU_BASE + PROG_VADDR, QEMU_BASE + PROG_VADDR + 0x1000, file);
	gen_text(&g, VMPROF_CAP_HOST_MAPS, GEN_VM, maps);
	gen_guest(&g, GEN_VM, 10000, PROG_CR3, 3, AT(0), 1);
	put_loop(10000, PROG_BASE);
	load_small();
	for (i = 0; i < SPACES; i++)
		assert_int_equal(vmp_vec_push(&exact.spaces, spaces[i]), 0);
}

static void forget_pieces(void)
{
	pieces_free(&pieces);
	vmp_vec_free(&exact.blocks);
}

static int set_up(void **state)
{
	setup(state);
	load_two();
	return 0;
}

static int tear_down(void **state)
{
	forget_pieces();
	vmp_vec_free(&exact.spaces);
	return teardown(state);
}

static uint32_t object(void)
{
	return set->points.points.v[only_block()->start].object;
}

static uint32_t point_of(int insn)
{
	const uint64_t behind = prog.insn[insn].addr - prog.insn[0].addr;
	uint32_t point;

	assert_int_equal(vmp_points_behind(&set->points, only_block()->start, behind, &point), 0);
	return point;
}

static void make(void)
{
	assert_int_equal(pieces_create(&pieces, set, model, &exact, QEMU_CR3), 0);
}

/* Of a block from one instruction to another; 0: it is not known */
static double cost(int first, int last, enum vmp_flow flow)
{
	const struct vmp_block_code b = { .start = point_of(first), .end = point_of(last), .flow = flow };
	double found, runs;

	if (!pieces_block(&pieces, &b, &found, &runs))
		return 0;
	assert_true(found > 0);
	assert_int_equal(isnan(runs), flow == VMP_FLOW_ON);
	return found;
}

/* ... and how often it ran, by branches; below 0: nobody counted that */
static double runs(int first, int last, enum vmp_flow flow)
{
	const struct vmp_block_code b = { .start = point_of(first), .end = point_of(last), .flow = flow };
	double found, n;

	assert_true(pieces_block(&pieces, &b, &found, &n));
	return isnan(n) ? -1 : n;
}

#define assert_near(a, b) do { \
	const double a_ = (a), b_ = (b); \
	if (!(fabs(a_ - b_) < 1e-9)) \
		fail_msg("%s: %g, not %g", #a, a_, b_); \
} while (0)

static double runs_of_insn(int insn)
{
	return pieces_runs(&pieces, object(), prog.insn[insn].addr);
}

static double in_line(int insn)
{
	return pieces_in_line(&pieces, object(), prog.insn[insn].addr);
}

static double taken_by(int insn)
{
	return pieces_taken(&pieces, object(), prog.insn[insn].addr + prog.insn[insn].bytes);
}

/* ----------------------------------------------------------------- blocks */

static void test_one_piece(void **state)
{
	static const struct counts call = { 12, 12, 50, 200, 350, { 0, 50 }, { 0, 350 } };

	(void)state;
	count(&first_piece);
	count(&second_piece);
	count(&call);
	make();
	assert_int_equal(pieces.all.nr, 3);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 5);
	assert_near(cost(5, 8, VMP_FLOW_JUMP), 9 + 4);
	assert_near(cost(12, 12, VMP_FLOW_CALL), 4);	/* all of it is its last instruction */
}

/* Where code runs on from one to the next, the branch between them is not taken; that at the end is, however short it is */
static void test_chain(void **state)
{
	static const struct counts third = { 9, 11, 60, 60 * 5 + 12 * 1 + 48 * 6, 60 * 5 + 60 * 4, { 60, 0 }, { 60 * 4, 0 } };
	static const struct counts behind = { 12, 12, 12, 12 * 4, 12 * 1, { 12, 0 }, { 12 * 1, 0 } };

	(void)state;
	count(&first_piece);
	count(&second_piece);
	count(&third);
	count(&behind);
	make();
	assert_near(cost(0, 8, VMP_FLOW_JUMP), 10 + 2 + 9 + 4);
	assert_near(cost(0, 11, VMP_FLOW_RETURN), 10 + 2 + 9 + 4 + 5 + 6);
	/* of 1,000 that a branch led there 400 go on behind 4, of each 400 of these 60 behind 8, of each 60 of these 12 behind 11 */
	assert_near(runs(0, 4, VMP_FLOW_COND), 600);
	assert_near(runs(0, 8, VMP_FLOW_JUMP), 340);
	assert_near(runs(0, 11, VMP_FLOW_RETURN), 48);
	assert_near(runs(5, 8, VMP_FLOW_JUMP), 0);
	assert_near(runs(0, 5, VMP_FLOW_ON), -1);
}

/* An interrupt came before the instruction where it ends: of a piece's instructions all but the last count alike */
static void test_ends_inside(void **state)
{
	(void)state;
	count(&first_piece);
	count(&second_piece);
	make();
	assert_near(cost(0, 1, VMP_FLOW_ON), 10 / 4.);
	assert_near(cost(0, 2, VMP_FLOW_ON), 10 * 2 / 4.);
	assert_near(cost(0, 4, VMP_FLOW_ON), 10);
	assert_near(cost(0, 5, VMP_FLOW_ON), 10 + 2);	/* it did not branch */
	assert_near(cost(0, 7, VMP_FLOW_ON), 10 + 2 + 9 * 2 / 3.);
	assert_near(cost(0, 3, VMP_FLOW_COND), 10);	/* with the instruction where it ends, which is not the piece's last */
}

/*
 * Of 1,000 runs of an instruction that repeats itself, of 100 cycles, 100 are broken off after 40, for whatever the emulator had to do, and go on in a piece of its
 * own: these are no more runs, and all that it takes is its own.
 */
static void test_repeats(void **state)
{
	static const struct counts begun = { 0, 3, 1000, 6000 + 900 * 100 + 100 * 40, 5000 + 6000, { 0, 1000 }, { 0, 5000 } };
	static const struct counts goes_on = { 3, 3, 100, 100 * 60, 100 * 40, { 0, 0 }, { 0, 0 } };
	static const struct counts behind = { 4, 4, 1000, 3000, 900 * 100 + 100 * 60, { 1000, 0 }, { 900 * 100 + 100 * 60, 0 } };
	const struct prog_insn *last = &prog.insn[3];

	(void)state;
	count_at(OURS, PROG_BASE + prog.insn[0].addr, (uint32_t)(last->addr + last->bytes - prog.insn[0].addr), 3900, &begun);
	count(&goes_on);
	count(&behind);
	make();
	/* a fourth of the instructions that were not retired is missing in the runs of the first three */
	assert_near(cost(0, 4, VMP_FLOW_COND), 6000 / 975. + 100 + 3);
	assert_near(runs_of_insn(3), 975);
	assert_near(runs(0, 4, VMP_FLOW_COND), 1000);
	/* of one that something else leads to they are runs of its own */
	forget_pieces();
	count_at(OURS, PROG_BASE + prog.insn[0].addr, (uint32_t)(last->addr + last->bytes - prog.insn[0].addr), 3900, &begun);
	count(&(struct counts){ 3, 3, 100, 100 * 60, 100 * 40, { 0, 100 }, { 0, 100 * 40 } });
	make();
	assert_near(runs_of_insn(3), 975 + 100);
}

/* Runs of the first piece of which so many go on, each time with the same cycles; entries of the second one */
static void count_branches(uint32_t line, uint32_t entries)
{
	struct counts first = first_piece, second = second_piece;

	first.cycles = 10000 + line * 2 + (1000 - line) * 5;
	second.entries[0] = entries;
	second.led[0] = entries * 2;
	second.cycles_at = 3600 + second.led[0];
	forget_pieces();
	count(&first);
	count(&second);
	make();
}

/* Where a branch is hardly ever taken, or always, what it costs else is not known: it counts as it does on the whole */
static void test_last_cost(void **state)
{
	(void)state;
	count_branches(989, 989);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 5);
	assert_near(cost(0, 5, VMP_FLOW_ON), 10 + 2);
	count_branches(990, 990);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + (990 * 2 + 10 * 5) / 1000.);
	assert_near(cost(0, 5, VMP_FLOW_ON), 10 + 2);
	count_branches(400, 0);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + (400 * 2 + 600 * 5) / 1000.);
	assert_near(cost(0, 5, VMP_FLOW_ON), 10 + (400 * 2 + 600 * 5) / 1000.);
}

/* Of several that begin at one address the one that ran most tells */
static void test_other_size(void **state)
{
	static const struct counts small = { 0, 2, 100, 90000, 90000, { 0, 100 }, { 0, 400 } };
	int order;

	(void)state;
	for (order = 0; order < 2; order++) {
		forget_pieces();
		count(order ? &small : &first_piece);
		count(order ? &first_piece : &small);
		count(&second_piece);
		make();
		assert_int_equal(pieces.all.nr, 3);
		assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 5);
	}
}

static void test_never_ran(void **state)
{
	static const struct counts entered = { 9, 11, 0, 0, 4, { 0, 1 }, { 0, 4 } }, last = { 4, 4, 0, 0, 4, { 0, 1 }, { 0, 4 } };
	static const struct counts timeless = { 12, 12, 30, 0, 0, { 0, 30 }, { 0, 0 } };

	(void)state;
	count(&first_piece);
	count(&second_piece);
	count(&entered);
	count(&last);
	count(&timeless);
	make();
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 5);
	assert_near(cost(5, 8, VMP_FLOW_JUMP), 9 + 4);
	assert_near(cost(9, 11, VMP_FLOW_RETURN), 0);
	assert_near(cost(5, 11, VMP_FLOW_RETURN), 0);	/* at the end of a chain */
	assert_near(cost(4, 4, VMP_FLOW_COND), 0);	/* though it did so behind others */
	assert_near(cost(2, 4, VMP_FLOW_COND), 0);	/* no piece begins there */
	assert_near(cost(12, 12, VMP_FLOW_CALL), 0);	/* it took no time */
}

/* The kernel's, of which there is no file here, and what lies in none */
static void test_no_code(void **state)
{
	struct vmp_block_code b = { .flow = VMP_FLOW_COND };
	const struct vmp_point *start;
	double found, runs;

	(void)state;
	count_at(KERNEL, GEN_KERNEL + 0x1000, 18, 5000, &first_piece);
	count_at(OURS, PROG_BASE + 0x100000, 18, 5000, &first_piece);
	make();
	assert_int_equal(pieces.all.nr, 1);
	assert_true(set->points.objects.v[pieces.all.v[0].object].kernel);
	assert_int_equal(pieces.all.v[0].addr, GEN_KERNEL + 0x1000);
	b.start = vmp_point_at(&set->points, pieces.all.v[0].object, GEN_KERNEL + 0x1000);
	assert_int_equal(vmp_points_behind(&set->points, b.start, 12, &b.end), 0);
	assert_false(pieces_block(&pieces, &b, &found, &runs));
	start = &set->points.points.v[b.start];
	assert_near(pieces_runs(&pieces, start->object, start->addr), 0);
	assert_near(pieces_in_line(&pieces, start->object, start->addr + 3), 0);
	assert_near(pieces_taken(&pieces, start->object, start->addr + 18), 0);
}

/* ------------------------------------------------------------- whose it is */

#define MUCH	220000U		/* times as much: of one block not more than is possible, together more than 32 bits hold */

static struct counts much(const struct counts *c)
{
	return (struct counts){
		c->first, c->last, MUCH * c->runs, MUCH * c->cycles, MUCH * c->cycles_at,
		{ MUCH * c->entries[0], MUCH * c->entries[1] }, { MUCH * c->led[0], MUCH * c->led[1] },
	};
}

/* The same code is one piece, whoever ran it */
static void test_two_processes(void **state)
{
	struct counts first = much(&first_piece), second = much(&second_piece);
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {	/* each time the first instructions take a cycle longer */
		count_in(OURS, PROG_BASE, &first);
		count_in(OTHERS, OTHER_BASE, &first);
		count_in(OTHERS, OTHER_BASE, &second);
		count_in(OURS, PROG_BASE, &second);
		first.cycles += MUCH * 1000;
		first.cycles_at += MUCH * 1000;
	}
	make();
	assert_int_equal(pieces.all.nr, 2);
	assert_near(runs_of_insn(0), MUCH * 6000.);
	assert_near(runs_of_insn(5), MUCH * 2400.);
	assert_near(in_line(5), MUCH * 2400.);
	assert_near(taken_by(4), MUCH * 3600.);
	assert_near(cost(0, 2, VMP_FLOW_ON), (10 + 1) * 2 / 4.);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 1 + 5);
	assert_near(cost(0, 8, VMP_FLOW_JUMP), 10 + 1 + 2 + 9 + 4);
}

/* The same code in another file is another piece */
static void test_other_file(void **state)
{
	struct counts other = first_piece;
	const struct vmp_point *at;
	uint32_t i, twins = 0;

	(void)state;
	other.cycles += 5000;
	other.cycles_at += 5000;
	count_in(OTHERS, TWIN_BASE, &other);
	count(&first_piece);
	count(&second_piece);
	make();
	assert_int_equal(pieces.all.nr, 3);
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + 5);
	assert_near(runs_of_insn(0), 1000);
	assert_near(in_line(1), 1000);
	assert_near(taken_by(4), 600);
	for (i = 0; i < set->points.points.nr; i++) {
		at = &set->points.points.v[i];
		if (at->object == VMP_NONE || at->object == object())
			continue;
		twins++;
		assert_near(pieces_runs(&pieces, at->object, at->addr), 1000);
		assert_near(pieces_taken(&pieces, at->object, prog.insn[5].addr), 1000);
	}
	assert_int_equal(twins, 1);
}

/* Code that ran while no counter did, the host's, and that of whom nobody knows: in between, behind, and before what counts */
static void test_left_out(void **state)
{
	static const struct { uint32_t space; uint64_t base; } others[] = {
		{ QUIET, PROG_BASE }, { HOSTS, PROG_BASE }, { NOBODYS, PROG_BASE }, { ENDED, OTHER_BASE }, { NEXTS, OTHER_BASE },
	};
	static const struct counts bad = { 0, 4, 70000, 1, 1, { 1, 1 }, { 0, 0 } };
	static const struct counts bad_too = { 9, 11, 1, 1, 1, { 1, 0 }, { 0, 0 } };
	size_t i;
	int from;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		for (from = 0; from < 3; from++) {
			forget_pieces();
			if (from)
				count(&first_piece);
			if (from == 2)
				count(&second_piece);
			count_in(others[i].space, others[i].base, &bad);
			count_in(others[i].space, others[i].base, &bad_too);
			if (!from)
				count(&first_piece);
			if (from < 2)
				count(&second_piece);
			make();
			assert_int_equal(pieces.all.nr, 2);
			assert_near(cost(0, 8, VMP_FLOW_JUMP), 10 + 2 + 9 + 4);
			assert_near(runs_of_insn(0), 1000);
		}
	}
}

/* QEMU's code and the host's kernel's are apart from the guest's; another process's is left out, and what an NMI's handler ran */
static void test_host(void **state)
{
	struct vmp_block_code b = { .flow = VMP_FLOW_COND };
	const struct vmp_object *o;
	double found, n;

	(void)state;
	count_in(QEMUS, QEMU_BASE, &first_piece);
	count_in(HOSTS, QEMU_BASE, &first_piece);
	count_at(HOST_KERNEL, HOST_KERNEL_AT, 18, 5000, &first_piece);
	count_at(NMI, HOST_KERNEL_AT, 18, 5000, &first_piece);
	count_at(NMI, HOST_KERNEL_AT + 0x100, 18, 5000, &first_piece);
	make();
	assert_int_equal(pieces.all.nr, 2);
	o = &set->points.objects.v[pieces.all.v[0].object];
	assert_true(o->vm == VMP_NONE && !o->kernel);
	assert_int_equal(pieces.all.v[0].insns, 5000);
	b.start = vmp_point_at(&set->points, pieces.all.v[0].object, pieces.all.v[0].addr);
	assert_int_equal(vmp_points_behind(&set->points, b.start, prog.insn[4].addr - prog.insn[0].addr, &b.end), 0);
	assert_true(pieces_block(&pieces, &b, &found, &n));
	assert_near(found, (10000 + 800 + 3000) / 1000.);
	o = &set->points.objects.v[pieces.all.v[1].object];
	assert_true(o->vm == VMP_NONE && o->kernel);
	assert_int_equal(pieces.all.v[1].insns, 5000);
	assert_int_equal(pieces.all.v[1].addr, HOST_KERNEL_AT);
	assert_near(runs_of_insn(0), 0);

	/* nobody knows which process is QEMU */
	forget_pieces();
	count_in(QEMUS, QEMU_BASE, &first_piece);
	count(&first_piece);
	assert_int_equal(pieces_create(&pieces, set, model, &exact, 0), 0);
	assert_int_equal(pieces.all.nr, 1);
	assert_near(runs_of_insn(0), 1000);
}

/* ------------------------------------------------------------ instructions */

/* One begins in the middle of the first, 30 times in line; it takes 4 cycles, and 11 to branch back */
static void test_counts(void **state)
{
	static const struct counts middle = { 2, 4, 200, 800 + 2200, 800 + 60 + 850, { 30, 170 }, { 60, 850 } };

	(void)state;
	count(&first_piece);
	count(&second_piece);
	count(&middle);
	make();
	assert_near(cost(0, 4, VMP_FLOW_COND), 10 + (600 * 5 + 200 * 11) / 800.);
	assert_near(cost(2, 4, VMP_FLOW_COND), 4 + (600 * 5 + 200 * 11) / 800.);
	assert_near(runs_of_insn(0), 1000);
	assert_near(runs_of_insn(1), 1000);
	assert_near(runs_of_insn(2), 1200);
	assert_near(runs_of_insn(4), 1200);
	assert_near(runs_of_insn(5), 400);
	assert_near(runs_of_insn(8), 400);
	assert_near(runs_of_insn(9), 0);
	assert_near(in_line(0), 0);
	assert_near(in_line(1), 1000);
	assert_near(in_line(2), 1000 + 30);
	assert_near(in_line(3), 1200);
	assert_near(in_line(5), 400);
	assert_near(in_line(8), 400);
	assert_near(in_line(9), 0);
	assert_near(taken_by(4), 1200 - 400);
	assert_near(taken_by(8), 400);
	assert_near(taken_by(1), 0);	/* more came behind it than it ran */
	assert_near(taken_by(3), 0);	/* in the middle of pieces */
	assert_near(taken_by(12), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_piece, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_repeats, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_last_cost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_never_ran, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_two_processes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_host, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_counts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
