// SPDX-License-Identifier: GPL-2.0-only
/*
 * lbr.c - the record of the last branches: what is in it, filters, freezing.
 */
#include "guest.h"

#define FREEZE	(1 << 11)
#define FROZEN	(1ULL << 58)

extern char lbr_a[], lbr_b[], lbr_c[], lbr_d[], lbr_call[], lbr_e[];
extern char lbr_ret[], lbr_f[], lbr_g[], lbr_far[], lbr_h[];
extern char lbr_call_ind[], lbr_i[], lbr_ret_ind[], lbr_j[], lbr_jmp_ind[], lbr_k[];
extern char lbr_many[];
extern char user_loop2_dec[], user_loop2_jnz[];
void lbr_run(void);
void lbr_run_many(void);

#define MANY		20	/* jumps of lbr_run_many, of two bytes */
#define ENTRIES		16

static const struct branch {
	char *from, *to;
	u32 kind;	/* bit of LBR_SELECT */
} taken[] = {
	{ lbr_far, lbr_h, 8 },
	{ lbr_jmp_ind, lbr_k, 6 },
	{ lbr_ret_ind, lbr_j, 5 },
	{ lbr_call_ind, lbr_i, 4 },
	{ lbr_f, lbr_g, 7 },
	{ lbr_ret, lbr_f, 5 },
	{ lbr_call, lbr_e, 3 },
	{ lbr_c, lbr_d, 7 },
	{ lbr_a, lbr_b, 2 },
};

static void clear(void)
{
	for (u32 i = 0; i < ENTRIES; i++) {
		wrmsr(LBR_FROM(i), 0);
		wrmsr(LBR_TO(i), 0);
	}
}

/* How many entries are not what the filter should have let through? */
static u32 wrong_entries(u32 select)
{
	u32 n = 0, wrong = 0;

	clear();
	wrmsr(LBR_SELECT, select);
	lbr_run();
	for (u32 i = 0; i < ARRAY_SIZE(taken); i++) {
		if (select & (1 << taken[i].kind | 1))
			continue;
		if (rdmsr(LBR_FROM(n)) != (u32)taken[i].from ||
		    rdmsr(LBR_TO(n)) != ((u32)taken[i].to | LBR_VALID))
			wrong++;
		n++;
	}
	if (rdmsr(LBR_TO(n)) != 0)
		wrong++;
	wrmsr(LBR_SELECT, 0);
	return wrong;
}

/* How many entries are not those of the newest jumps, the newest one first? */
static u32 wrong_of_many(void)
{
	u32 wrong = 0;

	clear();
	lbr_run_many();
	for (u32 i = 0; i < ENTRIES; i++) {
		u32 from = (u32)lbr_many + 2 * (MANY - 1 - i);

		if (rdmsr(LBR_FROM(i)) != from || rdmsr(LBR_TO(i)) != ((from + 2) | LBR_VALID))
			wrong++;
	}
	return wrong;
}

/* Of a loop of user code: how many entries are its branch, and how many are anything? */
static void record_user(u32 select, u32 *loop, u32 *any)
{
	clear();
	wrmsr(LBR_SELECT, select);
	wrmsr(DBG_EXTN_CFG, LBR_EN_V2);
	call_user(user_loop2_dec, 100, 0, 0);
	wrmsr(DBG_EXTN_CFG, 0);
	wrmsr(LBR_SELECT, 0);
	*loop = *any = 0;
	for (u32 i = 0; i < ENTRIES; i++) {
		*loop += rdmsr(LBR_FROM(i)) == (u32)user_loop2_jnz;
		*any += !!(rdmsr(LBR_TO(i)) & LBR_VALID);
	}
}

static u64 frozen_from[2], frozen_to[2], status;

static void hook_frozen(struct frame *f)
{
	(void)f;
	status = rdmsr(GLOBAL_STATUS);
	for (u32 i = 0; i < 2; i++) {
		frozen_from[i] = rdmsr(LBR_FROM(i));
		frozen_to[i] = rdmsr(LBR_TO(i));
	}
	wrmsr(DBG_EXTN_CFG, 0);
	wrmsr(GLOBAL_CLR, FROZEN);
}

static void test_freeze(void)
{
	clear();
	nmi_count = 0;
	nmi_hook = hook_frozen;
	wrmsr(DEBUGCTL, FREEZE);
	wrmsr(DBG_EXTN_CFG, LBR_EN_V2);
	wrmsr(CTL(0), EV_INSNS | USR | INT | EN);
	wrmsr(CTR(0), -1000 & CTR_MASK);
	wrmsr(GLOBAL_CTL, 1);
	call_user(user_loop2_dec, 10000, 0, 0);
	wrmsr(GLOBAL_CTL, 0);
	nmi_hook = NULL;
	wrmsr(DEBUGCTL, 0);
	check("a counter's interrupt froze the record",
	      nmi_count == 1 && (status & FROZEN), 1);
	check("its newest entry is the code's, not the handler's",
	      frozen_from[0], (u32)user_loop2_jnz);
	check("with its target", frozen_to[0], (u32)user_loop2_dec | LBR_VALID);
	check("and so is the one before", frozen_from[1],
	      (u32)user_loop2_jnz);
	check("clearing the status bit ends it",
	      rdmsr(GLOBAL_STATUS) & FROZEN, 0);
}

void test_lbr(void)
{
	u32 loop, any;

	check("every taken branch, near and far", wrong_entries(0), 0);
	check("without conditional branches", wrong_entries(1 << 2), 0);
	check("without relative calls", wrong_entries(1 << 3), 0);
	check("without indirect calls", wrong_entries(1 << 4), 0);
	check("without returns", wrong_entries(1 << 5), 0);
	check("without indirect jumps", wrong_entries(1 << 6), 0);
	check("without relative jumps", wrong_entries(1 << 7), 0);
	check("without far branches", wrong_entries(1 << 8), 0);
	check("nothing that ends in the kernel", wrong_entries(1), 0);
	record_user(1, &loop, &any);
	check("... but what ends in user code", loop, ENTRIES);
	record_user(1 << 1, &loop, &any);
	check("nothing that ends in user code", loop, 0);
	check("... but what ends in the kernel", any > 0 && any < ENTRIES, 1);
	check("the newest ones where there were more than entries", wrong_of_many(), 0);
	check("reserved bits of the filter fault",
	      faults_wrmsr(LBR_SELECT, 1 << 9), 1);
	test_freeze();
}
