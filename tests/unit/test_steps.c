// SPDX-License-Identifier: GPL-2.0-only
/*
 * test_steps.c - steps between branches: which of them cannot be, whose they are, in which block, and records that are
 * no use.
 */
#include "measured.h"

#include "blocks/about.h"
#include "model/objcache.h"

#define SWITCH_TO	(GEN_KERNEL + 0x2000)

static void put_in(uint32_t vm, uint64_t cr3, unsigned format, const struct prog_branch *b, unsigned nr)
{
	static uint64_t tsc = 10000;

	tsc += 1000;
	gen_guest(&g, vm, tsc, cr3, 3, AT(0), 1);
	gen_lbr(&g, tsc, VMPROF_LBR_ALL, format, b, nr, 0);
}

static void put(const struct prog_branch *b, unsigned nr)
{
	put_in(GEN_VM, PROG_CR3, VMPROF_LBR_FROM_TO, b, nr);
}

/* Libraries with the same code, mapped by the same process */
#define HERE	0x600000ULL	/* in the object cache, without a build-id */
#define GONE	0x800000ULL	/* not there */
#define ANON	0xa00000ULL	/* in no file at all */
#define IN(base, i)	((base) + prog.insn[i].addr - PROG_VADDR)

static void map_code(uint64_t base, uint32_t ino, const char *file)
{
	gen_map(&g, 2000, PROG_CR3, PROG_PID, base, base + 0x1000, *file ? PROG_VADDR : 0, ino, file);
}

static void put_libraries(uint32_t vm)
{
	static const char here[] = "/usr/lib/here.so", gone[] = "/usr/lib/gone.so";
	const struct vmp_msg_file file = {
		.ino = PROG_INO + 1, .dev_major = 8, .dev_minor = 1, .bytes = 0x8000, .path = { here, strlen(here) },
	};
	const uint8_t id[20] = { 0xba, 0xd1 };
	uint8_t boot[16];
	char key[VMP_OBJKEY_MAX], copy[256];

	memset(boot, 1, sizeof(boot));
	vmp_objcache_key(key, boot, &file);
	gen_sh(dir, "mkdir -p u-%u/%.2s", vm, key);
	snprintf(copy, sizeof(copy), "%s/u-%u/%.2s/%s", dir, vm, key, key + 2);
	prog_write(&prog, copy, NULL);
	gen_file(&g, 2, PROG_INO + 1, 0x8000, NULL, 0, here);
	gen_file(&g, 3, PROG_INO + 2, 0x8000, id, sizeof(id), gone);
	map_code(HERE, PROG_INO + 1, here);
	map_code(GONE, PROG_INO + 2, gone);
	map_code(ANON, 0, "");
	gen_agent_flush(&g, vm, 3000);
}

static void test_flaws(void **state)
{
	/* the older branch's end, and where the younger one begins */
	const struct {
		int from, to;	/* instructions, or ... */
		uint64_t end, start;
		enum vmp_flaw flaw;
		int next;	/* instruction to which the younger one goes */
		uint64_t cr3;	/* of another process */
		uint64_t went;	/* ... or an address */
	} *c, cases[] = {
		{ 4, 0, 0, 0, VMP_FLAW_NONE },
		{ 8, 5, 0, 0, VMP_FLAW_NONE },
		{ 4, 5, 0, 0, VMP_FLAW_BACKWARD },
		{ 11, 5, 0, 0, VMP_FLAW_PASSES },
		{ 3, 0, 0, 0, VMP_FLAW_NO_BRANCH, 5 },
		{ 0, 0, PROG_BASE + PROG_VADDR + 13, PROG_BASE + PROG_VADDR, VMP_FLAW_MIDDLE },
		{ 4, 0, 0, PROG_BASE + PROG_VADDR + 0x800, VMP_FLAW_DATA },	/* mapped, but not in the file's code */
		{ 4, 0, 0, 0x7f0000000000, VMP_FLAW_UNMAPPED },
		{ 0, 0, 0x7f0000000000, PROG_BASE + PROG_VADDR, VMP_FLAW_UNMAPPED },
		{ 4, 0, 0, GEN_KERNEL + 0x1000, VMP_FLAW_MIXED },
		{ 0, 0, GEN_KERNEL + 0x1010, GEN_KERNEL + 0x1000, VMP_FLAW_NO_KERNEL },
		{ 0, 0, GEN_KERNEL + 0x1000, GEN_KERNEL + 0x1010, VMP_FLAW_BACKWARD },
		{ 0, 0, GEN_KERNEL + 0x1000 + (1 << 20), GEN_KERNEL + 0x1000, VMP_FLAW_LONG },
		{ 0, 0, HERE + 12, PROG_BASE + PROG_VADDR, VMP_FLAW_MIXED },	/* both files are here */
		{ 0, 0, HERE + 12, HERE, VMP_FLAW_NONE },
		{ 0, 0, GONE + 12, GONE, VMP_FLAW_NO_FILE },
		{ 0, 0, GONE + 12, PROG_BASE + PROG_VADDR, VMP_FLAW_NO_FILE },
		{ 0, 0, ANON + 12, ANON, VMP_FLAW_ANON },
		{ 4, 0, 0, ANON, VMP_FLAW_ANON },
		{ 4, 0, 0, 0, VMP_FLAW_UNKNOWN, 0, PROG_CR3 + 0x9000 },
		/* what the bytes there would be is an instruction, too, and code goes on to the branch */
		{ 4, 0, 0, PROG_BASE + PROG_VADDR + 1, VMP_FLAW_MIDDLE },
		{ 18, 0, 0, PROG_BASE + PROG_VADDR + 0x2c, VMP_FLAW_MIDDLE },	/* no branch leads to 12 */
		{ 18, 12, 0, 0, VMP_FLAW_NONE, 11 },
		{ 8, 5, 0, 0, VMP_FLAW_ELSEWHERE, 5 },		/* a jump that names another address */
		{ 4, 0, 0, 0, VMP_FLAW_ELSEWHERE, 12 },		/* a conditional one */
		{ 19, 19, 0, 0, VMP_FLAW_ELSEWHERE, 12 },	/* a call */
		{ 19, 19, 0, 0, VMP_FLAW_NONE, 0 },
		{ 4, 0, 0, 0, VMP_FLAW_MIDDLE, 0, 0, PROG_BASE + PROG_VADDR + 1 },
		{ 4, 0, 0, 0, VMP_FLAW_NONE, 0, 0, GEN_KERNEL + 0x1000 },	/* an interrupt, before it jumped */
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	uint64_t want[VMP_FLAW_NR] = { 0 };
	int f;

	(void)state;
	begin_small();
	put_libraries(GEN_VM);
	for (i = 0; i < n; i++) {
		c = &cases[i];
		put_in(GEN_VM, c->cr3 ? c->cr3 : PROG_CR3, VMPROF_LBR_FROM_TO,
		       (struct prog_branch[]){ { c->end ? c->end : AT(c->from), c->went ? c->went : AT(c->next) },
					       { AT(8), c->start ? c->start : AT(c->to) } }, 2);
		want[c->flaw]++;
	}
	load_small();
	assert_int_equal(set->totals.steps, n);
	for (f = 0; f < VMP_FLAW_NR; f++)
		if (set->totals.flaw[f] != want[f])
			fail_msg("%s: %d, not %d", vmp_flaw_key(f), (int)set->totals.flaw[f], (int)want[f]);
	assert_int_equal(set->losses.records, n);
	assert_int_equal(set->losses.entries, 2 * n);
}

/* A return goes behind a call, or to where no other way leads; not into the middle of what runs anyway */
static void test_returns(void **state)
{
	const struct { int next; enum vmp_flaw flaw; } cases[] = {
		{ 4, VMP_FLAW_NONE }, { 5, VMP_FLAW_ELSEWHERE }, { 2, VMP_FLAW_ELSEWHERE },
		{ 0, VMP_FLAW_NONE },	/* a function: a trampoline */
		{ 7, VMP_FLAW_NONE },	/* a landing pad */
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	uint64_t good = 0;

	(void)state;
	prog_plain(&prog, 3, 1, 1);			/* 0 .. 2 */
	prog.insn[0].function = "main";
	prog_jump(&prog, PROG_CALL, 9, 0, 0);		/* 3 */
	prog_plain(&prog, 2, 1, 1);			/* 4, 5 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 6 */
	prog_plain(&prog, 1, 1, 1);			/* 7 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 8 */
	prog_plain(&prog, 2, 1, 1);			/* 9, 10 */
	prog.insn[9].function = "called";
	prog_jump(&prog, PROG_RET, 0, 0, 0);		/* 11 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	for (i = 0; i < n; i++) {
		put((struct prog_branch[]){ { AT(11), AT(cases[i].next) }, { AT(3), AT(9) } }, 2);
		good += !cases[i].flaw;
	}
	load_small();
	assert_int_equal(set->totals.steps, n);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], good);
	assert_int_equal(set->totals.flaw[VMP_FLAW_ELSEWHERE], n - good);
	for (i = 0; i < set->units.nr; i++)
		if (set->units.v[i].start != VMP_NONE)
			assert_int_equal(!set->units.v[i].flaw, insn_at(set->units.v[i].next) != 5 && insn_at(set->units.v[i].next) != 2);
}

/* Code that is in no function: used whatever its address is, and counted */
static void test_unbound(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	(void)state;
	prog_plain(&prog, 3, 1, 1);			/* 0 .. 2 */
	prog_jump(&prog, PROG_JUMP, 0, 0, 0);		/* 3 */
	prog_plain(&prog, 2, 1, 1);			/* 4, 5 */
	prog.insn[4].function = "main";
	prog_jump(&prog, PROG_JUMP, 4, 0, 0);		/* 6 */
	prog_assemble(&prog);
	prog_install(&g, &prog, dir);
	gen_agent_flush(&g, GEN_VM, 3000);
	put((struct prog_branch[]){ { AT(6), AT(4) }, { AT(6), AT(4) } }, 2);
	put((struct prog_branch[]){ { AT(3), AT(0) }, { AT(3), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(3), AT(0) }, { AT(3), AT(0) + 1 } }, 2);
	load_small();
	assert_int_equal(set->totals.steps, 3);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 3);
	assert_int_equal(set->totals.unbound, 2);
	out = open_memstream(&text, &len);
	vmp_about_notes(out, set, NULL);
	vmp_about_json(out, set, NULL, "x");
	fclose(out);
	assert_non_null(strstr(text, " 2 used, though nothing tells whether their instruction begins there"));
	assert_non_null(strstr(text, "\"instruction_not_known\":2,"));
	free(text);
}

/* Where a processor fused instructions with a branch, its record names the first of them */
static void test_fused(void **state)
{
	const struct {
		int start, end, next;	/* instructions; next -1: the kernel */
		enum vmp_flaw flaw;
	} cases[] = {
		{ 0, 4, 0, VMP_FLAW_NONE },		/* the branch itself */
		{ 0, 3, 0, VMP_FLAW_NONE },		/* fused with the one before it */
		{ 0, 2, 0, VMP_FLAW_NONE },		/* with two */
		{ 0, 3, 5, VMP_FLAW_NO_BRANCH },	/* it does not go there */
		{ 0, 3, -1, VMP_FLAW_NONE },		/* an interrupt */
		{ 12, 12, 11, VMP_FLAW_NO_BRANCH },	/* the branch is 18 bytes away */
		{ 12, 13, 11, VMP_FLAW_NONE },		/* 15 */
	};
	static const struct { int end; uint32_t insns, n; enum vmp_flow flow; } blocks[] = {
		{ 3, 3, 1, VMP_FLOW_ON }, { 4, 5, 3, VMP_FLOW_COND }, { 18, 7, 1, VMP_FLOW_JUMP },
	};
	uint64_t want[VMP_FLAW_NR] = { 0 };
	size_t i, n = sizeof(cases) / sizeof(cases[0]);

	(void)state;
	begin_small();
	for (i = 0; i < n; i++) {
		put((struct prog_branch[]){ { AT(cases[i].end), cases[i].next < 0 ? GEN_KERNEL + 0x1000 : AT(cases[i].next) },
					    { AT(8), AT(cases[i].start) } }, 2);
		want[cases[i].flaw]++;
	}
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], want[VMP_FLAW_NONE]);
	assert_int_equal(set->totals.flaw[VMP_FLAW_NO_BRANCH], want[VMP_FLAW_NO_BRANCH]);
	assert_int_equal(set->totals.steps, n);
	assert_int_equal(set->blocks.nr, 3);
	for (i = 0; i < 3; i++) {
		const struct vmp_block_code *b = &set->blocks.v[i];

		assert_int_equal(set->points.points.v[b->end].addr, prog.insn[blocks[i].end].addr);
		assert_int_equal(b->insns, blocks[i].insns);
		assert_int_equal(b->n, blocks[i].n);
		assert_int_equal(b->flow, blocks[i].flow);
	}
}

/* Where only sources were recorded, instructions tell what the branches were; one that is none tells nothing */
static void test_from_only(void **state)
{
	static const struct { int insn; enum vmp_flow flow; } cases[] = {
		{ 4, VMP_FLOW_COND }, { 8, VMP_FLOW_JUMP }, { 19, VMP_FLOW_CALL },
		{ 3, VMP_FLOW_NR }, { -1, VMP_FLOW_NR },
	};
	size_t i, n = sizeof(cases) / sizeof(cases[0]);
	const struct vmp_unit *u;
	uint32_t k;

	(void)state;
	begin_small();
	for (i = 0; i < n; i++)
		put_in(GEN_VM, PROG_CR3, VMPROF_LBR_FROM,
		       &(struct prog_branch){ cases[i].insn < 0 ? GONE : AT(cases[i].insn) }, 1);
	load_small();
	assert_int_equal(set->units.nr, n);
	for (i = 0; i < n; i++) {
		for (k = 0; k < n; k++) {
			u = &set->units.v[k];
			if (set->points.points.v[u->end].seen == (cases[i].insn < 0 ? GONE : AT(cases[i].insn)))
				break;
		}
		assert_true(k < n);
		assert_int_equal(u->flow, cases[i].flow);
		assert_int_equal(u->next, VMP_NONE);
	}
}

/* Records that follow no sample, or are not what they say */
static void test_losses(void **state)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[2]; } bad = {
		.h = { .hdr = { VMPROF_REC_LBR, sizeof(bad), 0 }, .tsc = 500, .branches = VMPROF_LBR_ALL,
		       .format = VMPROF_LBR_FROM_TO, .nr = 1 },
	};
	struct vmprof_rec_lost lost = { .hdr = { VMPROF_REC_LOST, sizeof(lost), 0 } };
	struct prog_branch b;

	(void)state;
	begin_small();
	b = (struct prog_branch){ AT(4), AT(0) };
	gen_record(&g, &bad, sizeof(bad));			/* no sample yet */
	put(&b, 1);
	gen_record(&g, &bad, sizeof(bad));			/* the sample has one already */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	gen_record(&g, &lost, sizeof(lost));
	gen_record(&g, &bad, sizeof(bad));			/* not right behind its sample */
	gen_guest(&g, GEN_VM, 501, PROG_CR3, 3, AT(0), 1);
	gen_record(&g, &bad, sizeof(bad));			/* another time than its sample's */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.nr = 2;
	gen_record(&g, &bad, sizeof(bad));			/* more entries than it has room for */
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.nr = 1;
	bad.h.format = 9;
	gen_record(&g, &bad, sizeof(bad));
	gen_guest(&g, GEN_VM, 500, PROG_CR3, 3, AT(0), 1);
	bad.h.format = VMPROF_LBR_FROM_TO;
	bad.h.hdr.size = 16;
	gen_record(&g, &bad, 16);				/* not even a whole head */
	load_small();
	assert_int_equal(set->losses.orphans, 3);
	assert_int_equal(set->losses.malformed, 4);
	assert_int_equal(set->losses.records, 1);
	assert_int_equal(set->totals.samples, 6);
	assert_int_equal(set->totals.with_branches, 1);
}

/* Branches of a guest of web01's own: whatever is at their addresses in web01 was not run by them */
static void test_nested_guest(void **state)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, 500, PROG_CR3, 3, 0);
	struct prog_branch b;

	(void)state;
	begin_small();
	b = (struct prog_branch){ AT(4), AT(0) };
	put(&b, 1);
	s.guest_ip = AT(0);
	s.flags |= VMPROF_SF_NESTED;
	gen_record(&g, &s, sizeof(s));
	gen_lbr(&g, s.tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, &b, 1, 0);
	load_small();
	assert_int_equal(set->losses.records, 2);
	assert_int_equal(set->totals.samples, 1);
	assert_int_equal(set->totals.with_branches, 1);
	assert_int_equal(set->losses.orphans + set->losses.malformed, 0);
}

/* User code from before the kernel switched tasks is another process's */
static void test_switch(void **state)
{
	uint64_t kernel = GEN_KERNEL + 0x1000;
	const struct vmp_unit *u;
	uint32_t i, users = 0;

	(void)state;
	begin_small();
	put((struct prog_branch[]){
		{ AT(4), AT(0) },			/* ours */
		{ kernel + 0x40, AT(0) },		/* back to user code */
		{ SWITCH_TO + 0x20, kernel + 0x10 },	/* the switch returns */
		{ kernel + 0x30, SWITCH_TO },
		{ AT(8), kernel },			/* another's system call */
		{ AT(4), AT(5) },			/* another's */
	}, 6);
	load_small();
	assert_int_equal(set->totals.switched, 2);
	for (i = 0; i < set->units.nr; i++) {
		u = &set->units.v[i];
		assert_true(u->end != vmp_point_at(&set->points, 0, prog.insn[8].addr));
		users += u->block != VMP_NONE && set->blocks.v[u->block].insns;
	}
	assert_int_equal(users, 1);
}

/* Without kernel branches the driver's word must do: whose user code it is, is not known */
static void test_switch_unseen(void **state)
{
	struct { struct vmprof_rec_lbr h; uint64_t word[4]; } rec = {
		.h = { .hdr = { VMPROF_REC_LBR, sizeof(rec), 0 }, .branches = VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL,
		       .format = VMPROF_LBR_FROM_TO, .nr = 2 },
	};
	int i;

	(void)state;
	begin_small();
	for (i = 0; i < 2; i++) {
		rec.h.tsc = 10000 + (uint64_t)i;
		rec.h.flags = i ? VMPROF_LBR_SWITCHED : 0;
		memcpy(rec.word, (uint64_t[]){ AT(4), AT(0), AT(4), AT(0) }, sizeof(rec.word));
		gen_guest(&g, GEN_VM, rec.h.tsc, PROG_CR3, 3, AT(0), 1);
		gen_record(&g, &rec, sizeof(rec));
	}
	load_small();
	assert_int_equal(set->totals.switched, 2);
	assert_int_equal(set->totals.steps, 1);
	assert_int_equal(set->totals.landed, 1);
	assert_int_equal(set->totals.user_only, 2);
}

/* The same code of two processes, at two addresses, is one block */
static void test_two_processes(void **state)
{
	const uint64_t other = 0x7f1200000000;

	(void)state;
	begin_small();
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, PROG_PID + 1, 1, 0, "prog");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, PROG_PID + 1, other + PROG_VADDR, other + PROG_VADDR + 0x1000, PROG_VADDR,
		PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 3000);
	gen_guest(&g, GEN_VM, 10000, PROG_CR3, 3, AT(0), 1);
	put_loop(10000, PROG_BASE);
	gen_guest(&g, GEN_VM, 10001, PROG_CR3 + 0x5000, 3, other + prog.insn[0].addr, 1);
	put_loop(10001, other);
	load_small();
	assert_int_equal(set->totals.flaw[VMP_FLAW_NONE], 2);
	assert_int_equal(set->blocks.nr, 1);
	assert_int_equal(set->blocks.v[0].n, 2);
	assert_int_equal(set->landings.nr, 1);
}

/* A sample with these branches, which were mispredicted or not */
static void put_behind(unsigned type, uint64_t tsc, uint64_t ip, const struct prog_branch *b, unsigned nr, uint32_t mispredicted)
{
	struct vmprof_sample s = gen_guest_sample(GEN_VM, tsc, PROG_CR3, 3, ip);

	s.hdr.type = (uint16_t)type;
	gen_record(&g, &s, sizeof(s));
	gen_lbr(&g, tsc, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, b, nr, mispredicted);
}

/* Samples in a block from @start on, at @at, or behind the branch there, which led to @ip */
static uint32_t landed(int start, int at, int ip)
{
	uint32_t i;

	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];

		if (insn_at(l->start) == start && insn_at(l->at) == at && insn_at(l->ip) == ip)
			return l->flaw ? 0 : l->n;
	}
	return 0;
}

/*
 * A sample where the youngest branch led to is of the block that this branch ended; not where the processor had to start over
 * behind it, unless instructions are sampled. Where its block began is not known of the oldest branch.
 */
static void test_ended(void **state)
{
	struct prog_branch back[3];

	(void)state;
	begin_small();
	back[0] = back[2] = (struct prog_branch){ AT(8), AT(0) };	/* 5 to 8 ran last, before it 0 to 4 */
	back[1] = (struct prog_branch){ AT(4), AT(5) };
	put_behind(VMPROF_REC_SAMPLE, 10000, AT(0), back, 3, 0);
	put_behind(VMPROF_REC_SAMPLE, 10001, AT(0), back, 3, 0);
	put_behind(VMPROF_REC_SAMPLE, 10002, AT(0), back, 3, 1);
	put_behind(VMPROF_REC_INSTRUCTIONS, 10003, AT(0), back, 3, 1);
	put_behind(VMPROF_REC_SAMPLE, 10004, AT(2), back, 3, 0);
	put_behind(VMPROF_REC_SAMPLE, 10005, AT(0), back, 1, 0);
	load_small();
	assert_int_equal(landed(5, 8, 0), 3);
	assert_int_equal(landed(0, 0, 0), 2);
	assert_int_equal(landed(0, 2, 2), 1);
	assert_int_equal(set->totals.alone, 0);
	assert_int_equal(set->totals.landed, 6);
}

/* In the middle of an instruction that repeats, where the youngest branch led: that one runs by then, but for who counts instructions */
static void test_ended_repeats(void **state)
{
	struct prog_branch b[2];

	(void)state;
	begin_small_with(PROG_REP);
	b[0] = (struct prog_branch){ AT(4), AT(0) };
	b[1] = (struct prog_branch){ AT(8), AT(0) };
	put_behind(VMPROF_REC_SAMPLE, 10000, AT(0), b, 2, 0);
	put_behind(VMPROF_REC_INSTRUCTIONS, 10001, AT(0), b, 2, 0);
	load_small();
	assert_int_equal(landed(0, 0, 0), 1);
	assert_int_equal(landed(0, 4, 0), 1);
}

/* Where the branch cannot be, the sample is of no block; an interrupt retires nothing: its sample is of the kernel's code */
static void test_ended_otherwise(void **state)
{
	struct prog_branch b[2];
	uint32_t i, kernel = 0;

	(void)state;
	begin_small();
	b[0] = (struct prog_branch){ AT(4), AT(12) };
	b[1] = (struct prog_branch){ AT(8), AT(0) };
	put_behind(VMPROF_REC_SAMPLE, 10000, AT(12), b, 2, 0);
	b[0] = (struct prog_branch){ AT(2), GEN_KERNEL + 0x1000 };
	put_behind(VMPROF_REC_SAMPLE, 10001, GEN_KERNEL + 0x1000, b, 2, 0);
	load_small();
	assert_int_equal(set->totals.astray, 1);
	assert_int_equal(set->totals.landed, 1);
	for (i = 0; i < set->landings.nr; i++) {
		const struct vmp_landing *l = &set->landings.v[i];

		kernel += !l->flaw && !l->ended && l->start == l->at && set->points.points.v[l->at].addr == GEN_KERNEL + 0x1000;
	}
	assert_int_equal(kernel, 1);
}

/* Code at address 0, where a guest may put some: it is in no file of this process, and no mark for what is not known */
static void test_address_zero(void **state)
{
	struct prog_branch b[3];

	(void)state;
	begin_small();
	b[0] = b[2] = (struct prog_branch){ AT(4), AT(0) };
	b[1] = (struct prog_branch){ AT(8), AT(0) };
	put_behind(VMPROF_REC_SAMPLE, 10000, 0, b, 3, 0);	/* the sample */
	b[0].from = 0;						/* where a branch is */
	put_behind(VMPROF_REC_SAMPLE, 10001, AT(0), b, 3, 0);
	b[0] = (struct prog_branch){ AT(8), 0 };		/* where it goes */
	put_behind(VMPROF_REC_SAMPLE, 10002, 0, b, 3, 0);
	put_behind(VMPROF_REC_SAMPLE, 10003, AT(2), b, 3, 0);
	b[1].to = 0;
	put_behind(VMPROF_REC_SAMPLE, 10004, AT(2), b, 3, 0);
	load_small();
	assert_int_equal(vmp_measure_create(&measure, set), 0);
	assert_int_equal(vmp_estimate_create(&estimates, measure, 1), 0);
	assert_int_equal(set->totals.samples, 5);
}

/* A file that one process has mapped at address 0 is counted by its other places: no address there becomes none */
static void test_mapped_at_zero(void **state)
{
	const uint64_t other = PROG_CR3 + 0x5000;
	struct prog_branch b[2];

	(void)state;
	begin_small();
	gen_proc(&g, VMPROF_MSG_PROC, 2000, other, PROG_PID + 1, 1, 0, "prog");
	gen_map(&g, 2000, other, PROG_PID + 1, 0, 0x1000, PROG_VADDR, PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 3000);
	b[0] = b[1] = (struct prog_branch){ prog.insn[8].addr - PROG_VADDR, prog.insn[5].addr - PROG_VADDR };
	gen_guest(&g, GEN_VM, 10000, other, 3, prog.insn[6].addr - PROG_VADDR, 1);
	gen_lbr(&g, 10000, VMPROF_LBR_ALL, VMPROF_LBR_FROM_TO, b, 2, 0);
	gen_guest(&g, GEN_VM, 10001, PROG_CR3, 3, AT(0), 1);
	put_behind(VMPROF_REC_SAMPLE, 10002, AT(0), (struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2, 0);
	load_small();
	assert_int_equal(set->totals.samples, 3);
	assert_int_equal(landed(0, 4, 0), 1);
}

#define MANY	(2 * VMP_RAWS_CHUNK + 100)

/* More steps than one piece of the table holds: numbers in the order of their coming, counts of both times */
static void test_many_steps(void **state)
{
	struct vmp_raws raws = { 0 };
	struct vmp_raw raw = { .kind = VMP_RAW_STEP, .n = 1, .context = 3 };
	const struct vmp_raw *first = NULL;
	uint32_t number, i;

	(void)state;
	for (i = 0; i < 2 * MANY; i++) {
		raw.a = 0x1000 + 16 * (i % MANY);
		raw.mispredicted = i >= MANY;
		assert_int_equal(vmp_raws_add(&raws, &raw, vmp_raws_hash(&raws, &raw), &number), 0);
		assert_int_equal(number, i % MANY);
		if (!i)
			first = vmp_raws_at(&raws, 0);
	}
	assert_int_equal(raws.nr, MANY);
	assert_ptr_equal(vmp_raws_at(&raws, 0), first);
	for (i = 0; i < MANY; i++) {
		raw.a = 0x1000 + 16 * i;
		assert_int_equal(vmp_raws_find(&raws, &raw, vmp_raws_hash(&raws, &raw)), i);
		assert_int_equal(vmp_raws_at(&raws, i)->n, 2);
		assert_int_equal(vmp_raws_at(&raws, i)->mispredicted, 1);
		assert_int_equal(vmp_raws_at(&raws, i)->a, raw.a);
	}
	raw.context++;
	assert_int_equal(vmp_raws_find(&raws, &raw, vmp_raws_hash(&raws, &raw)), VMP_NONE);
	vmp_raws_free(&raws);
}

/* ----------------------------------------------------------- for blocks.t */

/* The same program and library in two domains; branches between files, one of which is not here, and steps that cannot be */
static void put_binaries(void)
{
	const uint64_t nowhere = 0x7f0000000000;

	begin_small();
	put_libraries(GEN_VM);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { IN(HERE, 4), HERE }, { AT(19), HERE } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { IN(GONE, 8), AT(0) }, { IN(GONE, 4), IN(GONE, 5) }, { AT(19), GONE } }, 4);
	put((struct prog_branch[]){ { IN(HERE, 8), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { nowhere, AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), nowhere } }, 2);
	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	prog_install_in(&g, &prog, dir, OTHER_VM);
	put_libraries(OTHER_VM);
	put_in(OTHER_VM, PROG_CR3, VMPROF_LBR_FROM_TO,
	       (struct prog_branch[]){ { IN(HERE, 4), HERE }, { IN(HERE, 4), HERE }, { AT(19), HERE } }, 3);
	gen_records_flush(&g, 0, 10000, 20000);
	gen_end(&g);
}

#define MOVED	0x7f1200000000ULL

/* A sample at an address of one's own choice, with branches that the driver says something of */
static void put_at(uint32_t vm, uint64_t cr3, uint8_t cpl, uint64_t ip, uint8_t flags, const struct prog_branch *b, uint8_t nr)
{
	static uint64_t tsc = 50000;
	struct { struct vmprof_rec_lbr h; uint64_t word[2 * VMPROF_LBR_MAX]; } rec = { .h = {
		.hdr = { VMPROF_REC_LBR, (uint16_t)(sizeof(rec.h) + 16U * nr), 0 }, .tsc = ++tsc,
		.branches = flags ? VMPROF_LBR_ALL & ~VMPROF_LBR_KERNEL : VMPROF_LBR_ALL, .format = VMPROF_LBR_FROM_TO,
		.nr = nr, .flags = flags,
	} };
	uint8_t i;

	for (i = 0; i < nr; i++) {
		rec.word[2 * i] = b[i].from;
		rec.word[2 * i + 1] = b[i].to;
	}
	gen_guest(&g, vm, tsc, cr3, cpl, ip, 1);
	gen_record(&g, &rec, rec.h.hdr.size);
}

/* Two processes of which nobody tells the CR3, with one library at one place */
static void put_doubles(void)
{
	struct vmprof_token t = { .token = 1, .tsc = 2000 + g.offset };
	uint32_t pid, i;

	gen_vm(&g, OTHER_VM, "web02");
	gen_clock(&g, OTHER_VM);
	g.seq = 0;
	gen_no_module(&g, 1500, 2, 0, 0);
	for (i = 0; i < 2; i++, t.tsc += 90000) {	/* what was there at the beginning, and at the end */
		gen_frame(&g, VMPROF_MSG_SNAP_BEGIN, &t, sizeof(t), NULL, 0);
		for (pid = 10; !i && pid <= 20; pid += 10) {
			gen_proc(&g, VMPROF_MSG_PROC, 2500, 0, pid, 1, 0, pid == 10 ? "ten" : "twenty");
			gen_map(&g, 2500, 0, pid, HERE, HERE + 0x1000, PROG_VADDR, 7, "/usr/lib/both.so");
		}
		gen_frame(&g, VMPROF_MSG_SNAP_END, &t, sizeof(t), NULL, 0);
	}
	gen_agent_flush(&g, OTHER_VM, 4000);
	put_at(OTHER_VM, 0x9000, 3, HERE, 0, (struct prog_branch[]){ { HERE + 4, HERE }, { HERE + 8, HERE } }, 2);
}

/* Branches of which it is not known, one way or another, that they are the sample's process's */
static void put_owners(void)
{
	const uint64_t kernel = GEN_KERNEL + 0x1000, moved = MOVED + PROG_VADDR;

	begin_small();
	put_libraries(GEN_VM);
	gen_proc(&g, VMPROF_MSG_PROC, 2000, PROG_CR3 + 0x5000, OTHER_PID, 1, 0, "moved");
	gen_map(&g, 2000, PROG_CR3 + 0x5000, OTHER_PID, moved, moved + 0x1000, PROG_VADDR, PROG_INO + 2, "/usr/lib/gone.so");
	gen_map(&g, 5000, PROG_CR3 + 0x5000, OTHER_PID, moved, moved + 0x1000, PROG_VADDR, PROG_INO, "/usr/bin/prog");
	gen_agent_flush(&g, GEN_VM, 6000);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), 0, (struct prog_branch[]){
		{ AT(4), AT(0) }, { kernel + 0x40, AT(0) }, { SWITCH_TO + 0x20, kernel + 0x10 }, { kernel + 0x30, SWITCH_TO },
		{ AT(8), kernel }, { AT(4), AT(5) },		/* another's, before the switch */
	}, 6);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), VMPROF_LBR_SWITCHED, (struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put_at(GEN_VM, PROG_CR3 + 0x9000, 3, AT(0), 0, (struct prog_branch[]){ { AT(4), AT(0) }, { kernel + 0x40, AT(0) } }, 2);
	put_at(GEN_VM, PROG_CR3, 3, AT(0), 0, (struct prog_branch[]){	/* through code without a file, in a file without samples */
		{ AT(4), AT(0) }, { ANON + 8, AT(0) }, { ANON + 4, ANON }, { AT(8), ANON }, { IN(GONE, 4), AT(5) },
	}, 5);
	/* in the kernel for a process that had another file there */
	put_at(GEN_VM, PROG_CR3 + 0x5000, 0, kernel, 0, (struct prog_branch[]){
		{ IN(moved, 8), kernel }, { kernel + 0x40, IN(moved, 5) },
	}, 2);
	put_doubles();
	gen_records_flush(&g, 0, 50000, 60000);
	gen_end(&g);
}

/* Branches that cannot be, some of them behind a start that is not well either */
static void put_impossible(void)
{
	const uint64_t middle = PROG_BASE + PROG_VADDR + 1;

	begin_small();
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(12) }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(12) }, { AT(8), AT(5) } }, 2);
	put((struct prog_branch[]){ { AT(19), AT(12) }, { AT(8), AT(19) } }, 2);
	put((struct prog_branch[]){ { AT(19), AT(0) }, { AT(19), AT(0) }, { AT(19), AT(0) } }, 3);
	put((struct prog_branch[]){ { AT(4), middle }, { AT(8), AT(0) } }, 2);
	put((struct prog_branch[]){ { AT(4), AT(0) }, { AT(8), middle } }, 2);
	gen_records_flush(&g, 0, 10000, 40000);
	gen_end(&g);
}

static int write_captures(char *folder)
{
	dir = own_folder(folder, "binaries");
	begin("binaries");
	put_binaries();
	dir = own_folder(folder, "owners");
	begin("owners");
	put_owners();
	dir = own_folder(folder, "impossible");
	begin("impossible");
	put_impossible();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--capture"))
		return write_captures(argv[2]);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_steps),
		cmocka_unit_test_setup_teardown(test_nested_guest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flaws, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unbound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_returns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_from_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_losses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_switch_unseen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_repeats, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_otherwise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_address_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mapped_at_zero, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
