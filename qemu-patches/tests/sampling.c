// SPDX-License-Identifier: GPL-2.0-only
/*
 * sampling.c - overflow interrupts: how many, and exactly where.
 */
#include "guest.h"

extern char user_loop2[], user_loop2_dec[], user_loop2_jnz[];
extern char user_long[], user_long_end[];
extern char user_rep[], user_rep_insn[], user_scas[];
extern char user_longest[], user_short[];
extern char halting_after[];
extern u32 user_eflags;
void halting(void);

static char area[100000];
static u64 period, wrong;
static u32 at[32];
static u32 timers, close, close_within;

static void arm(u64 ctl, u64 p)
{
	period = p;
	wrong = 0;
	nmi_count = 0;
	nmi_rearm = p;
	for (u32 i = 0; i < ARRAY_SIZE(at); i++)
		at[i] = 0;
	wrmsr(CTL(0), ctl | INT | EN);
	wrmsr(CTR(0), -p & CTR_MASK);
	wrmsr(GLOBAL_CTL, 1);
}

static void disarm(void)
{
	wrmsr(GLOBAL_CTL, 0);
	wrmsr(GLOBAL_CLR, 0x3f);
	nmi_rearm = 0;
	nmi_hook = NULL;
}

/* After n instructions the next one is DEC for even n, JNZ for odd n. */
static void hook_loop2(struct frame *f)
{
	u32 odd = (nmi_count & 1) & (u32)period;
	u32 want = (u32)(odd ? user_loop2_jnz : user_loop2_dec);

	at[f->eip == (u32)user_loop2_jnz]++;
	if (f->eip != want)
		wrong++;
}

/* Which of the block's 20 instructions is next? */
static void hook_long(struct frame *f)
{
	u32 ofs = f->eip - (u32)user_long;
	u32 n = ofs <= 54 ? ofs / 3 : 19;
	u32 done = nmi_count * (u32)period;

	at[n]++;
	if (n != done % 20)
		wrong++;
}

/*
 * Each iteration costs 2, CLD before them 1; so 500 iterations are the first
 * period of 1001, and 501 every later one.
 */
static void hook_rep(struct frame *f)
{
	u32 done = sizeof(area) - f->ecx;

	if (f->eip != (u32)user_rep_insn ||
	    done != 500 + 501 * (nmi_count - 1))
		wrong++;
}

static void test_rep(void)
{
	nmi_hook = hook_rep;
	arm(EV_CYCLES | USR, 1001);
	call_user(user_rep, sizeof(area), (u32)area, 0);
	disarm();
	check("REP is interrupted between iterations", nmi_count, 199);
	check("each time at the right iteration", wrong, 0);

	nmi_hook = NULL;
	arm(EV_INSNS | USR, 1000000);
	call_user(user_rep, sizeof(area), (u32)area, 0);
	wrmsr(GLOBAL_CTL, 0);
	check("REP is one instruction: CLD, REP, NOP, INT",
	      rdmsr(CTR(0)) - (-1000000 & CTR_MASK), 4);
	disarm();

	area[77777] = 0x55;
	arm(EV_CYCLES | USR, 1 << 30);
	call_user(user_scas, sizeof(area), (u32)area, 0);
	wrmsr(GLOBAL_CTL, 0);
	check("REPNE SCASB ends where it finds",
	      rdmsr(CTR(0)) - (-(1ULL << 30) & CTR_MASK),
	      1 + 1 + 4 + 77778 * 2 + 1 + 40);
	disarm();
}

static void hook_timer(void)
{
	timers++;
	close += (-rdmsr(CTR(0)) & CTR_MASK) <= close_within;
}

static void run_timer(u64 ctl, u64 p, void *f, u32 n, u32 within)
{
	timers = close = 0;
	close_within = within;
	timer_hook = hook_timer;
	*(volatile u32 *)APIC_TIMER_DIV = 0xb;			/* by 1 */
	*(volatile u32 *)APIC_LVTT = 1 << 17 | TIMER_VECTOR;	/* again and again */
	*(volatile u32 *)APIC_TIMER = 100000;			/* ns */
	user_eflags |= 1 << 9;
	arm(ctl | USR, p);
	call_user(f, n, 0, 0);
	disarm();
	user_eflags &= ~(1 << 9);
	*(volatile u32 *)APIC_TIMER = 0;
	*(volatile u32 *)APIC_LVTT = 1 << 16;
	put("# ");
	put_dec(close);
	put(" of ");
	put_dec(timers);
	put(" timer interrupts right before an overflow\n");
}

/*
 * A counter that will overflow in a long block makes the emulator cut it there and translate that
 * piece, for which it needs far longer than to run it. A timer must not get in meanwhile: a block
 * in 40 is cut, so it is there that one timer interrupt in 40 finds the counter.
 */
static void test_timer(void)
{
	run_timer(EV_INSNS, 20011, user_longest, 200000, 500);
	check("the timer interrupts a long block", timers > 200, 1);
	check("no more often right before an overflow", close < timers / 10, 1);
	/* One in a thousand. Where a counter may overflow in a block, the emulator has to look, and that takes its time, too */
	run_timer(EV_CYCLES, 50021, user_short, 2000000, 50);
	check("the timer interrupts short blocks", timers > 100, 1);
	check("hardly more often right before an overflow", close <= 8 + timers / 250, 1);
}

static void test_halt(void)
{
	nmi_count = 0;
	wrmsr(CTL(0), EV_INSNS | OS | INT | EN);
	wrmsr(CTR(0), -2 & CTR_MASK);	/* NOP, HLT */
	halting();
	wrmsr(GLOBAL_CTL, 0);
	check("an overflow in HLT wakes it", nmi_count, 1);
	check("and is after it", nmi_eip, (u32)halting_after);
	disarm();
}

void test_sampling(void)
{
	nmi_hook = hook_loop2;
	arm(EV_INSNS | USR, 1001);
	call_user(user_loop2, 1001200, 0, 0);
	disarm();
	check("samples = instructions / period", nmi_count, 2000);
	check("they split evenly", at[0], at[1]);
	check("each is at the right instruction", wrong, 0);

	nmi_hook = hook_loop2;
	arm(EV_INSNS | USR, 1000);
	call_user(user_loop2, 100001, 0, 0);
	disarm();
	check("an even period", nmi_count, 200);
	check("samples one instruction", wrong, 0);

	nmi_hook = hook_long;
	arm(EV_INSNS | USR, 1003);
	call_user(user_long, 50155, 0, 0);
	disarm();
	check("a block over a page boundary", nmi_count, 1000);
	check("each of its instructions in turn", wrong, 0);
	check("the first as often as the last", at[0], at[19]);

	nmi_hook = hook_long;
	arm(EV_INSNS | USR, 7);
	call_user(user_long, 702, 0, 0);
	disarm();
	check("a period shorter than the block", nmi_count, 2005);
	check("each at the right instruction", wrong, 0);

	arm(EV_BRANCHES | USR, 100);
	call_user(user_long, 10000, 0, 0);
	disarm();
	check("samples of branches", nmi_count, 100);

	arm(EV_INSNS | USR, 100000);
	nmi_rearm = 0;
	call_user(user_loop2, 1000000, 0, 0);
	wrmsr(GLOBAL_CTL, 0);
	check("one overflow is one interrupt", nmi_count, 1);
	check("and counting goes on from zero", rdmsr(CTR(0)),
	      2 * 1000000 + 1 - 100000);
	disarm();

	test_rep();
	test_timer();
	test_halt();
}

void test_long(void)
{
	u32 iterations = 100000000, period = 50021;

	nmi_hook = hook_long;
	arm(EV_INSNS | USR, period);
	call_user(user_long, iterations, 0, 0);
	disarm();
	check("samples of a long run", nmi_count, (20 * iterations + 1) / period);
	check("each at the right instruction", wrong, 0);
}
